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

/* Numbers of a tensor that lie side by side, and how often; rows of a view, or
 * pieces of all. */
struct run { int64_t len, count, step; };

static struct run run_of(const struct ctt_tensor *t)
{
    int64_t n = ctt_volume(t);

    if (t->ld == t->c)
        return (struct run){ PIECE, pieces(n), PIECE };
    return (struct run){ t->c, ctt_rows(t), t->ld };
}

static void put_run(const struct ctt_cast *f, const float *x,
                    const struct ctt_tensor *y, int64_t at, int64_t n)
{
    char *to = (char *)y->data + at * ctt_dtype_size(y->dtype);

    if (ctt_is_bytes(y))
        f->to_bytes(x, y->scale, y->zero, (uint8_t *)to, n);
    else
        f->to(x, y->dtype, to, n);
}

static void get_run(const struct ctt_cast *f, const struct ctt_tensor *x,
                    int64_t at, float *y, int64_t n)
{
    const char *from = (const char *)x->data + at * ctt_dtype_size(x->dtype);

    if (ctt_is_bytes(x))
        f->from_bytes((const uint8_t *)from, x->scale, x->zero, y, n);
    else
        f->from(x->dtype, from, y, n);
}

static int64_t run_len(const struct ctt_tensor *t, const struct run *r,
                       int64_t i)
{
    return t->ld == t->c ? piece(ctt_volume(t), i) : r->len;
}

void ctt_cast_put(struct ctt_dev *d, const float *x,
                  const struct ctt_tensor *y)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    struct run r = run_of(y);

    PARALLEL(d, r.count * (r.len / 4 + 4))
    for (int64_t i = 0; i < r.count; i++)
        put_run(f, x + i * r.len, y, i * r.step, run_len(y, &r, i));
}

void ctt_cast_get(struct ctt_dev *d, const struct ctt_tensor *x, float *y)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    struct run r = run_of(x);

    PARALLEL(d, r.count * (r.len / 4 + 4))
    for (int64_t i = 0; i < r.count; i++)
        get_run(f, x, i * r.step, y + i * r.len, run_len(x, &r, i));
}
