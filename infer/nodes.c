/* SPDX-License-Identifier: Apache-2.0
 * nodes.c: the time of each node of a session. */
#include "infer/inside.h"
#include "net/op.h"

#include <string.h>

int ctt_nodes_time(struct ctt_run *r, int on, struct ctt_node_sums *s)
{
    size_t count = (size_t)r->g->count;
    int rc = 0;

    if (on && !s->sum)
        s->sum = ctt_calloc(count, sizeof(*s->sum));
    CTT_TRY(s->sum || !on ? 0 : CTT_ENOMEM);
    if (on)
        memset(s->sum, 0, count * sizeof(*s->sum));
    ctt_run_profile(r, on ? s->sum : NULL);
out:
    return rc;
}

void ctt_nodes_get(const struct ctt_run *r, const struct ctt_node_sums *s,
                   int i, struct ctt_infer_node *out)
{
    const struct ctt_node *n = &r->g->node[i];

    *out = (struct ctt_infer_node){ .name = n->name,
        .op = ctt_ops[n->op].name, .kernel = "" };
    if (!s->sum || !s->sum[i][CTT_FWD].calls)
        return;
    out->calls = s->sum[i][CTT_FWD].calls;
    out->ms = 1e3 * s->sum[i][CTT_FWD].seconds;
    out->kernel = ctt_dev_impl(r->dev, r->cache[i][CTT_CACHE_FWD], CTT_FWD);
}
