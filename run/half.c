/* SPDX-License-Identifier: Apache-2.0
 * half.c: the convs of a run that multiply 16 bits, and the values that it
 * stores in 16 bits: on processors where that is faster, on a GPU everywhere
 * but where floats are needed. */
#include "run/layout.h"
#include "net/op.h"
#include "net/quant.h"
#include "net/winograd.h"

#include <string.h>

/* ---- convs ---- */

/* 1 if a conv takes at most nine tenths of the instructions with registers of
 * 32 fp16 sums instead of 16 of floats: channels may leave most of a register
 * empty, up to four registers share a value that is loaded by one more
 * instruction, and to widen and add up a chain takes END.  (Counted in the
 * kernel; no processor with AVX512-FP16 was at hand to measure.) */
enum { CHAIN = 32, END = 7 };

static int saves_by_fp16(const struct ctt_node *n)
{
    int64_t run = n->w[0].w * n->w[0].c, outs = n->out.c / n->attr.conv.groups;
    int64_t regs = (outs + 31) / 32, chains = (run + CHAIN - 1) / CHAIN;
    int64_t each = run * (regs + (regs + 2) / 4) + END * chains * regs;

    return each * 10 <= (outs + 15) / 16 * run * 9;
}

/* 1 if a conv is faster with products of 16 bits on one core, its values in
 * floats: sums of few products, for few channels, take longer to begin and to
 * end than to add up.  (Measured with bench_half and bf16 on a processor with
 * AVX512-BF16, Zen 4.) */
enum { SHORT_SUM = 32, LONG_SUM = 64, REGISTER = 16 };

static int pays(const struct ctt_run *r, int i, enum ctt_dtype type)
{
    const struct ctt_graph *g = r->g;
    const struct ctt_node *n = &g->node[i];
    int tiles = r->dev && ctt_dev_multiplies(r->dev, type) == CTT_BY_TILES;
    int64_t each, outs;

    if (n->op != CTT_OP_CONV || ctt_is_int8(g, i) || ctt_is_dilated(n) ||
        (!tiles && ctt_winograd_beats_half(n)) ||
        (type == CTT_F16 && !saves_by_fp16(n)))
        return 0;
    each = ctt_volume(&n->w[0]) / n->w[0].n;
    outs = n->out.c / n->attr.conv.groups;
    return each >= (outs > REGISTER ? SHORT_SUM : LONG_SUM) &&
           (!ctt_is_grouped(n) || outs > REGISTER);
}

/* The node that alone reads node i, on the same side of `clip`, or -1. */
static int reader(const struct ctt_graph *g, const int *readers, int i)
{
    for (int j = 0; j < g->count && readers[i] == 1; j++)
        for (int k = 0; k < ctt_node_inputs(&g->node[j]); k++)
            if (ctt_node_input(&g->node[j], k) == i)
                return (i < g->clip) == (j < g->clip) ? j : -1;
    return -1;
}

/* 1 if the result of a conv becomes the bytes of a quant at once, perhaps
 * behind an act: kernels of 16 bits then get copies in floats. */
static int writes_bytes(const struct ctt_graph *g, const int *readers, int i)
{
    int j = reader(g, readers, i);

    if (j >= 0 && g->node[j].op == CTT_OP_ACT)
        j = reader(g, readers, j);
    return j >= 0 && g->node[j].op == CTT_OP_QUANT;
}

/* ---- values ---- */

/* 1 if a node names or gathers values as they are. */
static int passes_values(const struct ctt_node *n)
{
    return ctt_ops[n->op].memory == CTT_VIEW || n->op == CTT_OP_WINDOW;
}

/* 1 if a value may have 16 bits.  A conv of 16 bits rounds its operands anyway,
 * so a value that only such convs read is rounded when it is computed, without
 * a further change of any result.  So are frames, and results of such convs,
 * whose kernels write 16 bits; results of other kernels would have to be
 * converted, which takes longer than it gains.  The answer keeps 32 bits;
 * quantised values are bytes. */
static int may_be_short(const struct ctt_run *r, int i)
{
    const struct ctt_node *n = &r->g->node[i];

    if (i == ctt_graph_output(r->g) || n->out.scale > 0)
        return 0;
    return n->op == CTT_OP_INPUT || r->mul[i] != CTT_F32 ||
           n->op == CTT_OP_ACT || passes_values(n);
}

/* 1 if node j takes its input k, node i, in 16 bits. */
static int takes_half(const struct ctt_run *r, const char *half, int i, int j,
                      int k, const int *readers)
{
    const struct ctt_node *n = &r->g->node[j];

    if (n->op == CTT_OP_CONV)
        return k == 0 && r->mul[j] != CTT_F32 &&
               !writes_bytes(r->g, readers, j);
    if (n->op == CTT_OP_ACT)    /* the conv's kernel applies it */
        return half[j] && ctt_act_is_plain(n) && readers[i] == 1 &&
               r->mul[i] != CTT_F32;
    return half[j] && passes_values(n);
}

/* Gives up 16 bits for values that a reader does not accept so; returns the
 * number of nodes that lost them. */
static int ask_readers(const struct ctt_run *r, const int *readers, char *half)
{
    int lost = 0;

    for (int j = r->g->count - 1; j >= 0; j--)
        for (int k = 0; k < ctt_node_inputs(&r->g->node[j]); k++) {
            int i = ctt_node_input(&r->g->node[j], k);

            if (half[i] && !takes_half(r, half, i, j, k, readers)) {
                half[i] = 0;
                lost++;
            }
        }
    return lost;
}

/* The same for nodes without a kernel of their own, if the nodes that they read
 * have lost them. */
static int ask_makers(const struct ctt_run *r, char *half)
{
    int lost = 0;

    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];

        if (half[i] && (n->op == CTT_OP_ACT || passes_values(n)) &&
            !half[ctt_node_input(n, 0)]) {
            half[i] = 0;
            lost++;
        }
    }
    return lost;
}

/* Nodes begin with 16 bits and lose them until nothing changes. */
static void choose_half(const struct ctt_run *r, const int *readers, char *half)
{
    for (int i = 0; i < r->g->count; i++)
        half[i] = readers[i] > 0 && may_be_short(r, i);
    while (ask_readers(r, readers, half) + ask_makers(r, half) > 0)
        ;
}

/* ---- a GPU ---- */

/* The node whose memory a name stands for. */
static int named(const struct ctt_graph *g, int i)
{
    for (int k = 0; k < g->count && ctt_ops[g->node[i].op].memory == CTT_VIEW;
         k++)
        i = ctt_viewed(&g->node[i]);
    return i;
}

/* 1 if node j does not let input k have 16 bits: it is exact, or an op of
 * floats reads a frame, which is then not rounded before. */
static int asks_floats(const struct ctt_graph *g, const char *half, int i,
                       int j, int k)
{
    return named(g, ctt_node_input(&g->node[j], k)) == i &&
           g->node[i].op == CTT_OP_INPUT &&
           (ctt_ops[g->node[j].op].exact >> k & 1 || !half[j]);
}

/* 1 if node i keeps 16 bits, by the lists of mixed precision (net/ops.def) and
 * the other nodes so far: as in training, cell states and the answer are floats
 * and all sums.  Convs of quantised values have floats around them. */
static int stays_half(const struct ctt_graph *g, const char *half, int i)
{
    const struct ctt_node *n = &g->node[i];
    enum ctt_amp_list list = ctt_ops[n->op].list;

    if (named(g, i) != i)
        return half[named(g, i)];
    if (n->out.scale > 0 || ctt_is_int8(g, i) || list == CTT_BLACK ||
        list == CTT_FLOATS || i == named(g, ctt_graph_output(g)))
        return 0;
    for (int k = 0; k < n->nin && list != CTT_WHITE; k++)
        if (!(ctt_ops[n->op].exact >> k & 1) && !half[n->in[k]])
            return 0;
    for (int j = 0; j < g->count && n->op == CTT_OP_INPUT; j++)
        for (int k = 0; k < ctt_node_inputs(&g->node[j]); k++)
            if (asks_floats(g, half, i, j, k))
                return 0;
    return 1;
}

/* All kernels take 16 bits, and tensor cores multiply them. */
static void choose_gpu(struct ctt_run *r, char *half, enum ctt_dtype type)
{
    const struct ctt_graph *g = r->g;

    memset(half, 1, (size_t)g->count);
    for (int lost = 1; lost;) {
        lost = 0;
        for (int i = 0; i < g->count; i++)
            if (half[i] && !stays_half(g, half, i)) {
                half[i] = 0;
                lost = 1;
            }
    }
    for (int i = 0; i < g->count; i++)
        if (ctt_is_conv(&g->node[i]) && !ctt_is_int8(g, i))
            r->mul[i] = type;
}

int ctt_run_halve(struct ctt_run *r, enum ctt_dtype type)
{
    int gpu = r->dev && !ctt_dev_shared(r->dev);
    size_t count = (size_t)r->g->count;
    char *half = ctt_calloc(count, 1);
    int *readers = ctt_calloc(count, sizeof(*readers));
    int rc = half && readers ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    r->mul = ctt_calloc(count, sizeof(*r->mul));
    r->own_type = ctt_calloc(count, sizeof(*r->own_type));
    CTT_TRY(r->mul && r->own_type ? 0 : CTT_ENOMEM);
    r->multiply = type;
    ctt_layout_readers(r->g, readers);
    for (int i = 0; i < r->g->count && !gpu; i++)
        r->mul[i] = pays(r, i, type) ? type : CTT_F32;
    if (gpu)
        choose_gpu(r, half, type);
    else
        choose_half(r, readers, half);
    for (size_t i = 0; i < count; i++)
        r->own_type[i] = half[i] ? type : CTT_F32;
    r->type = r->own_type;
out:
    ctt_free(half);
    ctt_free(readers);
    return rc;
}
