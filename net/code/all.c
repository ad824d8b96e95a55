/* SPDX-License-Identifier: Apache-2.0
 * all.c: positions "all": no element is pruned; takes no bytes. */
#include "net/code/row.h"

static int64_t all_size(const struct ctt_part *p)
{
    return p->kept == p->count ? 0 : -1;
}

static void put_all(const struct ctt_part *p, uint8_t *out)
{
    (void)p;
    (void)out;
}

static int get_all(const struct ctt_part *p, const uint8_t *in, int64_t size,
                   uint32_t *at)
{
    (void)in;
    (void)at;
    return size == 0 && p->kept == p->count;
}

const struct ctt_positions ctt_positions_all = {
    "all", all_size, put_all, get_all, 1
};
