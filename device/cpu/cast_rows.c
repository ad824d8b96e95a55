/* SPDX-License-Identifier: Apache-2.0
 * cast_rows.c: numbers of one type into another by many threads: long arrays
 * in pieces, tensors row by row. */
#include "device/cpu/cast.h"
#include "device/cpu/cpu.h"
#include "base/half.h"

/* Numbers converted by a thread at a time; piece_len(): numbers of piece i. */
enum { PIECE = 1 << 13 };

static int64_t pieces(int64_t n)
{
    return (n + PIECE - 1) / PIECE;
}

static int64_t piece_len(int64_t n, int64_t i)
{
    return n - i * PIECE < PIECE ? n - i * PIECE : PIECE;
}

const struct ctt_cast *ctt_cast_of(const struct ctt_dev *d)
{
    return ctt_cpu_of(d)->isa->cast;
}

/* Arguments for converting n numbers of one array into another. */
struct array {
    const struct ctt_cast *f;
    enum ctt_dtype         type;    /* of the array that is not float */
    const char            *x;
    char                  *y;
    int64_t                n;
};

static void to_pieces(const void *arg, int64_t from, int64_t to)
{
    const struct array *a = arg;
    int64_t size = ctt_dtype_size(a->type);

    for (int64_t i = from; i < to; i++)
        a->f->to((const float *)(const void *)a->x + i * PIECE, a->type,
                 a->y + i * PIECE * size, piece_len(a->n, i));
}

void ctt_cast_to(struct ctt_dev *d, const float *x, enum ctt_dtype type,
                 void *y, int64_t n)
{
    struct array a = { ctt_cast_of(d), type, (const char *)x, y, n };

    ctt_dev_rows(d, (double)n / 4, pieces(n), to_pieces, &a);
}

void ctt_cast_sum(struct ctt_dev *d, enum ctt_dtype type, const void *x,
                  void *y, int64_t n)
{
    const struct ctt_cast *f = ctt_cast_of(d);
    int64_t size = ctt_dtype_size(type);

    PARALLEL(d, n / 4)
    for (int64_t i = 0; i < pieces(n); i++)
        f->sum(type, (const char *)x + i * PIECE * size,
               (char *)y + i * PIECE * size, piece_len(n, i));
}

/* Contiguous numbers of a tensor: `count` runs of `len`, `step` apart; rows of
 * a view, or pieces of a dense tensor. */
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
    return t->ld == t->c ? piece_len(ctt_volume(t), i) : r->len;
}

/* Arguments for converting between dense floats and a tensor. */
struct dense {
    const struct ctt_cast   *f;
    const struct ctt_tensor *t;
    const float             *x;
    float                   *y;
};

static double runs_work(struct run r)
{
    return (double)r.count * (double)(r.len / 4 + 4);
}

static void put_runs(const void *arg, int64_t from, int64_t to)
{
    const struct dense *a = arg;
    struct run r = run_of(a->t);

    for (int64_t i = from; i < to; i++)
        put_run(a->f, a->x + i * r.len, a->t, i * r.step,
                run_len(a->t, &r, i));
}

void ctt_cast_put(struct ctt_dev *d, const float *x,
                  const struct ctt_tensor *y)
{
    struct dense a = { ctt_cast_of(d), y, x, NULL };
    struct run r = run_of(y);

    ctt_dev_rows(d, runs_work(r), r.count, put_runs, &a);
}

static void get_runs(const void *arg, int64_t from, int64_t to)
{
    const struct dense *a = arg;
    struct run r = run_of(a->t);

    for (int64_t i = from; i < to; i++)
        get_run(a->f, a->t, i * r.step, a->y + i * r.len,
                run_len(a->t, &r, i));
}

void ctt_cast_get(struct ctt_dev *d, const struct ctt_tensor *x, float *y)
{
    struct dense a = { ctt_cast_of(d), x, NULL, y };
    struct run r = run_of(x);

    ctt_dev_rows(d, runs_work(r), r.count, get_runs, &a);
}
