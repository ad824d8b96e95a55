/* SPDX-License-Identifier: Apache-2.0
 * code.c: the tables of codings; encoding and decoding one weight with a row of
 * each: which elements are kept, their values, and compression of both. */
#include "net/code/code.h"
#include "net/code/row.h"

#include <string.h>

static const struct ctt_positions *const positions[] = {
    &ctt_positions_all, &ctt_positions_mask, &ctt_positions_index,
    &ctt_positions_gaps, &ctt_positions_block,
};

static const struct ctt_values *const values[] = {
    &ctt_values_f32, &ctt_values_f16, &ctt_values_int8, &ctt_values_codebook,
    &ctt_values_codebook_bits,
};

static const struct ctt_bytes *const bytes[] = {
    &ctt_bytes_raw, &ctt_bytes_deflate,
};

/* ---- words ---- */

static const char *positions_word(int i) { return positions[i]->word; }
static const char *values_word(int i) { return values[i]->word; }
static const char *bytes_word(int i) { return bytes[i]->word; }

static const struct {
    const char *what;
    const char *(*word)(int i);
    int         rows;
} tables[] = {
    { "positions", positions_word, CTT_LEN(positions) },
    { "values",    values_word,    CTT_LEN(values) },
    { "bytes",     bytes_word,     CTT_LEN(bytes) },
};

const char *ctt_coding_word(int table, int i)
{
    if (table < 0 || table >= (int)CTT_LEN(tables) || i < 0 ||
        i >= tables[table].rows)
        return NULL;
    return tables[table].word(i);
}

static int find_coding(int table, const char *word, int *row)
{
    for (int i = 0; i < tables[table].rows; i++) {
        if (strcmp(tables[table].word(i), word) == 0) {
            *row = i;
            return 0;
        }
    }
    return ctt_error(CTT_EUNSUP, "this version knows no %s '%s'",
                     tables[table].what, word);
}

/* A row of each table. */
struct rows {
    const struct ctt_positions *positions;
    const struct ctt_values    *values;
    const struct ctt_bytes     *bytes;
};

static struct rows rows_at(int p, int v, int b)
{
    return (struct rows){ positions[p], values[v], bytes[b] };
}

static int find_all(const struct ctt_coding *how, struct rows *out)
{
    int rc = 0, p = 0, v = 0, b = 0;

    CTT_TRY(find_coding(0, how->positions, &p));
    CTT_TRY(find_coding(1, how->values, &v));
    CTT_TRY(find_coding(2, how->bytes, &b));
    *out = rows_at(p, v, b);
out:
    return rc;
}

/* ---- encoding ---- */

static struct ctt_part part_of(const struct ctt_weight *w)
{
    return (struct ctt_part){ w, ctt_volume(&w->t), ctt_weight_kept(w), NULL };
}

static int pack(const struct ctt_part *p, const struct rows *r, uint8_t **out,
                int64_t *n)
{
    int64_t places = r->positions->size(p), size;
    struct ctt_layout l = { 0, 0, 1 };
    uint8_t *raw = NULL;
    int rc = 0;

    CTT_CHECK(places >= 0, CTT_EUNSUP,
              "positions '%s' cannot say which are kept", r->positions->word);
    CTT_CHECK(r->values->layout(p, &l), CTT_EUNSUP,
              "values '%s' cannot hold these %s numbers", r->values->word,
              ctt_dtype_word(p->w->t.dtype));
    size = l.head + l.values + places;
    raw = ctt_calloc((size_t)size, 1);
    CTT_TRY(raw ? 0 : CTT_ENOMEM);
    r->values->put(p, raw);
    r->positions->put(p, raw + l.head + l.values);
    CTT_TRY(r->bytes->pack(&l, raw, size, out, n));
out:
    ctt_free(raw);
    return rc;
}

int ctt_encode(const struct ctt_coding *how, const struct ctt_weight *w,
               uint8_t **out, int64_t *size)
{
    struct ctt_part p = part_of(w);
    struct rows r = { NULL, NULL, NULL };
    int rc = 0;

    CTT_TRY(find_all(how, &r));
    CTT_TRY(pack(&p, &r, out, size));
out:
    return rc;
}

/* The shortest encoding so far and its rows. */
struct best {
    struct rows r;
    uint8_t    *p;
    int64_t     size;
};

/* A coding that cannot represent the weight is not a candidate. */
static int attempt(const struct ctt_part *p, const struct rows *r,
                   struct best *b)
{
    uint8_t *one = NULL;
    int64_t n = 0;
    int rc = pack(p, r, &one, &n);

    if (rc < 0)
        return rc == CTT_EUNSUP ? 0 : rc;
    if (b->p && b->size <= n) {
        ctt_free(one);
        return 0;
    }
    ctt_free(b->p);
    *b = (struct best){ *r, one, n };
    return 0;
}

/* If nothing is pruned, the first row of positions (all) is the shortest. */
int ctt_encode_best(const struct ctt_weight *w, struct ctt_coding *how,
                    uint8_t **out, int64_t *size)
{
    struct ctt_part p = part_of(w);
    struct best b = { .p = NULL };
    int rc = 0, ways = p.kept == p.count ? 1 : CTT_LEN(positions);

    for (int i = 0; i < ways; i++)
        for (int j = 0; j < (int)CTT_LEN(values); j++)
            for (int k = 0; k < (int)CTT_LEN(bytes); k++) {
                struct rows r = rows_at(i, j, k);
                CTT_TRY(attempt(&p, &r, &b));
            }
    CTT_CHECK(b.p, CTT_EUNSUP, "no coding holds %s numbers",
              ctt_dtype_word(w->t.dtype));
    *how = (struct ctt_coding){ b.r.positions->word, b.r.values->word,
                                b.r.bytes->word };
    *out = b.p;
    *size = b.size;
    b.p = NULL;
out:
    ctt_free(b.p);
    return rc;
}

/* ---- decoding ---- */

int ctt_coding_shares(const char *word)
{
    for (int i = 0; i < (int)CTT_LEN(values); i++)
        if (strcmp(values[i]->word, word) == 0)
            return values[i]->shares;
    return 0;
}

/* No coding of positions is longer than a mask and one byte, or than a byte per
 * kept element and per 255 others. */
static int64_t most_positions(const struct ctt_part *p)
{
    int64_t mask = ctt_bytes_of_bits(p->count) + 1;
    int64_t gaps = p->kept + p->count / 255;

    return mask > gaps ? mask : gaps;
}

/* The bytes before compression: *n of them, the first *used of the values. */
static int unpack(const struct rows *r, const struct ctt_part *p,
                  const uint8_t *in, int64_t size, uint8_t **out, int64_t *n,
                  int64_t *used)
{
    struct ctt_layout l = { 0, r->values->most(p), r->values->width };
    int64_t room = l.values + most_positions(p);
    uint8_t *raw = ctt_calloc_full((size_t)room + CTT_READ_AHEAD, 1);
    int rc = 0;

    CTT_TRY(raw ? 0 : CTT_ENOMEM);
    CTT_TRY(r->bytes->unpack(&l, in, size, raw, room, n));
    *used = r->values->used(p, raw, *n);
    CTT_CHECK(*used >= 0, CTT_EFORMAT, "its values are missing");
    *out = raw;
    raw = NULL;
out:
    ctt_free(raw);
    return rc;
}

/* Positions in the form that is wanted; an element that is not kept is 0. */
static void set_kept(const struct ctt_part *p, const struct rows *r,
                     const struct ctt_decoded *to)
{
    size_t n = (size_t)p->count;

    if (p->at)
        memset(to->w, 0, n * sizeof(*to->w));
    if (to->share && (p->at || !r->values->shares))
        memset(to->share, 0, n);
    if (to->keep)
        memset(to->keep, !p->at, n);
    for (int64_t j = 0; to->keep && p->at && j < p->kept; j++)
        to->keep[p->at[j]] = 1;
}

int ctt_decode(const struct ctt_coding *how, const uint8_t *in, int64_t size,
               const struct ctt_tensor *shape, int64_t kept,
               const struct ctt_decoded *to)
{
    struct ctt_weight as = { .t = *shape };
    struct ctt_part p = { &as, ctt_volume(shape), kept, NULL };
    struct rows r = { NULL, NULL, NULL };
    uint8_t *raw = NULL;
    uint32_t *at = NULL;
    int64_t n = 0, used = 0;
    int rc = 0;

    CTT_TRY(find_all(how, &r));
    CTT_CHECK(kept >= 0 && kept <= p.count && size >= 0, CTT_EFORMAT,
              "%lld of %lld numbers cannot be kept", (long long)kept,
              (long long)p.count);
    CTT_CHECK(to->share || !to->keep || !r.values->shares, CTT_EINVAL,
              "there is no room for codes");
    CTT_CHECK(r.positions->whole || p.count <= UINT32_MAX, CTT_EUNSUP,
              "%lld numbers are too many to be pruned", (long long)p.count);
    as.t.data = NULL;
    as.t.dtype = CTT_F32;
    CTT_TRY(unpack(&r, &p, in, size, &raw, &n, &used));
    if (!r.positions->whole)
        at = ctt_calloc_full((size_t)kept + 1, sizeof(*at));
    CTT_TRY(at || r.positions->whole ? 0 : CTT_ENOMEM);
    CTT_CHECK(r.positions->get(&p, raw + used, n - used, at), CTT_EFORMAT,
              "its positions (%s) are damaged", r.positions->word);
    p.at = at;
    set_kept(&p, &r, to);
    CTT_CHECK(r.values->get(&p, raw, to), CTT_EFORMAT,
              "its values (%s) are damaged", r.values->word);
out:
    ctt_free(raw);
    ctt_free(at);
    return rc;
}
