/* SPDX-License-Identifier: Apache-2.0
 * test_depthwise.c: depthwise convs of floats with the 1x1 convs beside them:
 * the results of plain C, the same bits with any number of threads, what is not
 * taken along, and the kernels of each instruction set. */
#include "tests/lib/check.h"
#include "device/cpu/conv/depthwise/depthwise.h"
#include "device/cpu/features.h"
#include "base/random.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 800 };

/* A model on a device, and its answer of `samples` samples. */
struct rig {
    struct ctt_graph *g;
    struct ctt_dev   *d;
    struct ctt_run   *r;
    float            *w, *x, *y;
    int64_t           count;
};

static void rig_run(struct rig *k, const char *text, const char *device,
                    int threads, int samples)
{
    const struct ctt_tensor *in, *y;
    int out;

    *k = (struct rig){ .g = NULL };
    CHECK_OK(ctt_net_parse(text, &k->g));
    CHECK_OK(ctt_dev_open(device, threads, &k->d));
    CHECK_OK(ctt_dev_own_threads(k->d));
    k->w = ctt_check_floats(k->g->weights, 3);
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = k->g, .dev = k->d,
        .w = k->w, .samples = samples, .steps = 1 }, &k->r));
    out = ctt_graph_output(k->g);
    in = &k->g->node[0].out;
    y = &k->g->node[out].out;
    k->x = ctt_check_floats(samples * ctt_volume(in), 4);
    k->count = samples * ctt_volume(y);
    k->y = ctt_check_floats(k->count, 0);
    for (int again = 0; again < 2; again++) {
        long calls = ctt_alloc_calls();
        ctt_run_reset(k->r);
        CHECK_OK(ctt_run_put(k->r, 0, 0, k->x, samples * ctt_rows(in)));
        CHECK_OK(ctt_run_steps(k->r, 1));
        CU_ASSERT(!again || ctt_alloc_calls() == calls);
        CHECK_OK(ctt_run_get(k->r, out, 0, samples * ctt_rows(y), k->y));
    }
}

static void rig_close(struct rig *k)
{
    ctt_run_close(&k->r);
    ctt_dev_close(&k->d);
    ctt_graph_free(&k->g);
    ctt_free(k->w);
    ctt_free(k->x);
    ctt_free(k->y);
}

/* How many convs node `name`'s call has; 0: its provider is another one. */
static int convs_of(const struct rig *k, const char *name)
{
    int i = ctt_graph_find(k->g, name);
    void *cache = k->r->cache[i][CTT_CACHE_FWD];
    const char *impl = cache ? ctt_dev_impl(k->d, cache, CTT_FWD) : "";

    if (strncmp(impl, "depthwise:", 10) != 0)
        return 0;
    return strstr(impl, "+chain") ? 2 : 1;
}

static double furthest(const float *a, const float *b, int64_t n)
{
    double far = 0, size = 0;

    for (int64_t i = 0; i < n; i++) {
        far = fabs((double)a[i] - b[i]) > far ? fabs((double)a[i] - b[i]) : far;
        size = fabs((double)b[i]) > size ? fabs((double)b[i]) : size;
        if (isnan(a[i]) != isnan(b[i]))
            return INFINITY;
    }
    return far / (size + 1e-6);
}

/* convs: of the call of node `last`, as convs_of() has them. */
static void check(const char *text, int samples, const char *last, int convs)
{
    struct rig want, one, got;
    int ok;

    rig_run(&want, text, "ref", 1, samples);
    rig_run(&one, text, "cpu", 1, samples);
    ok = furthest(one.y, want.y, want.count) < 3e-5 &&
         convs_of(&one, last) == (ctt_has_avx2() ? convs : 0);
    for (int threads = 2; threads < 5; threads++) {
        rig_run(&got, text, "cpu", threads, samples);
        ok &= memcmp(one.y, got.y, sizeof(float) * (size_t)one.count) == 0;
        rig_close(&got);
    }
    CU_ASSERT(ok);
    if (!ok)
        printf("\n%d samples, %g off, %d convs:\n%s", samples,
               furthest(one.y, want.y, want.count), convs_of(&one, last), text);
    rig_close(&want);
    rig_close(&one);
}

/* ---- shapes ---- */

static int pick(uint64_t n, int of, int from, int to)
{
    return from + (int)(ctt_random(n, (uint64_t)of) %
                        (uint32_t)(to - from + 1));
}

static void add_act(char *text, const char *of, int kind)
{
    static const char *const kinds[] = { "relu", "relu6", "tanh" };
    int at = (int)strlen(text);

    if (kind < 3)
        snprintf(text + at, (size_t)(TEXT - at), "act %sa in=%s kind=%s\n", of,
                 of, kinds[kind]);
}

/* Writes a conv that reads `from` and its act; returns the name of its
 * result. */
static const char *add_conv(char *text, const char *name, const char *from,
                            int kind, const char *more)
{
    static char of[2][8];
    static int turn;
    int at = (int)strlen(text);

    snprintf(text + at, (size_t)(TEXT - at), "conv %s in=%s %s\n", name, from,
             more);
    add_act(text, name, kind);
    turn = !turn;
    snprintf(of[turn], sizeof(of[turn]), "%s%s", name, kind < 3 ? "a" : "");
    return of[turn];
}

/* Any shape.  Large images are divided into bands of all convs. */
static void try_shape(uint64_t n)
{
    int channels = pick(n, 0, 2, 9) * pick(n, 1, 1, 17), kernel, large;
    const char *at = "x";
    char text[TEXT], more[120];
    int e = pick(n, 2, 0, 2) > 0, p = pick(n, 3, 0, 2) > 0;

    kernel = pick(n, 4, 0, 3) ? pick(n, 4, 1, 3) * 2 - 1 : pick(n, 5, 1, 8);
    large = channels > 33 && pick(n, 6, 0, 2) == 0 ? 50 : 0;
    snprintf(text, TEXT, "input x h=%d w=%d c=%d\n",
             pick(n, 7, 1, 20) + kernel + large,
             pick(n, 8, 1, 20) + kernel + large,
             e ? pick(n, 9, 1, 40) : channels);
    snprintf(more, sizeof(more), "out=%d bias=%d", channels, pick(n, 10, 0, 1));
    if (e)
        at = add_conv(text, "e", at, pick(n, 11, 0, 3), more);
    snprintf(more, sizeof(more), "out=%d kernel=%d stride=1,%d,%d pad=%d "
             "groups=%d bias=%d", channels, kernel, pick(n, 12, 1, 3),
             pick(n, 13, 1, 2), pick(n, 14, 0, kernel / 2 + 1), channels,
             pick(n, 15, 0, 1));
    at = add_conv(text, "d", at, pick(n, 16, 0, 3), more);
    snprintf(more, sizeof(more), "out=%d bias=%d", pick(n, 17, 1, 150),
             pick(n, 18, 0, 1));
    if (p)
        add_conv(text, "p", at, pick(n, 19, 0, 3), more);
    check(text, pick(n, 20, 1, 3), p ? "p" : "d", e || p ? 2 : 1);
}

static void test_shapes(void)
{
    for (uint64_t n = 0; n < 200; n++)
        if (ctt_check_tries())
            try_shape(n);
}

/* ---- what is taken along ---- */

#define FRAME "input x h=9 w=9 c=8\n"
#define DEPTHWISE "conv d in=e out=24 kernel=3 pad=1 groups=24\n"

static void test_along(void)
{
    static const struct { const char *text; int convs; } models[] = {
        { FRAME "conv e in=x out=24\n" DEPTHWISE, 2 },
        { FRAME "conv e in=x out=24\n" DEPTHWISE "conv p in=d out=5\n", 0 },
        { FRAME "conv e in=x out=24\n" DEPTHWISE "add y in=d,e\n", 1 },
        { FRAME "conv e in=x out=24 kernel=3 pad=1\n" DEPTHWISE, 1 },
        { FRAME "conv e in=x out=24 stride=2\n" DEPTHWISE, 1 },
        { FRAME "conv e in=x out=24 pad=1\n" DEPTHWISE, 1 },
        { FRAME "conv e in=x out=24 groups=2\n" DEPTHWISE, 1 },
        { FRAME "conv f in=x out=24\nconv e in=x plus=f out=24\n" DEPTHWISE,
          1 },
        { FRAME "conv e in=x out=24\n"
          "conv d in=e out=24 kernel=3 pad=1 groups=12\n", 0 },
        { FRAME "conv e in=x out=24\n"
          "conv d in=e out=24 kernel=9 pad=4 groups=24\n", 0 },
        { FRAME "conv e in=x out=24\n"
          "conv d in=e out=24 kernel=3 pad=2 dilation=2 groups=24\n", 0 },
        { "input x d=2 h=9 w=9 c=8\nconv e in=x out=24\n"
          "conv d in=e out=24 kernel=2,3,3 pad=0,1,1 groups=24\n", 0 },
        { "input x d=2 h=9 w=9 c=8\nconv e in=x out=24\n"
          "conv d in=e out=24 kernel=1,3,3 pad=0,1,1 groups=24\n", 2 },
        { "input x h=1 w=1 c=8\nconv e in=x out=24\n"
          "conv d in=e out=24 kernel=7 pad=3 groups=24\n", 2 },
        { "input x h=3 w=2 c=8\nconv e in=x out=24\n"
          "conv d in=e out=24 kernel=7 pad=3 groups=24\n", 2 },
        { FRAME "conv s in=x out=40\nslice e in=s from=8 to=32\n" DEPTHWISE,
          1 },
        { FRAME "conv e in=x out=24\n" DEPTHWISE "concat y in=d,e\n", 1 },
        /* a chain has one depthwise conv, and one 1x1 conv on each side */
        { FRAME "conv a in=x out=16\nconv e in=a out=24\n" DEPTHWISE, 2 },
        { FRAME "conv a in=x out=16\nact b in=a kind=relu\n"
          "conv e in=b out=96\nconv d in=e out=96 kernel=3 groups=96\n", 2 },
        { FRAME "conv d in=x out=8 kernel=3 pad=1 groups=8\n"
          "conv p in=d out=16\nconv q in=p out=64\n", 1 },
        { FRAME "conv e in=x out=16\nconv d in=e out=16 kernel=3 groups=16\n"
          "conv p in=d out=10\nconv q in=p out=64\n", 2 },
        { FRAME "conv f in=x out=8 kernel=3 groups=8\nconv e in=f out=24\n"
          DEPTHWISE, 2 },
    };

    for (size_t i = 0; i < CTT_LEN(models); i++)
        check(models[i].text, 2, "d", models[i].convs);
}

/* ---- kernels ---- */

enum { MOST = 12, PIXELS = 20, ROOM = 6000 };

/* Values, weights, bias and results; these begin as sums, of which those that a
 * kernel must not write stay. */
struct numbers { float *x, *w, *bias, *y, *want; };

static struct numbers numbers_new(void)
{
    struct numbers k = { ctt_check_floats(ROOM, 5), ctt_check_floats(ROOM, 6),
                         ctt_check_floats(ROOM, 7), ctt_check_floats(ROOM, 8),
                         ctt_check_floats(ROOM, 8) };

    return k;
}

static void numbers_compare(struct numbers *k, const struct ctt_dw_isa *isa,
                            const char *what, uint64_t n)
{
    double far = furthest(k->y, k->want, ROOM);

    CU_ASSERT(far < 1e-5);
    if (far >= 1e-5)
        printf("\n%s, %s %d: %g off", isa->name, what, (int)n, far);
    ctt_free(k->x);
    ctt_free(k->w);
    ctt_free(k->bias);
    ctt_free(k->y);
    ctt_free(k->want);
}

static float between(const struct ctt_dw_ending *e, float v)
{
    return v < e->least ? e->least : v > e->most ? e->most : v;
}

/* A part of the inputs of one block; lines of pixels with gaps. */
static void try_sum(const struct ctt_dw_isa *isa, uint64_t n)
{
    struct numbers k = numbers_new();
    int64_t outs = pick(n, 0, 1, isa->regs * isa->lanes), ins = MOST;
    int64_t regs = (outs + isa->lanes - 1) / isa->lanes;
    int64_t from = pick(n, 1, 0, 1) * pick(n, 1, 0, MOST - 1);
    int64_t few = pick(n, 2, 0, 1) ? ins - from : 1 + (ins - from) / 3;
    int64_t many = pick(n, 3, 1, PIXELS), line = pick(n, 4, 1, PIXELS);
    int64_t ld = pick(n, 5, (int)outs, 80), gap = pick(n, 6, 0, 50);
    struct ctt_dw_sum s = { .w = k.w, .bias = k.bias, .ins = ins, .outs = outs,
                            .regs = regs, .blocks = 1, .end = { -1, 2, 0 } };

    for (int64_t i = 0; i < many; i++)
        for (int64_t o = 0; o < outs; o++) {
            float *y = k.want + i * ld + i / line * gap + o;
            float v = from == 0 ? k.bias[o] : *y;
            for (int64_t c = 0; c < few; c++)
                v += k.x[i * MOST + c] *
                     k.w[(from + c) * regs * isa->lanes + o];
            *y = from + few == ins ? between(&s.end, v) : v;
        }
    isa->sum(&s, 0, k.x, MOST, many, from, few,
             (struct ctt_dw_place){ k.y, ld, line, gap });
    numbers_compare(&k, isa, "sum", n);
}

static void try_line(const struct ctt_dw_isa *isa, uint64_t n)
{
    struct numbers k = numbers_new();
    int64_t high = pick(n, 0, 1, 5), wide = pick(n, 1, 0, 2) ? high :
                   pick(n, 2, 1, 5), channels = pick(n, 3, 1, 40);
    int64_t all = ctt_align(channels, isa->lanes);
    struct ctt_dw_line l = {
        .pixel = all, .kernel = { high, wide }, .stride = pick(n, 4, 1, 3),
        .w = k.w, .bias = k.bias, .tap = all, .n = pick(n, 5, 1, PIXELS),
        .channels = channels, .y = k.y, .ld = pick(n, 6, (int)channels, 60),
        .end = { -1, 2, 0 }
    };

    for (int64_t h = 0; h < high; h++)
        l.row[h] = k.x + h;
    for (int64_t i = 0; i < l.n; i++)
        for (int64_t c = 0; c < channels; c++) {
            float v = k.bias[c];
            for (int64_t t = 0; t < high * wide; t++)
                v += l.row[t / wide][(i * l.stride + t % wide) * all + c] *
                     k.w[t * all + c];
            k.want[i * l.ld + c] = between(&l.end, v);
        }
    isa->line(&l);
    numbers_compare(&k, isa, "line", n);
}

static void test_kernels(void)
{
    static const struct ctt_dw_isa *const all[] = {
        &ctt_dw_avx512, &ctt_dw_avx2
    };

    for (size_t i = 0; i < CTT_LEN(all); i++) {
        if (!all[i]->supported()) {
            printf("\n    this processor lacks what kernel %d needs", (int)i);
            continue;
        }
        for (uint64_t n = 0; n < 300; n++) {
            try_sum(all[i], n);
            try_line(all[i], n);
        }
    }
}

static CU_TestInfo tests[] = {
    { "kernels", test_kernels }, { "shapes", test_shapes },
    { "taken along", test_along }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "depthwise", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    return rc ? rc : ctt_live_blocks() != 0;
}
