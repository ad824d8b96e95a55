/* SPDX-License-Identifier: Apache-2.0
 * live.h: live sources in tests: frames by number, lines that were said, and a
 * thread that writes to a FIFO. */
#ifndef CTT_TEST_LIVE_H
#define CTT_TEST_LIVE_H

#include "base/clock.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/live/live.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIVE_MANY = 4096, LIVE_W = 8, LIVE_H = 6 };

static char live_said[4096];

static inline void live_say(void *arg, const char *line)
{
    size_t n = strlen(live_said);

    (void)arg;
    snprintf(live_said + n, sizeof(live_said) - n, "%s\n", line);
}

static inline void live_rest(double seconds)
{
    nanosleep(&(struct timespec){ (time_t)seconds,
              (long)(1e9 * (seconds - (double)(time_t)seconds)) }, NULL);
}

/* The number that the grey of a frame says. */
static inline int live_number(const struct ctt_live_frame *f)
{
    return clip_number(f->data[(3 * f->w + 4) * f->c]);
}

/* Results of one source. */
struct live_run {
    struct ctt_live_counts counts;
    int    n, number[LIVE_MANY], fresh[LIVE_MANY];
    double time[LIVE_MANY];
    int    rc;
    int    add_up;         /* counts did so after each frame */
    char   why[512];
};

static inline int live_adds_up(const struct ctt_live_counts *c)
{
    return c->decoded == c->between + c->dropped + c->taken &&
           c->waiting >= 0 && c->waiting <= CTT_LIVE_QUEUE + 2;
}

/* Takes all frames, each `busy` seconds, at most `most` of them. */
static inline void live_take(const struct ctt_live_set *set,
                             const struct ctt_input *in, double busy, int most,
                             struct live_run *r)
{
    struct ctt_live_frame f;
    struct ctt_live *l = NULL;

    *r = (struct live_run){ .add_up = 1 };
    live_said[0] = 0;
    r->rc = ctt_live_open(set, in, &l);
    while (r->rc >= 0 && r->n < most &&
           (r->rc = ctt_live_next(l, &f)) > 0 && r->n < LIVE_MANY) {
        r->number[r->n] = live_number(&f);
        r->fresh[r->n] = f.fresh;
        r->time[r->n++] = f.time;
        ctt_live_counts(l, &r->counts);
        r->add_up = r->add_up && live_adds_up(&r->counts);
        if (busy > 0)
            live_rest(busy);
    }
    snprintf(r->why, sizeof(r->why), "%s", r->rc < 0 ? ctt_errmsg() : "");
    if (l)
        ctt_live_counts(l, &r->counts);
    ctt_live_close(&l);
}

/* Writes bytes to a FIFO, in pieces. */
struct live_writer {
    const char    *path;
    const uint8_t *data;
    size_t         n, piece;    /* piece: 0: all at once */
    double         pause;       /* seconds between two */
    pthread_t      thread;
};

static inline void *live_write(void *arg)
{
    struct live_writer *w = arg;
    int fd = open(w->path, O_WRONLY | O_CLOEXEC);
    size_t piece = w->piece ? w->piece : w->n;

    for (size_t at = 0; fd >= 0 && at < w->n;) {
        size_t n = w->n - at < piece ? w->n - at : piece;
        ssize_t got = write(fd, w->data + at, n);

        if (got < 0)
            break;
        at += (size_t)got;
        if (w->pause > 0)
            live_rest(w->pause);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static inline void live_write_start(struct live_writer *w)
{
    unlink(w->path);
    CU_ASSERT_EQUAL(mkfifo(w->path, 0600), 0);
    pthread_create(&w->thread, NULL, live_write, w);
}

static inline void live_write_end(struct live_writer *w)
{
    pthread_join(w->thread, NULL);
}

/* n raw frames of LIVE_W x LIVE_H greys that say their number; freed with
 * ctt_free(). */
static inline uint8_t *live_greys(int n)
{
    size_t size = LIVE_W * LIVE_H;
    uint8_t *data = ctt_calloc((size_t)n, size);

    for (int i = 0; data && i < n; i++)
        memset(data + (size_t)i * size, (int)(clip_grey(i) & 255), size);
    return data;
}

/* Runs the suite; returns the exit status of main. */
static inline int live_main(CU_SuiteInfo *suites)
{
    int rc;

    signal(SIGPIPE, SIG_IGN);
    rc = ctt_check_main(suites);
    clip_clean();
    return rc;
}

#endif
