/* SPDX-License-Identifier: Apache-2.0
 * doctor_classes.c: checks of classes and sets: few clips of a class, clips in
 * a set twice or in both, clips that were skipped, scenes that decide. */
#include "libtrain/doctor/doctor.h"
#include "libtrain/data/fold.h"
#include "libtrain/recognise/baseline.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CLASSES_APART = 20;   /* clips, most to fewest */
static const double FEW_APART = 5;        /* for fewer than FEW, and by the
                                             doctor */
enum { FEW = 5, ENOUGH = 16 };            /* clips of a class, as a fifth of
                                             20 is held out */
static const double FRAME_MOST = 0.5;

/* "a 3, b 7": the classes with fewer clips than limit, as many as there is room
 * for. */
static const char *name_few(const struct ctt_data *d, const int *clips,
                            double limit, char *buf, size_t size)
{
    size_t n = 0, more = sizeof(", ...");
    char one[64];

    buf[0] = '\0';
    for (int k = 0; k < d->list->labels; k++) {
        if (!clips[k] || clips[k] >= limit)
            continue;
        snprintf(one, sizeof(one), "%s%.40s %d", n ? ", " : "",
                 d->list->label[k], clips[k]);
        if (n + strlen(one) + more > size)
            snprintf(one, sizeof(one), ", ...");
        n += (size_t)snprintf(buf + n, size - n, "%s", one);
        if (strcmp(one, ", ...") == 0)
            break;
    }
    return buf;
}

/* Warns of classes with few clips, or with much fewer than the largest. */
static void judge_sizes(const struct ctt_patient *p, const int *clips,
                        int least, int most, struct ctt_finding *f)
{
    double apart = least < FEW || p->deep ? FEW_APART : CLASSES_APART;
    int few = p->deep && least < ENOUGH, n = (int)strlen(f->found);
    double limit = few ? ENOUGH : most / apart;
    char names[100];

    if (most > apart * least && !p->cfg->sampler && !p->cfg->class_weights)
        MENDS(f, "--sampler balanced, --class-weights balanced, --classes FILE "
              "without the small ones, or more clips of these");
    else if (few)
        MENDS(f, "more clips of these classes%s: of fewer than %d little is "
              "learnt", most < ENOUGH ? "" : ", or --classes FILE without them",
              ENOUGH);
    if (f->mends[0])
        snprintf(f->found + n, sizeof(f->found) - (size_t)n, "; few: %s",
                 name_few(p->train, clips, limit, names, sizeof(names)));
}

/* Counts the training clips of each class; returns how many classes have
 * some. */
static int count_clips(const struct ctt_data *d, int *clips, int *least,
                       int *most)
{
    int used = 0;

    *least = INT_MAX;
    *most = 0;
    for (int i = 0; i < d->clips; i++)
        for (int k = 0, c; (c = ctt_clip_label(d, &d->clip[i], k)) >= 0; k++)
            clips[c]++;
    for (int k = 0; k < d->list->labels; k++) {
        *least = clips[k] && clips[k] < *least ? clips[k] : *least;
        *most = clips[k] > *most ? clips[k] : *most;
        used += clips[k] > 0;
    }
    return used;
}

int ctt_find_classes(struct ctt_patient *p, struct ctt_finding *f)
{
    const struct ctt_data *d = p->train;
    int labels = d->list->labels, least, most, used;
    int *clips = ctt_calloc((size_t)labels + 1, sizeof(*clips));

    if (!clips)
        return CTT_ENOMEM;
    used = count_clips(d, clips, &least, &most);
    if (p->m->g->several) {
        FOUND(f, "%d classes with %d to %d of %d clips, several labels per "
              "clip", labels, least, most, d->clips);
        if (most == d->clips)
            MENDS(f, "no class that every clip has: its answer says nothing");
    } else if (used < 2) {
        FOUND(f, "all clips are of one class: there is nothing to learn");
        MENDS(f, "--data PATH with clips of other classes, or a list of clips "
              "and labels if folders are none");
    } else {
        FOUND(f, "%d classes with %d to %d clips; always naming the most "
              "frequent is right for %.0f%%", labels, least, most,
              100.0 * most / d->clips);
        judge_sizes(p, clips, least, most, f);
    }
    ctt_free(clips);
    return 1;
}

int ctt_find_twice(struct ctt_patient *p, struct ctt_finding *f)
{
    struct ctt_duplicates r[2] = { { 0 } };
    int rc, other;

    CTT_TRY(ctt_data_duplicates(p->train, &r[0]));
    if (p->val)
        CTT_TRY(ctt_data_duplicates(p->val, &r[1]));
    other = r[0].other + r[1].other;
    FOUND(f, "in a set twice: %d of the clips, %d of them with another class",
          r[0].same + r[1].same + other, other);
    if (other)
        MENDS(f, "--strict names them: %.90s", r[!r[0].other].rivals);
    rc = 1;
out:
    return rc;
}

int ctt_find_skipped(struct ctt_patient *p, struct ctt_finding *f)
{
    int lost = ctt_data_skipped(p->train) +
               (p->val ? ctt_data_skipped(p->val) : 0);

    FOUND(f, "%d clip%s could not be read", lost, ctt_s(lost));
    if (lost)
        MENDS(f, "convtt-data check PATH names them");
    return 1;
}

int ctt_find_shared(struct ctt_patient *p, struct ctt_finding *f)
{
    const char *in_train, *in_val;
    int rc;

    if (!p->val) {
        FOUND(f, "no clips to validate on");
        MENDS(f, "--val PATH or --val-split NAME");
        return 1;
    }
    rc = ctt_data_shared(p->train, p->val, &in_train, &in_val);
    if (rc < 0)
        return rc;
    FOUND(f, "%d of %d validation clips are in the training data too", rc,
          p->val->clips);
    if (rc)
        MENDS(f, "--val PATH with other clips than %.90s", in_val);
    return 1;
}

static int keys_rise(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static uint64_t clip_group(const struct ctt_data *d, int i)
{
    return ctt_name_group(d->list->item[d->clip[i].item].id);
}

/* Whether persons or videos are on both sides. */
int ctt_find_groups(struct ctt_patient *p, struct ctt_finding *f)
{
    size_t clips = (size_t)p->train->clips;
    uint64_t *key = ctt_calloc(clips + 1, sizeof(*key));
    int shared = 0;

    if (!key)
        return CTT_ENOMEM;
    for (size_t i = 0; i < clips; i++)
        key[i] = clip_group(p->train, (int)i);
    qsort(key, clips, sizeof(*key), keys_rise);
    for (int i = 0; p->val && i < p->val->clips; i++) {
        uint64_t k = clip_group(p->val, i);

        shared += k && bsearch(&k, key, clips, sizeof(k), keys_rise);
    }
    ctt_free(key);
    if (!p->val)
        return 0;
    FOUND(f, "%d of %d validation clips have the person or the video of a "
          "training clip, by their names", shared, p->val->clips);
    if (shared)
        MENDS(f, "--folds 5 in place of --val, with --backbone too: persons "
              "and videos are then on one side");
    return 1;
}

/* Whether one frame is right in most of what the largest class leaves, by more
 * than chance: without a model to compare with, as a training has. */
int ctt_find_scene(struct ctt_patient *p, struct ctt_finding *f)
{
    static const struct ctt_point end = { .ratio = 1 };
    struct ctt_baselines b = { .trained = 0 };
    double right[CTT_BASELINES], none, one;
    int rc;

    if (!p->val || p->m->g->several)
        return 0;
    rc = ctt_baselines_measure(p->train, p->val, &end, 1, &b);
    if (rc < 0)
        return rc;
    for (int k = 0; k < CTT_BASELINES; k++)
        right[k] = ctt_metrics_top1(b.of[k], 0);
    none = right[CTT_LARGEST_CLASS];
    one = fmax(right[CTT_FIRST_FRAME], right[CTT_LAST_FRAME]);
    FOUND(f, "without a network %.1f%% of %d validation clips are right from "
          "the first or last frame alone, %.1f%% from differences of frames; "
          "%.1f%% are of the largest class", 100 * one, p->val->clips,
          100 * right[CTT_DIFFERENCES], 100 * none);
    if (p->val->longest > 1 && one - none > FRAME_MOST * (1 - none) &&
        ctt_baselines_scene(&b, p->val->clips))
        MENDS(f, "film each class in several places: the scene decides "
              "(doc/data.md)");
    ctt_baselines_free(&b);
    return 1;
}
