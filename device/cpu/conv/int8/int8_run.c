/* SPDX-License-Identifier: Apache-2.0
 * int8_run.c: a conv of quantised values by kernels: packed weights, parts of
 * the samples, threads. */
#include "device/cpu/conv/int8/int8_job.h"

/* ---- weights ---- */

/* Packs the weights of channel o of a group. */
static void pack_channel(const struct ctt_int8_isa *isa,
                         const struct ctt_int8_job *j, int64_t group,
                         int64_t o, const int8_t *q, int8_t *to)
{
    int64_t runs = j->c->w[0].t.d * j->c->w[0].t.h;
    int64_t unit = isa->unit, wide = ctt_int8_block_width(isa, j, o);

    to += ctt_int8_weight_index(isa, j, group, o);
    for (int64_t r = 0; r < runs; r++, q += j->run) {
        int8_t *at = to + r * j->steps * wide * unit;

        for (int64_t i = 0; i < j->run; i += unit, at += wide * unit)
            for (int64_t k = 0; k < unit && i + k < j->run; k++)
                at[k] = q[i + k];
    }
}

/* Initial value of a sum: bytes are values + zero - less, and the sum is
 * corrected by that offset times the weights. */
static int32_t start_of(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_job *j, const int8_t *q,
                        int64_t each)
{
    int32_t sum = 0;

    if (isa->bytes > 1)
        return 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < each; i++)
        sum += q[i];
    return -sum * (j->c->in[0].zero - isa->less);
}

/* Packs units of four of n neighbouring channels from o on, at most a register
 * of lanes: units of one channel lie far apart. */
static void pack_register(const struct ctt_int8_isa *isa,
                          const struct ctt_int8_job *j, int64_t group,
                          int64_t o, int64_t n, const int8_t *q, int8_t *to)
{
    int64_t runs = j->c->w[0].t.d * j->c->w[0].t.h, each = runs * j->run;
    int64_t step = 4 * ctt_int8_block_width(isa, j, o);

    to += ctt_int8_weight_index(isa, j, group, o);
    for (int64_t r = 0; r < runs; r++, q += j->run)
        for (int64_t i = 0; i < j->run; i += 4, to += step)
            for (int64_t l = 0; l < n; l++)
                if (i + 4 <= j->run)
                    memcpy(to + 4 * l, q + l * each + i, 4);
                else
                    memcpy(to + 4 * l, q + l * each + i, (size_t)(j->run - i));
}

/* Channels that are packed together, and how often that is. */
static int64_t packed_lanes(const struct ctt_int8_isa *isa)
{
    return isa->pack || isa->unit != 4 ? 1 : isa->lanes;
}

static int64_t packed_parts(const struct ctt_int8_isa *isa,
                            const struct ctt_int8_job *j)
{
    int64_t lanes = packed_lanes(isa);

    return j->groups * ((j->outs + lanes - 1) / lanes);
}

static void pack_part(const struct ctt_int8_isa *isa,
                      const struct ctt_int8_job *j, int64_t at,
                      const int8_t *q, int8_t *to)
{
    int64_t lanes = packed_lanes(isa);
    int64_t many = (j->outs + lanes - 1) / lanes, group = at / many;
    int64_t o = at % many * lanes, left = j->outs - o;

    q += (group * j->outs + o) * (ctt_volume(&j->c->w[0].t) / j->c->w[0].t.n);
    if (isa->pack)
        isa->pack(j, group, o, q, to);
    else if (lanes == 1)
        pack_channel(isa, j, group, o, q, to);
    else
        pack_register(isa, j, group, o, left < lanes ? left : lanes, q, to);
}

static void quantise_one(const struct ctt_int8_isa *isa,
                         const struct ctt_int8_job *j, int64_t o, int8_t *q,
                         struct ctt_int8_weights *k)
{
    const struct ctt_tensor *w = &j->c->w[0].t;
    const float *bias = j->c->w[1].t.data;
    int64_t each = ctt_volume(w) / w->n, group = o / j->outs, in = o % j->outs;
    int64_t at = group * j->blocks * isa->block + in;
    float step;

    ctt_quant_weights((const float *)w->data + o * each, 1, each, q, &step);
    k->factor[at] = step * k->scale;
    k->bias[at] = bias ? bias[o] : 0;
    k->start[at] = start_of(isa, j, q, each);
}

int ctt_int8_alloc(const struct ctt_int8_isa *isa, const struct ctt_int8_job *j,
                   int64_t size, struct ctt_int8_weights *k)
{
    int64_t n = size * ctt_int8_packed(isa, j);
    int64_t many = ctt_int8_channels(isa, j);
    int64_t bytes = ctt_align(n, 64) + 3 * ctt_align(4 * many, 64);

    if (bytes > k->bytes) {
        ctt_free(k->room);
        k->bytes = 0;
        k->stamp = 0;
        k->room = ctt_calloc_full((size_t)bytes, 1);
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

int ctt_int8_pack_weights(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                          const struct ctt_int8_job *j,
                          struct ctt_int8_weights *k)
{
    const struct ctt_tensor *w = &j->c->w[0].t, *x = &j->c->in[0];
    int64_t each = ctt_volume(w) / w->n, parts = packed_parts(isa, j);
    int8_t *q;
    int rc = 0;

    CTT_TRY(ctt_int8_alloc(isa, j, 1, k));
    if (k->stamp == j->c->stamp && k->stamp && k->scale == x->scale &&
        k->zero == x->zero)
        return 0;
    CTT_TRY(ctt_call_lacks(j->c));
    q = ctt_dev_scratch(d, (size_t)ctt_volume(w));
    CTT_TRY(q ? 0 : CTT_ENOMEM);
    k->scale = x->scale;
    k->zero = x->zero;
    PARALLEL(d, 4 * ctt_volume(w))
    for (int64_t o = 0; o < w->n; o++)
        quantise_one(isa, j, o, q + o * each, k);
    PARALLEL(d, 4 * ctt_volume(w))
    for (int64_t i = 0; i < parts; i++)
        pack_part(isa, j, i, q, k->w);
    k->stamp = j->c->stamp;
out:
    return rc;
}

/* ---- values ---- */

/* BYTES: values laid out at a time, so that they are still in the cache when
 * kernels read them; CHUNK: most rows of the result in a task, TILE: rows of a
 * tile; SLACK: bytes read after the values. */
enum { BYTES = 512 << 10, CHUNK = 96, TILE = 16, SLACK = 64 };

/* Count of multiplied weights, in whole blocks. */
static int64_t packed_weights(const struct ctt_int8_isa *isa,
                              const struct ctt_int8_job *j)
{
    return j->lists ? j->lists[j->blocks] * isa->block
                    : ctt_int8_packed(isa, j);
}

/* Divides the work into tasks; each thread takes a range of them.  By rows:
 * each thread gets the same share of rows in each conv, and reads values that
 * it wrote.  By blocks, if the weights have more bytes than the values and
 * threads get equal shares: each thread reads its part of the weights only. */
static void divide_tasks(const struct ctt_int8_isa *isa, struct ctt_int8_job *j,
                         int threads)
{
    int64_t many = j->groups * j->blocks / j->together;
    int64_t values = j->rows * (j->pixel * isa->bytes + j->c->out.c);
    int64_t parts = (j->rows + CHUNK - 1) / CHUNK;
    int equal = many % threads == 0 && j->outs % isa->block == 0;

    j->by_blocks = packed_weights(isa, j) * isa->bytes > values &&
                   (equal || many >= 4 * threads);
    if (!j->by_blocks)
        parts = ctt_align(parts, threads);
    j->chunk = (j->rows + parts - 1) / parts;
    if (isa->room) {
        j->chunk = ctt_align(j->chunk, TILE);
        j->together = !j->by_blocks ? j->blocks : j->blocks % threads ? 1
                                    : j->blocks / threads;
    }
    j->chunks = (j->rows + j->chunk - 1) / j->chunk;
}

struct part { const struct ctt_int8_isa *isa; const struct ctt_int8_job *j; };

static void lay_lines(const void *arg, int64_t from, int64_t to)
{
    const struct part *p = arg;

    for (int64_t l = from; l < to; l++)
        p->isa->lay(p->j, l);
}

static void part_task(void *arg, int64_t task, int who)
{
    const struct part *p = arg;

    p->isa->task(p->j, task, who);
}

static void run_part(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                     const struct ctt_int8_job *j, int64_t lines, int threads)
{
    struct part p = { isa, j };

    ctt_dev_share(d, threads, lines, lay_lines, &p);
    ctt_dev_tasks(d, threads, j->chunks * (j->groups * j->blocks / j->together),
                  part_task, &p);
}

/* Size of a part: samples, or rows of the result's image of one sample (high);
 * elements of the largest part's values. */
struct parts { int64_t samples, high, elements; };

static struct parts parts_of(const struct ctt_int8_isa *isa,
                             const struct ctt_int8_job *j)
{
    int64_t n = j->c->in[0].n, stride = j->c->node->attr.conv.stride[1];
    int64_t line = j->size[2] * j->pixel * j->groups, h = j->size[1];
    int64_t room = BYTES / isa->bytes, fit = room / (j->size[0] * h * line);
    int64_t more = (h - room / line) / stride;
    struct parts p = { fit < 1 ? 1 : fit > n ? n : fit, j->out[1], 0 };

    if (j->x)
        return (struct parts){ n, j->out[1], 0 };
    if (fit < 1 && j->size[0] == 1) {
        p.high = more < j->out[1] ? j->out[1] - more : 1;
        h -= (j->out[1] - p.high) * stride;
    }
    p.elements = p.samples * j->size[0] * h * line;
    return p;
}

/* Computes the part of the samples from `first` on, or of the image's rows from
 * `from` on. */
static void compute_part(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                         const struct ctt_int8_job *all, struct parts p,
                         int64_t first, int64_t from, int threads)
{
    struct ctt_int8_job j = *all;
    int64_t n = j.c->in[0].n - first, stride = j.c->node->attr.conv.stride[1];
    int64_t high = j.out[1] - from < p.high ? j.out[1] - from : p.high;

    n = n < p.samples ? n : p.samples;
    j.first = first;
    j.top = from * stride;
    j.first_row = (first * j.out[0] * j.out[1] + from) * j.out[2];
    if (high < j.out[1]) {
        j.size[1] -= (j.out[1] - high) * stride;
        j.out[1] = high;
    }
    j.rows = n * j.out[0] * j.out[1] * j.out[2];
    divide_tasks(isa, &j, threads);
    run_part(isa, d, &j, p.elements ? n * j.size[0] * j.size[1] : 0, threads);
}

int ctt_int8_parts(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                   struct ctt_int8_job *j)
{
    const struct ctt_tensor *w = &j->c->w[0].t, *x = &j->c->in[0];
    struct parts p = parts_of(isa, j);
    int64_t kept = j->lists ? packed_weights(isa, j) : ctt_volume(w);
    int threads = ctt_dev_team(d, (double)ctt_rows(&j->c->out) *
                                  (double)kept / 64);
    int64_t bytes = p.elements * isa->bytes, slack = SLACK;
    char *room;

    if (isa->room) {
        slack += TILE * j->c->node->attr.conv.stride[2] * j->pixel * isa->bytes;
        j->each = isa->room(j);
    }
    bytes = bytes ? ctt_align(bytes + slack, 64) : 0;
    bytes += threads * j->each;
    room = bytes ? ctt_dev_scratch(d, (size_t)bytes) : NULL;
    if (bytes && !room)
        return CTT_ENOMEM;
    j->room = room + bytes - threads * j->each;
    if (p.elements) {
        j->x = room;
        memset(room + p.elements * isa->bytes, 0, (size_t)slack);
        j->plane = p.elements / j->groups;
    }
    for (int64_t i = 0; i < x->n; i += p.samples)
        for (int64_t h = 0; h < j->out[1]; h += p.high)
            compute_part(isa, d, j, p, i, h, threads);
    return 0;
}

int ctt_int8_job(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                 const struct ctt_call *c, struct ctt_int8_weights *k,
                 struct ctt_int8_job *out)
{
    struct ctt_int8_job j = ctt_int8_plan(isa, c);
    int rc = 0;

    CTT_TRY(ctt_int8_pack_weights(isa, d, &j, k));
    j.w = k->w;
    j.factor = k->factor;
    j.bias = c->w[1].t.data ? k->bias : NULL;
    j.start = k->start;
    *out = j;
out:
    return rc;
}

int ctt_int8_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                 const struct ctt_call *c, struct ctt_int8_weights *k)
{
    struct ctt_int8_job j;
    int rc = 0;

    CTT_TRY(ctt_int8_job(isa, d, c, k, &j));
    CTT_TRY(ctt_int8_parts(isa, d, &j));
out:
    return rc;
}
