/* SPDX-License-Identifier: Apache-2.0
 * ngram.c: the next symbol of a text by counts of symbols and of pairs: the
 * baselines of --task next. */
#include "libtrain/data/data.h"
#include "video/text/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The discount of the counts of pairs. */
static const double discount = 0.75;

/* times[v]: of symbol v behind another; firsts[v], kinds[v]: pairs that begin
 * with v, all and different ones; before[v]: different symbols before v. */
struct counts {
    int       vocab;
    int64_t   symbols, pairs;    /* all, different pairs */
    int64_t  *times, *firsts, *kinds, *before;
    uint64_t *pair;              /* [symbols], sorted */
};

static int by_pair(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Passes each symbol of d, and the one before it, to take. */
static int each_symbol(struct ctt_data *d, void *arg,
                       void (*take)(void *arg, int before, int symbol))
{
    int rc = 0;

    for (int i = 0; i < d->clips; i++) {
        struct ctt_frames f = { 0 };
        int own, was;

        CTT_TRY(ctt_data_frames(d, i, 0, &f, &own));
        was = ctt_text_symbol(f.data);
        for (int t = 1; t <= f.count; t++) {
            int is = t < f.count
                ? ctt_text_symbol(f.data + t * CTT_TEXT_BYTES_EACH)
                : d->clip[i].label;

            take(arg, was, is);
            was = is;
        }
        ctt_data_done(d, i, &f, own);
    }
out:
    return rc;
}

static void count_symbol(void *arg, int before, int symbol)
{
    struct counts *c = arg;

    c->times[symbol]++;
    c->firsts[before]++;
    c->pair[c->symbols++] = (uint64_t)before << 32 | (uint64_t)symbol;
}

static int count_text(struct ctt_data *d, struct counts *c)
{
    size_t n = (size_t)d->list->labels;
    int rc = 0;

    c->vocab = d->list->labels;
    c->times = ctt_calloc(4 * n, sizeof(*c->times));
    c->pair = ctt_calloc((size_t)ctt_data_all_frames(d) + 1, sizeof(*c->pair));
    CTT_TRY(c->times && c->pair ? 0 : CTT_ENOMEM);
    c->firsts = c->times + n;
    c->kinds = c->firsts + n;
    c->before = c->kinds + n;
    CTT_TRY(each_symbol(d, c, count_symbol));
    qsort(c->pair, (size_t)c->symbols, sizeof(*c->pair), by_pair);
    for (int64_t i = 0; i < c->symbols; i++) {
        if (i && c->pair[i] == c->pair[i - 1])
            continue;
        c->kinds[c->pair[i] >> 32]++;
        c->before[(uint32_t)c->pair[i]]++;
        c->pairs++;
    }
out:
    return rc;
}

/* The first of the sorted pairs that is at least p. */
static int64_t place_of(const struct counts *c, uint64_t p)
{
    int64_t low = 0, high = c->symbols;

    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (c->pair[mid] < p)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Add-one; and interpolated Kneser-Ney (Kneser and Ney 1995; Chen and Goodman
 * 1998), whose lower order is add-one, too. */
static double unigram(const struct counts *c, int symbol)
{
    return ((double)c->times[symbol] + 1) / ((double)c->symbols + c->vocab);
}

static double bigram(const struct counts *c, int before, int symbol)
{
    uint64_t p = (uint64_t)before << 32 | (uint64_t)symbol;
    double lower = ((double)c->before[symbol] + 1) /
                   ((double)c->pairs + c->vocab);
    double all = (double)c->firsts[before];
    double times = (double)(place_of(c, p + 1) - place_of(c, p));

    if (all <= 0)
        return lower;
    return (fmax(times - discount, 0) +
            discount * (double)c->kinds[before] * lower) / all;
}

struct scoring {
    const struct counts *c;
    int     unk;              /* the number of CTT_TEXT_UNKNOWN */
    double  nats[CTT_NGRAMS];
    int64_t n, unknown;
};

static void score_symbol(void *arg, int before, int symbol)
{
    struct scoring *s = arg;

    s->nats[CTT_UNIGRAM] -= log(unigram(s->c, symbol));
    s->nats[CTT_BIGRAM] -= log(bigram(s->c, before, symbol));
    s->n++;
    s->unknown += symbol == s->unk;
}

int ctt_ngram_scores(struct ctt_data *train, struct ctt_data *test,
                     double nats[CTT_NGRAMS], int64_t *symbols,
                     int64_t *unknown)
{
    struct counts c = { .vocab = 0 };
    struct scoring s = { .c = &c };
    int rc;

    CTT_TRY(count_text(train, &c));
    while (s.unk < c.vocab &&
           strcmp(test->list->label[s.unk], CTT_TEXT_UNKNOWN) != 0)
        s.unk++;
    CTT_TRY(each_symbol(test, &s, score_symbol));
    for (int k = 0; k < CTT_NGRAMS; k++)
        nats[k] = s.nats[k] / (double)s.n;
    *symbols = s.n;
    *unknown = s.unknown;
out:
    ctt_free(c.times);
    ctt_free(c.pair);
    return rc;
}
