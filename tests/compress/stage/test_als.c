/* SPDX-License-Identifier: Apache-2.0
 * test_als.c: the cores of a train that answer most like a weight on inputs. */
#include "tests/lib/check.h"
#include "compress/stage/als.h"
#include "compress/compress.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

static double random_at(uint64_t key, int64_t i)
{
    return ctt_random(key, (uint64_t)i) / 2147483648.0 - 1;
}

static double *filled(uint64_t key, int64_t n)
{
    double *x = ctt_calloc((size_t)n, sizeof(*x));

    for (int64_t i = 0; i < n; i++)
        x[i] = random_at(key, i);
    return x;
}

/* Moments of `rank` vectors, of quickly falling lengths: far from white, and
 * singular if rank < n. */
static double *moments(int64_t n, int rank)
{
    double *s = ctt_calloc((size_t)(n * n), sizeof(*s));

    for (int r = 0; r < rank; r++) {
        double *x = filled(100 + (uint64_t)r, n);

        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < n; k++)
                s[i * n + k] += x[i] * x[k] / (1 + r * r);
        ctt_free(x);
    }
    return s;
}

/* sizes: of the cores, without the outputs; ranks: between them. */
struct shape {
    int     cores;
    int     size[CTT_MAX_CORES], rank[CTT_MAX_CORES - 1];
    int     out, vectors;
};

static const struct shape shapes[] = {
    { 1, { 12 }, { 0 }, 5, 40 },
    { 2, { 12, 1 }, { 3 }, 9, 40 },
    { 2, { 9, 4 }, { 5 }, 6, 60 },
    { 4, { 8, 3, 3, 1 }, { 4, 4, 4 }, 10, 200 },
    { 4, { 8, 3, 3, 1 }, { 4, 6, 3 }, 10, 20 },    /* singular */
    { 5, { 4, 2, 3, 3, 1 }, { 3, 3, 3, 3 }, 8, 100 },
    { 2, { 300, 2 }, { 8 }, 6, 30 },               /* solved in two parts */
};

static struct ctt_als open_case(const struct shape *p)
{
    struct ctt_als f = { .out = p->out, .cores = p->cores, .in = 1 };

    for (int k = 0; k < p->cores; k++) {
        f.in *= f.size[k] = p->size[k];
        f.rank[k] = k > 0 ? p->rank[k - 1] : 1;
    }
    for (int k = 0; k < p->cores; k++)
        f.core[k] = filled(10 + (uint64_t)k, f.rank[k] * f.size[k] *
                           (k < p->cores - 1 ? f.rank[k + 1] : p->out));
    f.s = moments(f.in, p->vectors);
    f.w = filled(1, f.in * f.out);
    return f;
}

static void close_case(struct ctt_als *f)
{
    for (int k = 0; k < f->cores; k++)
        ctt_free(f->core[k]);
    ctt_free((void *)f->s);
    ctt_free((void *)f->w);
}

/* tr(d' s d) of d = w - v, with v of the cores, element by element. */
static double lost(const struct ctt_als *f)
{
    double *v = filled(0, f->in * f->out), sum = 0;

    CHECK_OK(ctt_als_whole(f, v));
    for (int64_t i = 0; i < f->in * f->out; i++)
        v[i] = f->w[i] - v[i];
    for (int64_t i = 0; i < f->in; i++)
        for (int64_t k = 0; k < f->in; k++)
            for (int64_t o = 0; o < f->out; o++)
                sum += v[i * f->out + o] * f->s[i * f->in + k] *
                       v[k * f->out + o];
    ctt_free(v);
    return sum;
}

/* Sweep by sweep the error falls, up to rounding, and it is that of the
 * cores. */
static void test_falls(void)
{
    for (size_t i = 0; i < CTT_LEN(shapes); i++) {
        struct ctt_als f = open_case(&shapes[i]);
        double before, first;

        CHECK_OK(ctt_als(&f, 0));
        first = before = f.lost;
        CU_ASSERT_EQUAL(f.sweeps, 0);
        CU_ASSERT_DOUBLE_EQUAL(f.lost, lost(&f), 1e-8 * f.lost);
        for (int k = 0; k < 6; k++) {
            CHECK_OK(ctt_als(&f, 1));
            CU_ASSERT(f.lost <= before + 1e-12 * first);
            CU_ASSERT_DOUBLE_EQUAL(f.lost, lost(&f), 1e-8 * first);
            before = f.lost;
        }
        CU_ASSERT(before < 0.7 * first);
        close_case(&f);
    }
}

/* One core is the whole weight; with two, the best of a rank loses the smallest
 * eigenvalues of w' s w. */
static void test_closed(void)
{
    for (size_t i = 0; i < CTT_LEN(shapes); i++) {
        struct ctt_als f = open_case(&shapes[i]);
        int64_t n = f.out;
        double *e = filled(0, n), *m, best = 0;

        if (f.size[f.cores - 1] > 1 ? f.cores > 1 : f.cores > 2) {
            close_case(&f);
            ctt_free(e);
            continue;
        }
        m = ctt_calloc((size_t)(n * n), sizeof(*m));
        for (int64_t a = 0; a < f.in; a++)
            for (int64_t b = 0; b < f.in; b++)
                for (int64_t o = 0; o < n; o++)
                    for (int64_t p = 0; p < n; p++)
                        m[o * n + p] += f.w[a * n + o] * f.s[a * f.in + b] *
                                        f.w[b * n + p];
        CHECK_OK(ctt_eigen((int)n, m, e));
        for (int64_t k = 0; f.cores > 1 && k < n - f.rank[1]; k++)
            best += e[k];
        for (int k = 0; k < 300; k++)
            CHECK_OK(ctt_als(&f, 1));
        CU_ASSERT_DOUBLE_EQUAL(f.lost, best, 1e-6 * f.all);
        ctt_free(m);
        ctt_free(e);
        close_case(&f);
    }
}

/* Sweeps end when they gain little, before there are many. */
static void test_ends(void)
{
    struct ctt_als f = open_case(&shapes[3]);
    double before;

    CHECK_OK(ctt_als(&f, 10000));
    CU_ASSERT(f.sweeps > 1 && f.sweeps < 10000);
    before = f.lost;
    CHECK_OK(ctt_als(&f, 1));
    CU_ASSERT(before - f.lost <= 1e-4 * before);
    close_case(&f);
}

static void test_solve(void)
{
    double a[] = { 4, 99, 2, 3 }, b[] = { 2, 5, 8, 1 };

    CHECK_OK(ctt_solve(2, 2, a, b));
    CU_ASSERT_DOUBLE_EQUAL(b[0], -0.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b[1], 2, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b[2], 2.75, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(b[3], -1.5, 1e-12);
    memcpy(a, (double[]){ 1, 0, 2, 1 }, sizeof(a));
    CU_ASSERT_EQUAL(ctt_solve(2, 1, a, b), CTT_EUNSUP);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "equations", test_solve },
        { "the error falls", test_falls },
        { "closed form", test_closed },
        { "the end", test_ends },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "alternating least squares", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
