/* SPDX-License-Identifier: Apache-2.0
 * packer.c: decodes clips into a pack, with their maps if asked.
 *
 * Threads decode clips ahead of the one that is written next; the main thread
 * writes them in their order, so that the pack does not depend on the number of
 * threads.  Clips that wait are limited in number and bytes.  A clip for which
 * there was no memory is decoded again when it is the next, without others. */
#include "tools/data/packer.h"
#include "base/limits.h"
#include "tools/data/data_maps.h"
#include "tools/data/data_tool.h"
#include "tools/shared/tool.h"
#include "video/source.h"

#include <pthread.h>
#include <time.h>

enum { THREADS = 256, AHEAD = 4 /* clips per thread */ };

/* Bytes of clips that wait to be written, or a quarter of the memory. */
static const int64_t WAITING = (int64_t)256 << 20;

/* A decoded clip, or why there is none. */
struct decoded {
    struct ctt_frames f;
    uint8_t *maps;
    uint64_t key;                /* under which the journal has it */
    char    *why;
    int      rc, ready;
    int      found;              /* in the journal */
};

struct packer {
    const struct ctt_data_cfg *c;
    const struct ctt_source   *s;
    const struct ctt_list     *list;
    struct decoded *ring;        /* clip i is at i % places */
    int             places, next, written, stop, bad;
    int             busy, alone; /* threads that decode; none may begin */
    int             threads;     /* that have a mapper of these */
    struct ctt_mapper *mapper[THREADS];
    const struct ctt_mapping *mapping;    /* NULL: no maps, nor a journal */
    struct ctt_journal *journal;
    int64_t         bytes, most; /* of the clips in the ring */
    pthread_mutex_t lock;
    pthread_cond_t  ready, room;
};

/* ---- decoding ---- */

static int64_t decoded_bytes(const struct packer *p, const struct ctt_frames *f)
{
    int64_t maps = p->mapping ? 2 * ctt_maps_size(&p->mapping->maps) : 0;

    return f->data ? f->count * ((int64_t)f->h * f->w * f->c + maps) : 0;
}

static void drop_decoded(struct decoded *d)
{
    ctt_frames_free(&d->f);
    ctt_free(d->maps);
    d->maps = NULL;
}

/* The clip that is written next may always be decoded, others only if there is
 * room for them. */
static int may_begin(const struct packer *p)
{
    return !p->alone && (p->next == p->written ||
           (p->next < p->written + p->places && p->bytes < p->most));
}

/* Takes the number of a clip to decode; -1: none is left. */
static int take_clip(struct packer *p)
{
    int i;

    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->next < p->list->count && !may_begin(p))
        pthread_cond_wait(&p->room, &p->lock);
    i = p->stop || p->next >= p->list->count ? -1 : p->next++;
    p->busy += i >= 0;
    pthread_mutex_unlock(&p->lock);
    return i;
}

/* The clip from the journal, or decoded and sent through the backbone. */
static int decode_maps(const struct packer *p, struct ctt_mapper **m, int i,
                       struct decoded *d)
{
    int rc;

    CTT_TRY(ctt_source_key(p->s, i, &d->key));
    CTT_TRY(d->found = ctt_journal_find(p->journal, d->key, &d->f, &d->maps));
    if (d->found)
        goto out;
    if (!*m)
        CTT_TRY(ctt_mapper_open(p->mapping, m));
    CTT_TRY(ctt_source_frames(p->s, i, 0, p->c->max_frames, &d->f));
    rc = ctt_mapper_read(*m, &d->f, &d->maps);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", p->list->item[i].path, ctt_errmsg()));
out:
    return rc;
}

static struct decoded decode_item(const struct packer *p,
                                  struct ctt_mapper **m, int i)
{
    struct decoded d = { .ready = 1 };

    d.rc = p->mapping ? decode_maps(p, m, i, &d) :
           ctt_source_frames(p->s, i, 0, p->c->max_frames, &d.f);
    if (d.rc < 0) {
        drop_decoded(&d);
        d.why = ctt_strdup(ctt_errmsg());
    }
    return d;
}

static int lacks_memory(const struct decoded *d)
{
    return d->rc == CTT_ENOMEM || (d->rc < 0 && !d->why);
}

static void *decode_clips(void *arg)
{
    struct packer *p = arg;
    struct ctt_mapper **m;
    int i;

    pthread_mutex_lock(&p->lock);
    m = &p->mapper[p->threads++];
    pthread_mutex_unlock(&p->lock);
    while ((i = take_clip(p)) >= 0) {
        struct decoded d = decode_item(p, m, i);
        pthread_mutex_lock(&p->lock);
        p->ring[i % p->places] = d;
        p->bytes += decoded_bytes(p, &d.f);
        p->busy--;
        pthread_cond_signal(&p->ready);
        pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

/* ---- writing ---- */

/* Waits for a thread, but not for long: a request to stop must be seen. */
static void await_thread(struct packer *p)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / (1000 * 1000 * 1000);
    until.tv_nsec %= 1000 * 1000 * 1000;
    pthread_cond_timedwait(&p->ready, &p->lock, &until);
}

static void close_mappers(struct packer *p)
{
    for (int i = 0; i < p->threads; i++)
        ctt_mapper_close(&p->mapper[i]);
}

/* Waits until no thread decodes, and drops what they hold: clips that wait will
 * be decoded again too. */
static void clear_ring(struct packer *p)
{
    pthread_mutex_lock(&p->lock);
    p->alone = 1;
    while (p->busy)
        await_thread(p);
    close_mappers(p);
    for (int i = 0; i < p->places; i++) {
        struct decoded *d = &p->ring[i];
        if (!d->f.data)
            continue;
        drop_decoded(d);
        d->rc = CTT_ENOMEM;
    }
    p->bytes = 0;
    pthread_mutex_unlock(&p->lock);
}

/* Decodes the next clip, for which there was no memory, once more. */
static void decode_again(struct packer *p, struct decoded *d)
{
    struct ctt_mapper *m = NULL;

    clear_ring(p);
    ctt_free(d->why);
    *d = decode_item(p, &m, p->written);
    ctt_mapper_close(&m);
    pthread_mutex_lock(&p->lock);
    p->bytes += decoded_bytes(p, &d->f);
    p->alone = 0;    /* release() wakes the threads */
    pthread_mutex_unlock(&p->lock);
}

/* Waits for the next clip and takes it out of the ring. */
static int await(struct packer *p, struct decoded *out)
{
    struct decoded *d = &p->ring[p->written % p->places];
    int rc = 0;

    pthread_mutex_lock(&p->lock);
    while (!d->ready && !ctt_tool_stop())
        await_thread(p);
    CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "stopped; %s is not written",
              p->c->out);
    *out = *d;
    *d = (struct decoded){ .ready = 0 };
out:
    pthread_mutex_unlock(&p->lock);
    return rc;
}

/* Its memory is free again; threads may go on. */
static void release(struct packer *p, struct decoded *d)
{
    int64_t bytes = decoded_bytes(p, &d->f);

    drop_decoded(d);
    ctt_free(d->why);
    pthread_mutex_lock(&p->lock);
    p->bytes -= bytes;
    p->written++;
    pthread_cond_broadcast(&p->room);
    pthread_mutex_unlock(&p->lock);
}

/* The maps of the last clip of the pack. */
static int write_maps(struct packer *p, struct ctt_pack *out,
                      const struct decoded *d)
{
    int rc;

    CTT_TRY(ctt_pack_add_maps(out, d->maps));
    if (!d->found)
        CTT_TRY(ctt_journal_add(p->journal, d->key, &d->f, d->maps));
out:
    return rc;
}

static int write_good(struct packer *p, struct ctt_pack *out,
                      const struct decoded *d)
{
    const struct ctt_item *item = &p->list->item[p->written];
    int rc;

    if (ctt_frames_whole(&d->f, item->path) < 0)
        ctt_tool_warn("%s", ctt_errmsg());
    CTT_TRY(ctt_pack_add(out, item->id, item->label, &d->f));
    for (int k = 1, c; (c = ctt_item_label(p->list, item, k)) >= 0; k++)
        CTT_TRY(ctt_pack_also(out, c));
    if (p->mapping)
        CTT_TRY(write_maps(p, out, d));
out:
    return rc;
}

static int write_clip(struct packer *p, struct ctt_pack *out,
                      const struct decoded *d)
{
    const struct ctt_item *item = &p->list->item[p->written];
    int rc = 0;

    if (d->rc >= 0)
        return write_good(p, out, d);
    CTT_CHECK(d->rc != CTT_ESTOP, CTT_ESTOP, "stopped; %s is not written",
              p->c->out);
    CTT_CHECK(!lacks_memory(d), CTT_ENOMEM, "%s: out of memory for its frames: "
              "--max-frames cuts long clips, fewer --workers take less, "
              "--memory sets the limit",
              item->path);
    CTT_CHECK(!p->c->strict && !ctt_is_lack(d->rc) && d->rc != CTT_ENAN, d->rc,
              "%s", d->why);
    ctt_tool_warn("%s (skipped)", d->why);
    p->bad++;
out:
    return rc;
}

static void tell_packed(const struct packer *p)
{
    int done = p->written, all = p->list->count;

    CTT_PROGRESS(done, all, "clip %d of %d", done, all);
}

static int write_clips(struct packer *p, struct ctt_pack *out)
{
    int rc = 0;

    while (p->written < p->list->count) {
        struct decoded d = { .ready = 0 };
        CTT_TRY(await(p, &d));
        if (lacks_memory(&d))
            decode_again(p, &d);
        rc = write_clip(p, out, &d);
        release(p, &d);
        CTT_TRY(rc);
        tell_packed(p);
    }
out:
    return rc;
}

/* Starts the threads, writes their clips and waits for their end. */
static int run_packer(struct packer *p, struct ctt_pack *out)
{
    pthread_t id[THREADS];
    int n = 0, rc = 0;

    while (n < p->c->workers && n < THREADS &&
           pthread_create(&id[n], NULL, decode_clips, p) == 0)
        n++;
    CTT_CHECK(n, CTT_ENOMEM, "no thread can be started");
    CTT_TRY(write_clips(p, out));
out:
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->room);
    pthread_mutex_unlock(&p->lock);
    while (n > 0)
        pthread_join(id[--n], NULL);
    return rc;
}

int ctt_pack_clips(const struct ctt_packing *job, struct ctt_pack *out,
                   int *bad)
{
    struct packer p = { .c = job->c, .s = job->s, .mapping = job->mapping,
                        .list = ctt_source_list(job->s), .most = WAITING,
                        .journal = job->journal,
                        .places = AHEAD * job->c->workers };
    int rc = 0;

    if (p.most > ctt_limits()->memory / 4)
        p.most = ctt_limits()->memory / 4;
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.ready, NULL);
    pthread_cond_init(&p.room, NULL);
    p.ring = ctt_calloc((size_t)p.places, sizeof(*p.ring));
    CTT_TRY(p.ring ? 0 : CTT_ENOMEM);
    CTT_TRY(run_packer(&p, out));
    *bad = p.bad;
out:
    close_mappers(&p);
    for (int i = 0; p.ring && i < p.places; i++) {
        drop_decoded(&p.ring[i]);
        ctt_free(p.ring[i].why);
    }
    ctt_free(p.ring);
    pthread_cond_destroy(&p.room);
    pthread_cond_destroy(&p.ready);
    pthread_mutex_destroy(&p.lock);
    return rc;
}
