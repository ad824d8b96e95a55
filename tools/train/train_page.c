/* SPDX-License-Identifier: Apache-2.0
 * train_page.c: the page of a training: its curves, and its result beside
 * answers without a network. */
#include "tools/train/train_page.h"
#include "base/statistics/statistics.h"
#include "tools/report/page.h"

#include <math.h>
#include <string.h>

enum { NAME = 40 };

/* ---- epochs ---- */

static struct ctt_page_epoch *new_row(struct ctt_train_page *p)
{
    int room = p->room ? 2 * p->room : 64;
    struct ctt_page_epoch *more;

    if (p->rows == p->room) {
        more = ctt_calloc((size_t)room, sizeof(*more));
        if (!more)
            return NULL;
        if (p->rows)
            memcpy(more, p->row, (size_t)p->rows * sizeof(*more));
        ctt_free(p->row);
        p->row = more;
        p->room = room;
    }
    return &p->row[p->rows++];
}

static void take_test(struct ctt_train_page *p, struct ctt_page_epoch *r,
                      const struct ctt_epoch *e, const struct ctt_metrics *val)
{
    r->val_loss = e->val.loss;
    if (!val)
        return;
    p->points = val->points;
    memcpy(p->point, val->point, sizeof(p->point));
    for (int k = 0; k < val->points; k++) {
        double range[2];

        r->at[k] = ctt_metrics_top1(val, k);
        ctt_wilson(r->at[k], val->clips, range);
        r->low[k] = range[0];
        r->high[k] = range[1];
    }
}

void ctt_train_page_add(struct ctt_train_page *p, const struct ctt_epoch *e,
                        const struct ctt_metrics *val)
{
    struct ctt_page_epoch *r = new_row(p);

    if (!r) {
        p->lost = 1;
        return;
    }
    *r = (struct ctt_page_epoch){ e->p.epoch, e->p.lr, e->p.loss, e->p.top1,
                                  NAN, e->p.wait, e->p.scale,
                                  .best = e->best };
    for (int k = 0; k < CTT_MAX_POINTS; k++)
        r->at[k] = NAN;
    p->amp |= e->p.amp;
    if (e->tested)
        take_test(p, r, e, val);
    ctt_train_page_write(p);
}

void ctt_train_page_free(struct ctt_train_page *p)
{
    ctt_free(p->row);
    ctt_metrics_free(&p->model);
    ctt_baselines_free(&p->baselines);
}

/* ---- curves by epoch ---- */

/* Column `off` of the rows. */
static const double *column(const struct ctt_train_page *p, size_t off,
                            double *room)
{
    for (int i = 0; i < p->rows; i++)
        memcpy(&room[i], (const char *)&p->row[i] + off, sizeof(*room));
    return room;
}

#define OF(field) offsetof(struct ctt_page_epoch, field)

/* Room for the columns of a chart. */
enum { COLUMNS = 3 * CTT_MAX_POINTS + 1 };
struct columns { double *x, *at[COLUMNS]; };

static int open_columns(const struct ctt_train_page *p, struct columns *c)
{
    size_t n = (size_t)p->rows;
    int rc;

    c->x = ctt_calloc(n * (COLUMNS + 1) + 1, sizeof(*c->x));
    CTT_TRY(c->x ? 0 : CTT_ENOMEM);
    for (int k = 0; k < COLUMNS; k++)
        c->at[k] = c->x + (size_t)(k + 1) * n;
    column(p, OF(epoch), c->x);
out:
    return rc;
}

static void put_loss(FILE *f, const struct ctt_train_page *p, struct columns *c)
{
    struct ctt_series s[] = {
        { "training", p->rows, c->x, column(p, OF(loss), c->at[0]), NULL,
          NULL },
        { "validation", p->rows, c->x, column(p, OF(val_loss), c->at[1]), NULL,
          NULL },
    };

    ctt_page_chart(f, &(struct ctt_chart){ "Loss by epoch", "epoch", "loss", s,
                                           2, 0, 0, NAN, NAN });
}

static void point_name(const struct ctt_point *p, char name[NAME])
{
    if (p->frames)
        snprintf(name, NAME, "validation, %d frame%s seen", p->frames,
                 ctt_s(p->frames));
    else
        snprintf(name, NAME, "validation, %g%% seen", 100 * p->ratio);
}

static void put_top1(FILE *f, const struct ctt_train_page *p, struct columns *c)
{
    struct ctt_series s[CTT_MAX_POINTS + 1];
    char name[CTT_MAX_POINTS][NAME];
    int n = p->points;

    for (int k = 0; k < n; k++) {
        size_t at = (size_t)k * sizeof(double);

        point_name(&p->point[k], name[k]);
        s[k] = (struct ctt_series){ name[k], p->rows, c->x,
            column(p, OF(at) + at, c->at[3 * k]),
            column(p, OF(low) + at, c->at[3 * k + 1]),
            column(p, OF(high) + at, c->at[3 * k + 2]) };
    }
    s[n] = (struct ctt_series){ "training, whole clips", p->rows, c->x,
                                column(p, OF(top1), c->at[3 * n]), NULL, NULL };
    ctt_page_chart(f, &(struct ctt_chart){
        "Right answers by epoch; bars: 95% confidence", "epoch", "top-1", s,
        n + 1, 1, 0, 0, 1 });
}

static void put_one(FILE *f, const struct ctt_train_page *p, struct columns *c,
                    size_t off, struct ctt_chart chart)
{
    struct ctt_series s = { chart.y, p->rows, c->x, column(p, off, c->at[0]),
                            NULL, NULL };

    chart.of = &s;
    chart.series = 1;
    ctt_page_chart(f, &chart);
}

static int put_curves(FILE *f, const struct ctt_train_page *p)
{
    struct columns c = { NULL, { NULL } };
    int rc;

    CTT_TRY(open_columns(p, &c));
    ctt_page_section(f, "Learning", p->cfg->resume
                     ? "Only the epochs since the run was resumed." : NULL);
    put_loss(f, p, &c);
    if (ctt_cfg_recognises(p->cfg))
        put_top1(f, p, &c);
    put_one(f, p, &c, OF(lr), (struct ctt_chart){
        "Learning rate by epoch", "epoch", "learning rate",
        .low = 0, .high = NAN });
    if (p->amp)
        put_one(f, p, &c, OF(scale), (struct ctt_chart){
            "Loss scale of mixed precision by epoch", "epoch", "loss scale",
            .low = 0, .high = NAN });
    put_one(f, p, &c, OF(wait), (struct ctt_chart){
        "Time spent waiting for clips; the rest is the model's", "epoch",
        "share of the time", .percent = 1, .low = 0, .high = 1 });
out:
    ctt_free(c.x);
    return rc;
}

/* ---- the result ---- */

/* Accuracy of m at its points that are shares. */
struct shares { double x[CTT_MAX_POINTS], y[CTT_MAX_POINTS],
                       low[CTT_MAX_POINTS], high[CTT_MAX_POINTS]; };

static struct ctt_series accuracy(const char *name, const struct ctt_metrics *m,
                                  struct shares *s)
{
    int n = 0;

    for (int k = 0; k < m->points; k++) {
        double range[2];

        if (m->point[k].frames)
            continue;
        s->x[n] = 100 * m->point[k].ratio;
        s->y[n] = ctt_metrics_top1(m, k);
        ctt_wilson(s->y[n], m->clips, range);
        s->low[n] = range[0];
        s->high[n++] = range[1];
    }
    return (struct ctt_series){ name, n, s->x, s->y, s->low, s->high };
}

static int put_seen(FILE *f, const struct ctt_train_page *p)
{
    struct ctt_series s[CTT_BASELINES + 2];
    struct shares *room = ctt_calloc(CTT_LEN(s), sizeof(*room));
    char name[2][96];
    int n = 0, rc = room ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (p->on_val)
        s[n] = accuracy("the model, validation clips", p->on_val, &room[n]),
        n++;
    if (p->on_test) {
        snprintf(name[0], sizeof(name[0]), "the model, %s", p->set);
        s[n] = accuracy(name[0], p->on_test, &room[n]);
        n++;
    }
    for (int k = 0; k < CTT_BASELINES && p->baselines.trained; k++) {
        s[n] = accuracy(ctt_baseline_names[k], p->baselines.of[k], &room[n]);
        s[n].low = s[n].high = NULL;
        n++;
    }
    ctt_page_chart(f, &(struct ctt_chart){
        "Right answers by the part of the clip that was seen; bars: 95% "
        "confidence", "% of the clip", "top-1", s, n, 1, 0, 0, 1 });
out:
    ctt_free(room);
    return rc;
}

int ctt_val_chose(const struct ctt_train_cfg *cfg)
{
    return !cfg->backbone && !ctt_picks_last(cfg);
}

/* The proof behind the figures. */
static const char *proof(const struct ctt_train_page *p)
{
    if (!ctt_val_chose(p->cfg))
        return "The validation clips made no choice, so their figures do not "
               "flatter the model.";
    return p->on_test
        ? "The validation clips chose the epoch, so their figures flatter the "
          "model; those of the test do not."
        : "The validation clips chose the epoch, so their figures flatter the "
          "model.";
}

static int put_result(FILE *f, const struct ctt_train_page *p)
{
    const struct ctt_metrics *m = p->on_test ? p->on_test : p->on_val;
    int rc;

    ctt_page_section(f, "Result", proof(p));
    CTT_TRY(put_seen(f, p));
    ctt_page_section(f, "Confusion", p->on_test ? p->set : "validation clips");
    ctt_page_heat(f, m->confusion, m->classes, p->label);
out:
    return rc;
}

/* ---- the page ---- */

static void put_facts(FILE *f, const struct ctt_train_page *p)
{
    const struct ctt_train_cfg *c = p->cfg;
    struct ctt_table t = { NULL, 0, 0, 0 };
    char *settings = NULL;

    ctt_table_row(&t, "model\t%s", p->text ? p->text : c->init ? c->init
                                                               : c->checkpoint);
    ctt_table_row(&t, "clips\t%s", c->data);
    ctt_table_row(&t, "training clips\t%d", ctt_data_clips(p->data));
    if (p->val)
        ctt_table_row(&t, "validation clips\t%d", ctt_data_clips(p->val));
    if (p->rows)
        ctt_table_row(&t, "epochs\t%.0f of %d", p->row[p->rows - 1].epoch,
                      c->epochs);
    for (int i = p->rows; i-- > 0; )
        if (p->row[i].best) {
            ctt_table_row(&t, "best epoch\t%.0f", p->row[i].epoch);
            break;
        }
    if (ctt_settings_changed(c, &settings) >= 0)
        ctt_table_row(&t, "settings, if not the default\t%s", settings);
    ctt_free(settings);
    if (t.rc >= 0)
        ctt_page_facts(f, "The run", &t);
    ctt_table_free(&t);
}

static int print_training(FILE *f, const void *arg)
{
    const struct ctt_train_page *p = arg;
    char title[300];
    int rc = 0;

    snprintf(title, sizeof(title), "Training of %s", p->cfg->out);
    ctt_page_begin(f, title);
    put_facts(f, p);
    if (p->on_val)
        CTT_TRY(put_result(f, p));
    if (p->search)
        CTT_TRY(ctt_search_put(f, p->search));
    if (p->rows)
        CTT_TRY(put_curves(f, p));
    if (p->on_val)
        CTT_TRY(ctt_train_page_clips(f, p));
    ctt_page_end(f);
out:
    return rc;
}

void ctt_train_page_write(const struct ctt_train_page *p)
{
    ctt_page_write(p->cfg->report_html, print_training, p);
}
