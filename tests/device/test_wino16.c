/* SPDX-License-Identifier: Apache-2.0
 * test_wino16.c: Winograd in whole numbers against direct sums, bit for bit, in
 * tiles of both sizes, for each instruction set that is here and the code for
 * AVX-512, emulated. */
#include "tests/device/wino16_emulated.h"
#include "tests/lib/check.h"

#include <string.h>

static const struct ctt_wino16_isa *const isas[] = {
    &ctt_wino16_avx2, &ctt_wino16_avx512, &ctt_wino16_vnni,
    &ctt_wino16_emulated, &ctt_wino16_emulated_vnni, &ctt_wino16_neon,
};

static const struct ctt_wino16_shape shapes[] = {
    { 1, 1, 1, 1, 1, 1, 1 },
    { 1, 4, 4, 16, 32, 1, 1 },
    { 2, 13, 9, 5, 7, 1, 1 },         /* odd sizes, tails in channels */
    { 1, 6, 6, 70, 24, 1, 1 },
    { 2, 5, 6, 33, 8, 2, 0 },
    { 1, 3, 7, 17, 66, 0, 2 },        /* no padding up and down */
    { 3, 12, 12, 2, 40, 0, 0 },
    { 20, 12, 12, 48, 16, 1, 1 },     /* many blocks */
    { 1, 9, 10, 8, 80, 1, 1 },        /* whole tiles and cut ones */
};

enum { THREADS = 3, GAP = 3 };

/* What the results become; plus: 1: floats, 2: bytes. */
/* bytes: 2: their lower bound is 0. */
static const struct kind { int act, bias, plus, bytes; } kinds[] = {
    { 0, 0, 0, 0 }, { CTT_ACT_RELU + 1, 1, 1, 0 }, { 0, 1, 0, 1 },
    { CTT_ACT_TANH + 1, 1, 1, 0 }, { CTT_ACT_SIGMOID + 1, 0, 1, 1 },
    { CTT_ACT_RELU + 1, 0, 1, 1 }, { CTT_ACT_RELU + 1, 1, 2, 1 },
    { 0, 0, 2, 1 }, { 0, 1, 2, 0 }, { CTT_ACT_RELU6 + 1, 1, 0, 1 },
    { CTT_ACT_RELU6 + 1, 1, 2, 2 }, { CTT_ACT_RELU + 1, 0, 0, 2 },
    { CTT_ACT_RELU6 + 1, 1, 1, 0 },
};

struct rig {
    struct ctt_wino16_shape s;
    int64_t         oh, ow, ld, rows;
    int             zero;
    uint8_t        *x, *blank, *plus_bytes;
    int8_t         *q;
    int32_t        *sum;
    float          *factor, *bias, *plus, *want, *got;
    struct ctt_node node;
    struct ctt_call call;
};

static void *room(int64_t bytes)
{
    void *p = ctt_calloc((size_t)bytes + 1, 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* extreme: 1: the largest sums, -1: the smallest, 0: random numbers, ends of
 * the ranges among them. */
static void fill(struct rig *r, int extreme)
{
    int64_t in = r->s.n * r->s.h * r->s.w * r->ld, nq = r->s.k * 9 * r->s.c;

    for (int64_t i = 0; i < in; i++) {
        uint32_t v = ctt_random(1, (uint64_t)i);
        r->x[i] = v % 5 == 0 ? 0 : v % 5 == 1 ? 255 : (uint8_t)(v >> 9);
        if (extreme)
            r->x[i] = r->zero < 128 ? 255 : 0;
    }
    for (int64_t i = 0; i < nq; i++) {
        uint32_t v = ctt_random(2, (uint64_t)i);
        r->q[i] = v % 5 == 0 ? -127 : v % 5 == 1 ? 127
                                                 : (int8_t)(v >> 9) / 2;
        if (extreme)
            r->q[i] = (int8_t)(127 * extreme);
    }
}

static int64_t sum_of(const struct rig *r, int64_t row, int64_t k)
{
    const struct ctt_wino16_shape *s = &r->s;
    int64_t x = row % r->ow - s->pad_w, y = row / r->ow % r->oh - s->pad_h;
    int64_t n = row / r->ow / r->oh, sum = 0;

    for (int t = 0; t < 9; t++) {
        int64_t i = y + t / 3, j = x + t % 3;

        if (i < 0 || i >= s->h || j < 0 || j >= s->w)
            continue;
        for (int64_t c = 0; c < s->c; c++)
            sum += (r->x[((n * s->h + i) * s->w + j) * r->ld + c] - r->zero) *
                   r->q[(k * 9 + t) * s->c + c];
    }
    return sum;
}

static void open_rig(struct rig *r, const struct ctt_wino16_shape *s, int tile,
                     int zero, int extreme)
{
    memset(r, 0, sizeof(*r));
    r->s = *s;
    r->s.tile = tile;
    r->zero = zero;
    r->oh = s->h + 2 * s->pad_h - 2;
    r->ow = s->w + 2 * s->pad_w - 2;
    r->ld = ctt_align(s->c, 16) + 16;
    r->rows = s->n * r->oh * r->ow;
    r->x = room(s->n * s->h * s->w * r->ld);
    r->blank = room(r->ld);
    memset(r->blank, zero, (size_t)r->ld);
    r->q = room(s->k * 9 * s->c);
    r->sum = room(r->rows * s->k * 4);
    r->factor = ctt_check_floats(s->k, 3);
    r->bias = ctt_check_floats(s->k, 4);
    r->plus = ctt_check_floats(r->rows * (s->k + GAP), 5);
    r->plus_bytes = room(r->rows * (s->k + GAP));
    for (int64_t i = 0; i < r->rows * (s->k + GAP); i++)
        r->plus_bytes[i] = (uint8_t)ctt_random(6, (uint64_t)i);
    r->want = room(r->rows * (s->k + GAP) * 4);
    r->got = room(r->rows * (s->k + GAP) * 4);
    for (int64_t k = 0; k < s->k; k++)
        r->factor[k] *= 1e-4f;
    fill(r, extreme);
    for (int64_t i = 0; i < r->rows * s->k; i++)
        r->sum[i] = (int32_t)sum_of(r, i / s->k, i % s->k);
}

static void close_rig(struct rig *r)
{
    void *all[] = { r->x, r->blank, r->q, r->sum, r->factor, r->bias, r->plus,
                    r->plus_bytes, r->want, r->got };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        ctt_free(all[i]);
}

static void set_call(struct rig *r, const struct kind *kind, float *y)
{
    struct ctt_tensor t = { .n = r->s.n, .d = 1, .h = r->oh, .w = r->ow,
                            .c = r->s.k, .ld = r->s.k + GAP, .data = y };

    r->node = (struct ctt_node){ .op = CTT_OP_CONV, .name = "y",
                                 .plus = kind->plus > 0 };
    r->call = (struct ctt_call){ .node = &r->node, .act = kind->act };
    r->call.in[1] = r->call.out = t;
    r->call.in[1].data = kind->plus ? r->plus : NULL;
    if (kind->plus == 2) {
        r->call.in[1].data = r->plus_bytes;
        r->call.in[1].dtype = CTT_U8;
        r->call.in[1].scale = 0.02f;
        r->call.in[1].zero = 77;
    }
    r->call.w[1].t.data = kind->bias ? r->bias : NULL;
    if (kind->bytes) {
        r->call.out.dtype = CTT_U8;
        r->call.out.scale = kind->bytes == 2 ? 0.05f : 0.013f;
        r->call.out.zero = kind->bytes == 2 ? 0 : 90;
    }
}

/* The whole rows: what lies between them stays. */
static int same(const struct rig *r, int bytes)
{
    return memcmp(r->want, r->got, (size_t)(r->rows * (r->s.k + GAP) *
                                            (bytes ? 1 : 4))) == 0;
}

static void check_kind(struct rig *r, const struct ctt_wino16_isa *i,
                       const struct kind *kind, int threads)
{
    int16_t *u = room(ctt_wino16_packed(i, &r->s) * 2);
    void *scratch = room(ctt_wino16_scratch(i, &r->s, threads));
    struct ctt_int8_epilogue end = { &r->call, r->factor };
    struct ctt_wino16_job job = { &r->s, r->x, r->blank, r->ld, r->zero, u,
                                  &end };

    memset(r->want, 7, (size_t)(r->rows * (r->s.k + GAP)) * 4);
    memcpy(r->got, r->want, (size_t)(r->rows * (r->s.k + GAP)) * 4);
    set_call(r, kind, r->want);
    for (int64_t row = 0; row < r->rows; row++)
        K(int8_epilogue)(&end, row, 0, r->s.k, r->sum + row * r->s.k);
    set_call(r, kind, r->got);
    ctt_wino16_pack(i, &r->s, r->q, threads, u);
    ctt_wino16_conv(i, &job, threads, scratch);
    CU_ASSERT(same(r, kind->bytes));
    if (!same(r, kind->bytes))
        printf("\n    %s, %dx%d, kind %d, %d x %d x %d x %d to %d", i->name,
               r->s.tile, r->s.tile, (int)(kind - kinds), (int)r->s.n,
               (int)r->s.h, (int)r->s.w, (int)r->s.c, (int)r->s.k);
    ctt_free(u);
    ctt_free(scratch);
}

static void check(const struct ctt_wino16_isa *i,
                  const struct ctt_wino16_shape *s, int tile, int zero,
                  int extreme)
{
    struct rig r;

    open_rig(&r, s, tile, zero, extreme);
    for (size_t k = 0; k < CTT_LEN(kinds); k++)
        check_kind(&r, i, &kinds[k], k % 2 ? THREADS : 1);
    close_rig(&r);
}

static void test_all(void)
{
    static const int zeros[] = { 128, 0, 255 };

    for (size_t i = 0; i < CTT_LEN(isas); i++)
        for (size_t s = 0; s < CTT_LEN(shapes) && isas[i]->supported(); s++)
            for (int tile = 3; tile <= 4; tile++)
                check(isas[i], &shapes[s], tile, zeros[s % 3], 0);
}

/* The largest and smallest sums for which the tiles are exact. */
static void test_limits(void)
{
    static const int64_t most[] = { [3] = CTT_WINO16_CHANNELS, [4] = 115 };

    for (int tile = 3; tile <= 4; tile++) {
        struct ctt_wino16_shape s = { 1, 5, 5, most[tile], 5, 0, 0 };
        struct rig r;

        for (int k = 0; k < 4; k++) {
            int extreme = k & 1 ? 1 : -1, zero = k & 2 ? 255 : 0;

            for (size_t i = 0; i < CTT_LEN(isas); i++)
                if (isas[i]->supported())
                    check(isas[i], &s, tile, zero, extreme);
        }
        for (int over = 0; over < 2; over++, s.c++) {
            open_rig(&r, &s, tile, 0, 1);
            CU_ASSERT_EQUAL(ctt_wino16_exact(tile, r.q, s.k, 9 * s.c, 0),
                            !over);
            CU_ASSERT_EQUAL(ctt_wino16_exact(tile, r.q, s.k, 9 * s.c, 255),
                            !over);
            CU_ASSERT(ctt_wino16_exact(tile, r.q, s.k, 9 * s.c, 128));
            close_rig(&r);
        }
    }
}

static void test_tiles(void)
{
    CU_ASSERT_EQUAL(ctt_wino16_tile(6, 6), 3);
    CU_ASSERT_EQUAL(ctt_wino16_tile(9, 9), 3);
    CU_ASSERT_EQUAL(ctt_wino16_tile(12, 12), 4);
    CU_ASSERT_EQUAL(ctt_wino16_tile(7, 7), 4);
}

static CU_TestInfo tests[] = {
    { "all shapes", test_all }, { "limits", test_limits },
    { "tiles", test_tiles }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "wino16", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
