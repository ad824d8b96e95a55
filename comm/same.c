/* SPDX-License-Identifier: Apache-2.0
 * same.c: whether all ranks have the same, by checksums. */
#include "comm/comm.h"

int ctt_comm_same(struct ctt_comm *c, const uint32_t *mine,
                  const char *const *names, int words)
{
    int ranks = ctt_comm_place(c)->ranks, rc = 0;
    uint32_t *all = NULL;

    if (ranks == 1)
        goto out;
    all = ctt_calloc((size_t)ranks * (size_t)words, sizeof(*all));
    CTT_TRY(all ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_comm_allgather(c, mine, words * (int64_t)sizeof(*mine), all));
    for (int r = 1; r < ranks; r++)
        for (int k = 0; k < words; k++)
            CTT_CHECK(all[r * words + k] == all[k], CTT_EINVAL,
                      "rank %d: not the %s of rank 0", r, names[k]);
out:
    ctt_free(all);
    return rc;
}
