/* SPDX-License-Identifier: Apache-2.0
 * bf16_run.c: a conv of 16 bits by kernels: packed weights, and where its
 * values lie. */
#include "device/cpu/conv/bf16.h"
#include "net/half.h"

/* Channel o of a group. */
static void pack_channel(const struct ctt_int8_isa *isa,
                         const struct ctt_int8_job *j, int64_t group,
                         int64_t o, const float *w, uint16_t *to)
{
    int64_t runs = j->c->w[0].t.d * j->c->w[0].t.h;
    int64_t unit = isa->unit, block = isa->block;
    int64_t wide = ctt_int8_wide(isa, j, o);

    to += (group * j->blocks + o / block) * runs * j->steps * block * unit +
          o % block * unit;
    for (int64_t r = 0; r < runs; r++)
        for (int64_t i = 0; i < j->run; i++)
            to[(r * j->steps + i / unit) * wide * unit + i % unit] =
                ctt_bf16_of(w[r * j->run + i]);
}

/* Lanes that no channel has keep zeros. */
static int get_room(const struct ctt_int8_isa *isa,
                    const struct ctt_int8_job *j, struct ctt_bf16_weights *k)
{
    int64_t many = ctt_int8_channels(isa, j);
    int64_t n = ctt_align(2 * ctt_int8_packed(isa, j), 64);
    int64_t bytes = n + 2 * ctt_align(4 * many, 64);

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
    k->w = (uint16_t *)k->room;
    k->bias = (float *)(k->room + n);
    k->start = (int32_t *)(k->bias + ctt_align(many, 16));
    return 0;
}

static int get_weights(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                       const struct ctt_int8_job *j,
                       struct ctt_bf16_weights *k)
{
    const struct ctt_tensor *w = &j->c->w[0].t;
    const float *bias = j->c->w[1].t.data;
    int64_t each = ctt_volume(w) / w->n;
    int rc = 0;

    CTT_TRY(get_room(isa, j, k));
    if (k->stamp == j->c->stamp && k->stamp)
        return 0;
    PARALLEL(d, 4 * ctt_volume(w))
    for (int64_t o = 0; o < w->n; o++) {
        int64_t group = o / j->outs, in = o % j->outs;
        pack_channel(isa, j, group, in, (const float *)w->data + o * each,
                     k->w);
        k->bias[group * j->blocks * isa->block + in] = bias ? bias[o] : 0;
    }
    k->stamp = j->c->stamp;
out:
    return rc;
}

/* Kernels read values of 16 bits where they are if a window is one pixel. */
static void plan_in_place(const struct ctt_int8_isa *isa,
                          struct ctt_int8_job *j)
{
    const struct ctt_tensor *x = &j->c->in[0];
    const int *pad = j->c->node->attr.conv.pad;
    const int *k = j->c->node->attr.conv.kernel;

    if (x->dtype != CTT_BF16 || k[0] * k[1] * k[2] > 1 ||
        pad[0] + pad[1] + pad[2] > 0 || j->ins % isa->unit)
        return;
    memcpy(j->size, j->in, sizeof(j->size));
    j->x = x->data;
    j->pixel = x->ld;
    j->plane = j->ins;
}

int ctt_bf16_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                 const struct ctt_call *c, struct ctt_bf16_weights *k)
{
    struct ctt_int8_job j = ctt_int8_plan(isa, c);
    int rc = 0;

    plan_in_place(isa, &j);
    CTT_TRY(get_weights(isa, d, &j, k));
    j.w = (const int8_t *)k->w;
    j.bias = c->w[1].t.data ? k->bias : NULL;
    j.start = k->start;
    CTT_TRY(ctt_int8_parts(isa, d, &j));
out:
    return rc;
}
