/* SPDX-License-Identifier: Apache-2.0
 * test_onnx_in.c: imported ONNX files answer as plain loops over their
 * operators do; damaged and forged files are errors. */
#include "exchange/import.h"
#include "base/newfile.h"
#include "run/run.h"
#include "tests/lib/check.h"
#include "tests/lib/onnx_made.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "test_onnx_in.onnx";

/* ---- answers ---- */

static struct ctt_dev *ref;

/* The frames of a clip. */
static int steps_of(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_WINDOW)
            return g->node[i].attr.window.steps;
    return 1;
}

/* x: each sample's frames. */
static void put(struct ctt_run *r, int node, int samples, int64_t numbers,
                const float *x)
{
    int64_t frame = ctt_volume(&r->g->node[node].out);
    float *all = ctt_calloc((size_t)(samples * frame), sizeof(*all));

    CU_ASSERT_FATAL(all != NULL);
    for (int64_t t = 0; t < numbers / frame; t++) {
        for (int k = 0; k < samples; k++)
            memcpy(all + k * frame, x + k * numbers + t * frame,
                   (size_t)frame * sizeof(*all));
        CHECK_OK(ctt_run_put(r, node, (int)t, all, samples *
                             ctt_rows(&r->g->node[node].out)));
    }
    ctt_free(all);
}

static void feed(const struct ctt_import *m, struct made *made,
                 struct ctt_run *r, int samples)
{
    int64_t each, numbers;
    const char *name;
    int node;

    for (int i = 0; (name = ctt_import_input(m, i, &node, &each,
                                             &numbers)) != NULL; i++) {
        float *x = ctt_calloc((size_t)(samples * numbers), sizeof(*x));

        CU_ASSERT_FATAL(x != NULL);
        for (int k = 0; k < samples; k++)
            ctt_import_feed(m, i, each > 1 ? k : 0, made_find(made, name)->x,
                            x + k * numbers);
        put(r, node, samples, numbers, x);
        ctt_free(x);
    }
}

/* The answer in the order of the file. */
static float *answer(const struct ctt_import *m, struct made *made)
{
    const struct ctt_model *model = ctt_import_model(m);
    const struct ctt_node *out = &model->g->node[ctt_graph_output(model->g)];
    int64_t samples, numbers, each = ctt_volume(&out->out);
    float *x, *y = ctt_calloc((size_t)ctt_import_answer(m), sizeof(*y));
    int node, steps = steps_of(model->g);
    struct ctt_run *r = NULL;

    ctt_import_input(m, 0, &node, &samples, &numbers);
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = model->g, .dev = ref,
        .w = model->w, .samples = (int)samples, .steps = steps,
        .asks = model->g->clip < model->g->count ? (int)samples : 0 }, &r));
    feed(m, made, r, (int)samples);
    CHECK_OK(ctt_run_steps(r, steps));
    for (int k = 0; k < r->max_asks; k++)
        r->ask[k] = (struct ctt_ask){ k, steps - 1 };
    if (r->max_asks)
        CHECK_OK(ctt_run_clip(r, r->max_asks));
    x = ctt_calloc((size_t)(samples * each), sizeof(*x));
    CU_ASSERT_FATAL(x && y);
    CHECK_OK(ctt_run_get(r, ctt_graph_output(model->g), 0, samples *
                         ctt_rows(&out->out), x));
    for (int64_t k = 0; k < samples; k++)
        ctt_import_take(m, k, x + k * each, y);
    ctt_free(x);
    ctt_run_close(&r);
    return y;
}

static void show_faults(const struct ctt_import *m, const char *text)
{
    struct ctt_import_fault f;

    for (int i = 0; ctt_import_fault(m, i, &f); i++)
        printf("\n    %s %s: %s in\n%s", f.op, f.node, f.reason, text);
}

/* The name of the answer in a text. */
static const char *answer_of(const struct made *made)
{
    return made->line[made->lines - 1].in[0];
}

static void check_text(const char *text, int opset, int lines)
{
    struct ctt_import *m = NULL;
    struct made_tensor *want;
    static struct made made;
    float *y;

    made_open(&made, text);
    made_write(&made, opset, path);
    CHECK_OK(ctt_import_open(&(struct ctt_import_job){ .path = path }, &m));
    show_faults(m, text);
    CU_ASSERT_FATAL(ctt_import_model(m) != NULL);
    made_compute(&made);
    want = made_find(&made, answer_of(&made));
    CU_ASSERT_FATAL(want && want->count == ctt_import_answer(m));
    y = answer(m, &made);
    if (!CHECK_CLOSE(y, want->x, want->count, 2e-5))
        printf("\n%s\n", text);
    if (lines && ctt_import_model(m)->g->count != lines) {
        printf("\n    %d lines, not %d, of\n%s", ctt_import_model(m)->g->count,
               lines, text);
        CU_ASSERT(ctt_import_model(m)->g->count == lines);
    }
    ctt_free(y);
    ctt_import_close(&m);
    made_close(&made);
}

/* lines: of the model, with its input; 0: any number. */
static const struct { const char *text; int lines; } cases[] = {
    /* convs */
    { "in x 1,3,6,5\nw k 4,3,3,3\nw b 4\nConv x,k,b -> y pads=1,1,1,1\n"
      "out y", 2 },
    { "in x 2,3,6,5\nw k 4,3,3,2\nConv x,k -> y strides=2,1\nout y", 2 },
    { "in x 1,3,7,8\nw k 4,3,3,3\nConv x,k -> y pads=0,1,2,1 strides=2,2\n"
      "out y", 2 },
    { "in x 1,3,8,8\nw k 4,3,3,3\nConv x,k -> y auto_pad=SAME_UPPER "
      "strides=2,2\nout y", 2 },
    { "in x 1,3,8,8\nw k 4,3,3,3\nConv x,k -> y auto_pad=SAME_LOWER "
      "strides=2,2\nout y", 2 },
    { "in x 1,4,7,7\nw k 6,2,3,3\nConv x,k -> y group=2 dilations=2,1\n"
      "out y", 2 },
    { "in x 1,6,7,7\nw k 6,1,3,3\nConv x,k -> y group=6 pads=1,1,1,1\n"
      "out y", 2 },
    { "in x 1,3,9\nw k 4,3,3\nConv x,k -> y pads=1,0\nout y", 2 },
    { "in x 1,4,4,5,6\nw k 3,4,2,3,3\nConv x,k -> y pads=0,1,1,1,1,1\nout y",
      2 },
    { "in x 2,3,4,5,6\nw k 3,3,2,3,3\nConv x,k -> y pads=0,1,1,1,1,1\nout y",
      3 },
    { "in x 1,2,1,5,6\nw k 3,2,3,3,3\nConv x,k -> y pads=1,1,1,1,1,1\nout y",
      2 },
    /* deconvs */
    { "in x 1,3,4,5\nw k 3,4,3,3\nw b 4\nConvTranspose x,k,b -> y "
      "strides=2,2 pads=1,1,1,1 output_padding=1,1\nout y", 2 },
    { "in x 1,3,4,5\nw k 3,4,2,3\nConvTranspose x,k -> y strides=2,3 "
      "pads=0,1,1,0\nout y", 2 },
    { "in x 1,4,4,5\nw k 4,3,3,3\nConvTranspose x,k -> y group=2 "
      "dilations=2,1\nout y", 2 },
    /* pools */
    { "in x 1,3,7,8\nMaxPool x -> y kernel_shape=3,3 strides=2,2 "
      "pads=0,0,1,1\nout y", 2 },
    { "in x 1,3,7,8\nMaxPool x -> y kernel_shape=3,2 strides=2,2 ceil_mode=1\n"
      "out y", 2 },
    { "in x 1,3,7,8\nMaxPool x -> y kernel_shape=3,3 strides=3,3 "
      "pads=1,1,1,1 ceil_mode=1\nout y", 2 },
    { "in x 1,3,7,8\nAveragePool x -> y kernel_shape=3,3 pads=1,1,1,1\n"
      "out y", 2 },
    { "in x 1,3,7,8\nAveragePool x -> y kernel_shape=3,3 pads=1,0,1,1 "
      "count_include_pad=1\nout y", 2 },
    { "in x 1,3,7,8\nAveragePool x -> y kernel_shape=2,2 strides=2,2 "
      "ceil_mode=1\nout y", 2 },
    { "in x 2,3,4,5,6\nAveragePool x -> y kernel_shape=2,2,2\nout y", 3 },
    { "in x 1,3,4,5\nGlobalAveragePool x -> y\nout y", 2 },
    { "in x 1,3,4,5\nGlobalMaxPool x -> y\nout y", 2 },
    { "in x 1,3,4,5\nReduceMean x -> y axes=2,3\nout y", 2 },
    { "in x 1,3,4,5\nReduceMean x -> y axes=3,\nout y", 2 },
    { "in x 1,3,4,5\nReduceMean x -> y axes=1,\nout y", 2 },
    { "in x 1,3,4,5\nReduceSum x -> y axes=2,3\nout y", 3 },
    { "in x 1,3,4,5\nReduceMax x -> y axes=2,\nout y", 2 },
    { "in x 1,3,4,5\nTanh x -> a\nReduceMin a -> y axes=2,3\nout y", 0 },
    /* zeros around, taken along or not */
    { "in x 1,3,5,5\ni p 8 0,0,1,0,0,0,1,1\nw k 4,3,3,3\nPad x,p -> a\n"
      "Conv a,k -> y pads=1,1,1,1\nout y", 2 },
    { "in x 1,3,5,5\ni p 8 0,0,0,3,0,0,4,1\nw k 4,3,3,3\nPad x,p -> a\n"
      "Conv a,k -> y\nout y", 3 },
    { "in x 1,3,5,5\ni p 8 0,0,1,1,0,0,1,1\nRelu x -> r\nPad r,p -> a\n"
      "MaxPool a -> y kernel_shape=3,3 strides=2,2\nout y", 3 },
    { "in x 1,3,5,5\ni p 8 0,0,1,1,0,0,1,1\nPad x,p -> a\n"
      "MaxPool a -> y kernel_shape=3,3 strides=2,2\nout y", 3 },
    { "in x 1,3,5,5\ni p 8 0,1,0,0,0,2,0,0\nPad x,p -> y\nout y", 2 },
    { "in x 1,3,5,5\ni p 8 0,0,1,0,0,0,1,3\nw v 1 0.5\nPad x,p,v -> y\n"
      "out y", 0 },
    { "in x 1,3,5,5\ni p 8 0,0,1,0,0,0,0,2\nPad x,p -> a\nSigmoid a -> y\n"
      "out y", 3 },
    /* dense layers: columns in the order in which pixels lie */
    { "in x 2,3,4,5\nw k 60,7\nw b 7\nFlatten x -> f\nGemm f,k,b -> y\nout y",
      2 },
    { "in x 1,3,4,5\nw k 7,60\nw b 7\ni s 2 0,-1\nReshape x,s -> f\n"
      "Gemm f,k,b -> y transB=1 alpha=0.5 beta=2.0\nout y", 2 },
    { "in x 2,3,4,5\nw k 5,6\nw c 2,3,5,1\nTranspose x -> t perm=0,2,3,1\n"
      "w m 3,4\nMatMul t,m -> y\nout y", 2 },
    { "in x 3,8\nw k 8,4\nw b 4\nMatMul x,k -> a\nAdd a,b -> y\nout y", 2 },
    /* batch norms and factors */
    { "in x 1,3,4,5\nw k 4,3,1,1\nw g 4\nw b 4\nw m 4\nw v 4 0.5,1,2,3\n"
      "Conv x,k -> c\nBatchNormalization c,g,b,m,v -> y epsilon=0.001\nout y",
      3 },
    { "in x 1,3,4,5\nw k 4,3,1,1\nw s 1,4,1,1\nw t 4,1,1\nConv x,k -> c\n"
      "Mul c,s -> d\nAdd d,t -> y\nout y", 2 },
    { "in x 1,3,4,5\nw s 3,1,1\nw t 1 0.25\nSub x,s -> d\nDiv d,t -> y\nout y",
      0 },
    { "in x 1,3,4,5\nw s 3,1,1\nSub s,x -> y\nout y", 2 },
    { "in x 1,3,4,5\nw s 3,1,1\nw t 1 0.25\nw k 2,3,1,1\nSub x,s -> d\n"
      "Div d,t -> e\nConv e,k -> y\nout y", 2 },
    { "in x 1,5,4,3\nw s 3 120,110,100\nw t 3 58,57,56\nw k 2,3,1,1\n"
      "Sub x,s -> d\nDiv d,t -> e\nTranspose e -> f perm=0,3,1,2\n"
      "Conv f,k -> y\nout y", 2 },
    { "in x 1,3,4,5,6\nw s 3,1,1,1 0.4,0.5,0.6\nw k 2,3,1,1,1\n"
      "Sub x,s -> d\nConv d,k -> y\nout y", 3 },
    { "in x 1,3,4,5\nw k 3,3,1,1\nw s 3,1,1\nConv x,k -> c\nMul c,s -> d\n"
      "Add c,d -> y\nout y", 4 },
    { "in x 1,3,4,5\nw k 3,3,1,1\nConv x,k -> c\nNeg c -> y\nout y", 2 },
    /* functions */
    { "in x 1,2,3,3\nRelu x -> a\nTanh a -> b\nSigmoid b -> y\nout y", 4 },
    { "in x 1,2,3,3\nw s 1 8\nMul x,s -> a\nHardSwish a -> y\nout y", 3 },
    { "in x 1,2,3,3\nw s 1 8\nMul x,s -> a\nHardSigmoid a -> y\nout y", 0 },
    { "in x 1,2,3,3\nLeakyRelu x -> a alpha=0.2\nGelu a -> y\nout y", 3 },
    { "in x 1,2,3,3\nw a 1 -0.5\nw b 1 0.25\nClip x,a,b -> y\nout y", 0 },
    { "in x 1,2,3,3\nw a 1 -0.5\nClip x,a -> y\nout y", 0 },
    { "in x 1,2,3,3\nw b 1 0.25\nClip x,_,b -> y\nout y", 0 },
    { "in x 1,2,3,3\nw a 1 0\nw b 1 6\nClip x,a,b -> y\nout y", 0 },
    { "in x 1,2,3,3\nw s 2,1,1 0.1,-0.3\nPRelu x,s -> y\nout y", 0 },
    { "in x 1,2,3,3\nw s 1 0.1\nPRelu x,s -> y\nout y", 2 },
    { "in x 1,2,3,3\nAbs x -> y\nout y", 0 },
    { "in x 1,2,3,3\nSigmoid x -> s\nMul x,s -> y\nout y", 2 },
    { "in x 1,2,3,3\nw t 1 3\nw z 1 0\nw s 1 6\nw e 1 8\nMul x,e -> v\n"
      "Add v,t -> a\nClip a,z,s -> b\nMul v,b -> c\nDiv c,s -> y\nout y", 3 },
    { "in x 1,3,2,2\nSoftmax x -> a axis=1\nTanh a -> y\nout y", 3 },
    { "in x 1,2,3,3\nDropout x -> a,mask\nRelu a -> y\nout y", 2 },
    /* two values */
    { "in x 1,3,4,5\nin z 1,3,4,5\nAdd x,z -> a\nSub a,x -> b\nMul b,z -> y\n"
      "out y", 5 },
    { "in x 1,3,4,5\nin z 1,3,4,5\nMax x,z -> a\nMin a,z -> y\nout y", 0 },
    { "in x 1,4,4,5\nGlobalAveragePool x -> g\nSigmoid g -> s\nMul x,s -> y\n"
      "out y", 4 },
    { "in x 1,4,4,5\nGlobalAveragePool x -> g\nAdd g,x -> y\nout y", 4 },
    { "in x 1,4,4,5\nReduceMean x -> g axes=1,\nMul x,g -> y\nout y", 4 },
    /* layouts */
    { "in x 1,4,3,3\nw k 5,4,1,1\nTranspose x -> t perm=0,2,3,1\n"
      "Relu t -> r\nTranspose r -> u perm=0,3,1,2\nConv u,k -> y\nout y", 3 },
    { "in x 1,7,8,3\nw k 4,3,3,2\nTranspose x -> t perm=0,3,1,2\n"
      "Conv t,k -> y\nout y", 2 },
    { "in x 1,3,7,8\nw k 4,3,3,2\nTranspose x -> t perm=0,1,3,2\n"
      "Conv t,k -> y strides=1,2\nout y", 2 },
    { "in x 1,6,3,3\nw k 5,6,3,3\ni a 5 1,2,3,3,3\ni b 4 1,6,3,3\n"
      "Reshape x,a -> r\nTranspose r -> t perm=0,2,1,3,4\nReshape t,b -> s\n"
      "Conv s,k -> y\nout y", 2 },
    { "in x 1,6,3,3\nw k 6,1,3,3\nw j 4,6,1,1\ni a 5 1,2,3,3,3\ni b 4 1,6,3,3\n"
      "Reshape x,a -> r\nTranspose r -> t perm=0,2,1,3,4\nReshape t,b -> s\n"
      "Conv s,k -> d group=6 pads=1,1,1,1\nRelu d -> e\nConv e,j -> y\nout y",
      4 },
    { "in x 1,6,3,3\nw k 6,3,1,1\ni a 5 1,2,3,3,3\ni b 4 1,6,3,3\n"
      "Reshape x,a -> r\nTranspose r -> t perm=0,2,1,3,4\nReshape t,b -> s\n"
      "Conv s,k -> y group=2\nout y", 3 },
    { "in x 1,6,3,3\ni a 5 1,2,3,3,3\ni b 4 1,6,3,3\nReshape x,a -> r\n"
      "Transpose r -> t perm=0,2,1,3,4\nReshape t,b -> s\n"
      "Split s -> y,z axis=1\nConcat z,y -> o\nout o", 0 },
    { "in x 1,24\nw k 5,2,3,3\ni a 4 1,2,3,4\nReshape x,a -> r\n"
      "Relu r -> y\nout y", 0 },
    { "in x 1,2,12\nw k 5,2,3,3\ni a 4 1,2,3,4\nReshape x,a -> r\n"
      "GlobalAveragePool r -> y\nout y", 0 },
    /* bytes */
    { "in x 1,3,6,5\nw s - 0.0103\nu z - 117\nQuantizeLinear x,s,z -> q\n"
      "DequantizeLinear q,s,z -> d\nRelu d -> y\nout y", 3 },
    { "in x 1,3,6,5\nw s - 0.01\nu z - 10\nu k 2,3,1,1 9,8,20,4,5,16\n"
      "w b - 0.5\nDequantizeLinear k,b,z -> w\nConv x,w -> y\nout y", 2 },
    /* parts */
    { "in x 1,5,4,4\ni s 1 1\ni e 1 4\ni a 1 1\nSlice x,s,e,a -> b\n"
      "Relu b -> y\nout y", 3 },
    { "in x 1,6,4,4\ni s 1 0\ni e 1 6\ni a 1 1\ni b 1 2\n"
      "Slice x,s,e,a,b -> y\nout y", 2 },
    { "in x 1,5,2,2\ni s 1 4\ni e 1 -9\ni a 1 1\ni b 1 -2\n"
      "Slice x,s,e,a,b -> y\nout y", 2 },
    { "in x 1,3,6,8\ni s 2 0,1\ni e 2 99,99\ni a 2 2,3\ni b 2 2,2\n"
      "Slice x,s,e,a,b -> y\nout y", 3 },
    { "in x 1,3,6,8\ni s 2 1,2\ni e 2 5,7\ni a 2 2,3\nSlice x,s,e,a -> y\n"
      "out y", 3 },
    { "in x 1,6,3,3\nSplit x -> a,b,c axis=1\nAdd a,c -> d\n"
      "Concat d,b,a -> y\nout y", 6 },
    { "in x 1,2,3,3\nTanh x -> a\nConcat x,a,x,a,x,a,x -> y\nout y", 3 },
    /* sizes */
    { "in x 1,3,3,4\nw s 4 1,1,2,3\nResize x,_,s -> y mode=nearest "
      "coordinate_transformation_mode=asymmetric nearest_mode=floor\nout y",
      2 },
    { "in x 1,3,3,4\nw s 4 1,1,2,3\nResize x,_,s -> y mode=nearest\nout y",
      2 },
    { "in x 1,8,3,4\nDepthToSpace x -> y blocksize=2\nout y", 2 },
    { "in x 1,8,3,4\nDepthToSpace x -> y blocksize=2 mode=CRD\nout y", 2 },
    { "in x 1,2,4,6\nSpaceToDepth x -> y blocksize=2\nout y", 2 },
    /* constants that are computed */
    { "in x 1,2,3,3\nw a 2,1,1\nw b 2,1,1\nMul a,b -> c\nAdd x,c -> y\nout y",
      2 },
    { "in x 1,3,4,5\nw k 60,7\ni z 1 0\ni m 1 -1\nShape x -> s\n"
      "Gather s,z -> n\nConcat n,m -> t axis=0\nReshape x,t -> f\n"
      "Gemm f,k -> y\nout y", 2 },
};

static void answers(void)
{
    for (size_t i = 0; i < CTT_LEN(cases); i++)
        check_text(cases[i].text, 17, cases[i].lines);
}

/* ---- the end of classifiers ---- */

static void last_functions(void)
{
    static const struct { const char *text, *left; int several; } ends[] = {
        { "in x 1,3,2,2\nw k 4,3\nGlobalAveragePool x -> g\nFlatten g -> f\n"
          "Gemm f,k -> a transB=1\nSoftmax a -> y\nout y", "softmax", 0 },
        { "in x 1,3,2,2\nw k 4,3\nGlobalAveragePool x -> g\nFlatten g -> f\n"
          "Gemm f,k -> a transB=1\nSigmoid a -> y\nout y", "sigmoid", 1 },
        { "in x 1,3,2,2\nSigmoid x -> y\nout y", NULL, 0 } };

    for (size_t i = 0; i < CTT_LEN(ends); i++) {
        struct ctt_import_about about;
        struct ctt_import *m = NULL;
        static struct made made;

        made_open(&made, ends[i].text);
        made_write(&made, 13, path);
        CHECK_OK(ctt_import_open(&(struct ctt_import_job){ .path = path },
                                 &m));
        ctt_import_about(m, &about);
        CU_ASSERT(!about.left == !ends[i].left);
        CU_ASSERT(!about.left || strcmp(about.left, ends[i].left) == 0);
        CU_ASSERT(ctt_import_model(m)->g->several == ends[i].several);
        ctt_import_close(&m);
        made_close(&made);
    }
}

/* Mean and deviation of pictures of 0..1 and of bytes. */
static void light(void)
{
    static const struct { const char *text; float mean, std; } nets[] = {
        { "in x 1,3,4,4\nw s 1 0.5\nw t 1 0.25\nSub x,s -> a\n"
          "Div a,t -> y\nout y", 0.5f, 0.25f },
        { "in x 1,1,4,4\nw s 1 -127.5\nw t 1 0.0078125\nAdd x,s -> a\n"
          "Mul a,t -> y\nout y", 0.5f, 128.0f / 255 } };

    for (size_t i = 0; i < CTT_LEN(nets); i++) {
        struct ctt_import *m = NULL;
        const struct ctt_input *in;
        static struct made made;

        made_open(&made, nets[i].text);
        made_write(&made, 17, path);
        CHECK_OK(ctt_import_open(&(struct ctt_import_job){ .path = path },
                                 &m));
        in = &ctt_import_model(m)->g->node[0].attr.input;
        CU_ASSERT(fabsf(in->mean[0] - nets[i].mean) < 1e-6f);
        CU_ASSERT(fabsf(in->std[0] - nets[i].std) < 1e-6f);
        ctt_import_close(&m);
        made_close(&made);
    }
}

/* ---- files ---- */

/* Constants in a file beside the model: names of other folders, links, and
 * places outside the file are refused. */
static void elsewhere(void)
{
    static const char text[] = "in x 1,3,4,4\nw k 2,3,3,3\nConv x,k -> y\n"
        "out y";
    static const struct { const char *location; int64_t offset; const char *why;
    } wrong[] = {
        { "../test_onnx_in.data", 0, "no name of a file in the same folder" },
        { "/etc/passwd", 0, "no name of a file in the same folder" },
        { "..", 0, "no name of a file in the same folder" },
        { "", 0, "no name of a file in the same folder" },
        { "test_onnx_in.link", 0, "must be in the same folder" },
        { "test_onnx_in.none", 0, "must be in the same folder" },
        { "test_onnx_in.data", 1, "too few" },
        { "test_onnx_in.data", -8, "too few" },
        { "test_onnx_in.data", INT64_MAX, "too few" } };
    struct ctt_import *m = NULL;
    static struct made made;
    float *y;

    made_open(&made, text);
    made_compute(&made);
    CHECK_OK(ctt_file_replace("test_onnx_in.data", made_find(&made, "k")->x,
                              54 * (int64_t)sizeof(float)));
    unlink("test_onnx_in.link");
    CU_ASSERT(symlink("test_onnx_in.data", "test_onnx_in.link") == 0);
    made.location = "test_onnx_in.data";
    made_write(&made, 17, path);
    CHECK_OK(ctt_import_open(&(struct ctt_import_job){ .path = path }, &m));
    y = answer(m, &made);
    CHECK_CLOSE(y, made_find(&made, "y")->x, 8, 2e-5);
    ctt_free(y);
    ctt_import_close(&m);
    for (size_t i = 0; i < CTT_LEN(wrong); i++) {
        made.location = wrong[i].location;
        made.offset = wrong[i].offset;
        made_write(&made, 17, path);
        CU_ASSERT(ctt_import_open(&(struct ctt_import_job){ .path = path },
                                  &m) < 0);
        if (!strstr(ctt_errmsg(), wrong[i].why))
            printf("\n    '%s', not '%s'", ctt_errmsg(), wrong[i].why);
        CU_ASSERT(strstr(ctt_errmsg(), wrong[i].why) != NULL);
    }
    made_close(&made);
    unlink("test_onnx_in.data");
    unlink("test_onnx_in.link");
}

/* Cut off at each byte, and with each byte changed, it is an error or a model.
 */
static void damaged(void)
{
    struct ctt_import *m = NULL;
    static struct made made;
    uint8_t *file;
    int64_t size;
    int rc;

    made_open(&made, cases[0].text);
    file = made_file(&made, 17, &size);
    for (int64_t n = 0; n < size; n++) {
        uint8_t was = file[n];

        if (!ctt_check_tries())
            continue;
        CHECK_OK(ctt_file_replace(path, file, n));
        rc = ctt_import_open(&(struct ctt_import_job){ .path = path }, &m);
        CU_ASSERT(rc < 0 || ctt_import_model(m) == NULL ||
                  n > size - 8);    /* only the version is cut off */
        ctt_import_close(&m);
        file[n] ^= 0xff;
        CHECK_OK(ctt_file_replace(path, file, size));
        rc = ctt_import_open(&(struct ctt_import_job){ .path = path }, &m);
        CU_ASSERT((rc >= 0) == (m != NULL));
        ctt_import_close(&m);
        file[n] = was;
    }
    ctt_free(file);
    made_close(&made);
}

static void clean_up(void)
{
    unlink(path);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "answers", answers }, { "last functions", last_functions },
        { "light", light }, { "elsewhere", elsewhere },
        { "damaged", damaged },
        { "clean up", clean_up }, CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "onnx in", NULL, NULL, NULL, NULL, tests },
                              CU_SUITE_INFO_NULL };
    int rc;

    if (ctt_dev_open("ref", 1, &ref) < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_dev_close(&ref);
    return rc;
}
