/* SPDX-License-Identifier: Apache-2.0
 * test_pth.c: weights as torch.save() writes them, in both forms; what is
 * refused, above all a pickle that asks for more than tensors. */
#include "exchange/exchange.h"
#include "base/newfile.h"
#include "tests/lib/allocs.h"
#include "tests/lib/pth.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "test_pth.pth";

/* y.w is 2 x 3, which the file has transposed; y.b begins in the middle. */
static const struct pth_tensor tensors[] = {
    { "y.w", "a", "FloatStorage", 7, 1, { 2, 3, -1 }, { 1, 2, -1 } },
    { "y.b", "b", "FloatStorage", 3, 1, { 2, -1 }, { 1, -1 } },
};
enum { A = 7, B = 3 };

static struct ctt_model *empty(void)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse("input x h=1 w=1 c=3\nconv y in=x out=2\n", &g));
    CHECK_OK(ctt_model_new(g, &m));
    return m;
}

static void put_file(const struct pth_bytes *b)
{
    CHECK_OK(ctt_file_replace(path, b->p, (int64_t)b->n));
}

static void put_old(const struct pth_tensor *t, int n, int a, int b)
{
    static struct pth_bytes file;

    file.n = 0;
    pth_old(&file, t, n, a, b);
    put_file(&file);
}

static void put_zip(const struct pth_tensor *t, int n, int a, int b)
{
    static struct pth_bytes file, pickle;

    file.n = pickle.n = 0;
    pth_pickle(&pickle, t, n, 0);
    pth_zip(&file, &pickle, a, b);
    put_file(&file);
}

static void (*const forms[])(const struct pth_tensor *t, int n, int a,
                             int b) = { put_old, put_zip };

static void both_forms(void)
{
    static const float want[6] = { 1, 3, 5, 2, 4, 6 };

    for (size_t i = 0; i < CTT_LEN(forms); i++) {
        struct ctt_model *m = empty();
        const struct ctt_node *y = &m->g->node[1];

        forms[i](tensors, 2, A, B);
        CU_ASSERT(ctt_foreign_kind(path) == CTT_FOREIGN_PTH);
        CHECK_OK(ctt_import_weights(m, path, NULL));
        CU_ASSERT(memcmp(m->w + y->at[0], want, sizeof(want)) == 0);
        CU_ASSERT(m->w[y->at[1]] == 1 && m->w[y->at[1] + 1] == 2);
        ctt_model_free(&m);
    }
    unlink(path);
}

/* ---- what is refused ---- */

static void refused(const char *says)
{
    struct ctt_model *m = empty();

    CU_ASSERT(ctt_import_weights(m, path, NULL) < 0);
    if (!strstr(ctt_errmsg(), says))
        printf("\n    '%s' does not say '%s'", ctt_errmsg(), says);
    CU_ASSERT(strstr(ctt_errmsg(), says) != NULL);
    CU_ASSERT(strncmp(ctt_errmsg(), path, strlen(path)) == 0);
    ctt_model_free(&m);
}

/* In place of the second tensor. */
static const struct { struct pth_tensor t; int b; const char *says; } bad[] = {
    { { "y.b", "b", "FloatStorage", 3, 2, { 2, -1 }, { 1, -1 } }, B,
      "y.b ends behind its storage" },
    { { "y.b", "b", "FloatStorage", 3, 0, { 2, -1 }, { 3, -1 } }, B,
      "y.b ends behind its storage" },
    { { "y.b", "b", "FloatStorage", 3, 0, { 2, -1 }, { 2147483647, -1 } }, B,
      "y.b ends behind its storage" },
    { { "y.b", "b", "FloatStorage", 3, 0, { 2, -1 }, { -1 } }, B,
      "y.b has no right shape" },
    { { "y.b", "b", "FloatStorage", 3, -1, { 2, -1 }, { 1, -1 } }, B,
      "y.b has no right shape" },
    { { "y.b", "b", "FloatStorage", 2147483647, 0, { 2147483647, -1 },
        { 1, -1 } }, B, "bytes, and 8589934588 are asked for" },
    { { "y.b", "b", "FloatStorage", 4, 0, { 2, -1 }, { 1, -1 } }, B,
      "storage b has 12 bytes, and 16 are asked for" },
    { { "y.b", "b", "HalfStorage", 3, 0, { 2, -1 }, { 1, -1 } }, B, "" },
    { { "y.b", "b", "ComplexStorage", 3, 0, { 2, -1 }, { 1, -1 } }, B,
      "asks for torch.ComplexStorage" },
    { { "y.b", "c", "FloatStorage", 3, 0, { 2, -1 }, { 1, -1 } }, B, "stor" },
    { { "y.w", "b", "FloatStorage", 3, 0, { 2, -1 }, { 1, -1 } }, B,
      "two tensors have the name y.w" },
    { { "y.b", "b", "LongStorage", 3, 0, { 2, -1 }, { 1, -1 } }, 6, "" },
};

static void wrong_tensors(void)
{
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        for (size_t k = 0; k < CTT_LEN(forms); k++) {
            struct pth_tensor both[2] = { tensors[0], bad[i].t };

            forms[k](both, 2, A, bad[i].b);
            refused(bad[i].says);
        }
    unlink(path);
}

/* Pickles, from behind the protocol on. */
static const struct { const char *p; size_t n; const char *says; } programs[] =
{
#define PROGRAM(s) s, sizeof(s) - 1
    { PROGRAM("cos\nsystem\n(X\2\0\0\0lstR."),
      "asks for os.system; only a state_dict" },
    { PROGRAM("cbuiltins\neval\n."), "asks for builtins.eval" },
    { PROGRAM("ctorch\neval\n."), "asks for torch.eval" },
    { PROGRAM("ccollections\nOrderedDict\n(K\1tR."), "damaged" },
    { PROGRAM("\x93."), "instruction 0x93, which no state_dict needs" },
    { PROGRAM("i."), "instruction 0x69" },
    { PROGRAM("ccollections\nOrderedDict"), "damaged" },
    { PROGRAM("."), "damaged" },
    { PROGRAM("("), "damaged" },
    { PROGRAM("(."), "damaged" },
    { PROGRAM("K\1."), "holds no state_dict" },
    { PROGRAM("}(X\1\0\0\0au."), "damaged" },
    { PROGRAM("}u."), "damaged" },
    { PROGRAM("}s."), "damaged" },
    { PROGRAM("K\1K\1K\1s."), "damaged" },
    { PROGRAM("]K\1."), "holds no state_dict" },
    { PROGRAM("h\0."), "damaged" },
    { PROGRAM("}q\1."), "damaged" },
    { PROGRAM("q\0."), "damaged" },
    { PROGRAM("}q\0r\1\0\0\0j\1\0\0\0q\2h\3."), "damaged" },
    { PROGRAM("\x87."), "damaged" },
    { PROGRAM("t."), "damaged" },
    { PROGRAM("(Q."), "damaged" },
    { PROGRAM("(X\7\0\0\0storagetQ."), "damaged" },
    { PROGRAM("NR."), "damaged" },
    { PROGRAM("X\xff\xff\xff\x7f" "a."), "damaged" },
    { PROGRAM("X\1\0\0\0\0."), "damaged" },
    { PROGRAM("\x8a\x09" "123456789."), "damaged" },
    { PROGRAM("K\1b."), "damaged" },
    { PROGRAM("}q\0X\1\0\0\0ah\0s."), "in each other" },
    { PROGRAM("}q\0(K\1K\2X\1\0\0\0bG12345678u."), "no tensor y.w" },
};

static void wrong_programs(void)
{
    static struct pth_bytes file, pickle;

    for (size_t i = 0; i < CTT_LEN(programs); i++) {
        file.n = pickle.n = 0;
        pth_add(&pickle, "\x80\x02", 2);
        pth_add(&pickle, programs[i].p, programs[i].n);
        pth_zip(&file, &pickle, A, B);
        put_file(&file);
        refused(programs[i].says);
    }
    file.n = pickle.n = 0;
    pth_add(&pickle, "\x80\x04}.", 4);
    pth_zip(&file, &pickle, A, B);
    put_file(&file);
    refused("a pickle of protocol 4");
    unlink(path);
}

/* Any byte of an archive, or of the older form, may be another: an error in one
 * line, or numbers that are somewhere else. */
static void any_byte(void)
{
    static struct pth_bytes file, pickle;

    for (int form = 0; form < 2; form++) {
        file.n = pickle.n = 0;
        pth_pickle(&pickle, tensors, 2, 0);
        if (form)
            pth_zip(&file, &pickle, A, B);
        else
            pth_old(&file, tensors, 2, A, B);
        for (size_t i = 0; i < file.n; i++) {
            struct ctt_model *m = empty();

            file.p[i] ^= 0x21;
            put_file(&file);
            file.p[i] ^= 0x21;
            if (ctt_import_weights(m, path, NULL) < 0)
                CU_ASSERT(!strchr(ctt_errmsg(), '\n'));
            ctt_model_free(&m);
        }
        file.n -= 9;
        put_file(&file);
        refused("");
    }
    unlink(path);
}

static void wrong_archives(void)
{
    static struct pth_bytes file, pickle;
    uint8_t *end;

    file.n = pickle.n = 0;
    pth_pickle(&pickle, tensors, 2, 0);
    pth_zip(&file, &pickle, A, B);
    end = file.p + file.n - 22;
    file.p[40] ^= 1;    /* of data.pkl, whose head has 43 bytes */
    file.p[60] ^= 1;
    put_file(&file);
    refused("data.pkl is damaged (CRC-32)");
    file.p[60] ^= 1;
    memset(end + 16, 0xff, 4);
    put_file(&file);
    refused("an archive of 4 GiB");
    memset(end, 0, 4);
    put_file(&file);
    refused("an archive without its end");
    unlink(path);
}

static int import_file(void *arg)
{
    return ctt_import_weights(arg, path, NULL);
}

static void allocations_fail(void)
{
    struct ctt_model *m = empty();

    for (size_t i = 0; i < CTT_LEN(forms); i++) {
        forms[i](tensors, 2, A, B);
        fail_allocs(import_file, m, 10);
    }
    ctt_model_free(&m);
    unlink(path);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "both forms", both_forms }, { "wrong tensors", wrong_tensors },
        { "wrong programs", wrong_programs }, { "any byte", any_byte },
        { "wrong archives", wrong_archives },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "pth", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
