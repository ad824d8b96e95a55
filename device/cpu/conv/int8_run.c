/* SPDX-License-Identifier: Apache-2.0
 * int8_run.c: a conv of quantised values by kernels: packed weights, parts of
 * the samples, threads. */
#include "device/cpu/conv/int8_job.h"

/* ---- weights ---- */

/* Weight i of run r of channel o of a group, in memory of one group: the runs
 * of a depthwise conv hold one channel each, its weights are one run. */
static void pack_channel(const struct ctt_int8_isa *isa,
                         const struct ctt_int8_job *j, int64_t group,
                         int64_t o, const int8_t *q, int8_t *to)
{
    int64_t runs = ctt_int8_packed(isa, j) /
                   (j->groups * j->blocks * j->steps * isa->block * isa->unit);
    int64_t unit = isa->unit, block = isa->block;

    to += (group * j->blocks + o / block) * runs * j->steps * block * unit +
          o % block * unit;
    for (int64_t r = 0; r < runs; r++)
        for (int64_t i = 0; i < j->run; i++)
            to[(r * j->steps + i / unit) * block * unit + i % unit] =
                q[r * j->run + i];
}

/* Bytes are the values + zero, which adds this to a sum. */
static int32_t start_of(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_job *j, const int8_t *q,
                        int64_t each)
{
    int32_t sum = 0;

    for (int64_t i = 0; i < each && isa->bytes == 1; i++)
        sum += q[i];
    return -sum * j->c->in[0].zero;
}

static void pack_one(const struct ctt_int8_isa *isa,
                     const struct ctt_int8_job *j, int64_t o, int8_t *q,
                     struct ctt_int8_weights *k)
{
    const struct ctt_tensor *w = &j->c->w[0].t;
    const float *bias = j->c->w[1].t.data;
    int64_t each = ctt_volume(w) / w->n, group = o / j->outs, in = o % j->outs;
    int64_t at = group * j->blocks * isa->block + in;
    float step;

    ctt_quant_weights((const float *)w->data + o * each, 1, each, q, &step);
    pack_channel(isa, j, group, in, q, k->w);
    k->factor[at] = step * k->scale;
    k->bias[at] = bias ? bias[o] : 0;
    k->start[at] = start_of(isa, j, q, each);
}

/* Lanes that no channel has keep zeros. */
static int get_room(const struct ctt_int8_isa *isa,
                    const struct ctt_int8_job *j, struct ctt_int8_weights *k)
{
    int64_t n = ctt_int8_packed(isa, j), many = ctt_int8_channels(isa, j);
    int64_t bytes = ctt_align(n, 64) + 3 * ctt_align(4 * many, 64);

    if (bytes > k->bytes) {
        ctt_free(k->room);
        k->bytes = 0;
        k->stamp = 0;
        k->room = ctt_calloc((size_t)bytes, 1);
        if (!k->room)
            return ctt_error(CTT_ENOMEM, "%s: out of memory",
                             j->c->node->name);
        k->bytes = bytes;
    }
    k->w = (int8_t *)k->room;
    k->factor = (float *)(k->room + ctt_align(n, 64));
    k->bias = k->factor + ctt_align(many, 16);
    k->start = (int32_t *)(k->bias + ctt_align(many, 16));
    return 0;
}

static int get_weights(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                       const struct ctt_int8_job *j,
                       struct ctt_int8_weights *k)
{
    const struct ctt_tensor *w = &j->c->w[0].t, *x = &j->c->in[0];
    int64_t each = ctt_volume(w) / w->n;
    int8_t *q;
    int rc = 0;

    CTT_TRY(get_room(isa, j, k));
    if (k->stamp == j->c->stamp && k->stamp && k->scale == x->scale &&
        k->zero == x->zero)
        return 0;
    q = ctt_dev_scratch(d, (size_t)ctt_volume(w));
    CTT_TRY(q ? 0 : CTT_ENOMEM);
    k->scale = x->scale;
    k->zero = x->zero;
    PARALLEL(d, 4 * ctt_volume(w))
    for (int64_t o = 0; o < w->n; o++)
        pack_one(isa, j, o, q + o * each, k);
    k->stamp = j->c->stamp;
out:
    return rc;
}

/* ---- values ---- */

/* Values that are laid out at a time, if a sample is not larger, so that they
 * are still in the cache when they are read; a task's rows of the result. */
enum { BYTES = 1 << 20, CHUNK = 96, LEAST = 12, SLACK = 64 };

static int64_t laid(const struct ctt_int8_job *j, int64_t samples)
{
    return j->plane ? 0 : samples * j->size[0] * j->size[1] * j->size[2] *
                          j->pixel;
}

/* Chunks are smaller where the threads would not get equal shares. */
static int64_t chunk_of(const struct ctt_int8_job *j, int64_t rows,
                        int threads)
{
    int64_t chunk = CHUNK;

    while (chunk > LEAST && (rows + chunk - 1) / chunk * j->groups * j->blocks <
                            4 * threads)
        chunk /= 2;
    return chunk;
}

/* The blocks of a chunk lie together: its values stay in the cache. */
static void run_part(const struct ctt_int8_isa *isa,
                     const struct ctt_int8_job *j, int threads)
{
    int64_t rows = j->samples * j->out[0] * j->out[1] * j->out[2];
    int64_t lines = j->x == j->c->in[0].data ? 0 :
                    j->samples * j->size[0] * j->size[1];
    int64_t tasks = (rows + j->chunk - 1) / j->chunk * j->groups * j->blocks;

    if (threads == 1) {
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
        #pragma omp for schedule(static)
        for (int64_t t = 0; t < tasks; t++)
            isa->task(j, t);
    }
}

static int run_parts(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                     struct ctt_int8_job *j)
{
    int64_t n = j->c->in[0].n, pixels = j->out[0] * j->out[1] * j->out[2];
    int64_t one = laid(j, 1) * j->groups * isa->bytes;
    int64_t most = one ? BYTES / one : n;
    int threads = ctt_dev_team(d, (double)(n * pixels * j->outs * j->groups) *
                                  (double)ctt_volume(&j->c->w[0].t) /
                                  (double)(j->c->w[0].t.n * 64));

    most = most < 1 ? 1 : most > n ? n : most;
    if (one) {
        j->x = ctt_dev_scratch(d, (size_t)(most * one + SLACK));
        if (!j->x)
            return CTT_ENOMEM;
        j->plane = laid(j, most);
    }
    for (j->first = 0; j->first < n; j->first += most) {
        j->samples = n - j->first < most ? n - j->first : most;
        j->chunk = chunk_of(j, j->samples * pixels, threads);
        run_part(isa, j, threads);
    }
    return 0;
}

int ctt_int8_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                 const struct ctt_call *c, struct ctt_int8_weights *k)
{
    struct ctt_int8_job j = ctt_int8_plan(isa, c);
    int rc = 0;

    CTT_TRY(get_weights(isa, d, &j, k));
    j.w = k->w;
    j.factor = k->factor;
    j.bias = c->w[1].t.data ? k->bias : NULL;
    j.start = k->start;
    CTT_TRY(run_parts(isa, d, &j));
out:
    return rc;
}
