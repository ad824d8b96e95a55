/* SPDX-License-Identifier: Apache-2.0
 * infer_report.c: --report-html of recognition: a page about answers to
 * clips. */
#include "tools/infer/infer_tool.h"
#include "base/statistics/statistics.h"
#include "tools/report/page.h"

#include <math.h>
#include <string.h>

/* ---- collecting ---- */

void ctt_infer_report_free(struct ctt_infer_report *p)
{
    for (int k = 0; k < p->worst; k++)
        ctt_film_free(&p->film[k]);
    ctt_film_free(&p->shown);
    p->worst = 0;
}

void ctt_infer_report_sure(struct ctt_infer_report *p, double sure, int right)
{
    int bin = (int)(sure * CTT_SURE_BINS);

    bin = bin < CTT_SURE_BINS ? bin : CTT_SURE_BINS - 1;
    p->clips[bin]++;
    p->right[bin] += right;
    p->sure[bin] += sure;
}

/* The wrong clip that was judged last. */
static int take_wrong(struct ctt_recogniser *r, const struct ctt_item *item,
                      const struct ctt_frames *d)
{
    struct ctt_infer_report *p = &r->report;
    const struct ctt_wrong *w = &r->judged.of[r->judged.count - 1];
    struct ctt_film f = { 0 };
    int rc = 0, to;

    if (p->worst == CTT_WORST_CLIPS && w->p <= p->film[p->worst - 1].p)
        goto out;
    CTT_TRY(ctt_film_take(r, item, d, &f));
    f.p = w->p;
    f.answer = w->answer;
    if (p->worst == CTT_WORST_CLIPS)
        ctt_film_free(&p->film[--p->worst]);
    for (to = p->worst++; to > 0 && f.p > p->film[to - 1].p; to--)
        p->film[to] = p->film[to - 1];
    p->film[to] = f;
out:
    return rc;
}

/* The surest of the first answers that are right, as the last one is; of clips
 * without a class, or with several, the first. */
int ctt_infer_report_clip(struct ctt_recogniser *r,
                          const struct ctt_item *item,
                          const struct ctt_frames *d, int wrong)
{
    struct ctt_film *f = &r->report.shown;
    int judged = ctt_recognise_label(r, item) >= 0 && !r->threshold, rc = 0;

    if (wrong)
        return take_wrong(r, item, d);
    if (judged ? r->report.early <= f->p : f->id != NULL)
        goto out;
    ctt_film_free(f);
    CTT_TRY(ctt_film_take(r, item, d, f));
    f->p = judged ? r->report.early : 0;
out:
    return rc;
}

/* ---- sections ---- */

static int put_facts(FILE *f, const struct ctt_recogniser *r)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    int known = r->accuracy[r->ratios - 1].clips, most = 0, at = 0;

    for (int k = 0; k < r->classes && r->renamed; k++) {
        int n = 0;

        for (int i = 0; i < r->classes; i++)
            n += r->renamed[(size_t)k * (size_t)r->classes + (size_t)i];
        if (n > most) {
            most = n;
            at = k;
        }
    }
    ctt_table_row(&t, "model\t%s", r->report.model);
    ctt_table_row(&t, "clips\t%d, of a known class %d", r->read, known);
    if (r->skipped)
        ctt_table_row(&t, "skipped\t%d", r->skipped);
    if (most)
        ctt_table_row(&t, "always the most frequent class\t%.1f%% right (%s)",
                      100.0 * most / known, r->label[at]);
    if (t.rc >= 0)
        ctt_page_facts(f, "The test", &t);
    ctt_table_free(&t);
    return t.rc;
}

/* With several labels per clip, of their mean average precision. */
static void put_accuracy(FILE *f, const struct ctt_recogniser *r)
{
    double x[CTT_RECOGNISE_RATIOS], y[2][CTT_RECOGNISE_RATIOS];
    double low[CTT_RECOGNISE_RATIOS], high[CTT_RECOGNISE_RATIOS];
    struct ctt_series s[2] = {
        { "top-1", r->ratios, x, y[0], low, high },
        { "top-5", r->ratios, x, y[1], NULL, NULL } };
    int several = r->threshold != NULL;

    for (int i = 0; i < r->ratios; i++) {
        const struct ctt_accuracy *a = &r->accuracy[i];
        double range[2];

        x[i] = 100 * a->seen;
        y[0][i] = several ? r->report.map[i] : (double)a->top1 / a->clips;
        y[1][i] = (double)a->top5 / a->clips;
        ctt_wilson(y[0][i], a->clips, range);
        low[i] = several ? NAN : range[0];
        high[i] = several ? NAN : range[1];
    }
    ctt_page_chart(f, &(struct ctt_chart){ several
        ? "Mean average precision by the part of the clip that was seen"
        : "Right answers by the part of the clip that was seen; bars: 95% "
          "confidence", "% of the clip", several ? "mAP" : "top-1", s,
        several || r->classes <= 5 ? 1 : 2, 1, 0, 0, 1 });
}

/* A reliability diagram (Niculescu-Mizil and Caruana 2005). */
static void put_calibration(FILE *f, const struct ctt_infer_report *p)
{
    static const double seen[] = { 0, 100 }, ends[] = { 0, 1 };
    double x[CTT_SURE_BINS], y[CTT_SURE_BINS], low[CTT_SURE_BINS],
           high[CTT_SURE_BINS], range[2], error = 0, clips = 0;
    struct ctt_series s[2] = { { "the model", 0, x, y, low, high },
                               { "as sure as right", 2, seen, ends } };
    char title[160];

    for (int k = 0; k < CTT_SURE_BINS; k++) {
        if (!p->clips[k])
            continue;
        x[s[0].n] = 100 * p->sure[k] / p->clips[k];
        y[s[0].n] = (double)p->right[k] / p->clips[k];
        ctt_wilson(y[s[0].n], p->clips[k], range);
        low[s[0].n] = range[0];
        high[s[0].n] = range[1];
        error += fabs(p->sure[k] - p->right[k]);
        clips += p->clips[k];
        s[0].n++;
    }
    if (clips <= 0)
        return;
    snprintf(title, sizeof(title), "Calibration: right answers by the "
             "probability of the answer (expected error %.1f points)",
             100 * error / clips);
    ctt_page_chart(f, &(struct ctt_chart){ title, "probability of the answer, "
        "%", "top-1", s, 2, 1, 0, 0, 1 });
}

static int put_heat(FILE *f, const struct ctt_recogniser *r)
{
    size_t n = (size_t)r->classes * (size_t)r->classes;
    int64_t *clips = ctt_calloc(n + 1, sizeof(*clips));

    if (!clips)
        return CTT_ENOMEM;
    for (size_t i = 0; i < n; i++)
        clips[i] = r->renamed[i];
    ctt_page_heat(f, clips, r->classes, r->label);
    ctt_free(clips);
    return 0;
}

static int put_worst(FILE *f, const struct ctt_recogniser *r)
{
    char note[300];
    int rc = 0;

    ctt_page_section(f, "Most wrong", r->report.worst
        ? "The wrong answers that are surest at the end of their clips."
        : "No clip is answered wrongly at its end.");
    for (int k = 0; k < r->report.worst; k++) {
        const struct ctt_film *w = &r->report.film[k];

        snprintf(note, sizeof(note), "answer: %.120s (%.1f%%); true class: "
                 "%.120s", r->label[w->answer], 100 * (double)w->p,
                 r->label[w->label]);
        CTT_TRY(ctt_film_put(f, w, r, r->set->report_html, note));
    }
out:
    return rc;
}

static int put_shown(FILE *f, const struct ctt_recogniser *r)
{
    const struct ctt_film *w = &r->report.shown;
    char note[200];
    int rc = 0;

    if (!w->id)
        goto out;
    ctt_page_section(f, w->p > 0 ? "Right" : "A clip", w->p > 0
        ? "Of the clips that are right at first and at their end, the one "
          "whose first answer is surest." : NULL);
    if (w->p > 0)
        snprintf(note, sizeof(note), "answer after %g%%: %.120s (%.1f%%)",
                 100 * r->accuracy[0].seen, r->label[w->label],
                 100 * (double)w->p);
    CTT_TRY(ctt_film_put(f, w, r, r->set->report_html, w->p > 0 ? note
                                                                : NULL));
out:
    return rc;
}

/* ---- pages ---- */

static int print_report(FILE *f, const void *arg)
{
    const struct ctt_recogniser *r = arg;
    int rc;

    ctt_page_begin(f, "Answers to clips");
    CTT_TRY(put_facts(f, r));
    if (r->accuracy[r->ratios - 1].clips) {
        ctt_page_section(f, "Accuracy", NULL);
        put_accuracy(f, r);
        put_calibration(f, &r->report);
    }
    CTT_TRY(put_shown(f, r));
    if (r->renamed && r->accuracy[r->ratios - 1].clips && !r->threshold) {
        ctt_page_section(f, "Confusion", "At the end of each clip.");
        CTT_TRY(put_heat(f, r));
        CTT_TRY(put_worst(f, r));
    }
    ctt_page_end(f);
out:
    return rc;
}

void ctt_infer_report_write(const struct ctt_recogniser *r)
{
    ctt_page_write(r->set->report_html, print_report, r);
}

/* ---- early decisions ---- */

static int print_decisions(FILE *f, const void *arg)
{
    static const struct ctt_bars columns[] = {
        { "clips", "%.0f" }, { "of them right", "%.1f%%" } };
    static const char *const tenth[CTT_DECIDE_TENTHS] = { "up to 10%",
        "10 to 20%", "20 to 30%", "30 to 40%", "40 to 50%", "50 to 60%",
        "60 to 70%", "70 to 80%", "80 to 90%", "90 to 100%" };
    const struct ctt_recogniser *r = arg;
    const struct ctt_decide_sums *s = &r->decided;
    struct ctt_table t = { NULL, 0, 0, 0 };
    double v[CTT_DECIDE_TENTHS][2];
    int rc;

    ctt_page_begin(f, "Early decisions");
    ctt_table_row(&t, "model\t%s", r->report.model);
    ctt_table_row(&t, "clips\t%d, of a known class %d", s->clips, s->known);
    ctt_table_row(&t, "decided early\t%d", s->early);
    ctt_table_row(&t, "frames seen\t%.1f%%", 100 * s->seen / s->clips);
    if (s->known)
        ctt_table_row(&t, "right\t%.1f%%, at the end of each clip %.1f%%; lost "
                      "%d, won %d", 100.0 * s->right / s->known, 100.0 *
                      (s->right + s->lost - s->won) / s->known, s->lost,
                      s->won);
    CTT_TRY(t.rc);
    ctt_page_facts(f, "The test", &t);
    for (int k = 0; k < CTT_DECIDE_TENTHS; k++) {
        v[k][0] = s->at[k];
        v[k][1] = s->known == s->clips && s->at[k]
                  ? 100.0 * s->right_at[k] / s->at[k] : NAN;
    }
    ctt_page_bars(f, "Decisions by the part of the clip that was seen", tenth,
                  CTT_DECIDE_TENTHS, columns, 2, v[0]);
    ctt_page_end(f);
out:
    ctt_table_free(&t);
    return rc;
}

void ctt_decide_report_write(const struct ctt_recogniser *r)
{
    if (r->decided.clips)
        ctt_page_write(r->set->report_html, print_decisions, r);
}
