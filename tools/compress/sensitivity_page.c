/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_page.c: --report-html of --sense: what each weight bears. */
#include "tools/compress/compress_tool.h"
#include "tools/report/page.h"

#include <math.h>
#include <stdlib.h>

/* CURVES: weights of a chart; STEPS: values of a ladder. */
enum { CURVES = 12, STEPS = 64 };

struct page { const struct ctt_sensitivity *s; double kl; };

/* Points of a weight on a ladder. */
struct curve { double x[STEPS], y[STEPS], worst; int n, weight; };

static void find_curve(const struct ctt_sensitivity *s, int weight,
                       const struct ctt_ladder *l, struct curve *c)
{
    c->n = 0;
    c->weight = weight;
    c->worst = -INFINITY;
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->weight != weight || p->ladder != l || c->n == STEPS)
            continue;
        c->x[c->n] = c->n;
        c->y[c->n++] = p->fit;
        c->worst = fmax(c->worst, p->fit);
    }
}

/* The weights that bear least first. */
static int compare(const void *x, const void *y)
{
    const struct curve *a = x, *b = y;

    return a->worst != b->worst ? (a->worst < b->worst) * 2 - 1
                                : a->weight - b->weight;
}

static void put_ladder(FILE *f, const struct page *p,
                       const struct ctt_ladder *l, struct curve *c)
{
    struct ctt_series of[CURVES];
    const char *name[STEPS];
    char title[128], limit[64], text[STEPS][CTT_PAGE_NUMBER];
    int n = p->s->weights < CURVES ? p->s->weights : CURVES;

    for (int i = 0; i < p->s->weights; i++)
        find_curve(p->s, i, l, &c[i]);
    qsort(c, (size_t)p->s->weights, sizeof(*c), compare);
    for (int i = 0; i < n; i++)
        of[i] = (struct ctt_series){ p->s->weight[c[i].weight].name, c[i].n,
                                     c[i].x, c[i].y, NULL, NULL };
    for (int k = 0; k < l->values && k < STEPS; k++)
        name[k] = l->word ? l->word : ctt_page_number(l->value[k], 0, text[k]);
    snprintf(title, sizeof(title), "%s%s", l->name, n < p->s->weights
             ? ": the weights that bear least" : "");
    snprintf(limit, sizeof(limit), "%g nats (--sense-kl)", p->kl);
    ctt_page_chart(f, &(struct ctt_chart){ title, l->unit, "divergence, nats",
        of, n, 0, 0, 1e-5, NAN, name, l->values, .log_y = 1, .limit = p->kl,
        .limit_name = limit });
}

static int print_ladders(FILE *f, const void *arg)
{
    const struct page *p = arg;
    struct curve *c = ctt_calloc((size_t)p->s->weights + 1, sizeof(*c));
    int rc = c ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    ctt_page_begin(f, "What each weight bears");
    ctt_page_section(f, "Options", "Mean divergence of the answers (KL) if "
                     "only this weight is changed, without retraining, as the "
                     "rising sequence that fits best; tables call what is "
                     "below the dashed line harmless.");
    for (int k = 0; ctt_ladder(k); k++)
        put_ladder(f, p, ctt_ladder(k), c);
    ctt_page_end(f);
out:
    ctt_free(c);
    return rc;
}

void ctt_sensitivity_page(const struct ctt_sensitivity *s, double kl,
                          const char *path)
{
    ctt_page_write(path, print_ladders, &(struct page){ s, kl });
}
