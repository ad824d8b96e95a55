/* SPDX-License-Identifier: Apache-2.0
 * test_wino.c: Winograd convolution against sums in double, forward, back to
 * the input and to the weights, for each instruction set that is here. */
#include "tests/lib/check.h"
#include "device/cpu/conv/winograd/wino.h"
#include "net/winograd.h"

#include <math.h>
#include <string.h>

static const struct ctt_wino_shape shapes[] = {
    { 1, 4, 4, 16, 32, 3, 1, 1 },
    { 2, 13, 9, 5, 7, 3, 1, 1 },      /* odd sizes, tails in channels */
    { 3, 7, 10, 20, 40, 5, 2, 2 },
    { 1, 9, 8, 3, 66, 5, 0, 2 },      /* no padding up and down */
    { 2, 5, 6, 33, 8, 3, 2, 0 },
    { 20, 12, 12, 24, 16, 3, 1, 1 },  /* many blocks */
    { 3, 9, 11, 8, 8, 5, 2, 2 },      /* half registers */
    { 1, 10, 10, 44, 24, 5, 2, 2 },
    { 1, 6, 23, 1, 3, 5, 2, 2 },
    { 2, 8, 8, 11, 52, 3, 1, 1 },
    { 1, 7, 7, 33, 40, 3, 1, 1, 0, 0, 1 },    /* tiles of 2x2 */
    { 3, 6, 9, 20, 24, 3, 0, 2, 0, 0, 1 },
    { 30, 8, 5, 3, 5, 3, 1, 1, 0, 0, 1 },
    { 17, 32, 31, 5, 104, 3, 1, 1 },    /* gradients in parts: four, two */
    { 8, 33, 32, 9, 7, 5, 2, 2 },
};

enum { THREADS = 3 };
enum { VIEW = 5 };    /* channels a view has besides ours */

struct rig {
    struct ctt_wino_shape s, b;    /* forward, back */
    int64_t ldx, ldy, nx, ny, nw;
    float  *x, *y, *dx, *w, *dw, *bias, *plus, *u, *scratch;
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void rig_open(struct rig *r, const struct ctt_wino_shape *s,
                     const struct ctt_wino_isa *i)
{
    struct ctt_wino_shape b = *s, large = *s;

    large.small = 0;
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
    r->x = ctt_check_floats(r->nx, 1);
    r->y = ctt_check_floats(r->ny, 2);
    r->dx = ctt_check_floats(r->nx, 3);
    r->w = ctt_check_floats(r->nw, 4);
    r->dw = ctt_check_floats(r->nw, 5);
    r->bias = ctt_check_floats(s->k, 6);
    r->plus = ctt_check_floats(r->ny, 7);
    r->u = ctt_check_floats(larger(ctt_wino_packed(i, s), ctt_wino_packed(i,
                                                                          &b)),
                            0);
    r->scratch = ctt_check_floats(larger(larger(ctt_wino_scratch(i, s, THREADS),
                                                ctt_wino_scratch(i, &b,
                                                                 THREADS)),
                                         larger(ctt_wino_grad_scratch(i, &large,
                                                                      1),
                                                ctt_wino_grad_scratch(i, &large,
                                                                      THREADS))
                                         ), 8);
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

/* x, of the shape s, to y. */
static void run(const struct rig *r, const struct ctt_wino_isa *i,
                const struct ctt_wino_shape *s, const float *x, float *y,
                const struct ctt_wino_epilogue *end, int threads)
{
    struct ctt_wino_job job = {
        .s = s, .x = { x }, .ldx = { s->c + VIEW }, .u = r->u, .y = y,
        .ldy = s->k + VIEW, .end = end,
    };

    ctt_wino_conv(i, &job, threads, r->scratch);
}

static void check_shape(const struct ctt_wino_shape *s,
                        const struct ctt_wino_isa *i, int threads)
{
    struct ctt_wino_epilogue end = { .act = CTT_ACT_RELU + 1 }, add = { .add =
                                                                        1 };
    struct rig r;
    double *y, *dx, *dw;
    float *old, *oldw;

    rig_open(&r, s, i);
    old = ctt_check_floats(larger(r.nx, r.ny), 0);
    oldw = ctt_check_floats(r.nw, 5);
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
    ctt_wino_pack(i, &r.s, r.w, NULL, 0, threads, r.u);
    run(&r, i, &r.s, r.x, r.y, &end, threads);
    compare("forward", r.y, old, y, r.ny / r.ldy, s->k, r.ldy);
    memcpy(old, r.dx, (size_t)r.nx * sizeof(float));
    for (int64_t q = 0; q < r.nx; q++)
        dx[q] += old[q];
    ctt_wino_pack(i, &r.b, r.w, NULL, 1, threads, r.u);
    run(&r, i, &r.b, r.plus, r.dx, &add, threads);
    compare("to input", r.dx, old, dx, r.nx / r.ldx, s->c, r.ldx);
    for (int64_t q = 0; q < r.nw; q++)
        dw[q] += oldw[q];
    r.s.small = 0;
    ctt_wino_grad(i, &(struct ctt_wino_back){ .s = &r.s, .x = r.x,
                  .ldx = r.ldx, .dy = r.plus, .lddy = r.ldy }, threads,
                  r.scratch, r.dw);
    compare("to weights", r.dw, oldw, dw, r.nw, 1, 1);
    ctt_free(y);
    ctt_free(dx);
    ctt_free(dw);
    ctt_free(old);
    ctt_free(oldw);
    rig_close(&r);
}

/* ---- with a second input, and the LSTM cell ---- */

struct fused { struct ctt_wino_shape s; int keep, plus; };
static const struct fused fused[] = {
    { { 2, 9, 10, 8, 64, 5, 2, 2, 48, 16 }, 1, 0 },
    { { 1, 12, 7, 8, 44, 5, 2, 2, 0, 11 }, 1, 1 },
    { { 3, 8, 8, 9, 12, 3, 1, 1, 20, 3 }, 0, 0 },
    { { 1, 7, 9, 17, 28, 5, 2, 2, 1, 7 }, 0, 1 },
    { { 2, 6, 5, 5, 7, 3, 1, 1, 8, 0 }, 1, 1 },
};

/* out (rows,k) += the conv of x (c channels, dense) with w, in double. */
static void sum_up(const struct ctt_wino_shape *s, int64_t c, const float *x,
                   const float *w, double *out)
{
    int64_t taps = s->r * s->r;

    for (int64_t q = 0; q < s->n * s->h * s->w * taps; q++) {
        int64_t t = q % taps, p = q / taps, j = p % s->w;
        int64_t i = p / s->w % s->h, n = p / (s->w * s->h);
        int64_t a = i + t / s->r - s->pad_h, b = j + t % s->r - s->pad_w;
        if (a < 0 || a >= s->h || b < 0 || b >= s->w)
            continue;
        for (int64_t k = 0; k < s->k; k++)
            for (int64_t l = 0; l < c; l++)
                out[p * s->k + k] += (double)w[(k * taps + t) * c + l] *
                                     x[((n * s->h + a) * s->w + b) * c + l];
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The gates z of one pixel; old, and the new states. */
static void cell(const double *z, int64_t H, const float *old, double *h,
                 double *c)
{
    for (int64_t j = 0; j < H; j++) {
        c[j] = sigmoid(z[H + j]) * old[j] +
               sigmoid(z[j]) * tanh(z[3 * H + j]);
        h[j] = sigmoid(z[2 * H + j]) * tanh(c[j]);
    }
}

/* Everything dense; [0]: x, x2, w, w2, bias, bias2, y (and plus), old, h, c. */
enum { X, X2, W, W2, BIAS, BIAS2, Y, OLD, NEW_H, NEW_C, ALL_FLOATS };

static void want(const struct ctt_wino_shape *s, float *const *f, int plus,
                 double *const *d)
{
    int64_t rows = s->n * s->h * s->w;

    sum_up(s, s->c, f[X], f[W], d[0]);
    sum_up(s, s->c2, f[X2], f[W2], d[0]);
    for (int64_t i = 0; i < rows * s->k; i++)
        d[0][i] += f[BIAS][i % s->k] + f[BIAS2][i % s->k] +
                   (plus ? f[Y][i] : 0);
    for (int64_t r = 0; r < rows; r++)
        cell(d[0] + r * s->k, s->hidden, f[OLD] + r * s->hidden,
             d[1] + r * s->hidden, d[2] + r * s->hidden);
}

static void check_fused(const struct fused *u, const struct ctt_wino_isa *i,
                        int threads)
{
    const struct ctt_wino_shape *s = &u->s;
    int64_t rows = s->n * s->h * s->w, taps = s->r * s->r;
    int64_t size[ALL_FLOATS] = { rows * s->c, rows * s->c2 + 1,
        s->k * taps * s->c, s->k * taps * s->c2 + 1, s->k, s->k, rows * s->k,
        rows * s->hidden + 1, rows * s->hidden + 1, rows * s->hidden + 1 };
    float *f[ALL_FLOATS], *pack = ctt_check_floats(ctt_wino_packed(i, s), 0);
    float *scratch = ctt_check_floats(ctt_wino_scratch(i, s, threads), 0);
    double *d[3];

    for (int k = 0; k < ALL_FLOATS; k++)
        f[k] = ctt_check_floats(size[k], 20 + (uint64_t)k);
    for (int64_t k = 0; k < size[W] + size[W2]; k++)    /* no gate at its end */
        *(k < size[W] ? f[W] + k : f[W2] + k - size[W]) *= 0.1f;
    for (int k = 0; k < 3; k++) {
        d[k] = ctt_calloc((size_t)size[k ? NEW_H : Y], sizeof(double));
        CU_ASSERT_PTR_NOT_NULL_FATAL(d[k]);
    }
    want(s, f, u->plus, d);
    struct ctt_wino_cell states = { f[OLD], f[NEW_H], f[NEW_C], s->hidden,
                                    s->hidden, s->hidden };
    struct ctt_wino_epilogue end = { .bias = f[BIAS], .bias2 = f[BIAS2],
        .plus = u->plus ? f[Y] : NULL, .ldplus = s->k,
        .cell = s->hidden ? &states : NULL };
    struct ctt_wino_job job = { .s = s, .x = { f[X], f[X2] }, .u = pack,
        .ldx = { s->c, s->c2 }, .y = u->keep ? f[Y] : NULL, .ldy = s->k,
        .end = &end };
    ctt_wino_pack(i, s, f[W], f[W2], 0, threads, pack);
    ctt_wino_conv(i, &job, threads, scratch);
    if (u->keep)
        compare("gates", f[Y], NULL, d[0], rows, s->k, s->k);
    if (s->hidden) {
        compare("h", f[NEW_H], NULL, d[1], rows, s->hidden, s->hidden);
        compare("c", f[NEW_C], NULL, d[2], rows, s->hidden, s->hidden);
    }
    for (int k = 0; k < ALL_FLOATS; k++)
        ctt_free(f[k]);
    for (int k = 0; k < 3; k++)
        ctt_free(d[k]);
    ctt_free(pack);
    ctt_free(scratch);
}

static void test_isa(const struct ctt_wino_isa *i)
{
    if (!i->supported()) {
        printf("(not on this machine) ");
        return;
    }
    for (int threads = 1; threads <= THREADS; threads += THREADS - 1) {
        for (size_t k = 0; k < CTT_LEN(shapes); k++)
            if (ctt_check_tries())
                check_shape(&shapes[k], i, threads);
        for (size_t k = 0; k < CTT_LEN(fused); k++)
            if (ctt_check_tries())
                check_fused(&fused[k], i, threads);
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
    struct ctt_wino_epilogue end = { .act = 0 };
    struct rig r;
    int64_t image;

    if (!i || !ctt_check_tries())
        return;
    rig_open(&r, &shapes[5], i);
    image = r.b.h * r.b.w * r.ldy;
    one.n = 1;
    ctt_wino_pack(i, &one, r.w, NULL, 0, 1, r.u);
    run(&r, i, &r.s, r.x, r.plus, &end, THREADS);
    for (int64_t n = 0; n < r.s.n; n++)
        run(&r, i, &one, r.x + n * r.s.h * r.s.w * r.ldx, r.y + n * image,
            &end, 1);
    for (int64_t q = 0; q < r.ny; q++)
        if (q % r.ldy < r.s.k)
            CU_ASSERT_FATAL(r.y[q] == r.plus[q]);
    rig_close(&r);
}

/* No bit of a gradient depends on the threads, be they more than its parts. */
static void check_threads(const struct ctt_wino_shape *s)
{
    static const int threads[] = { 1, 2, 3, 5, 6, 7, 11, 16 };
    const struct ctt_wino_isa *i = ctt_wino_best();
    struct rig r;
    float *first;

    rig_open(&r, s, i);
    first = ctt_check_floats(r.nw, 5);
    for (size_t k = 0; k < CTT_LEN(threads); k++) {
        float *scratch = ctt_check_floats(ctt_wino_grad_scratch(i, s,
                                                                threads[k]),
                                          8);

        memset(r.dw, 0, (size_t)r.nw * sizeof(float));
        ctt_wino_grad(i, &(struct ctt_wino_back){ .s = &r.s, .x = r.x,
                      .ldx = r.ldx, .dy = r.plus, .lddy = r.ldy }, threads[k],
                      scratch, r.dw);
        ctt_free(scratch);
        if (k == 0)
            memcpy(first, r.dw, (size_t)r.nw * sizeof(float));
        CU_ASSERT(memcmp(first, r.dw, (size_t)r.nw * sizeof(float)) == 0);
    }
    ctt_free(first);
    rig_close(&r);
}

/* Scratch of a gradient hardly grows with threads that share its panels. */
static void test_room(void)
{
    static const struct ctt_wino_shape s = { 2, 14, 14, 512, 512, 3, 1, 1 };
    const struct ctt_wino_isa *i = ctt_wino_best();

    if (i)
        CU_ASSERT(ctt_wino_grad_scratch(i, &s, 16) <
                  2 * ctt_wino_grad_scratch(i, &s, 1));
}

static void test_threads(void)
{
    for (size_t k = 0; k < CTT_LEN(shapes) && ctt_wino_best(); k++)
        if (!shapes[k].small)
            check_threads(&shapes[k]);
}

/* Tiles of 2x2 where many weights are read for few tiles of 4x4. */
static void test_small_tiles(void)
{
    static const struct { int n, h, w, c, k, small; } rows[] = {
        { 1, 7, 7, 512, 512, 1 }, { 1, 7, 7, 160, 160, 0 },
        { 1, 14, 14, 512, 512, 0 }, { 16, 7, 7, 512, 512, 0 },
        { 1, 8, 8, 300, 300, 1 }, { 1, 4, 4, 512, 512, 0 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_tensor out = { .n = rows[i].n, .d = 1, .h = rows[i].h,
                                  .w = rows[i].w, .c = rows[i].k };
        CU_ASSERT_EQUAL(ctt_winograd_small_tiles(&out, rows[i].c),
                        rows[i].small);
    }
}

/* Weights that are packed as windows give the same bits. */
static void check_windows(struct ctt_wino_shape s, const struct ctt_wino_isa *i,
                          int threads)
{
    struct ctt_wino_epilogue end = { .act = CTT_ACT_RELU + 1 };
    struct rig r[2];

    for (int k = 0; k < 2; k++) {
        s.windows = k;
        rig_open(&r[k], &s, i);
        end.bias = r[k].bias;
        ctt_wino_pack(i, &r[k].s, r[k].w, NULL, 0, threads, r[k].u);
        run(&r[k], i, &r[k].s, r[k].x, r[k].y, &end, threads);
    }
    CU_ASSERT(memcmp(r[0].y, r[1].y, (size_t)r[0].ny * sizeof(float)) == 0);
    rig_close(&r[0]);
    rig_close(&r[1]);
}

static void test_windows(void)
{
    static const struct ctt_wino_isa *const all[] = { &ctt_wino_avx512,
                                                      &ctt_wino_avx2 };
    static const struct ctt_wino_shape few[] = {
        { 1, 14, 14, 150, 64, 3, 1, 1 },
        { 1, 7, 7, 64, 96, 3, 1, 1, 0, 0, 1 },
        { 2, 7, 9, 130, 32, 3, 0, 1, 0, 0, 1 },
        { 1, 11, 9, 65, 32, 5, 2, 2 },
    };
    struct ctt_wino_shape large = { 1, 14, 14, 256, 256, 3, 1, 1 };

    for (size_t k = 0; k < CTT_LEN(all); k++) {
        if (!all[k]->supported())
            continue;
        CU_ASSERT(ctt_wino_few_tiles(all[k], &large));
        CU_ASSERT(!ctt_wino_few_tiles(all[k], &few[0]));
        for (size_t i = 0; i < CTT_LEN(few); i++)
            for (int threads = 1; threads <= THREADS; threads += THREADS - 1)
                check_windows(few[i], all[k], threads);
    }
    large.n = 8;
    CU_ASSERT(!ctt_wino_few_tiles(&ctt_wino_avx2, &large));
}

static CU_TestInfo tests[] = {
    { "windows", test_windows },
    { "small tiles", test_small_tiles },
    { "avx2", test_avx2 },
    { "avx512", test_avx512 },
    { "batch", test_batch },
    { "threads", test_threads },
    { "room", test_room },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "wino", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
