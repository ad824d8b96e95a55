/* SPDX-License-Identifier: Apache-2.0
 * int8.c: the stage "INT8": ranges of values are measured on clips, convs read
 * bytes, and biases make up for mean errors. */
#include "compress/stage/choose.h"
#include "compress/stage/int8_inside.h"
#include "compress/stage/range.h"
#include "compress/trial.h"
#include "net/rewrite/edit.h"
#include "net/op.h"
#include "net/quant.h"

#include <stdio.h>
#include <string.h>

/* ---- choice of convs ---- */

int ctt_int8_given(const struct ctt_int8 *o)
{
    return o->method > 0 && o->method != CTT_INT8_AUTO;
}

static int says_auto(const struct ctt_int8 *o)
{
    return o->except && strncmp(o->except, "auto", 4) == 0 &&
           (!o->except[4] || o->except[4] == ',');
}

int ctt_int8_auto(const struct ctt_int8 *o)
{
    return o->automatic || o->method == CTT_INT8_AUTO || says_auto(o);
}

/* The patterns of --int8-except; NULL: none. */
static const char *patterns(const struct ctt_int8 *o)
{
    if (!says_auto(o))
        return o->except;
    return o->except[4] ? o->except + 5 : NULL;
}

static const char *why_not(const struct ctt_int8 *o, const struct ctt_model *m,
                           int i)
{
    const struct ctt_node *n = &m->g->node[i];
    const char *cannot = ctt_quantise_cannot(m->g, i);

    if (cannot)
        return cannot;
    if (ctt_name_matches(patterns(o), n->name))
        return "excepted";
    return o->slow || ctt_quantise_pays(m, i) ? NULL : "no faster";
}

/* Marks convs that may read bytes in take[]; returns their number. */
static int choose_convs(const struct ctt_int8 *o, const struct ctt_model *m,
                        char *take)
{
    int count = 0;

    for (int i = 0; i < m->g->count; i++) {
        take[i] = ctt_is_conv(&m->g->node[i]) && !why_not(o, m, i);
        count += take[i];
    }
    return count;
}

/* Adds rows of blame, with the reason, for convs that stay in floats. */
static int list_others(const struct ctt_int8 *o, const struct ctt_model *m,
                       struct ctt_report *r)
{
    const struct ctt_graph *g = m->g;
    struct ctt_blame *b;
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        const char *why = why_not(o, m, i);
        if (!ctt_is_conv(&g->node[i]) || !why)
            continue;
        CTT_TRY(ctt_report_blame(r, g->node[i].name, &b));
        snprintf(b->stays, sizeof(b->stays), "%s", why);
        b->frames = ctt_int8_frames(g);
    }
out:
    return rc;
}

/* Writes to a weight's row why a conv reads floats, or its errors; of a core
 * with its name. */
static void note_precision(struct ctt_report *r, const struct ctt_blame *b)
{
    char why[CTT_NAME + 64];

    for (int i = 0; i < r->weights; i++) {
        struct ctt_weight_row *row = &r->weight[i];
        size_t n = strlen(row->reason), own = strlen(row->name);

        if (!ctt_row_has(row, b->name, ""))
            continue;
        if (b->stays[0])
            snprintf(why, sizeof(why), "not int8: %s", b->stays);
        else
            snprintf(why, sizeof(why), "int8%s%s: %.1f dB",
                     row->cores > 1 ? " of " : "", b->name[own]
                     ? b->name + own + 1 : row->cores > 1 ? "the last" : "",
                     b->behind);
        if (!strstr(row->reason, why))
            snprintf(row->reason + n, CTT_REASON - n, "%s%s", n ? "; " : "",
                     why);
    }
}

/* ---- the forms of values ---- */

/* Values of nodes as they are sampled. */
struct sampled {
    const struct ctt_graph *g;
    int                    *node;
    struct ctt_range       *range;
    int                     nodes;
};

static void take_row(void *to, int k, const float *row)
{
    struct sampled *s = to;

    ctt_range_add(&s->range[k], row, s->g->node[s->node[k]].out.c);
}

/* Lists sources whose form must be measured on clips. */
static void list_unknown(const struct ctt_graph *g, const char *source,
                         struct ctt_form_of *form, struct sampled *s)
{
    for (int i = 0; i < g->count; i++)
        if (source[i] && !ctt_quantise_known(&g->node[i], &form[i]))
            s->node[s->nodes++] = i;
}

static int measure_ranges(const struct ctt_walk *k, const struct ctt_model *m,
                          struct sampled *s)
{
    const struct ctt_recipe_calls *calls = k->calls;
    int rc = 0;

    CTT_CHECK(calls->sample, CTT_EINVAL, "--int8: no clips to measure ranges "
              "on: give --data");
    s->range = ctt_calloc((size_t)s->nodes, sizeof(*s->range));
    CTT_TRY(s->range ? 0 : CTT_ENOMEM);
    for (int i = 0; i < s->nodes; i++)
        ctt_range_begin(&s->range[i]);
    CTT_TRY(calls->sample(calls->arg, m, k->o->svd.clips, s->node, s->nodes,
                          CTT_SAMPLE_ALL, take_row, s));
out:
    return rc;
}

/* The methods that options can name come after "none". */
static enum ctt_range_method method_of(const struct ctt_int8 *o)
{
    return (enum ctt_range_method)(o->method - 1);
}

static int choose_forms(const struct ctt_walk *k, const struct sampled *s,
                        struct ctt_form_of *form)
{
    const struct ctt_int8 *o = &k->o->int8;
    int rc = 0;

    for (int i = 0; i < s->nodes && rc >= 0; i++) {
        struct ctt_form_of *f = &form[s->node[i]];

        rc = ctt_range_choose(&s->range[i], method_of(o),
                              (double)o->percentile, &f->scale, &f->zero);
        if (rc < 0)
            rc = ctt_error(rc, "%s: %s", s->g->node[s->node[i]].name,
                           ctt_errmsg());
    }
    return rc;
}

/* Fills form[] of all sources. */
static int find_forms(const struct ctt_walk *k, const struct ctt_model *m,
                      const char *take, struct ctt_form_of *form)
{
    struct sampled s = { .g = m->g };
    char *source = ctt_calloc((size_t)m->g->count, 1);
    int rc = 0;

    s.node = ctt_calloc((size_t)m->g->count, sizeof(*s.node));
    CTT_TRY(source && s.node ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_quantise_sources(m->g, take, source));
    list_unknown(m->g, source, form, &s);
    if (s.nodes > 0)
        CTT_TRY(measure_ranges(k, m, &s));
    CTT_TRY(choose_forms(k, &s, form));
out:
    ctt_free(source);
    ctt_free(s.node);
    ctt_free(s.range);
    return rc;
}

/* ---- the stage ---- */

#define FIELD(f) offsetof(struct ctt_recipe, int8.f)

/* "none", then those of enum ctt_range_method. */
static const char *const words[] = {
    "none", [1 + CTT_RANGE_MINMAX] = "minmax",
    [1 + CTT_RANGE_PERCENTILE] = "percentile",
    [1 + CTT_RANGE_ENTROPY] = "entropy", [1 + CTT_RANGE_MSE] = "mse",
    [CTT_INT8_AUTO] = "auto", NULL
};

_Static_assert(CTT_INT8_AUTO == 1 + CTT_RANGE_METHODS,
               "auto stands behind the methods");

static const struct ctt_opt options[] = {
    { .name = "int8", .type = CTT_CHOICE, .off = FIELD(method),
      .dflt = "auto", .help = "with --data: convs compute with 8-bit "
      "integers; the range of values is that of all values that clips "
      "give, that of --int8-percentile, the one whose clipping loses least "
      "information, or the one of least squared error; auto: none or mse, as "
      "--for decides, for a model that is thinned, factorised or pruned, "
      "without --half; convs that then cost more than --int8-harm stay in "
      "floats", .choices = words,
      .tags = CTT_OPT_COMMON },
    { .name = "int8-percentile", .type = CTT_FLOAT, .off = FIELD(percentile),
      .dflt = "99.99", .help = "share of the values, in percent, that is not "
      "clipped at either end", .min = 50, .max = 100, .arg = "P",
      .needs = "int8=percentile" },
    { .name = "int8-except", .type = CTT_STRING, .off = FIELD(except),
      .dflt = "", .help = "convs that read floats; auto, or auto,PATTERNS: "
      "also those that cost most, until the validation clips show no loss "
      "of more than --int8-harm of the mean top-1", .arg = "PATTERNS",
      .needs = "int8!=none data" },
    { .name = "int8-slow", .type = CTT_FLAG, .off = FIELD(slow), .dflt = "0",
      .help = "also convs that are no faster so: 5x5 on images of 8x8 and "
      "more, for which floats have a better algorithm, unless most blocks are "
      "pruned; and those of which most rows are pruned",
      .needs = "int8!=none data" },
    { .name = "int8-epochs", .type = CTT_INT, .off = FIELD(epochs),
      .dflt = "2", .help = "epochs that train the rounded model, besides "
      "--retrain-epochs, if it loses more than --int8-harm", .max = 100000,
      .arg = "N", .needs = "int8!=auto|budget int8!=none|budget data" },
    { .name = "int8-harm", .type = CTT_FLOAT, .off = FIELD(harm),
      .dflt = "0.005", .help = "loss of the mean top-1, 0 to 1, from which on "
      "the rounded model is trained, below 0: in any case; with --int8 auto, "
      "and --int8-except auto, from which on convs stay in floats", .min = -1,
      .max = 1, .arg = "LOSS",
      .needs = "int8!=none data" },
    { .name = NULL }
};

static int int8_asked(const struct ctt_recipe *o)
{
    return o->int8.method > 0;
}

static int given(const struct ctt_recipe *o)
{
    return ctt_int8_given(&o->int8);
}

static int none_may(void)
{
    return ctt_error(CTT_EINVAL, "--int8: there is no conv that could read "
                     "bytes");
}

/* Speed excludes no conv before pruning, which may change it. */
static int any_may(const struct ctt_recipe *o, const struct ctt_model *m)
{
    struct ctt_int8 all = o->int8;

    all.slow = all.slow || o->prune.share > 0;
    for (int i = 0; i < m->g->count; i++)
        if (ctt_is_conv(&m->g->node[i]) && !why_not(&all, m, i))
            return 1;
    return 0;
}

static int is_shared(const struct ctt_model *m)
{
    return ctt_constraint_shares(&m->constraint, m->g->weights);
}

static int folds(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int fold = o->fold.what;

    return ctt_foldable_norms(m->g) == 0 || fold == CTT_FOLD_AUTO ||
           (fold & CTT_FOLD_NORMS);
}

int ctt_int8_may(const struct ctt_recipe *o, const struct ctt_model *m)
{
    return !ctt_int8_frames(m->g) && any_may(o, m) && folds(o, m) &&
           !(ctt_foldable_norms(m->g) > 0 && is_shared(m));
}

static int check_given(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc = 0;

    CTT_TRY(any_may(o, m) ? 0 : none_may());
    CTT_CHECK(folds(o, m), CTT_EINVAL, "--int8 needs batch norms "
              "folded into convs: not --fold none or dead");
    CTT_CHECK(!ctt_int8_auto(&o->int8) || !ctt_int8_frames(m->g), CTT_EINVAL,
              "--int8-except auto: the model predicts frames, and has no "
              "top-1 to keep: name the convs");
out:
    return rc;
}

static int check_int8(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc = 0;

    if (!int8_asked(o))
        goto out;
    CTT_TRY(ctt_names_check(m, patterns(&o->int8)));
    CTT_CHECK(!ctt_int8_auto(&o->int8) || o->int8.harm >= 0, CTT_EINVAL,
              "--int8 auto and --int8-except auto: --int8-harm must be 0 or "
              "more");
    if (given(o))
        CTT_TRY(check_given(o, m));
out:
    return rc;
}

/* None for INT8 that the recipe chose: it must be accurate without. */
static int own_epochs(const struct ctt_recipe *o)
{
    const struct ctt_int8 *i = &o->int8;

    return i->automatic || i->method == CTT_INT8_AUTO ? 0 : i->epochs;
}

static double harm(const struct ctt_recipe *o)
{
    return (double)o->int8.harm;
}

static int count_convs(const struct ctt_graph *g)
{
    int n = 0;

    for (int i = 0; i < g->count; i++)
        n += ctt_is_conv(&g->node[i]);
    return n;
}

/* Writes the rows of blame to those of weights; sets the line of the history.
 * */
static void tell_quantised(struct ctt_walk *k, const struct ctt_model *m)
{
    const struct ctt_blame *worst = NULL;
    int bytes = 0;

    ctt_report_sort_blame(k->r);
    for (int i = 0; i < k->r->blames; i++) {
        const struct ctt_blame *b = &k->r->blame[i];

        if (strcmp(b->name, CTT_BLAME_ALL) == 0)
            continue;
        note_precision(k->r, b);
        bytes += !b->stays[0];
        if (!b->stays[0] && (!worst || b->behind < worst->behind))
            worst = b;
    }
    snprintf(k->line, sizeof(k->line), "int8: %d of %d convs read bytes, "
             "ranges by %s; worst: %s, %.1f dB", bytes, count_convs(m->g),
             words[k->o->int8.method], worst ? worst->name : "none",
             worst ? worst->behind : 0);
}

static int check_made(const struct ctt_walk *k)
{
    int rc;

    CTT_TRY(ctt_model_finite(*k->m));
    CTT_CHECK(ctt_foldable_norms((*k->m)->g) == 0, CTT_EINVAL, "--int8: batch "
              "norms cannot be folded into shared weights: give the dense "
              "model");
    CTT_CHECK(!ctt_int8_auto(&k->o->int8) || k->calls->accuracy, CTT_EINVAL,
              "--int8-except auto: no validation clips to test on");
out:
    return rc;
}

/* Names a round that left the model unchanged. */
static void tell_same(struct ctt_walk *k)
{
    const struct ctt_choice *c = ctt_report_form(k->r);

    ctt_walk_same(k, "int8");
    if (c && c->given_up[0])
        snprintf(k->line, sizeof(k->line), "int8: given up: %s", c->given_up);
}

/* Makes *out of m, which may change; NULL: no conv reads bytes. */
static int quantise(struct ctt_walk *k, struct ctt_model *m,
                    struct ctt_model **out)
{
    const struct ctt_int8 *o = &k->o->int8;
    size_t count = (size_t)m->g->count;
    struct ctt_int8_plan p = { .m = m, .take = ctt_calloc(count, 1),
                               .form = ctt_calloc(count, sizeof(*p.form)) };
    struct ctt_report *rows = NULL;
    int rc = 0;

    CTT_TRY(p.take && p.form ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_trial_rows(k->r, &rows));
    if (choose_convs(o, m, p.take) == 0) {
        ctt_report_give_up(k->r, "no conv is faster so");
        CTT_TRY(list_others(o, m, k->r));
        goto out;
    }
    if (!is_shared(m))
        CTT_TRY(ctt_int8_uniform(k, m, p.take));
    CTT_TRY(find_forms(k, m, p.take, p.form));
    CTT_TRY(ctt_int8_blame(k, m, p.take, p.form));
    CTT_TRY((ctt_int8_auto(o) ? ctt_int8_keep : ctt_int8_make)(k, &p, out));
    CTT_TRY(list_others(o, m, k->r));
    if (*out)
        CTT_TRY(ctt_int8_blame_all(k, m, *out));
    else    /* channels stay as they were */
        memcpy(k->r->weight, rows->weight,
               (size_t)rows->weights * sizeof(*rows->weight));
    tell_quantised(k, m);
out:
    ctt_report_free(&rows);
    ctt_free(p.take);
    ctt_free(p.form);
    return rc;
}

/* Additions join convs first: a pass over bytes less. */
static int quantise_model(struct ctt_walk *k, int round)
{
    struct ctt_model *joined = NULL, *m = NULL;
    int rc;

    (void)round;
    CTT_TRY(check_made(k));
    CTT_TRY(ctt_without_adds(*k->m, &joined));
    snprintf(k->name, sizeof(k->name), "int8");
    CTT_TRY(quantise(k, joined, &m));
    if (!m) {
        tell_same(k);
        goto out;
    }
    ctt_model_free(k->m);
    *k->m = m;
    m = NULL;
out:
    ctt_model_free(&joined);
    ctt_model_free(&m);
    return rc;
}

/* As quantise_model(), with arbitrary ranges. */
static int sketch(struct ctt_walk *k)
{
    struct ctt_model *joined = NULL, *m = NULL;
    char *take = NULL;
    int rc;

    CTT_TRY(ctt_without_adds(*k->m, &joined));
    take = ctt_calloc((size_t)joined->g->count, 1);
    CTT_TRY(take ? 0 : CTT_ENOMEM);
    if (ctt_foldable_norms(joined->g) > 0 ||
        choose_convs(&k->o->int8, joined, take) == 0)
        goto out;
    CTT_TRY(ctt_quantise_some(joined, take, &m));
    ctt_model_free(k->m);
    *k->m = m;
out:
    ctt_model_free(&joined);
    ctt_free(take);
    return rc;
}

static const double on[] = { 1 };

/* With --int8-slow, to time every conv in INT8. */
static const struct ctt_ladder ladders[] = {
    { .name = "int8", .kind = CTT_OPTION_INT8, .option = "int8", .unit = "",
      .also = "int8-slow=1", .except = "int8-except",
      .stage = &ctt_stage_int8, .word = "mse", CTT_LADDER_VALUES(on) },
    { .name = NULL }
};

const struct ctt_stage ctt_stage_int8 = {
    .section = "INT8", .options = options, .ask = "--int8",
    .own_epochs = own_epochs, .harm = harm, .asked = int8_asked, .given = given,
    .check = check_int8, .run = quantise_model, .sketch = sketch, .choice = 1,
    .ladders = ladders,
};
