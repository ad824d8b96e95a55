/* SPDX-License-Identifier: Apache-2.0
 * provider.c: gives each part of a conv to the first provider that accepts it,
 * and records which one that was and why. */
#include "device/provider.h"
#include "net/late.h"

#include <stdio.h>
#include <string.h>

/* The row that computed a part, and the reasons of the rows up to it. */
struct choice {
    int         row, done;
    int         pair, lstm, links;    /* computed in the same kernel */
    const char *why[CTT_CONV_MOST];
    char        code[64];
    const struct ctt_tuned *tuned;    /* NULL: chosen by rule */
};

/* The choice between a fused call and calls of their own, for weights of this
 * stamp and n samples.  yes: 1: calls of their own instead of `from`
 * (CTT_APART_...), 0: fused, -1: not known. */
struct apart { uint64_t stamp; int64_t n; unsigned from; int yes; };

/* The content of a call's cache. */
struct conv_cache {
    const struct ctt_conv_set *set;
    void                      *own[CTT_CONV_MOST];
    struct choice              choice[CTT_CONV_PARTS];
    struct ctt_tuned           tuned[CTT_TUNED];
    struct apart               apart;
    char                       impl[160], why[400];
};

/* ---- the table ---- */

int ctt_conv_open(struct ctt_conv_set *s, struct ctt_dev *d,
                  const struct ctt_conv_provider *const *table,
                  ctt_kernel *rest)
{
    int rc = 0;

    s->rest = rest;
    for (; table[s->count]; s->count++) {
        const struct ctt_conv_provider *p = table[s->count];

        CTT_CHECK(s->count < CTT_CONV_MOST, CTT_EINVAL,
                  "more than %d providers of convs", CTT_CONV_MOST);
        s->row[s->count].by = p;
        if (p->open)
            CTT_TRY(p->open(d, &s->row[s->count].state));
    }
out:
    return rc;
}

/* A row whose open failed may have made some of its state. */
void ctt_conv_close(struct ctt_conv_set *s)
{
    for (int i = 0; i < CTT_CONV_MOST; i++)
        if (s->row[i].by && s->row[i].by->close && s->row[i].state)
            s->row[i].by->close(s->row[i].state);
    memset(s, 0, sizeof(*s));
}

int ctt_conv_sgemm(struct ctt_conv_set *s, struct ctt_dev *d, int n,
                   const float *a, const float *b, float *y)
{
    int i = 0;

    while (!s->row[i].by->sgemm)
        i++;
    return s->row[i].by->sgemm(d, s->row[i].state, n, a, b, y);
}

/* ---- choosing and running ---- */

static int open_cache(const struct ctt_conv_set *s, const struct ctt_call *c,
                      struct conv_cache **out)
{
    struct conv_cache *k = c->cache ? *c->cache : NULL;
    int rc = 0;

    if (c->cache && !k) {
        k = ctt_calloc(1, sizeof(*k));
        CTT_CHECK(k, CTT_ENOMEM, "%s: out of memory", c->node->name);
        k->set = s;
        *c->cache = k;
    }
    *out = k;
out:
    return rc;
}

void *ctt_conv_own(const struct ctt_conv_ask *q, size_t size)
{
    if (!*q->own)
        *q->own = ctt_calloc(1, size);
    if (!*q->own)
        ctt_error(CTT_ENOMEM, "%s: out of memory", q->call->node->name);
    return *q->own;
}

/* 1 if a provider accepts the part; 0: q->why says why not; or an error. */
static int provider_takes(const struct ctt_conv_provider *p,
                          struct ctt_conv_ask *q, int by_rule)
{
    const struct ctt_call *c = q->call;
    int rc;

    q->why = NULL;
    if (p->forget && !q->own)
        q->why = "the call has no cache";
    else if (q->part == CTT_CONV_OUT && !p->int8 && ctt_call_is_int8(c))
        q->why = "reads quantised values";
    else if (q->dev->deterministic && !p->any_threads)
        q->why = "results must not depend on the threads";
    else if ((c->pair.node || c->lstm.node) && !p->along)
        q->why = "takes nothing along";
    else if (c->links && !p->chains)
        q->why = "takes no chain";
    if (q->why)
        return 0;
    rc = p->reads ? ctt_call_lacks(c) : 0;
    rc = rc < 0 ? rc : p->can(q);
    return rc == 1 && p->pays && by_rule ? p->pays(q) : rc;
}

int ctt_conv_takes(const struct ctt_conv_set *s, int row, void **own,
                   struct ctt_conv_ask *q, int by_rule)
{
    q->state = s->row[row].state;
    q->own = own ? &own[row] : NULL;
    return provider_takes(s->row[row].by, q, by_rule);
}

/* The number of the first row that accepts the part, or an error. */
static int pick(const struct ctt_conv_set *s, struct conv_cache *k,
                struct ctt_conv_ask *q)
{
    const char **why = k ? k->choice[q->part].why : NULL;
    int rc = 0, i = 0;

    for (; i < s->count; i++) {
        CTT_TRY(ctt_conv_takes(s, i, k ? k->own : NULL, q, 1));
        if (why)
            why[i] = q->why;
        if (rc)
            break;
    }
    CTT_CHECK(i < s->count, CTT_EUNSUP, "%s: no provider for this convolution",
              q->call->node->name);
    rc = i;
out:
    return rc;
}

/* The name of the code is copied only when it changes: with small models,
 * formatting it in each call would show in the time per frame. */
static void note_choice(struct choice *h, int row, const struct ctt_conv_ask *q)
{
    const char *code = q->code ? q->code : "";

    h->row = row;
    h->done = 1;
    h->pair = q->call->pair.node != NULL;
    h->lstm = q->call->lstm.node != NULL;
    h->links = q->call->links;
    if (strcmp(h->code, code) != 0)
        snprintf(h->code, sizeof(h->code), "%s", code);
}

static int by_time(const struct conv_cache *k, const struct ctt_conv_ask *q)
{
    return k && q->dev->tuner && q->part == CTT_CONV_OUT &&
           !q->dev->deterministic;
}

static int run_row(const struct ctt_conv_provider *p, struct ctt_conv_ask *q)
{
    struct ctt_late *late = q->call->w[0].late;

    if (p->reads && late)
        ctt_late_stay(late);
    return p->run(q);
}

/* Runs the part; returns the row that did. */
static int run_chosen(const struct ctt_conv_set *s, struct conv_cache *k,
                      struct ctt_conv_ask *q, struct ctt_tuned *t)
{
    int rc = 0, row;

    if (t && t->row >= 0)
        CTT_TRY(ctt_conv_takes(s, t->row, k->own, q, 0));
    row = rc ? t->row : pick(s, k, q);
    CTT_TRY(row);
    if (t && t->row < 0 && q->dev->tuning == CTT_TUNE_MEASURE)
        CTT_TRY(row = q->dev->tuner->measure(s, k->own, q, row, t));
    else
        CTT_TRY(run_row(s->row[row].by, q));
    rc = row;
out:
    return rc;
}

static int run_part(const struct ctt_conv_set *s, struct conv_cache *k,
                    struct ctt_conv_ask *q)
{
    struct ctt_tuned *t = NULL;    /* the rule decides */
    int rc = 0;

    if (by_time(k, q)) {
        CTT_TRY(q->dev->tuner->lacks(q, k->tuned));
        t = q->dev->tuner->look(s, q, k->tuned);
    }
    if (q->dev->tuning == CTT_TUNE_LOOK)
        return 0;
    CTT_TRY(run_chosen(s, k, q, t));
    if (k) {
        note_choice(&k->choice[q->part], rc, q);
        k->choice[q->part].tuned = t && t->row == rc ? t : NULL;
    }
out:
    return rc;
}

/* Forgets which rows computed the previous call of this pass. */
static void forget_choices(struct conv_cache *k, enum ctt_pass pass)
{
    for (int i = 0; k && i < CTT_CONV_PARTS; i++)
        if ((i == CTT_CONV_OUT) == (pass == CTT_FWD))
            k->choice[i].done = 0;
}

/* A call and its chain with the floats of their kernels. */
struct lent {
    struct ctt_call  call, chain[CTT_CHAIN_MOST];
    struct ctt_late *held[2 * (CTT_CHAIN_MOST + 1)];
    int              helds;
};

static int lend_kernel(struct lent *l, struct ctt_weight *w)
{
    const float *x;
    int rc = 0;

    if (!w->late || w->t.data)
        goto out;
    CTT_TRY(ctt_late_get(w->late, &x));
    l->held[l->helds++] = w->late;
    w->t.data = (void *)(uintptr_t)x;
out:
    return rc;
}

static int lend_kernels(struct lent *l, const struct ctt_call *c)
{
    int rc = 0;

    l->call = *c;
    l->call.chain = l->chain;
    CTT_TRY(lend_kernel(l, &l->call.w[0]));
    if (c->pair.node)
        CTT_TRY(lend_kernel(l, &l->call.pair.w[0]));
    for (int i = 0; i < c->links; i++) {
        l->chain[i] = c->chain[i];
        CTT_TRY(lend_kernel(l, &l->chain[i].w[0]));
    }
out:
    return rc;
}

/* Makes a call in which a provider lacked a kernel again. */
static int call_with_kernels(int (*f)(struct ctt_conv_set *, struct ctt_dev *,
                                      const struct ctt_call *),
                             struct ctt_conv_set *s, struct ctt_dev *d,
                             const struct ctt_call *c)
{
    struct lent *l = ctt_calloc(1, sizeof(*l));
    int rc = 0;

    CTT_TRY(l ? 0 : CTT_ENOMEM);
    CTT_TRY(lend_kernels(l, c));
    rc = f(s, d, &l->call);
out:
    for (int i = 0; l && i < l->helds; i++)
        ctt_late_put(l->held[i]);
    ctt_free(l);
    return rc;
}

static int run_fwd(struct ctt_conv_set *s, struct ctt_dev *d,
                   const struct ctt_call *c)
{
    struct ctt_conv_ask q = { .dev = d, .call = c, .part = CTT_CONV_OUT };
    struct conv_cache *k = NULL;
    int rc = 0;

    CTT_TRY(open_cache(s, c, &k));
    forget_choices(k, CTT_FWD);
    CTT_TRY(run_part(s, k, &q));
out:
    return rc < 0 ? rc : 0;
}

int ctt_conv_fwd(struct ctt_conv_set *s, struct ctt_dev *d,
                 const struct ctt_call *c)
{
    const float *x = c->w[0].late && !c->w[0].t.data
                     ? ctt_late_stayed(c->w[0].late) : NULL;
    struct ctt_call one;
    int rc;

    if (x) {
        one = *c;
        one.w[0].t.data = (void *)(uintptr_t)x;
        c = &one;
    }
    rc = run_fwd(s, d, c);
    return rc == CTT_CONV_LACKS ? call_with_kernels(run_fwd, s, d, c) : rc;
}

/* The gradients of bias and plus input that no provider has computed. */
static int run_rest(const struct ctt_conv_set *s, struct ctt_dev *d,
                    const struct ctt_call *c, int bias)
{
    struct ctt_call rest = *c;

    rest.din[0].data = rest.dw[0].data = NULL;
    if (bias)
        rest.dw[1].data = NULL;
    if (!c->node->plus || c->din[1].data == c->dout.data)
        rest.din[1].data = NULL;
    return rest.dw[1].data || rest.din[1].data ? s->rest(d, &rest) : 0;
}

int ctt_conv_bwd(struct ctt_conv_set *s, struct ctt_dev *d,
                 const struct ctt_call *c)
{
    struct ctt_conv_ask q = { .dev = d, .call = c, .part = CTT_CONV_DIN };
    struct conv_cache *k;
    int rc = 0;

    CTT_TRY(open_cache(s, c, &k));
    forget_choices(k, CTT_BWD);
    if (c->din[0].data)
        CTT_TRY(run_part(s, k, &q));
    q.part = CTT_CONV_DW;
    q.code = NULL;
    if (c->dw[0].data)
        CTT_TRY(run_part(s, k, &q));
    CTT_TRY(run_rest(s, d, c, q.bias));
out:
    return rc < 0 ? rc : 0;
}

int ctt_conv_can(struct ctt_conv_set *s, struct ctt_dev *d,
                 const struct ctt_call *c, enum ctt_conv_part part)
{
    struct ctt_conv_ask q = { .dev = d, .call = c, .part = part };
    struct conv_cache *k = NULL;
    int rc = 0;

    CTT_TRY(open_cache(s, c, &k));
    for (int i = 0; i < s->count && !rc; i++)
        CTT_TRY(ctt_conv_takes(s, i, k ? k->own : NULL, &q, 1));
out:
    return rc;
}

/* The choice known for this call, or room for it. */
static struct apart *known(struct conv_cache *k, const struct ctt_call *c,
                           unsigned from)
{
    struct apart *a = k ? &k->apart : NULL;

    if (a && (a->stamp != c->stamp || a->n != c->in[0].n || a->from != from))
        *a = (struct apart){ c->stamp, c->in[0].n, from, -1 };
    return a;
}

/* 1 if a provider computes the conv by itself, or an error. */
static int one_apart(const struct ctt_conv_set *s, struct ctt_dev *d,
                     const struct ctt_call *c, unsigned from)
{
    struct ctt_conv_ask q = { .dev = d, .call = c, .part = CTT_CONV_OUT };
    struct conv_cache *k = NULL;
    struct apart *a;
    int rc = 0, found = 0;

    CTT_TRY(open_cache(s, c, &k));
    a = known(k, c, from);
    if (a && a->stamp && a->yes >= 0)
        return a->yes;
    for (int i = 0; i < s->count && !found; i++)
        if (s->row[i].by->apart & from)
            CTT_TRY(found = ctt_conv_takes(s, i, k ? k->own : NULL, &q, 1));
    if (a)
        a->yes = found;
    rc = found;
out:
    return rc;
}

/* The same, of a conv without pair, lstm and chain, or one of its chain. */
static int is_apart(const struct ctt_conv_set *s, struct ctt_dev *d,
                    const struct ctt_call *c)
{
    unsigned from = c->links ? CTT_APART_CHAIN : CTT_APART_ALONG;
    struct ctt_call one = *c;
    int rc;

    one.pair.node = one.lstm.node = NULL;
    one.links = 0;
    rc = one_apart(s, d, &one, from);
    for (int i = 0; i < c->links && rc == 0; i++)
        rc = one_apart(s, d, &c->chain[i], from);
    return rc;
}

/* 1 if a row computes pair and lstm, or the chain, in the same kernel: of the
 * rows that else compute the conv apart, or of the others. */
static int is_along(const struct ctt_conv_set *s, struct ctt_dev *d,
                    const struct ctt_call *c, unsigned apart)
{
    struct ctt_conv_ask q = { .dev = d, .call = c, .part = CTT_CONV_OUT };
    int rc = 0;

    for (int i = 0; i < s->count && rc == 0; i++) {
        const struct ctt_conv_provider *p = s->row[i].by;
        struct conv_cache *k = c->cache ? *c->cache : NULL;

        if ((c->links ? p->chains : p->along) &&
            (p->apart & CTT_APART_ALONG) == apart)
            rc = ctt_conv_takes(s, i, k ? k->own : NULL, &q, 1);
    }
    return rc;
}

/* Only providers that can compute pair and lstm are asked, or that compute the
 * conv apart, so that the others prepare nothing for a call that they will not
 * get. */
static int find_along(struct ctt_conv_set *s, struct ctt_dev *d,
                      const struct ctt_call *c)
{
    struct conv_cache *k;
    int rc = 0;

    CTT_TRY(open_cache(s, c, &k));
    CTT_TRY(is_along(s, d, c, CTT_APART_ALONG));
    if (rc)
        return 1;
    CTT_TRY(is_apart(s, d, c));
    if (rc)
        return 0;
    rc = is_along(s, d, c, 0);
out:
    return rc;
}

int ctt_conv_along(struct ctt_conv_set *s, struct ctt_dev *d,
                   const struct ctt_call *c)
{
    int rc = find_along(s, d, c);

    return rc == CTT_CONV_LACKS ? call_with_kernels(find_along, s, d, c) : rc;
}

/* ---- a call's cache ---- */

void ctt_conv_forget(void *cache)
{
    struct conv_cache *k = cache;

    for (int i = 0; i < k->set->count; i++)
        if (k->own[i])
            k->set->row[i].by->forget(k->own[i]);
    ctt_free(k);
}

/* Appends text, after the separator `between` unless `to` is empty. */
static void append_word(char *to, size_t size, const char *between,
                        const char *text)
{
    size_t n = strlen(to);

    snprintf(to + n, size - n, "%s%s", n ? between : "", text);
}

static int is_of(const struct conv_cache *k, int part, enum ctt_pass pass)
{
    return k->choice[part].done &&
           (part == CTT_CONV_OUT) == (pass == CTT_FWD);
}

const char *ctt_conv_impl(void *cache, enum ctt_pass pass)
{
    struct conv_cache *k = cache;
    char one[128];

    k->impl[0] = 0;
    for (int i = 0; i < CTT_CONV_PARTS; i++) {
        const struct choice *h = &k->choice[i];

        if (!is_of(k, i, pass))
            continue;
        snprintf(one, sizeof(one), "%s%s%s%s%s%s",
                 k->set->row[h->row].by->name, h->code[0] ? ":" : "", h->code,
                 h->pair ? "+pair" : "", h->lstm ? "+lstm" : "",
                 h->links ? "+chain" : "");
        append_word(k->impl, sizeof(k->impl), " ", one);
    }
    return k->impl;
}

/* The times of the rows that were timed, the chosen one first. */
static void add_times(struct conv_cache *k, const struct choice *h)
{
    for (int i = -1; i < k->set->count; i++) {
        int row = i < 0 ? h->row : i;
        char one[64];

        if (i == h->row || !(h->tuned->ms[row] > 0))
            continue;
        snprintf(one, sizeof(one), "%s%s %.4f ms", i < 0 ? "measured: " : "",
                 k->set->row[row].by->name, (double)h->tuned->ms[row]);
        append_word(k->why, sizeof(k->why), ", ", one);
    }
}

const char *ctt_conv_why(void *cache, enum ctt_pass pass)
{
    struct conv_cache *k = cache;
    char one[128];

    k->why[0] = 0;
    for (int i = 0; i < CTT_CONV_PARTS; i++) {
        const struct choice *h = &k->choice[i];

        if (is_of(k, i, pass) && h->tuned)
            add_times(k, h);
        for (int r = 0; is_of(k, i, pass) && !h->tuned && r <= h->row; r++) {
            if (!h->why[r])
                continue;
            snprintf(one, sizeof(one), "%s%s%s%s", r < h->row ? "not " : "",
                     r < h->row ? k->set->row[r].by->name : "",
                     r < h->row ? ": " : "", h->why[r]);
            append_word(k->why, sizeof(k->why), "; ", one);
        }
    }
    return k->why;
}
