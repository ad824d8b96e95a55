/* SPDX-License-Identifier: Apache-2.0
 * responses.c: mean and covariance of the inputs and the results of convs on
 * real clips: for results each conv gets a copy without bias and second input,
 * whose values are sampled. */
#include "compress/stage/responses.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- moments ---- */

/* Rows that are added to the sums together, which is faster. */
enum { LATE = 128 };

int ctt_moments_begin(struct ctt_moments *s, int d)
{
    size_t n = (size_t)d;

    *s = (struct ctt_moments){ .d = d };
    s->first = ctt_calloc(n, sizeof(*s->first));
    s->late = ctt_calloc(LATE * n, sizeof(*s->late));
    s->sum = ctt_calloc(n, sizeof(*s->sum));
    s->squares = ctt_calloc(n * (n + 1) / 2, sizeof(*s->squares));
    return s->first && s->late && s->sum && s->squares ? 0 : CTT_ENOMEM;
}

void ctt_moments_free(struct ctt_moments *s)
{
    ctt_free(s->first);
    ctt_free(s->late);
    ctt_free(s->sum);
    ctt_free(s->squares);
    ctt_free(s->cov);
    *s = (struct ctt_moments){ 0 };
}

static void add_late(struct ctt_moments *s, int rows)
{
    if (rows > 0 && s->rc >= 0)
        s->rc = ctt_add_squares(s->d, rows, s->late, s->squares);
}

static void moments_add(struct ctt_moments *s, const float *row)
{
    double *x = s->late + s->count % LATE * s->d;

    if (s->count++ == 0)
        for (int i = 0; i < s->d; i++)
            s->first[i] = row[i];
    for (int i = 0; i < s->d; i++) {
        x[i] = row[i] - s->first[i];
        s->sum[i] += x[i];
    }
    if (s->count % LATE == 0)
        add_late(s, LATE);
}

/* The covariance of the sums. */
static void divide(struct ctt_moments *s)
{
    double n = s->count > 0 ? (double)s->count : 1;
    size_t d = (size_t)s->d;

    for (size_t i = 0; i < d; i++)
        s->sum[i] /= n;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k <= i; k++)
            s->cov[i * d + k] = s->cov[k * d + i] =
                s->cov[i * d + k] / n - s->sum[i] * s->sum[k];
    for (size_t i = 0; i < d; i++)
        s->sum[i] += s->first[i];
}

int ctt_moments_end(struct ctt_moments *s)
{
    size_t d = (size_t)s->d;
    int rc;

    add_late(s, (int)(s->count % LATE));
    CTT_TRY(s->rc);
    s->cov = ctt_calloc(d * d, sizeof(*s->cov));
    CTT_TRY(s->cov ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_unpack(s->d, s->squares, s->cov));
    ctt_free(s->squares);
    s->squares = NULL;
    divide(s);
out:
    return rc;
}

/* ---- the copies ---- */

static void copy_name(int k, char name[CTT_NAME])
{
    snprintf(name, CTT_NAME, "response.%d", k);
}

/* The number of the first copy, such that no name is used. */
static int first_copy(const struct ctt_graph *g, int nodes)
{
    char name[CTT_NAME];
    int first = 0;

    for (int k = 0; k < nodes; k++) {
        copy_name(first + k, name);
        if (ctt_graph_find(g, name) >= 0) {
            first += k + 1;
            k = -1;
        }
    }
    return first;
}

static int add_copy(struct ctt_edit *e, const struct ctt_graph *g, int i,
                    const char *name)
{
    const struct ctt_node *n = &g->node[i];
    struct ctt_slide s = ctt_slide_of(n);
    char groups[32] = "", text[CTT_SLIDE_TEXT];

    if (ctt_is_grouped(n))
        snprintf(groups, sizeof(groups), " groups=%d", n->attr.conv.groups);
    ctt_slide_text(&s, text);
    return ctt_edit_add(e, i, "%s %s in=%s out=%d%s bias=0%s",
                        n->op == CTT_OP_CONV ? "conv" : "deconv", name,
                        g->node[n->in[0]].name, n->attr.conv.out, text,
                        groups);
}

/* The model with the copies, and their indices at[nodes]. */
static int with_copies(const struct ctt_model *m, const int *node, int nodes,
                       int *at, struct ctt_model **out)
{
    int first = first_copy(m->g, nodes), rc = 0;
    struct ctt_edit *e = NULL;
    struct ctt_model *to = NULL;
    char name[CTT_NAME];

    CTT_TRY(ctt_edit_begin(m->g, &e));
    for (int k = 0; k < nodes; k++) {
        copy_name(first + k, name);
        CTT_TRY(add_copy(e, m->g, node[k], name));
    }
    CTT_TRY(ctt_edit_model(e, m, &to));
    for (int k = 0; k < nodes; k++) {
        const struct ctt_node *n = &m->g->node[node[k]];

        copy_name(first + k, name);
        at[k] = ctt_graph_find(to->g, name);
        CTT_CHECK(at[k] >= 0, CTT_EFORMAT, "%s: lost on the way", name);
        memcpy(to->w + to->g->node[at[k]].at[0], m->w + n->at[0],
               (size_t)ctt_volume(&n->w[0]) * sizeof(float));
    }
    *out = to;
    to = NULL;
out:
    ctt_model_free(&to);
    ctt_edit_free(&e);
    return rc;
}

/* ---- of one model ---- */

static void add_moments_row(void *to, int k, const float *row)
{
    moments_add(&((struct ctt_moments *)to)[k], row);
}

static int check_places(const char *name, int64_t count)
{
    return count > 1 ? 0
        : ctt_error(CTT_EINVAL, "%s: the clips to measure on have %d of its "
                    "places, too few: give --calibrate more clips", name,
                    (int)count);
}

static int check_moments(const struct ctt_model *m, int node, const char *what,
                         const struct ctt_moments *s)
{
    const char *name = m->g->node[node].name;
    int rc = 0;

    CTT_TRY(check_places(name, s->count));
    for (int i = 0; i < s->d; i++)
        CTT_CHECK(isfinite(s->cov[(size_t)i * (size_t)s->d + (size_t)i]),
                  CTT_ENAN, "%s: %s is not finite", name, what);
out:
    return rc;
}

/* All results of a place must read the same inputs. */
static int check_inputs(const struct ctt_node *n)
{
    return ctt_is_grouped(n)
        ? ctt_error(CTT_EUNSUP, "%s: its groups read different inputs", n->name)
        : 0;
}

int ctt_responses(const struct ctt_model *m,
                  const struct ctt_recipe_calls *calls, int clips,
                  const int *node, int nodes, struct ctt_moments *s)
{
    struct ctt_model *copy = NULL;
    int *at = ctt_calloc((size_t)nodes + 1, sizeof(*at)), rc = 0;

    CTT_TRY(at ? 0 : CTT_ENOMEM);
    CTT_CHECK(calls->sample, CTT_EINVAL, "no clips to measure responses on");
    for (int k = 0; k < nodes; k++)
        CTT_TRY(ctt_moments_begin(&s[k], (int)m->g->node[node[k]].w[0].n));
    CTT_TRY(with_copies(m, node, nodes, at, &copy));
    CTT_TRY(calls->sample(calls->arg, copy, clips, at, nodes,
                          CTT_SAMPLE_VALUES, add_moments_row, s));
    for (int k = 0; k < nodes; k++) {
        CTT_TRY(ctt_moments_end(&s[k]));
        CTT_TRY(check_moments(m, node[k], "a response", &s[k]));
    }
out:
    ctt_model_free(&copy);
    ctt_free(at);
    return rc;
}

int ctt_inputs(const struct ctt_model *m, const struct ctt_recipe_calls *calls,
               int clips, const int *node, int nodes, struct ctt_moments *s)
{
    int rc = 0;

    CTT_CHECK(calls->sample, CTT_EINVAL, "no clips to measure inputs on");
    for (int k = 0; k < nodes; k++) {
        const struct ctt_node *n = &m->g->node[node[k]];
        const struct ctt_tensor *w = &n->w[0];

        CTT_TRY(check_inputs(n));
        CTT_TRY(ctt_moments_begin(&s[k], (int)(ctt_volume(w) / w->n)));
    }
    CTT_TRY(calls->sample(calls->arg, m, clips, node, nodes,
                          CTT_SAMPLE_INPUTS, add_moments_row, s));
    for (int k = 0; k < nodes; k++) {
        CTT_TRY(ctt_moments_end(&s[k]));
        CTT_TRY(check_moments(m, node[k], "an input", &s[k]));
    }
out:
    return rc;
}

/* ---- of two models ---- */

/* Results of one conv. */
struct kept_rows { int d; float *row; int count, room; };

struct ctt_kept {
    const struct ctt_model *m;
    const int              *node;
    int                     nodes, rc;
    struct kept_rows       *of;    /* by number of node */
};

static void keep_response(void *to, int k, const float *row)
{
    struct ctt_kept *s = to;
    struct kept_rows *r = &s->of[k];
    size_t size = (size_t)r->d * sizeof(*row);
    float *rows = s->rc < 0 ? NULL
        : ctt_grown(r->row, &r->room, r->count, size);

    r->row = rows ? rows : r->row;
    s->rc = rows ? 0 : CTT_ENOMEM;
    if (rows)
        memcpy(rows + (size_t)r->count++ * (size_t)r->d, row, size);
}

void ctt_kept_rows_free(struct ctt_kept **s)
{
    for (int k = 0; *s && (*s)->of && k < (*s)->nodes; k++)
        ctt_free((*s)->of[k].row);
    if (*s)
        ctt_free((*s)->of);
    ctt_free(*s);
    *s = NULL;
}

int ctt_keep_rows(const struct ctt_model *m, const int *node, int nodes,
                  const struct ctt_recipe_calls *calls, int clips,
                  struct ctt_kept **out)
{
    struct ctt_kept *s = ctt_calloc(1, sizeof(*s));
    int *at = ctt_calloc((size_t)nodes + 1, sizeof(*at)), rc = 0;
    struct ctt_model *copy = NULL;

    CTT_TRY(s && at ? 0 : CTT_ENOMEM);
    *s = (struct ctt_kept){ .m = m, .node = node, .nodes = nodes };
    s->of = ctt_calloc((size_t)nodes + 1, sizeof(*s->of));
    CTT_TRY(s->of ? 0 : CTT_ENOMEM);
    CTT_CHECK(calls->sample, CTT_EINVAL, "no clips to measure responses on");
    for (int k = 0; k < nodes; k++)
        s->of[k].d = (int)m->g->node[node[k]].w[0].n;
    CTT_TRY(with_copies(m, node, nodes, at, &copy));
    CTT_TRY(calls->sample(calls->arg, copy, clips, at, nodes,
                          CTT_SAMPLE_VALUES, keep_response, s));
    CTT_TRY(s->rc);
    for (int k = 0; k < nodes; k++)
        CTT_TRY(check_places(m->g->node[node[k]].name, s->of[k].count));
    *out = s;
    s = NULL;
out:
    ctt_kept_rows_free(&s);
    ctt_model_free(&copy);
    ctt_free(at);
    return rc;
}

/* The other model as it is sampled. */
struct paired {
    const struct ctt_pairing *p;
    const struct kept_rows   *was;
    int                       width, next;
    float                    *pair;    /* width numbers, then was->d */
};

static void add_pair(void *to, int k, const float *row)
{
    struct paired *b = to;
    size_t d = (size_t)b->was->d;

    if (k > 0) {
        b->p->answer(b->p->answer_to, 0, row);
        return;
    }
    if (b->next < b->was->count) {
        memcpy(b->pair, row, (size_t)b->width * sizeof(*row));
        memcpy(b->pair + b->width, b->was->row + (size_t)b->next * d,
               d * sizeof(*row));
        b->p->take(b->p->to, b->pair);
    }
    b->next++;
}

/* 1 if a node needs none behind `last`. */
static int stands_alone(const struct ctt_graph *g, const struct ctt_node *n,
                        int last)
{
    int alone = n->op != CTT_OP_STATE || !n->attr.state.like ||
                ctt_graph_find(g, n->attr.state.like) <= last;

    for (int k = 0; k < ctt_node_inputs(n); k++)
        alone &= ctt_node_input(n, k) <= last;
    return alone;
}

/* Without the lines behind node `last`, if none before it needs them and the
 * text allows that. */
static int cut_behind(int last, struct ctt_model **m)
{
    const struct ctt_graph *g = (*m)->g;
    struct ctt_model *to = NULL;
    struct ctt_edit *e = NULL;
    int rc = 0;

    if ((g->clip < g->count && last < g->clip) || g->several)
        return 0;
    for (int i = 0; i <= last; i++)
        if (!stands_alone(g, &g->node[i], last))
            return 0;
    CTT_TRY(ctt_edit_begin(g, &e));
    for (int i = last + 1; i < g->count; i++)
        ctt_edit_remove(e, i);
    CTT_TRY(ctt_edit_model(e, *m, &to));
out:
    ctt_edit_free(&e);    /* before the graph that it is of */
    if (to) {
        ctt_model_free(m);
        *m = to;
    }
    return rc;
}

/* Samples the answers of the conv, or its inputs, and those of the model. */
static int sample_part(struct paired *b, const struct ctt_model *m,
                       const char *name, const struct ctt_recipe_calls *calls,
                       int clips)
{
    int node = ctt_graph_find(m->g, name), at[2] = { node, 0 }, rc = 0;
    enum ctt_sampled what = b->p->inputs ? CTT_SAMPLE_INPUTS
                                         : CTT_SAMPLE_VALUES;
    struct ctt_model *copy = NULL;

    CTT_CHECK(node >= 0, CTT_EFORMAT, "%s: lost on the way", name);
    if (!b->p->inputs)
        CTT_TRY(with_copies(m, &node, 1, at, &copy));
    if (copy && !b->p->answer)
        CTT_TRY(cut_behind(at[0], &copy));
    m = copy ? copy : m;
    at[1] = ctt_graph_output(m->g);
    CTT_TRY(calls->sample(calls->arg, m, clips, at, b->p->answer ? 2 : 1, what,
                          add_pair, b));
out:
    ctt_model_free(&copy);
    return rc;
}

int ctt_pair_rows(const struct ctt_pairing *p, const struct ctt_model *part,
                  const struct ctt_recipe_calls *calls, int clips)
{
    const struct ctt_graph *g = p->kept->m->g;
    const struct ctt_node *n = &g->node[p->kept->node[p->k]];
    struct paired b = { .p = p, .was = &p->kept->of[p->k] };
    int rc = 0;

    CTT_TRY(p->inputs ? check_inputs(n) : 0);
    b.width = p->inputs ? (int)(ctt_volume(&n->w[0]) / n->w[0].n) : b.was->d;
    b.pair = ctt_calloc((size_t)b.width + (size_t)b.was->d, sizeof(*b.pair));
    CTT_TRY(b.pair ? 0 : CTT_ENOMEM);
    CTT_TRY(sample_part(&b, part, n->name, calls, clips));
    CTT_CHECK(b.next == b.was->count, CTT_EINVAL, "%s: %d and %d places",
              n->name, b.was->count, b.next);
out:
    ctt_free(b.pair);
    return rc;
}

static void add_to_moments(void *to, const float *pair)
{
    moments_add(to, pair);
}

int ctt_two_responses(const struct ctt_model *m, const struct ctt_model *part,
                      int node, int inputs,
                      const struct ctt_recipe_calls *calls, int clips,
                      struct ctt_moments *s)
{
    const struct ctt_node *n = &m->g->node[node];
    int64_t out = n->w[0].n, in = ctt_volume(&n->w[0]) / out;
    struct ctt_pairing p = { .inputs = inputs, .take = add_to_moments,
                             .to = s };
    struct ctt_kept *kept = NULL;
    int rc = 0;

    CTT_TRY(inputs ? check_inputs(n) : 0);
    CTT_TRY(ctt_moments_begin(s, (int)(out + (inputs ? in : out))));
    CTT_TRY(ctt_keep_rows(m, &node, 1, calls, clips, &kept));
    p.kept = kept;
    CTT_TRY(ctt_pair_rows(&p, part, calls, clips));
    CTT_TRY(ctt_moments_end(s));
    CTT_TRY(check_moments(m, node, "a response", s));
out:
    ctt_kept_rows_free(&kept);
    return rc;
}
