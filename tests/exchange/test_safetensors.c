/* SPDX-License-Identifier: Apache-2.0
 * test_safetensors.c: weights as safetensors, out and in; maps; what is
 * refused. */
#include "exchange/exchange.h"
#include "base/newfile.h"
#include "tests/lib/allocs.h"
#include "tests/lib/small.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "test_safetensors.safetensors";
static const char map[] = "test_safetensors.map";

/* Every kind of weight, 2-D and 3-D. */
static const char kinds[] =
    "input x h=5 w=4 c=4\n"
    "conv a in=x out=6 kernel=1,3,2 groups=2\n"
    "norm n in=a kind=batch\nnorm l in=n kind=layer\n"
    "deconv d in=l out=3 kernel=1,2,3\n"
    "add s in=d bias=1\n"
    "clip\nwindow v in=s steps=4\n"
    "conv k in=v out=2 kernel=2,3,1\n"
    "pool p in=k kind=avg\nconv y in=p out=5\n";

static struct ctt_model *empty(const char *net)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &m));
    return m;
}

static int same_weights(const struct ctt_model *a, const struct ctt_model *b)
{
    return a->g->weights == b->g->weights &&
           memcmp(a->w, b->w, (size_t)a->g->weights * sizeof(*a->w)) == 0;
}

static void out_and_in(void)
{
    static char *label[] = { "one", "two", "th\"ree", "4", "5" };
    struct ctt_model *m = small_model(kinds, 4), *back = NULL;
    struct ctt_model *n = empty(kinds);

    CHECK_OK(ctt_model_labels(m, label, 5));
    CHECK_OK(ctt_export_safetensors(path, m));
    CU_ASSERT(ctt_foreign_kind(path) == CTT_FOREIGN_SAFETENSORS);
    CHECK_OK(ctt_import_safetensors(path, &back));
    CU_ASSERT(same_weights(m, back));
    CU_ASSERT(back->labels == 5 && strcmp(back->label[2], "th\"ree") == 0);
    CHECK_OK(ctt_import_weights(n, path, NULL));
    CU_ASSERT(same_weights(m, n));
    ctt_model_free(&m);
    ctt_model_free(&n);
    ctt_model_free(&back);
    unlink(path);
}

/* ---- files by hand ---- */

/* A file of that header and of n bytes of data. */
static void put_file(const char *header, const char *data, size_t n)
{
    static char file[4096];
    size_t head = strlen(header);

    memset(file, 0, 8);
    file[0] = (char)head;
    file[1] = (char)(head >> 8);
    memcpy(file + 8, header, head);
    memcpy(file + 8 + head, data, n);
    CHECK_OK(ctt_file_replace(path, file, (int64_t)(head + 8 + n)));
}

static const char dense[] = "input x h=1 w=1 c=2\nconv y in=x out=1\n";

#define FIELD(name, type, shape, at) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "]," \
    "\"data_offsets\":[" at "]}"

/* Floats of each type, whole numbers beside them, axes that are left out. */
static const struct { const char *header, *data; size_t n; float want[3]; }
types[] = {
    { "{" FIELD("y.w", "F16", "1,2", "0,4") ","
      FIELD("y.b", "F16", "1", "4,6") "}", "\x00\x3c\x00\xb8\x00\x42", 6,
      { 1, -0.5f, 3 } },
    { "{" FIELD("y.b", "F64", "1", "0,8") ","
      FIELD("y.w", "BF16", "1,2,1,1,1", "8,12") ","
      FIELD("n", "I64", "", "12,20") "}  ",
      "\0\0\0\0\0\0\xd0\x3f\xc0\x3f\x00\xc0\1\2\3\4\5\6\7\x8", 20,
      { 1.5f, -2, 0.25f } },
    { "{\"__metadata__\":{\"a\":\"b\"}," FIELD("y.w", "F32", "1,2,1", "0,8")
      "," FIELD("y.b", "F32", "1", "8,12") "}",
      "\0\0\x80\x3f\0\0\x80\xbf\0\0\0\x40", 12, { 1, -1, 2 } },
};

static void types_are_read(void)
{
    struct ctt_model *m = empty(dense);
    const struct ctt_node *y = &m->g->node[1];

    for (size_t i = 0; i < CTT_LEN(types); i++) {
        put_file(types[i].header, types[i].data, types[i].n);
        CHECK_OK(ctt_import_weights(m, path, NULL));
        CU_ASSERT(m->w[y->at[0]] == types[i].want[0]);
        CU_ASSERT(m->w[y->at[0] + 1] == types[i].want[1]);
        CU_ASSERT(m->w[y->at[1]] == types[i].want[2]);
    }
    ctt_model_free(&m);
    unlink(path);
}

/* ---- what is refused ---- */

#define W FIELD("y.w", "F32", "1,2", "0,8")
#define B FIELD("y.b", "F32", "1", "8,12")

static const struct { const char *header; size_t n; const char *says; } bad[] =
{
    { "{" W "," B, 12, "expected ',' or '}'" },
    { "[" W "," B "]", 12, "neither safetensors nor a .pth" },
    { "{" W "," B "} x", 12, "expected the end" },
    { "{" W "," B "}", 11, "y.b: its data_offsets are no place in the 11" },
    { "{" W "," B "}", 13, "1 bytes behind the last tensor" },
    { "{" W "," FIELD("y.b", "F32", "1", "4,8") "}", 8,
      "y.b does not begin where the tensor before it ends" },
    { "{" W "," FIELD("y.b", "F32", "1", "9,13") "}", 13,
      "y.b does not begin where" },
    { "{" W "," FIELD("y.b", "F32", "2", "8,12") "}", 12,
      "y.b: 4 bytes, and its shape and dtype have 8" },
    { "{" W "," FIELD("y.b", "F8", "1", "8,12") "}", 12, "y.b: its dtype" },
    { "{" W "," FIELD("y.b", "F32", "-1", "8,12") "}", 12, "y.b: its shape" },
    { "{" W "," FIELD("y.b", "F32", "1,1,1,1,1,1,1,1,1", "8,12") "}", 12,
      "y.b: its shape is no list of at most 8" },
    { "{" W "," FIELD("y.b", "F32", "1099511627776,1099511627776", "8,12") "}",
      12, "too many numbers" },
    { "{" W "," FIELD("y.w", "F32", "1", "8,12") "}", 12,
      "two tensors have the name y.w" },
    { "{" W ",\"y.b\":{\"dtype\":\"F32\"}}", 12, "y.b: not dtype, shape" },
    { "{\"__metadata__\":{\"a\":1}," W "," B "}", 12, "a is no text" },
    { "{\"__metadata__\":{},\"__metadata__\":[]," W "," B "}", 12,
      "__metadata__ is no object" },
    { "{" W "}", 8, "no tensor y.b, for y.b" },
    { "{" FIELD("y.w", "F32", "2,1", "0,8") "," B "}", 12,
      "y.w has the shape 2 x 1, and y.w needs 1 x 2 x 1 x 1 x 1" },
    { "{" FIELD("y.w", "I32", "1,2", "0,8") "," B "}", 12,
      "y.w holds whole numbers (I32)" },
    { "{" W "," B "," FIELD("z", "F32", "1", "12,16") "}", 16,
      "no weight is z; if that is right, a map says so: - z" },
};

static const char numbers[16] = "\0\0\x80\x3f\0\0\x80\x3f\0\0\x80\x3f\0\0\x80";

static void refused(struct ctt_model *m, const char *map_path,
                    const char *says)
{
    CU_ASSERT(ctt_import_weights(m, path, map_path) < 0);
    if (!strstr(ctt_errmsg(), says))
        printf("\n    '%s' does not say '%s'", ctt_errmsg(), says);
    CU_ASSERT(strstr(ctt_errmsg(), says) != NULL);
    for (int64_t i = 0; i < m->g->weights; i++)
        CU_ASSERT(m->w[i] == 0);
}

static void forged_files(void)
{
    static const char too_long[] = "\xff\xe0\xf5\x05\0\0\0\0{}";
    struct ctt_model *m = empty(dense);

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        put_file(bad[i].header, numbers, bad[i].n);
        refused(m, NULL, bad[i].says);
    }
    CHECK_OK(ctt_file_replace(path, too_long, sizeof(too_long) - 1));
    refused(m, NULL, "the header ends behind the file");
    CHECK_OK(ctt_file_replace(path, "\1\xe1\xf5\x05\0\0\0\0{}", 10));
    refused(m, NULL, "a header of 100000001 bytes");
    CHECK_OK(ctt_file_replace(path, "\4\0\0\0\0\0\0\0{ \0}", 12));
    refused(m, NULL, "a 0 in the header");
    put_file("{" W "," B "}", "\0\0\xc0\x7f\0\0\0\0\0\0\0\0", 12);
    refused(m, NULL, "y.w");    /* a NaN */
    put_file("{" W "," B "}", numbers, 12);
    CU_ASSERT(ctt_import_safetensors(path, NULL) < 0);
    CU_ASSERT(strstr(ctt_errmsg(), "has no model text") != NULL);
    ctt_model_free(&m);
    unlink(path);
}

/* ---- maps ---- */

static void put_map(const char *text)
{
    CHECK_OK(ctt_file_replace(map, text, (int64_t)strlen(text)));
}

static const struct { const char *map, *says; } bad_maps[] = {
    { "y.w a\n", "no line for y.b" },
    { "y.w a\ny.b\n", ":2: not NODE.WEIGHT and a name" },
    { "y.w a\ny.b b cwh\n", ":2: not NODE.WEIGHT and a name" },
    { "y.w a\ny.b b\nz.b c\n", ":3: the model has no weight z.b" },
    { "y.w a\ny.b b\ny.b c\n", ":3: the model has no weight y.b, or a line" },
    { "y.w a\ny.b b\n", "no weight is c; if that is right" },
    { "y.w a\ny.b d\n- c\n", "no tensor d, for y.b" },
    { "y.w a chw\ny.b b\n- c\n", ":1: y.w reads no image" },
    { "y.* a\n", ":1: NODE.* needs a name that ends in .*" },
    { "y.w a.*\n", ":1: NODE.* needs a name that ends in .*" },
    { "y.* y.*\n", "no tensor y.weight, for y.w" },
    { "y.w a\ny.* y.*\n", "no tensor y.bias, for y.b" },
    { "y.w a\ny.b b\ny.* y.*\n- c\n", ":3: the model has no weight y.*" },
    { "y.* a.* chw\n", ":1: y.* reads no image" },
    { "y.w a\ny.b b\n- c.*\n", ":3: - leaves out one tensor" },
    { "y.w a\ny.b b\n- c chw\n", ":3: - leaves out one tensor" },
    { "y.w a\ny.b b\n-c c\n", ":3: the model has no weight -c" },
};

static void maps_are_read(void)
{
    struct ctt_model *m = empty(dense);
    char longest[600];

    put_file("{" FIELD("a", "F32", "1,2", "0,8") ","
             FIELD("b", "F32", "1", "8,12") ","
             FIELD("c", "F32", "1", "12,16") "}", numbers, 16);
    for (size_t i = 0; i < CTT_LEN(bad_maps); i++) {
        put_map(bad_maps[i].map);
        refused(m, map, bad_maps[i].says);
    }
    memset(longest, 'n', sizeof(longest));
    snprintf(longest + sizeof(longest) - 3, 3, ".*");
    memcpy(longest, "y.* ", 4);
    put_map(longest);
    refused(m, map, ":1: a name above");
    put_map("# a comment\n\ty.w  a\r\n\ny.b b # more\n- c");
    CHECK_OK(ctt_import_weights(m, path, map));
    CU_ASSERT(m->w[m->g->node[1].at[0] + 1] == 1);
    ctt_model_free(&m);
    unlink(path);
    unlink(map);
}

/* A tensor stands for one weight. */
static void no_tensor_twice(void)
{
    struct ctt_model *m = empty("input x h=1 w=1 c=1\n"
                                "norm y in=x kind=layer\n");

    put_file("{" FIELD("a", "F32", "1", "0,4") "}", numbers, 4);
    put_map("y.gamma a\ny.beta a\n");
    refused(m, map, "a stands for two weights, the second is y.beta");
    ctt_model_free(&m);
    unlink(path);
    unlink(map);
}

/* One line for all weights of a node, by their names in torch. */
static void all_weights(void)
{
    static const float file[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const float w[] = { 1, 3, 2, 4 };
    struct ctt_model *m = empty("input x h=1 w=2 c=2\nreshape r in=x c=4\n"
        "conv y in=r out=1\nnorm n in=y kind=batch\n");
    const struct ctt_node *y = &m->g->node[2], *n = y + 1;

    put_file("{" FIELD("fc.weight", "F32", "1,4", "0,16") ","
             FIELD("fc.bias", "F32", "1", "16,20") ","
             FIELD("bn.weight", "F32", "1", "20,24") ","
             FIELD("bn.bias", "F32", "1", "24,28") ","
             FIELD("bn.running_mean", "F32", "1", "28,32") ","
             FIELD("bn.running_var", "F32", "1", "32,36") "}",
             (const char *)file, sizeof(file));
    put_map("y.* fc.* chw\nn.* bn.* chw\n");
    refused(m, map, ":2: n.* reads no image");
    put_map("y.* fc.* chw\nn.* bn.*\n");
    CHECK_OK(ctt_import_weights(m, path, map));
    CU_ASSERT(memcmp(m->w + y->at[0], w, sizeof(w)) == 0);
    CU_ASSERT(m->w[y->at[1]] == 5);
    for (int k = 0; k < n->nw; k++)
        CU_ASSERT(m->w[n->at[k]] == (float)(6 + k));
    ctt_model_free(&m);
    unlink(path);
    unlink(map);
}

/* torch flattens an image channel by channel. */
static void flat_images(void)
{
    struct ctt_model *m = empty("input x h=1 w=2 c=2\nreshape r in=x c=4\n"
        "act a in=r kind=relu\nconv y in=a out=1 bias=0\n");
    const float file[4] = { 1, 2, 3, 4 }, *w = m->w + m->g->node[3].at[0];

    put_file("{" FIELD("a", "F32", "1,4", "0,16") "}", (const char *)file, 16);
    put_map("y.w a");
    refused(m, map, ":1: y.w reads an image of 1 x 2 x 2 numbers: add chw");
    put_map("y.w a hwc");
    CHECK_OK(ctt_import_weights(m, path, map));
    w = m->w + m->g->node[3].at[0];
    CU_ASSERT(w[0] == 1 && w[1] == 2 && w[2] == 3 && w[3] == 4);
    put_map("y.w a chw");
    CHECK_OK(ctt_import_weights(m, path, map));
    w = m->w + m->g->node[3].at[0];
    CU_ASSERT(w[0] == 1 && w[1] == 3 && w[2] == 2 && w[3] == 4);
    ctt_model_free(&m);
    unlink(path);
    unlink(map);
}

/* A dense layer there is a conv over the whole image here. */
static void whole_images(void)
{
    static const float chw[4] = { 1, 3, 2, 4 };
    struct ctt_model *m = empty("input x h=1 w=2 c=2\n"
                                "conv y in=x out=1 kernel=1,1,2 bias=0\n");
    const float *w;

    put_file("{" FIELD("a", "F32", "1,4", "0,16") "}", (const char *)chw, 16);
    put_map("y.w a");
    refused(m, map, "a has the shape 1 x 4");
    put_map("y.w a chw");
    CHECK_OK(ctt_import_weights(m, path, map));
    w = m->w + m->g->node[1].at[0];
    CU_ASSERT(w[0] == 1 && w[1] == 2 && w[2] == 3 && w[3] == 4);
    put_map("y.w a hwc");
    CHECK_OK(ctt_import_weights(m, path, map));
    w = m->w + m->g->node[1].at[0];
    CU_ASSERT(w[0] == 1 && w[1] == 3 && w[2] == 2 && w[3] == 4);
    ctt_model_free(&m);
    unlink(path);
    unlink(map);
}

/* ---- allocations ---- */

static int go_and_come(void *arg)
{
    struct ctt_model *m = NULL;
    int rc = ctt_export_safetensors(path, arg);

    if (rc >= 0)
        rc = ctt_import_safetensors(path, &m);
    ctt_model_free(&m);
    return rc;
}

static void allocations_fail(void)
{
    static char *label[] = { "1", "2", "3", "4", "5" };
    struct ctt_model *m = small_model(kinds, 4);

    CHECK_OK(ctt_model_labels(m, label, 5));
    fail_allocs(go_and_come, m, 20);
    ctt_model_free(&m);
    unlink(path);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "out and in", out_and_in }, { "types", types_are_read },
        { "forged files", forged_files }, { "maps", maps_are_read },
        { "no tensor twice", no_tensor_twice }, { "all weights", all_weights },
        { "flat images", flat_images }, { "whole images", whole_images },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "safetensors", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
