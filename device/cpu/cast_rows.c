/* SPDX-License-Identifier: Apache-2.0
 * cast_rows.c: numbers of one type into another by many threads: long arrays
 * in pieces, tensors row by row. */
#include "device/cpu/cast.h"
#include "device/cpu/cpu.h"
#include "net/half.h"

/* Numbers a thread takes at a time, and how many there are for it. */
enum { PIECE = 1 << 13 };

static int64_t pieces(int64_t n)
{
    return (n + PIECE - 1) / PIECE;
}

static int64_t piece(int64_t n, int64_t i)
{
    return n - i * PIECE < PIECE ? n - i * PIECE : PIECE;
}

const struct ctt_cast *ctt_cast_of(const struct ctt_dev *d)
{
    return ctt_cpu_of(d)->isa->cast;
}

void ctt_cast_to(struct ctt_dev *d, const float *x, enum ctt_dtype type,
                 void *y, int64_t n)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    int64_t size = ctt_dtype_size(type);

    PARALLEL(d, n / 4)
    for (int64_t i = 0; i < pieces(n); i++)
        f->to(x + i * PIECE, type, (char *)y + i * PIECE * size, piece(n, i));
}

void ctt_cast_from(struct ctt_dev *d, enum ctt_dtype type, const void *x,
                   float *y, int64_t n)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    int64_t size = ctt_dtype_size(type);

    PARALLEL(d, n / 4)
    for (int64_t i = 0; i < pieces(n); i++)
        f->from(type, (const char *)x + i * PIECE * size, y + i * PIECE,
                piece(n, i));
}

void ctt_cast_sum(struct ctt_dev *d, enum ctt_dtype type, const void *x,
                  void *y, int64_t n)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    int64_t size = ctt_dtype_size(type);

    PARALLEL(d, n / 4)
    for (int64_t i = 0; i < pieces(n); i++)
        f->sum(type, (const char *)x + i * PIECE * size,
               (char *)y + i * PIECE * size, piece(n, i));
}

void ctt_cast_put(struct ctt_dev *d, const float *x,
                  const struct ctt_tensor *y)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    int64_t rows = ctt_rows(y), step = y->ld * ctt_dtype_size(y->dtype);

    if (y->ld == y->c) {
        ctt_cast_to(d, x, y->dtype, y->data, ctt_volume(y));
        return;
    }
    PARALLEL(d, rows * (y->c / 4 + 4))
    for (int64_t r = 0; r < rows; r++)
        f->to(x + r * y->c, y->dtype, (char *)y->data + r * step, y->c);
}

void ctt_cast_get(struct ctt_dev *d, const struct ctt_tensor *x, float *y)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    int64_t rows = ctt_rows(x), step = x->ld * ctt_dtype_size(x->dtype);

    if (x->ld == x->c) {
        ctt_cast_from(d, x->dtype, x->data, y, ctt_volume(x));
        return;
    }
    PARALLEL(d, rows * (x->c / 4 + 4))
    for (int64_t r = 0; r < rows; r++)
        f->from(x->dtype, (const char *)x->data + r * step, y + r * x->c,
                x->c);
}
