/* SPDX-License-Identifier: Apache-2.0
 * nodes.c: which kernel computes each node of a run, and its time. */
#include "tools/bench/bench_tool.h"
#include "net/op.h"

int ctt_nodes_open(struct ctt_run *r, struct ctt_nodes *out)
{
    struct ctt_nodes n = { .run = r };
    int rc = 0;

    n.sum = ctt_calloc((size_t)r->g->count, sizeof(*n.sum));
    CTT_TRY(n.sum ? 0 : CTT_ENOMEM);
    ctt_run_profile(r, n.sum);
    *out = n;
out:
    return rc;
}

void ctt_nodes_stop(struct ctt_nodes *n)
{
    ctt_run_profile(n->run, NULL);
}

void ctt_nodes_close(struct ctt_nodes *n)
{
    if (!n->sum)
        return;
    ctt_nodes_stop(n);
    ctt_free(n->sum);
    n->sum = NULL;
}

static const char *when(const struct ctt_run *r, int node)
{
    const struct ctt_schedule *s = ctt_run_schedule(r);

    if (node >= r->g->clip)
        return "clip";
    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; j < s->first[k + 1]; j++)
            if (s->order[j] == node)
                return s->bound[k] ? "loop" : "free";
    return "";
}

int ctt_nodes_row(const struct ctt_nodes *n, int node,
                  struct ctt_node_time *out)
{
    const struct ctt_run *r = n->run;
    const struct ctt_node *at = &r->g->node[node];

    if (!n->sum[node][CTT_FWD].calls)
        return 0;
    *out = (struct ctt_node_time){ .name = at->name,
        .word = ctt_ops[at->op].name, .when = when(r, node),
        .kernel = ctt_dev_impl(r->dev, r->cache[node][CTT_CACHE_FWD], CTT_FWD),
        .ms = 1e3 * n->sum[node][CTT_FWD].seconds };
    return 1;
}

double ctt_nodes_ms(const struct ctt_nodes *n)
{
    double all = 0;

    for (int i = 0; i < n->run->g->count; i++)
        all += 1e3 * n->sum[i][CTT_FWD].seconds;
    return all;
}
