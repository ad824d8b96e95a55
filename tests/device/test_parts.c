/* SPDX-License-Identifier: Apache-2.0
 * test_parts.c: the ops that pass values between processes: the backward pass
 * is the transpose of the forward pass, and each part gets what it should. */
#include "net/part.h"
#include "tests/lib/check.h"
#include "tests/lib/together.h"

#include <math.h>
#include <string.h>

enum { PARTS = TOGETHER_MOST, N = 2, D = 2, W = 3, C = 9, H = 11 };

/* An op whose input or result is the whole (all parts have the same, and it
 * counts once) or a part of the rows or channels. */
enum what { WHOLE, ROWS, CHANNELS, MORE_ROWS, TERMS };
struct op { const char *text; enum what in, out; };

static const struct op ops[] = {
    { "halo y in=x up=1 down=2 above=2 below=1", ROWS, MORE_ROWS },
    { "halo y in=x up=2 down=0 above=0 below=2", ROWS, MORE_ROWS },
    { "halo y in=x up=-1 down=1 above=1 below=0", ROWS, MORE_ROWS },
    { "halo y in=x up=0 down=-1", ROWS, MORE_ROWS },
    { "collect y in=x of=rows part=%d parts=%d all=11", ROWS, WHOLE },
    { "collect y in=x of=channels part=%d parts=%d all=9", CHANNELS, WHOLE },
    { "collect y in=x of=rows pass=backward part=%d parts=%d all=11", WHOLE,
      ROWS },
    { "collect y in=x of=channels pass=backward part=%d parts=%d all=9", WHOLE,
      CHANNELS },
    { "total y in=x", TERMS, WHOLE },
    { "total y in=x pass=backward", WHOLE, TERMS },
};

struct side { struct ctt_tensor x, dx; };
struct trial {
    const struct op  *op;
    int               add;
    struct ctt_graph *g[PARTS];
    struct side       in[PARTS], out[PARTS];
    float            *block[4 * PARTS];
    int               blocks;
};

static struct ctt_tensor tensor(struct trial *t,
                                const struct ctt_tensor *shape, uint64_t key)
{
    struct ctt_tensor x = *shape;
    int gap = t->add ? 2 : 0;    /* a view, too */

    x.n = N;
    x.ld = x.c + gap;
    x.data = t->block[t->blocks++] = ctt_check_floats(ctt_rows(&x) * x.ld,
                                                      key);
    return x;
}

/* Numbers of the whole have the same key on all parts. */
static uint64_t key_of(enum what w, int part, uint64_t key)
{
    return key + (w == WHOLE ? 0 : 100 * (uint64_t)part);
}

static void open_part(struct trial *t, int part, int parts)
{
    int h = (int)(t->op->in == ROWS ? ctt_part_size(H, part, parts) : H);
    int c = (int)(t->op->in == CHANNELS ? ctt_part_size(C, part, parts) : C);
    const struct ctt_node *n;
    char line[128];

    CHECK_OK(ctt_graph_new(&t->g[part]));
    CHECK_OK(ctt_graph_add(t->g[part], "input x d=%d h=%d w=%d c=%d", D, h, W,
                           c));
    if (strchr(t->op->text, '%'))
        snprintf(line, sizeof(line), "%.*s%d parts=%d %s",
                 (int)(strchr(t->op->text, '%') - t->op->text), t->op->text,
                 part, parts, strstr(t->op->text, "all="));
    else
        snprintf(line, sizeof(line), "%s", t->op->text);
    CHECK_OK(ctt_graph_add(t->g[part], "%s", line));
    n = t->g[part]->node;
    t->in[part] = (struct side){
        tensor(t, &n[0].out, key_of(t->op->in, part, 10)),
        tensor(t, &n[0].out, key_of(t->op->in, part, 20)) };
    t->out[part] = (struct side){
        tensor(t, &n[1].out, 1),
        tensor(t, &n[1].out, key_of(t->op->out, part, 30)) };
}

static int run(void *arg, const struct ctt_group *g)
{
    struct trial *t = arg;
    struct side *in = &t->in[g->part], *out = &t->out[g->part];
    struct ctt_call c = { .node = &t->g[g->part]->node[1], .out = out->x,
                          .dout = out->dx, .add = (unsigned)t->add };
    struct ctt_dev *d = NULL;
    int rc;

    c.in[0] = in->x;
    c.din[0] = in->dx;
    CTT_TRY(ctt_dev_open("cpu", 1, &d));
    CTT_TRY(ctt_dev_join(d, g));
    CTT_TRY(ctt_dev_run(d, &c, CTT_FWD));
    CTT_TRY(ctt_dev_run(d, &c, CTT_BWD));
out:
    ctt_dev_close(&d);
    return rc;
}

static float at(const struct ctt_tensor *t, int64_t row, int64_t j)
{
    return ((const float *)t->data)[row * t->ld + j];
}

static double product(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    double sum = 0;

    for (int64_t i = 0; i < ctt_rows(a); i++)
        for (int64_t j = 0; j < a->c; j++)
            sum += (double)at(a, i, j) * (double)at(b, i, j);
    return sum;
}

/* Of all parts; of what is whole, once. */
static double products(const struct side *s, enum what w, int parts)
{
    double sum = 0;

    for (int r = 0; r < (w == WHOLE ? 1 : parts); r++)
        sum += product(&s[r].x, &s[r].dx);
    return sum;
}

/* What is whole is so on each. */
static void check_whole(const struct trial *t, int parts)
{
    for (int r = 1; r < parts; r++)
        for (int64_t i = 0; i < ctt_rows(&t->out[0].x); i++)
            for (int64_t j = 0; j < C; j++) {
                CU_ASSERT(t->op->out != WHOLE || at(&t->out[r].x, i, j) ==
                          at(&t->out[0].x, i, j));
                CU_ASSERT(t->op->in != WHOLE || at(&t->in[r].dx, i, j) ==
                          at(&t->in[0].dx, i, j));
            }
}

/* The adjoint: <A x, y> = <x, A' y>; a gradient that is added to adds <x, x'>
 * of what was there before. */
static void adjoint(const struct op *op, int parts, int add)
{
    struct trial t = { .op = op, .add = add };
    double before, want, got;

    for (int r = 0; r < parts; r++)
        open_part(&t, r, parts);
    before = add ? products(t.in, op->in, parts) : 0;
    CHECK_OK(together_run(parts, run, &t));
    want = products(t.out, op->out, parts);
    got = products(t.in, op->in, parts) - before;
    if (fabs(want - got) > 1e-4 * (1 + fabs(want)))
        printf("\n    %s, %d parts: %g, expected %g", op->text, parts, got,
               want);
    CU_ASSERT(fabs(want - got) <= 1e-4 * (1 + fabs(want)));
    check_whole(&t, parts);
    while (t.blocks)
        ctt_free(t.block[--t.blocks]);
    for (int r = 0; r < parts; r++)
        ctt_graph_free(&t.g[r]);
}

static void test_adjoint(void)
{
    for (size_t i = 0; i < CTT_LEN(ops); i++)
        for (int parts = 1; parts <= PARTS; parts++)
            for (int add = 0; add < 2; add++)
                adjoint(&ops[i], parts, add);
}

/* Row y of the image is next to row y - 1, wherever that is. */
static void test_rows(void)
{
    struct trial t = { .op = &ops[0] };
    int parts = 3;

    for (int r = 0; r < parts; r++)
        open_part(&t, r, parts);
    for (int r = 0; r < parts; r++)
        for (int64_t i = 0; i < ctt_rows(&t.in[r].x); i++)
            for (int64_t j = 0; j < C; j++)
                ((float *)t.in[r].x.data)[i * t.in[r].x.ld + j] = (float)
                    (1 + ctt_part_first(H, r, parts) +
                     i / W % t.in[r].x.h);
    CHECK_OK(together_run(parts, run, &t));
    for (int r = 0; r < parts; r++)
        for (int64_t i = 0; i < ctt_rows(&t.out[r].x); i++) {
            int64_t y = ctt_part_first(H, r, parts) - 1 +
                        i / W % t.out[r].x.h;

            CU_ASSERT_EQUAL(at(&t.out[r].x, i, 4), y >= 0 && y < H
                            ? (float)(y + 1) : 0);
        }
    while (t.blocks)
        ctt_free(t.block[--t.blocks]);
    for (int r = 0; r < parts; r++)
        ctt_graph_free(&t.g[r]);
}

/* A part of a model alone, and lines that cannot be. */
static void test_refused(void)
{
    static const char *const wrong[][2] = {
        { "halo y in=x up=-2 down=-2", "it leaves out 2 and 2 of 4 rows" },
        { "halo y in=x up=-5 down=4", "it leaves out 5 and 0 of 4 rows" },
        { "halo y in=x above=5", "other parts take 5 and 0 of 4 rows" },
        { "halo y in=x up=1048576 down=1048576", "rows are more than" },
        { "collect y in=x of=rows part=2 parts=2 all=8",
          "there is no part 2 of 2 of 8" },
        { "collect y in=x of=rows part=1 parts=2 all=9",
          "part 1 of 2 of 9 has 5, not 4" },
        { "collect y in=x of=channels pass=backward all=5",
          "part 0 of 1 of 5 has 5, not 3" },
    };
    struct ctt_graph *g = NULL;
    struct ctt_dev *d = NULL;
    struct ctt_call c = { .node = NULL };
    char text[128];

    for (size_t i = 0; i < CTT_LEN(wrong); i++) {
        snprintf(text, sizeof(text), "input x h=4 c=3\n%s\n", wrong[i][0]);
        ctt_check_refused(ctt_net_parse(text, &g), CTT_EINVAL, wrong[i][1]);
    }
    CHECK_OK(ctt_net_parse("input x h=4 c=3\n"
                           "collect y in=x of=rows part=0 parts=2 all=8\n",
                           &g));
    CHECK_OK(ctt_dev_open("ref", 1, &d));
    c.node = &g->node[1];
    ctt_check_refused(ctt_dev_run(d, &c, CTT_FWD), CTT_EUNSUP,
                      "y: this is for part 0 of 2, and part 0 of 1 computes");
    ctt_dev_close(&d);
    ctt_graph_free(&g);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "adjoint", test_adjoint }, { "rows", test_rows },
        { "refused", test_refused }, CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "parts", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL,
    };
    return ctt_check_main(suites);
}
