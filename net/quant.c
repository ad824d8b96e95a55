/* SPDX-License-Identifier: Apache-2.0
 * quant.c: which values of a graph are quantised, and the weights of convs in 8
 * bits. */
#include "base/avx2.h"
#include "base/byte.h"
#include "net/op.h"
#include "net/quant.h"

/* ---- which values ---- */

static int same(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    return a->scale == b->scale && a->zero == b->zero;
}

static void set_quant(struct ctt_tensor *t, float scale, int zero)
{
    t->scale = scale;
    t->zero = scale > 0 ? zero : 0;
}

/* Gives a node the form that follows from those of its inputs. */
static void derive_quant(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *first;

    if (ctt_ops[n->op].form(n) == CTT_FORM_OWN)
        set_quant(&n->out, n->attr.quant.scale, n->attr.quant.zero);
    if (ctt_ops[n->op].form(n) != CTT_FORM_KEPT)
        return;
    first = &g->node[ctt_node_input(n, 0)].out;
    for (int k = 1; k < ctt_node_inputs(n); k++)
        if (!same(first, &g->node[ctt_node_input(n, k)].out))
            return;
    set_quant(&n->out, first->scale, first->zero);
}

enum seen { NEW, OPEN, DONE };

/* An input whose form must be known first, or -1.  One that is open depends on
 * the node itself, so neither has a form. */
static int first_needed(const struct ctt_graph *g, const char *seen, int i)
{
    const struct ctt_node *n = &g->node[i];
    int many = ctt_ops[n->op].form(n) == CTT_FORM_KEPT ? ctt_node_inputs(n) : 0;

    for (int k = 0; k < many; k++)
        if (seen[ctt_node_input(n, k)] == NEW)
            return ctt_node_input(n, k);
    return -1;
}

/* Visits nodes in the order in which forms follow from each other: a state may
 * delay a later node. */
static void settle_all(struct ctt_graph *g, char *seen, int *stack)
{
    for (int i = 0; i < g->count; i++) {
        int depth = 0;

        if (seen[i] == NEW)
            stack[depth++] = i;
        while (depth > 0) {
            int top = stack[depth - 1], next;

            seen[top] = OPEN;
            next = first_needed(g, seen, top);
            if (next >= 0) {
                stack[depth++] = next;
                continue;
            }
            derive_quant(g, &g->node[top]);
            seen[top] = DONE;
            depth--;
        }
    }
}

int ctt_is_int8(const struct ctt_graph *g, int node)
{
    const struct ctt_node *n = &g->node[node];

    return n->op == CTT_OP_CONV && g->node[n->in[0]].out.scale > 0;
}

static int check_weights(const struct ctt_graph *g, int i)
{
    const struct ctt_tensor *w = &g->node[i].w[0];
    int rc = 0;

    CTT_CHECK(!ctt_is_int8(g, i) || ctt_volume(w) / w->n <= CTT_QUANT_MOST,
              CTT_EFORMAT, "%s: more than %d weights an output channel, the "
              "most for quantised values", g->node[i].name, CTT_QUANT_MOST);
out:
    return rc;
}

int ctt_graph_quantise(struct ctt_graph *g)
{
    char *seen = ctt_calloc((size_t)g->count, sizeof(*seen));
    int *stack = ctt_calloc((size_t)g->count, sizeof(*stack));
    int rc = 0;

    CTT_TRY(seen && stack ? 0 : CTT_ENOMEM);
    for (int i = 0; i < g->count; i++)
        set_quant(&g->node[i].out, 0, 0);
    settle_all(g, seen, stack);
    for (int i = 0; i < g->count; i++)
        CTT_TRY(check_weights(g, i));
out:
    ctt_free(seen);
    ctt_free(stack);
    return rc;
}

/* ---- weights ---- */

/* A channel's weights as whole numbers (q NULL: not wanted); returns the step.
 * Floats from 0 on have the order of their bits. */
static inline __attribute__((always_inline)) float quant_row(const float *w,
                                                             int64_t n,
                                                             int8_t *q)
{
    int32_t most = 0;
    float x, step;

#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;

        memcpy(&bits, w + i, sizeof(bits));
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    memcpy(&x, &most, sizeof(x));
    step = ctt_quant_step(x);
#pragma omp simd
    for (int64_t i = 0; i < (q ? n : 0); i++)
        q[i] = (int8_t)ctt_quant_weight(w[i], step);
    return step;
}

CTT_ALSO_AVX2(float, quant_channel, quant_row,
              (const float *w, int64_t n, int8_t *q), (w, n, q))

static float step_of(const float *w, int64_t n)
{
    return quant_channel(w, n, NULL);
}

void ctt_quant_weights(const float *w, int64_t channels, int64_t each,
                       int8_t *q, float *scale)
{
    for (int64_t o = 0; o < channels; o++, w += each)
        scale[o] = quant_channel(w, each, q ? q + o * each : NULL);
}

void ctt_quant_floats(const float *w, int64_t channels, int64_t each,
                      float *y)
{
    for (int64_t o = 0; o < channels; o++, w += each, y += each) {
        float scale = step_of(w, each);
        for (int64_t i = 0; i < each; i++)
            y[i] = ctt_quant_weight(w[i], scale) * scale;
    }
}

int ctt_quant_is(const float *w, int64_t channels, int64_t each)
{
    for (int64_t o = 0; o < channels; o++, w += each) {
        float scale = step_of(w, each);
        for (int64_t i = 0; i < each; i++)
            if (ctt_quant_weight(w[i], scale) * scale != w[i])
                return 0;
    }
    return 1;
}
