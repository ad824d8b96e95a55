/* SPDX-License-Identifier: Apache-2.0
 * data.c: a set of clips: lists them, reads each once to check it and to count
 * its frames, and keeps decoded frames within the memory limit. */
#include "libtrain/data/data.h"
#include "libtrain/data/sequence.h"
#include "video/text/text.h"

#include <string.h>

/* ---- the frames of a clip ---- */

/* Keeps count frames of f, beginning at start. */
static void cut_frames(struct ctt_frames *f, int start, int count)
{
    size_t frame = (size_t)f->h * f->w * f->c;

    memmove(f->data, f->data + (size_t)start * frame, (size_t)count * frame);
    f->count = count;
}

/* 1 if the frames of a clip, or of a sequence that begins at `start`, are in
 * memory, where they then stay until ctt_data_done(). */
static int in_memory(struct ctt_data *d, const struct ctt_clip *c, int start,
                     struct ctt_frames *f)
{
    struct ctt_kept *k = &d->kept[c->item];

    ctt_cache_lock();
    *f = k->f;
    k->users += f->data != NULL;
    ctt_cache_unlock();
    if (f->data)
        f->data += (size_t)start * f->h * f->w * f->c;
    f->count = c->length;
    return f->data != NULL;
}

/* A file that was written since may have the same frames, as after a copy: all
 * are read to compare them. */
static int decode_clip(struct ctt_data *d, const struct ctt_clip *c, int start,
                       struct ctt_frames *f)
{
    const char *path = d->list->item[c->item].path;
    int whole = d->steps ? c->whole : c->length, count = start + c->length;
    struct ctt_frames all = { 0 };
    uint64_t state;
    int rc;

    CTT_TRY(ctt_source_state(d->source, c->item, &state));
    count = state == c->state ? count : whole;
    CTT_TRY(ctt_source_frames(d->source, c->item, 0,
                              count < whole ? count : d->max_frames, &all));
    CTT_CHECK(all.count == count, CTT_EFORMAT, "%s: had %d frames, now %d",
              path, whole, all.count);
    CTT_CHECK(state == c->state || ctt_frames_sum(&all) == c->sum, CTT_EFORMAT,
              "%s: another file has taken its place", path);
    if (all.count > c->length)
        cut_frames(&all, start, c->length);
    *f = all;
    all = (struct ctt_frames){ 0 };
out:
    ctt_frames_free(&all);
    return rc;
}

int ctt_data_frames(struct ctt_data *d, int i, uint64_t key,
                    struct ctt_frames *f, int *own)
{
    const struct ctt_clip *c = &d->clip[i];
    int start;

    *own = 1;
    if (ctt_source_drawn(d->source))
        return ctt_source_frames(d->source, c->part,
                                 key ? key : CTT_TEST_SEED, 0, f);
    start = d->steps ? ctt_sequence_start(c, key) : 0;
    *own = !in_memory(d, c, start, f);
    return *own ? decode_clip(d, c, start, f) : 0;
}

void ctt_data_done(struct ctt_data *d, int i, struct ctt_frames *f, int own)
{
    if (own) {
        ctt_frames_free(f);
        return;
    }
    ctt_cache_lock();
    d->kept[d->clip[i].item].users--;
    ctt_cache_unlock();
}

/* ---- the frames in memory ---- */

static int64_t frames_bytes(const struct ctt_frames *f)
{
    return (int64_t)f->count * f->h * f->w * f->c;
}

void ctt_data_keep(struct ctt_data *d, int item, struct ctt_frames *f)
{
    int64_t n = frames_bytes(f);

    ctt_cache_lock();
    if (n <= d->room) {
        d->room -= n;
        d->cache.held += n;
        d->kept[item].f = *f;
        d->kept_end = item < d->kept_end ? d->kept_end : item + 1;
        f->data = NULL;
    }
    ctt_cache_unlock();
}

/* Frees the frames of the last items that no thread reads. */
static int64_t drop_frames(struct ctt_cache *c, int64_t bytes)
{
    struct ctt_data *d = (struct ctt_data *)((char *)c -
                         offsetof(struct ctt_data, cache));
    int end = 0, i = d->kept_end;
    int64_t n = 0;

    while (i > 0 && n < bytes) {
        struct ctt_kept *k = &d->kept[--i];
        if (k->users && !end)
            end = i + 1;
        if (!k->f.data || k->users)
            continue;
        n += frames_bytes(&k->f);
        ctt_frames_free(&k->f);
    }
    d->kept_end = end ? end : i;
    return n;
}

static int open_cache(struct ctt_data *d, const struct ctt_train_cfg *cfg)
{
    d->room = (int64_t)cfg->cache << 20;
    if (d->room > ctt_memory_left() / 4)    /* the run needs the rest */
        d->room = ctt_memory_left() / 4;
    d->kept = ctt_calloc((size_t)d->list->count + 1, sizeof(*d->kept));
    d->cache.drop = drop_frames;
    ctt_cache_open(&d->cache);
    return d->kept ? 0 : CTT_ENOMEM;
}

/* ---- the set ---- */

static void tell_subset(const struct ctt_data *d, const char *subset,
                        const struct ctt_events *ev)
{
    char line[160];

    if (!subset || !ev || !ev->say)
        return;
    snprintf(line, sizeof(line), "subset: %d of %d classes, %d of %d clips",
             d->list->chosen, d->list->all_labels, d->list->count,
             d->list->all);
    ev->say(ev->arg, line);
}

/* Whether the user named a split: data without splits, which is taken whole for
 * the usual use of the path, does not have it. */
static int names_split(const char *path, const char *split,
                       const struct ctt_train_cfg *cfg)
{
    const struct { const char *path, *split; } use[] = {
        { cfg->data, "train" }, { cfg->val, "validation" },
        { cfg->test, "test" },
    };
    int used = 0;

    for (size_t i = 0; i < CTT_LEN(use); i++) {
        if (!use[i].path || strcmp(use[i].path, path) != 0)
            continue;
        if (strcmp(use[i].split, split) == 0)
            return 0;
        used = 1;
    }
    return used;
}

/* .sequences is 1 because all drawn sequences have the same name. */
static int open_source(struct ctt_data *d, const char *path, const char *split,
                       const struct ctt_input *in, char *const *known,
                       int nknown, const struct ctt_train_cfg *cfg)
{
    const struct ctt_source_set set = { .split = split,
        .need_split = names_split(path, split, cfg),
        .own_split = !cfg->data || strcmp(path, cfg->data) != 0,
        .strict = cfg->strict,
        .classes = cfg->classes, .label = known, .fps = (double)cfg->fps,
        .background = cfg->background,
        .labels = d->steps ? CTT_LABELS_ANY : nknown, .sequences = 1,
        .digits = cfg->digits, .frames = d->steps,
        .vocab = cfg->task == CTT_NEXT ? cfg->vocab : 0,
        .longest = cfg->max_frames, .windows = 1,
        .drawn_for = "--task=predict" };
    int rc;

    CTT_TRY(ctt_source_open(path, &set, in, &d->source));
    d->list = ctt_source_list(d->source);
    d->in = *ctt_source_input(d->source);
    d->symbols = ctt_source_text(d->source) != NULL;
    d->one = d->symbols && ctt_text_is_one(ctt_source_text(d->source));
    ctt_frame_size(&d->in, &d->stored_w, &d->stored_h);
out:
    return rc;
}

/* The number of drawn sequences: --sequences for the training set, otherwise
 * --val-sequences.  The training set has the path of --data and the split of
 * --split. */
static int sequences(const char *path, const char *split,
                     const struct ctt_train_cfg *cfg)
{
    const char *data = cfg->data ? cfg->data : path;
    const char *train = cfg->split ? cfg->split : "train";

    return strcmp(data, path) == 0 && strcmp(split, train) == 0
               ? cfg->sequences : cfg->val_sequences;
}

static int has_labels(const struct ctt_list *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->item[i].label >= 0)
            return 1;
    return 0;
}

/* Two classes for the same frames are an error if cfg->strict. */
static int check_repeats(const struct ctt_data *d, const char *path)
{
    struct ctt_duplicates r;
    int rc = 0;

    if (!d->strict)
        goto out;
    CTT_TRY(ctt_data_duplicates(d, &r));
    CTT_CHECK(!r.other, CTT_EFORMAT, "%s: the same frames have two classes: "
              "%s", path, r.rivals);
out:
    return rc;
}

/* Reads the clips of a source that stores them. */
static int read_clips(struct ctt_data *d, const char *path,
                      const struct ctt_train_cfg *cfg,
                      const struct ctt_events *ev)
{
    int rc = 0;

    d->unlabelled = !d->steps && !has_labels(d->list);
    CTT_CHECK(!d->unlabelled || cfg->wiring.unlabelled, CTT_EUNSUP,
              "%s: none of its %d clips has a class", path, d->list->count);
    tell_subset(d, cfg->classes, ev);
    CTT_TRY(open_cache(d, cfg));
    CTT_TRY(ctt_data_scan(d, ev));
    CTT_CHECK(d->clips, CTT_EFORMAT, "%s: no usable clip in %d", path,
              d->list->count);
    CTT_TRY(check_repeats(d, path));
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
    struct ctt_data *d = ctt_calloc(1, sizeof(*d));
    int rc = d ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(in->d == 1, CTT_EUNSUP, "the model's input is %d frames deep",
              in->d);
    d->workers = cfg->workers;
    d->strict = cfg->strict;
    d->min_frames = cfg->min_frames;
    d->max_frames = cfg->max_frames;
    if (cfg->task == CTT_PREDICT)
        d->steps = ctt_cfg_frames(cfg);
    CTT_TRY(open_source(d, path, split, in, known, nknown, cfg));
    if (ctt_source_drawn(d->source))
        CTT_TRY(ctt_sequences_draw(d, sequences(path, split, cfg)));
    else
        CTT_TRY(read_clips(d, path, cfg, ev));
    *out = d;
    return 0;
out:
    ctt_data_close(&d);
    return rc;
}

int ctt_data_has_split(const struct ctt_data *d, const char *path,
                       const char *split, const struct ctt_input *in,
                       const struct ctt_train_cfg *cfg, int *several)
{
    struct ctt_data other = { .steps = d->steps };
    int rc, same;

    *several = 0;
    if (ctt_source_drawn(d->source))
        return 1;
    CTT_TRY(open_source(&other, path, split, in,
                        d->steps ? NULL : d->list->label, d->list->labels,
                        cfg));
    same = other.list->count == d->list->count;
    for (int i = 0; same && i < d->list->count; i++)
        same = ctt_source_same(d->source, i, other.source, i);
    *several = ctt_data_several(&other);
    rc = !same;
out:
    ctt_source_close(&other.source);
    return rc;
}

void ctt_data_close(struct ctt_data **d)
{
    struct ctt_data *x = *d;

    if (!x)
        return;
    ctt_cache_close(&x->cache);
    for (int i = 0; i < x->kept_end; i++)
        ctt_frames_free(&x->kept[i].f);
    ctt_free(x->kept);
    ctt_free(x->clip);
    ctt_source_close(&x->source);
    ctt_free(x);
    *d = NULL;
}

int ctt_data_clips(const struct ctt_data *d)
{
    return d->clips;
}

int ctt_data_unlabelled(const struct ctt_data *d)
{
    return d->unlabelled;
}

void ctt_data_label(struct ctt_data *d, const int *label)
{
    for (int i = 0; i < d->clips; i++)
        d->clip[i].label = label[i];
}

const char *ctt_data_clip(const struct ctt_data *d, int i, int *label)
{
    *label = d->clip[i].label;
    return d->list->item[d->clip[i].item].id;
}

int ctt_data_strip(struct ctt_data *d, int i, int frames,
                   struct ctt_strip *out)
{
    struct ctt_frames f = { 0 };
    int own = 0, rc;
    size_t size;

    CTT_TRY(ctt_data_frames(d, i, 0, &f, &own));
    frames = frames < f.count ? frames : f.count;
    *out = (struct ctt_strip){ NULL, frames, f.w, f.h, f.c };
    size = (size_t)f.h * (size_t)f.w * (size_t)f.c;
    out->data = ctt_calloc((size_t)frames, size);
    for (int k = 0; out->data && k < frames; k++)
        memcpy(out->data + (size_t)k * size,
               f.data + (size_t)((2 * k + 1) * f.count / (2 * frames)) * size,
               size);
    rc = out->data ? 0 : CTT_ENOMEM;
    ctt_data_done(d, i, &f, own);
out:
    return rc;
}

int64_t ctt_data_all_frames(const struct ctt_data *d)
{
    int64_t sum = 0;

    for (int i = 0; i < d->clips; i++)
        sum += d->clip[i].length;
    return sum;
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

int ctt_data_classes(const struct ctt_data *d, int **clips)
{
    int *of, n = 0;

    *clips = NULL;
    if (d->steps || d->symbols)
        return 0;
    of = ctt_calloc((size_t)d->list->labels + 1, sizeof(*of));
    if (!of)
        return CTT_ENOMEM;
    for (int i = 0; i < d->clips; i++)
        for (int k = 0, c; (c = ctt_clip_label(d, &d->clip[i], k)) >= 0; k++)
            n += of[c]++ == 0;
    *clips = of;
    return n;
}

int ctt_data_several(const struct ctt_data *d)
{
    return !d->steps && d->list->several;
}

int ctt_data_is_one(const struct ctt_data *d)
{
    return d->one;
}

uint32_t ctt_data_crc(const struct ctt_data *d)
{
    return ctt_source_crc(d->source, !d->steps);
}

int ctt_data_same(const struct ctt_data *a, const struct ctt_data *b)
{
    if (a->clips != b->clips)
        return 0;
    for (int i = 0; i < a->clips; i++)
        if (!ctt_source_same(a->source, a->clip[i].item, b->source,
                             b->clip[i].item))
            return 0;
    return 1;
}

int ctt_data_part(const struct ctt_data *d, int n, struct ctt_data *part)
{
    n = n < d->clips ? n : d->clips;
    *part = *d;
    part->clips = n;
    part->longest = 0;
    part->clip = ctt_calloc((size_t)n, sizeof(*part->clip));
    if (!part->clip)
        return CTT_ENOMEM;
    for (int i = 0; i < n; i++) {
        part->clip[i] = d->clip[(int64_t)i * d->clips / n];
        if (part->clip[i].length > part->longest)
            part->longest = part->clip[i].length;
    }
    return 0;
}

int ctt_data_check(const struct ctt_data *d, const struct ctt_graph *g)
{
    const struct ctt_input *in = &g->node[ctt_graph_input(g)].attr.input;
    int rc = 0;

    CTT_CHECK(in->d == d->in.d && in->h == d->in.h && in->w == d->in.w &&
              in->c == d->in.c, CTT_EINVAL,
              "the model takes frames of %dx%dx%d, the data has %dx%dx%d",
              in->w, in->h, in->c, d->in.w, d->in.h, d->in.c);
    CTT_TRY(ctt_graph_light_known(g));
out:
    return rc;
}

/* The checksums of the clips, each clip once. */
static uint64_t *sums_of(const struct ctt_data *d)
{
    uint64_t *sum = ctt_calloc((size_t)d->clips + 1, sizeof(*sum));

    for (int i = 0; sum && i < d->clips; i++)
        sum[i] = d->clip[i].part ? 0 : d->clip[i].sum;
    return sum;
}

int ctt_data_duplicates(const struct ctt_data *d, struct ctt_duplicates *out)
{
    uint64_t *sum = ctt_calloc((size_t)d->list->count + 1, sizeof(*sum));
    int rc = sum ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < d->clips; i++)
        sum[d->clip[i].item] = d->clip[i].sum;
    CTT_TRY(ctt_list_duplicates(d->list, sum, !d->steps, out));
out:
    ctt_free(sum);
    return rc;
}

int ctt_data_shared(const struct ctt_data *a, const struct ctt_data *b,
                    const char **in_a, const char **in_b)
{
    uint64_t *x = sums_of(a), *y = sums_of(b);
    int i = 0, k = 0, rc = x && y ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_sums_shared(x, a->clips, y, b->clips, &i, &k));
    if (rc) {
        *in_a = a->list->item[a->clip[i].item].path;
        *in_b = b->list->item[b->clip[k].item].path;
    }
out:
    ctt_free(x);
    ctt_free(y);
    return rc;
}
