/* SPDX-License-Identifier: Apache-2.0
 * svd_ranks.c: the ranks of all weights of a model under one budget. */
#include "compress/stage/svd.h"

#include <math.h>

static double kept_energy(const struct ctt_svd_layer *l, int rank)
{
    double sum = 0;

    for (int k = 0; k < rank; k++)
        sum += l->energy[k];
    return rank > 0 ? sum : l->all;
}

static int64_t macs(const struct ctt_svd_layer *l, int rank)
{
    return rank > 0 ? rank * l->unit : l->whole;
}

/* Price of a multiplication saved by this lower rank. */
static double price(const struct ctt_svd_layer *l, int rank)
{
    double before = kept_energy(l, l->rank), after = kept_energy(l, rank);
    double loss = before > 0 ? log(before) - log(after) : 0;

    return loss / (double)(macs(l, l->rank) - macs(l, rank));
}

/* The highest rank of a whole weight may save next to nothing, so the first
 * step goes to the rank with the least price. */
static int first_rank(const struct ctt_svd_layer *l)
{
    int best = l->most;

    for (int r = best - 1; r > 0; r--)
        if (price(l, r) < price(l, best))
            best = r;
    return best;
}

/* The rank to lower to next; 0: there is none.  After the first step the next
 * one always has the least price. */
static int lower(const struct ctt_svd_layer *l)
{
    return l->rank > 0 ? l->rank - 1 : l->first;
}

static struct ctt_svd_layer *cheapest(struct ctt_svd_layer *l, int layers)
{
    struct ctt_svd_layer *best = NULL;
    double least = INFINITY;

    for (int k = 0; k < layers; k++) {
        int to = lower(&l[k]);
        double p = to > 0 ? price(&l[k], to) : INFINITY;
        if (to > 0 && (!best || p < least)) {
            best = &l[k];
            least = p;
        }
    }
    return best;
}

/* The next higher rank, or 0: the whole weight. */
static int higher(const struct ctt_svd_layer *l)
{
    return l->rank < l->most ? l->rank + 1 : 0;
}

/* The last step may have saved too much: raises ranks where that fits into
 * `room` multiplications, the one that gains most for each first.  Returns how
 * many it uses. */
static int64_t use_rest(struct ctt_svd_layer *l, int layers, double room)
{
    int64_t used = 0;

    for (;;) {
        struct ctt_svd_layer *best = NULL;
        int64_t was;
        double most = 0;

        for (int k = 0; k < layers; k++) {
            struct ctt_svd_layer up = l[k];
            double gain;

            up.rank = higher(&l[k]);
            if (l[k].rank == 0 ||
                (double)(macs(&up, up.rank) - macs(&l[k], l[k].rank) + used) >
                room)
                continue;
            gain = price(&up, l[k].rank);
            if (!best || gain > most) {
                best = &l[k];
                most = gain;
            }
        }
        if (!best)
            return used;
        was = macs(best, best->rank);
        best->rank = higher(best);
        used += macs(best, best->rank) - was;
    }
}

int64_t ctt_svd_ranks(struct ctt_svd_layer *l, int layers, int64_t all,
                      double share)
{
    int64_t now = all;

    for (int k = 0; k < layers; k++) {
        l[k].rank = 0;
        l[k].first = first_rank(&l[k]);
    }
    while ((double)now > share * (double)all) {
        struct ctt_svd_layer *best = cheapest(l, layers);

        if (!best)
            break;
        now -= macs(best, best->rank);
        best->rank = lower(best);
        now += macs(best, best->rank);
    }
    return now + use_rest(l, layers, share * (double)all - (double)now);
}
