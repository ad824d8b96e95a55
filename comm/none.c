/* SPDX-License-Identifier: Apache-2.0
 * none.c: one rank, so that it runs the same code as many. */
#include "comm/kind.h"

#include <string.h>

static int open_none(struct ctt_comm_place *p)
{
    *p = (struct ctt_comm_place){ .ranks = 1, .nears = 1, .machines = 1 };
    return 0;
}

static int gather_one(const void *mine, int64_t n, void *all)
{
    if (n)
        memcpy(all, mine, (size_t)n);
    return 0;
}

static int copy_one(const void *from, void *to, int64_t each)
{
    return gather_one(from, each, to);
}

static int nobody(void)
{
    return ctt_error(CTT_EINVAL, "one rank has nobody to send to");
}

static int send_to(int to, const void *p, int64_t n)
{
    (void)to, (void)p, (void)n;
    return nobody();
}

static int recv_from(int from, void *p, int64_t n)
{
    (void)from, (void)p, (void)n;
    return nobody();
}

static int wait_any(int *from)
{
    (void)from;
    return nobody();
}

static void end_all(int status)
{
    (void)status;
}

static void close_none(void)
{
}

const struct ctt_comm_kind ctt_comm_none = {
    open_none, gather_one, copy_one, send_to, recv_from, wait_any, end_all,
    close_none,
};
