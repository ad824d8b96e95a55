/* SPDX-License-Identifier: Apache-2.0
 * int8_depthwise_vnni.c: depthwise convs of quantised values for AVX-512 VNNI:
 * four neighbours of each channel beside each other, made from four pixels in
 * registers, and the sum of their products at a time. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#ifndef CTT_EMULATED
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#endif
#include "device/cpu/conv/int8/int8_job.h"

/* FOUR: registers of sums of a block, neighbours of a product, and registers
 * transposed together. */
enum { FOUR = 4 };

#define LANES 16
#define REGS FOUR
#define BLOCK (FOUR * LANES)

typedef uint8_t elem;

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"
#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"

/* ---- the order of channels ---- */

/* Transposes the 128-bit quarters of four registers: from the usual order of
 * channels to the order of the sums, and back.  Neighbours are interleaved
 * within 128 bits, so register i of the sums has, of each 16 channels, the four
 * from 4 i on. */
INLINE void turn(ivec v[FOUR])
{
    __m512i a = _mm512_shuffle_i32x4((__m512i)v[0], (__m512i)v[1], 0x44);
    __m512i b = _mm512_shuffle_i32x4((__m512i)v[0], (__m512i)v[1], 0xee);
    __m512i c = _mm512_shuffle_i32x4((__m512i)v[2], (__m512i)v[3], 0x44);
    __m512i d = _mm512_shuffle_i32x4((__m512i)v[2], (__m512i)v[3], 0xee);

    v[0] = (ivec)_mm512_shuffle_i32x4(a, c, 0x88);
    v[1] = (ivec)_mm512_shuffle_i32x4(a, c, 0xdd);
    v[2] = (ivec)_mm512_shuffle_i32x4(b, d, 0x88);
    v[3] = (ivec)_mm512_shuffle_i32x4(b, d, 0xdd);
}

static void turn_floats(fvec v[FOUR])
{
    ivec w[FOUR];

    memcpy(w, v, sizeof(w));
    turn(w);
    memcpy(v, w, sizeof(w));
}

/* Index of channel i of a block in the order of the sums. */
static int64_t turned(int64_t i)
{
    return i % LANES / FOUR * LANES + i / LANES * FOUR + i % FOUR;
}

enum { ROWS = 32, PIXELS = 8 };    /* most rows of a window; most pixels read of
                                      a row */

#define UNROLL_FEW _Pragma("GCC unroll 3")

/* ---- sizes ---- */

/* With a stride of 1, two results beside each other read the same registers. */
static int results_at_once(const struct ctt_call *c)
{
    return c->node->attr.conv.stride[2] == 1 ? 2 : 1;
}

/* Groups of four neighbours read by the results. */
static int64_t fours_read(const struct ctt_call *c)
{
    const int *kernel = c->node->attr.conv.kernel;

    return (kernel[2] + results_at_once(c) - 1 + FOUR - 1) / FOUR;
}

/* 1 if windows partly outside the image, which read copies, copy more pixels
 * than laying out the image would. */
static int edges_are_wide(const struct ctt_int8_job *j)
{
    const struct ctt_node *n = j->c->node;
    int64_t many = results_at_once(j->c), reach = fours_read(j->c) * FOUR;
    int64_t pad = n->attr.conv.pad[2], stride = n->attr.conv.stride[2];
    int64_t inside = (j->in[2] + pad - reach) / stride + 1;
    int64_t left = (pad + stride - 1) / stride, right = j->out[2] - inside;
    int64_t cut = (left + many - 1) / many + (right + many - 1) / many;

    return cut * reach * n->attr.conv.kernel[0] * n->attr.conv.kernel[1] >
           j->size[2] * n->attr.conv.stride[1];
}

/* Bytes are read in place, mostly.  Rows of others are laid out with extra
 * pixels, which are read and multiplied by 0. */
static void vnni_plan(struct ctt_int8_job *j)
{
    const struct ctt_call *c = j->c;
    int64_t wide = (j->out[2] - 1) * c->node->attr.conv.stride[2] +
                   fours_read(c) * FOUR;

    j->groups = 1;
    j->ins = j->outs = c->out.c;
    j->pixel = ctt_align(j->ins, BLOCK);
    j->run = fours_read(c) * results_at_once(c) * FOUR;
    j->size[2] = wide;
    if (ctt_is_bytes(&c->in[0]) && !edges_are_wide(j))
        j->x = c->in[0].data;
}

static int vnni_supports(const struct ctt_call *c)
{
    const int *kernel = c->node->attr.conv.kernel;

    return kernel[0] * kernel[1] <= ROWS && fours_read(c) * FOUR <= PIXELS;
}

/* Order: [four][result][channel][neighbour] of each run. */
static void vnni_pack(const struct ctt_int8_job *j, int64_t group, int64_t o,
                      const int8_t *q, int8_t *to)
{
    const struct ctt_tensor *w = &j->c->w[0].t;
    int64_t runs = w->d * w->h, many = results_at_once(j->c);
    int8_t *at = to + o / BLOCK * runs * j->steps * BLOCK * FOUR +
                 turned(o % BLOCK) * FOUR;

    (void)group;
    for (int64_t r = 0; r < runs; r++, at += j->steps * BLOCK * FOUR)
        for (int64_t p = 0; p < many; p++)
            for (int64_t i = 0; i < w->w; i++)
                at[((i + p) / FOUR * many + p) * BLOCK * FOUR +
                   (i + p) % FOUR] = q[r * w->w + i];
}

/* ---- values ---- */

/* Rows of a window: address of pixel 0, and bytes between pixels. */
struct rows {
    const elem *at[ROWS];
    int64_t     pixel[ROWS];
};

/* The values: pixels `pixel` bytes apart, images of size d h w.  Windows begin
 * pad[] pixels before the image; pixels outside are read from blank. */
struct image {
    const elem *x;
    int64_t     pixel;
    int64_t     size[3], pad[3];
    elem        blank[BLOCK];
};

static struct image image_of(const struct ctt_int8_job *j)
{
    const struct ctt_tensor *x = &j->c->in[0];
    struct image m = { .x = j->x, .pixel = j->pixel };

    memcpy(m.size, j->size, sizeof(m.size));
    memset(m.blank, x->zero, sizeof(m.blank));
    if (j->x != x->data)
        return m;
    m.pixel = x->ld;
    for (int k = 0; k < 3; k++) {
        m.size[k] = j->in[k];
        m.pad[k] = j->c->node->attr.conv.pad[k];
    }
    return m;
}

/* Finds the rows of the windows of row `row` of the result; a row outside the
 * image is one blank pixel. */
static void find_rows(const struct ctt_int8_job *j, const struct image *m,
                      int64_t row, int64_t from, struct rows *to)
{
    const int *k = j->c->node->attr.conv.kernel;
    const int *stride = j->c->node->attr.conv.stride;
    int64_t up = row / j->out[2], further = up / j->out[1];
    int64_t d0 = further % j->out[0] * stride[0] - m->pad[0];
    int64_t h0 = up % j->out[1] * stride[1] - m->pad[1];
    int64_t first = further / j->out[0] * m->size[0];

    for (int i = 0; i < k[0] * k[1]; i++) {
        int64_t d = d0 + i / k[1], h = h0 + i % k[1];
        int inside = d >= 0 && h >= 0 && d < m->size[0] && h < m->size[1];

        to->at[i] = inside ? m->x + ((first + d) * m->size[1] + h) *
                                    m->size[2] * m->pixel + from : m->blank;
        to->pixel[i] = inside ? m->pixel : 0;
    }
}

/* Copies n pixels of each row, from pixel w on, with blank pixels outside. */
static void copy_rows(const struct image *m, const struct rows *of, int runs,
                      int64_t w, int64_t n, int64_t channels, elem *room,
                      struct rows *to)
{
    for (int r = 0; r < runs; r++) {
        to->at[r] = room;
        to->pixel[r] = BLOCK;
        for (int64_t i = w; i < w + n; i++, room += BLOCK) {
            memcpy(room, m->blank, BLOCK);
            if (i >= 0 && i < m->size[2])
                memcpy(room, of->at[r] + i * of->pixel[r], (size_t)channels);
        }
    }
}

INLINE __m512i load_some(const elem *x, uint64_t some)
{
#ifdef CTT_EMULATED    /* SIMDe lacks it */
    elem few[BLOCK] = { 0 };

    memcpy(few, x, (size_t)__builtin_popcountll(some));
    return _mm512_loadu_si512(few);
#else
    return _mm512_maskz_loadu_epi8(some, x);
#endif
}

/* Loads four pixels as groups of neighbours by channel. */
INLINE void load_fours(const elem *x, int64_t pixel, uint64_t some,
                       __m512i v[FOUR])
{
    __m512i a = load_some(x, some), b = load_some(x + pixel, some);
    __m512i c = load_some(x + 2 * pixel, some);
    __m512i d = load_some(x + 3 * pixel, some);
    __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    __m512i low2 = _mm512_unpacklo_epi8(c, d);
    __m512i high2 = _mm512_unpackhi_epi8(c, d);

    v[0] = _mm512_unpacklo_epi16(low, low2);
    v[1] = _mm512_unpackhi_epi16(low, low2);
    v[2] = _mm512_unpacklo_epi16(high, high2);
    v[3] = _mm512_unpackhi_epi16(high, high2);
}

/* ---- sums ---- */

/* Sums of P neighbouring results of 64 channels, from pixel w on: RUNS rows of
 * STEPS fours.  P is a constant; callers pass the others as constants if
 * possible. */
INLINE void add_up(int P, int RUNS, int STEPS, const struct rows *x, int64_t w,
                   uint64_t some, const int8_t *at, ivec sum[2][FOUR])
{
    UNROLL_FEW for (int r = 0; r < RUNS; r++) {
        const elem *from = x->at[r] + w * x->pixel[r];
        UNROLL_FEW for (int s = 0; s < STEPS; s++) {
            __m512i v[FOUR];
            load_fours(from + s * FOUR * x->pixel[r], x->pixel[r], some, v);
            UNROLL for (int p = 0; p < P; p++)
                UNROLL for (int i = 0; i < FOUR; i++, at += 64)
                    sum[p][i] = (ivec)_mm512_dpbusd_epi32(
                        (__m512i)sum[p][i], v[i], _mm512_loadu_si512(at));
        }
    }
}

/* ---- epilogue ---- */

/* A block of channels of the result, in the order of the sums. */
struct block {
    fvec    factor[FOUR], bias[FOUR];
    ivec    start[FOUR];
    int64_t from, left;
    int     fast;
};

static struct block block_from(const struct ctt_int8_job *j,
                               const struct ending *e, int64_t from)
{
    struct block b = { .from = from, .fast = e->quick && e->bytes && !e->plus.x,
                       .left = j->outs - from < BLOCK ? j->outs - from
                                                      : BLOCK };

    for (int i = 0; i < FOUR; i++) {
        b.factor[i] = load(e->factor + from + i * LANES);
        b.bias[i] = e->bias ? load(e->bias + from + i * LANES) : -(fvec){ 0 };
        memcpy(&b.start[i], j->start + from + i * LANES, sizeof(ivec));
    }
    turn_floats(b.factor);
    turn_floats(b.bias);
    turn(b.start);
    return b;
}

/* Writes a block; packing saturates, and restores the usual order of
 * channels. */
INLINE void put_block(struct ending e, const struct block *b, int64_t row,
                      ivec sum[FOUR])
{
    ivec zero = (ivec)_mm512_set1_epi16((short)e.zero);
    ivec v[FOUR];

    UNROLL for (int i = 0; i < FOUR; i++)
        v[i] = to_whole(e, __builtin_convertvector(sum[i], fvec) *
                                    b->factor[i] + b->bias[i]);
    store_some((uint8_t *)e.y + row * e.ldy + b->from,
               pack_bytes(pack_two(v[0], v[1], zero),
                          pack_two(v[2], v[3], zero)), b->left);
}

static __attribute__((noinline))
void put_slowly(const struct ending *e, const struct block *b, int64_t row,
                const ivec turned_sum[FOUR])
{
    int regs = (int)((b->left + LANES - 1) / LANES);
    ivec sum[FOUR];

    memcpy(sum, turned_sum, sizeof(sum));
    turn(sum);
    put_any(e, row, 1, b->from, b->from, b->left, sum, regs);
}

/* Arguments common to the results of a block and row of the image. */
struct strip {
    const struct ending *end;
    const struct block  *block;
    const int8_t        *w;
    uint64_t             some;
    int64_t              runs, steps, stride;
};

/* Computes n neighbouring results from result `row` on, P at a time; x: the
 * rows of their windows, which begin at pixel w. */
INLINE void run_line(int P, int RUNS, int STEPS, const struct strip *l,
                     const struct rows *x, int64_t w, int64_t row, int64_t n)
{
    const struct block *b = l->block;
    struct ending end = *l->end;

    for (int64_t i = 0; i < n; i += P, w += P * l->stride) {
        ivec sum[2][FOUR];

        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < FOUR; r++)
                sum[p][r] = b->start[r];
        add_up(P, RUNS, STEPS, x, w, l->some, l->w, sum);
        UNROLL for (int p = 0; p < P; p++) {
            ivec copy[FOUR];
            if (i + p >= n)
                break;
            if (b->fast) {
                put_block(end, b, row + i + p, sum[p]);
                continue;
            }
            memcpy(copy, sum[p], sizeof(copy));
            put_slowly(l->end, b, row + i + p, copy);
        }
    }
}

typedef void line_fn(const struct strip *, const struct rows *, int64_t w,
                     int64_t row, int64_t n);

#define LINE(name, P, RUNS, STEPS)                                        \
static void name(const struct strip *l, const struct rows *x, int64_t w,   \
                 int64_t row, int64_t n)                                  \
{                                                                         \
    run_line(P, RUNS, STEPS, l, x, w, row, n);                            \
}
LINE(one_3x3, 1, 3, 1)
LINE(two_3x3, 2, 3, 1)
LINE(one_any, 1, (int)l->runs, (int)l->steps)
LINE(two_any, 2, (int)l->runs, (int)l->steps)

/* By count of neighbouring results, and whether the window is 3x3. */
static line_fn *const lines[3][2] = {
    [1] = { one_any, one_3x3 }, [2] = { two_any, two_3x3 }
};

static line_fn *line_of_results(const struct ctt_int8_job *j,
                                const struct strip *l)
{
    return lines[results_at_once(j->c)][l->runs == 3 && l->steps == 1];
}

/* ---- a chunk ---- */

/* Computes results w to end - 1 of a row of the image; windows partly outside
 * read copies. */
static void run_row(const struct ctt_int8_job *j, const struct image *m,
                    const struct strip *l, const struct rows *x, int64_t row,
                    int64_t w, int64_t end)
{
    int many = results_at_once(j->c);
    line_fn *fn = line_of_results(j, l);
    int64_t reach = l->steps * FOUR, first = -m->pad[2];

    while (w < end) {
        int64_t at = w * l->stride + first, n = end - w;
        int64_t last = (m->size[2] - reach - first) / l->stride;
        elem room[ROWS * PIXELS * BLOCK];
        struct rows copy;

        if (at >= 0 && at + reach <= m->size[2]) {
            /* an odd last one is computed alone */
            n = last - w + many < n ? last - w + many : n;
            n = n > many ? n / many * many : n;
            fn(l, x, at, row, n);
        } else {
            n = many < n ? many : n;
            copy_rows(m, x, (int)l->runs, at, reach, l->block->left, room,
                      &copy);
            fn(l, &copy, 0, row, n);
        }
        w += n;
        row += n;
    }
}

/* Computes the results of a block in rows first to end - 1 of the result. */
static void run_block(const struct ctt_int8_job *j, const struct image *m,
                      struct strip *l, int64_t first, int64_t end)
{
    int64_t row = first, n;

    for (; row < end; row += n) {
        int64_t w = row % j->out[2];
        struct rows x;

        n = j->out[2] - w < end - row ? j->out[2] - w : end - row;
        find_rows(j, m, row, l->block->from, &x);
        run_row(j, m, l, &x, j->first_row + row, w, w + n);
    }
}

static struct strip strip_of(const struct ctt_int8_job *j,
                             const struct ending *e, const struct block *b)
{
    int64_t runs = j->c->w[0].t.d * j->c->w[0].t.h;

    return (struct strip){ e, b, j->w + b->from * runs * j->steps * FOUR,
                           ~(uint64_t)0 >> (BLOCK - b->left), runs,
                           j->steps / results_at_once(j->c),
                           j->c->node->attr.conv.stride[2] };
}

/* Computes all blocks of a chunk. */
static void chunk_task(const struct ctt_int8_job *j, int64_t at, int who)
{
    struct ending e = ending_of(j);
    struct image m = image_of(j);
    int64_t first = at * j->chunk, end = first + j->chunk;

    (void)who;
    end = end < j->rows ? end : j->rows;
    for (int64_t from = 0; from < j->outs; from += BLOCK) {
        struct block b = block_from(j, &e, from);
        struct strip l = strip_of(j, &e, &b);
        run_block(j, &m, &l, first, end);
    }
}

static void filter(const struct ctt_int8_job *j, int64_t block,
                   const struct ctt_int8_band *x, int64_t high, int64_t n,
                   int64_t row)
{
    struct ending e = ending_of(j);
    struct block b = block_from(j, &e, block * BLOCK);
    struct strip l = strip_of(j, &e, &b);
    int stride = j->c->node->attr.conv.stride[1];

    for (int64_t h = high; h < high + n; h++, row += j->out[2]) {
        struct rows of;
        for (int64_t i = 0; i < l.runs; i++) {
            of.at[i] = x->x + (h * stride + i) % x->deep * x->row;
            of.pixel[i] = BLOCK;
        }
        line_of_results(j, &l)(&l, &of, 0, row, j->out[2]);
    }
}

const struct ctt_int8_isa ctt_int8_depthwise_vnni = {
    .name = "depthwise:vnni", .unit = FOUR, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .depthwise = 1, .supported = ctt_has_vnni,
    .lay = lay_line, .task = chunk_task, .plan = vnni_plan, .pack = vnni_pack,
    .can = vnni_supports,
    .filter = filter
};
#else
#include "device/cpu/conv/int8/int8_job.h"

const struct ctt_int8_isa ctt_int8_depthwise_vnni = {
    .supported = ctt_has_vnni
};
#endif
