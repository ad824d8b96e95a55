/* SPDX-License-Identifier: Apache-2.0
 * test_wino.c: Winograd convolution against sums in double, forward, back to
 * the input and to the weights, for each instruction set that is here. */
#include "tests/check.h"
#include "device/cpu/wino.h"

#include <math.h>
#include <string.h>

static const struct ctt_wino_shape shapes[] = {
    { 1, 4, 4, 16, 32, 3, 1, 1 },
    { 2, 13, 9, 5, 7, 3, 1, 1 },      /* odd sizes, tails in channels */
    { 3, 7, 10, 20, 40, 5, 2, 2 },
    { 1, 9, 8, 3, 66, 5, 0, 2 },      /* no padding up and down */
    { 2, 5, 6, 33, 8, 3, 2, 0 },
    { 20, 12, 12, 24, 16, 3, 1, 1 },  /* many blocks */
};

enum { THREADS = 3, VIEW = 5 };    /* channels a view has besides ours */

struct rig {
    struct ctt_wino_shape s, b;    /* forward, back */
    int64_t ldx, ldy, nx, ny, nw;
    float  *x, *y, *dx, *w, *dw, *bias, *plus, *u, *scratch;
};

static float *floats(int64_t n, uint64_t key)
{
    float *p = ctt_calloc((size_t)n, sizeof(float));

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    if (key)
        ctt_check_fill(p, n, key);
    return p;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void rig_open(struct rig *r, const struct ctt_wino_shape *s,
                     const struct ctt_wino_isa *i)
{
    struct ctt_wino_shape b = *s;

    b.h += 2 * s->pad_h - s->r + 1;
    b.w += 2 * s->pad_w - s->r + 1;
    b.c = s->k;
    b.k = s->c;
    b.pad_h = s->r - 1 - s->pad_h;
    b.pad_w = s->r - 1 - s->pad_w;
    *r = (struct rig){ .s = *s, .b = b, .ldx = s->c + VIEW,
                       .ldy = s->k + VIEW };
    r->nx = s->n * s->h * s->w * r->ldx;
    r->ny = s->n * b.h * b.w * r->ldy;
    r->nw = s->k * s->r * s->r * s->c;
    r->x = floats(r->nx, 1);
    r->y = floats(r->ny, 2);
    r->dx = floats(r->nx, 3);
    r->w = floats(r->nw, 4);
    r->dw = floats(r->nw, 5);
    r->bias = floats(s->k, 6);
    r->plus = floats(r->ny, 7);
    r->u = floats(larger(ctt_wino_packed(i, s), ctt_wino_packed(i, &b)), 0);
    r->scratch = floats(larger(larger(ctt_wino_scratch(i, s, THREADS),
                                      ctt_wino_scratch(i, &b, THREADS)),
                               ctt_wino_grad_scratch(i, s, THREADS)), 8);
}

static void rig_close(struct rig *r)
{
    float *all[] = { r->x, r->y, r->dx, r->w, r->dw, r->bias, r->plus, r->u,
                     r->scratch };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        ctt_free(all[i]);
}

/* The three sums over all pairs of a result and an input that a tap joins. */
static void literal(const struct rig *r, double *y, double *dx, double *dw)
{
    const struct ctt_wino_shape *s = &r->s;
    int64_t taps = s->r * s->r;

    for (int64_t q = 0; q < s->n * r->b.h * r->b.w * taps; q++) {
        int64_t t = q % taps, p = q / taps, j = p % r->b.w;
        int64_t i = p / r->b.w % r->b.h, n = p / (r->b.w * r->b.h);
        int64_t a = i + t / s->r - s->pad_h, b = j + t % s->r - s->pad_w;
        int64_t at = ((n * s->h + a) * s->w + b) * r->ldx;
        if (a < 0 || a >= s->h || b < 0 || b >= s->w)
            continue;
        for (int64_t k = 0; k < s->k; k++) {
            for (int64_t c = 0; c < s->c; c++) {
                double w = r->w[(k * taps + t) * s->c + c];
                double dy = r->plus[p * r->ldy + k];
                y[p * r->ldy + k] += w * r->x[at + c];
                dx[at + c] += w * dy;
                dw[(k * taps + t) * s->c + c] += dy * r->x[at + c];
            }
        }
    }
}

/* Largest error over the columns of a view, as a share of the largest value;
 * what lies between the columns must not have been touched. */
static void compare(const char *what, const float *got, const float *old,
                    const double *want, int64_t rows, int64_t cols, int64_t ld)
{
    double worst = 0, top = 1e-30;
    int64_t spoilt = 0;

    for (int64_t i = 0; i < rows * ld; i++) {
        if (i % ld >= cols) {
            spoilt += got[i] != old[i];
            continue;
        }
        worst = fmax(worst, fabs(got[i] - want[i]));
        top = fmax(top, fabs(want[i]));
    }
    if (!(worst <= 3e-5 * top) || spoilt)
        printf("\n    %s: error %.3g of %.3g, %lld spoilt", what, worst, top,
               (long long)spoilt);
    CU_ASSERT(worst <= 3e-5 * top);
    CU_ASSERT_EQUAL(spoilt, 0);
}

static void check_shape(const struct ctt_wino_shape *s,
                        const struct ctt_wino_isa *i, int threads)
{
    struct ctt_wino_end end = { .act = CTT_ACT_RELU + 1 }, add = { .add = 1 };
    struct rig r;
    double *y, *dx, *dw;
    float *old, *oldw;

    rig_open(&r, s, i);
    old = floats(larger(r.nx, r.ny), 0);
    oldw = floats(r.nw, 5);
    y = ctt_calloc((size_t)r.ny, sizeof(double));
    dx = ctt_calloc((size_t)r.nx, sizeof(double));
    dw = ctt_calloc((size_t)r.nw, sizeof(double));
    literal(&r, y, dx, dw);
    end.bias = r.bias;
    end.plus = r.plus;
    end.ldplus = r.ldy;
    for (int64_t q = 0; q < r.ny; q++)
        y[q] = fmax(0, y[q] + r.bias[q % r.ldy < s->k ? q % r.ldy : 0] +
                    r.plus[q]);
    memcpy(old, r.y, (size_t)r.ny * sizeof(float));
    ctt_wino_pack(i, &r.s, r.w, 0, threads, r.u);
    ctt_wino_conv(i, &r.s, r.x, r.ldx, r.u, r.y, r.ldy, &end, threads,
                  r.scratch);
    compare("forward", r.y, old, y, r.ny / r.ldy, s->k, r.ldy);
    memcpy(old, r.dx, (size_t)r.nx * sizeof(float));
    for (int64_t q = 0; q < r.nx; q++)
        dx[q] += old[q];
    ctt_wino_pack(i, &r.b, r.w, 1, threads, r.u);
    ctt_wino_conv(i, &r.b, r.plus, r.ldy, r.u, r.dx, r.ldx, &add, threads,
                  r.scratch);
    compare("to input", r.dx, old, dx, r.nx / r.ldx, s->c, r.ldx);
    for (int64_t q = 0; q < r.nw; q++)
        dw[q] += oldw[q];
    ctt_wino_grad(i, &r.s, r.x, r.ldx, r.plus, r.ldy, r.dw, threads,
                  r.scratch);
    compare("to weights", r.dw, oldw, dw, r.nw, 1, 1);
    ctt_free(y);
    ctt_free(dx);
    ctt_free(dw);
    ctt_free(old);
    ctt_free(oldw);
    rig_close(&r);
}

static void test_isa(const struct ctt_wino_isa *i)
{
    if (!i->supported()) {
        printf("(not on this machine) ");
        return;
    }
    for (size_t k = 0; k < CTT_LEN(shapes); k++) {
        check_shape(&shapes[k], i, 1);
        check_shape(&shapes[k], i, THREADS);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_avx2(void)   { test_isa(&ctt_wino_avx2); }
static void test_avx512(void) { test_isa(&ctt_wino_avx512); }

/* More images must not change what one image gives: streaming = batch. */
static void test_batch(void)
{
    const struct ctt_wino_isa *i = ctt_wino_best();
    struct ctt_wino_shape one = shapes[5];
    struct ctt_wino_end end = { .act = 0 };
    struct rig r;
    int64_t image;

    if (!i)
        return;
    rig_open(&r, &shapes[5], i);
    image = r.b.h * r.b.w * r.ldy;
    one.n = 1;
    ctt_wino_pack(i, &one, r.w, 0, 1, r.u);
    ctt_wino_conv(i, &r.s, r.x, r.ldx, r.u, r.plus, r.ldy, &end, THREADS,
                  r.scratch);
    for (int64_t n = 0; n < r.s.n; n++)
        ctt_wino_conv(i, &one, r.x + n * r.s.h * r.s.w * r.ldx, r.ldx, r.u,
                      r.y + n * image, r.ldy, &end, 1, r.scratch);
    for (int64_t q = 0; q < r.ny; q++)
        if (q % r.ldy < r.s.k)
            CU_ASSERT_FATAL(r.y[q] == r.plus[q]);
    rig_close(&r);
}

static CU_TestInfo tests[] = {
    { "avx2", test_avx2 },
    { "avx512", test_avx512 },
    { "batch", test_batch },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "wino", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
