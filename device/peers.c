/* SPDX-License-Identifier: Apache-2.0
 * peers.c: the functions of peers.h: what a kind of device has of them. */
#include "device/peers.h"
#include "device/dev.h"

int ctt_peers_know(struct ctt_dev *d, struct ctt_peer *out)
{
    int rc = 0;

    CTT_CHECK(d->kind->peers, CTT_EUNSUP, "device %s: this build cannot "
              "exchange data with those of other processes", d->kind->name);
    CTT_TRY(d->kind->peers->know(d, out));
out:
    return rc;
}

int ctt_peers_id(struct ctt_dev *d, char id[CTT_PEERS_ID])
{
    return d->kind->peers->id(d, id);
}

int ctt_peers_meet(struct ctt_dev *d, const char id[CTT_PEERS_ID], int rank,
                   int ranks)
{
    return d->kind->peers->meet(d, id, rank, ranks);
}

int ctt_peers_tell(struct ctt_dev *d, const void *mine, int64_t n, void *all)
{
    return n > 0 ? d->kind->peers->tell(d, mine, n, all) : 0;
}

int ctt_peers_trade(struct ctt_dev *d, const void *from, void *to, int64_t each)
{
    return each > 0 ? d->kind->peers->trade(d, from, to, each) : 0;
}

void ctt_peers_leave(struct ctt_dev *d)
{
    if (d->kind->peers)
        d->kind->peers->leave(d);
}
