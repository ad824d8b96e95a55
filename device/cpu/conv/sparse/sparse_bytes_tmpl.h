/* SPDX-License-Identifier: Apache-2.0
 * sparse_bytes_tmpl.h: epilogue of sparse convs with bytes as results, for
 * AVX-512: a register of sums holds 16 pixels of a channel, and four of them
 * become bytes before the transposition, which is then a quarter of the work.
 * The operations on a sum are those of put_quick() and to_whole() of
 * int8_epilogue_tmpl.h. */

/* Bytes of 16 pixels and 16 channels: pixel i at [i % 4][i / 4]. */
struct ends { __m512i of[4]; };

/* Epilogue of four channels from o on, whose sums are `apart` registers from
 * each other: a unit of four bytes for each pixel.  (A missing bias is 0 in the
 * lists.) */
INLINE __m512i ends_of_four(const struct ending *e,
                            const struct ctt_sparse_weights *k, int64_t o,
                            const ivec *sum, int64_t apart)
{
    ivec z = (ivec)_mm512_set1_epi16((short)e->zero), w[4];
    __m512i turned = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));

    UNROLL for (int i = 0; i < 4; i++) {
        fvec v = SUMS(sum[i * apart] + k->start[o + i]) * k->factor[o + i];
        v = (v + k->bias[o + i]) * e->inv;
        w[i] = WHOLE(lanes_min((fvec){ 0 } + e->most, v));
    }
    return _mm512_shuffle_epi8((__m512i)pack_bytes(pack_two(w[0], w[1], z),
                                                   pack_two(w[2], w[3], z)),
                               turned);
}

INLINE void ends_of(const struct ending *e, const struct ctt_sparse_weights *k,
                    int64_t from, const ivec *sum, int64_t apart,
                    struct ends *to)
{
    __m512i u[4], low[2], high[2];

    UNROLL for (int q = 0; q < 4; q++)
        u[q] = ends_of_four(e, k, from + 4 * q, sum + 4 * q * apart, apart);
    UNROLL for (int i = 0; i < 2; i++) {
        low[i] = _mm512_unpacklo_epi32(u[2 * i], u[2 * i + 1]);
        high[i] = _mm512_unpackhi_epi32(u[2 * i], u[2 * i + 1]);
    }
    to->of[0] = _mm512_unpacklo_epi64(low[0], low[1]);
    to->of[1] = _mm512_unpackhi_epi64(low[0], low[1]);
    to->of[2] = _mm512_unpacklo_epi64(high[0], high[1]);
    to->of[3] = _mm512_unpackhi_epi64(high[0], high[1]);
}

/* Writes pixels i .. i + n - 1 to the result's rows from `row` on. */
static void put_ends(const struct ending *e, int64_t row, int64_t n,
                     int64_t from, int64_t channels, const struct ends *all,
                     int64_t i)
{
    const __m128i *b = (const __m128i *)(const void *)all;
    char *y = e->y + row * e->ldy + from;
    __mmask16 some = (__mmask16)((1 << (channels < 16 ? channels : 16)) - 1);

    for (int64_t end = i + n; i < end; i++, y += e->ldy)
        if (channels >= 16)
            _mm_storeu_si128((__m128i *)(void *)y, b[i % 4 * 4 + i / 4]);
        else
            _mm_mask_storeu_epi8(y, some, b[i % 4 * 4 + i / 4]);
}

static int has_ends(const struct ending *e)
{
    return e->quick && e->bytes && !e->plus.x && !(e->relu && e->zero);
}
