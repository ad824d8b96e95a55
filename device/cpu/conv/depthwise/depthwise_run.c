/* SPDX-License-Identifier: Apache-2.0
 * depthwise_run.c: depthwise convs of floats with their neighbours: packed
 * weights, division into tasks, and a task. */
#include "device/cpu/conv/depthwise/depthwise.h"

#include <math.h>

/* ROOM: bytes of the rings of a task, so that they stay in the second-level
 * cache; SMALL: bytes of an image between the depthwise conv and the one behind
 * it that stay there, too; CHUNK: most pixels of a task of that one. */
enum { ROOM = 256 << 10, SMALL = 1 << 20, CHUNK = 96 };

/* A call: wide and narrow are the 1x1 convs, c NULL if there is none.  pad,
 * stride, in and out: rows and columns of the depthwise conv.  A ring has
 * `deep` rows of `row` floats.  middle: the whole result of the depthwise conv,
 * or its tensor, with ld floats a pixel; NULL: a task computes the narrow conv
 * too. */
struct job {
    const struct ctt_dw_isa *isa;
    const struct ctt_call   *c;
    struct ctt_dw_sum        wide, narrow;
    const float             *w, *bias;
    struct ctt_dw_ending     end;
    int64_t in[2], out[2], kernel[2], stride[2], pad[2];
    int64_t images, channels, block, blocks;    /* block: of channels */
    int64_t row, deep, group, bands;
    float  *middle, *room;
    int64_t ld, each;                           /* each: floats of a thread */
    int64_t chunk;
};

const struct ctt_dw_isa *ctt_dw_best(void)
{
    return ctt_dw_avx512.supported() ? &ctt_dw_avx512 :
           ctt_dw_avx2.supported() ? &ctt_dw_avx2 : NULL;
}

/* ---- shapes ---- */

static struct ctt_dw_ending bounds_of_act(const struct ctt_call *c)
{
    int relu = c->act == CTT_ACT_RELU + 1 || c->act == CTT_ACT_RELU6 + 1;

    return (struct ctt_dw_ending){ relu ? 0 : -INFINITY,
        c->act == CTT_ACT_RELU6 + 1 ? 6 : INFINITY, relu ? 0 : c->act };
}

/* Channels of the thread that has most, in registers. */
static int64_t share_of(int64_t all, int64_t regs, int threads)
{
    return ((all + regs - 1) / regs + threads - 1) / threads * regs;
}

/* Divides channels into equal blocks of as many registers as possible, or of
 * one less if shares are then more equal. */
static void equal_blocks(const struct ctt_dw_isa *isa, int64_t channels,
                      int threads, int64_t *regs, int64_t *blocks)
{
    int64_t all = (channels + isa->lanes - 1) / isa->lanes, most = isa->regs;

    if (most > 3 && share_of(all, most - 1, threads) <
                    share_of(all, most, threads))
        most--;
    *blocks = (all + most - 1) / most;
    *regs = (all + *blocks - 1) / *blocks;
    *blocks = (all + *regs - 1) / *regs;
}

static struct ctt_dw_sum sum_of(const struct ctt_dw_isa *isa,
                                const struct ctt_call *c, int threads)
{
    struct ctt_dw_sum s = { .c = c, .ins = c->in[0].c, .outs = c->out.c,
                            .end = bounds_of_act(c) };

    equal_blocks(isa, s.outs, threads, &s.regs, &s.blocks);
    return s;
}

/* The depthwise conv of a call and its chain. */
static const struct ctt_call *middle_of(const struct ctt_call *c)
{
    for (int i = 0; i < c->links; i++)
        if (ctt_call_groups(&c->chain[i]) > 1)
            return &c->chain[i];
    return c;
}

static struct job depthwise_job(const struct ctt_call *c, int threads)
{
    const struct ctt_call *m = middle_of(c);
    const struct ctt_node *n = m->node;
    struct job j = { .isa = ctt_dw_best(), .c = m, .end = bounds_of_act(m),
                     .in = { m->in[0].h, m->in[0].w },
                     .out = { m->out.h, m->out.w }, .channels = m->out.c,
                     .images = m->out.n * m->out.d };
    int64_t regs, wide;

    for (int i = 0; i < 2; i++) {
        j.kernel[i] = n->attr.conv.kernel[i + 1];
        j.stride[i] = n->attr.conv.stride[i + 1];
        j.pad[i] = n->attr.conv.pad[i + 1];
    }
    if (c->links && m != c->chain)
        j.wide = sum_of(j.isa, c->chain, threads);
    if (m != c)
        j.narrow = sum_of(j.isa, c, threads);
    equal_blocks(j.isa, j.channels, threads, &regs, &j.blocks);
    j.block = regs * j.isa->lanes;
    wide = (j.out[1] - 1) * j.stride[1] + j.kernel[1];
    wide = wide > j.pad[1] + j.in[1] ? wide : j.pad[1] + j.in[1];
    j.row = wide * j.block;
    return j;
}

/* ---- weights ---- */

/* Packs a 1x1 conv's weights at `to`; returns what follows them. */
static float *pack_sum(const struct ctt_dw_isa *isa, struct ctt_dw_sum *s,
                       float *to, int again)
{
    const float *w = s->c->w[0].t.data, *bias = s->c->w[1].t.data;
    int64_t lanes = isa->lanes, all = ctt_align(s->outs, lanes);

    s->w = to;
    s->bias = to + all * s->ins;
    for (int64_t o = 0; o < s->outs && again; o++) {
        int64_t first = o / (s->regs * lanes) * s->regs * lanes;
        int64_t step = all - first < s->regs * lanes ? all - first
                                                     : s->regs * lanes;
        float *at = to + first * s->ins + o - first;

        for (int64_t i = 0; i < s->ins; i++)
            at[i * step] = w[o * s->ins + i];
        to[all * s->ins + o] = bias ? bias[o] : 0;
    }
    return to + all * (s->ins + 1);
}

static void pack_middle(struct job *j, float *to, int again)
{
    const float *w = j->c->w[0].t.data, *bias = j->c->w[1].t.data;
    int64_t taps = j->kernel[0] * j->kernel[1], all = j->blocks * j->block;

    j->w = to;
    j->bias = to + all * taps;
    for (int64_t o = 0; o < j->channels && again; o++) {
        float *at = to + o / j->block * taps * j->block + o % j->block;

        for (int64_t i = 0; i < taps; i++)
            at[i * j->block] = w[o * taps + i];
        to[all * taps + o] = bias ? bias[o] : 0;
    }
}

/* Lanes without a channel stay 0. */
static int packed_depthwise(struct job *j, uint64_t stamp,
                            struct ctt_dw_weights *k)
{
    int64_t taps = j->kernel[0] * j->kernel[1];
    int64_t n = j->blocks * j->block * (taps + 1) +
                ctt_align(j->wide.outs, j->isa->lanes) * (j->wide.ins + 1) +
                ctt_align(j->narrow.outs, j->isa->lanes) * (j->narrow.ins + 1);
    int again = !k->room || k->stamp != stamp;
    float *to;

    if (again && (ctt_call_lacks(j->c) ||
                  (j->wide.c && ctt_call_lacks(j->wide.c)) ||
                  (j->narrow.c && ctt_call_lacks(j->narrow.c))))
        return CTT_CONV_LACKS;
    if (!k->room)
        k->room = ctt_calloc_full((size_t)n, sizeof(float));
    if (!k->room)
        return ctt_error(CTT_ENOMEM, "%s: out of memory", j->c->node->name);
    to = (float *)k->room;
    if (j->wide.c)
        to = pack_sum(j->isa, &j->wide, to, again);
    if (j->narrow.c)
        to = pack_sum(j->isa, &j->narrow, to, again);
    pack_middle(j, to, again);
    k->stamp = stamp;
    return 0;
}

/* ---- a task ---- */

/* Memory of the task's thread and rows for the result of a block; image; the
 * first row that is not yet in the ring. */
struct task {
    const struct job *j;
    float            *zero, *ring, *rows;
    int64_t           image, have;
};

static struct task task_of_thread(const struct job *j, int who)
{
    struct task t = { .j = j, .zero = j->room + who * j->each };

    t.ring = t.zero + j->row;
    t.rows = t.ring + j->deep * j->row * (j->middle ? 1 : j->blocks);
    memset(t.zero, 0, (size_t)j->row * sizeof(float));
    return t;
}

static void act_on_rest(const struct job *j, const struct ctt_dw_ending *e,
                   float *y, int64_t n)
{
    if (e->act)
        j->isa->act(e->act, y, n);
}

/* Computes or copies n rows of a block, which lie in the ring one after the
 * other, between their padding. */
static void fill_ring_rows(const struct task *t, float *ring, int64_t block,
                      int64_t row, int64_t n)
{
    const struct job *j = t->j;
    const struct ctt_tensor *x = j->wide.c ? &j->wide.c->in[0] : &j->c->in[0];
    int64_t few = j->channels - block * j->block, line = j->in[1] * j->block;
    const float *from = ctt_row(x, (t->image * j->in[0] + row) * j->in[1]);
    float *to = ring + row % j->deep * j->row, *y = to + j->pad[1] * j->block;

    few = few < j->block ? few : j->block;
    if (j->wide.c)
        j->isa->sum(&j->wide, block, from, x->ld, n * j->in[1], 0, j->wide.ins,
                    (struct ctt_dw_place){ y, j->block, j->in[1],
                                           j->row - line });
    for (; n > 0; n--, to += j->row, y += j->row) {
        memset(to, 0, (size_t)(y - to) * sizeof(float));
        memset(y + line, 0, (size_t)(to + j->row - y - line) * sizeof(float));
        if (j->wide.c)
            act_on_rest(j, &j->wide.end, y, line);
        for (int64_t i = 0; i < j->in[1] && !j->wide.c; i++, from += x->ld)
            memcpy(y + i * j->block, from + block * j->block,
                   (size_t)few * sizeof(float));
    }
}

/* Computes n rows of a block of the depthwise conv, from row h on, at y with ld
 * floats a pixel. */
static void filter_rows(const struct task *t, const float *ring, int64_t block,
                   int64_t h, int64_t n, float *y, int64_t ld)
{
    const struct job *j = t->j;
    int64_t taps = j->kernel[0] * j->kernel[1];
    int64_t left = j->channels - block * j->block;
    struct ctt_dw_line l = {
        .pixel = j->block, .kernel = { j->kernel[0], j->kernel[1] },
        .stride = j->stride[1], .w = j->w + block * j->block * taps,
        .bias = j->bias + block * j->block, .tap = j->block, .n = j->out[1],
        .channels = left < j->block ? left : j->block, .ld = ld, .end = j->end
    };

    for (; n > 0; n--, h++, y += j->out[1] * ld) {
        for (int64_t i = 0; i < j->kernel[0]; i++) {
            int64_t at = h * j->stride[0] - j->pad[0] + i;
            l.row[i] = at < 0 || at >= j->in[0] ? t->zero
                                                : ring + at % j->deep * j->row;
        }
        l.y = y;
        j->isa->line(&l);
        for (int64_t i = 0; i < j->out[1] && j->end.act; i++)
            act_on_rest(j, &j->end, y + i * ld, l.channels);
    }
}

/* Computes what rows h .. h + n - 1 of the result need and is not there. */
static void fill_ring(const struct task *t, float *ring, int64_t block,
                      int64_t h, int64_t n)
{
    const struct job *j = t->j;
    int64_t from = h * j->stride[0] - j->pad[0];
    int64_t to = from + (n - 1) * j->stride[0] + j->kernel[0];

    from = from > t->have ? from : t->have;
    to = to < j->in[0] ? to : j->in[0];
    for (int64_t row = from, many; row < to; row += many) {
        many = j->deep - row % j->deep;
        many = many < to - row ? many : to - row;
        fill_ring_rows(t, ring, block, row, many);
    }
}

/* Adds a block's share, in t->rows, to rows of the narrow conv. */
static void add_share(const struct task *t, int64_t block, int64_t h,
                      int64_t rows)
{
    const struct job *j = t->j;
    const struct ctt_tensor *y = &j->narrow.c->out;
    int64_t from = block * j->block, few = j->channels - from;
    int64_t n = rows * j->out[1];
    float *to = ctt_row(y, (t->image * j->out[0] + h) * j->out[1]);

    few = few < j->block ? few : j->block;
    for (int64_t b = 0; b < j->narrow.blocks; b++) {
        int64_t at = b * j->narrow.regs * j->isa->lanes;
        j->isa->sum(&j->narrow, b, t->rows, j->block, n, from, few,
                    (struct ctt_dw_place){ to + at, y->ld, n, 0 });
    }
    if (from + few == j->channels && j->narrow.end.act)
        for (int64_t i = 0; i < n; i++)
            act_on_rest(j, &j->narrow.end, to + i * y->ld, y->c);
}

/* The rows of band number `band`. */
static int64_t band_from(const struct job *j, int64_t band)
{
    return band * j->out[0] / j->bands;
}

/* A band of all convs. */
static void whole_task(void *arg, int64_t at, int who)
{
    const struct job *j = arg;
    struct task t = task_of_thread(j, who);
    int64_t h = band_from(j, at % j->bands), n;
    int64_t end = band_from(j, at % j->bands + 1);

    t.image = at / j->bands;
    for (; h < end; h += n) {
        n = end - h < j->group ? end - h : j->group;
        for (int64_t b = 0; b < j->blocks; b++) {
            float *ring = t.ring + b * j->deep * j->row;
            fill_ring(&t, ring, b, h, n);
            filter_rows(&t, ring, b, h, n, t.rows, j->block);
            add_share(&t, b, h, n);
        }
        t.have = (h + n - 1) * j->stride[0] - j->pad[0] + j->kernel[0];
    }
}

/* A band of a block, without the narrow conv. */
static void block_task(void *arg, int64_t at, int who)
{
    const struct job *j = arg;
    struct task t = task_of_thread(j, who);
    int64_t b = at % j->blocks, band = at / j->blocks % j->bands;
    int64_t h = band_from(j, band), n, end = band_from(j, band + 1);

    t.image = at / j->blocks / j->bands;
    for (; h < end; h += n) {
        int64_t row = (t.image * j->out[0] + h) * j->out[1];
        n = end - h < j->group ? end - h : j->group;
        fill_ring(&t, t.ring, b, h, n);
        filter_rows(&t, t.ring, b, h, n, j->middle + row * j->ld + b * j->block,
               j->ld);
        t.have = (h + n - 1) * j->stride[0] - j->pad[0] + j->kernel[0];
    }
}

/* A chunk of pixels of a block of the narrow conv. */
static void narrow_task(void *arg, int64_t at, int who)
{
    const struct job *j = arg;
    const struct ctt_tensor *y = &j->narrow.c->out;
    int64_t b = at % j->narrow.blocks, from = at / j->narrow.blocks * j->chunk;
    int64_t n = ctt_rows(y) - from, first = b * j->narrow.regs * j->isa->lanes;
    float *to = ctt_row(y, from) + first;

    (void)who;
    n = n < j->chunk ? n : j->chunk;
    j->isa->sum(&j->narrow, b, j->middle + from * j->ld, j->ld, n, 0,
                j->narrow.ins, (struct ctt_dw_place){ to, y->ld, n, 0 });
    if (j->narrow.end.act) {
        int64_t few = y->c - first, wide = j->narrow.regs * j->isa->lanes;
        few = few < wide ? few : wide;
        for (int64_t i = 0; i < n; i++)
            act_on_rest(j, &j->narrow.end, to + i * y->ld, few);
    }
}

/* ---- all tasks ---- */

/* Rows of a ring for a group of rows of the result. */
static int64_t ring_rows(const struct job *j, int64_t group)
{
    return (group - 1) * j->stride[0] + j->kernel[0];
}

/* The most rows of the result at a time whose rings, and sums, stay in ROOM. */
static int64_t rows_at_once(const struct job *j, int64_t rings)
{
    int64_t group = (j->out[0] + j->bands - 1) / j->bands;

    while (group > 1 && (rings * ring_rows(j, group) * j->row +
                         group * j->out[1] * j->block) * 4 > ROOM)
        group--;
    return group;
}

/* The bands of an image: the least work of the thread that has most, in rows of
 * a block; rows that two bands need are computed twice. */
static int64_t least_bands(const struct job *j, int threads, int64_t blocks)
{
    int64_t twice = j->wide.c ? j->kernel[0] - j->stride[0] : 0, best = 1;
    double least = INFINITY;

    for (int64_t n = 1; n <= j->out[0] && n <= 4 * threads; n++) {
        int64_t tasks = n * blocks * j->images;
        int64_t rows = (j->out[0] + n - 1) / n * j->stride[0] +
                       (n > 1 && twice > 0 ? twice : 0);
        double work = (double)((tasks + threads - 1) / threads) * (double)rows;
        if (work < 0.97 * least) {
            least = work;
            best = n;
        }
    }
    return best;
}

static int run_in_form(struct ctt_dev *d, struct job *j, int threads, int whole)
{
    int64_t blocks = whole ? 1 : j->blocks, rings = whole ? j->blocks : 1;
    int64_t size, pixels = j->images * j->out[0] * j->out[1], parts;
    float *room;

    j->bands = least_bands(j, threads, blocks);
    j->group = rows_at_once(j, rings);
    j->deep = ring_rows(j, j->group);
    j->each = ctt_align(j->row * (1 + rings * j->deep) +
                        (whole ? j->group * j->out[1] * j->block : 0), 16);
    size = !whole && j->narrow.c ? pixels * j->channels : 0;
    room = ctt_dev_scratch(d, (size_t)(j->each * threads + size) *
                              sizeof(float));
    if (!room)
        return CTT_ENOMEM;
    j->room = room + size;
    j->middle = whole ? NULL : size ? room : j->c->out.data;
    j->ld = size ? j->channels : j->c->out.ld;
    ctt_dev_tasks(d, threads, j->images * j->bands * blocks,
                  whole ? whole_task : block_task, j);
    if (!size)
        return 0;
    parts = ctt_align((pixels + CHUNK - 1) / CHUNK, threads);
    j->chunk = (pixels + parts - 1) / parts;
    parts = (pixels + j->chunk - 1) / j->chunk;
    ctt_dev_tasks(d, threads, parts * j->narrow.blocks, narrow_task, j);
    return 0;
}

static double work_of_conv(const struct ctt_call *c)
{
    return (double)ctt_rows(&c->out) * (double)ctt_volume(&c->w[0].t) / 64;
}

int ctt_dw_run(struct ctt_dev *d, const struct ctt_call *c,
               struct ctt_dw_weights *k)
{
    struct job j = depthwise_job(c, ctt_dev_threads(d));
    double work = work_of_conv(c);
    int64_t image = j.out[0] * j.out[1] * j.channels * 4;
    int rc = 0;

    for (int i = 0; i < c->links; i++)
        work += work_of_conv(&c->chain[i]);
    CTT_TRY(packed_depthwise(&j, c->stamp, k));
    CTT_TRY(run_in_form(d, &j, ctt_dev_team(d, work),
                      j.narrow.c && image > SMALL));
out:
    return rc;
}
