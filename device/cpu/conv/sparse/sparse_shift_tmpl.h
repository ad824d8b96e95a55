/* SPDX-License-Identifier: Apache-2.0
 * sparse_shift_tmpl.h: sums of sparse convs whose lists are by columns of the
 * window, for AVX-512.  Values are read as for the first column, in registers
 * aligned to 64 bytes, one more than the tile has; their sums are then shifted
 * by the column.  Other loads would nearly all cross a cache line, which takes
 * as long as two loads. */

/* Masks by column of the window: lanes of a tile's registers whose pixel lies
 * in their own row; other lanes get the value of padding. */
struct edges { uint16_t in[CTT_SPARSE_COLUMNS][REGS_MOST]; };

static uint16_t lanes_in(int64_t w, int64_t move, int64_t pitch)
{
    int64_t from = -w - move, to = pitch - w - move;
    uint32_t all = to < LANES ? (1u << (to > 0 ? to : 0)) - 1 : 0xffff;

    return (uint16_t)(from > 0 ? all & (0xffffu << (from < 16 ? from : 16))
                               : all);
}

static void find_edges(const struct ctt_sparse_job *j, int64_t first,
                       int64_t regs, struct edges *e)
{
    int64_t pad = j->j.c->node->attr.conv.pad[2], pitch = j->s.pitch[2];

    for (int64_t c = 0; c < j->s.columns; c++)
        for (int64_t t = 0; t < regs; t++)
            e->in[c][t] = lanes_in((first + t) * LANES % pitch, c - pad,
                                   pitch);
}

/* LANES lanes from lane `by` of two registers on; lanes with a 0 bit in `in`
 * get `edge`. */
INLINE ivec moved(ivec a, ivec b, int by, uint16_t in, ivec edge)
{
    __m512i at = _mm512_add_epi32(
        _mm512_set1_epi32(by),
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                          15));

    return (ivec)_mm512_mask_blend_epi32(
        in, (__m512i)edge,
        _mm512_permutex2var_epi32((__m512i)a, at, (__m512i)b));
}

/* Sums of T registers (a constant) of channel o. */
INLINE void shift(int T, const struct ctt_sparse_job *j, const int32_t *x,
                  int64_t o, const struct edges *e, ivec *to)
{
    const int64_t *first = j->w.first + o * j->s.columns;
    const int32_t *edge = j->w.edge + o * j->s.columns;
    ivec sum[REGS_MOST];

    UNROLL for (int t = 0; t < T; t++)
        sum[t] = (ivec){ 0 };
    for (int c = 0; c < j->s.columns; c++) {
        const struct ctt_sparse_unit *u = j->w.unit + first[c];
        const struct ctt_sparse_unit *end = j->w.unit + first[c + 1];
        ivec part[REGS_MOST + 1], out = (ivec){ 0 } + edge[c];
        if (u == end)
            continue;
        UNROLL for (int t = 0; t <= T; t++)
            part[t] = (ivec){ 0 };
        for (; u < end; u++) {
            ivec w = (ivec){ 0 } + u->w;
            UNROLL for (int t = 0; t <= T; t++)
                part[t] = dot(part[t],
                              *(const ivec_at *)(x + u->at + t * LANES), w);
        }
        UNROLL for (int t = 0; t < T; t++)
            sum[t] = join(sum[t], moved(part[t], part[t + 1], c, e->in[c][t],
                                        out));
    }
    UNROLL for (int t = 0; t < T; t++)
        to[t] = sum[t];
}

#define SHIFT(T)                                                            \
    static void shift_##T(const struct ctt_sparse_job *j, const int32_t *x, \
                          int64_t o, const struct edges *e, ivec *to)       \
    {                                                                       \
        shift(T, j, x, o, e, to);                                           \
    }
SHIFT(1) SHIFT(2) SHIFT(3) SHIFT(4) SHIFT(5) SHIFT(6) SHIFT(7) SHIFT(8)
SHIFT(9) SHIFT(10) SHIFT(11) SHIFT(12)

/* By registers. */
static void (*const shifts[REGS_MOST + 1])(const struct ctt_sparse_job *,
                                           const int32_t *, int64_t,
                                           const struct edges *, ivec *) = {
    NULL, shift_1, shift_2, shift_3, shift_4, shift_5, shift_6, shift_7,
    shift_8, shift_9, shift_10, shift_11, shift_12
};
