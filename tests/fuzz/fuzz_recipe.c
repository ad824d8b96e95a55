/* SPDX-License-Identifier: Apache-2.0
 * fuzz_recipe.c: the text that says how far a recipe is, as a checkpoint of
 * convtt-compress has it, is an error in one line, or is read and then written
 * and read again as the same. */
#include "tests/fuzz/fuzz.h"
#include "compress/recipe_state.h"

#include <string.h>

const char *const ctt_fuzz_words[] = {
    "\nplace\t", "\nstage\t", "\nweight\t", "\nblame\t", "\t", "\n", "\t0",
    "\t1", "\t-1",
    "\t5", "\t2147483647", "\t2147483648", "\t9223372036854775807",
    "\t9223372036854775808", "\t0x1p-1074", "\tnan", "\tinf", "\t-inf",
    "\tpruned 1/3", "\tshared: no change", "\tin kh kw|out",
    "\t3 outputs dropped", "\"", "\\", NULL
};

/* Every stage, and the last one retrained again and again. */
static const struct ctt_recipe recipe = {
    .svd = { .rank = 3 }, .tt = { .rank = 4 },
    .prune = { .share = 0.6f, .rounds = 3 }, .fold = { CTT_FOLD_ALL },
    .share = { .bits = "3,y=auto", .epochs = 2 },
    .round = { .bits = 8, .bias_bits = 8 }, .epochs = 10, .automatic = 1,
    .limit = 96, .within = 1,
};
enum { ROUNDS = 8 };    /* of all its stages */

static struct ctt_model *new_model(void)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    FUZZ_CHECK(ctt_net_parse("input x h=6 w=6 c=16\n"
                             "conv a in=x out=32 kernel=3\n"
                             "pool p in=a kind=avg\nconv y in=p out=5\n",
                             &g) >= 0 && ctt_model_new(g, &m) >= 0);
    return m;
}

static struct ctt_report *new_report(const struct ctt_model *m)
{
    struct ctt_report *r = NULL;

    FUZZ_CHECK(ctt_report_new(m, &r) >= 0);
    return r;
}

static void add_blame(struct ctt_report *r, int i)
{
    struct ctt_blame *b;

    FUZZ_CHECK(ctt_report_blame(r, i ? "a" : CTT_BLAME_ALL, &b) >= 0);
    b->answer = 0.5 * i;
}

/* State of a recipe after `rounds` rounds, begun or not. */
static void place_text(const struct ctt_model *m, int rounds, int begun,
                       char **text)
{
    struct ctt_recipe_state p = { .rounds = rounds, .begun = begun };
    struct ctt_report *r = new_report(m);
    struct ctt_stage_row *row;

    for (int i = 0; i <= rounds; i++) {
        FUZZ_CHECK(ctt_report_row(r, &row) >= 0);
        snprintf(row->name, sizeof(row->name), "stage %d", i);
        row->bytes = 1000 - i;
    }
    for (int i = 0; i < rounds; i++)
        add_blame(r, i);
    FUZZ_CHECK(ctt_recipe_state_given(m, &p) >= 0);
    FUZZ_CHECK(ctt_recipe_state_print(&p, &recipe, r, text) >= 0);
    ctt_report_free(&r);
}

/* A recipe's state, written and read again, is unchanged. */
static void check_again(const struct ctt_model *m,
                        const struct ctt_recipe_state *p,
                        const struct ctt_report *r)
{
    struct ctt_report *back = new_report(m);
    struct ctt_recipe_state again = *p;
    char *text = NULL, *same = NULL;

    FUZZ_CHECK(p->rounds >= 0 && p->begun >= 0 && r->stages == p->rounds + 1);
    FUZZ_CHECK(ctt_recipe_state_print(p, &recipe, r, &text) >= 0);
    FUZZ_CHECK(ctt_recipe_state_read(text, &recipe, &again, back) >= 0);
    FUZZ_CHECK(ctt_recipe_state_print(&again, &recipe, back, &same) >= 0);
    FUZZ_CHECK(strcmp(text, same) == 0);
    ctt_report_free(&back);
    ctt_free(text);
    ctt_free(same);
}

/* The first three lines are put before the input, because any others are
 * refused at once. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    long live = ctt_live_blocks();
    struct ctt_model *m = new_model();
    struct ctt_recipe_state p = { .rounds = 0 };
    struct ctt_report *r = new_report(m);
    char *head = NULL, *text;
    size_t n;

    place_text(m, 0, 0, &head);
    n = (size_t)(strstr(head, "\nplace\t") + 1 - head);
    text = ctt_calloc(n + size + 1, 1);
    FUZZ_CHECK(text);
    memcpy(text, head, n);
    if (size)
        memcpy(text + n, data, size);
    FUZZ_CHECK(ctt_recipe_state_given(m, &p) >= 0);
    if (ctt_recipe_state_read(text, &recipe, &p, r) >= 0) {
        FUZZ_CHECK(p.rounds <= ROUNDS);
        check_again(m, &p, r);
    } else {
        FUZZ_CHECK(ctt_errmsg()[0] && !strchr(ctt_errmsg(), '\n'));
    }
    ctt_free(text);
    ctt_free(head);
    ctt_report_free(&r);
    ctt_model_free(&m);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* After each round, and in a retraining of the next one. */
size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    struct ctt_model *m = new_model();
    const char *from;
    char *text = NULL;
    size_t n;

    place_text(m, i, i < ROUNDS ? i % 3 : 0, &text);
    from = strstr(text, "\nplace\t") + 1;
    n = i <= ROUNDS ? strlen(from) : 0;
    FUZZ_CHECK(n < room);
    memcpy(p, from, n);
    ctt_free(text);
    ctt_model_free(&m);
    return n;
}
