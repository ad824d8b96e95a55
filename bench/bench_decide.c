/* SPDX-License-Identifier: Apache-2.0
 * bench_decide.c: tests the guarantees of calibrated thresholds, and measures
 * the frames that early decisions save.
 * Usage: bench_decide ANSWERS.csv CLIPS SPLITS [DELTA [CURVE.html]].
 *
 * ANSWERS.csv is written by convtt-infer --calibrate --answers.  For each gap
 * and guarantee, thresholds are found SPLITS times on CLIPS clips,
 *
 *   split: drawn without repetition, and tried on all others;
 *   drawn: drawn with repetition, and tried on all clips, which are then the
 *          population that the guarantee speaks of, so the share of violations
 *          is at most DELTA but for chance.
 *
 * Both with the classes' probabilities and with a confidence head, which is
 * fitted on a third of the CLIPS, so that thresholds have the rest.  A
 * violation is a gap above the one that is allowed: of all clips (marginal),
 * or of those decided by any one check (conditional; in split of those decided
 * early, as a few clips of a test are above any gap by chance). */
#include "bench/decide_table.h"
#include "infer/head.h"
#include "base/random.h"
#include "base/newfile.h"
#include "tools/report/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double gaps[] = { 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15 };

enum { GAPS = CTT_LEN(gaps) };

struct bench {
    struct decide_clips all;
    struct ctt_trials   some;     /* clips for calibration */
    struct ctt_trials   tried;    /* all, with confidences of the head */
    struct ctt_head_row *row;     /* rows of the clips for fitting */
    int                *pick;     /* drawn clips */
    int                 head;     /* 1: there is one */
    int                *order;    /* all clips; test clips begin at `from` */
    int                 from, to;
    int                 clips, splits;
    double              delta;
};

/* Effect of thresholds, as shares of the clips; worst: the largest gap among
 * the clips decided at one check. */
struct result { double seen, early, gap, early_gap, worst; };

/* Clips lost by the part that was seen, in %. */
struct curve {
    double seen[CTT_DECISION_CHECKS], gap[CTT_DECISION_CHECKS];
    int    points;
};

/* ---- drawing ---- */

static void copy_clip(struct bench *b, int i, int clip)
{
    size_t n = (size_t)b->some.checks;

    memcpy(b->some.sure + (size_t)i * n, b->tried.sure + (size_t)clip * n,
           n * sizeof(float));
    memcpy(b->some.lost + (size_t)i * n, b->all.t.lost + (size_t)clip * n, n);
}

static int random_below(uint64_t key, int i, int n)
{
    return (int)(ctt_key(key, (uint64_t)i) % (uint64_t)n);
}

static void draw_clips(struct bench *b, uint64_t key, int again)
{
    int n = b->all.t.clips;

    b->from = again ? 0 : b->clips;
    b->to = n;
    for (int i = 0; i < b->clips; i++) {
        int k = again ? random_below(key, i, n)
                      : i + random_below(key, i, n - i);
        if (!again) {
            int swap = b->order[i];
            b->order[i] = b->order[k];
            b->order[k] = swap;
            k = b->order[i];
        }
        b->pick[i] = k;
    }
}

/* Sets all confidences by a head fitted on the first `fitted` drawn clips. */
static int set_sure(struct bench *b, int fitted)
{
    const struct ctt_answers *all = &b->all.answers;
    struct ctt_head head = { 0 };
    int rc = 0, rows = 0;

    for (int i = 0; i < fitted; i++) {
        const struct ctt_answer *a = all->of[b->pick[i]];
        for (int k = 0; k < a->checks; k++)
            b->row[rows++] = (struct ctt_head_row){ k, a->answer[k],
                                                    !ctt_answer_lost(a, k),
                                                    a->sure[k] };
    }
    if (fitted)
        CTT_TRY(ctt_head_fit(b->row, rows, b->all.classes, &head));
    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < all->of[i]->checks; k++)
            b->tried.sure[(int64_t)i * b->tried.checks + k] =
                ctt_head_sure(&head, k, all->of[i]->answer[k],
                              all->of[i]->sure[k]);
out:
    return rc;
}

/* Takes the drawn clips except the ones for fitting the head. */
static int fit_and_split(struct bench *b)
{
    int fitted = b->head ? b->clips / 3 : 0, rc;

    CTT_TRY(set_sure(b, fitted));
    b->some.clips = b->clips - fitted;
    for (int i = 0; i < b->some.clips; i++)
        copy_clip(b, i, b->pick[fitted + i]);
out:
    return rc;
}

/* ---- trying ---- */

static struct result try(const struct bench *b, const float *threshold)
{
    const struct ctt_trials *t = &b->tried;
    int decided[CTT_DECISION_CHECKS] = { 0 }, lost[CTT_DECISION_CHECKS] = { 0 };
    int n = b->to - b->from, early = 0, losses = 0;
    struct result r = { 0 };

    for (int i = b->from; i < b->to; i++) {
        int c = b->order[i], k = ctt_trials_stop(t, c, threshold);
        r.seen += k < t->checks ? (double)ctt_decision_frame(k) /
                                  b->all.frames[c] : 1;
        if (k < t->checks) {
            decided[k]++;
            lost[k] += t->lost[(int64_t)c * t->checks + k];
        }
    }
    for (int k = 0; k < t->checks; k++) {
        early += decided[k];
        losses += lost[k];
        if (early)
            r.worst = fmax(r.worst, (double)losses / early);
    }
    r.seen /= n;
    r.early = (double)early / n;
    r.gap = (double)losses / n;
    r.early_gap = early ? (double)losses / early : 0;
    return r;
}

/* One line: the means of all splits. */
static int run_splits(struct bench *b, const struct ctt_guarantee_set *set,
                      int again, struct result *mean)
{
    float threshold[CTT_DECISION_CHECKS];
    int rc = 0, broken = 0, none = 0;
    double worst = 0;

    *mean = (struct result){ 0 };
    for (int s = 0; s < b->splits; s++) {
        struct result r;
        draw_clips(b, (uint64_t)(2 * s + again), again);
        CTT_TRY(fit_and_split(b));
        CTT_TRY(ctt_calibrate(&b->some, set, threshold));
        none += rc == 0;
        r = try(b, threshold);
        mean->seen += r.seen / b->splits;
        mean->early += r.early / b->splits;
        mean->gap += r.gap / b->splits;
        mean->early_gap += r.early_gap / b->splits;
        worst = set->kind == CTT_GUARANTEE_MARGINAL ? r.gap :
                again ? r.worst : r.early_gap;
        broken += worst > set->max_gap;
    }
    printf("%-11s %-4s %-5s %5.1f%%  %6.1f%%  %5.1f%%  %6.1f%%  %6.2f%%  "
           "%6.2f%%  %6.1f%%\n", ctt_guarantee_words[set->kind],
           b->head ? "head" : "", again ? "drawn" : "split", 100 * set->max_gap,
           100.0 * broken / b->splits, 100.0 * none / b->splits,
           100 * (1 - mean->seen), 100 * mean->gap, 100 * mean->early_gap,
           100 * mean->early);
    fflush(stdout);
out:
    return rc < 0 ? rc : 0;
}

/* The curve without thresholds: all clips are answered at one check. */
static void find_curve(const struct bench *b, struct curve *c)
{
    const struct ctt_trials *t = &b->all.t;
    float threshold[CTT_DECISION_CHECKS];

    for (int k = 0; k < t->checks; k++) {
        struct result r;
        for (int i = 0; i < t->checks; i++)
            threshold[i] = i == k ? 0 : INFINITY;
        r = try(b, threshold);
        c->seen[k] = 100 * r.seen;
        c->gap[k] = r.gap;
    }
    c->points = t->checks;
}

static int print_page(FILE *f, const void *arg)
{
    static const char *const name[] = { "marginal", "conditional",
                                        "all clips at one check" };
    const struct curve *c = arg;
    struct ctt_series s[3];

    for (int k = 0; k < 3; k++)
        s[k] = (struct ctt_series){ name[k], c[k].points, c[k].seen, c[k].gap,
                                    NULL, NULL };
    ctt_page_begin(f, "Early decisions");
    ctt_page_chart(f, &(struct ctt_chart){ "Clips lost by the part that was "
        "seen", "% of the frames", "clips lost", s, 3, 1, 0, 0, NAN });
    ctt_page_end(f);
    return 0;
}

static int run_all(struct bench *b, const char *path)
{
    struct curve curve[3] = { { .points = GAPS }, { .points = GAPS } };
    struct result mean;
    int rc = 0;

    printf("%d clips of %d, %d times; violations of %g are expected up to "
           "%.1f%% (3 standard errors)\n", b->clips, b->all.t.clips, b->splits,
           b->delta, 100 * (b->delta + 3 * sqrt(b->delta * (1 - b->delta) /
                                                b->splits)));
    printf("%-11s %-4s %-5s %6s  %7s  %6s  %7s  %7s  %7s  %7s\n", "guarantee",
           "head", "try",
           "allow", "broken", "none", "saved", "gap", "of early", "early");
    for (int row = 0; row < 2 * 2 * GAPS * 2; row++) {
        int again = row % 2, i = row / 2 % GAPS, kind = row / 2 / GAPS / 2;

        b->head = row / 2 / GAPS % 2;
        CTT_TRY(run_splits(b, &(struct ctt_guarantee_set){
                        (enum ctt_guarantee)kind, gaps[i], b->delta },
                           again, &mean));
        curve[kind].seen[i] = 100 * mean.seen;
        curve[kind].gap[i] = mean.gap;
    }
    b->from = 0;
    find_curve(b, &curve[2]);
    if (path)
        CTT_TRY(ctt_file_print(path, print_page, curve));
out:
    return rc;
}

static int open_bench(struct bench *b, char **argv)
{
    size_t n;
    int rc;

    CTT_TRY(decide_read(argv[1], &b->all));
    b->clips = atoi(argv[2]);
    b->splits = atoi(argv[3]);
    CTT_CHECK(b->clips > 1 && b->clips < b->all.t.clips && b->splits > 0,
              CTT_EINVAL, "%s has %d clips", argv[1], b->all.t.clips);
    b->some = (struct ctt_trials){ b->clips, b->all.t.checks, NULL, NULL };
    n = (size_t)b->clips * (size_t)b->some.checks;
    b->some.sure = ctt_calloc(n, sizeof(float));
    b->some.lost = ctt_calloc(n, 1);
    b->order = ctt_calloc((size_t)b->all.t.clips, sizeof(int));
    b->pick = ctt_calloc((size_t)b->clips, sizeof(int));
    b->row = ctt_calloc(n, sizeof(*b->row));
    b->tried = b->all.t;
    n = (size_t)b->all.t.clips * (size_t)b->all.t.checks;
    b->tried.sure = ctt_calloc(n, sizeof(float));
    CTT_TRY(b->some.sure && b->some.lost && b->order && b->pick && b->row &&
            b->tried.sure ? 0 : CTT_ENOMEM);
    memcpy(b->tried.sure, b->all.t.sure, n * sizeof(float));
    for (int i = 0; i < b->all.t.clips; i++)
        b->order[i] = i;
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct bench b = { .delta = argc > 4 ? atof(argv[4]) : 0.1 };
    int rc;

    if (argc < 4) {
        fprintf(stderr, "usage: bench_decide ANSWERS.csv CLIPS SPLITS [DELTA "
                "[CURVE.html]]\n");
        return 2;
    }
    CTT_TRY(open_bench(&b, argv));
    CTT_TRY(run_all(&b, argc > 5 ? argv[5] : NULL));
out:
    if (rc < 0)
        fprintf(stderr, "bench_decide: %s\n", ctt_errmsg());
    ctt_free(b.some.sure);
    ctt_free(b.some.lost);
    ctt_free(b.order);
    ctt_free(b.pick);
    ctt_free(b.row);
    ctt_free(b.tried.sure);
    decide_free(&b.all);
    return rc < 0;
}
