/* SPDX-License-Identifier: Apache-2.0
 * chain_plan.c: chains of convs: kernels, shapes and bands. */
#include "device/cpu/conv/chain/chain.h"

/* ---- kernels ---- */

/* Kernels read two numbers at a time: a number after a window of odd length
 * would be multiplied by 0, which gives NaN if it is infinite. */
static int is_thin(const struct ctt_call *c)
{
    return c->out.c <= 8 && c->w[0].t.w * c->w[0].t.c % 2 == 0;
}

const struct ctt_int8_isa *ctt_chain_isa(const struct ctt_call *c)
{
    static const struct ctt_int8_isa *const bytes[] = {
        &ctt_int8_vnni, &ctt_int8_avxvnni
    };
    static const struct ctt_int8_isa *const floats[] = {
        &ctt_dense_avx512, &ctt_dense_avx2
    };
    const struct ctt_int8_isa *const *all =
        ctt_call_is_int8(c) ? bytes : floats;

    if (!ctt_call_is_int8(c) && is_thin(c) && ctt_thin_avx512.supported())
        return &ctt_thin_avx512;
    for (int i = 0; i < 2; i++)
        if (all[i]->supported())
            return all[i];
    return NULL;
}

/* ---- shapes ---- */

int ctt_chain_follows(const struct ctt_call *c, const struct ctt_call *next)
{
    const struct ctt_tensor *y = &c->out, *x = &next->in[0];

    return y->data == x->data && y->dtype == x->dtype && y->n == x->n &&
           y->d == x->d && y->h == x->h && y->w == x->w && y->c == x->c &&
           y->ld == y->c &&
           x->dtype == (ctt_call_is_int8(next) ? CTT_U8 : CTT_F32);
}

/* 1 if kernels can read the first values where they are. */
static int first_in_place(const struct ctt_int8_isa *isa,
                          const struct ctt_call *c)
{
    const int *k = c->node->attr.conv.kernel, *pad = c->node->attr.conv.pad;

    return k[0] * k[1] * k[2] == 1 && pad[0] + pad[1] + pad[2] == 0 &&
           c->w[0].t.c % isa->unit == 0 &&
           c->in[0].dtype == (isa->bytes == 1 ? CTT_U8 : CTT_F32);
}

/* Intermediate values are written completely, though the next conv may not read
 * the last pixels. */
static void plan_between(struct ctt_int8_job *j)
{
    const int *pad = j->c->node->attr.conv.pad;

    for (int i = 0; i < 3; i++)
        if (j->size[i] < pad[i] + j->in[i])
            j->size[i] = pad[i] + j->in[i];
    j->pixel = j->ins;
    j->x = NULL;
}

static void plan_conv(const struct ctt_call *c, int first,
                      struct ctt_chain_conv *v)
{
    const struct ctt_tensor *x = &c->in[0];

    v->isa = ctt_chain_isa(c);
    v->job = ctt_int8_plan(v->isa, c);
    if (!first) {
        plan_between(&v->job);
    } else if (first_in_place(v->isa, c)) {
        memcpy(v->job.size, v->job.in, sizeof(v->job.size));
        v->job.x = x->data;
        v->job.pixel = x->ld;
    }
}

int64_t ctt_chain_bytes(const struct ctt_chain *p, int k, int64_t high)
{
    const struct ctt_int8_job *j = &p->conv[k].job;
    enum { SLACK = 64 };    /* kernels read on to the end of a unit */

    if (j->x)
        return 0;
    return ctt_align(j->size[0] * high * j->size[2] * j->pixel *
                     p->conv[k].isa->bytes, 64) + SLACK;
}

/* ---- bands ---- */

void ctt_chain_bands(const struct ctt_chain *p, int64_t from, int64_t to,
                     struct ctt_chain_band *band)
{
    for (int k = p->convs - 1; k >= 0; k--) {
        const struct ctt_int8_job *j = &p->conv[k].job;
        const struct ctt_node *n = j->c->node;
        int64_t stride = n->attr.conv.stride[1];
        int64_t top = from * stride - n->attr.conv.pad[1];
        int64_t high = (to - from - 1) * stride + n->attr.conv.kernel[1];

        if (to <= from)
            high = 0;
        band[k] = (struct ctt_chain_band){ from, to, top, high };
        from = top < 0 ? 0 : top > j->in[1] ? j->in[1] : top;
        to = top + high > j->in[1] ? j->in[1] : top + high;
        to = to < from ? from : to;
    }
}

/* Estimated time of a band of `rows` rows in the middle, in the units of
 * ctt_dev_team(). */
static double cost(const struct ctt_chain *p, int64_t rows)
{
    struct ctt_chain_band band[CTT_CHAIN_CONVS];
    int64_t high = p->conv[p->convs - 1].job.out[1];
    int64_t from = (high - rows) / 2;
    double work = 0;

    ctt_chain_bands(p, from, from + rows, band);
    for (int k = 0; k < p->convs; k++) {
        const struct ctt_int8_job *j = &p->conv[k].job;
        int64_t n = j->out[0] * (band[k].to - band[k].from) * j->out[2];
        work += (double)(n * ctt_volume(&j->c->w[0].t)) / 64;
    }
    return work;
}

/* Most bytes of a band of `rows` rows: with strides, bands at the edges need
 * more or fewer rows of values than others. */
static int64_t most_bytes(const struct ctt_chain *p, int64_t rows)
{
    struct ctt_chain_band band[CTT_CHAIN_CONVS];
    int64_t high = p->conv[p->convs - 1].job.out[1], most = 0;

    for (int64_t from = 0; from < high; from += rows) {
        int64_t to = from + rows < high ? from + rows : high, bytes = 0;
        ctt_chain_bands(p, from, to, band);
        for (int k = 0; k < p->convs; k++)
            bytes += ctt_chain_bytes(p, k, band[k].high);
        most = bytes > most ? bytes : most;
    }
    return most;
}

enum { LEAST = 4 };    /* least rows of a band */

/* The image in one band, unless its values would not stay in the cache, or
 * there are fewer samples than threads and two threads are faster though they
 * compute some rows twice. */
static void choose_bands(const struct ctt_dev *d, struct ctt_chain *p)
{
    int64_t high = p->conv[p->convs - 1].job.out[1];
    int64_t n = p->conv[0].job.c->in[0].n;
    double all = cost(p, high);

    p->whole = most_bytes(p, high);
    p->threads = ctt_dev_team(d, all * (double)n);
    p->bands = n < p->threads ? p->threads : 1;
    p->bands = p->bands < high ? p->bands : high;
    p->rows = (high + p->bands - 1) / p->bands;
    if (p->bands > 1 && cost(p, p->rows) > 0.8 * all)
        p->threads = 1, p->bands = 1, p->rows = high;
    while ((p->bytes = most_bytes(p, p->rows)) > CTT_CHAIN_BYTES &&
           p->rows > LEAST)
        p->rows = (p->rows + 1) / 2;
    p->bands = (high + p->rows - 1) / p->rows;
}

void ctt_chain_plan(const struct ctt_dev *d, const struct ctt_call *c,
                    struct ctt_chain *p)
{
    p->convs = c->links + 1;
    for (int k = 0; k < c->links; k++)
        plan_conv(&c->chain[k], k == 0, &p->conv[k]);
    plan_conv(c, 0, &p->conv[c->links]);
    choose_bands(d, p);
}
