/* SPDX-License-Identifier: Apache-2.0
 * fuzz_onnx.c: any ONNX file is an error in one line, a list of nodes that
 * cannot be imported, or a model whose text reads back and whose weights are
 * finite. */
#include "tests/fuzz/fuzz.h"
#include "exchange/import.h"
#include "exchange/write/proto.h"

#include <math.h>
#include <string.h>

const char *const ctt_fuzz_words[] = {
    "Conv", "Relu", "Add", "Mul", "Reshape", "Transpose", "Concat", "Slice",
    "Split", "Gather", "Gemm", "MatMul", "MaxPool", "AveragePool", "Pad",
    "Resize", "Softmax", "Clip", "BatchNormalization", "ConvTranspose",
    "Flatten", "Squeeze", "Unsqueeze", "ConstantOfShape", "Expand", "Range",
    "Shape", "Where", "HardSigmoid", "PRelu", "DepthToSpace", "SpaceToDepth",
    "ReduceMean", "GlobalAveragePool", "axes", "axis", "pads", "strides",
    "dilations", "group", "perm", "auto_pad", "SAME_UPPER", "ceil_mode",
    "location", "offset", "length", "../x", "x", "y", "w", NULL };

/* ---- the check ---- */

static void check_model(const struct ctt_model *m)
{
    char *text = ctt_net_print(m->g);
    struct ctt_graph *again = NULL;

    FUZZ_CHECK(text);
    FUZZ_CHECK(ctt_net_parse(text, &again) >= 0);
    FUZZ_CHECK(again->weights == m->g->weights);
    for (int64_t i = 0; i < m->g->weights; i++)
        FUZZ_CHECK(isfinite(m->w[i]));
    ctt_graph_free(&again);
    ctt_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const char *path = ctt_scratch_put("a.onnx", p, n);
    struct ctt_import_job job = { .path = path };
    long live = ctt_live_blocks();
    struct ctt_import *m = NULL;
    struct ctt_import_fault f;
    int rc, i = 0;

    rc = ctt_import_open(&job, &m);
    FUZZ_CHECK((rc >= 0) == (m != NULL));
    if (rc < 0 && rc != CTT_ENOMEM && rc != CTT_EINVAL)
        ctt_fuzz_refused(path);
    for (; m && ctt_import_fault(m, i, &f); i++)
        FUZZ_CHECK(*f.reason);
    FUZZ_CHECK(!m || !ctt_import_model(m) == (i > 0));
    if (m && ctt_import_model(m))
        check_model(ctt_import_model(m));
    ctt_import_close(&m);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

/* A constant of floats (1) or whole numbers (7) of up to four sizes. */
static void add_constant(struct ctt_proto *graph, const char *name, int type,
                         const int *dim, int rank, const int *x)
{
    struct ctt_proto t = { .rc = 0 };
    int count = 1;

    for (int a = 0; a < rank; a++) {
        ctt_proto_int(&t, 1, dim[a]);
        count *= dim[a];
    }
    ctt_proto_int(&t, 2, type);
    ctt_proto_text(&t, 8, name);
    for (int i = 0; i < count; i++)
        if (type == 7)
            ctt_proto_int(&t, 7, x[i]);
        else
            ctt_proto_float(&t, 4, (float)(i % 5) - 1.5f);
    ctt_proto_message(graph, 5, &t);
    ctt_proto_free(&t);
}

/* ints: "name=1,2": one attribute, NULL: none. */
static void add_node(struct ctt_proto *graph, const char *op, const char *in,
                     const char *out, const char *attr, const int *ints,
                     int count)
{
    struct ctt_proto n = { .rc = 0 }, a = n;

    for (; *in; in++)    /* names of one letter; _ is left out */
        ctt_proto_bytes(&n, 1, in, *in != '_');
    for (; *out; out++)
        ctt_proto_bytes(&n, 2, out, 1);
    ctt_proto_text(&n, 4, op);
    if (attr) {
        ctt_proto_text(&a, 1, attr);
        for (int i = 0; i < count; i++)
            ctt_proto_int(&a, count > 1 ? 8 : 3, ints[i]);
        ctt_proto_message(&n, 5, &a);
    }
    ctt_proto_message(graph, 1, &n);
    ctt_proto_free(&a);
    ctt_proto_free(&n);
}

static void add_input(struct ctt_proto *graph, int field, const char *name,
                      const int *dim)
{
    struct ctt_proto v = { .rc = 0 }, type = v, tensor = v, shape = v;

    for (int a = 0; a < 4; a++) {
        struct ctt_proto d = { .rc = 0 };

        ctt_proto_int(&d, 1, dim[a]);
        ctt_proto_message(&shape, 1, &d);
        ctt_proto_free(&d);
    }
    ctt_proto_int(&tensor, 1, 1);
    ctt_proto_message(&tensor, 2, &shape);
    ctt_proto_message(&type, 1, &tensor);
    ctt_proto_text(&v, 1, name);
    ctt_proto_message(&v, 2, &type);
    ctt_proto_message(graph, field, &v);
    ctt_proto_free(&shape);
    ctt_proto_free(&tensor);
    ctt_proto_free(&type);
    ctt_proto_free(&v);
}

static const int four[] = { 1, 4, 6, 6 }, kernel[] = { 4, 4, 3, 3 };
static const int pads[] = { 1, 1, 1, 1 }, two[] = { 2, 2 };

static void classifier(struct ctt_proto *g)
{
    static const int dense[] = { 3, 36 }, list[] = { 4 };

    add_constant(g, "w", 1, kernel, 4, NULL);
    add_constant(g, "b", 1, list, 1, NULL);
    add_constant(g, "v", 1, dense, 2, NULL);
    add_node(g, "Conv", "xwb", "c", "pads", pads, 4);
    add_node(g, "BatchNormalization", "cbbbb", "d", NULL, NULL, 0);
    add_node(g, "Relu", "c", "r", NULL, NULL, 0);
    add_node(g, "MaxPool", "r", "p", "kernel_shape", two, 2);
    add_node(g, "Flatten", "p", "f", NULL, NULL, 0);
    add_node(g, "Gemm", "fv", "a", "transB", two, 1);
    add_node(g, "Softmax", "a", "y", NULL, NULL, 0);
}

static void shuffle(struct ctt_proto *g)
{
    static const int five[] = { 5 }, list[] = { 4 };
    static const int to[] = { 1, 2, 2, 6, 6 }, back[] = { 1, 4, 6, 6 };
    static const int perm[] = { 0, 2, 1, 3, 4 }, axis[] = { 1 };

    add_constant(g, "s", 7, five, 1, to);
    add_constant(g, "t", 7, list, 1, back);
    add_node(g, "Reshape", "xs", "a", NULL, NULL, 0);
    add_node(g, "Transpose", "a", "b", "perm", perm, 5);
    add_node(g, "Reshape", "bt", "c", NULL, NULL, 0);
    add_node(g, "Split", "c", "de", "axis", axis, 1);
    add_node(g, "Concat", "edx", "y", "axis", axis, 1);
}

static void folded(struct ctt_proto *g)
{
    static const int list[] = { 4 }, one[] = { 1 }, zero[] = { 0 };
    static const int big[] = { 4, 4, 3, 3 };

    add_constant(g, "z", 7, list, 1, big);
    add_constant(g, "o", 7, one, 1, zero);
    add_node(g, "ConstantOfShape", "z", "k", NULL, NULL, 0);
    add_node(g, "Shape", "x", "s", NULL, NULL, 0);
    add_node(g, "Gather", "so", "n", NULL, NULL, 0);
    add_node(g, "Conv", "xk", "c", "strides", two, 2);
    add_node(g, "Sigmoid", "c", "h", NULL, NULL, 0);
    add_node(g, "Mul", "ch", "m", NULL, NULL, 0);
    add_node(g, "GlobalAveragePool", "m", "y", NULL, NULL, 0);
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static void (*const graphs[])(struct ctt_proto *g) = { classifier, shuffle,
                                                           folded };
    struct ctt_proto model = { .rc = 0 }, graph = model, set = model;
    size_t n;

    if (i >= (int)CTT_LEN(graphs))
        return 0;
    add_input(&graph, 11, "x", four);
    graphs[i](&graph);
    add_input(&graph, 12, "y", four);
    ctt_proto_int(&set, 2, 13);
    ctt_proto_message(&model, 7, &graph);
    ctt_proto_message(&model, 8, &set);
    n = (size_t)model.n;
    FUZZ_CHECK(model.rc == 0 && n <= room);
    memcpy(p, model.p, n);
    ctt_proto_free(&set);
    ctt_proto_free(&graph);
    ctt_proto_free(&model);
    return n;
}
