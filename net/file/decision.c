/* SPDX-License-Identifier: Apache-2.0
 * decision.c: the text of the thresholds for early decisions, and which model
 * they belong to. */
#include "net/file/thresholds.h"
#include "base/newfile.h"
#include "net/late.h"
#include "net/code/zip.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const ctt_guarantee_words[] = { "marginal", "conditional", NULL };

enum { OCTAVE = 8 };    /* checks per doubling */

int ctt_decision_frame(int k)
{
    int doublings = (k - 2 * OCTAVE) / OCTAVE, i = k % OCTAVE + 1;

    return k < 2 * OCTAVE ? k + 1 : (2 * OCTAVE + 2 * i) << doublings;
}

/* ---- the confidence head ---- */

void ctt_head_terms(int k, float p, double term[CTT_HEAD_TERMS])
{
    const double least = 1e-6;
    double x = (double)p, f = log((double)ctt_decision_frame(k)), l;

    x = x < least ? least : x > 1 - least ? 1 - least : x;
    l = log(x / (1 - x));
    term[0] = l;
    term[1] = f;
    term[2] = l * f;
}

float ctt_head_sure(const struct ctt_head *h, int k, int answer, float p)
{
    double term[CTT_HEAD_TERMS], z;

    if (!h->classes)
        return p;
    ctt_head_terms(k, p, term);
    z = (double)h->bias[answer];
    for (int i = 0; i < CTT_HEAD_TERMS; i++)
        z += (double)h->weight[i] * term[i];
    return (float)(1 / (1 + exp(-z)));
}

/* ---- text ---- */

/* Of a text with a head, which older versions must not take. */
static int version_of(const struct ctt_decision *d)
{
    return d->head.classes ? 2 : 1;
}

static int print(FILE *f, const void *arg)
{
    const struct ctt_decision *d = arg;

    fprintf(f, "decision %d\nguarantee %s\nmax-gap %.9g\ndelta %.9g\n"
            "clips %" PRId64 "\nsmooth %.9g\ntype %s\n"
            "model %" PRId64 " %08" PRIx32 "\nthresholds %d\n",
            version_of(d), ctt_guarantee_words[d->guarantee], d->max_gap,
            d->delta, d->clips,
            d->smooth, d->type, d->weights, d->crc, d->checks);
    for (int k = 0; k < d->checks; k++)
        fprintf(f, "%.9g\n", (double)d->threshold[k]);
    if (!d->head.classes)
        return 0;
    fprintf(f, "head %d\n", d->head.classes);
    for (int i = 0; i < CTT_HEAD_TERMS; i++)
        fprintf(f, "%.9g\n", (double)d->head.weight[i]);
    for (int i = 0; i < d->head.classes; i++)
        fprintf(f, "%.9g\n", (double)d->head.bias[i]);
    return 0;
}

int ctt_decision_print(const struct ctt_decision *d, char **text)
{
    return ctt_text_collect("the text of a decision", print, d, text);
}

/* Reads the lines before the thresholds; returns where these begin, or NULL. */
static const char *parse_begin(const char *text, struct ctt_decision *d,
                               int *version)
{
    char word[16];
    int n = 0;

    if (sscanf(text, "decision %d guarantee %15s max-gap %lf delta %lf clips %"
               SCNd64 " smooth %lf type %7s model %" SCNd64 " %8" SCNx32
               " thresholds %d %n", version, word, &d->max_gap,
               &d->delta, &d->clips,
               &d->smooth, d->type, &d->weights, &d->crc, &d->checks, &n) != 10)
        return NULL;
    for (int k = 0; ctt_guarantee_words[k]; k++)
        if (strcmp(word, ctt_guarantee_words[k]) == 0) {
            d->guarantee = (enum ctt_guarantee)k;
            return text + n;
        }
    return NULL;
}

/* So many numbers, each at least `least` and none NaN; returns what follows
 * them, or NULL. */
static const char *parse_numbers(const char *p, int count, float least,
                                 float *to)
{
    for (int k = 0, n; p && k < count; k++, p += n) {
        n = 0;
        if (sscanf(p, "%f%n", &to[k], &n) != 1 || !(to[k] >= least))
            return NULL;
    }
    return p;
}

static int parse_head(const char *p, struct ctt_head *h)
{
    int n = 0;

    if (sscanf(p, " head %d%n", &h->classes, &n) != 1 || h->classes < 1 ||
        h->classes > CTT_HEAD_CLASSES)
        return 0;
    p = parse_numbers(p + n, CTT_HEAD_TERMS, -FLT_MAX, h->weight);
    return p && parse_numbers(p, h->classes, -FLT_MAX, h->bias);
}

/* 1 if all numbers of a head are finite. */
static int is_finite(const struct ctt_head *h)
{
    int finite = 1;

    for (int i = 0; i < CTT_HEAD_TERMS; i++)
        finite &= isfinite(h->weight[i]) != 0;
    for (int i = 0; i < h->classes; i++)
        finite &= isfinite(h->bias[i]) != 0;
    return finite;
}

static int parse_rest(const char *p, int version, struct ctt_decision *d)
{
    p = parse_numbers(p, d->checks, 0, d->threshold);
    if (version == 1)
        return p != NULL;
    return p && version == 2 && parse_head(p, &d->head) && is_finite(&d->head);
}

static int in_range(const struct ctt_decision *d)
{
    return d->max_gap > 0 && d->max_gap < 1 && d->delta > 0 && d->delta < 1 &&
           d->clips > 0 && d->smooth >= 0 && d->smooth < 1 &&
           d->type[strspn(d->type, "abcdefghijklmnopqrstuvwxyz0123456789")] ==
               '\0' && d->weights >= 0 && d->checks > 0 &&
           d->checks <= CTT_DECISION_CHECKS;
}

/* The decision must print as the text that was read, so the text has no other
 * lines and no other spelling of a number. */
int ctt_decision_parse(const char *text, struct ctt_decision *out)
{
    struct ctt_decision d = { .checks = 0 };
    int version = 0, rc = 0;
    const char *p = strlen(text) < CTT_DECISION_TEXT
                    ? parse_begin(text, &d, &version) : NULL;
    char *again = NULL;

    CTT_CHECK(p && in_range(&d) && parse_rest(p, version, &d), CTT_EFORMAT,
              "decision: not the thresholds of one");
    CTT_TRY(ctt_decision_print(&d, &again));
    CTT_CHECK(strcmp(text, again) == 0, CTT_EFORMAT,
              "decision: not in canonical form");
    *out = d;
out:
    ctt_free(again);
    return rc;
}

/* ---- the model ---- */

static uint32_t crc_text(uint32_t crc, const char *s)
{
    return ctt_crc32(crc, s, 1, (int64_t)strlen(s) + 1);
}

/* The late weight of m that lies first at `from` or behind it, and where; NULL:
 * none. */
static struct ctt_late *next_late(const struct ctt_model *m, int64_t from,
                                  int64_t *at, int64_t *count)
{
    struct ctt_late *found = NULL;

    for (int i = 0; m->late && i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        struct ctt_late *w = ctt_late_find(m->late, n, 0);

        if (!w || n->at[0] < from || (found && n->at[0] > *at))
            continue;
        found = w;
        *at = n->at[0];
        *count = ctt_volume(&n->w[0]);
    }
    return found;
}

int ctt_model_crc(const struct ctt_model *m, uint32_t *crc)
{
    int64_t done = 0, at = 0, count = 0;
    struct ctt_late *w;
    const float *x;
    int rc = 0;

    while ((w = next_late(m, done, &at, &count))) {
        *crc = ctt_crc32(*crc, m->w + done, (int)sizeof(*x), at - done);
        CTT_TRY(ctt_late_get(w, &x));
        *crc = ctt_crc32(*crc, x, (int)sizeof(*x), count);
        ctt_late_put(w);
        done = at + count;
    }
    *crc = ctt_crc32(*crc, m->w + done, (int)sizeof(*x),
                     m->g->weights - done);
out:
    ctt_lates_tidy(m->late);
    return rc;
}

int ctt_decision_sign(const struct ctt_model *m, struct ctt_decision *d)
{
    char *net = ctt_net_print(m->g);
    uint32_t crc;
    int rc = 0;

    CTT_TRY(net ? 0 : CTT_ENOMEM);
    crc = crc_text(0, net);
    for (int i = 0; i < m->labels; i++)
        crc = crc_text(crc, m->label[i]);
    CTT_TRY(ctt_model_crc(m, &crc));
    d->weights = m->g->weights;
    d->crc = crc;
out:
    ctt_free(net);
    return rc;
}

int ctt_decision_holds(const struct ctt_decision *d, const struct ctt_model *m)
{
    struct ctt_decision of;
    int rc = ctt_decision_sign(m, &of);

    return rc < 0 ? rc : of.weights == d->weights && of.crc == d->crc;
}

void ctt_decision_drop(struct ctt_model *m)
{
    ctt_free(m->decision);
    m->decision = NULL;
}

int ctt_model_decides(const struct ctt_model *m)
{
    struct ctt_thresholds t;
    struct ctt_decision d;
    int rc = 0;

    if (m->decision && m->g->several) {
        CTT_TRY(ctt_thresholds_parse(m->decision, &t));
        rc = ctt_thresholds_hold(&t, m);
    } else if (m->decision) {
        CTT_TRY(ctt_decision_parse(m->decision, &d));
        rc = ctt_decision_holds(&d, m);
    }
out:
    return rc;
}
