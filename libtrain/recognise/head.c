/* SPDX-License-Identifier: Apache-2.0
 * head.c: a linear head on the maps of a backbone: its graph and its fit. */
#include "libtrain/recognise/head.h"
#include "libtrain/data/fold.h"
#include "libtrain/recognise/ridge.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/maps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST = CTT_MAX_IN * 16 };    /* bytes of a list of names */

/* A head in the making: the names of its nodes begin with the stem. */
struct head {
    struct ctt_edit        *e;
    const struct ctt_graph *g;
    char                    stem[16];
    int                     maps;
};

/* Nodes of a head on map k: the change over `span` sixths of a second is
 * head.ck or head.ek, the mean and the maximum of this over the pixels are
 * head.dk and head.mk, or head.fk and head.nk.  Most of a frame stands still,
 * so a mean dilutes the movement of a part of it; two delays tell fast movement
 * from slow. */
static const struct { char change, mean, most; int span; } motions[] = {
    { 'c', 'd', 'm', 1 }, { 'e', 'f', 'n', 2 },
};

/* Steps in a sixth of a second, at least one; fps=0, every frame: one. */
static int sixth_steps(const struct ctt_graph *g)
{
    float fps = g->node[ctt_graph_input(g)].attr.input.fps;

    return fps < 6 ? 1 : (int)lrintf(fps / 6);
}

/* One map: its changes, head.ck and head.ek, side by side in head.vk, and its
 * mean over the pixels, head.pk. */
static int add_map(struct head *h, int node)
{
    const char *name = h->g->node[node].name, *s = h->stem;
    int rc = 0, k = h->maps++, end = h->g->count, sixth = sixth_steps(h->g);
    char list[LIST] = "";

    for (int i = 0; i < (int)CTT_LEN(motions); i++) {
        char change = motions[i].change;
        char mean = motions[i].mean, most = motions[i].most;

        CTT_TRY(ctt_edit_add(h->e, end, "change %s.%c%d in=%s delay=%d", s,
                             change, k, name, motions[i].span * sixth));
        CTT_TRY(ctt_edit_add(h->e, end, "pool %s.%c%d in=%s.%c%d kind=avg", s,
                             mean, k, s, change, k));
        CTT_TRY(ctt_edit_add(h->e, end, "pool %s.%c%d in=%s.%c%d kind=max", s,
                             most, k, s, change, k));
        snprintf(list + strlen(list), sizeof(list) - strlen(list),
                 "%s%s.%c%d,%s.%c%d", i ? "," : "", s, mean, k, s, most, k);
    }
    CTT_TRY(ctt_edit_add(h->e, end, "concat %s.v%d in=%s", s, k, list));
    CTT_TRY(ctt_edit_add(h->e, end, "pool %s.p%d in=%s kind=avg", s, k, name));
out:
    return rc;
}

static int add_maps(struct head *h, const char *nodes)
{
    int rc = 0, node = 0;

    for (const char *s = nodes; ; s += strcspn(s, ",") + 1) {
        CTT_TRY(ctt_listed_node(h->g, s, &node));
        CTT_CHECK(h->maps < CTT_MAX_IN, CTT_EINVAL, "--nodes: more than %d",
                  CTT_MAX_IN);
        CTT_TRY(add_map(h, node));
        if (!s[strcspn(s, ",")])
            break;
    }
out:
    return rc;
}

/* The average of one part of all maps: head.v0, head.v1, .. or head.p0, ..
 * side by side. */
static int add_average(struct head *h, char part, int skip)
{
    char list[LIST] = "";
    const char *s = h->stem;
    int rc = 0, end = h->g->count;

    for (int k = 0; k < h->maps; k++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list),
                 "%s%s.%c%d", k ? "," : "", s, part, k);
    if (h->maps > 1) {
        CTT_TRY(ctt_edit_add(h->e, end, "concat %s.%c in=%s", s, part, list));
        snprintf(list, sizeof(list), "%s.%c", s, part);
    }
    CTT_TRY(ctt_edit_add(h->e, end, "average %s.a%c in=%s skip=%d", s, part,
                         list, skip));
out:
    return rc;
}

/* All lines of the head, behind those of the backbone. */
static int add_head(struct head *h, const char *nodes)
{
    const char *s = h->stem;
    int rc, end = h->g->count;

    CTT_TRY(add_maps(h, nodes));
    CTT_TRY(add_average(h, 'v', 1));
    CTT_TRY(add_average(h, 'p', 0));
    CTT_TRY(ctt_edit_add(h->e, end, "concat %s.x in=%s.av,%s.ap", s, s, s));
    CTT_TRY(ctt_edit_add(h->e, end, "conv %s in=%s.x out=2", s, s));
out:
    return rc;
}

/* The graph without what its output does not need. */
static int sweep(const struct ctt_graph *g, struct ctt_graph **out)
{
    struct ctt_edit *e = NULL;
    int rc;

    CTT_TRY(ctt_edit_begin(g, &e));
    CTT_TRY(ctt_edit_sweep(e));
    CTT_TRY(ctt_edit_graph(e, out));
out:
    ctt_edit_free(&e);
    return rc;
}

int ctt_head_graph(const struct ctt_graph *backbone, const char *nodes,
                   struct ctt_graph **out)
{
    struct head h = { .g = backbone };
    struct ctt_graph *all = NULL;
    int rc = 0;

    CTT_CHECK(backbone->clip == backbone->count, CTT_EUNSUP, "the backbone has "
              "a line 'clip'; a head is added to a model of frames");
    ctt_edit_stem(backbone, CTT_HEAD, h.stem, sizeof(h.stem));
    CTT_TRY(ctt_edit_begin(backbone, &h.e));
    CTT_TRY(add_head(&h, nodes));
    CTT_TRY(ctt_edit_graph(h.e, &all));
    CTT_TRY(sweep(all, out));
    (*out)->several = 0;
out:
    ctt_edit_free(&h.e);
    ctt_graph_free(&all);
    return rc;
}

/* ---- the fit ---- */

static const struct ctt_point points[] = {
    { .ratio = 0.25 }, { .ratio = 0.5 }, { .ratio = 1 },
};

/* Rows of all parts, the first `motion` numbers those of motion, with labels
 * and groups. */
struct examples { struct ctt_features f; int *label, *group, motion; };

static void close_examples(struct examples *e)
{
    ctt_features_free(&e->f);
    ctt_free(e->label);
    ctt_free(e->group);
}

/* The model without its head: what that reads is the answer. */
static int without_head(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_edit *e = NULL;
    int rc;

    CTT_TRY(ctt_edit_begin(m->g, &e));
    ctt_edit_remove(e, ctt_graph_output(m->g));
    CTT_TRY(ctt_edit_model(e, m, out));
out:
    ctt_edit_free(&e);
    return rc;
}

/* How many of the numbers that the head reads are motion. */
static int motion_of(const struct ctt_graph *g)
{
    const struct ctt_node *x = &g->node[g->node[ctt_graph_output(g)].in[0]];

    return (int)g->node[x->in[0]].out.c;
}

int ctt_head_read(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                  struct ctt_data *d, const struct ctt_events *ev,
                  struct ctt_features *out)
{
    struct ctt_model *body = NULL;
    int rc = 0;

    CTT_CHECK(!ctt_data_several(d), CTT_EUNSUP, "clips have several labels; a "
              "ridge head answers one");
    CTT_TRY(without_head(m, &body));
    CTT_TRY(ctt_features_read(body, cfg, d, points, CTT_LEN(points), ev, out));
out:
    ctt_model_free(&body);
    return rc;
}

static int read_examples(const struct ctt_model *m,
                         const struct ctt_train_cfg *cfg, struct ctt_data *d,
                         const struct ctt_features *known,
                         const struct ctt_events *ev,
                         struct examples *e, int *groups)
{
    int *of = ctt_calloc((size_t)d->clips, sizeof(*of)), rc = 0;
    size_t rows;

    CTT_TRY(of ? 0 : CTT_ENOMEM);
    CTT_TRY(known ? ctt_features_part(known, d, &e->f)
                  : ctt_head_read(m, cfg, d, ev, &e->f));
    CTT_CHECK(e->f.rows > (int)CTT_LEN(points), CTT_EUNSUP, "fewer than two "
              "clips can be read");
    CTT_TRY(*groups = ctt_groups_find(d, of));
    e->motion = motion_of(m->g);
    rows = (size_t)e->f.rows;
    e->label = ctt_calloc(rows, sizeof(*e->label));
    e->group = ctt_calloc(rows, sizeof(*e->group));
    CTT_TRY(e->label && e->group ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < rows; i++) {
        e->label[i] = d->clip[e->f.clip[i]].label;
        e->group[i] = of[e->f.clip[i]];
    }
out:
    ctt_free(of);
    return rc;
}

/* Fits to the columns of some parts. */
static int fit_parts(const struct examples *e, enum ctt_head_part parts,
                     int classes, struct ctt_ridge *r)
{
    int from = parts & CTT_HEAD_MOTION ? 0 : e->motion, rc;
    int width = (parts & CTT_HEAD_MAPS ? e->f.width : e->motion) - from;
    float *x = ctt_calloc((size_t)e->f.rows * (size_t)width, sizeof(*x));

    CTT_TRY(x ? 0 : CTT_ENOMEM);
    for (int i = 0; i < e->f.rows; i++)
        memcpy(x + (size_t)i * (size_t)width, e->f.x + from +
               (size_t)i * (size_t)e->f.width, (size_t)width * sizeof(*x));
    CTT_TRY(ctt_ridge_fit(x, e->label, e->group, e->f.rows, width, classes, r));
out:
    ctt_free(x);
    return rc;
}

/* The fit as the weights of the head, a conv of one pixel. */
static void set_head(const struct ctt_ridge *r, struct ctt_model *m)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_output(m->g)];
    float *w = m->w + n->at[0], *b = m->w + n->at[1];

    for (int c = 0; c < r->classes; c++) {
        double bias = (double)r->bias[c];

        for (int j = 0; j < r->inputs; j++) {
            double v = (double)r->scale[j] * r->w[j * r->classes + c];

            w[c * r->inputs + j] = (float)(v * r->factor);
            bias -= v * r->mean[j];
        }
        b[c] = (float)(bias * r->factor);
    }
}

/* *m with these parts alone; its head has no weights yet. */
static int take_parts(struct ctt_model **m, enum ctt_head_part parts)
{
    struct ctt_graph *g = NULL, *less = NULL;
    const struct ctt_graph *was = (*m)->g;
    struct ctt_model *part = NULL;
    struct ctt_edit *e = NULL;
    int rc = 0, last = ctt_graph_output(was);
    const char *stem = was->node[last].name;

    if (parts == CTT_HEAD_BOTH)
        return 0;
    CTT_TRY(ctt_edit_begin(was, &e));
    CTT_TRY(ctt_edit_add(e, was->count, "conv %s in=%s.a%c out=%lld", stem,
                         stem, parts == CTT_HEAD_MOTION ? 'v' : 'p',
                         (long long)was->node[last].out.c));
    ctt_edit_remove(e, last);
    CTT_TRY(ctt_edit_graph(e, &g));
    ctt_edit_free(&e);    /* it reads the graph of *m */
    CTT_TRY(sweep(g, &less));
    rc = ctt_model_with(less, *m, &part);
    less = NULL;
    CTT_TRY(rc);
    ctt_model_free(m);
    *m = part;
out:
    ctt_edit_free(&e);
    ctt_graph_free(&g);
    ctt_graph_free(&less);
    return rc;
}

/* Fits the given parts, or 0: all choices of them, and keeps the best. */
static int choose_parts(const struct examples *e, int given, int classes,
                        struct ctt_ridge *best, struct ctt_head_fit *out)
{
    int rc = 0;

    for (int parts = CTT_HEAD_MOTION; parts <= CTT_HEAD_BOTH; parts++) {
        struct ctt_ridge r = { 0 };

        if (given && parts != given)
            continue;
        rc = fit_parts(e, (enum ctt_head_part)parts, classes, &r);
        out->right[parts] = r.right;
        if (rc >= 0 && (!best->mean || r.error < best->error)) {
            struct ctt_ridge worse = *best;

            *best = r;
            r = worse;
            out->parts = (enum ctt_head_part)parts;
            out->penalty = best->penalty;
        }
        ctt_ridge_free(&r);
        CTT_TRY(rc);
    }
out:
    return rc;
}

int ctt_head_ridge(struct ctt_model **m, const struct ctt_train_cfg *cfg,
                   struct ctt_data *d, const struct ctt_features *known,
                   const struct ctt_events *ev, struct ctt_head_fit *out)
{
    struct examples e = { .label = NULL };
    struct ctt_ridge r = { 0 };
    int rc;

    *out = (struct ctt_head_fit){ .clips = 0 };
    CTT_TRY(read_examples(*m, cfg, d, known, ev, &e, &out->groups));
    out->clips = e.f.rows / (int)CTT_LEN(points);
    CTT_TRY(choose_parts(&e, cfg->reads, d->list->labels, &r, out));
    CTT_TRY(take_parts(m, out->parts));
    out->inputs = r.inputs;
    set_head(&r, *m);
out:
    ctt_ridge_free(&r);
    close_examples(&e);
    return rc;
}
