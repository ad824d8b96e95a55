/* SPDX-License-Identifier: Apache-2.0
 * info_compare_page.c: convtt-info --compare as a page: models by size, time
 * and accuracy, and the same clips against the first of them. */
#include "tools/info/info_tool.h"
#include "base/statistics/statistics.h"
#include "tools/report/page.h"

#include <math.h>

enum { SHARES = CTT_COMPARE_SHARES };

struct page { const struct ctt_compared *m; int n; const struct ctt_table *t; };

/* A dot a model. */
static int put_front(FILE *f, const struct page *p, int by_time)
{
    struct ctt_series *s = ctt_calloc((size_t)p->n, sizeof(*s));
    double *v = ctt_calloc((size_t)p->n, 4 * sizeof(*v));
    int rc = s && v ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < p->n; i++) {
        const struct ctt_compared *m = &p->m[i];
        double *at = v + 4 * i;

        at[0] = by_time ? m->ms : (double)m->bytes;
        at[1] = isfinite(at[0]) ? (double)m->right[SHARES - 1] / m->clips : NAN;
        ctt_wilson((double)m->right[SHARES - 1] / m->clips, m->clips, at + 2);
        s[i] = (struct ctt_series){ m->path, 1, at, at + 1, at + 2, at + 3, 1 };
    }
    ctt_page_chart(f, &(struct ctt_chart){ by_time
        ? "Whole clips by time of a frame; bars: 95% confidence"
        : "Whole clips by size; bars: 95% confidence",
        by_time ? "ms a frame" : "bytes of the file", "top-1", s, p->n, 1, 0,
        NAN, NAN, .log_x = 1 });
out:
    ctt_free(s);
    ctt_free(v);
    return rc;
}

static int put_shares(FILE *f, const struct page *p)
{
    struct ctt_series *s = ctt_calloc((size_t)p->n, sizeof(*s));
    double *v = ctt_calloc((size_t)p->n, 4 * SHARES * sizeof(*v));
    int rc = s && v ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < p->n; i++) {
        double *x = v + (size_t)i * 4 * SHARES, *y = x + SHARES;

        for (int k = 0; k < SHARES; k++) {
            double range[2];

            x[k] = 100 * ctt_compare_shares[k];
            y[k] = (double)p->m[i].right[k] / p->m[i].clips;
            ctt_wilson(y[k], p->m[i].clips, range);
            y[SHARES + k] = range[0];
            y[2 * SHARES + k] = range[1];
        }
        s[i] = (struct ctt_series){ p->m[i].path, SHARES, x, y, y + SHARES,
                                    y + 2 * SHARES };
    }
    ctt_page_chart(f, &(struct ctt_chart){ "Right answers by the part of the "
        "clip that was seen; bars: 95% confidence", "% of the clip", "top-1", s,
        p->n, 1, 0, 0, 1 });
out:
    ctt_free(s);
    ctt_free(v);
    return rc;
}

struct ctt_compared_pair ctt_compare_pair(const struct ctt_compared *was,
                                          const struct ctt_compared *is,
                                          int k)
{
    struct ctt_compared_pair n = { 0, 0, 0 };

    for (int i = 0; i < was->items && i < is->items; i++) {
        int a = was->verdict[i] >> k & 1, b = is->verdict[i] >> k & 1;

        if (!(was->verdict[i] & is->verdict[i] & CTT_COMPARE_READ))
            continue;
        n.both++;
        n.lost += a && !b;
        n.won += b && !a;
    }
    return n;
}

static void add_pair(struct ctt_table *t, const struct ctt_compared *was,
                     const struct ctt_compared *is, int k)
{
    struct ctt_compared_pair n = ctt_compare_pair(was, is, k);

    ctt_table_row(t, "%s\t%g%%\t%d\t%d\t%d\t%+.1f\t%.3g", is->path,
                  100 * ctt_compare_shares[k], n.both, n.lost, n.won,
                  n.both ? 100.0 * (n.won - n.lost) / n.both : 0.0,
                  ctt_mcnemar(n.lost, n.won));
}

static int put_pairs(FILE *f, const struct page *p)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char caption[400];
    int rc;

    ctt_table_row(&t, "model\tseen\tclips\tlost\twon\tpoints\tp");
    for (int i = 1; i < p->n; i++)
        for (int k = 0; k < SHARES; k++)
            add_pair(&t, &p->m[0], &p->m[i], k);
    CTT_TRY(t.rc);
    snprintf(caption, sizeof(caption), "The same clips against %.300s: lost "
             "and won, p by McNemar's test", p->m[0].path);
    ctt_page_table(f, caption, &t);
out:
    ctt_table_free(&t);
    return rc;
}

static int put_costs(FILE *f, const struct page *p)
{
    static const struct ctt_bars columns[] = { { "bytes", "%.0f" },
        { "parameters", "%.0f" }, { "multiplications a frame", "%.0f" } };
    enum { COLUMNS = CTT_LEN(columns) };
    double *v = ctt_calloc((size_t)p->n, COLUMNS * sizeof(*v));
    const char **name = ctt_calloc((size_t)p->n, sizeof(*name));
    int rc = v && name ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < p->n; i++) {
        name[i] = p->m[i].path;
        v[i * COLUMNS] = (double)p->m[i].bytes;
        v[i * COLUMNS + 1] = p->m[i].params;
        v[i * COLUMNS + 2] = p->m[i].macs;
    }
    ctt_page_bars(f, "Size", name, p->n, columns, COLUMNS, v);
out:
    ctt_free(v);
    ctt_free(name);
    return rc;
}

static int print_models(FILE *f, const void *arg)
{
    const struct page *p = arg;
    int rc;

    ctt_page_begin(f, "Models beside each other");
    ctt_page_table(f, "Models", p->t);
    CTT_TRY(put_costs(f, p));
    if (p->m[0].clips) {
        ctt_page_section(f, "Clips", NULL);
        CTT_TRY(put_front(f, p, 0));
        CTT_TRY(put_front(f, p, 1));
        CTT_TRY(put_shares(f, p));
    }
    if (p->m[0].clips && p->n > 1)
        CTT_TRY(put_pairs(f, p));
    ctt_page_end(f);
out:
    return rc;
}

void ctt_compare_page(const char *path, const struct ctt_compared *m, int n,
                      const struct ctt_table *t)
{
    ctt_page_write(path, print_models, &(struct page){ m, n, t });
}
