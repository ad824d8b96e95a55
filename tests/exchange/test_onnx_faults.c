/* SPDX-License-Identifier: Apache-2.0
 * test_onnx_faults.c: nodes of ONNX files that cannot be imported are all
 * named; wrong graphs, settings and constants of gigabytes are errors. */
#include "exchange/import.h"
#include "base/limits.h"
#include "tests/lib/allocs.h"
#include "tests/lib/check.h"
#include "tests/lib/onnx_made.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "test_onnx_faults.onnx";

/* ---- what cannot be imported ---- */

static void all_faults(void)
{
    static const char *const want[][2] = {
        { "Mystery", "no such operator" }, { "LSTM", "sequence" },
        { "Conv", "weight for 7 channels" }, { "MaxPool", "dilations" },
        { "Pow", "power" } };
    struct ctt_import_fault f;
    struct ctt_import *m = NULL;
    static struct made made;
    int n = 0;

    made_open(&made, "in x 1,3,6,6\nw k 4,7,3,3\nw j 4,3,1,1\nw two 1 2\n"
              "Mystery x -> a\nLSTM x -> b\nConv x,k -> c\n"
              "MaxPool x -> d kernel_shape=2,2 dilations=2,2\n"
              "Conv x,j -> e\nPow e,two -> p\nRelu p -> q\n"
              "Concat a,b,c,d,q -> y\nout y");
    made_write(&made, 17, path);
    CHECK_OK(ctt_import_open(&(struct ctt_import_job){ .path = path }, &m));
    CU_ASSERT(ctt_import_model(m) == NULL);
    for (; ctt_import_fault(m, n, &f); n++) {
        CU_ASSERT_FATAL(n < (int)CTT_LEN(want));
        CU_ASSERT(strcmp(f.op, want[n][0]) == 0);
        if (!strstr(f.reason, want[n][1]))
            printf("\n    %s: %s", f.op, f.reason);
        CU_ASSERT(strstr(f.reason, want[n][1]) != NULL);
    }
    CU_ASSERT(n == (int)CTT_LEN(want));
    ctt_import_close(&m);
    made_close(&made);
}

/* Each is one node that cannot be imported, and why. */
static void single_faults(void)
{
    static const struct { const char *text, *why; } nodes[] = {
        { "in x 1,3,4,4\nRelu x -> y colour=1\nout y", "colour" },
        { "in x 1,3,4,4\nGelu x -> y approximate=tanh\nout y", "approximate" },
        { "in x 1,3,4,4\nw s 4 1,1,1.5,2\nResize x,_,s -> y\nout y",
          "scales" },
        { "in x 1,3,4,4\nw s 4 1,1,2,2\nResize x,_,s -> y mode=linear\nout y",
          "mode: linear" },
        { "in x 1,3,4,4\nw s 4 1,1,2,2\nResize x,_,s -> y "
          "coordinate_transformation_mode=half_pixel nearest_mode=floor\n"
          "out y", "nearest_mode" },
        { "in x 1,3,4,4\nw a 1,3,4,4\nAdd x,a -> y\nout y", "pixel to pixel" },
        { "in x 1,3,4,4\nw k 2,3,3,3\nTranspose x -> t perm=0,2,1,3\n"
          "w j 2,4,3,3\nConv t,j -> y\nout y", "transpose" },
        { "in x 4,3,4,4\ni s 1 0\ni e 1 2\ni a 1 0\nSlice x,s,e,a -> y\nout y",
          "samples" },
        { "in x 1,3,4,4\nConcat x,x -> y axis=2\nout y", "axis: 2" },
        { "in x 1,3,4,4\nin z 1,4,3,4\nMatMul x,z -> y\nout y", "attention" },
        { "in x 1,3,4,4\nBatchNormalization x,x,x,x,x -> y\nout y",
          "constant" },
        { "in x 1,3,4,4\nDiv x,x -> y\nout y", "division" },
        { "in x 1,3,4,4\nw s - 0.5\nw t - 0.25\nu z - 9\n"
          "QuantizeLinear x,s,z -> q\nDequantizeLinear q,t,z -> y\nout y",
          "another one" } };

    for (size_t i = 0; i < CTT_LEN(nodes); i++) {
        struct ctt_import_fault f = { .reason = "" };
        struct ctt_import *m = NULL;
        static struct made made;

        made_open(&made, nodes[i].text);
        made_write(&made, 17, path);
        CHECK_OK(ctt_import_open(&(struct ctt_import_job){ .path = path },
                                 &m));
        if (!ctt_import_fault(m, 0, &f) || !strstr(f.reason, nodes[i].why)) {
            printf("\n    '%s', not '%s' of\n%s", f.reason, nodes[i].why,
                   nodes[i].text);
            CU_FAIL("the reason");
        }
        CU_ASSERT(ctt_import_model(m) == NULL);
        ctt_import_close(&m);
        made_close(&made);
    }
}

/* ---- wrong files and wrong settings ---- */

static int import_of(const char *text, int opset, const char *shapes,
                     const char *output)
{
    struct ctt_import *m = NULL;
    static struct made made;
    int rc;

    made_open(&made, text);
    made_write(&made, opset, path);
    rc = ctt_import_open(&(struct ctt_import_job){ path, shapes, output }, &m);
    CU_ASSERT((rc >= 0) == (m != NULL));
    ctt_import_close(&m);
    made_close(&made);
    return rc;
}

static void wrong_graphs(void)
{
    static const struct {
        const char *text, *shapes, *output;
        int opset, rc;
        const char *why;
    } wrong[] = {
        { "in x 1,3,4,4\nRelu z -> y\nout y", NULL, NULL, 17, CTT_EFORMAT,
          "which nothing makes" },
        { "in x 1,3,4,4\nRelu b -> a\nRelu a -> b\nout b", NULL, NULL, 17,
          CTT_EFORMAT, "a cycle" },
        { "in x 1,3,4,4\nRelu x -> y\nTanh x -> y\nout y", NULL, NULL, 17,
          CTT_EFORMAT, "which is there already" },
        { "in x 1,3,4,4\nRelu x -> x\nout x", NULL, NULL, 17, CTT_EFORMAT,
          "which is there already" },
        { "in x 1,3,4,4\nRelu x -> y\nout q", NULL, NULL, 17, CTT_EFORMAT,
          "nothing makes the output" },
        { "in x 1,3,4,4\nRelu x -> y\nout y", NULL, NULL, 5, CTT_EUNSUP,
          "operators of version 5" },
        { "in x 1,3,4,4\nRelu x -> y\nout y", NULL, NULL, 29, CTT_EUNSUP,
          "operators of version 29" },
        { "in x 1,3,0,4\nRelu x -> y\nout y", NULL, NULL, 17, CTT_EINVAL,
          "--input-shape x=" },
        { "in x 1,3,0,4\nRelu x -> y\nout y", "z=1,3,2,4", NULL, 17,
          CTT_EINVAL, "no input of that name" },
        { "in x 1,3,0,4\nRelu x -> y\nout y", "1,3,2", NULL, 17, CTT_EINVAL,
          "4 axes" },
        { "in x 1,3,0,4\nRelu x -> y\nout y", "x=1,5,2,4", NULL, 17,
          CTT_EINVAL, "size 2 of the input is 3" },
        { "in x 1,3,4,4\nRelu x -> y\nTanh x -> z\nout y\nout z", NULL, NULL,
          17, CTT_EINVAL, "--answer" },
        { "in x 1,3,4,4\nRelu x -> y\nout y", NULL, "q", 17, CTT_EINVAL,
          "no such value" },
        { "in x 1,3,4,4\nw a 4\nRelu a -> y\nout y", NULL, NULL, 17,
          CTT_EUNSUP, "depends on no input" } };

    for (size_t i = 0; i < CTT_LEN(wrong); i++)
        ctt_check_refused(import_of(wrong[i].text, wrong[i].opset,
                                    wrong[i].shapes, wrong[i].output),
                          wrong[i].rc, wrong[i].why);
    CHECK_OK(import_of("in x 0,3,0,4\nRelu x -> y\nout y", 17, "x=2,3,5,4",
                       NULL));
    CHECK_OK(import_of("in x 0,3,0,4\nRelu x -> y\nTanh x -> z\nout y\nout z",
                       17, "1,3,5,4", "z"));
}

/* A file of a few bytes that asks for constants of 4 GB. */
static void bombs(void)
{
    static const char text[] = "in x 1,3,4,4\ni s 4 64,64,512,512\n"
        "ConstantOfShape s -> k\nConv x,k -> y\nout y";
    static const char range[] = "in x 1,3,4,4\nw a 1 0\nw b 1 1e12\nw c 1 1\n"
        "Range a,b,c -> k\nAdd x,k -> y\nout y";
    struct ctt_limits small = { .memory = INT64_C(64) << 20 };

    CHECK_OK(ctt_limits_set(&small));
    ctt_check_refused(import_of(text, 17, NULL, NULL), CTT_ENOMEM,
                      "constants that are computed");
    ctt_check_refused(import_of(range, 17, NULL, NULL), CTT_ENOMEM,
                      "constants that are computed");
    CHECK_OK(ctt_limits_set(&(struct ctt_limits){ .memory = 0 }));
}

/* Every allocation that fails is an error, and nothing is lost. */
static int import_whole(void *arg)
{
    struct ctt_import *m = NULL;
    int rc = ctt_import_open(&(struct ctt_import_job){ .path = path }, &m);

    (void)arg;
    ctt_import_close(&m);
    return rc;
}

static void failed_allocations(void)
{
    static struct made made;

    made_open(&made, "in x 1,6,3,3\nw k 6,3,1,1\ni a 5 1,2,3,3,3\n"
              "i b 4 1,6,3,3\nReshape x,a -> r\n"
              "Transpose r -> t perm=0,2,1,3,4\nReshape t,b -> s\n"
              "Conv s,k -> y group=2\nout y");
    made_write(&made, 17, path);
    fail_allocs(import_whole, NULL, 8);
    made_close(&made);
}

static void clean_up(void)
{
    unlink(path);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "all faults", all_faults }, { "single faults", single_faults },
        { "wrong graphs", wrong_graphs }, { "bombs", bombs },
        { "failed allocations", failed_allocations },
        { "clean up", clean_up }, CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "onnx faults", NULL, NULL, NULL, NULL, tests },
                              CU_SUITE_INFO_NULL };

    return ctt_check_main(suites);
}
