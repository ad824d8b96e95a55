/* SPDX-License-Identifier: Apache-2.0
 * sparse_run.c: a sparse conv by kernels: parts of the samples, threads. */
#include "device/cpu/conv/sparse.h"

struct part {
    const struct ctt_sparse_isa *isa;
    const struct ctt_sparse_job *j;
};

static void lay_lines(const void *arg, int64_t from, int64_t to)
{
    const struct part *p = arg;

    for (int64_t l = from; l < to; l++)
        p->isa->lay(p->j, l);
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
    j.j.first_row = first * j.j.out[0] * j.j.out[1] * j.j.out[2];
    j.rows = n * j.j.out[0] * j.j.out[1] * j.j.out[2];
    j.span = j.s.span - (j.s.samples - n) * sample;
    regs = (j.span + isa->lanes - 1) / isa->lanes;
    j.tiles = (regs + CTT_SPARSE_REGS - 1) / CTT_SPARSE_REGS;
    j.regs = (regs + j.tiles - 1) / j.tiles;
    j.tiles = (regs + j.regs - 1) / j.regs;
    ctt_dev_share(d, threads, n * j.j.size[0] * j.j.size[1] + 1, lay_lines,
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
    int64_t units = s->groups * s->plane;
    int threads = ctt_dev_team(d, (double)k->first[y->c] * (double)s->span *
                                  (double)x->n / (double)s->samples / 8);

    for (int i = 0; i < 3; i++) {
        units *= s->phases[i];
        j.j.size[i] = s->pitch[i] * c->node->attr.conv.stride[i];
    }
    j.j.x = ctt_dev_scratch(d, (size_t)units * sizeof(int32_t));
    if (!j.j.x)
        return CTT_ENOMEM;
    for (int64_t i = 0; i < x->n; i += s->samples)
        one_part(isa, d, &j, i, x->n - i < s->samples ? x->n - i : s->samples,
                 threads);
    return 0;
}
