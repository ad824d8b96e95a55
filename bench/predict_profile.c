/* SPDX-License-Identifier: Apache-2.0
 * predict_profile.c: the time of each kind of node, printed. */
#include "bench/predict.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* Label of a node, the part after the dot without digits: "h01.zx" gives "zx",
 * "h01.a2" gives "a". */
static void label(const struct ctt_node *n, char *out, size_t size)
{
    const char *dot = strchr(n->name, '.');
    char part[CTT_NAME] = "";

    if (dot && strncmp(n->name, "train", 5) != 0)
        snprintf(part, sizeof(part), "%.*s",
                 (int)strcspn(dot + 1, "0123456789"), dot + 1);
    snprintf(out, size, "%s %s", ctt_ops[n->op].name, part);
}

void bench_profile(const struct ctt_graph *g,
                   struct ctt_profile (*p)[CTT_PASSES])
{
    char name[CTT_NAME], other[CTT_NAME];

    for (int i = 0; i < g->count; i++) {
        double sum[CTT_PASSES] = { 0, 0 };
        long long calls = 0;
        int first = 1;
        label(&g->node[i], name, sizeof(name));
        for (int j = 0; j < g->count; j++) {
            label(&g->node[j], other, sizeof(other));
            if (strcmp(name, other) != 0)
                continue;
            first &= j >= i;
            for (int k = 0; k < CTT_PASSES; k++)
                sum[k] += p[j][k].seconds;
            calls += p[j][CTT_FWD].calls + p[j][CTT_BWD].calls;
        }
        if (first && calls)
            printf("    %-16s %9.2f ms forward %9.2f ms back %7lld calls\n",
                   name, sum[CTT_FWD] * 1e3, sum[CTT_BWD] * 1e3, calls);
    }
}
