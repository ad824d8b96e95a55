/* SPDX-License-Identifier: Apache-2.0
 * half.c: which convs of a run multiply 16 bits, and which values it stores in
 * 16 bits. */
#include "run/layout.h"
#include "net/op.h"
#include "net/quant.h"

#include <stdlib.h>

/* ---- convs ---- */

static int pays(const struct ctt_graph *g, int i)
{
    const struct ctt_node *n = &g->node[i];

    if (n->op != CTT_OP_CONV || ctt_is_int8(g, i))
        return 0;
    if (ctt_is_grouped(n) && n->w[0].c == 1) return 0;
    if (getenv("HALF_ALL")) return 1;
    if (n->attr.conv.stride[1]==1 && n->attr.conv.kernel[1]>1 &&n->attr.conv.kernel[0]==1) return 0;
    return 1;
}

/* ---- values ---- */

/* As a conv rounds what it reads anyway, a value that only such convs read is
 * rounded where it is made, without a further change of any result.  Not the
 * answer; not the result of an lstm, which may be computed in a conv's kernel;
 * quantised values are bytes. */
static int may_be_short(const struct ctt_graph *g, int i)
{
    const struct ctt_node *n = &g->node[i];

    return n->op != CTT_OP_LSTM && n->op != CTT_OP_CELL &&
           n->op != CTT_OP_QUANT && !(n->out.scale > 0) &&
           i != ctt_graph_output(g);
}

/* 1 if node j takes its input k in 16 bits: a conv that multiplies them, what
 * only names, selects or repeats values that are read so, and an act that the
 * kernel of its input applies. */
static int takes(const struct ctt_run *r, const char *half, int i, int j,
                 int k, int readers)
{
    const struct ctt_node *n = &r->g->node[j];

    if (ctt_is_conv(n))
        return k == 0 && r->mul[j] != CTT_F32;
    if (n->op == CTT_OP_ACT)
        return half[j] && readers == 1 &&
               ctt_ops[r->g->node[i].op].result == CTT_RESULT_ACT;
    return half[j] && (ctt_ops[n->op].memory == CTT_VIEW ||
                       ctt_ops[n->op].form(n) == CTT_FORM_KEPT);
}

/* 1 if all readers of node i take 16 bits, and there is one. */
static int judge(const struct ctt_run *r, const char *half, int i)
{
    const struct ctt_graph *g = r->g;
    int readers = 0, taken = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int j = 0; j < g->count; j++) {
            const struct ctt_node *n = &g->node[j];
            int inputs = n->source >= 0 ? 1 : n->nin;

            for (int k = 0; k < inputs; k++) {
                if ((n->source >= 0 ? n->source : n->in[k]) != i)
                    continue;
                if (pass == 0)
                    readers++;
                else
                    taken += takes(r, half, i, j, k, readers);
            }
        }
    return readers > 0 && taken == readers;
}

static void settle(const struct ctt_run *r, char *half)
{
    int changed = 1;

    for (int i = 0; i < r->g->count; i++)
        half[i] = (char)may_be_short(r->g, i);
    while (changed) {
        changed = 0;
        for (int i = 0; i < r->g->count; i++)
            if (half[i] && !judge(r, half, i)) {
                half[i] = 0;
                changed = 1;
            }
    }
}

int ctt_run_halve(struct ctt_run *r, enum ctt_dtype type)
{
    size_t count = (size_t)r->g->count;
    char *half = ctt_calloc(count + 1, 1);
    int rc = half ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    r->mul = ctt_calloc(count, sizeof(*r->mul));
    r->own_type = ctt_calloc(count, sizeof(*r->own_type));
    CTT_TRY(r->mul && r->own_type ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < count; i++)
        r->mul[i] = pays(r->g, (int)i) ? type : CTT_F32;
    settle(r, half);
    for (size_t i = 0; i < count; i++)
        r->own_type[i] = half[i] ? type : CTT_F32;
    r->type = r->own_type;
out:
    ctt_free(half);
    return rc;
}
