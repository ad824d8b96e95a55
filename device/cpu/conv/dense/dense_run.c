/* SPDX-License-Identifier: Apache-2.0
 * dense_run.c: a conv of floats or of 16 bits by kernels: packed weights, and
 * the layout of its values. */
#include "device/cpu/conv/dense/dense.h"
#include "base/half.h"

/* Packs the weights of channel o of a group. */
static void pack_channel(const struct ctt_int8_isa *isa,
                         const struct ctt_int8_job *j, int64_t group,
                         int64_t o, const float *w, void *to)
{
    int64_t runs = j->c->w[0].t.d * j->c->w[0].t.h;
    int64_t unit = isa->unit, wide = ctt_int8_block_width(isa, j, o);
    int64_t from = ctt_int8_weight_index(isa, j, group, o);

    for (int64_t r = 0; r < runs; r++)
        for (int64_t i = 0; i < j->run; i++)
            ctt_store(to, isa->type, from + (r * j->steps + i / unit) * wide *
                      unit + i % unit, w[r * j->run + i]);
}

int ctt_dense_pack_weights(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                           const struct ctt_int8_job *j,
                           struct ctt_int8_weights *k)
{
    const struct ctt_tensor *w = &j->c->w[0].t;
    const float *bias = j->c->w[1].t.data;
    int64_t each = ctt_volume(w) / w->n;
    int rc = 0;

    CTT_TRY(ctt_int8_alloc(isa, j, isa->bytes, k));
    if (k->stamp == j->c->stamp && k->stamp)
        return 0;
    CTT_TRY(ctt_call_lacks(j->c));
    PARALLEL(d, 4 * ctt_volume(w))
    for (int64_t o = 0; o < w->n; o++) {
        int64_t group = o / j->outs, in = o % j->outs;
        int64_t at = group * j->blocks * isa->block + in;
        pack_channel(isa, j, group, in, (const float *)w->data + o * each,
                     k->w);
        k->bias[at] = bias ? bias[o] : 0;
        k->factor[at] = 1;
    }
    k->stamp = j->c->stamp;
out:
    return rc;
}

/* Sets a job whose values are read in place: they are elements, and a window is
 * one pixel. */
static void plan_in_place(const struct ctt_int8_isa *isa,
                          struct ctt_int8_job *j)
{
    const struct ctt_tensor *x = &j->c->in[0];
    const int *pad = j->c->node->attr.conv.pad;
    const int *k = j->c->node->attr.conv.kernel;

    if (x->dtype != isa->type ||
        k[0] * k[1] * k[2] > 1 ||
        pad[0] + pad[1] + pad[2] > 0 || j->ins % isa->unit)
        return;
    memcpy(j->size, j->in, sizeof(j->size));
    j->x = x->data;
    j->pixel = x->ld;
    j->plane = j->ins;
}

struct ctt_int8_job ctt_dense_plan(const struct ctt_int8_isa *isa,
                                   const struct ctt_call *c)
{
    struct ctt_int8_job j = ctt_int8_plan(isa, c);

    plan_in_place(isa, &j);
    return j;
}

int ctt_dense_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                  const struct ctt_call *c, int64_t gap,
                  struct ctt_int8_weights *k)
{
    struct ctt_int8_job j = ctt_dense_plan(isa, c);
    int rc = 0;

    CTT_TRY(ctt_dense_pack_weights(isa, d, &j, k));
    j.w = k->w;
    j.gap = gap;
    j.factor = k->factor;
    j.bias = c->w[1].t.data ? k->bias : NULL;
    j.start = k->start;
    CTT_TRY(ctt_int8_parts(isa, d, &j));
out:
    return rc;
}
