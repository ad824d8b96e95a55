/* SPDX-License-Identifier: Apache-2.0
 * cache.c: caches, whose memory is free for whoever needs it. */
#include "base/limits.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ctt_cache *first;

void ctt_cache_lock(void)
{
    pthread_mutex_lock(&lock);
}

void ctt_cache_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void ctt_cache_open(struct ctt_cache *c)
{
    ctt_cache_lock();
    c->next = first;
    first = c;
    ctt_cache_unlock();
}

void ctt_cache_close(struct ctt_cache *c)
{
    struct ctt_cache **at = &first;

    ctt_cache_lock();
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    ctt_cache_unlock();
}

int64_t ctt_cache_held(void)
{
    int64_t n = 0;

    ctt_cache_lock();
    for (const struct ctt_cache *c = first; c; c = c->next)
        n += c->held;
    ctt_cache_unlock();
    return n;
}

int64_t ctt_cache_drop(int64_t bytes)
{
    int64_t n = 0;

    ctt_cache_lock();
    for (struct ctt_cache *c = first; c && n < bytes; c = c->next) {
        int64_t freed = c->drop(c, bytes - n);
        c->held -= freed;
        n += freed;
    }
    ctt_cache_unlock();
    return n;
}
