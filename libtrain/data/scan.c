/* SPDX-License-Identifier: Apache-2.0
 * scan.c: threads that read each clip once: check it, count its frames, and
 * keep them in memory if there is room. */
#include "libtrain/data/data.h"

#include <pthread.h>

struct scan {
    struct ctt_data *d;
    char           **why;      /* per item: the error, or NULL */
    char           **cut;      /* per item: that it was cut short, or NULL */
    int              next, done, rc, stop, alive;
    int              lacks;    /* the item for which there is no memory */
    pthread_mutex_t  lock;
    pthread_cond_t   news;
};

static void count_frames(struct scan *s, const struct ctt_frames *f)
{
    struct ctt_tally one = { .clips = 0 };

    ctt_tally_add(&one, &s->d->in, f);
    pthread_mutex_lock(&s->lock);
    ctt_tally_join(&s->d->tally, &one);
    pthread_mutex_unlock(&s->lock);
}

static int scan_clip(struct scan *s, int i)
{
    struct ctt_data *d = s->d;
    struct ctt_clip *c = &d->clip[i];
    const struct ctt_item *item = &d->list->item[i];
    struct ctt_frames f = { 0 };
    int rc = 0;

    c->item = i;
    c->label = d->steps ? -1 : d->unlabelled ? 0 : item->label;
    CTT_CHECK(d->steps || c->label >= 0, CTT_EFORMAT,
              "%s: has no known class", item->path);
    CTT_TRY(ctt_source_state(d->source, i, &c->state));
    CTT_TRY(ctt_source_frames(d->source, i, 0, d->max_frames, &f));
    CTT_CHECK(f.count >= d->min_frames, CTT_EFORMAT,
              "%s: too short: %d frames", item->path, f.count);
    CTT_CHECK(f.count >= d->steps, CTT_EFORMAT, "%s: has %d frames, %d are "
              "needed", item->path, f.count, d->steps);
    c->length = f.count;
    if (ctt_frames_whole(&f, item->path) < 0) {
        s->cut[i] = ctt_strdup(ctt_errmsg());
        CTT_TRY(s->cut[i] ? 0 : CTT_ENOMEM);
    }
    c->sum = d->symbols ? 0 : ctt_frames_sum(&f);    /* lines recur */
    if (!d->symbols) {    /* kept numbers are of before ctt_folds_count() */
        count_frames(s, &f);
        ctt_data_keep(d, i, &f);
    }
out:
    ctt_frames_free(&f);
    return rc;
}

/* A clip that cannot be read is skipped. */
static void note_clip(struct scan *s, int i, int rc)
{
    if (ctt_clip_is_bad(rc) && !s->d->strict) {
        s->why[i] = ctt_strdup(ctt_errmsg());
        rc = s->why[i] ? 0 : CTT_ENOMEM;
    }
    pthread_mutex_lock(&s->lock);
    s->stop |= rc == CTT_ESTOP;
    if (rc < 0 && rc != CTT_ESTOP && s->rc >= 0) {
        s->rc = rc;
        s->lacks = i;
        ctt_free(s->why[i]);
        s->why[i] = rc == CTT_ENOMEM ? NULL : ctt_strdup(ctt_errmsg());
        s->next = s->d->list->count;
    }
    s->done++;
    pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
}

static void *scan_worker(void *arg)
{
    struct scan *s = arg;

    for (;;) {
        int i;

        pthread_mutex_lock(&s->lock);
        i = s->stop || s->next >= s->d->list->count ? -1 : s->next++;
        if (i < 0) {
            s->alive--;
            pthread_cond_signal(&s->news);
        }
        pthread_mutex_unlock(&s->lock);
        if (i < 0)
            return NULL;
        note_clip(s, i, scan_clip(s, i));
    }
}

/* Reports progress until all threads have ended. */
static void watch(struct scan *s, const struct ctt_events *ev)
{
    int stop = 0;

    pthread_mutex_lock(&s->lock);
    while (s->alive) {
        int done = s->done;

        s->stop |= stop;
        pthread_mutex_unlock(&s->lock);
        if (ev && ev->scan)
            ev->scan(ev->arg, done, s->d->list->count);
        stop = ctt_stopped();
        pthread_mutex_lock(&s->lock);
        while (s->alive && s->done == done)
            pthread_cond_wait(&s->news, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Removes the gaps of bad clips and reports these in order. */
static void keep_good(struct scan *s, const struct ctt_events *ev)
{
    struct ctt_data *d = s->d;

    for (int i = 0; i < d->list->count; i++) {
        if (s->why[i]) {
            d->skipped++;
            if (ev && ev->clip)
                ev->clip(ev->arg, s->why[i]);
            continue;
        }
        if (s->cut[i] && ev && ev->warn)
            ev->warn(ev->arg, s->cut[i]);
        d->clip[d->clips] = d->clip[i];
        if (d->clip[d->clips].length > d->longest)
            d->longest = d->clip[d->clips].length;
        d->clips++;
    }
}

/* Copies the error message of a worker to this thread. */
static int failure(const struct scan *s)
{
    for (int i = 0; i < s->d->list->count; i++)
        if (s->why[i])
            ctt_error(s->rc, "%s", s->why[i]);
    return s->rc != CTT_ENOMEM ? s->rc :
           ctt_error(s->rc, "%s: out of memory for its frames: --max-frames "
                     "cuts long clips, --memory sets the limit",
                     s->d->list->item[s->lacks].path);
}

static void run_workers(struct scan *s, const struct ctt_events *ev)
{
    pthread_t id[256];
    int n = 0, want = s->d->workers;

    s->alive = 0;
    for (; n < want && n < (int)CTT_LEN(id); n++) {
        pthread_mutex_lock(&s->lock);
        s->alive++;
        pthread_mutex_unlock(&s->lock);
        if (pthread_create(&id[n], NULL, scan_worker, s) == 0)
            continue;
        pthread_mutex_lock(&s->lock);
        s->alive--;
        pthread_mutex_unlock(&s->lock);
        break;
    }
    if (n == 0) {
        s->alive = 1;
        scan_worker(s);
    }
    watch(s, ev);
    while (n > 0)
        pthread_join(id[--n], NULL);
}

int ctt_data_scan(struct ctt_data *d, const struct ctt_events *ev)
{
    struct scan s = { .d = d };
    int rc = 0;

    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.news, NULL);
    s.why = ctt_calloc((size_t)d->list->count + 1, sizeof(*s.why));
    d->clip = ctt_calloc((size_t)d->list->count + 1, sizeof(*d->clip));
    s.cut = ctt_calloc((size_t)d->list->count + 1, sizeof(*s.cut));
    CTT_TRY(s.why && s.cut && d->clip ? 0 : CTT_ENOMEM);
    run_workers(&s, ev);
    if (s.rc < 0)
        CTT_TRY(failure(&s));
    CTT_CHECK(!s.stop, CTT_ESTOP, "stopped while reading the clips");
    keep_good(&s, ev);
out:
    for (int i = 0; s.why && i < d->list->count; i++)
        ctt_free(s.why[i]);
    for (int i = 0; s.cut && i < d->list->count; i++)
        ctt_free(s.cut[i]);
    ctt_free(s.cut);
    ctt_free(s.why);
    pthread_cond_destroy(&s.news);
    pthread_mutex_destroy(&s.lock);
    return rc;
}
