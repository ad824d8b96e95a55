/* SPDX-License-Identifier: Apache-2.0
 * sparse_run.c: a sparse conv by kernels: parts of the samples, threads. */
#include "device/cpu/conv/sparse/sparse.h"

struct part {
    const struct ctt_sparse_isa *isa;
    const struct ctt_sparse_job *j;
};

static void convert_rows(const void *arg, int64_t from, int64_t to)
{
    const struct part *p = arg;

    for (int64_t row = from; row < to; row++)
        p->isa->convert(p->j, row);
}

static void lay_range(const void *arg, int64_t from, int64_t to)
{
    const struct part *p = arg;

    p->isa->lay(p->j, from, to);
}

static void tile_task(void *arg, int64_t task, int who)
{
    const struct part *p = arg;

    (void)who;
    p->isa->task(p->j, task);
}

/* ---- memory ---- */

/* Count of a group's phases. */
static int64_t phases_of(const struct ctt_sparse_shape *s)
{
    return s->phases[0] * s->phases[1] * s->phases[2];
}

/* 1 if the call's values are elements and are read in place. */
static int is_read_there(const struct ctt_sparse_isa *isa,
                         const struct ctt_call *c)
{
    return isa->bytes == (ctt_is_bytes(&c->in[0]) ? 1 : (int)sizeof(float));
}

/* Units of the values of a part, in whole cache lines. */
static int64_t value_units(const struct ctt_sparse_job *j)
{
    return ctt_align(j->s.groups * phases_of(&j->s) * j->s.plane, 16);
}

/* A cache line before the room: a unit of three bytes is read with the byte
 * before it, which another thread may be writing. */
enum { LINE = 16 };

static int64_t blank_of(const struct ctt_sparse_job *j)
{
    return LINE + ctt_align(j->s.groups, LINE);
}

/* Units of the room: its last pixel is read to the end of its last unit. */
static int64_t room_units(const struct ctt_sparse_isa *isa,
                          const struct ctt_sparse_job *j)
{
    const struct ctt_tensor *x = &j->j.c->in[0];
    int64_t bytes = j->s.samples * x->d * x->h * x->w * x->c * isa->bytes;

    bytes += (isa->unit - 1) * isa->bytes;
    return is_read_there(isa, j->j.c) ? 0 : ctt_align(bytes / 4 + 1, 16);
}

int64_t ctt_sparse_memory(const struct ctt_sparse_isa *isa,
                          const struct ctt_sparse_job *j)
{
    return value_units(j) + blank_of(j) + room_units(isa, j);
}

void ctt_sparse_place(const struct ctt_sparse_isa *isa,
                      struct ctt_sparse_job *j, int32_t *at)
{
    j->j.x = at;
    j->blank = at + value_units(j) + LINE;
    j->room = at + value_units(j) + blank_of(j);
    isa->blank(j);
}

/* ---- a part of the samples ---- */

void ctt_sparse_part(const struct ctt_sparse_isa *isa,
                     struct ctt_sparse_job *j, int64_t first, int64_t n)
{
    int64_t sample = j->s.pitch[0] * j->s.pitch[1] * j->s.pitch[2], regs;

    j->j.first = first;
    j->samples = n;
    j->j.first_row = first * j->j.out[0] * j->j.out[1] * j->j.out[2];
    j->rows = n * j->j.out[0] * j->j.out[1] * j->j.out[2];
    j->span = j->s.span - (j->s.samples - n) * sample;
    regs = (j->span + isa->lanes - 1) / isa->lanes;
    j->tiles = (regs + CTT_SPARSE_REGS - 1) / CTT_SPARSE_REGS;
    j->regs = (regs + j->tiles - 1) / j->tiles;
    j->tiles = (regs + j->regs - 1) / j->regs;
}

void ctt_sparse_convert(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                        struct ctt_sparse_job *j, int threads)
{
    const struct ctt_tensor *x = &j->j.c->in[0];
    struct part p = { isa, j };

    j->from = j->room;
    j->ld = x->c;
    j->there = ctt_align(x->c, isa->unit);    /* whole units can be read */
    if (!is_read_there(isa, j->j.c)) {
        ctt_dev_share(d, threads, j->samples * x->d * x->h, convert_rows, &p);
        return;
    }
    j->from = (const char *)x->data +
              j->j.first * x->d * x->h * x->w * x->ld * isa->bytes;
    j->ld = x->ld;
    j->there = x->c;
}

int64_t ctt_sparse_registers(const struct ctt_sparse_isa *isa,
                             const struct ctt_sparse_job *j)
{
    return phases_of(&j->s) * (j->s.plane / isa->lanes);
}

/* ---- the call ---- */

int ctt_sparse_threads(const struct ctt_dev *d, const struct ctt_sparse_job *j)
{
    const struct ctt_call *c = j->j.c;

    return ctt_dev_team(d, (double)j->w.units * (double)j->s.span *
                           (double)c->in[0].n / (double)j->s.samples / 8);
}

struct ctt_sparse_job ctt_sparse_job(const struct ctt_sparse_isa *isa,
                                     const struct ctt_call *c,
                                     const struct ctt_sparse_shape *s,
                                     const struct ctt_sparse_weights *k)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    struct ctt_sparse_job j = {
        .j = { .c = c, .in = { x->d, x->h, x->w }, .out = { y->d, y->h, y->w },
               .factor = k->factor, .start = k->start,
               .bias = c->w[1].t.data ? k->bias : NULL },
        .s = *s, .w = *k, .blocks = (y->c + isa->lanes - 1) / isa->lanes,
    };

    return j;
}

int ctt_sparse_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                   const struct ctt_call *c, const struct ctt_sparse_shape *s,
                   const struct ctt_sparse_weights *k)
{
    struct ctt_sparse_job j = ctt_sparse_job(isa, c, s, k);
    int64_t units = ctt_sparse_memory(isa, &j), n = c->in[0].n;
    int32_t *room = ctt_dev_scratch(d, (size_t)units * sizeof(*room));
    int threads = ctt_sparse_threads(d, &j);
    struct part p = { isa, &j };

    if (!room)
        return CTT_ENOMEM;
    ctt_sparse_place(isa, &j, room);
    for (int64_t i = 0; i < n; i += s->samples) {
        ctt_sparse_part(isa, &j, i, n - i < s->samples ? n - i : s->samples);
        ctt_sparse_convert(isa, d, &j, threads);
        ctt_dev_share(d, threads, ctt_sparse_registers(isa, &j), lay_range, &p);
        ctt_dev_tasks(d, threads, j.tiles * j.blocks, tile_task, &p);
    }
    return 0;
}
