/* SPDX-License-Identifier: Apache-2.0
 * thin.c: the stage "thinning": removes whole channels, so that every tensor
 * that has them becomes smaller. */
#include "compress/stage.h"
#include "compress/stage/thin_score.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A class of channels that may be removed. */
struct item { double score; int class, layer; };

/* Its items stand in a row, least first. */
struct layer {
    int    first, count, gone, stay;
    double given;    /* their number in the given model */
    int    sure;     /* `given` is of a conv of this layer alone */
};

struct choice {
    const struct ctt_model *m;
    const struct ctt_thin  *o;
    struct ctt_channel_groups *t;
    struct item     *item;
    struct layer    *layer;
    int              items;
    double          *score;    /* by class */
    uint8_t         *keep;
};

/* ---- removable channels ---- */

/* Channels of convs that are excepted stay. */
static void keep_excepted(const struct choice *a)
{
    const struct ctt_graph *g = a->m->g;

    for (int i = 0; i < g->count; i++) {
        if (!ctt_is_conv(&g->node[i]) ||
            !ctt_name_matches(a->o->except, g->node[i].name))
            continue;
        for (int64_t j = 0; j < g->node[i].out.c; j++)
            a->t->layer[ctt_tie(a->t, i, j)] = -1;
    }
}

/* Channels that a layer keeps, at least `least`: a multiple, or all. */
static int least_channels(const struct choice *a, const struct layer *y,
                          double least)
{
    int n = (int)ceil(least < 1 ? 1 : least - 1e-6), by = a->o->multiple;

    n = (n + by - 1) / by * by;
    return n < y->count ? n : y->count;
}

static int by_score(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;

    if (a->layer != b->layer)
        return a->layer - b->layer;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return a->class - b->class;
}

static void list_items(struct choice *a)
{
    for (int k = 0; k < a->t->classes; k++)
        if (a->t->layer[k] >= 0)
            a->item[a->items++] = (struct item){ a->score[k], k,
                                                 a->t->layer[k] };
    qsort(a->item, (size_t)a->items, sizeof(*a->item), by_score);
    for (int k = a->items - 1; k >= 0; k--) {
        struct layer *y = &a->layer[a->item[k].layer];

        y->first = k;
        y->given = ++y->count;
    }
}

/* The layer of a conv's channels, or -1 if in none or several; *stay: the
 * number that must stay. */
static int only_layer(const struct choice *a, int node, int *stay)
{
    int64_t c = a->m->g->node[node].out.c;
    int only = -1, several = 0;

    *stay = 0;
    for (int64_t j = 0; j < c; j++) {
        int layer = a->t->layer[ctt_tie(a->t, node, j)];

        *stay += layer < 0;
        several |= layer >= 0 && only >= 0 && layer != only;
        only = layer >= 0 ? layer : only;
    }
    return several ? -1 : only;
}

/* Estimates `given` of layers from a conv with `was` channels in the given
 * model.  If its removable channels are of several layers, each is taken to
 * have lost the same share, unless a conv of that layer alone gives the number.
 * */
static void find_given_by(struct choice *a, int node, int was)
{
    int64_t c = a->m->g->node[node].out.c;
    int stay, only = only_layer(a, node, &stay);

    for (int64_t j = 0; j < c; j++) {
        int layer = a->t->layer[ctt_tie(a->t, node, j)];
        struct layer *y = layer < 0 ? NULL : &a->layer[layer];

        if (!y || (y->sure && only < 0))
            continue;
        y->given = y->count * (double)(was - stay) / (double)(c - stay);
        y->sure = only >= 0;
    }
}

static void find_given(struct choice *a, const struct ctt_report *r)
{
    for (int k = 0; r && k < r->weights; k++) {
        int node = ctt_graph_find(a->m->g, r->weight[k].name);

        if (node >= 0)
            find_given_by(a, node, r->weight[k].shape[0]);
    }
}

static void choice_free(struct choice *a)
{
    ctt_channel_groups_free(&a->t);
    ctt_free(a->item);
    ctt_free(a->layer);
    ctt_free(a->score);
    ctt_free(a->keep);
}

static int choice_new(const struct ctt_model *m, const struct ctt_thin *o,
                      struct choice *a)
{
    size_t n;
    int rc;

    *a = (struct choice){ .m = m, .o = o };
    CTT_TRY(ctt_channel_groups_new(m->g, &a->t));
    n = (size_t)a->t->classes;
    keep_excepted(a);
    a->item = ctt_calloc(n, sizeof(*a->item));
    a->layer = ctt_calloc((size_t)a->t->layers + 1, sizeof(*a->layer));
    a->score = ctt_calloc(n, sizeof(*a->score));
    a->keep = ctt_calloc(n, 1);
    CTT_TRY(a->item && a->layer && a->score && a->keep ? 0
            : CTT_ENOMEM);
    memset(a->keep, 1, n);
out:
    return rc;
}

/* Lists removable channels by their scores.  r: the report of the given model,
 * or NULL. */
static void list_all(struct choice *a, const struct ctt_report *r)
{
    list_items(a);
    find_given(a, r);
    for (int k = 0; k < a->t->layers; k++) {
        struct layer *y = &a->layer[k];

        y->stay = least_channels(a, y, (double)a->o->floor * y->given);
    }
}

/* ---- removed channels ---- */

static void choose_channels(struct choice *a, double share)
{
    for (int k = 0; k < a->t->layers; k++) {
        struct layer *y = &a->layer[k];
        int stay = least_channels(a, y, y->given * (1 - share));

        y->gone = y->count - (stay > y->stay ? stay : y->stay);
    }
}

/* Returns the number of removed classes. */
static int mark_removed(struct choice *a)
{
    int gone = 0;

    for (int k = 0; k < a->t->layers; k++) {
        const struct layer *y = &a->layer[k];

        for (int j = 0; j < y->gone; j++)
            a->keep[a->item[y->first + j].class] = 0;
        gone += y->gone;
    }
    return gone;
}

/* ---- the report ---- */

static int64_t all_macs(const struct ctt_graph *g)
{
    int64_t sum = 0;

    for (int i = 0; i < g->count; i++)
        sum += ctt_node_macs(g, i);
    return sum;
}

static void fill_row(const struct ctt_model *to, struct ctt_weight_row *row)
{
    int node = ctt_graph_find(to->g, row->name);
    const struct ctt_tensor *w;

    if (node < 0)
        return;
    w = &to->g->node[node].w[0];
    row->params_after = ctt_volume(w);
    row->macs_after = ctt_node_macs(to->g, node);
    if (w->n != row->shape[0] || w->c != row->shape[4])
        snprintf(row->reason, CTT_REASON, "%d of %d outputs, %d of %d inputs",
                 (int)w->n, row->shape[0], (int)w->c, row->shape[4]);
}

int ctt_thin(const struct ctt_model *m, const struct ctt_thin *o, double share,
             int clips, const struct ctt_recipe_calls *calls,
             struct ctt_report *r, struct ctt_thinned *done,
             struct ctt_model **out)
{
    struct choice a;
    int rc, gone;

    CTT_TRY(choice_new(m, o, &a));
    CTT_TRY(ctt_thin_scores(m, a.t, o, clips, calls, a.score));
    list_all(&a, r);
    choose_channels(&a, share);
    gone = mark_removed(&a);
    CTT_TRY(ctt_thin_model(m, a.t, a.keep, out));
    *done = (struct ctt_thinned){ a.items - gone, a.items,
                                  all_macs((*out)->g), all_macs(m->g) };
    for (int k = 0; k < r->weights; k++)
        fill_row(*out, &r->weight[k]);
out:
    choice_free(&a);
    return rc;
}

/* ---- the stage ---- */

static const char *const score_words[] = { "norm", "response", NULL };

#define FIELD(f) offsetof(struct ctt_recipe, thin.f)

static const struct ctt_opt options[] = {
    { .name = "thin", .type = CTT_FLOAT, .off = FIELD(share), .dflt = "0",
      .help = "fraction of each layer's channels to remove, with all "
      "that can only go together with them, so that every tensor becomes "
      "smaller; thin before pruning, as this breaks pruned "
      "blocks; 0: none",
      .max = 0.99, .arg = "SHARE" },
    { .name = "thin-rounds", .type = CTT_INT, .off = FIELD(rounds),
      .dflt = "1", .help = "number of rounds of thinning and retraining, which "
      "remove most at the start", .min = 1, .max = 100, .arg = "N",
      .needs = "thin" },
    { .name = "thin-score", .type = CTT_CHOICE, .off = FIELD(score),
      .dflt = "norm", .help = "importance of a channel: all its weights, or "
      "its share of the results of the convs that read it, on training clips",
      .choices = score_words, .needs = "thin data" },
    { .name = "thin-keep", .type = CTT_FLOAT, .off = FIELD(floor),
      .dflt = "0.1", .help = "fraction of each layer's channels that is never "
      "removed", .max = 1, .arg = "SHARE", .needs = "thin" },
    { .name = "thin-multiple", .type = CTT_INT, .off = FIELD(multiple),
      .dflt = "8", .help = "a layer keeps a multiple of so many channels, or "
      "all; kernels compute channels in blocks", .min = 1, .max = 4096,
      .arg = "N", .needs = "thin" },
    { .name = "thin-except", .type = CTT_STRING, .off = FIELD(except),
      .dflt = "", .help = "convs that keep their channels", .arg = "PATTERNS",
      .needs = "thin" },
    { .name = NULL }
};

static int thinning_asked(const struct ctt_recipe *o)
{
    return o->thin.share > 0;
}

/* The number of removable channels depends on no score. */
static int check_any(const struct ctt_model *m, const struct ctt_thin *o)
{
    struct choice a;
    int rc, may = 0;

    CTT_TRY(choice_new(m, o, &a));
    list_all(&a, NULL);
    for (int k = 0; k < a.t->layers; k++)
        may += a.layer[k].count - a.layer[k].stay;
    CTT_CHECK(a.items > 0, CTT_EINVAL, "the model has no channel to remove: "
              "all belong to its inputs or its output, to a norm over "
              "channels, a mix or a loss, or to groups, or are excepted");
    CTT_CHECK(may > 0, CTT_EINVAL, "no layer has more channels than "
              "--thin-multiple=%d and --thin-keep=%g leave it", o->multiple,
              (double)o->floor);
out:
    choice_free(&a);
    return rc;
}

static int check_thinning(const struct ctt_recipe *o, const struct ctt_model *m)
{
    const struct ctt_thin *p = &o->thin;
    int rc = 0;

    CTT_CHECK(p->share >= 0 && p->share < 1, CTT_EINVAL,
              "a share of %g channels cannot be removed", (double)p->share);
    CTT_CHECK(p->share == 0 || (p->rounds > 0 && p->multiple > 0), CTT_EINVAL,
              "thinning takes at least one round and a multiple of 1");
    CTT_TRY(ctt_names_check(m, p->except));
    if (thinning_asked(o))
        CTT_TRY(check_any(m, p));
out:
    return rc;
}

static int rounds(const struct ctt_recipe *o)
{
    return o->thin.rounds;
}

/* The last round, whose model is thinnest, has two shares of the epochs, every
 * other one. */
static double spent(const struct ctt_recipe *o, int round, double all)
{
    return all * round / (o->thin.rounds + 1);
}

static int thin_channels(struct ctt_walk *k, int round)
{
    const struct ctt_thin *o = &k->o->thin;
    struct ctt_model *m = NULL;
    struct ctt_thinned d;
    char what[CTT_NAME];
    int rc;

    CTT_TRY(ctt_thin(*k->m, o, ctt_prune_cubic(0, (double)o->share, round,
                                               o->rounds),
                     k->o->svd.clips, k->calls, k->r, &d, &m));
    ctt_model_free(k->m);
    *k->m = m;
    snprintf(what, sizeof(what), o->rounds > 1 ? "thinned %d/%d" : "thinned",
             round, o->rounds);
    memcpy(k->name, what, sizeof(k->name));
    snprintf(k->line, sizeof(k->line), "%s: %d of %d channels stay, %lld of "
             "%lld multiplications", what, d.channels, d.of,
             (long long)d.macs, (long long)d.macs_of);
    if (d.channels == d.of)
        ctt_walk_same(k, what);
out:
    return rc;
}

/* Takes half of the epochs if later stages are retrained as well. */
static const double channels[] = { 0.25, 0.5, 0.75 };

static const struct ctt_ladder ladders[] = {
    { .name = "thin", .kind = CTT_OPTION_THIN, .option = "thin",
      .unit = "share of channels removed", .also = "thin-rounds=1",
      .except = "thin-except", .stage = &ctt_stage_thin,
      CTT_LADDER_VALUES(channels) },
    { .name = NULL }
};

const struct ctt_stage ctt_stage_thin = {
    .section = "Thinning", .options = options, .ask = "--thin", .epochs = 0.5,
    .asked = thinning_asked, .check = check_thinning, .rounds = rounds,
    .spent = spent, .run = thin_channels,
    .ladders = ladders,
};
