/* SPDX-License-Identifier: Apache-2.0
 * channelwise.c: ops that treat each channel alone, for edits that drop
 * channels. */
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <math.h>

#define FORMULA(word, ...) \
    static double act_##word(double x, double slope) \
    { \
        (void)slope; \
        return __VA_ARGS__; \
    }
FORMULA(relu,     x < 0 ? 0 : x)
FORMULA(relu6,    x < 0 ? 0 : x > 6 ? 6 : x)
FORMULA(sigmoid,  1 / (1 + exp(-x)))
FORMULA(tanh,     tanh(x))
FORMULA(hsigmoid, x < -3 ? 0 : x > 3 ? 1 : x / 6 + 0.5)
FORMULA(hswish,   x * act_hsigmoid(x, 0))
FORMULA(silu,     x / (1 + exp(-x)))
FORMULA(gelu,     x / 2 * (1 + erf(x / sqrt(2))))
FORMULA(leaky,    x < 0 ? slope * x : x)
FORMULA(abs,      fabs(x))
FORMULA(inverse,  x == 0 ? 0 : 1 / x)
#undef FORMULA

static double (*const acts[])(double x, double slope) = {
#define ACT(E, word, ...) act_##word,
    CTT_ACTS(ACT)
#undef ACT
};

static double same(const struct ctt_node *n, const float *w, int64_t j,
                   double x)
{
    (void)n;
    (void)w;
    (void)j;
    return x;
}

static double act(const struct ctt_node *n, const float *w, int64_t j,
                  double x)
{
    (void)w;
    (void)j;
    return acts[n->attr.act.kind](x, (double)n->attr.act.slope);
}

/* Before the first step a window may have zeros. */
static double window(const struct ctt_node *n, const float *w, int64_t j,
                     double x)
{
    const struct ctt_window_attr *a = &n->attr.window;

    (void)w;
    (void)j;
    return x == 0 || a->fill == CTT_FILL_FIRST || a->spread ? x : NAN;
}

static double norm(const struct ctt_node *n, const float *w, int64_t j,
                   double x)
{
    double gamma = w[n->at[0] + j], beta = w[n->at[1] + j];
    double mean = w[n->at[2] + j], var = w[n->at[3] + j];

    return gamma * (x - mean) / sqrt(var + (double)n->attr.norm.eps) + beta;
}

/* By the rule of the op's row, except UNKNOWN.  The padding of a pool does not
 * count.  A quant has no rule: a conv that reads bytes rounds its weights by
 * the largest of them, so one that is gone could change all. */
static double (*const through[CTT_CONSTANT_RULES])(const struct ctt_node *n,
                                                   const float *w, int64_t j,
                                                   double x) = {
    [CTT_CONSTANT_SAME] = same, [CTT_CONSTANT_ACT] = act,
    [CTT_CONSTANT_WINDOW] = window, [CTT_CONSTANT_NORM] = norm,
};

int ctt_is_channelwise(const struct ctt_graph *g, const struct ctt_node *n)
{
    return ctt_ops[n->op].constant != CTT_CONSTANT_UNKNOWN &&
           g->node[n->in[0]].out.c == n->out.c &&
           (n->op != CTT_OP_NORM || ctt_is_batch_norm(n));
}

double ctt_channelwise(const struct ctt_node *n, const float *w, int64_t j,
                       double x)
{
    return through[ctt_ops[n->op].constant](n, w, j, x);
}
