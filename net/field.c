/* SPDX-License-Identifier: Apache-2.0
 * field.c: receptive fields: on how much of the frames a value depends
 * (Araujo, Norris and Sim 2019). */
#include "net/field.h"
#include "net/op.h"

#include <math.h>

/* span: pixels, jump: pixels from value to value. */
struct axis { double span, jump; };
struct reach {
    struct axis at[2];    /* rows, columns */
    int64_t     back;     /* frames before the current one */
};

static void slide_along(struct axis *a, const struct ctt_slide *s, int axis,
                        int64_t all, int transposed)
{
    double taps = (double)ctt_slide_span(s, axis);

    if (transposed)    /* the values of which a result has a part */
        taps = 1 + floor((taps - 1) / s->stride[axis]);
    a->span += (taps - 1) * a->jump;
    a->jump *= transposed ? 1.0 / s->stride[axis] : s->stride[axis];
    a->span = fmin(a->span, (double)all);
}

/* Ops whose rows rule is that of a cut into bands, but that mix no pixels. */
static int is_pointwise(const struct ctt_node *n)
{
    return n->op == CTT_OP_DROPOUT || n->op == CTT_OP_AHEAD ||
           n->op == CTT_OP_MIX ||
           (n->op == CTT_OP_SOFTMAX &&
            n->attr.softmax.over == CTT_OVER_CHANNELS);
}

/* A pixel is a block of `by`, or one of a block's. */
static void patch_along(struct axis *a, int back, int by)
{
    a->span += back ? 0 : (by - 1) * a->jump;
    a->jump = back ? a->jump / by : a->jump * by;
}

static void see_through(const struct ctt_node *n, const int64_t all[2],
                        struct reach *r)
{
    enum ctt_rows_rule rule = ctt_ops[n->op].rows;
    struct ctt_slide s;

    if (rule == CTT_ROWS_SLIDES || n->op == CTT_OP_DECONV) {
        s = ctt_slide_of(n);
        for (int k = 0; k < 2; k++)
            slide_along(&r->at[k], &s, k + 1, all[k], n->op == CTT_OP_DECONV);
    } else if (rule == CTT_ROWS_COPIES) {
        for (int k = 0; k < 2; k++)
            r->at[k].jump /= n->attr.upsample.by[k + 1];
    } else if (n->op == CTT_OP_PATCH) {
        for (int k = 0; k < 2; k++)
            patch_along(&r->at[k], n->attr.patch.back,
                        n->attr.patch.by[k + 1]);
    } else if (rule == CTT_ROWS_WHOLE && !is_pointwise(n)) {
        for (int k = 0; k < 2; k++)
            r->at[k].span = (double)all[k];
    }
}

static int64_t further(int64_t back, int64_t more)
{
    return back == CTT_FIELD_ALL || more == CTT_FIELD_ALL ? CTT_FIELD_ALL
                                                          : back + more;
}

static int64_t steps_back(const struct ctt_node *n)
{
    const struct ctt_window_attr *w = &n->attr.window;

    if (n->op == CTT_OP_STATE)
        return n->attr.state.delay;
    if (n->op != CTT_OP_WINDOW)
        return 0;
    return w->spread ? CTT_FIELD_ALL : (int64_t)(w->steps - 1) * w->every;
}

/* The field of a node through all its inputs; 1 if that has grown. */
static int reach_node(const struct ctt_graph *g, int i, int bound,
                      const int64_t all[2], struct reach *reach)
{
    const struct ctt_node *n = &g->node[i];
    struct reach r = { .back = -1 }, was = reach[i];

    for (int k = 0; k < ctt_node_inputs(n); k++) {
        const struct reach *in = &reach[ctt_node_input(n, k)];

        if (in->back < 0)
            continue;
        for (int a = 0; a < 2; a++) {
            r.at[a].span = fmax(r.at[a].span, in->at[a].span);
            r.at[a].jump = fmax(r.at[a].jump, in->at[a].jump);
        }
        r.back = r.back > in->back ? r.back : in->back;
    }
    if (n->op == CTT_OP_INPUT)
        r = (struct reach){ { { 1, 1 }, { 1, 1 } }, 0 };
    else if (r.back < 0)
        return 0;
    else
        see_through(n, all, &r);
    r.back = bound ? CTT_FIELD_ALL : further(r.back, steps_back(n));
    for (int a = 0; a < 2; a++)
        r.at[a].span = fmax(r.at[a].span, was.at[a].span);
    reach[i] = r;
    return r.back != was.back || r.at[0].span > was.at[0].span ||
           r.at[1].span > was.at[1].span;
}

/* bound[i]: 1 if node i is in a loop over steps. */
static int find_bound(const struct ctt_graph *g, char *bound)
{
    struct ctt_schedule *s = NULL;
    int rc;

    CTT_TRY(ctt_schedule_new(g, 1, &s));
    for (int i = 0; i < g->clip; i++)
        bound[i] = (char)s->bound[s->of[i]];
out:
    ctt_schedule_free(&s);
    return rc;
}

int ctt_receptive_fields(const struct ctt_graph *g, struct ctt_receptive **out)
{
    const struct ctt_tensor *x = &g->node[ctt_graph_input(g)].out;
    const int64_t all[2] = { x->h, x->w };
    size_t count = (size_t)g->count;
    struct ctt_receptive *f = ctt_calloc(count, sizeof(*f));
    struct reach *r = ctt_calloc(count, sizeof(*r));
    char *bound = ctt_calloc(count, 1);
    int rc = 0, grown = 1;

    CTT_TRY(f && r && bound ? 0 : CTT_ENOMEM);
    CTT_TRY(find_bound(g, bound));
    for (int i = 0; i < g->count; i++)
        r[i].back = -1;
    while (grown) {    /* at most as often as the image has pixels */
        grown = 0;
        for (int i = 0; i < g->count; i++)
            grown |= reach_node(g, i, bound[i], all, r);
    }
    for (int i = 0; i < g->count; i++)
        if (r[i].back >= 0)
            f[i] = (struct ctt_receptive){ (int64_t)r[i].at[0].span,
                (int64_t)r[i].at[1].span, further(r[i].back, 1) };
    *out = f;
    f = NULL;
out:
    ctt_free(f);
    ctt_free(r);
    ctt_free(bound);
    return rc;
}
