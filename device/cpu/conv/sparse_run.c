/* SPDX-License-Identifier: Apache-2.0
 * sparse_run.c: a sparse conv by kernels: parts of the samples, threads. */
#include "device/cpu/conv/sparse.h"

struct part {
    const struct ctt_sparse_isa *isa;
    const struct ctt_sparse_job *j;
};

static void convert(const void *arg, int64_t from, int64_t to)
{
    const struct part *p = arg;

    for (int64_t row = from; row < to; row++)
        p->isa->convert(p->j, row);
}

static void lay(const void *arg, int64_t from, int64_t to)
{
    const struct part *p = arg;

    for (int64_t at = from; at < to; at++)
        p->isa->lay(p->j, at);
}

/* Phases of a group. */
static int64_t phases_of(const struct ctt_sparse_shape *s)
{
    return s->phases[0] * s->phases[1] * s->phases[2];
}

/* 1 if the call's values are elements as they are. */
static int is_read_there(const struct ctt_sparse_isa *isa,
                         const struct ctt_call *c)
{
    return isa->bytes == (ctt_is_bytes(&c->in[0]) ? 1 : (int)sizeof(float));
}

/* Where the part's values are, for lay(). */
static void bring(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                  struct ctt_sparse_job *j, int threads)
{
    const struct ctt_tensor *x = &j->j.c->in[0];
    struct part p = { isa, j };

    j->from = j->room;
    j->ld = x->c;
    j->there = ctt_align(x->c, isa->unit);    /* more follows in the room */
    if (!is_read_there(isa, j->j.c)) {
        ctt_dev_share(d, threads, j->samples * x->d * x->h, convert, &p);
        return;
    }
    j->from = (const char *)x->data +
              j->j.first * x->d * x->h * x->w * x->ld * isa->bytes;
    j->ld = x->ld;
    j->there = x->c;
}

static void run_task(void *arg, int64_t task, int who)
{
    const struct part *p = arg;

    (void)who;
    p->isa->task(p->j, task);
}

/* n samples from `first` on, in tiles that are as even as possible. */
static void one_part(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                     const struct ctt_sparse_job *all, int64_t first,
                     int64_t n, int threads)
{
    struct ctt_sparse_job j = *all;
    struct part p = { isa, &j };
    int64_t sample = j.s.pitch[0] * j.s.pitch[1] * j.s.pitch[2], regs;

    j.j.first = first;
    j.samples = n;
    j.j.first_row = first * j.j.out[0] * j.j.out[1] * j.j.out[2];
    j.rows = n * j.j.out[0] * j.j.out[1] * j.j.out[2];
    j.span = j.s.span - (j.s.samples - n) * sample;
    regs = (j.span + isa->lanes - 1) / isa->lanes;
    j.tiles = (regs + CTT_SPARSE_REGS - 1) / CTT_SPARSE_REGS;
    j.regs = (regs + j.tiles - 1) / j.tiles;
    j.tiles = (regs + j.regs - 1) / j.regs;
    bring(isa, d, &j, threads);
    ctt_dev_share(d, threads, phases_of(&j.s) * (j.s.plane / isa->lanes), lay,
                  &p);
    ctt_dev_tasks(d, threads, j.tiles * j.blocks, run_task, &p);
}

int ctt_sparse_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                   const struct ctt_call *c, const struct ctt_sparse_shape *s,
                   const struct ctt_sparse_weights *k)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    struct ctt_sparse_job j = {
        .j = { .c = c, .in = { x->d, x->h, x->w }, .out = { y->d, y->h, y->w },
               .factor = k->factor, .start = k->start,
               .bias = c->w[1].t.data ? k->bias : NULL },
        .s = *s, .w = *k, .blocks = (y->c + isa->lanes - 1) / isa->lanes,
    };
    int64_t units = ctt_align(s->groups * phases_of(s) * s->plane, 16);
    int64_t blank = ctt_align(s->groups, 16), room = 0;
    int threads = ctt_dev_team(d, (double)k->first[y->c] * (double)s->span *
                                  (double)x->n / (double)s->samples / 8);

    /* Behind the last pixel of a room, units are read to their end. */
    if (!is_read_there(isa, c))
        room = s->samples * x->d * x->h * x->w * x->c * isa->bytes + 4;
    j.j.x = ctt_dev_scratch(d, (size_t)(units + blank) * sizeof(int32_t) +
                               (size_t)room);
    if (!j.j.x)
        return CTT_ENOMEM;
    j.blank = (int32_t *)j.j.x + units;
    j.room = (int32_t *)j.blank + blank;
    isa->blank(&j);
    for (int64_t i = 0; i < x->n; i += s->samples)
        one_part(isa, d, &j, i, x->n - i < s->samples ? x->n - i : s->samples,
                 threads);
    return 0;
}
