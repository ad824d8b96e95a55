/* SPDX-License-Identifier: Apache-2.0
 * train_tables.c: the tables of convtt-train at its end, and what it says of
 * its clips. */
#include "base/letters.h"
#include "base/visible.h"
#include "base/statistics/statistics.h"
#include "tools/shared/training.h"
#include "tools/shared/tool.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { UNEQUAL = 10 };    /* ratio of the clips of two classes that is told */

static int tell_points(const struct ctt_metrics *m)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char point[32], range[32];
    int five = m->classes > 5;

    ctt_table_row(&t, five ? "observed\ttop-1\t95%%\tloss\ttop-5" :
                             "observed\ttop-1\t95%%\tloss");
    for (int k = 0; k < m->points; k++) {
        double top1 = ctt_metrics_top1(m, k);

        ctt_say_point(&m->point[k], point, sizeof(point));
        ctt_wilson_text(top1, m->clips, range, sizeof(range));
        if (five)
            ctt_table_row(&t, "%s\t%.1f%%\t%s\t%.3f\t%.1f%%", point,
                          100 * top1, range, ctt_metrics_loss(m, k),
                          100 * ctt_metrics_top5(m, k));
        else
            ctt_table_row(&t, "%s\t%.1f%%\t%s\t%.3f", point, 100 * top1, range,
                          ctt_metrics_loss(m, k));
    }
    return ctt_table_print(&t);
}

/* The same of clips with several labels. */
static int tell_precision(const struct ctt_metrics *m)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char point[32], range[32];

    ctt_table_row(&t, "observed\tmAP\ttop-1\t95%%\tloss");
    for (int k = 0; k < m->points; k++) {
        double top1 = ctt_metrics_top1(m, k);

        ctt_table_row(&t, "%s\t%.1f%%\t%.1f%%\t%s\t%.3f",
                      ctt_say_point(&m->point[k], point, sizeof(point)),
                      100 * m->map[k], 100 * top1,
                      ctt_wilson_text(top1, m->clips, range, sizeof(range)),
                      ctt_metrics_loss(m, k));
    }
    return ctt_table_print(&t);
}

/* The average precision of each class that a clip has. */
static int tell_precisions(const struct ctt_metrics *m, char *const *label)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "class\tclips\taverage precision");
    for (int i = 0; i < m->classes; i++) {
        long long clips = 0;

        for (int64_t k = 0; k < m->set; k++)
            clips += m->there[k * m->classes + i];
        if (clips)
            ctt_table_row(&t, "%s\t%lld\t%.1f%%", label[i], clips,
                          100 * m->ap[i]);
    }
    return ctt_table_print(&t);
}

/* Class i: its accuracy, and the most frequent wrong answer. */
static void tell_class(const struct ctt_metrics *m, char *const *label, int i,
                       struct ctt_table *t)
{
    const int64_t *row = m->confusion + (int64_t)i * m->classes;
    char range[32], other[256] = "";
    double right = ctt_metrics_class(m, i);
    int64_t clips = 0;
    int worst = i ? 0 : 1;

    for (int k = 0; k < m->classes; k++) {
        clips += row[k];
        if (k != i && row[k] > row[worst])
            worst = k;
    }
    if (!clips)
        return;
    if (m->classes > 1 && row[worst])
        snprintf(other, sizeof(other), "%s (%lld)", label[worst],
                 (long long)row[worst]);
    ctt_table_row(t, "%s\t%lld\t%.0f%%\t%s\t%s", label[i], (long long)clips,
                  100 * right, ctt_wilson_text(right, clips, range,
                                               sizeof(range)), other);
}

static int tell_classes(const struct ctt_metrics *m, char *const *label)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "class\tclips\tcorrect\t95%%\tmost often mistaken for");
    for (int i = 0; i < m->classes; i++)
        tell_class(m, label, i, &t);
    return ctt_table_print(&t);
}

enum { CONFUSION = 20,    /* classes; a larger matrix is not printed */
       HEAD = 10,         /* bytes of a name that heads a column, at most */
       NAME = 256 };

/* Writes the head of row i, or of its column.  Classes are often called by
 * numbers, so a class with a long name has a letter there and not a number. */
static void class_head(char *const *label, int letters, int i, int is_row,
                       char out[NAME])
{
    size_t n = 0;

    if (letters)
        n = (size_t)snprintf(out, NAME, "(%c)%s", 'a' + i, is_row ? " " : "");
    if (!letters || is_row)
        ctt_visible(label[i], 0, out + n, NAME - n);
}

static int tell_confusion(const struct ctt_metrics *m, char *const *label)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char line[NAME + CONFUSION * 48], head[NAME];
    int n = snprintf(line, sizeof(line), "class"), letters = 0;

    if (m->classes > CONFUSION)
        return 0;
    for (int k = 0; k < m->classes; k++)
        letters |= strlen(label[k]) > HEAD;
    for (int k = 0; k < m->classes; k++) {
        class_head(label, letters, k, 0, head);
        n += snprintf(line + n, sizeof(line) - (size_t)n, "\t%.40s", head);
    }
    ctt_table_row(&t, "%s", line);
    for (int i = 0; i < m->classes; i++) {
        class_head(label, letters, i, 1, head);
        n = snprintf(line, sizeof(line), "%s", head);
        for (int k = 0; k < m->classes; k++)
            n += snprintf(line + n, sizeof(line) - (size_t)n, "\t%lld",
                          (long long)m->confusion[i * m->classes + k]);
        ctt_table_row(&t, "%s", line);
    }
    ctt_tool_say("confusion matrix (row: class, column: answer):");
    return ctt_table_print(&t);
}

int ctt_say_metrics(const struct ctt_metrics *m, char *const *label)
{
    int rc;

    if (m->several) {
        CTT_TRY(tell_precision(m));
        CTT_TRY(tell_precisions(m, label));
        goto out;
    }
    CTT_TRY(tell_points(m));
    CTT_TRY(tell_classes(m, label));
    CTT_TRY(tell_confusion(m, label));
out:
    return rc;
}

static void tell_ahead(const struct ctt_predict_scores *f, int ahead,
                       struct ctt_table *t)
{
    struct ctt_quality q[CTT_PREDICT_METHODS];
    char name[16] = "mean";

    for (int k = 0; k < CTT_PREDICT_METHODS; k++)
        q[k] = ctt_predict_scores_at(f, (enum ctt_predict_method)k, ahead);
    if (ahead)
        snprintf(name, sizeof(name), "%d", ahead);
    ctt_table_row(t, "%s\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f",
                  name, 1e3 * q[CTT_BY_MODEL].mse,
                  1e3 * q[CTT_BY_LAST_FRAME].mse,
                  1e3 * q[CTT_BY_LINEAR_MOTION].mse, q[CTT_BY_MODEL].ssim,
                  q[CTT_BY_LAST_FRAME].ssim, q[CTT_BY_LINEAR_MOTION].ssim,
                  q[CTT_BY_MODEL].ssim2, q[CTT_BY_MODEL].psnr);
}

int ctt_say_scores(const struct ctt_predict_scores *f)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_tool_say("%lld sequences, %d observed frames; MSE x1e3 and SSIM of "
                 "the model, the repeated last frame and linear motion; SSIM "
                 "for range 2 and PSNR of the model:",
                 (long long)f->sequences, f->observed);
    ctt_table_row(&t, "ahead\tMSE\tlast\tlinear\tSSIM\tlast\tlinear\t"
                  "SSIM(2)\tPSNR");
    for (int k = 1; k <= f->future; k++)
        tell_ahead(f, k, &t);
    tell_ahead(f, 0, &t);
    return ctt_table_print(&t);
}

/* The first class without a clip. */
static int first_empty(const int *clips, int labels)
{
    int k = 0;

    while (k + 1 < labels && clips[k])
        k++;
    return k;
}

int ctt_say_set(const char *what, const struct ctt_data *d)
{
    struct ctt_duplicates r;
    int classes, labels, rc, *clips = NULL;
    char *const *name = ctt_data_labels(d, &labels);

    CTT_TRY(ctt_data_duplicates(d, &r));
    ctt_tool_duplicates(what, &r);
    CTT_TRY(classes = ctt_data_classes(d, &clips));
    if (classes > 0 && classes < labels)
        ctt_tool_warn("%s: only %d of the %d classes have clips; '%s' has none",
                      what, classes, labels, name[first_empty(clips, labels)]);
out:
    ctt_free(clips);
    return rc < 0 ? rc : 0;
}

/* Whether two names differ in case or blanks only. */
static int are_alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " ");
        b += strspn(b, " ");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return 0;
        if (!*a)
            return 1;
    }
}

/* How two names differ that a person takes for the same, or NULL. */
static const char *likeness(const char *a, const char *b)
{
    return are_alike(a, b) ? "in case or blanks only" :
           ctt_letters_differ_in_form(a, b) ? "only in how their accents are "
           "written in Unicode (NFC and NFD)" : NULL;
}

static void tell_alike(char *const *name, int labels)
{
    for (int i = 0; i < labels; i++)
        for (int k = 0; k < i; k++) {
            const char *how = likeness(name[i], name[k]);

            if (!how)
                continue;
            ctt_tool_warn("the classes '%s' and '%s' differ %s", name[k],
                          name[i], how);
            return;
        }
}

int ctt_say_classes(const struct ctt_data *d, const struct ctt_train_cfg *cfg)
{
    int labels, rc, *clips = NULL, most = 0, least = 0;
    char *const *name = ctt_data_labels(d, &labels);

    CTT_TRY(ctt_data_classes(d, &clips));
    if (!clips)
        goto out;
    tell_alike(name, labels);
    for (int k = 1; k < labels; k++) {
        most = clips[k] > clips[most] ? k : most;
        least = clips[k] < clips[least] ? k : least;
    }
    if (labels && clips[most] >= UNEQUAL * clips[least] && clips[least] &&
        cfg->sampler == CTT_PLAIN && cfg->class_weights == CTT_PLAIN)
        ctt_tool_say("classes: %d clips of '%s', %d of '%s'; --sampler "
                     "balanced or --class-weights balanced evens that out",
                     clips[most], name[most], clips[least], name[least]);
out:
    ctt_free(clips);
    return rc < 0 ? rc : 0;
}

int ctt_say_shared(const char *what, const struct ctt_data *d,
                   const char *used, const struct ctt_data *other)
{
    const char *in_other, *in_d;
    int rc = ctt_data_shared(other, d, &in_other, &in_d);

    if (rc > 0)
        ctt_tool_warn("%d %s clip%s also in the %s data, such as %s%s%s", rc,
                      what, rc > 1 ? "s are" : " is", used, in_d,
                      strcmp(in_d, in_other) ? " as " : "",
                      strcmp(in_d, in_other) ? in_other : "");
    return rc < 0 ? rc : 0;
}
