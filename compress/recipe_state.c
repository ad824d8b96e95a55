/* SPDX-License-Identifier: Apache-2.0
 * recipe_state.c: how far a recipe is, as text: a line for the settings, one
 * for the given model, one for the place and one per row of the report; cells
 * are separated by tabs. */
#include "compress/recipe_state.h"
#include "net/code/zip.h"
#include "base/newfile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { INT, INT64, DOUBLE, TEXT };

/* `count` numbers, or the bytes of a text. */
struct field { enum kind kind; size_t at; int count; };

#define OF(type, kind, field, count) { kind, offsetof(struct type, field), \
                                       count }
#define PLACE(kind, field, count) OF(ctt_recipe_state, kind, field, count)
#define STAGE(kind, field, count) OF(ctt_stage_row, kind, field, count)
#define BLAME(kind, field, count) OF(ctt_blame, kind, field, count)
#define CHOICE(kind, field, count) OF(ctt_choice, kind, field, count)
#define WEIGHT(kind, field, count) OF(ctt_weight_row, kind, field, count)

static const struct field place_fields[] = {
    PLACE(INT, rounds, 1), PLACE(INT, begun, 1), PLACE(DOUBLE, start, 1),
    PLACE(TEXT, name, CTT_NAME), PLACE(DOUBLE, before, CTT_ACCURACIES),
    PLACE(INT, idle, 1), PLACE(DOUBLE, least, 1),
};

static const struct field stage_fields[] = {
    STAGE(TEXT, name, CTT_NAME), STAGE(INT64, bytes, 1),
    STAGE(INT64, params, 1), STAGE(INT64, macs, 1),
    STAGE(INT64, clip_macs, 1), STAGE(INT64, live_macs, 1),
    STAGE(DOUBLE, pruned, 1), STAGE(DOUBLE, prunable, 1),
    STAGE(DOUBLE, before, CTT_ACCURACIES),
    STAGE(DOUBLE, after.top1, CTT_ACCURACIES), STAGE(INT64, after.clips, 1),
    STAGE(INT64, after.lost, 1), STAGE(INT64, after.won, 1),
    STAGE(INT64, ram, 1),
    STAGE(DOUBLE, ms, 1), STAGE(DOUBLE, faster, 1), STAGE(INT, busy, 1),
};

/* Members that a row of a weight stores; the rest is known from the given model
 * and from the file. */
static const struct field weight_fields[] = {
    WEIGHT(TEXT, name, CTT_NAME), WEIGHT(INT, cores, 1),
    WEIGHT(INT, rank, CTT_MAX_CORES - 1),
    WEIGHT(TEXT, chain, sizeof(((struct ctt_weight_row *)0)->chain)),
    WEIGHT(TEXT, reason, CTT_REASON), WEIGHT(INT, fitted, 1),
    WEIGHT(DOUBLE, error, 1),
    WEIGHT(INT64, params_after, 1), WEIGHT(INT64, macs_after, 1),
};

static const struct field blame_fields[] = {
    BLAME(TEXT, name, CTT_NAME), BLAME(DOUBLE, alone, 1),
    BLAME(DOUBLE, behind, 1), BLAME(DOUBLE, answer, 1),
    BLAME(INT, frames, 1),
    BLAME(TEXT, stays, sizeof(((struct ctt_blame *)0)->stays)),
};

static const struct field choice_fields[] = {
    CHOICE(TEXT, of, CTT_NAME),
    CHOICE(TEXT, name, sizeof(((struct ctt_choice *)0)->name)),
    CHOICE(INT, form, 1), CHOICE(INT, int8, 1), CHOICE(INT, chosen, 1),
    CHOICE(TEXT, given_up, sizeof(((struct ctt_choice *)0)->given_up)),
    CHOICE(INT64, bytes, 1), CHOICE(DOUBLE, ms, 1), CHOICE(INT, busy, 1),
    CHOICE(DOUBLE, lost, 1),
};

#define FIELDS(f) f, (int)CTT_LEN(f)

/* ---- writing ---- */

static void put_one(FILE *f, enum kind kind, const char *p, int k)
{
    if (kind == INT)
        fprintf(f, "\t%d", ((const int *)(const void *)p)[k]);
    else if (kind == INT64)
        fprintf(f, "\t%" PRId64, ((const int64_t *)(const void *)p)[k]);
    else
        fprintf(f, "\t%a", ((const double *)(const void *)p)[k]);
}

static void write_fields(FILE *f, const char *word, const struct field *field,
                         int fields, const void *p)
{
    fprintf(f, "%s", word);
    for (int i = 0; i < fields; i++) {
        const char *at = (const char *)p + field[i].at;
        if (field[i].kind == TEXT)
            fprintf(f, "\t%s", at);
        for (int k = 0; k < field[i].count && field[i].kind != TEXT; k++)
            put_one(f, field[i].kind, at, k);
    }
    fputc('\n', f);
}

/* All settings of the stages, and the epochs. */
static int put_settings(FILE *f, const struct ctt_recipe *o)
{
    struct ctt_opt tab[CTT_OPT_MAX + 1] = { { .name = NULL } };
    int n, rc = 0;

    CTT_TRY(n = ctt_recipe_options(0, tab, CTT_OPT_MAX));
    tab[n] = (struct ctt_opt){ .name = NULL };
    fprintf(f, "settings retrain-epochs=%d", o->epochs);
    if (o->automatic)
        fprintf(f, " limit=%d within=%g", o->limit,
                (double)o->within);
    if (o->rewind)
        fprintf(f, " rewind");
    fprintf(f, " norm-clips=%d for=%s", o->norm_clips, ctt_aims[o->aim]);
    ctt_opt_print(tab, o, f);
    fputc('\n', f);
out:
    return rc;
}

static uint32_t crc_text(uint32_t crc, const char *s)
{
    return ctt_crc32(crc, s, 1, (int64_t)strlen(s) + 1);
}

int ctt_recipe_state_given(const struct ctt_model *m,
                           struct ctt_recipe_state *p)
{
    char *net = ctt_net_print(m->g);
    int rc = net ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->weights = m->g->weights;
    p->crc = crc_text(0, net);
    for (int i = 0; i < m->labels; i++)
        p->crc = crc_text(p->crc, m->label[i]);
    p->crc = crc_text(p->crc, m->history ? m->history : "");
    p->crc = ctt_crc32(p->crc, m->w, (int)sizeof(*m->w), m->g->weights);
out:
    ctt_free(net);
    return rc;
}

static void put_rows(FILE *f, const struct ctt_recipe_state *p,
                     const struct ctt_report *r)
{
    write_fields(f, "place", FIELDS(place_fields), p);
    for (int i = 0; i < r->stages; i++)
        write_fields(f, "stage", FIELDS(stage_fields), &r->stage[i]);
    for (int i = 0; i < r->weights; i++)
        write_fields(f, "weight", FIELDS(weight_fields), &r->weight[i]);
    for (int i = 0; i < r->choices; i++)
        write_fields(f, "choice", FIELDS(choice_fields), &r->choice[i]);
    for (int i = 0; i < r->blames; i++)
        write_fields(f, "blame", FIELDS(blame_fields), &r->blame[i]);
}

static const char checkpoint[] = "checkpoint";

struct all {
    const struct ctt_recipe_state *p;
    const struct ctt_recipe       *o;
    const struct ctt_report       *r;
};

/* The lines that must be the same when a recipe goes on. */
static int write_head(FILE *f, const void *arg)
{
    const struct all *a = arg;
    int rc;

    fputs("recipe 8\n", f);
    CTT_TRY(put_settings(f, a->o));
    fprintf(f, "given %" PRId64 " %08" PRIx32 "\n", a->p->weights, a->p->crc);
out:
    return rc;
}

static int write_state(FILE *f, const void *arg)
{
    const struct all *a = arg;
    int rc;

    CTT_TRY(write_head(f, arg));
    put_rows(f, a->p, a->r);
out:
    return rc;
}

int ctt_recipe_state_print(const struct ctt_recipe_state *p,
                           const struct ctt_recipe *o,
                           const struct ctt_report *r, char **out)
{
    struct all a = { p, o, r };

    return ctt_text_collect(checkpoint, write_state, &a, out);
}

/* ---- reading ---- */

static int damaged(const char *what)
{
    return ctt_error(CTT_EFORMAT, "the checkpoint's recipe is damaged: %s",
                     what);
}

/* Ends *s at the next such character and moves it behind; NULL: it was the
 * last part. */
static char *next_part(char **s, char end)
{
    char *first = *s, *to = first ? strchr(first, end) : NULL;

    if (to)
        *to++ = '\0';
    *s = to;
    return first;
}

/* Names go to tables and to JSON without quoting. */
static int is_plain(const char *s)
{
    for (; *s; s++)
        if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
            return 0;
    return 1;
}

/* Reads a number, which must be the whole cell. */
static int get_one(enum kind kind, const char *cell, char *p, int k)
{
    char *end;
    long long x = 0;

    errno = 0;
    if (kind == DOUBLE)
        ((double *)(void *)p)[k] = strtod(cell, &end);
    else
        x = strtoll(cell, &end, 10);
    if (kind == INT64)
        ((int64_t *)(void *)p)[k] = x;
    else if (kind == INT)
        ((int *)(void *)p)[k] = (int)x;
    return *cell && !*end && (kind != INT || x == (int)x) &&
           (kind == DOUBLE || (x >= 0 && errno != ERANGE));
}

/* Reads one field from *cells, and moves it behind. */
static int get_field(char **cells, const struct field *f, char *at)
{
    int n = f->kind == TEXT ? 1 : f->count;

    for (int k = 0; k < n; k++) {
        char *cell = next_part(cells, '\t');
        if (!cell)
            return 0;
        if (f->kind != TEXT && !get_one(f->kind, cell, at, k))
            return 0;
        if (f->kind != TEXT)
            continue;
        if (strlen(cell) >= (size_t)f->count || !is_plain(cell))
            return 0;
        strcpy(at, cell);
    }
    return 1;
}

/* Reads the next line of *text, which begins with word, into p. */
static int read_fields(char **text, const char *word, const struct field *field,
                       int fields, void *p)
{
    char *line = next_part(text, '\n'), *first = next_part(&line, '\t');

    if (!first || strcmp(first, word) != 0)
        return damaged(word);
    for (int i = 0; i < fields; i++)
        if (!get_field(&line, &field[i], (char *)p + field[i].at))
            return damaged(word);
    return line ? damaged(word) : 0;
}

/* Results of a test; NaN: there was none. */
static int is_score(const struct ctt_score *s)
{
    for (int k = 0; k < CTT_ACCURACIES; k++)
        if (s->top1[k] < 0 || s->top1[k] > 1 ||
            isnan(s->top1[k]) != isnan(s->top1[0]))
            return 0;
    return s->clips <= INT_MAX && s->lost <= s->clips &&
           s->won <= s->clips - s->lost;
}

static int is_stage(const struct ctt_stage_row *s)
{
    return s->bytes > 0 && is_score(&s->after) && !isinf(s->pruned) &&
           !isinf(s->prunable) && !isinf(s->ms) && !isinf(s->faster);
}

static int get_stages(char **text, int count, struct ctt_report *r)
{
    int rc = 0;

    for (int i = 0; i < count; i++) {
        struct ctt_stage_row *row;
        CTT_TRY(ctt_report_row(r, &row));
        CTT_TRY(read_fields(text, "stage", FIELDS(stage_fields), row));
        CTT_TRY(is_stage(row) ? 0 : damaged("stage"));
    }
out:
    return rc;
}

static int get_weights(char **text, struct ctt_report *r)
{
    int rc = 0;

    for (int i = 0; i < r->weights; i++) {
        struct ctt_weight_row *w = &r->weight[i], was = *w;
        CTT_TRY(read_fields(text, "weight", FIELDS(weight_fields), w));
        CTT_TRY(strcmp(was.name, w->name) == 0 && w->cores >= 1 &&
                w->cores <= CTT_MAX_CORES ? 0 : damaged("weight"));
    }
out:
    return rc;
}

static int is_choice(const struct ctt_choice *c)
{
    return c->form < CTT_PRUNE_FORMS && c->int8 <= 1 && c->chosen <= 1 &&
           c->busy <= 1 && !isinf(c->ms) && !isinf(c->lost);
}

/* As many as there are. */
static int get_choices(char **text, struct ctt_report *r)
{
    static const char word[] = "choice\t";
    int rc = 0;

    while (*text && strncmp(*text, word, strlen(word)) == 0) {
        struct ctt_choice *c;
        CTT_TRY(ctt_report_choice(r, "", "", &c));
        CTT_TRY(read_fields(text, "choice", FIELDS(choice_fields), c));
        CTT_TRY(is_choice(c) ? 0 : damaged("choice"));
    }
out:
    return rc;
}

/* As many as there are. */
static int get_blames(char **text, struct ctt_report *r)
{
    int rc = 0;

    while (*text && **text) {
        struct ctt_blame *b;
        CTT_TRY(ctt_report_blame(r, "", &b));
        CTT_TRY(read_fields(text, "blame", FIELDS(blame_fields), b));
    }
out:
    return rc;
}

static int get_rows(char *text, const struct ctt_recipe *o,
                    struct ctt_recipe_state *p, struct ctt_report *r)
{
    int rc;

    CTT_TRY(read_fields(&text, "place", FIELDS(place_fields), p));
    CTT_TRY(p->begun <= (o->automatic ? CTT_RETRAININGS : 1) &&
            p->rounds <= ctt_recipe_rounds(o) - (p->begun > 0) ? 0
            : damaged("place"));
    CTT_TRY(p->idle <= CTT_RETRAININGS && fabs(p->least) <= 1 ? 0
            : damaged("place"));
    CTT_TRY(get_stages(&text, p->rounds + 1, r));
    CTT_TRY(get_weights(&text, r));
    CTT_TRY(get_choices(&text, r));
    CTT_TRY(get_blames(&text, r));
    CTT_TRY(text && !*text ? 0 : damaged("the end"));
out:
    return rc;
}

/* The line at *s without its end; moves *s behind it. */
static int line_of(const char **s)
{
    int n = (int)strcspn(*s, "\n");

    *s += n + ((*s)[n] == '\n');
    return n;
}

/* Moves both lines, which differ, to the first words that do; n and k: their
 * lengths, 0 behind the end. */
static void other_words(const char **was, int *n, const char **now, int *k)
{
    for (;;) {
        *n = (int)strcspn(*was, " \n");
        *k = (int)strcspn(*now, " \n");
        if (*n != *k || memcmp(*was, *now, (size_t)*n) != 0 ||
            (*was)[*n] != ' ' || (*now)[*k] != ' ')
            return;
        *was += *n + 1;
        *now += *k + 1;
    }
}

/* Compares what must be the same. */
static int compare_head(const char *text, const char *head)
{
    static const char *const what[] = { "by another version",
                                        "with other settings",
                                        "from another model" };

    for (size_t i = 0; i < CTT_LEN(what); i++) {
        const char *was = text, *now = head;
        int n = line_of(&text), k = line_of(&head);
        if (n == k && memcmp(was, now, (size_t)n) == 0)
            continue;
        other_words(&was, &n, &now, &k);
        return ctt_error(CTT_EINVAL, "the checkpoint was made %s: '%.*s', now "
                         "'%.*s'", what[i], n, was, k, now);
    }
    return 0;
}

int ctt_recipe_state_read(const char *text, const struct ctt_recipe *o,
                          struct ctt_recipe_state *p, struct ctt_report *r)
{
    struct all a = { .p = p, .o = o };
    char *head = NULL, *copy = NULL;
    int rc;

    CTT_TRY(ctt_text_collect(checkpoint, write_head, &a, &head));
    CTT_TRY(compare_head(text, head));
    copy = ctt_strdup(text + strlen(head));
    CTT_TRY(copy ? 0 : CTT_ENOMEM);
    CTT_TRY(get_rows(copy, o, p, r));
out:
    ctt_free(head);
    ctt_free(copy);
    return rc;
}
