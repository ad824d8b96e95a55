/* SPDX-License-Identifier: Apache-2.0
 * report.c: the compression of a model and the measured results. */
#include "compress/compress.h"
#include "net/op.h"
#include "net/quant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void as_it_was(const struct ctt_model *m, int i,
                      struct ctt_weight_row *row)
{
    const struct ctt_node *n = &m->g->node[i];
    const struct ctt_tensor *w = &n->w[0];

    memcpy(row->name, n->name, sizeof(row->name));
    memcpy(row->shape, (int[]){ (int)w->n, (int)w->d, (int)w->h, (int)w->w,
                                (int)w->c }, sizeof(row->shape));
    row->cores = 1;
    row->params = row->params_after = row->kept = ctt_volume(w);
    row->macs = row->macs_after = ctt_node_macs(m->g, i);
}

int ctt_report_new(const struct ctt_model *m, struct ctt_report **out)
{
    struct ctt_report *r = ctt_calloc(1, sizeof(*r));
    int rc = 0;

    CTT_TRY(r ? 0 : CTT_ENOMEM);
    r->several = m->g->several;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        r->proof[0].top1[k] = r->proof[1].top1[k] = NAN;
    r->weight = ctt_calloc((size_t)m->g->count, sizeof(*r->weight));
    CTT_TRY(r->weight ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++)
        if (ctt_is_conv(&m->g->node[i]))
            as_it_was(m, i, &r->weight[r->weights++]);
    *out = r;
    r = NULL;
out:
    ctt_report_free(&r);
    return rc;
}

void ctt_report_free(struct ctt_report **r)
{
    if (!*r)
        return;
    ctt_free((*r)->stage);
    ctt_free((*r)->weight);
    ctt_free((*r)->stored);
    ctt_free((*r)->blame);
    ctt_free((*r)->choice);
    ctt_free(*r);
    *r = NULL;
}

/* ---- a stage ---- */

static int64_t live(const struct ctt_model *m, const struct ctt_node *n)
{
    int64_t sum = 0;

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
        sum += !ctt_is_pruned(&m->constraint, n->at[0] + k);
    return sum;
}

static void count_macs(const struct ctt_model *m, struct ctt_stage_row *row)
{
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int64_t macs = ctt_node_macs(m->g, i);

        if (!ctt_is_conv(n))
            continue;
        if (i >= m->g->clip) {
            row->clip_macs += macs;
            continue;
        }
        row->macs += macs;
        row->live_macs += macs / ctt_volume(&n->w[0]) * live(m, n);
    }
}

int ctt_report_row(struct ctt_report *r, struct ctt_stage_row **row)
{
    void *more = ctt_grown(r->stage, &r->stage_room, r->stages,
                           sizeof(*r->stage));

    if (!more)
        return CTT_ENOMEM;
    r->stage = more;
    *row = &r->stage[r->stages++];
    memset(*row, 0, sizeof(**row));
    for (int k = 0; k < CTT_ACCURACIES; k++)
        (*row)->before[k] = (*row)->after.top1[k] = NAN;
    (*row)->ms = (*row)->faster = (*row)->prunable = NAN;
    return 0;
}

int ctt_report_blame(struct ctt_report *r, const char *name,
                     struct ctt_blame **row)
{
    void *more = ctt_grown(r->blame, &r->blame_room, r->blames,
                           sizeof(*r->blame));

    if (!more)
        return CTT_ENOMEM;
    r->blame = more;
    *row = &r->blame[r->blames++];
    **row = (struct ctt_blame){ .alone = NAN, .behind = NAN, .answer = NAN };
    snprintf((*row)->name, sizeof((*row)->name), "%s", name);
    return 0;
}

int ctt_report_choice(struct ctt_report *r, const char *of, const char *name,
                      struct ctt_choice **row)
{
    void *more = ctt_grown(r->choice, &r->choice_room, r->choices,
                           sizeof(*r->choice));

    if (!more)
        return CTT_ENOMEM;
    r->choice = more;
    *row = &r->choice[r->choices++];
    **row = (struct ctt_choice){ .ms = NAN, .lost = NAN };
    snprintf((*row)->of, sizeof((*row)->of), "%s", of);
    snprintf((*row)->name, sizeof((*row)->name), "%s", name);
    return 0;
}

static int is_form(const struct ctt_choice *c)
{
    return strcmp(c->of, CTT_CHOICE_FORM) == 0;
}

struct ctt_choice *ctt_report_form(const struct ctt_report *r)
{
    struct ctt_choice *form = NULL;

    for (int i = 0; i < r->choices; i++) {
        struct ctt_choice *c = &r->choice[i];

        if (c->chosen && is_form(c) && (!form || c->given_up[0]))
            form = c;
    }
    return form;
}

int ctt_report_is_chosen(const struct ctt_choice *c)
{
    return c->chosen && !c->given_up[0];
}

void ctt_report_give_up(struct ctt_report *r, const char *why)
{
    struct ctt_choice *form = ctt_report_form(r);

    if (!form || !form->int8)
        return;
    snprintf(form->given_up, sizeof(form->given_up), "%s", why);
    for (int i = 0; i < r->choices; i++) {
        struct ctt_choice *c = &r->choice[i];

        if (is_form(c) && !c->int8 && c->form == form->form) {
            c->chosen = 1;
            c->given_up[0] = '\0';
        }
    }
}

static int same_choice(const struct ctt_report *r, int i, int k)
{
    return k >= 0 && k < r->choices &&
           strcmp(r->choice[i].of, r->choice[k].of) == 0;
}

double ctt_report_gain(const struct ctt_report *r, const struct ctt_choice *c)
{
    int k = (int)(c - r->choice), first = k;

    while (same_choice(r, k, first - 1))
        first--;
    return r->choice[first].ms / c->ms;
}

int ctt_report_had_choice(const struct ctt_report *r, int i)
{
    return same_choice(r, i, i - 1) || same_choice(r, i, i + 1);
}

/* The larger, the worse. */
static double harm_of(const struct ctt_blame *b)
{
    if (strcmp(b->name, CTT_BLAME_ALL) == 0)
        return INFINITY;
    if (isnan(b->answer))
        return -INFINITY;
    return b->frames ? -b->answer : b->answer;
}

/* Sorts by insertion: equal ones stay in the order of the model. */
void ctt_report_sort_blame(struct ctt_report *r)
{
    for (int i = 1; i < r->blames; i++) {
        struct ctt_blame b = r->blame[i];
        int k = i;

        for (; k > 0 && harm_of(&r->blame[k - 1]) < harm_of(&b); k--)
            r->blame[k] = r->blame[k - 1];
        r->blame[k] = b;
    }
}

void ctt_report_speed(const struct ctt_report *r, const struct ctt_speed *s,
                      struct ctt_stage_row *row)
{
    row->ram = s->ram;
    row->busy = s->busy;
    row->faster = row == r->stage ? 1 : 1 / s->slower;
    row->ms = row == r->stage ? s->ms : r->stage[0].ms / row->faster;
}

int ctt_report_stage(struct ctt_report *r, const char *name,
                     const struct ctt_model *m, const char *path,
                     struct ctt_stage_row **row)
{
    struct ctt_stored *stored = NULL;
    struct ctt_stage_row *s;
    int64_t bytes;
    int count, rc = 0;

    CTT_TRY(ctt_model_stored(path, &stored, &count, &bytes));
    CTT_TRY(ctt_report_row(r, &s));
    snprintf(s->name, sizeof(s->name), "%s", name);
    s->bytes = bytes;
    s->params = ctt_model_params(m);
    s->pruned = ctt_pruned(m, NULL);
    count_macs(m, s);
    *row = s;
out:
    ctt_free(stored);
    return rc;
}

/* ---- what is stored of a weight ---- */

int ctt_row_has(const struct ctt_weight_row *row, const char *name,
                const char *end)
{
    size_t n = strlen(row->name);

    if (strncmp(name, row->name, n) != 0)
        return 0;
    if (strcmp(name + n, end) == 0)
        return 1;
    return row->cores > 1 && strncmp(name + n, ".t", 2) == 0 &&
           name[n + 2] >= '1' && name[n + 2] <= '9' &&
           strcmp(name + n + 3, end) == 0;
}

/* Says how the largest part of the weight is stored. */
static void sum_stored(struct ctt_report *r, struct ctt_weight_row *row)
{
    int64_t largest = -1;

    row->kept = row->size = 0;
    for (int i = 0; i < r->nstored; i++) {
        const struct ctt_stored *s = &r->stored[i];
        if (!ctt_row_has(row, s->name, ".w"))
            continue;
        row->kept += s->kept;
        row->size += s->size;
        if (s->params > largest) {
            largest = s->params;
            snprintf(row->encoding, sizeof(row->encoding), "%s %s %s",
                     s->positions, s->values, s->bytes);
        }
    }
}

int ctt_report_stored(struct ctt_report *r, const char *path)
{
    struct ctt_stored *stored = NULL;
    int64_t bytes;
    int count, rc = ctt_model_stored(path, &stored, &count, &bytes);

    if (rc < 0)
        return rc;
    ctt_free(r->stored);
    r->stored = stored;
    r->nstored = count;
    for (int i = 0; i < r->weights; i++)
        sum_stored(r, &r->weight[i]);
    return 0;
}

/* The symbols of a weight that is stored as bytes are these, not their products
 * with the step of a channel.  *whole: the caller frees it. */
static int use_bytes(const struct ctt_node *n, struct ctt_weight *w,
                     float **whole)
{
    int64_t all = ctt_volume(&n->w[0]), each = all / n->w[0].n;
    float *step = ctt_calloc((size_t)n->w[0].n, sizeof(*step));
    int8_t *q = ctt_calloc((size_t)all, 1);
    int rc = 0;

    *whole = ctt_calloc((size_t)all, sizeof(**whole));
    CTT_TRY(step && q && *whole ? 0 : CTT_ENOMEM);
    ctt_quant_weights(w->t.data, n->w[0].n, each, q, step);
    for (int64_t i = 0; i < all; i++)
        (*whole)[i] = q[i];
    w->t.data = *whole;
out:
    ctt_free(step);
    ctt_free(q);
    return rc;
}

static int is_bytes(const struct ctt_model *m, const struct ctt_node *n)
{
    return ctt_is_int8(m->g, (int)(n - m->g->node)) &&
           ctt_quant_is(m->w + n->at[0], n->w[0].n,
                        ctt_volume(&n->w[0]) / n->w[0].n);
}

static int add_entropy(const struct ctt_model *m, const struct ctt_node *n,
                       struct ctt_weight_row *row)
{
    struct ctt_weight w = ctt_model_weight(m, n, 0);
    struct ctt_entropy e, *sum = &row->entropy;
    char title[CTT_WEIGHT_NAME];
    float *whole = NULL;
    int rc = 0;

    ctt_weight_title(n, 0, title);
    if (!ctt_row_has(row, title, ".w"))
        goto out;
    if (is_bytes(m, n))
        CTT_TRY(use_bytes(n, &w, &whole));
    CTT_TRY(ctt_entropy(&w, &e));
    sum->values += e.values;
    sum->value_bits += e.value_bits;
    sum->gap_bits += e.gap_bits;
out:
    ctt_free(whole);
    return rc;
}

int ctt_report_entropy(struct ctt_report *r, const struct ctt_model *m)
{
    int rc = 0;

    for (int k = 0; k < r->weights; k++)
        r->weight[k].entropy = (struct ctt_entropy){ .values = 0 };
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; ctt_is_conv(&m->g->node[i]) && k < r->weights; k++)
            CTT_TRY(add_entropy(m, &m->g->node[i], &r->weight[k]));
out:
    return rc;
}
