/* SPDX-License-Identifier: Apache-2.0
 * test_file_memory.c: a model is saved and loaded while malloc fails, also
 * inside HDF5 and zlib: the file is at any time one of two whole models.
 *
 * The functions here take the place of the C library's for all libraries of
 * this program. */
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "net/file/file.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)

/* ---- an allocator that fails ---- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t to, size_t n);
void  __libc_free(void *p);

/* calls: since armed; fail_at: the call that fails; most: bytes that may be
 * in use, from which `used` counts; peak: the most that was. */
static long calls, fail_at;
static int64_t used, peak, most = INT64_MAX;

static int refuse(size_t n)
{
    if (++calls == fail_at || (int64_t)n > most - used) {
        errno = ENOMEM;
        return 1;
    }
    return 0;
}

static void *count(void *p)
{
    used += p ? (int64_t)malloc_usable_size(p) : 0;
    peak = used > peak ? used : peak;
    return p;
}

static void uncount(void *p)
{
    used -= p ? (int64_t)malloc_usable_size(p) : 0;
}

void *malloc(size_t n)
{
    return refuse(n) ? NULL : count(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return refuse(n * size) ? NULL : count(__libc_calloc(n, size));
}

void *realloc(void *p, size_t n)
{
    void *q;

    if (refuse(n))
        return NULL;
    uncount(p);
    q = __libc_realloc(p, n);
    return count(q ? q : p) == q ? q : NULL;
}

void *memalign(size_t to, size_t n)
{
    return refuse(n) ? NULL : count(__libc_memalign(to, n));
}

void *aligned_alloc(size_t to, size_t n)
{
    return memalign(to, n);
}

int posix_memalign(void **p, size_t to, size_t n)
{
    void *q = memalign(to, n);

    if (q)
        *p = q;
    return q ? 0 : ENOMEM;
}

void free(void *p)
{
    uncount(p);
    __libc_free(p);
}

static void arm(long call, int64_t bytes)
{
    calls = 0;
    fail_at = call;
    most = bytes < INT64_MAX ? used + bytes : bytes;
}

/* ---- one run in a process of its own ---- */

static struct ctt_model *old, *new;

/* Saves and loads; the exit status: 0 done, 1 an error, 3 no failure came. */
static int child(long call, int64_t bytes)
{
    struct ctt_model *back = NULL;
    int rc;

    arm(call, bytes);
    rc = ctt_model_save(saved_path, new);
    if (rc >= 0)
        rc = ctt_model_load(saved_path, 1, &back);
    if (rc >= 0 && call && calls < call)
        _exit(3);
    arm(0, INT64_MAX);
    if (rc >= 0)
        _exit(saved_same(back, new) ? 0 : 2);
    _exit(1);
}

static int run(long call, int64_t bytes)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        child(call, bytes);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return status;
}

/* Whether the file is one of both models; *is_new: which. */
static int is_whole(int *is_new)
{
    struct ctt_model *m = NULL;
    int rc = ctt_model_load(saved_path, 1, &m), whole = 0;

    *is_new = rc >= 0 && saved_same(m, new);
    whole = rc >= 0 && (*is_new || saved_same(m, old));
    if (!whole)
        printf("\n    %s", rc < 0 ? ctt_errmsg() : "another model");
    ctt_model_free(&m);
    return whole;
}

static void put_old(void)
{
    CHECK_OK(ctt_model_save(saved_path, old));
}

/* ---- the tests ---- */

/* HDF5 1.10.8 frees twice, or calls exit(-1) in H5CX_push(). */
static int is_crash(int status)
{
    return WIFSIGNALED(status) || WEXITSTATUS(status) == 255;
}

static int all_cases(void)
{
    const char *s = getenv("CTT_FAULT_CASES");

    return s && strcmp(s, "all") == 0;
}

static struct ctt_model *tiny(int what)
{
    struct ctt_model *m = saved_make("input x c=2\nconv y in=x out=4\n");

    if (what & NAMES)
        saved_name(m);
    if (what & PRUNED)
        saved_prune(m);
    if (what & TRAIN)
        saved_train(m);
    return m;
}

/* Each of the first calls fails once, then every seventh one; with
 * CTT_FAULT_CASES=all many more.  HDF5 does not always survive that. */
static void test_each(int what)
{
    int errors = 0, crashes = 0, is_new;
    long k = 1, each = all_cases() ? 300 : 60, then = all_cases() ? 3 : 7;

    old = tiny(0);
    new = tiny(what);
    for (;; k += k < each ? 1 : then) {
        int status;
        put_old();
        status = run(k, INT64_MAX);
        CU_ASSERT(is_whole(&is_new));
        if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
            break;
        crashes += is_crash(status);
        errors += !is_crash(status) && WEXITSTATUS(status) == 1;
        CU_ASSERT(is_crash(status) || WEXITSTATUS(status) < 2);
        CU_ASSERT(is_crash(status) || WEXITSTATUS(status) || is_new);
        if (k > 20000)
            break;
    }
    printf("up to call %ld: %d errors, %d crashes of HDF5 ", k - 1, errors,
           crashes);
    CU_ASSERT(k > 300 && k < 20000 && errors > each);
    ctt_model_free(&old);
    ctt_model_free(&new);
}

static void test_each_plain(void)
{
    test_each(NAMES | TRAIN);
}

static void test_each_pruned(void)
{
    test_each(NAMES | PRUNED);
}

/* So many bytes are left, then none: HDF5 is not called when it could run out
 * of memory, so nothing crashes. */
static void test_budget(void)
{
    int64_t bytes, step = all_cases() ? 1 << 14 : 1 << 15;
    int is_new, done = 0, failed = 0;

    old = saved_variant(0);
    new = saved_variant(NAMES | TRAIN);
    for (bytes = 0; !done && bytes < 64 << 20; bytes += step) {
        int status;
        put_old();
        status = run(0, bytes);
        CU_ASSERT(is_whole(&is_new));
        CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        failed += !done;
    }
    printf("%d budgets failed, %lld bytes suffice ", failed, (long long)bytes);
    CU_ASSERT(done && failed > 50);
    ctt_model_free(&old);
    ctt_model_free(&new);
}

static CU_TestInfo tests[] = {
    { "each call fails", test_each_plain },
    { "each call fails, pruned", test_each_pruned },
    { "little memory", test_budget },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "memory of files", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}

#else

int main(void)
{
    return CTT_SKIP;
}

#endif
