/* SPDX-License-Identifier: Apache-2.0
 * device.c: an open device: closing it, its settings and its scratch memory. */
#include "device/dev.h"

void ctt_dev_close(struct ctt_dev **d)
{
    if (!*d)
        return;
    if ((*d)->own)
        ctt_peers_leave(*d);
    if ((*d)->own && (*d)->kind->close)
        (*d)->kind->close(*d);
    ctt_team_close(&(*d)->team);
    ctt_free((*d)->scratch);
    ctt_free(*d);
    *d = NULL;
}

int ctt_dev_own_threads(struct ctt_dev *d)
{
    if (d->team || d->threads == 1 || !d->kind->memory->shared)
        return 0;
    d->used = d->threads;
    return ctt_team_open(d->threads, &d->team);
}

void ctt_dev_use(struct ctt_dev *d, int threads)
{
    d->used = threads;
}

int ctt_dev_used(const struct ctt_dev *d)
{
    int most = ctt_team_size(d->team);

    if (!d->team)
        return d->threads;
    return d->used < most ? d->used : most;
}

int ctt_dev_threads(const struct ctt_dev *d)
{
    return d->threads;
}

void ctt_dev_deterministic(struct ctt_dev *d, int on)
{
    d->deterministic = on;
}

void ctt_dev_tf32(struct ctt_dev *d, int on)
{
    d->tf32 = on;
}

void ctt_dev_streams(struct ctt_dev *d, int streams)
{
    d->streams = streams;
}

void *ctt_dev_scratch(struct ctt_dev *d, size_t bytes)
{
    if (bytes > d->room || !d->scratch) {
        char *p = ctt_calloc(bytes, 1);
        if (!p)
            return NULL;
        ctt_free(d->scratch);
        d->scratch = p;
        d->room = bytes;
    }
    return d->scratch;
}

void ctt_dev_forget(struct ctt_dev *d, void **cache)
{
    if (*cache && d->kind->forget)
        d->kind->forget(*cache);
    *cache = NULL;
}

const char *ctt_dev_impl(const struct ctt_dev *d, void *cache,
                         enum ctt_pass pass)
{
    return cache && d->kind->impl ? d->kind->impl(cache, pass) : "plain";
}

const char *ctt_dev_why(const struct ctt_dev *d, void *cache,
                        enum ctt_pass pass)
{
    return cache && d->kind->why ? d->kind->why(cache, pass) : "";
}
