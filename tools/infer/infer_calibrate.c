/* SPDX-License-Identifier: Apache-2.0
 * infer_calibrate.c: finds the thresholds of early decisions for a model file
 * and stores them in it. */
#include "tools/infer/infer_tool.h"
#include "infer/decide.h"
#include "base/statistics/statistics.h"
#include "net/code/zip.h"
#include "net/file/card.h"
#include "net/file/file.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/tool.h"
#include "tools/shared/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ctt_calibrator {
    const struct ctt_decide_set *set;
    const char        *path;
    struct ctt_decision d;         /* to be stored */
    struct ctt_answers answers;
    struct ctt_trials  t;
    struct ctt_smooth  smooth;
    int                again;      /* the file had thresholds, now replaced */
    int                unknown;    /* clips without a class of the model */
    uint32_t           trained;    /* checksum of the training's clips; 0:
                                      unknown */
    int                fitted;     /* clips that the head was fitted on, which
                                      come first */
};

/* ---- the model ---- */

static int read_model(struct ctt_calibrator *c)
{
    struct ctt_model *m = NULL;
    const char *sum;
    int n = 0, rc;

    CTT_TRY(ctt_model_load(c->path, 1, &m));
    CTT_TRY(ctt_decision_sign(m, &c->d));
    sum = ctt_card_find(m->history, "data-crc", &n);
    c->trained = sum ? (uint32_t)strtoul(sum, NULL, 16) : 0;
out:
    ctt_model_free(&m);
    return rc;
}

void ctt_calibrate_judge(const struct ctt_calibrator *c, const char *path,
                         uint32_t crc)
{
    if (c->trained && c->trained == crc)
        ctt_tool_warn("%s: the model was trained on these clips: thresholds "
                      "found on them promise too much; use clips that it has "
                      "not seen", path);
}

int ctt_calibrate_check(const char *path)
{
    int rc = 0;

    CTT_TRY(ctt_output_is(path, &ctt_output_checkpoint));
    CTT_CHECK(!rc, CTT_EINVAL, "%s: is a checkpoint of a training: calibrate "
              "the model that the training writes", path);
    CTT_TRY(ctt_output_check(path, &ctt_output_model));
    CTT_CHECK(access(path, W_OK) == 0, CTT_EIO, "%s: cannot write: %s", path,
              strerror(errno));
out:
    return rc;
}

int ctt_calibrator_open(const struct ctt_decide_set *set, const char *path,
                        const char *type, int classes,
                        struct ctt_calibrator **out)
{
    struct ctt_calibrator *c = ctt_calloc(1, sizeof(*c));
    int rc = c ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    c->set = set;
    c->path = path;
    c->smooth = (struct ctt_smooth){ .classes = classes,
        .p = ctt_calloc((size_t)classes, sizeof(float)) };
    CTT_TRY(c->smooth.p ? 0 : CTT_ENOMEM);
    snprintf(c->d.type, sizeof(c->d.type), "%s", type);
    CTT_TRY(ctt_calibrate_check(path));
    CTT_TRY(ctt_output_check(set->answers, &ctt_output_table));
    CTT_TRY(read_model(c));
    *out = c;
    c = NULL;
out:
    ctt_calibrator_close(&c);
    return rc;
}

void ctt_calibrator_close(struct ctt_calibrator **c)
{
    if (!*c)
        return;
    ctt_answers_free(&(*c)->answers);
    ctt_answers_trials_free(&(*c)->t);
    ctt_free((*c)->smooth.p);
    ctt_free(*c);
    *c = NULL;
}

/* ---- clips ---- */

struct run {
    struct ctt_recogniser   *r;
    const struct ctt_frames *f;
    int                      seen;
    double                   ms;
};

static int run_until(struct run *x, int frame)
{
    const struct ctt_frames *f = x->f;
    size_t size = (size_t)f->w * (size_t)f->h * (size_t)f->c;
    int rc = 0, most = x->r->set->time ? 1 : CTT_RECOGNISE_BATCH;

    while (x->seen < frame) {
        int some = frame - x->seen < most ? frame - x->seen : most;
        CTT_TRY(ctt_recognise_push(x->r, f->data + (size_t)x->seen * size,
                                   some, &x->ms));
        x->seen += some;
    }
out:
    return rc;
}

/* The answers at each check and at the end. */
static int ask(struct run *x, struct ctt_smooth *s, struct ctt_answer *a)
{
    struct ctt_recogniser *r = x->r;
    int rc = 0;

    for (a->checks = 0; a->checks < CTT_DECISION_CHECKS; a->checks++) {
        int k = a->checks, frame = ctt_decision_frame(k);
        if (frame > x->f->count)
            break;
        CTT_TRY(run_until(x, frame));
        CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
        a->answer[k] = ctt_smooth_next(s, k, r->probs, &a->sure[k]);
    }
    CTT_TRY(run_until(x, x->f->count));
    CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
    ctt_top(r->probs, r->classes, &a->end, 1);
out:
    return rc;
}

int ctt_calibrate_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                       const struct ctt_frames *f)
{
    struct ctt_calibrator *c = r->calibrator;
    struct run x = { .r = r, .f = f };
    struct ctt_answer *a;
    int label = ctt_recognise_label(r, item), rc = 0;
    size_t size = (size_t)f->w * (size_t)f->h * (size_t)f->c;

    if (label < 0) {
        c->unknown++;
        goto out;
    }
    CTT_TRY(ctt_answers_add(&c->answers, item->id, &a));
    a->label = label;
    a->frames = f->count;
    a->crc = ctt_crc32(0, f->data, 1, (int64_t)size * f->count);
    CTT_TRY(ask(&x, &c->smooth, a));
    ctt_renamed_count(r->classes, r->renamed, label, a->end);
    ctt_tool_progress(0, "%d clips", c->answers.count);
out:
    return rc;
}

/* ---- the thresholds ---- */

/* A head takes a part of the clips, the rest are the trials. */
static int split_clips(struct ctt_calibrator *c)
{
    struct ctt_answers rest;
    int classes = c->smooth.classes, rc = 0;

    if (ctt_calibrate_wants_head((enum ctt_head_choice)c->set->head,
                                 c->answers.count, classes)) {
        CTT_TRY(ctt_calibrate_head(&c->answers, classes, &c->d.head));
        c->fitted = rc;
    }
    rest = (struct ctt_answers){ c->answers.of + c->fitted,
                                 c->answers.count - c->fitted, 0 };
    CTT_TRY(ctt_answers_trials(&rest, &c->d.head, &c->t));
out:
    return rc;
}

/* With fewer than so many times the least number of clips, conditional often
 * finds nothing (doc/bench/decisions.md). */
enum { AMPLE = 10 };

/* The guarantee that is asked for.  auto looks at the number of clips and at
 * nothing else, or the choice itself would need a test. */
static struct ctt_guarantee_set promise(const struct ctt_calibrator *c)
{
    struct ctt_guarantee_set s = { CTT_GUARANTEE_CONDITIONAL, c->set->max_gap,
                                   c->set->delta };

    if (c->set->guarantee)
        s.kind = (enum ctt_guarantee)(c->set->guarantee - 1);
    else if (c->t.clips < AMPLE * ctt_calibrate_least(&s))
        s.kind = CTT_GUARANTEE_MARGINAL;
    return s;
}

/* The highest thresholds are always safe, as nobody reaches them. */
static int decides_any(const struct ctt_calibrator *c)
{
    for (int i = 0; i < c->t.clips; i++)
        if (ctt_trials_stop(&c->t, i, c->d.threshold) < c->t.checks)
            return 1;
    return 0;
}

static int find_thresholds(struct ctt_calibrator *c)
{
    struct ctt_guarantee_set s = promise(c);
    int64_t least = ctt_calibrate_least(&s);
    int n = c->t.clips, rc;
    char fitted[64] = "";
    int tested = s.kind == CTT_GUARANTEE_CONDITIONAL ? n - n / 2 : n;

    if (c->fitted)
        snprintf(fitted, sizeof(fitted), " (without the %d of --head)",
                 c->fitted);
    CTT_CHECK(n >= least, CTT_EINVAL, "--calibrate: %d clips%s are too few for "
              "--max-gap %g --delta %g --guarantee %s: at least %" PRId64
              " are needed; %d allow --max-gap %.3f or more", n, fitted,
              s.max_gap, s.delta, ctt_guarantee_words[s.kind], least, n,
              ceil(1000 * ctt_binomial_bound(tested, s.delta)) / 1000);
    CTT_TRY(ctt_calibrate(&c->t, &s, c->d.threshold));
    CTT_CHECK(decides_any(c), CTT_EINVAL, "--calibrate: with these %d "
              "clips no early decision is sure to lose at most %g%% "
              "(--guarantee %s): give more clips, a larger --max-gap or a "
              "larger --delta", n,
              100 * s.max_gap, ctt_guarantee_words[s.kind]);
    c->d.guarantee = s.kind;
    c->d.max_gap = s.max_gap;
    c->d.delta = s.delta;
    c->d.clips = n;
    c->d.checks = c->t.checks;
out:
    return rc;
}

/* Fails if the file was replaced meanwhile: the thresholds are of the old
 * model. */
static int store(struct ctt_calibrator *c)
{
    struct ctt_model *m = NULL;
    int rc, same;

    CTT_TRY(ctt_model_load(c->path, 1, &m));
    CTT_TRY(same = ctt_decision_holds(&c->d, m));
    CTT_CHECK(same, CTT_EIO, "%s: another model has taken its place meanwhile",
              c->path);
    c->again = m->decision != NULL;
    ctt_decision_drop(m);
    CTT_TRY(ctt_decision_print(&c->d, &m->decision));
    CTT_TRY(ctt_model_save(c->path, m));
out:
    ctt_model_free(&m);
    return rc;
}

/* ---- output ---- */

/* The effect of the thresholds on the clips of the calibration. */
struct done {
    int    decided[CTT_DECISION_CHECKS], lost[CTT_DECISION_CHECKS];
    int    early, losses;
    double seen;
};

static void apply_thresholds(const struct ctt_calibrator *c, struct done *d)
{
    const struct ctt_trials *t = &c->t;
    double seen;

    for (int i = 0; i < t->clips; i++) {
        int k = ctt_trials_stop(t, i, c->d.threshold);
        if (k == t->checks) {
            d->seen += 1;
            continue;
        }
        seen = (double)ctt_decision_frame(k) /
               c->answers.of[c->fitted + i]->frames;
        d->seen += seen;
        d->decided[k]++;
        d->lost[k] += t->lost[(int64_t)i * t->checks + k];
        d->early += seen < 1;    /* the last frame is no earlier than the end */
        d->losses += t->lost[(int64_t)i * t->checks + k];
    }
}

static int say_checks(const struct ctt_calibrator *c, const struct done *d,
                      int json)
{
    struct ctt_table table = { NULL };
    int decided = 0, lost = 0, some = 0;

    if (!json)
        ctt_tool_say("clips decided by a frame, and of these the lost ones: "
                     "wrong then, right at their end");
    ctt_table_row(&table, "frame\tthreshold\tdecided\tlost of these");
    for (int k = 0; k < c->d.checks; k++) {
        double least = (double)c->d.threshold[k];
        decided += d->decided[k];
        lost += d->lost[k];
        if (isinf(least))
            continue;
        if (json)
            printf("%s{\"frame\":%d,\"threshold\":%.9g,\"decided\":%d,"
                   "\"lost\":%d}", some ? "," : "", ctt_decision_frame(k),
                   least, decided, lost);
        else
            ctt_table_row(&table, "%d\t%.6f\t%.1f%%\t%.1f%%",
                          ctt_decision_frame(k), least,
                          100.0 * decided / c->d.clips,
                          decided ? 100.0 * lost / decided : 0);
        some++;
    }
    if (!json)
        return ctt_table_print(&table);
    ctt_table_free(&table);
    return 0;
}

static void say_promise(const struct ctt_calibrator *c)
{
    ctt_tool_say("that is: of new clips of this kind%s no more than %g%% will "
                 "be lost, decided early and wrong although right at their "
                 "end; the chance that this promise is broken is %g%% "
                 "(--delta)",
                 c->d.guarantee == CTT_GUARANTEE_CONDITIONAL
                 ? ", also of those decided by any one frame," : "",
                 100 * c->d.max_gap, 100 * c->d.delta);
}

static int say_calibrated(const struct ctt_calibrator *c, int json)
{
    struct done d = { .early = 0 };
    double n = (double)c->d.clips;
    int rc;

    apply_thresholds(c, &d);
    if (json)
        printf("{\"calibrated\":{\"model\":\"%08" PRIx32 "\",\"guarantee\":"
               "\"%s\",\"max_gap\":%g,\"delta\":%g,\"clips\":%d,\"early\":%d,"
               "\"lost\":%.4f,\"seen\":%.4f,\"replaced\":%s,"
               "\"fitted\":%d,\"checks\":[", c->d.crc,
               ctt_guarantee_words[c->d.guarantee], c->d.max_gap, c->d.delta,
               (int)c->d.clips, d.early, d.losses / n, d.seen / n,
               c->again ? "true" : "false", c->fitted);
    CTT_TRY(say_checks(c, &d, json));
    if (json)
        printf("]}}\n");
    else
        ctt_tool_say("\n%s now has thresholds: %s guarantee for a gap of "
                     "%g%% with probability %g, from %d clips, of which %.1f%% "
                     "of the frames are seen, %.1f%% are decided early and "
                     "%.1f%% are lost%s",
                     c->path, ctt_guarantee_words[c->d.guarantee],
                     100 * c->d.max_gap, 1 - c->d.delta, (int)c->d.clips,
                     100 * d.seen / n, 100 * d.early / n, 100 * d.losses / n,
                     c->again ? "; the thresholds of before are replaced" : "");
    if (!json)
        say_promise(c);
    if (!json && c->fitted)
        ctt_tool_say("%d other clips fitted the confidence head", c->fitted);
out:
    return rc;
}

/* Clips that the guarantee says nothing of. */
static void warn(const struct ctt_calibrator *c, char *const *name, int twice)
{
    int classes = c->smooth.classes, absent = 0, first = -1;

    if (c->unknown)
        ctt_tool_warn("%d clip%s without a class of the model left out",
                      c->unknown, ctt_s(c->unknown));
    if (twice)
        ctt_tool_warn("%d clip%s left out that have the frames of others: "
                      "clips must be independent", twice, ctt_s(twice));
    for (int k = 0; k < classes; k++)
        if (!ctt_answers_has(&c->answers, k)) {
            first = absent++ ? first : k;
        }
    if (absent)
        ctt_tool_warn("no clip of %d of the %d classes (%s%s): the guarantee "
                      "holds for a mixture of classes like that of the clips",
                      absent, classes, name[first], absent > 1 ? ", ..." : "");
}

int ctt_calibrator_finish(struct ctt_calibrator *c, char *const *name,
                          int json)
{
    int twice = ctt_answers_unique(&c->answers), rc = 0;

    ctt_tool_clear();
    CTT_CHECK(c->answers.count > 0, CTT_EINVAL, "--calibrate: no clip has a "
              "class of the model");
    if (c->set->answers)
        CTT_TRY(ctt_answers_write(&c->answers, name, c->set->answers));
    CTT_TRY(split_clips(c));
    CTT_TRY(find_thresholds(c));
    warn(c, name, twice);
    CTT_TRY(store(c));
    CTT_TRY(say_calibrated(c, json));
out:
    return rc;
}
