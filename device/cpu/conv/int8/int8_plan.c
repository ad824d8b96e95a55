/* SPDX-License-Identifier: Apache-2.0
 * int8_plan.c: convs of quantised values by kernels: choice of kernels, and the
 * shape of a job. */
#include "device/cpu/conv/int8/int8_job.h"

static int is_depthwise(const struct ctt_call *c)
{
    return c->w[0].t.c == 1 && c->in[0].c == c->out.c && c->out.c > 1;
}

int ctt_int8_supports(const struct ctt_int8_isa *isa, const struct ctt_call *c)
{
    return !ctt_is_dilated(c->node) && (is_depthwise(c) || !isa->depthwise) &&
           (!isa->can || isa->can(c));
}

const struct ctt_int8_isa *ctt_int8_best(const struct ctt_call *c)
{
    static const struct ctt_int8_isa *const all[] = {
        &ctt_int8_depthwise_vnni, &ctt_int8_depthwise, &ctt_int8_amx,
        &ctt_int8_vnni, &ctt_int8_avxvnni, &ctt_int8_avx2,
        &ctt_int8_neon_depthwise, &ctt_int8_neondot, &ctt_int8_neon,
    };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->supported() && ctt_int8_supports(all[i], c))
            return all[i];
    return NULL;
}

/* 1 if kernels can read the call's bytes in place. */
static int bytes_in_place(const struct ctt_int8_isa *isa,
                          const struct ctt_call *c)
{
    const int *pad = c->node->attr.conv.pad, *k = c->node->attr.conv.kernel;

    return isa->bytes == 1 && !isa->less && ctt_is_bytes(&c->in[0]) &&
           k[0] * k[1] * k[2] == 1 && pad[0] + pad[1] + pad[2] == 0 &&
           c->w[0].t.c % isa->unit == 0;
}

struct ctt_int8_job ctt_int8_plan(const struct ctt_int8_isa *isa,
                                  const struct ctt_call *c)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out, *w = &c->w[0].t;
    const int *kernel = c->node->attr.conv.kernel;
    struct ctt_int8_job j = {
        .c = c, .in = { x->d, x->h, x->w }, .out = { y->d, y->h, y->w },
        .groups = ctt_call_groups(c), .ins = w->c, .pixel = w->c,
        .run = w->w * w->c,
    };

    j.outs = y->c / j.groups;
    for (int k = 0; k < 3; k++)
        j.size[k] = (j.out[k] - 1) * c->node->attr.conv.stride[k] + kernel[k];
    if (isa->plan)
        isa->plan(&j);
    else if (bytes_in_place(isa, c)) {
        memcpy(j.size, j.in, sizeof(j.size));
        j.x = x->data;
        j.pixel = x->ld;
        j.plane = w->c;
    }
    j.blocks = (j.outs + isa->block - 1) / isa->block;
    j.together = isa->depthwise ? j.blocks : 1;
    j.steps = (j.run + isa->unit - 1) / isa->unit;
    return j;
}

int64_t ctt_int8_block_width(const struct ctt_int8_isa *isa,
                             const struct ctt_int8_job *j, int64_t o)
{
    int64_t first = o / isa->block * isa->block;
    int64_t left = ctt_align(j->outs - first, isa->lanes);

    return left < isa->block ? left : isa->block;
}

int64_t ctt_int8_weight_index(const struct ctt_int8_isa *isa,
                              const struct ctt_int8_job *j, int64_t group,
                              int64_t o)
{
    int64_t runs = j->c->w[0].t.d * j->c->w[0].t.h;
    int64_t block = group * j->blocks + o / isa->block;

    return (block * runs * j->steps * isa->block + o % isa->block) * isa->unit;
}

int64_t ctt_int8_packed(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_job *j)
{
    const struct ctt_tensor *w = &j->c->w[0].t;

    return j->groups * j->blocks * w->d * w->h * j->steps * isa->block *
           isa->unit;
}

int64_t ctt_int8_channels(const struct ctt_int8_isa *isa,
                          const struct ctt_int8_job *j)
{
    return j->groups * j->blocks * isa->block;
}
