/* SPDX-License-Identifier: Apache-2.0
 * none.c: one rank, so that it runs the same code as many. */
#include "comm/kind.h"

#include <string.h>

static int open_none(void **on, struct ctt_comm_place *p)
{
    *on = NULL;
    *p = (struct ctt_comm_place){ .ranks = 1, .nears = 1, .machines = 1 };
    return 0;
}

static int split_none(void *on, int colour, void **part,
                      struct ctt_comm_place *p)
{
    (void)on, (void)colour;
    return open_none(part, p);
}

static int gather_one(void *on, const void *mine, int64_t n, void *all)
{
    (void)on;
    if (n)
        memcpy(all, mine, (size_t)n);
    return 0;
}

static int copy_one(void *on, const void *from, void *to, int64_t each)
{
    return gather_one(on, from, each, to);
}

static int nobody(void)
{
    return ctt_error(CTT_EINVAL, "one rank has nobody to send to");
}

static int send_to(void *on, int to, const void *p, int64_t n)
{
    (void)on, (void)to, (void)p, (void)n;
    return nobody();
}

static int recv_from(void *on, int from, void *p, int64_t n)
{
    (void)on, (void)from, (void)p, (void)n;
    return nobody();
}

static int wait_any(void *on, int *from)
{
    (void)on, (void)from;
    return nobody();
}

static void end_all(int status)
{
    (void)status;
}

static void close_none(void *on)
{
    (void)on;
}

const struct ctt_comm_kind ctt_comm_none = {
    open_none, split_none, gather_one, copy_one, send_to, recv_from, wait_any,
    end_all, close_none,
};
