/* SPDX-License-Identifier: Apache-2.0
 * share.c: the stage "sharing": the numbers of a weight get few values, which
 * are then trained (Han and others 2016). */
#include "compress/stage/kmeans.h"
#include "compress/stage.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BITS = 8, AUTO = 0, NONE = -1 };

/* ---- bits of each weight ---- */

/* "3" or "auto"; -1: neither. */
static int bits_in(const char *s, size_t n)
{
    if (n == 4 && strncmp(s, "auto", 4) == 0)
        return AUTO;
    return n == 1 && s[0] >= '1' && s[0] <= '0' + MOST_BITS ? s[0] - '0' : NONE;
}

/* Calls each(arg, pattern, bits) for the parts of "3,c1*=5,y=auto"; the pattern
 * is NULL where there is none.  CTT_EINVAL, naming the part that is wrong. */
static int parse(const char *spec, int (*each)(void *arg, const char *pattern,
                                               int bits), void *arg)
{
    char pattern[CTT_NAME];
    int rc = 0;

    for (const char *p = spec; *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ","), name = strcspn(p, "=");
        const char *value = name < n ? p + name + 1 : p;
        int bits = bits_in(value, (size_t)(p + n - value));

        CTT_CHECK(bits != NONE && name < sizeof(pattern), CTT_EINVAL,
                  "--share: '%.*s' is not 1 to %d bits or auto, for all "
                  "weights or as NAME=BITS", (int)n, p, MOST_BITS);
        snprintf(pattern, sizeof(pattern), "%.*s", (int)name, p);
        CTT_TRY(each(arg, name < n ? pattern : NULL, bits));
        p += n;
    }
out:
    return rc;
}

struct wanted { const char *name; int bits; };

/* A name takes precedence over all weights; of several names, the last. */
static int choose_bits(void *arg, const char *pattern, int bits)
{
    struct wanted *w = arg;

    if (pattern ? ctt_name_matches(pattern, w->name) : w->bits == NONE)
        w->bits = bits;
    return 0;
}

struct checked { const struct ctt_model *m; int alls; };

static int check_bits(void *arg, const char *pattern, int bits)
{
    struct checked *c = arg;
    int rc = 0;

    (void)bits;
    c->alls += !pattern;
    CTT_CHECK(c->alls < 2, CTT_EINVAL, "--share: two numbers of bits are for "
              "all weights");
    CTT_CHECK(!pattern || *pattern, CTT_EINVAL, "--share: there is no name "
              "before '='");
    CTT_TRY(ctt_names_check(c->m, pattern));
out:
    return rc;
}

/* AUTO, or NONE: it keeps values of its own. */
static int bits_for(const struct ctt_share *o, const char *name)
{
    struct wanted w = { name, NONE };

    if (ctt_name_matches(o->except, name))
        return NONE;
    return parse(o->bits, choose_bits, &w) < 0 ? NONE : w.bits;
}

/* ---- one weight ---- */

/* The kept numbers of a weight, one after the other. */
static int64_t gather(const struct ctt_weight *w, float *to)
{
    const float *x = w->t.data;
    int64_t n = 0;

    for (int64_t i = 0; i < ctt_volume(&w->t); i++)
        if (!w->keep || w->keep[i])
            to[n++] = x[i];
    return n;
}

static int cluster_with(const struct ctt_share *o, int bits, float lambda,
                        const float *x, int64_t n, struct ctt_clusters *c)
{
    const struct ctt_kmeans k = { bits == MOST_BITS ? CTT_MOST_CODES
                                                    : 1 << bits,
                                  o->init, lambda };

    return ctt_kmeans(x, n, &k, c);
}

/* The fewest bits with an error of at most o->tol, or the most there are.  The
 * price of a bit limits the error that any number of them reaches, so it falls
 * where needed. */
static int cluster_auto(const struct ctt_share *o, const float *x, int64_t n,
                        struct ctt_clusters *c)
{
    float lambda = o->lambda;
    int rc = 0, last;

    do {
        last = lambda < 1e-6f;
        for (int bits = 1; bits <= MOST_BITS; bits++) {
            CTT_TRY(cluster_with(o, bits, last ? 0 : lambda, x, n, c));
            if (c->error <= (double)o->tol)
                goto out;
        }
        lambda /= 4;
    } while (!last);
out:
    return rc;
}

static int cluster(const struct ctt_share *o, int bits, const float *x,
                   int64_t n, struct ctt_clusters *c)
{
    return bits == AUTO ? cluster_auto(o, x, n, c)
                        : cluster_with(o, bits, o->lambda, x, n, c);
}

static void assign(struct ctt_model *m, const struct ctt_node *n,
                   const struct ctt_clusters *c)
{
    for (int64_t i = n->at[0]; i < n->at[0] + ctt_volume(&n->w[0]); i++) {
        int k;

        if (ctt_is_pruned(&m->constraint, i))
            continue;
        k = ctt_kmeans_find(c, m->w[i]);
        m->w[i] = c->value[k];
        m->constraint.share[i] = (uint8_t)(k + 1);
    }
}

static int may_share(const struct ctt_model *m, const struct ctt_node *n,
                     const struct ctt_share *o)
{
    struct ctt_weight w;
    int64_t kept;

    if (!ctt_is_conv(n) || bits_for(o, n->name) == NONE)
        return 0;
    w = ctt_model_weight(m, n, 0);
    kept = ctt_weight_kept(&w);
    return kept > 0 && kept >= o->least;
}

static int any_may_share(const struct ctt_model *m, const struct ctt_share *o)
{
    int any = 0;

    for (int i = 0; i < m->g->count; i++)
        any |= may_share(m, &m->g->node[i], o);
    return any;
}

/* Returns 1 if the weight shares values now. */
static int share_weight(struct ctt_model *m, const struct ctt_node *n,
                        const struct ctt_share *o, struct ctt_clusters *c)
{
    struct ctt_weight w = ctt_model_weight(m, n, 0);
    int64_t kept = ctt_weight_kept(&w);
    int rc = 0;
    float *x = NULL;

    if (!may_share(m, n, o))
        return 0;
    x = ctt_calloc((size_t)kept, sizeof(*x));
    CTT_TRY(x ? 0 : CTT_ENOMEM);
    CTT_TRY(cluster(o, bits_for(o, n->name), x, gather(&w, x), c));
    assign(m, n, c);
    rc = 1;
out:
    ctt_free(x);
    return rc;
}

static int none_may(const struct ctt_share *o)
{
    return ctt_error(CTT_EINVAL, "--share: no weight has %d values that are "
                     "not pruned (--share-least) and is asked for", o->least);
}

int ctt_share(struct ctt_model *m, const struct ctt_share *o,
              struct ctt_share_sum *sum)
{
    struct ctt_clusters c;
    int rc = 0, shared;

    *sum = (struct ctt_share_sum){ 0 };
    CTT_TRY(ctt_model_finite(m));
    CTT_TRY(ctt_constraint_share(&m->constraint, m->g->weights));
    for (int i = 0; i < m->g->count; i++) {
        if (!ctt_is_conv(&m->g->node[i]))
            continue;
        sum->weights++;
        CTT_TRY(shared = share_weight(m, &m->g->node[i], o, &c));
        if (!shared)
            continue;
        sum->shared++;
        sum->values += c.count;
        sum->error = c.error > sum->error ? c.error : sum->error;
    }
    CTT_TRY(sum->shared > 0 ? 0 : none_may(o));
out:
    return rc < 0 ? rc : 0;
}

/* ---- the stage ---- */

static const char *const inits[] = { "linear", "density", "kmeans++", NULL };

#define FIELD(f) offsetof(struct ctt_recipe, share.f)

static const struct ctt_opt options[] = {
    { .name = "share", .type = CTT_STRING, .off = FIELD(bits), .dflt = "",
      .help = "bits per weight, 1 to 8, or auto: weights share the "
      "2^BITS values of a codebook; the values are then trained; "
      "NAME=BITS after a comma for the weights of these names", .arg = "BITS",
      .tags = CTT_OPT_COMMON },
    { .name = "share-tol", .type = CTT_FLOAT, .off = FIELD(tol),
      .dflt = "0.15", .help = "with auto: largest relative error of a weight",
      .min = 1e-6, .max = 1, .arg = "E", .needs = "share" },
    { .name = "share-init", .type = CTT_CHOICE, .off = FIELD(init),
      .dflt = "linear", .help = "initial values of k-means: in equal steps, "
      "at equal counts of weights, or drawn far apart", .choices = inits,
      .needs = "share|budget" },
    { .name = "share-lambda", .type = CTT_FLOAT, .off = FIELD(lambda),
      .dflt = "0.02", .help = "price of a bit per weight, in shares of the "
      "weights' variance: rare values are given up; 0: the nearest value",
      .min = 0, .max = 10, .arg = "L", .needs = "share|budget" },
    { .name = "share-epochs", .type = CTT_INT, .off = FIELD(epochs),
      .dflt = "2", .help = "epochs that train the values, besides "
      "--retrain-epochs", .max = 100000, .arg = "N",
      .needs = "share|budget data" },
    { .name = "share-least", .type = CTT_INT, .off = FIELD(least),
      .dflt = "64", .help = "weights with fewer values that are not pruned "
      "keep their own", .min = 1, .max = 1 << 30, .arg = "N",
      .needs = "share" },
    { .name = "share-except", .type = CTT_STRING, .off = FIELD(except),
      .dflt = "", .help = "weights that keep their own values",
      .arg = "PATTERNS", .needs = "share" },
    { .name = NULL }
};

static int sharing_asked(const struct ctt_recipe *o)
{
    return o->share.bits && o->share.bits[0];
}

static int check_sharing(const struct ctt_recipe *o, const struct ctt_model *m)
{
    struct checked c = { m, 0 };
    int rc = 0;

    if (!sharing_asked(o))
        goto out;
    CTT_TRY(parse(o->share.bits, check_bits, &c));
    CTT_TRY(ctt_names_check(m, o->share.except));
    CTT_CHECK(!ctt_constraint_shares(&m->constraint, m->g->weights),
              CTT_EINVAL, "--share: the model's weights share values already");
    if (!ctt_stage_svd.asked(o) && !ctt_stage_tt.asked(o))
        CTT_TRY(any_may_share(m, &o->share) ? 0 : none_may(&o->share));
out:
    return rc;
}

static int own_epochs(const struct ctt_recipe *o)
{
    return o->share.epochs;
}

static int share_weights(struct ctt_walk *k, int round)
{
    struct ctt_share_sum sum;
    int rc = 0;

    (void)round;
    if (!any_may_share(*k->m, &k->o->share)) {
        ctt_walk_same(k, "shared");
        goto out;
    }
    CTT_TRY(ctt_share(*k->m, &k->o->share, &sum));
    snprintf(k->name, sizeof(k->name), "shared");
    snprintf(k->line, sizeof(k->line), "shared: %s bits, %d of %d weights have "
             "%d values, largest relative error %.3f", k->o->share.bits,
             sum.shared, sum.weights, sum.values, sum.error);
out:
    return rc;
}

static const double bits[] = { 8, 5, 4, 3, 2 };

static const struct ctt_ladder ladders[] = {
    { .name = "share", .kind = CTT_OPTION_SHARE, .option = "share",
      .unit = "bits", .also = "share-least=1", .except = "share-except",
      .stage = &ctt_stage_share, CTT_LADDER_VALUES(bits) },
    { .name = NULL }
};

const struct ctt_stage ctt_stage_share = {
    .section = "Sharing", .options = options, .ask = "--share",
    .own_epochs = own_epochs, .asked = sharing_asked, .check = check_sharing,
    .run = share_weights, .ladders = ladders,
};
