/* SPDX-License-Identifier: Apache-2.0
 * sparse_run.c: a sparse conv by kernels: parts of the samples, threads. */
#include "device/cpu/conv/sparse.h"

static void run_part(const struct ctt_sparse_isa *isa,
                     const struct ctt_sparse_job *j, int64_t lines,
                     int threads)
{
    int64_t tasks = j->tiles * j->blocks;

    if (threads == 1) {    /* a team of one takes longer than a small conv */
        for (int64_t l = 0; l < lines; l++)
            isa->lay(j, l);
        for (int64_t t = 0; t < tasks; t++)
            isa->task(j, t);
        return;
    }
    #pragma omp parallel num_threads(threads)
    {
        #pragma omp for schedule(static)
        for (int64_t l = 0; l < lines; l++)
            isa->lay(j, l);
        #pragma omp for schedule(static) nowait
        for (int64_t t = 0; t < tasks; t++)
            isa->task(j, t);
    }
}

/* n samples from `first` on, in tiles that are as even as possible. */
static void one_part(const struct ctt_sparse_isa *isa,
                     const struct ctt_sparse_job *all, int64_t first,
                     int64_t n, int threads)
{
    struct ctt_sparse_job j = *all;
    int64_t sample = j.s.pitch[0] * j.s.pitch[1] * j.s.pitch[2], regs;

    j.j.first = first;
    j.j.first_row = first * j.j.out[0] * j.j.out[1] * j.j.out[2];
    j.rows = n * j.j.out[0] * j.j.out[1] * j.j.out[2];
    j.span = j.s.span - (j.s.samples - n) * sample;
    regs = (j.span + isa->lanes - 1) / isa->lanes;
    j.tiles = (regs + CTT_SPARSE_REGS - 1) / CTT_SPARSE_REGS;
    j.regs = (regs + j.tiles - 1) / j.tiles;
    j.tiles = (regs + j.regs - 1) / j.regs;
    run_part(isa, &j, n * j.j.size[0] * j.j.size[1] + 1, threads);
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
                                  (double)x->n / (double)s->samples / 32);

    for (int i = 0; i < 3; i++) {
        units *= s->phases[i];
        j.j.size[i] = s->pitch[i] * c->node->attr.conv.stride[i];
    }
    j.j.x = ctt_dev_scratch(d, (size_t)units * sizeof(int32_t));
    if (!j.j.x)
        return CTT_ENOMEM;
    for (int64_t i = 0; i < x->n; i += s->samples)
        one_part(isa, &j, i, x->n - i < s->samples ? x->n - i : s->samples,
                 threads);
    return 0;
}
