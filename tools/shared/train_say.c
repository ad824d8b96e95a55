/* SPDX-License-Identifier: Apache-2.0
 * train_say.c: the lines of convtt-train while it trains. */
#include "tools/shared/training.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void on_clip(void *arg, const char *what)
{
    (void)arg;
    ctt_tool_warn("%s (skipped)", what);
}

static void on_warn(void *arg, const char *what)
{
    (void)arg;
    ctt_tool_warn("%s", what);
}

static void on_say(void *arg, const char *line)
{
    (void)arg;
    ctt_tool_say("%s", line);
}

static void on_scan(void *arg, int done, int clips)
{
    (void)arg;
    CTT_PROGRESS(done, clips, "reading clips: %d of %d", done, clips);
}

/* Loss and accuracy, or loss and sampling, of a progress line. */
static const char *put_top1(const struct ctt_progress *p, char *buf,
                            size_t size)
{
    if (isnan(p->loss))
        snprintf(buf, size, "train loss -, train top-1 -");
    else
        snprintf(buf, size, "train loss %.3f, train top-1 %.1f%%", p->loss,
                 100 * p->top1);
    return buf;
}

static const char *put_both(const struct ctt_progress *p, char *buf,
                            size_t size)
{
    size_t n = strlen(put_top1(p, buf, size));

    if (isnan(p->ahead))
        snprintf(buf + n, size - n, ", next frame -");
    else
        snprintf(buf + n, size - n, ", next frame %.4f x %.3g", p->ahead,
                 p->ahead_weight);
    return buf;
}

static const char *put_truth(const struct ctt_progress *p, char *buf,
                             size_t size)
{
    int n = isnan(p->loss) ? snprintf(buf, size, "train loss -")
                           : snprintf(buf, size, "train loss %.5f", p->loss);

    if (p->truth < 1)
        snprintf(buf + n, size - (size_t)n, ", true frames %.1f%%",
                 100 * p->truth);
    return buf;
}

static const char *put_symbols(const struct ctt_progress *p, char *buf,
                               size_t size)
{
    if (isnan(p->loss))
        snprintf(buf, size, "train loss -, perplexity -");
    else
        snprintf(buf, size, "train loss %.3f, perplexity %.2f", p->loss,
                 exp(p->loss));
    return buf;
}

static const char *(*const puts_of[])(const struct ctt_progress *, char *,
                                      size_t) = {
    [CTT_RECOGNISE] = put_top1, [CTT_PREDICT] = put_truth,
    [CTT_BOTH] = put_both, [CTT_NEXT] = put_symbols,
};

const char *ctt_say_loss(const struct ctt_progress *p, char *buf, size_t size)
{
    return puts_of[p->task](p, buf, size);
}

const char *ctt_say_scale(double scale, int64_t skipped, char *buf,
                          size_t size)
{
    int exponent, n;

    if (scale > 1 && frexp(scale, &exponent) == 0.5)
        n = snprintf(buf, size, "loss scale 2^%d", exponent - 1);
    else
        n = snprintf(buf, size, "loss scale %g", scale);
    snprintf(buf + n, size - (size_t)n, ", %lld step%s skipped",
             (long long)skipped, ctt_s(skipped));
    return buf;
}

void ctt_say_amp(const struct ctt_progress *p, char *buf, size_t size)
{
    char scale[96];
    size_t n = strlen(buf);

    if (p->amp && n < size)
        snprintf(buf + n, size - n, ", %s",
                 ctt_say_scale(p->scale, p->skipped, scale, sizeof(scale)));
}

double ctt_say_epoch_share(const struct ctt_progress *p)
{
    return p->batches ? (double)p->batch / p->batches : 0;
}

static void on_progress(void *arg, const struct ctt_progress *p)
{
    const struct ctt_work w = { p->epoch - 1 + ctt_say_epoch_share(p),
                                p->epochs, p->left };
    char what[192], ranks[32] = "";

    (void)arg;
    if (p->ranks > 1)
        snprintf(ranks, sizeof(ranks), " on %d processes", p->ranks);
    ctt_say_loss(p, what, sizeof(what));
    ctt_say_amp(p, what, sizeof(what));
    ctt_tool_progress(&w, "epoch %d/%d %d/%d%s: %s, %.1f %s/s, waiting for "
                      "%s %.0f%%", p->epoch, p->epochs, p->batch,
                      p->batches, ranks, what, p->clips_a_second, p->clips,
                      p->clips, 100 * p->wait);
}

const char *ctt_say_point(const struct ctt_point *p, char *buf, size_t size)
{
    if (p->frames)
        snprintf(buf, size, "%d frame%s", p->frames, ctt_s(p->frames));
    else
        snprintf(buf, size, "%g%%", 100 * p->ratio);
    return buf;
}

static void put_points(const struct ctt_epoch *e, const struct ctt_metrics *val,
                       char *buf, size_t size)
{
    char point[32];
    size_t n = 0;

    if (val && val->several)
        n = (size_t)snprintf(buf, size, " mAP");
    for (int k = 0; val && k < val->points && n + 64 < size; k++)
        n += (size_t)snprintf(buf + n, size - n, " %.1f%% at %s,",
                              100 * ctt_metrics_score(val, k),
                              ctt_say_point(&val->point[k], point,
                                            sizeof(point)));
    if (val && val->several)
        n += (size_t)snprintf(buf + n, size - n, " top-1 %.1f%%,",
                              100 * e->val.top1);
    snprintf(buf + n, size - n, " loss %.3f", e->val.loss);
}

static void put_quality(const struct ctt_epoch *e,
                        const struct ctt_metrics *val, char *buf, size_t size)
{
    (void)val;
    snprintf(buf, size, " MSE %.2fe-3, SSIM %.3f (range 2: %.3f), loss %.5f",
             1e3 * e->val.mse, e->val.ssim, e->val.ssim2, e->val.loss);
}

static void put_perplexity(const struct ctt_epoch *e,
                           const struct ctt_metrics *val, char *buf,
                           size_t size)
{
    (void)val;
    snprintf(buf, size, " perplexity %.2f, loss %.3f", exp(e->val.loss),
             e->val.loss);
}

static void (*const tests_of[])(const struct ctt_epoch *,
                                const struct ctt_metrics *, char *, size_t) = {
    [CTT_RECOGNISE] = put_points, [CTT_PREDICT] = put_quality,
    [CTT_BOTH] = put_points, [CTT_NEXT] = put_perplexity,
};

/* By what the weights of an epoch are kept (ctt_task_kind.better()). */
static const char *const bests_of[] = {
    [CTT_RECOGNISE] = " (best mean)",
    [CTT_PREDICT] = " (best MSE)",
    [CTT_BOTH] = " (best mean)",
    [CTT_NEXT] = " (best)",
};

void ctt_say_test(const struct ctt_epoch *e, const struct ctt_metrics *val,
                  char *buf, size_t size)
{
    size_t n;

    *buf = '\0';
    if (e->tested)
        tests_of[e->p.task](e, val, buf, size);
    n = strlen(buf);
    if (e->best)
        snprintf(buf + n, size - n, "%s", bests_of[e->p.task]);
}

static void on_epoch(void *arg, const struct ctt_epoch *e,
                     const struct ctt_metrics *val)
{
    char what[192], test[400] = "";

    (void)arg;
    ctt_say_loss(&e->p, what, sizeof(what));
    ctt_say_amp(&e->p, what, sizeof(what));
    ctt_say_test(e, val, test, sizeof(test));
    ctt_tool_say("epoch %d/%d: %s%s%s; %.1f %s/s, %.0f s", e->p.epoch,
                 e->p.epochs, what, e->tested ? "; validation:" : "", test,
                 e->p.clips_a_second, e->p.clips, e->p.seconds);
}

const struct ctt_events ctt_say_events = {
    .clip = on_clip, .warn = on_warn, .say = on_say, .scan = on_scan,
    .progress = on_progress, .epoch = on_epoch,
};
