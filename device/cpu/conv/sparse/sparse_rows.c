/* SPDX-License-Identifier: Apache-2.0
 * sparse_rows.c: sparse convs of floats by rows: the lists of nonzero rows of
 * weights, and the call. */
#include "device/cpu/conv/sparse/sparse.h"

const struct ctt_int8_isa *ctt_sparse_rows_best(const struct ctt_call *c)
{
    static const struct ctt_int8_isa *const all[] = {
        &ctt_sparse_rows_avx512, &ctt_sparse_rows_avx2,
    };

    for (size_t i = 0; i < CTT_LEN(all) && !ctt_call_is_int8(c); i++)
        if (all[i]->supported())
            return all[i];
    return NULL;
}

/* Reads row k of a block of output channels; returns 1 if it is not all 0. */
static int block_row(const struct ctt_call *c, int64_t block, int64_t k,
                     float w[CTT_SPARSE_ROW])
{
    const struct ctt_tensor *t = &c->w[0].t;
    int64_t each = ctt_volume(t) / t->n, first = block * CTT_SPARSE_ROW;
    const float *from = (const float *)t->data + first * each + k;
    int kept = 0;

    for (int64_t o = 0; o < CTT_SPARSE_ROW; o++) {
        w[o] = first + o < t->n ? from[o * each] : 0;
        kept |= w[o] != 0;
    }
    return kept;
}

int64_t ctt_sparse_rows_count(const struct ctt_call *c)
{
    enum { SOME = 1024 };
    const struct ctt_tensor *t = &c->w[0].t;
    int64_t each = ctt_volume(t) / t->n, n = 0, some;
    int32_t kept[SOME];

    for (int64_t b = 0; b < t->n; b += CTT_SPARSE_ROW)
        for (int64_t k = 0; k < each; k += some) {
            some = each - k < SOME ? each - k : SOME;
            memset(kept, 0, sizeof(kept));
            for (int64_t o = b; o < t->n && o < b + CTT_SPARSE_ROW; o++) {
                const float *x = (const float *)t->data + o * each + k;

                SIMD for (int64_t i = 0; i < some; i++)
                    kept[i] |= x[i] != 0;
            }
#pragma omp simd reduction(+ : n)
            for (int64_t i = 0; i < some; i++)
                n += kept[i];
        }
    return n;
}

/* Appends the nonzero rows of a block to n others; returns the new count. */
static int64_t list_rows(const struct ctt_int8_job *j, int64_t block, int64_t n,
                         struct ctt_sparse_row *to)
{
    const struct ctt_tensor *w = &j->c->w[0].t;
    struct ctt_sparse_row one;

    for (int64_t r = 0; r < w->d * w->h; r++)
        for (int64_t i = 0; i < j->run; i++) {
            int64_t line = r / w->h * j->size[1] + r % w->h;
            one.at = (int32_t)(line * j->size[2] * j->pixel + i);
            if (block_row(j->c, block, r * j->run + i, one.w))
                to[n++] = one;
        }
    return n;
}

int ctt_sparse_rows_pack(const struct ctt_int8_isa *isa,
                         const struct ctt_call *c,
                         struct ctt_sparse_weights *k)
{
    struct ctt_int8_job j = ctt_dense_plan(isa, c);
    const float *bias = c->w[1].t.data;
    int rc = 0;

    CTT_TRY(ctt_sparse_alloc(c, ctt_sparse_rows_count(c), sizeof(*k->row),
                             j.blocks, k));
    for (int64_t b = 0; b < j.blocks; b++)
        k->first[b + 1] = list_rows(&j, b, k->first[b], k->row);
    for (int64_t o = 0; o < c->out.c; o++) {
        k->bias[o] = bias ? bias[o] : 0;
        k->factor[o] = 1;
    }
out:
    return rc;
}

int ctt_sparse_rows_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                        const struct ctt_call *c,
                        const struct ctt_sparse_weights *k)
{
    struct ctt_int8_job j = ctt_dense_plan(isa, c);

    j.w = (const void *)k->row;
    j.lists = k->first;
    j.factor = k->factor;
    j.bias = c->w[1].t.data ? k->bias : NULL;
    return ctt_int8_parts(isa, d, &j);
}
