/* SPDX-License-Identifier: Apache-2.0
 * base.c: the last error of this thread, and host memory: the only file of the
 * libraries that calls malloc. */
#include "net/ctt.h"

#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char message[512];
static atomic_long live, calls, fail_at;
static atomic_int asked;    /* whether the environment has been read */

int ctt_error(int code, const char *fmt, ...)
{
    char text[sizeof(message)];    /* an argument may be the old message */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    memcpy(message, text, sizeof(message));
    return code;
}

const char *ctt_errmsg(void)
{
    return message;
}

void ctt_fail_alloc(long k)
{
    atomic_store(&asked, 1);
    atomic_store(&fail_at, k);
}

long ctt_live_blocks(void)
{
    return atomic_load(&live);
}

long ctt_alloc_calls(void)
{
    return atomic_load(&calls);
}

static int refused(void)
{
    atomic_fetch_add(&calls, 1);
    if (!atomic_exchange(&asked, 1)) {
        const char *k = getenv("CTT_FAIL_ALLOC");
        if (k)
            atomic_store(&fail_at, atol(k));
    }
    return atomic_load(&fail_at) > 0 && atomic_fetch_sub(&fail_at, 1) == 1;
}

void *ctt_calloc(size_t count, size_t size)
{
    void *p = NULL;

    if (size && count > (SIZE_MAX - 64) / size)
        goto fail;
    size = (count * size + 63) / 64 * 64;
    p = refused() ? NULL : aligned_alloc(64, size ? size : 64);
    if (!p)
        goto fail;
    atomic_fetch_add(&live, 1);
    return memset(p, 0, size ? size : 64);
fail:
    ctt_error(CTT_ENOMEM, "out of memory: %zu bytes", size);
    return NULL;
}

void *ctt_realloc(void *p, size_t size)
{
    void *q = refused() ? NULL : realloc(p, size ? size : 1);

    if (!q) {
        ctt_error(CTT_ENOMEM, "out of memory: %zu bytes", size);
        return NULL;
    }
    if (!p)
        atomic_fetch_add(&live, 1);
    return q;
}

void *ctt_grown(void *p, int *room, int count, size_t size)
{
    int more = *room ? *room : 16;
    void *q;

    if (count < *room)
        return p;
    if (*room > INT_MAX / 2) {
        ctt_error(CTT_ENOMEM, "more than %d entries", *room);
        return NULL;
    }
    more += *room;
    q = ctt_realloc(p, (size_t)more * size);
    if (q)
        *room = more;
    return q;
}

void ctt_free(void *p)
{
    if (p)
        atomic_fetch_sub(&live, 1);
    free(p);
}

char *ctt_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = ctt_calloc(n, 1);

    return p ? memcpy(p, s, n) : NULL;
}
