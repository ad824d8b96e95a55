/* SPDX-License-Identifier: Apache-2.0
 * data.c: a set of clips: listed, each read once to learn its length and
 * whether it is sound, and kept decoded as far as memory is given. */
#include "libtrain/data/data.h"

#include <string.h>

static int64_t bytes_of(const struct ctt_frames *f)
{
    return (int64_t)f->count * f->h * f->w * f->c;
}

/* At most max frames; 0: all. */
static int read_item(struct ctt_data *d, int item, int max,
                     struct ctt_frames *f)
{
    int rc;

    if (!d->pack)
        return ctt_frames_load(d->list->item[item].path, &d->in, max, f);
    rc = ctt_pack_read(d->pack, item, f);
    if (rc >= 0 && max && f->count > max)
        f->count = max;
    return rc;
}

/* Leaves count frames of f from start on. */
static void cut(struct ctt_frames *f, int start, int count)
{
    size_t frame = (size_t)f->h * f->w * f->c;

    memmove(f->data, f->data + (size_t)start * frame, (size_t)count * frame);
    f->count = count;
}

int ctt_data_frames(struct ctt_data *d, int i, uint64_t key,
                    struct ctt_frames *f, int *own)
{
    const struct ctt_clip *c = &d->clip[i];
    int start, end, rc;

    *own = !c->f.data;
    if (d->mnist)
        return ctt_sequence_draw(d, c, key, f);
    start = d->steps ? ctt_sequence_start(c, key) : 0;
    end = start + c->length;
    if (c->f.data) {
        *f = c->f;
        f->data += (size_t)start * f->h * f->w * f->c;
        f->count = c->length;
        return 0;
    }
    rc = read_item(d, c->item, d->steps ? end : d->max_frames, f);
    if (rc >= 0 && f->count != end) {
        int found = f->count;
        ctt_frames_free(f);
        rc = ctt_error(CTT_EFORMAT, "%s: had %d frames, now %d",
                       d->list->item[c->item].path,
                       d->steps ? c->whole : c->length, found);
    }
    if (rc >= 0 && start)
        cut(f, start, c->length);
    return rc;
}

/* ---- the first look at each clip ---- */

struct scan {
    struct ctt_data *d;
    char           **why;      /* of each item: what is wrong with it */
    int              next, done, rc, stop, alive;
    pthread_mutex_t  lock;
    pthread_cond_t   news;
};

/* Whether the frames may stay in memory. */
static int take_room(struct scan *s, const struct ctt_frames *f)
{
    int64_t n = bytes_of(f);
    int yes;

    pthread_mutex_lock(&s->lock);
    yes = n <= s->d->room;
    if (yes)
        s->d->room -= n;
    pthread_mutex_unlock(&s->lock);
    return yes;
}

static int look_at(struct scan *s, int i)
{
    struct ctt_data *d = s->d;
    struct ctt_clip *c = &d->clip[i];
    const struct ctt_item *item = &d->list->item[i];
    struct ctt_frames f = { NULL, 0, 0, 0, 0, 0 };
    int rc = 0;

    c->item = i;
    c->label = d->steps ? -1 : item->label;
    CTT_CHECK(d->steps || item->label >= 0, CTT_EFORMAT,
              "%s: has no known class", item->path);
    CTT_TRY(read_item(d, i, d->max_frames, &f));
    CTT_CHECK(f.count >= d->min_frames, CTT_EFORMAT,
              "%s: too short: %d frames", item->path, f.count);
    CTT_CHECK(f.count >= d->steps, CTT_EFORMAT, "%s: has %d frames, %d are "
              "needed", item->path, f.count, d->steps);
    c->length = f.count;
    if (take_room(s, &f)) {
        c->f = f;
        f.data = NULL;
    }
out:
    ctt_frames_free(&f);
    return rc;
}

/* A clip that cannot be read is skipped; running out of memory is no fault of
 * the clip. */
static void note(struct scan *s, int i, int rc)
{
    if (rc < 0 && rc != CTT_ENOMEM && !s->d->strict) {
        s->why[i] = ctt_strdup(ctt_errmsg());
        rc = s->why[i] ? 0 : CTT_ENOMEM;
    }
    pthread_mutex_lock(&s->lock);
    if (rc < 0 && s->rc >= 0) {
        s->rc = rc;
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
        note(s, i, look_at(s, i));
    }
}

/* Tells how far it is until all workers have left. */
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
        stop = ev && ev->stop && ev->stop(ev->arg);
        pthread_mutex_lock(&s->lock);
        while (s->alive && s->done == done)
            pthread_cond_wait(&s->news, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
}

/* Moves the good clips together and tells of the others, in order. */
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
        if (d->clips != i) {
            d->clip[d->clips] = d->clip[i];
            d->clip[i].f.data = NULL;
        }
        if (d->clip[d->clips].length > d->longest)
            d->longest = d->clip[d->clips].length;
        d->clips++;
    }
}

/* The message of a worker is this thread's now. */
static int failure(const struct scan *s)
{
    for (int i = 0; i < s->d->list->count; i++)
        if (s->why[i])
            ctt_error(s->rc, "%s", s->why[i]);
    return s->rc == CTT_ENOMEM ? ctt_error(s->rc, "out of memory: clips")
                               : s->rc;
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

static int scan(struct ctt_data *d, const struct ctt_events *ev)
{
    struct scan s = { .d = d };
    int rc = 0;

    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.news, NULL);
    s.why = ctt_calloc((size_t)d->list->count + 1, sizeof(*s.why));
    d->clip = ctt_calloc((size_t)d->list->count + 1, sizeof(*d->clip));
    CTT_TRY(s.why && d->clip ? 0 : CTT_ENOMEM);
    d->held = d->list->count;
    run_workers(&s, ev);
    if (s.rc < 0)
        CTT_TRY(failure(&s));
    CTT_CHECK(!s.stop, CTT_EINVAL, "stopped while reading the clips");
    keep_good(&s, ev);
out:
    for (int i = 0; s.why && i < d->list->count; i++)
        ctt_free(s.why[i]);
    ctt_free(s.why);
    pthread_cond_destroy(&s.news);
    pthread_mutex_destroy(&s.lock);
    return rc;
}

/* ---- the set ---- */

static int open_list(struct ctt_data *d, const char *path, const char *split,
                     char *const *known, int nknown, const char *subset)
{
    int rc = 0;

    if (ctt_pack_is(path)) {
        CTT_CHECK(!subset, CTT_EINVAL, "%s: a pack has its classes already",
                  path);
        CTT_TRY(ctt_pack_open(path, &d->pack));
        d->list = ctt_pack_list(d->pack);
        CTT_TRY(ctt_pack_fits(d->pack, &d->in));
        if (known && !d->steps)
            CTT_TRY(ctt_pack_same_labels(d->pack, known, nknown));
    } else {
        CTT_TRY(ctt_list_open(path, split, d->steps ? NULL : known,
                              d->steps ? CTT_LABELS_ANY : nknown, subset,
                              &d->own));
        d->list = d->own;
    }
out:
    return rc;
}

static void tell_subset(const struct ctt_data *d, const char *subset,
                        const struct ctt_events *ev)
{
    char line[160];

    if (!subset || !ev || !ev->say)
        return;
    snprintf(line, sizeof(line), "subset: %d of %d classes, %d of %d clips",
             d->list->labels, d->list->all_labels, d->list->count,
             d->list->all);
    ev->say(ev->arg, line);
}

/* Lists and reads what is stored at path. */
static int open_clips(struct ctt_data *d, const char *path, const char *split,
                      char *const *known, int nknown,
                      const struct ctt_train_cfg *cfg,
                      const struct ctt_events *ev)
{
    int rc = 0;

    CTT_TRY(open_list(d, path, split, known, nknown, cfg->classes));
    tell_subset(d, cfg->classes, ev);
    CTT_TRY(scan(d, ev));
    CTT_CHECK(d->clips, CTT_EFORMAT, "%s: no usable clip in %d", path,
              d->list->count);
    if (d->steps)
        CTT_TRY(ctt_sequences_cut(d));
out:
    return rc;
}

int ctt_data_open(const char *path, const char *split,
                  const struct ctt_input *in, char *const *known, int nknown,
                  const struct ctt_train_cfg *cfg,
                  const struct ctt_events *ev, struct ctt_data **out)
{
    const char *dir = ctt_mnist_path(path);
    struct ctt_data *d = ctt_calloc(1, sizeof(*d));
    int rc = d ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(in->d == 1, CTT_EUNSUP, "the model's input is %d frames deep",
              in->d);
    d->in = *in;
    d->workers = cfg->workers;
    d->strict = cfg->strict;
    d->min_frames = cfg->min_frames;
    d->max_frames = cfg->max_frames;
    d->room = (int64_t)cfg->cache << 20;
    if (cfg->task == CTT_PREDICT)
        d->steps = cfg->input_frames + cfg->future_frames;
    ctt_frame_size(in, &d->stored_w, &d->stored_h);
    if (dir)
        CTT_TRY(ctt_sequences_make(d, dir, split, cfg));
    else
        CTT_TRY(open_clips(d, path, split, known, nknown, cfg, ev));
    *out = d;
    return 0;
out:
    ctt_data_close(&d);
    return rc;
}

void ctt_data_close(struct ctt_data **d)
{
    struct ctt_data *x = *d;

    if (!x)
        return;
    for (int i = 0; i < x->held; i++)
        if (!x->clip[i].part)
            ctt_frames_free(&x->clip[i].f);
    ctt_free(x->clip);
    ctt_list_free(&x->own);
    ctt_pack_close(&x->pack);
    ctt_mnist_close(&x->mnist);
    ctt_free(x);
    *d = NULL;
}

int ctt_data_clips(const struct ctt_data *d)
{
    return d->clips;
}

int ctt_data_skipped(const struct ctt_data *d)
{
    return d->skipped;
}

char *const *ctt_data_labels(const struct ctt_data *d, int *count)
{
    *count = d->list->labels;
    return d->list->label;
}

int ctt_data_same(const struct ctt_data *a, const struct ctt_data *b)
{
    if (a->clips != b->clips)
        return 0;
    for (int i = 0; i < a->clips; i++)
        if (strcmp(a->list->item[a->clip[i].item].path,
                   b->list->item[b->clip[i].item].path) != 0)
            return 0;
    return 1;
}
