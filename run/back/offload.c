/* SPDX-License-Identifier: Apache-2.0
 * offload.c: copies values of windows out and back.  A file is read and written
 * by a thread, from the device's memory or, where the program cannot see that,
 * from memory of the host between them; copies to the host's memory are the
 * device's own. */
#include "run/back/backward.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/unnamed.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WHY = 512 };

/* A job of the thread. */
struct job {
    int     slot, write;
    char   *mem;              /* of the program */
    int64_t at, bytes;
};

struct slot {
    long    ticket;           /* its last job, or 0 */
    void   *copy;             /* its last copy from or to the device */
    char   *to;               /* target of bytes read from the file, or NULL */
    int64_t bytes;
};

struct ctt_offload {
    struct ctt_dev *dev;
    char            folder[WHY];
    int             fd;           /* -1: there is no file */
    char           *host;         /* memory of the host: the offloaded bytes, or
                                     with a file a place a slot; or NULL */
    int64_t         each;
    int             slots, pinned;
    struct slot    *slot;

    struct job     *job;          /* a ring: at most one a slot */
    long            asked, done;  /* jobs; the ticket of the last one */
    int             stop, runs, rc;
    char            why[WHY];
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  work, news;
};

/* ---- the thread ---- */

/* The bytes in a slot's place of the host must have arrived before they are
 * written to the file, and must have left before the place is read into. */
static int do_job(struct ctt_offload *o, const struct job *j)
{
    int rc = 0;

    CTT_TRY(ctt_dev_transfer_wait(o->dev, o->slot[j->slot].copy));
    if (j->write)
        CTT_TRY(ctt_unnamed_write(o->folder, o->fd, j->at, j->mem, j->bytes));
    else
        CTT_TRY(ctt_unnamed_read(o->folder, o->fd, j->at, j->mem, j->bytes));
out:
    return rc;
}

/* After an error nothing is read or written any more. */
static void *serve(void *arg)
{
    struct ctt_offload *o = arg;

    pthread_mutex_lock(&o->lock);
    while (!o->stop || o->done < o->asked) {
        struct job j;
        int rc = o->rc;

        if (o->done == o->asked) {
            pthread_cond_wait(&o->work, &o->lock);
            continue;
        }
        j = o->job[o->done % o->slots];
        pthread_mutex_unlock(&o->lock);
        if (rc >= 0)
            rc = do_job(o, &j);
        pthread_mutex_lock(&o->lock);
        if (rc < 0 && o->rc >= 0) {
            o->rc = rc;
            snprintf(o->why, sizeof(o->why), "%s", ctt_errmsg());
        }
        o->done++;
        pthread_cond_signal(&o->news);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static int start_thread(struct ctt_offload *o)
{
    int rc = 0;

    o->runs = pthread_create(&o->thread, NULL, serve, o) == 0;
    CTT_CHECK(o->runs, CTT_EIO, "cannot start a thread");
out:
    return rc;
}

static void ask(struct ctt_offload *o, const struct job *j)
{
    pthread_mutex_lock(&o->lock);
    o->job[o->asked % o->slots] = *j;
    o->slot[j->slot].ticket = ++o->asked;
    pthread_cond_signal(&o->work);
    pthread_mutex_unlock(&o->lock);
}

/* The error of the jobs up to a ticket, without a message. */
static int wait_quietly(struct ctt_offload *o, long ticket)
{
    int rc;

    pthread_mutex_lock(&o->lock);
    while (o->done < ticket)
        pthread_cond_wait(&o->news, &o->lock);
    rc = o->rc;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

/* The thread writes no text after its error. */
static int wait_ticket(struct ctt_offload *o, long ticket)
{
    int rc = wait_quietly(o, ticket);

    return rc < 0 ? ctt_error(rc, "--offload: %s", o->why) : 0;
}

/* ---- copies ---- */

/* The place of the host between a slot and the file, or NULL. */
static char *between(const struct ctt_offload *o, int slot)
{
    return o->fd >= 0 && o->host ? o->host + slot * o->each : NULL;
}

int ctt_offload_out(struct ctt_offload *o, int slot, char *mem, int64_t at,
                    int64_t bytes)
{
    char *by = o->fd < 0 ? o->host + at : between(o, slot);
    int rc = 0;

    if (by)
        CTT_TRY(ctt_dev_transfer(o->dev, CTT_TO_HOST, mem, by, bytes,
                                 &o->slot[slot].copy));
    if (o->fd >= 0)
        ask(o, &(struct job){ slot, 1, by ? by : mem, at, bytes });
out:
    return rc;
}

int ctt_offload_in(struct ctt_offload *o, int slot, char *mem, int64_t at,
                   int64_t bytes)
{
    char *by = between(o, slot);

    if (o->fd < 0)
        return ctt_dev_transfer(o->dev, CTT_TO_DEVICE, o->host + at, mem, bytes,
                                &o->slot[slot].copy);
    o->slot[slot].to = by ? mem : NULL;
    o->slot[slot].bytes = bytes;
    ask(o, &(struct job){ slot, 0, by ? by : mem, at, bytes });
    return 0;
}

int ctt_offload_ready(struct ctt_offload *o, int slot)
{
    struct slot *s = &o->slot[slot];
    char *to = s->to;
    int rc = 0;

    s->to = NULL;
    if (o->fd >= 0)
        CTT_TRY(wait_ticket(o, s->ticket));
    if (to)
        CTT_TRY(ctt_dev_transfer(o->dev, CTT_TO_DEVICE, between(o, slot), to,
                                 s->bytes, &s->copy));
    CTT_TRY(ctt_dev_transfer_follow(o->dev, s->copy));
out:
    return rc;
}

/* Failures have been reported, or nobody needs the data any more. */
void ctt_offload_rest(struct ctt_offload *o)
{
    if (o->runs)
        wait_quietly(o, o->asked);
    for (int i = 0; o->slot && i < o->slots; i++) {
        o->slot[i].to = NULL;
        ctt_dev_transfer_wait(o->dev, o->slot[i].copy);
    }
}

/* ---- opening ---- */

/* Allocates memory of the host for the offloaded bytes, or for their passage to
 * the file. */
static int take_host(struct ctt_offload *o, int64_t bytes)
{
    int rc = 0;

    CTT_TRY(ctt_memory_check("values offloaded to the host", bytes));
    o->host = ctt_calloc(1, (size_t)bytes);
    CTT_TRY(o->host ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_dev_pin(o->dev, o->host, bytes));
    o->pinned = 1;
out:
    return rc;
}

static int open_offload(struct ctt_offload *o, int64_t bytes)
{
    int rc = 0;

    CTT_TRY(ctt_unnamed_open(o->folder, &o->fd));
    CTT_TRY(ctt_unnamed_reserve(o->folder, o->fd, bytes));
    if (!ctt_dev_shared(o->dev))
        CTT_TRY(take_host(o, o->each * o->slots));
    CTT_TRY(start_thread(o));
out:
    return rc < 0 ? ctt_error(rc, "--offload: %s", ctt_errmsg()) : rc;
}

int ctt_offload_open(const struct ctt_offload_spec *s, struct ctt_offload **out)
{
    struct ctt_offload *o = ctt_calloc(1, sizeof(*o));
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->work, NULL);
    pthread_cond_init(&o->news, NULL);
    o->fd = -1;
    o->dev = s->dev;
    o->slots = s->slots;
    o->each = ctt_align(s->each, 4096);
    CTT_CHECK(strlen(s->folder) < sizeof(o->folder), CTT_EINVAL,
              "--offload: the name of the folder is too long");
    strcpy(o->folder, s->folder);
    o->slot = ctt_calloc((size_t)s->slots, sizeof(*o->slot));
    o->job = ctt_calloc((size_t)s->slots, sizeof(*o->job));
    CTT_TRY(o->slot && o->job ? 0 : CTT_ENOMEM);
    CTT_TRY(*s->folder ? open_offload(o, s->bytes) : take_host(o, s->bytes));
    *out = o;
    o = NULL;
out:
    ctt_offload_close(&o);
    return rc;
}

void ctt_offload_close(struct ctt_offload **p)
{
    struct ctt_offload *o = *p;

    if (!o)
        return;
    ctt_offload_rest(o);
    pthread_mutex_lock(&o->lock);
    o->stop = 1;
    pthread_cond_signal(&o->work);
    pthread_mutex_unlock(&o->lock);
    if (o->runs)
        pthread_join(o->thread, NULL);
    for (int i = 0; o->slot && i < o->slots; i++)
        ctt_dev_transfer_drop(o->dev, &o->slot[i].copy);
    if (o->pinned)
        ctt_dev_unpin(o->dev, o->host);
    if (o->fd >= 0)
        close(o->fd);
    pthread_cond_destroy(&o->news);
    pthread_cond_destroy(&o->work);
    pthread_mutex_destroy(&o->lock);
    ctt_free(o->host);
    ctt_free(o->slot);
    ctt_free(o->job);
    ctt_free(o);
    *p = NULL;
}

/* ---- rates ---- */

static double computed(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* There and back by the device alone: to the host's memory. */
static int device_trial(struct ctt_offload *o, char *mem, int64_t bytes,
                        double at[3])
{
    int rc = 0;

    CTT_TRY(ctt_dev_sync(o->dev));
    at[0] = ctt_seconds();
    CTT_TRY(ctt_dev_transfer(o->dev, CTT_TO_HOST, mem, o->host, bytes,
                             &o->slot[0].copy));
    CTT_TRY(ctt_dev_transfer_wait(o->dev, o->slot[0].copy));
    at[1] = ctt_seconds();
    CTT_TRY(ctt_dev_transfer(o->dev, CTT_TO_DEVICE, o->host, mem, bytes,
                             &o->slot[0].copy));
    CTT_TRY(ctt_dev_transfer_wait(o->dev, o->slot[0].copy));
    at[2] = ctt_seconds();
out:
    return rc;
}

/* One way between the device and the host's place before a file, if there is
 * one. */
static int pass(struct ctt_offload *o, enum ctt_direction way, char *mem,
                int64_t bytes)
{
    char *by = between(o, 0);
    int rc = 0;

    if (!by)
        goto out;
    CTT_TRY(ctt_dev_transfer(o->dev, way, way == CTT_TO_HOST ? mem : by,
                             way == CTT_TO_HOST ? by : mem, bytes,
                             &o->slot[0].copy));
    CTT_TRY(ctt_dev_transfer_wait(o->dev, o->slot[0].copy));
out:
    return rc;
}

/* There and back over all that is on the way: the bus and the disk. */
static int file_trial(struct ctt_offload *o, char *mem, int64_t bytes,
                      double at[3])
{
    char *from = between(o, 0) ? between(o, 0) : mem;
    int rc = 0;

    CTT_TRY(ctt_dev_sync(o->dev));
    at[0] = ctt_seconds();
    CTT_TRY(pass(o, CTT_TO_HOST, mem, bytes));
    CTT_TRY(ctt_unnamed_write(o->folder, o->fd, 0, from, bytes));
    CTT_TRY(ctt_unnamed_flush(o->folder, o->fd));
    at[1] = ctt_seconds();
    CTT_TRY(ctt_unnamed_read(o->folder, o->fd, 0, from, bytes));
    CTT_TRY(pass(o, CTT_TO_DEVICE, mem, bytes));
    at[2] = ctt_seconds();
out:
    return rc;
}

/* The second time counts: the first one finds a file and memory that nobody has
 * used. */
int ctt_offload_measure(struct ctt_offload *o, char *mem, int64_t bytes,
                        struct ctt_offload_rate *rate)
{
    int file = o->fd >= 0, rc = 0;
    double at[3] = { 0 }, n = (double)bytes;

    for (int twice = 0; twice < 2; twice++) {
        double before = computed();

        CTT_TRY(file ? file_trial(o, mem, bytes, at)
                     : device_trial(o, mem, bytes, at));
        rate->busy = file && !between(o, 0) ? (computed() - before) / n : 0;
    }
    rate->out = (at[1] - at[0]) / n;
    rate->in = (at[2] - at[1]) / n;
out:
    return rc;
}
