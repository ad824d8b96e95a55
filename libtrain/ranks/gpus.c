/* SPDX-License-Identifier: Apache-2.0
 * gpus.c: each rank takes a GPU of its own, if the machine has as many. */
#include "libtrain/ranks/gpus.h"
#include "comm/comm.h"
#include "libtrain/before.h"

#include <stdio.h>
#include <string.h>

/* ---- the choice ---- */

/* The number of ranks that have taken GPU k of rank r. */
static int users(const struct ctt_gpu_card *card, const int *take, int ranks,
                 int r, int k)
{
    int n = 0;

    for (int s = 0; s < ranks; s++)
        n += take[s] >= 0 && card[s].machine == card[r].machine &&
             strcmp(card[s].gpu[take[s]].id, card[r].gpu[k].id) == 0;
    return n;
}

/* The first GPU with the fewest ranks, among GPUs near to rank r or all. */
static int best(const struct ctt_gpu_card *card, const int *take, int ranks,
                int r, int near, int *least)
{
    int found = -1;

    *least = ranks;
    for (int k = 0; k < card[r].count; k++) {
        int n = users(card, take, ranks, r, k);

        if (n < *least && (!near || (card[r].node >= 0 &&
                                     card[r].gpu[k].node == card[r].node))) {
            *least = n;
            found = k;
        }
    }
    return found;
}

/* Ranks that see so many GPUs: a free one nearby, then any free one, then the
 * one with the fewest ranks. */
static void choose_gpus(const struct ctt_gpu_card *card, int ranks, int count,
                        int *take)
{
    for (int turn = 0; turn < 3; turn++)
        for (int r = 0; r < ranks; r++) {
            int least, k;

            if (card[r].count != count || take[r] >= 0)
                continue;
            k = best(card, take, ranks, r, turn == 0, &least);
            if (least == 0 || turn == 2)
                take[r] = k;
        }
}

void ctt_gpus_divide(const struct ctt_gpu_card *card, int ranks, int *take)
{
    for (int r = 0; r < ranks; r++)
        take[r] = -1;
    for (int count = 1; count <= CTT_GPUS; count++)
        choose_gpus(card, ranks, count, take);
}

/* ---- the report ---- */

/* The first two ranks that have one GPU, or 0. */
static int shared(const struct ctt_gpu_card *card, const int *take, int ranks,
                  int *a, int *b)
{
    for (*a = 0; *a < ranks; ++*a)
        for (*b = *a + 1; *b < ranks; ++*b)
            if (card[*a].machine == card[*b].machine && take[*a] >= 0 &&
                take[*b] >= 0 && strcmp(card[*a].gpu[take[*a]].id,
                                        card[*b].gpu[take[*b]].id) == 0)
                return 1;
    return 0;
}

/* As in "ranks take GPUs 0, 1, 0, 1: ranks 0 and 2 share one". */
static void tell_gpus(const struct ctt_gpu_card *card, const int *take,
                      int ranks, char *line, size_t size)
{
    enum { MOST = 16 };
    size_t n = (size_t)snprintf(line, size, "ranks take GPUs");
    int a, b;

    for (int r = 0; r < ranks && r < MOST; r++)
        n += (size_t)snprintf(line + n, size - n, "%s %d", r ? "," : "",
                              take[r]);
    if (ranks > MOST)
        n += (size_t)snprintf(line + n, size - n, ", ...");
    if (shared(card, take, ranks, &a, &b))
        snprintf(line + n, size - n, ": ranks %d and %d share one", a, b);
}

int ctt_train_gpus(const struct ctt_train_cfg *cfg, char *line, size_t size)
{
    const struct ctt_comm_place *p = ctt_comm_place(cfg->wiring.comm);
    struct ctt_gpu_card mine = { .machine = p->machine }, *all = NULL;
    int *take = NULL, rc = 0;

    *line = 0;
    if (p->ranks == 1)
        goto out;
    mine.node = ctt_comm_node();
    mine.count = ctt_gpus_list(cfg->device, mine.gpu);
    if (mine.count < 0)
        mine.count = 0;    /* opening it says why */
    all = ctt_calloc((size_t)p->ranks, sizeof(*all));
    take = ctt_calloc((size_t)p->ranks, sizeof(*take));
    CTT_TRY(all && take ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_comm_allgather(cfg->wiring.comm, &mine, sizeof(mine), all));
    ctt_gpus_divide(all, p->ranks, take);
    if (take[p->rank] < 0)
        goto out;
    ctt_gpus_take(take[p->rank]);
    tell_gpus(all, take, p->ranks, line, size);
out:
    ctt_free(all);
    ctt_free(take);
    return rc;
}

const char *ctt_train_gpu(char *text, size_t size)
{
    return ctt_gpus_alone(text, size);
}
