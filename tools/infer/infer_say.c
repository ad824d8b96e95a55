/* SPDX-License-Identifier: Apache-2.0
 * infer_say.c: lines and tables of convtt-infer. */
#include "tools/infer/infer_tool.h"
#include "base/visible.h"
#include "base/statistics/statistics.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 4096 };    /* bytes of a name as it is shown, at most */

/* ---- answers ---- */

/* The labels of a clip that has several. */
static void json_labels(const struct ctt_said *a)
{
    printf(",\"labels\":[");
    for (int i = 0, c; (c = ctt_item_label(a->list, a->item, i)) >= 0; i++) {
        printf("%s", i ? "," : "");
        ctt_json_put(stdout, a->name[c]);
    }
    printf("]");
}

/* With several labels per clip all classes that reach their thresholds are
 * printed, or else the likeliest ones. */
static int shown(const struct ctt_said *a)
{
    return a->there > a->top ? a->there : a->top;
}

static void json_answer(const struct ctt_said *a)
{
    int top = shown(a);

    printf("{\"file\":");
    ctt_json_put(stdout, a->file);
    printf(",\"frame\":%" PRId64, a->frame);
    if (a->frames)
        printf(",\"frames\":%d", a->frames);
    if (a->seconds >= 0)
        printf(",\"seconds\":%.3f", a->seconds);
    if (a->list)
        json_labels(a);
    else if (a->label) {
        printf(",\"label\":");
        ctt_json_put(stdout, a->label);
    }
    printf(",\"top\":[");
    for (int i = 0; i < top; i++) {
        printf("%s{\"class\":", i ? "," : "");
        ctt_json_put(stdout, a->name[a->order[i]]);
        printf(",\"probability\":%.6f", (double)a->probs[a->order[i]]);
        if (a->threshold)
            printf(",\"there\":%s", i < a->there ? "true" : "false");
        printf("}");
    }
    printf("],\"ms\":%.3f}\n", a->ms);
}

enum { LEAST_WIDTH = 20, MOST_WIDTH = 40 };

int ctt_say_width(int width, const char *name)
{
    size_t n = strlen(name);

    if (n < LEAST_WIDTH)
        n = LEAST_WIDTH;
    else if (n > MOST_WIDTH)
        n = MOST_WIDTH;
    return (int)n > width ? (int)n : width;
}

void ctt_say_heading(int width)
{
    printf("%-*s %9s %8s         answers\n", width, "clip", "frame", "time");
}

static const char *verdict(const struct ctt_said *a)
{
    return a->label == a->name[a->order[0]] ? "right" : "wrong";
}

static void plain_labels(const struct ctt_said *a)
{
    char text[TEXT];

    printf("  (true: ");
    for (int i = 0, c; (c = ctt_item_label(a->list, a->item, i)) >= 0; i++)
        printf("%s%s", i ? ", " : "",
               ctt_visible(a->name[c], 0, text, sizeof(text)));
    printf(")");
}

static void plain_answer(const struct ctt_said *a)
{
    char text[TEXT];
    int top = a->there ? a->there : a->top;

    printf("%-*s %4" PRId64, a->width,
           ctt_visible(a->id, 0, text, sizeof(text)), a->frame);
    if (a->frames)
        printf("/%-4d", a->frames);
    if (a->seconds >= 0)
        printf(" %6.2f s", a->seconds);
    if (a->label && !a->threshold)
        printf("  %s", verdict(a));
    if (a->threshold && !a->there)
        printf("  none:");
    for (int i = 0; i < top; i++)
        printf("  %5.1f%% %s", 100 * (double)a->probs[a->order[i]],
               ctt_visible(a->name[a->order[i]], 0, text, sizeof(text)));
    if (a->list)
        plain_labels(a);
    else if (a->label && a->label != a->name[a->order[0]])
        printf("  (true: %s)", ctt_visible(a->label, 0, text, sizeof(text)));
    printf("\n");
}

void ctt_say_answer(const struct ctt_said *a, int json)
{
    if (json)
        json_answer(a);
    else
        plain_answer(a);
}

/* ---- accuracy ---- */

static void json_scores(const struct ctt_accuracy *s, int scores)
{
    printf("{\"accuracy\":[");
    for (int i = 0; i < scores; i++, s++) {
        double top1 = (double)s->top1 / s->clips, x[2];

        ctt_wilson(top1, s->clips, x);
        printf("%s{\"seen\":%g,\"clips\":%d,\"top1\":%.4f,"
               "\"top1_95\":[%.4f,%.4f],\"top5\":%.4f}", i ? "," : "",
               s->seen, s->clips, top1, x[0], x[1],
               (double)s->top5 / s->clips);
    }
    printf("]}\n");
}

int ctt_say_accuracy(const struct ctt_accuracy *s, int scores, int classes,
                     int json)
{
    struct ctt_table table = { 0 };
    int few = classes <= 5;
    char range[32];

    if (!s[scores - 1].clips)
        return 0;
    if (json) {
        json_scores(s, scores);
        return 0;
    }
    ctt_table_row(&table, few ? "seen\tclips\ttop-1\t95%%"
                              : "seen\tclips\ttop-1\t95%%\ttop-5");
    for (int i = 0; i < scores; i++, s++) {
        ctt_wilson_text((double)s->top1 / s->clips, s->clips, range,
                        sizeof(range));
        ctt_table_row(&table, few ? "%g%%\t%d\t%.1f%%\t%s"
                                  : "%g%%\t%d\t%.1f%%\t%s\t%.1f%%",
                      100 * s->seen, s->clips, 100.0 * s->top1 / s->clips,
                      range, 100.0 * s->top5 / s->clips);
    }
    printf("\n");
    return ctt_table_print(&table);
}

/* ---- predicted frames ---- */

void ctt_horizon_add(struct ctt_horizon *to, const struct ctt_horizon *a)
{
    to->windows += a->windows;
    to->mse += a->mse;
    to->psnr += a->psnr;
    to->ssim += a->ssim;
    to->ssim2 += a->ssim2;
    to->last += a->last;
    to->linear += a->linear;
}

static struct ctt_horizon mean_horizon(const struct ctt_horizon *a)
{
    double n = a->windows ? a->windows : 1;

    return (struct ctt_horizon){ a->windows,   a->mse / n,   a->psnr / n,
                                  a->ssim / n,  a->ssim2 / n, a->last / n,
                                  a->linear / n };
}

struct ctt_horizon ctt_horizon_mean(const struct ctt_horizon *row, int rows,
                                      int i)
{
    struct ctt_horizon all = { 0 };

    if (i < rows)
        return mean_horizon(&row[i]);
    for (int k = 0; k < rows; k++)
        ctt_horizon_add(&all, &row[k]);
    all = mean_horizon(&all);
    if (all.windows)
        all.windows = row[0].windows;    /* all have the first */
    return all;
}

static void json_quality(const struct ctt_horizon *m)
{
    printf("\"mse\":%.9g,\"psnr\":%.6f,\"ssim_range1\":%.6f,"
           "\"ssim_range2\":%.6f,\"last_frame_mse\":%.9g,"
           "\"linear_motion_mse\":%.9g", m->mse, m->psnr, m->ssim, m->ssim2,
           m->last, m->linear);
}

void ctt_say_predicted(const struct ctt_predicted *p)
{
    struct ctt_horizon m = mean_horizon(&p->sum);

    printf("{\"file\":");
    ctt_json_put(stdout, p->file);
    printf(",\"windows\":%d,\"seen\":%d,\"predicted\":%d,\"measured\":%d",
           p->windows, p->seen, p->predicted, m.windows);
    if (m.windows) {
        printf(",");
        json_quality(&m);
    }
    printf(",\"ms\":%.3f}\n", p->ms);
}

static void plain_ahead(struct ctt_table *t, const char *name,
                        const struct ctt_horizon *m)
{
    ctt_table_row(t, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.4f\t%.4f", name,
                  m->windows, 1e3 * m->mse, 1e3 * m->last, 1e3 * m->linear,
                  m->psnr, m->ssim, m->ssim2);
}

static void json_ahead(const char *name, const struct ctt_horizon *m)
{
    printf("{\"ahead\":%s,\"windows\":%d,", name, m->windows);
    json_quality(m);
    printf("}\n");
}

int ctt_say_horizons(const struct ctt_horizon *row, int rows, const char *why,
                     int json)
{
    struct ctt_table table = { 0 };
    char name[16];

    if (!row[0].windows) {
        if (!json)
            printf("nothing to measure: %s\n", why);
        return 0;
    }
    if (!json)
        printf("MSE x1e3 of the model, of the last frame again and of linear "
               "motion; PSNR and SSIM\nof the model:\n");
    if (!json)
        ctt_table_row(&table, "ahead\twindows\tMSE x1e3\tlast\tlinear\tPSNR dB"
                      "\tSSIM range 1\tSSIM range 2");
    for (int i = 0; i <= rows; i++) {
        struct ctt_horizon m = ctt_horizon_mean(row, rows, i);
        snprintf(name, sizeof(name), json ? "\"mean\"" : "mean");
        if (i < rows)
            snprintf(name, sizeof(name), "%d", i + 1);
        if (m.windows && json)
            json_ahead(name, &m);
        else if (m.windows)
            plain_ahead(&table, name, &m);
    }
    return json ? 0 : ctt_table_print(&table);
}

/* ---- times ---- */

static void say_spread(struct ctt_table *table, const char *name,
                       struct ctt_times *t, int json)
{
    struct ctt_spread s = ctt_times_spread(t);

    if (!s.count)
        return;
    if (json)
        printf(",\"%s_ms\":{\"count\":%d,\"mean\":%.4f,\"p50\":%.4f,"
               "\"p90\":%.4f,\"p99\":%.4f,\"max\":%.4f}", name, s.count,
               s.mean, s.median, s.p90, s.p99, s.max);
    else
        ctt_table_row(table, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", name,
                      s.count, s.mean, s.median, s.p90, s.p99, s.max);
}

int ctt_say_times(double open_ms, const struct ctt_said_times *kind, int kinds,
                  int json)
{
    struct ctt_table table = { 0 };
    int rc = 0;

    if (json) {
        printf("{\"open_ms\":%.3f,\"peak_mb\":%.1f", open_ms, ctt_peak_mb());
        for (int i = 0; i < kinds; i++)
            say_spread(NULL, kind[i].of, kind[i].times, 1);
        printf("}\n");
        return 0;
    }
    ctt_table_row(&table, "ms\tcount\tmean\tp50\tp90\tp99\tmax");
    ctt_table_row(&table, "open\t1\t%.3f", open_ms);
    for (int i = 0; i < kinds; i++)
        say_spread(&table, kind[i].of, kind[i].times, 0);
    printf("\n");
    CTT_TRY(ctt_table_print(&table));
    printf("peak memory: %.1f MB\n", ctt_peak_mb());
out:
    return rc;
}
