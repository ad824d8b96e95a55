/* SPDX-License-Identifier: Apache-2.0
 * packed.c: packed weights, shared by calls. */
#include "device/cuda/packed.h"

static int is_same(const struct ctt_packed *p, const struct ctt_call *c)
{
    const struct ctt_tensor *w = &c->w[0].t;

    return p->w == w->data && c->stamp && p->stamp == c->stamp &&
           p->count == ctt_volume(w) && p->type == w->dtype &&
           p->scale == c->in[0].scale;
}

static void free_packed(struct ctt_packed *p)
{
    for (size_t i = 0; p && i < CTT_LEN(p->block); i++)
        if (p->block[i])
            cudaFree(p->block[i]);
    ctt_free(p);
}

void ctt_packed_drop(struct ctt_packed **mine)
{
    struct ctt_packed *p = *mine, **at;

    *mine = NULL;
    if (!p || --p->users > 0)
        return;
    for (at = p->list; *at != p;)
        at = &(*at)->next;
    *at = p->next;
    free_packed(p);
}

static int make_packed(const struct ctt_conv_ask *q, struct ctt_packed **list,
                       size_t size, ctt_pack *pack, struct ctt_packed **out)
{
    const struct ctt_call *c = q->call;
    struct ctt_packed *p = ctt_calloc(1, size);
    int rc = 0;

    CTT_CHECK(p, CTT_ENOMEM, "%s: out of memory", c->node->name);
    p->list = list;
    p->w = c->w[0].t.data;
    p->stamp = c->stamp;
    p->count = ctt_volume(&c->w[0].t);
    p->type = c->w[0].t.dtype;
    p->scale = c->in[0].scale;
    CTT_TRY(pack(q, p));
    p->next = *list;
    *list = *out = p;
    p = NULL;
out:
    free_packed(p);
    return rc;
}

int ctt_packed_find(const struct ctt_conv_ask *q, struct ctt_packed **list,
                    size_t size, ctt_pack *pack, struct ctt_packed **mine)
{
    struct ctt_packed *p = *list;
    int rc = 1;

    if (*mine && is_same(*mine, q->call))
        goto out;
    ctt_packed_drop(mine);
    for (p = *list; p && !is_same(p, q->call);)
        p = p->next;
    if (!p && ctt_cuda_of(q->dev)->recording)
        return 0;
    if (!p)
        CTT_TRY(make_packed(q, list, size, pack, &p));
    p->users++;
    *mine = p;
    rc = 1;
out:
    return rc;
}
