/* SPDX-License-Identifier: Apache-2.0
 * train_say.c: the lines and tables of convtt-train. */
#include "tools/tool.h"
#include "tools/train_say.h"

#include <stdio.h>
#include <string.h>

/* ---- meanwhile ---- */

static void on_clip(void *arg, const char *what)
{
    (void)arg;
    ctt_tool_warn("%s (skipped)", what);
}

static void on_say(void *arg, const char *line)
{
    (void)arg;
    ctt_tool_say("%s", line);
}

static void on_scan(void *arg, int done, int clips)
{
    (void)arg;
    ctt_tool_progress(0, "reading clips: %d of %d", done, clips);
}

static const char *clock_text(double s, char *buf, size_t size)
{
    int t = s > 0 ? (int)s : 0;

    if (t >= 3600)
        snprintf(buf, size, "%d:%02d:%02d", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(buf, size, "%d:%02d", t / 60, t % 60);
    return buf;
}

static void on_progress(void *arg, const struct ctt_progress *p)
{
    char left[32];

    (void)arg;
    ctt_tool_progress(0, "epoch %d/%d %d/%d: loss %.3f, top-1 %.1f%%, %.1f "
                      "clips/s, waiting %.0f%%, %s left", p->epoch, p->epochs,
                      p->batch, p->batches, p->loss, 100 * p->top1,
                      p->clips_a_second, 100 * p->wait,
                      clock_text(p->left, left, sizeof(left)));
}

/* "25%" or "1 frame". */
static const char *point_text(const struct ctt_point *p, char *buf, size_t size)
{
    if (p->frames)
        snprintf(buf, size, "%d frame%s", p->frames, p->frames > 1 ? "s" : "");
    else
        snprintf(buf, size, "%g%%", 100 * p->ratio);
    return buf;
}

static void on_epoch(void *arg, const struct ctt_epoch *e,
                     const struct ctt_metrics *val)
{
    char line[512], point[32];
    int n = snprintf(line, sizeof(line), "epoch %d/%d: loss %.3f, top-1 %.1f%%",
                     e->p.epoch, e->p.epochs, e->p.loss, 100 * e->p.top1);

    (void)arg;
    if (val) {
        n += snprintf(line + n, sizeof(line) - (size_t)n, "; tested:");
        for (int k = 0; k < val->points && n < (int)sizeof(line) - 64; k++)
            n += snprintf(line + n, sizeof(line) - (size_t)n,
                          " %.1f%% at %s%s", 100 * ctt_metrics_top1(val, k),
                          point_text(&val->point[k], point, sizeof(point)),
                          k + 1 < val->points ? "," : "");
        n += snprintf(line + n, sizeof(line) - (size_t)n, ", loss %.3f%s",
                      e->val_loss, e->best ? " (best)" : "");
    }
    ctt_tool_say("%s; %.1f clips/s, %.0f s", line, e->p.clips_a_second,
                 e->p.seconds);
}

static int on_stop(void *arg)
{
    (void)arg;
    return ctt_tool_stop();
}

const struct ctt_events ctt_say_events = {
    .clip = on_clip, .say = on_say, .scan = on_scan, .progress = on_progress,
    .epoch = on_epoch, .stop = on_stop,
};

/* ---- at the end ---- */

static void tell_points(const struct ctt_metrics *m)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char point[32], top5[32] = "";
    int five = m->classes > 5;

    ctt_table_row(&t, "observed\ttop-1\tloss%s", five ? "\ttop-5" : "");
    for (int k = 0; k < m->points; k++) {
        if (five)
            snprintf(top5, sizeof(top5), "\t%.1f%%",
                     100 * ctt_metrics_top5(m, k));
        ctt_table_row(&t, "%s\t%.1f%%\t%.3f%s",
                      point_text(&m->point[k], point, sizeof(point)),
                      100 * ctt_metrics_top1(m, k), ctt_metrics_loss(m, k),
                      top5);
    }
    ctt_table_print(&t);
}

/* Which classes were answered instead: the worst mistake of each. */
static void tell_classes(const struct ctt_metrics *m, char *const *label)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "class\tclips\tright\tmost often taken for");
    for (int i = 0; i < m->classes; i++) {
        const int64_t *row = m->confusion + (int64_t)i * m->classes;
        int64_t clips = 0;
        int worst = i ? 0 : 1;

        for (int k = 0; k < m->classes; k++) {
            clips += row[k];
            if (k != i && row[k] > row[worst])
                worst = k;
        }
        if (!clips)
            continue;
        if (m->classes > 1 && row[worst])
            ctt_table_row(&t, "%s\t%lld\t%.0f%%\t%s (%lld)", label[i],
                          (long long)clips, 100 * ctt_metrics_class(m, i),
                          label[worst], (long long)row[worst]);
        else
            ctt_table_row(&t, "%s\t%lld\t%.0f%%\t", label[i],
                          (long long)clips, 100 * ctt_metrics_class(m, i));
    }
    ctt_table_print(&t);
}

enum { CONFUSION = 20 };    /* classes: more make no readable matrix */

static void tell_confusion(const struct ctt_metrics *m)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char line[1024];
    int n = snprintf(line, sizeof(line), "class");

    if (m->classes > CONFUSION)
        return;
    for (int k = 0; k < m->classes; k++)
        n += snprintf(line + n, sizeof(line) - (size_t)n, "\t%d", k);
    ctt_table_row(&t, "%s", line);
    for (int i = 0; i < m->classes; i++) {
        n = snprintf(line, sizeof(line), "%d", i);
        for (int k = 0; k < m->classes; k++)
            n += snprintf(line + n, sizeof(line) - (size_t)n, "\t%lld",
                          (long long)m->confusion[i * m->classes + k]);
        ctt_table_row(&t, "%s", line);
    }
    ctt_tool_say("confusion (row: class, column: answer):");
    ctt_table_print(&t);
}

void ctt_say_metrics(const struct ctt_metrics *m, char *const *label)
{
    tell_points(m);
    tell_classes(m, label);
    tell_confusion(m);
}
