/* SPDX-License-Identifier: Apache-2.0
 * infer_several.c: clips with several labels: the mean average precision of a
 * model's probabilities, and thresholds of its classes, which are stored in its
 * file. */
#include "tools/infer/infer_tool.h"
#include "base/statistics/statistics.h"
#include "base/visible.h"
#include "net/file/file.h"
#include "net/file/thresholds.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of thresholds: 0 would make a class be there always. */
static const float LEAST = 1e-6f;

/* ---- the probabilities that are kept ---- */

/* Makes room for another clip. */
static int grow(struct ctt_kept_answers *k)
{
    size_t each = (size_t)k->classes * (size_t)k->ratios;
    void *more = ctt_grown(k->p, &k->room, k->clips, each * sizeof(*k->p));

    if (!more)
        return CTT_ENOMEM;
    k->p = more;
    more = ctt_grown(k->there, &k->room_there, k->clips, (size_t)k->classes);
    if (!more)
        return CTT_ENOMEM;
    k->there = more;
    memset(k->there + (int64_t)k->clips * k->classes, 0, (size_t)k->classes);
    return 0;
}

int ctt_kept_add(struct ctt_kept_answers *k, const struct ctt_list *l,
                 const struct ctt_item *item, int ratio, const float *probs)
{
    int64_t at;
    int rc = 0;

    if (ratio == 0)
        CTT_TRY(grow(k));
    at = (int64_t)k->clips * k->ratios + ratio;
    memcpy(k->p + at * k->classes, probs, (size_t)k->classes *
           sizeof(*k->p));
    for (int i = 0, c; (c = ctt_item_label(l, item, i)) >= 0; i++)
        if (c < k->classes)
            k->there[(int64_t)k->clips * k->classes + c] = 1;
    k->clips += ratio == k->ratios - 1;
out:
    return rc;
}

void ctt_kept_free(struct ctt_kept_answers *k)
{
    ctt_free(k->p);
    ctt_free(k->there);
    *k = (struct ctt_kept_answers){ .classes = 0 };
}

static struct ctt_scored *scores(const struct ctt_kept_answers *k, int ratio,
                                 int class, struct ctt_scored *s)
{
    for (int64_t i = 0; i < k->clips; i++)
        s[i] = (struct ctt_scored){
            k->p[(i * k->ratios + ratio) * k->classes + class],
            k->there[i * k->classes + class] };
    return s;
}

int ctt_kept_map(const struct ctt_kept_answers *k, double *map)
{
    struct ctt_scored *s = ctt_calloc((size_t)k->clips + 1, sizeof(*s));

    if (!s)
        return CTT_ENOMEM;
    for (int r = 0; r < k->ratios; r++) {
        int classes = 0;

        map[r] = 0;
        for (int j = 0; j < k->classes; j++) {
            double ap = ctt_average_precision(scores(k, r, j, s), k->clips);

            classes += !isnan(ap);
            map[r] += isnan(ap) ? 0 : ap;
        }
        map[r] /= classes ? classes : 1;
    }
    ctt_free(s);
    return 0;
}

/* Thresholds of the classes at which the harmonic mean of precision and recall
 * is greatest at the last ratio (van Rijsbergen 1979), 0.5 of a class that no
 * clip has. */
static int kept_thresholds(const struct ctt_kept_answers *k, float *threshold,
                           double *f1)
{
    struct ctt_scored *s = ctt_calloc((size_t)k->clips + 1, sizeof(*s));

    if (!s)
        return CTT_ENOMEM;
    for (int j = 0; j < k->classes; j++) {
        threshold[j] = ctt_best_threshold(scores(k, k->ratios - 1, j, s),
                                          k->clips, &f1[j]);
        threshold[j] = isnan(threshold[j]) ? CTT_THRESHOLD
                                           : fmaxf(threshold[j], LEAST);
    }
    ctt_free(s);
    return 0;
}

int ctt_order_there(const float *probs, const float *threshold, int classes,
                    int *order)
{
    int there = 0;

    ctt_top(probs, classes, order, classes);
    for (int i = 0; i < classes; i++) {
        int c = order[i];

        if (probs[c] < threshold[c])
            continue;
        memmove(order + there + 1, order + there,
                (size_t)(i - there) * sizeof(*order));
        order[there++] = c;
    }
    return there;
}

/* ---- accuracy ---- */

int ctt_say_precision(const struct ctt_accuracy *s, const double *map,
                      int scores, int json)
{
    struct ctt_table table = { 0 };

    if (!s[scores - 1].clips)
        return 0;
    if (json)
        printf("{\"accuracy\":[");
    else
        ctt_table_row(&table, "seen\tclips\tmAP\ttop-1");
    for (int i = 0; i < scores; i++, s++)
        if (json)
            printf("%s{\"seen\":%g,\"clips\":%d,\"map\":%.4f,\"top1\":%.4f}",
                   i ? "," : "", s->seen, s->clips, map[i],
                   (double)s->top1 / s->clips);
        else
            ctt_table_row(&table, "%g%%\t%d\t%.1f%%\t%.1f%%", 100 * s->seen,
                          s->clips, 100 * map[i], 100.0 * s->top1 / s->clips);
    printf(json ? "]}\n" : "\n");
    return json ? 0 : ctt_table_print(&table);
}

/* ---- calibration ---- */

int ctt_calibrate_several(struct ctt_recogniser *r,
                          const struct ctt_item *item,
                          const struct ctt_frames *f)
{
    size_t size = (size_t)f->w * (size_t)f->h * (size_t)f->c;
    int rc = 0, some;
    double ms = 0;

    if (ctt_recognise_label(r, item) < 0)
        goto out;
    for (int i = 0; i < f->count; i += some) {
        some = f->count - i < CTT_RECOGNISE_BATCH ? f->count - i
                                                  : CTT_RECOGNISE_BATCH;
        CTT_TRY(ctt_recognise_push(r, f->data + (size_t)i * size, some, &ms));
    }
    CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
    CTT_TRY(ctt_kept_add(&r->kept, r->list, item, 0, r->probs));
    ctt_tool_progress(0, "%d clips", r->kept.clips);
out:
    return rc;
}

static int store(const struct ctt_thresholds *found, const char *path)
{
    struct ctt_thresholds t = *found;
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_model_load(path, 1, &m));
    CTT_TRY(ctt_thresholds_sign(m, &t));
    ctt_decision_drop(m);
    CTT_TRY(ctt_thresholds_print(&t, &m->decision));
    CTT_TRY(ctt_model_save(path, m));
out:
    ctt_model_free(&m);
    return rc;
}

/* Clips of a class. */
static int clips_of(const struct ctt_kept_answers *k, int class)
{
    int n = 0;

    for (int64_t i = 0; i < k->clips; i++)
        n += k->there[i * k->classes + class];
    return n;
}

static int say(const struct ctt_kept_answers *k, const struct ctt_thresholds *t,
               const double *f1, char *const *name, int json)
{
    struct ctt_table table = { 0 };

    if (json)
        printf("{\"calibrated\":{\"clips\":%d,\"classes\":[", k->clips);
    else
        ctt_table_row(&table, "class\tclips\tthreshold\tF1");
    for (int i = 0; i < k->classes; i++) {
        int clips = clips_of(k, i);

        if (json) {
            printf("%s{\"class\":", i ? "," : "");
            ctt_json_put(stdout, name[i]);
            printf(",\"clips\":%d,\"threshold\":%.9g,\"f1\":%.4f}", clips,
                   (double)t->of[i], f1[i]);
        } else if (clips)
            ctt_table_row(&table, "%s\t%d\t%.4f\t%.1f%%", name[i], clips,
                          (double)t->of[i], 100 * f1[i]);
        else
            ctt_table_row(&table, "%s\t0\t%.4f\t-", name[i],
                          (double)t->of[i]);
    }
    if (json)
        printf("]}}\n");
    return json ? 0 : ctt_table_print(&table);
}

int ctt_calibrate_classes(const struct ctt_kept_answers *k, const char *path,
                          char *const *name, int json)
{
    struct ctt_thresholds t = { .clips = k->clips, .classes = k->classes };
    double f1[CTT_THRESHOLD_CLASSES];
    int rc = 0;

    ctt_tool_clear();
    CTT_CHECK(k->clips > 0, CTT_EINVAL, "--calibrate: no clip has a class of "
              "the model");
    CTT_CHECK(k->classes <= CTT_THRESHOLD_CLASSES, CTT_EINVAL, "--calibrate: "
              "%d classes; at most %d have thresholds of their own", k->classes,
              CTT_THRESHOLD_CLASSES);
    CTT_TRY(kept_thresholds(k, t.of, f1));
    CTT_TRY(store(&t, path));
    CTT_TRY(say(k, &t, f1, name, json));
out:
    return rc;
}
