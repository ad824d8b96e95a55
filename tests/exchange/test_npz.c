/* SPDX-License-Identifier: Apache-2.0
 * test_npz.c: arrays as numpy saves them, stored and deflated; damaged files.
 */
#include "exchange/npz.h"
#include "base/newfile.h"
#include "net/code/zip.h"
#include "tests/lib/allocs.h"
#include "tests/lib/check.h"

#include <string.h>
#include <unistd.h>

static const char path[] = "test_npz.npz";

/* ---- files as numpy writes them ---- */

static struct { uint8_t p[8192]; int64_t n, directory[4], count; } file;

static void add(const void *p, int64_t n)
{
    CU_ASSERT_FATAL(file.n + n <= (int64_t)sizeof(file.p));
    memcpy(file.p + file.n, p, (size_t)n);
    file.n += n;
}

static void add_number(int64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        uint8_t b = (uint8_t)(x >> 8 * i);

        add(&b, 1);
    }
}

/* The header of an entry: from the method of compression to its sizes. */
static void add_head(const char *name, int method, int64_t packed,
                     int64_t size)
{
    add_number(0, 2);
    add_number(method, 2);
    add_number(0, 8);    /* time, CRC */
    add_number(packed, 4);
    add_number(size, 4);
    add_number((int64_t)strlen(name), 2);
    add_number(0, 2);
}

struct entry { const char *name; const uint8_t *p; int64_t packed, size, at;
               int method; };

static void add_file(struct entry *e)
{
    e->at = file.n;
    add("PK\3\4\24\0", 6);
    add_head(e->name, e->method, e->packed, e->size);
    add(e->name, (int64_t)strlen(e->name));
    add(e->p, e->packed);
}

static void add_directory(const struct entry *e, int count)
{
    int64_t at = file.n;

    for (int i = 0; i < count; i++) {
        add("PK\1\2\24\0\24\0", 8);
        add_head(e[i].name, e[i].method, e[i].packed, e[i].size);
        add_number(0, 10);
        add_number(e[i].at, 4);
        add(e[i].name, (int64_t)strlen(e[i].name));
    }
    add("PK\5\6\0\0\0\0", 8);
    add_number(count, 2);
    add_number(count, 2);
    add_number(file.n - at, 4);
    add_number(at, 4);
    add_number(0, 2);
}

/* An array as .npy; returns its length. */
static int64_t npy(uint8_t *p, const char *type, const char *shape,
                   const void *x, int64_t bytes)
{
    char head[128];
    int n = snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': "
                     "False, 'shape': %s, }\n", type, shape);

    memcpy(p, "\x93NUMPY\1\0", 8);
    p[8] = (uint8_t)n;
    p[9] = 0;
    memcpy(p + 10, head, (size_t)n);
    memcpy(p + 10 + n, x, (size_t)bytes);
    return 10 + n + bytes;
}

static void make_file(const char *type, const char *shape, const void *x,
                      int64_t bytes)
{
    static const float pair[] = { 7, 8 };
    static uint8_t a[1024], b[1024];
    uint8_t *packed = NULL;
    int64_t n = npy(a, type, shape, x, bytes), none = 0, m;
    struct entry e[2] = { { "x.npy", a, n, n, 0, 0 } };

    file.n = 0;
    n = npy(b, "<f4", "(2,)", pair, sizeof(pair));
    CHECK_OK(ctt_deflate(b, n, &none, 0, &packed, &m));
    e[1] = (struct entry){ "pair.npy", packed, m, n, 0, 8 };
    add_file(&e[0]);
    add_file(&e[1]);
    add_directory(e, 2);
    ctt_free(packed);
    CHECK_OK(ctt_file_replace(path, file.p, file.n));
}

/* ---- tests ---- */

static void numbers(void)
{
    static const float f4[] = { 1, -2, 3.5f, 4, 5, 6 };
    static const double f8[] = { 1, -2, 3.5, 4, 5, 6 };
    static const int64_t i8[] = { 1, -2, 3, 4, 5, 6 };
    static const struct { const char *type; const void *x; int64_t bytes;
    } kinds[] = { { "<f4", f4, sizeof(f4) }, { "<f8", f8, sizeof(f8) },
                  { "<i8", i8, sizeof(i8) } };

    for (size_t i = 0; i < CTT_LEN(kinds); i++) {
        const struct ctt_npz_array *a;
        struct ctt_npz *z = NULL;

        make_file(kinds[i].type, "(2, 3)", kinds[i].x, kinds[i].bytes);
        CHECK_OK(ctt_npz_open(path, &z));
        a = ctt_npz_find(z, "x");
        CU_ASSERT_FATAL(a && a->rank == 2 && a->dim[0] == 2 &&
                        a->dim[1] == 3 && a->count == 6);
        CU_ASSERT(a->x[1] == -2 && a->x[5] == 6);
        CU_ASSERT(a->x[2] == (i == 2 ? 3 : 3.5f));
        a = ctt_npz_find(z, "pair");
        CU_ASSERT(a && a->count == 2 && a->x[1] == 8);
        CU_ASSERT(!ctt_npz_find(z, "none"));
        ctt_npz_close(&z);
    }
}

static void refused(void)
{
    static const float x[] = { 1, 2, 3, 4, 5, 6 };
    static const struct { const char *type, *shape, *why; int rc; } wrong[] = {
        { "<f4", "(2, 4)", "has not the numbers", CTT_EFORMAT },
        { "<f4", "(2, -3)", "an impossible shape", CTT_EFORMAT },
        { "<f4", "(4294967296, 4294967296)", "an impossible shape",
          CTT_EFORMAT },
        { "<f4", "(1,1,1,1,1,1,1,1,6)", "more than 8 axes", CTT_EUNSUP },
        { "<f4", "6", "has no shape", CTT_EFORMAT },
        { "|u1", "(24,)", "no row-major array of floats", CTT_EUNSUP } };
    struct ctt_npz *z = NULL;

    for (size_t i = 0; i < CTT_LEN(wrong); i++) {
        make_file(wrong[i].type, wrong[i].shape, x, sizeof(x));
        ctt_check_refused(ctt_npz_open(path, &z), wrong[i].rc, wrong[i].why);
    }
    CHECK_OK(ctt_file_replace(path, "no zip", 6));
    ctt_check_refused(ctt_npz_open(path, &z), CTT_EFORMAT, "no .npz");
}

/* Cut off and with each byte changed: an error, or arrays. */
static void damaged(void)
{
    static const float x[] = { 1, 2, 3, 4, 5, 6 };
    struct ctt_npz *z = NULL;
    int64_t n;

    make_file("<f4", "(6,)", x, sizeof(x));
    n = file.n;
    for (int64_t i = 0; i < n; i++) {
        CHECK_OK(ctt_file_replace(path, file.p, i));
        CU_ASSERT(ctt_npz_open(path, &z) < 0);
        file.p[i] ^= 0xff;
        CHECK_OK(ctt_file_replace(path, file.p, n));
        CU_ASSERT((ctt_npz_open(path, &z) >= 0) == (z != NULL));
        ctt_npz_close(&z);
        file.p[i] ^= 0xff;
    }
}

static int open_it(void *arg)
{
    struct ctt_npz *z = NULL;
    int rc = ctt_npz_open(path, &z);

    (void)arg;
    ctt_npz_close(&z);
    return rc;
}

static void failed_allocations(void)
{
    static const float x[] = { 1, 2 };

    make_file("<f4", "(2,)", x, sizeof(x));
    fail_allocs(open_it, NULL, 5);
    unlink(path);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "numbers", numbers }, { "refused", refused }, { "damaged", damaged },
        { "failed allocations", failed_allocations }, CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { "npz", NULL, NULL, NULL, NULL, tests },
                              CU_SUITE_INFO_NULL };

    return ctt_check_main(suites);
}
