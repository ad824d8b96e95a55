/* SPDX-License-Identifier: Apache-2.0
 * code.c: the codings of one weight: which positions are kept, their values,
 * and the bytes of both.  A new coding is a row of a table here. */
#include "net/code/code.h"
#include "net/code/zip.h"

#include <string.h>

/* The kept elements of a weight; keep NULL: all. */
struct part {
    const float   *w;
    const uint8_t *keep;
    int64_t        count, kept;
};

static int is_kept(const struct part *p, int64_t i)
{
    return !p->keep || p->keep[i];
}

static int64_t bytes_of(int64_t bits)
{
    return (bits + 7) / 8;
}

/* ---- positions ---- */

/* size: the bytes it takes, or -1 where it cannot say which are kept.  put
 * writes them to zeroed memory.  get fills keep[count] from exactly that many
 * bytes, or returns 0. */
struct positions {
    const char *word;
    int64_t (*size)(const struct part *p);
    void    (*put)(const struct part *p, uint8_t *out);
    int     (*get)(const uint8_t *in, int64_t size, int64_t count,
                   int64_t kept, uint8_t *keep);
};

static int64_t all_size(const struct part *p)
{
    return p->kept == p->count ? 0 : -1;
}

static void all_put(const struct part *p, uint8_t *out)
{
    (void)p;
    (void)out;
}

static int all_get(const uint8_t *in, int64_t size, int64_t count,
                   int64_t kept, uint8_t *keep)
{
    (void)in;
    memset(keep, 1, (size_t)count);
    return size == 0 && kept == count;
}

/* One bit an element. */
static int64_t mask_size(const struct part *p)
{
    return bytes_of(p->count);
}

static void mask_put(const struct part *p, uint8_t *out)
{
    for (int64_t i = 0; i < p->count; i++)
        if (is_kept(p, i))
            out[i / 8] |= (uint8_t)(1u << i % 8);
}

static int mask_get(const uint8_t *in, int64_t size, int64_t count,
                    int64_t kept, uint8_t *keep)
{
    if (size != bytes_of(count))
        return 0;
    for (int64_t i = 0; i < count; i++)
        kept -= keep[i] = in[i / 8] >> i % 8 & 1;
    return kept == 0 && (count % 8 == 0 || in[size - 1] >> count % 8 == 0);
}

/* The gaps between kept elements (the relative index of Han et al. 2016), each
 * in the code of Rice and Plaunt (1971): its high part in unary, its k low
 * bits as they are.  A byte says the k for which all gaps take least, so it is
 * never longer than a mask and that byte: k = 0 is the mask itself. */
enum { MAX_RICE = 30 };

struct bits {
    const uint8_t *p;
    int64_t        at, end;
};

static int64_t rice_bits(const struct part *p, int *best)
{
    int64_t bits[MAX_RICE + 1] = { 0 }, gap = 0;

    for (int64_t i = 0; i < p->count; i++, gap++) {
        if (!is_kept(p, i))
            continue;
        for (int k = 0; k <= MAX_RICE; k++)
            bits[k] += (gap >> k) + 1 + k;
        gap = -1;
    }
    *best = 0;
    for (int k = 1; k <= MAX_RICE; k++)
        if (bits[k] < bits[*best])
            *best = k;
    return bits[*best];
}

static int64_t index_size(const struct part *p)
{
    int k;

    return 1 + bytes_of(rice_bits(p, &k));
}

/* Unary: ones, then a zero, which is there already. */
static int64_t put_gap(uint8_t *out, int64_t at, int64_t gap, int k)
{
    for (int64_t q = gap >> k; q > 0; q--, at++)
        out[at / 8] |= (uint8_t)(1u << at % 8);
    at++;
    for (int i = 0; i < k; i++, at++)
        out[at / 8] |= (uint8_t)((gap >> i & 1) << at % 8);
    return at;
}

static void index_put(const struct part *p, uint8_t *out)
{
    int64_t gap = 0, at = 0;
    int k;

    rice_bits(p, &k);
    *out++ = (uint8_t)k;
    for (int64_t i = 0; i < p->count; i++, gap++) {
        if (!is_kept(p, i))
            continue;
        at = put_gap(out, at, gap, k);
        gap = -1;
    }
}

/* 0, 1, or -1 behind the end. */
static int next_bit(struct bits *b)
{
    int64_t at = b->at;

    if (at >= b->end)
        return -1;
    b->at++;
    return b->p[at / 8] >> at % 8 & 1;
}

/* The next gap, or -1 if the bits end or it is more than `most`. */
static int64_t get_gap(struct bits *b, int k, int64_t most)
{
    int64_t gap = 0;
    int bit;

    while ((bit = next_bit(b)) == 1)
        if ((gap += INT64_C(1) << k) > most)
            return -1;
    for (int i = 0; i < k && bit >= 0; i++)
        if ((bit = next_bit(b)) > 0)
            gap |= INT64_C(1) << i;
    return bit < 0 || gap > most ? -1 : gap;
}

/* Whether less than a byte is left, all zeros. */
static int at_end(struct bits *b)
{
    int bit = 0;

    if (b->end - b->at >= 8)
        return 0;
    while (bit == 0)
        bit = next_bit(b);
    return bit < 0;
}

static int index_get(const uint8_t *in, int64_t size, int64_t count,
                     int64_t kept, uint8_t *keep)
{
    struct bits b = { .p = in + 1, .end = 8 * (size - 1) };
    int64_t i = 0;

    if (size < 1 || in[0] > MAX_RICE)
        return 0;
    memset(keep, 0, (size_t)count);
    for (; kept > 0; kept--, i++) {
        int64_t gap = get_gap(&b, in[0], count - 1 - i);
        if (gap < 0)
            return 0;
        keep[i += gap] = 1;
    }
    return at_end(&b);
}

static const struct positions positions[] = {
    { "all",   all_size,   all_put,   all_get },
    { "mask",  mask_size,  mask_put,  mask_get },
    { "index", index_size, index_put, index_get },
};

/* ---- values: `width` bytes for each kept element ---- */

struct values {
    const char *word;
    int         width;
    void (*put)(const struct part *p, uint8_t *out);
    void (*get)(const uint8_t *in, int64_t count, const uint8_t *keep,
                float *w);
};

static void f32_put(const struct part *p, uint8_t *out)
{
    for (int64_t i = 0; i < p->count; i++) {
        uint32_t u;

        if (!is_kept(p, i))
            continue;
        memcpy(&u, &p->w[i], 4);
        for (int k = 0; k < 4; k++)
            *out++ = (uint8_t)(u >> 8 * k);
    }
}

static void f32_get(const uint8_t *in, int64_t count, const uint8_t *keep,
                    float *w)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t u = 0;

        if (keep[i])
            for (int k = 0; k < 4; k++)
                u |= (uint32_t)*in++ << 8 * k;
        memcpy(&w[i], &u, 4);
    }
}

static const struct values values[] = {
    { "f32", 4, f32_put, f32_get },
};

/* ---- bytes: what values, then positions, become ---- */

/* raw[size]: kept values of `width` bytes, then positions.  unpack: the same
 * back into raw[room], its size to *size. */
struct bytes {
    const char *word;
    int (*pack)(const uint8_t *raw, int64_t size, int64_t kept, int width,
                uint8_t **out, int64_t *n);
    int (*unpack)(const uint8_t *in, int64_t n, int64_t kept, int width,
                  uint8_t *raw, int64_t room, int64_t *size);
};

static int raw_pack(const uint8_t *raw, int64_t size, int64_t kept, int width,
                    uint8_t **out, int64_t *n)
{
    uint8_t *p = ctt_calloc((size_t)size, 1);

    (void)kept;
    (void)width;
    if (!p)
        return CTT_ENOMEM;
    *out = memcpy(p, raw, (size_t)size);
    *n = size;
    return 0;
}

static int raw_unpack(const uint8_t *in, int64_t n, int64_t kept, int width,
                      uint8_t *raw, int64_t room, int64_t *size)
{
    (void)kept;
    (void)width;
    if (n > room)
        return ctt_error(CTT_EFORMAT, "%lld bytes are too many", (long long)n);
    memcpy(raw, in, (size_t)n);
    *size = n;
    return 0;
}

/* Byte k of value i at k * kept + i: signs and exponents, which are alike, then
 * stand together, and the blocks of the stream are cut between them. */
static int deflate_pack(const uint8_t *raw, int64_t size, int64_t kept,
                        int width, uint8_t **out, int64_t *n)
{
    uint8_t *plane = ctt_calloc((size_t)size, 1);
    int64_t cut[8];
    int rc = 0;

    CTT_TRY(plane ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < kept; i++)
        for (int k = 0; k < width; k++)
            plane[k * kept + i] = raw[width * i + k];
    memcpy(plane + width * kept, raw + width * kept,
           (size_t)(size - width * kept));
    for (int k = 0; k < width; k++)
        cut[k] = (k + 1) * kept;
    CTT_TRY(ctt_deflate(plane, size, cut, width, out, n));
out:
    ctt_free(plane);
    return rc;
}

static int deflate_unpack(const uint8_t *in, int64_t n, int64_t kept,
                          int width, uint8_t *raw, int64_t room, int64_t *size)
{
    uint8_t *plane = ctt_calloc((size_t)room, 1);
    int rc = 0;

    CTT_TRY(plane ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_inflate(in, n, plane, room, size));
    CTT_CHECK(*size >= width * kept, CTT_EFORMAT, "its values are missing");
    for (int64_t i = 0; i < kept; i++)
        for (int k = 0; k < width; k++)
            raw[width * i + k] = plane[k * kept + i];
    memcpy(raw + width * kept, plane + width * kept,
           (size_t)(*size - width * kept));
out:
    ctt_free(plane);
    return rc;
}

static const struct bytes bytes[] = {
    { "raw",     raw_pack,     raw_unpack },
    { "deflate", deflate_pack, deflate_unpack },
};

/* ---- one weight ---- */

/* Each row starts with its word. */
static const struct {
    const char *what;
    const void *row;
    size_t      size;
    int         rows;
} tables[] = {
    { "positions", positions, sizeof(positions[0]), CTT_LEN(positions) },
    { "values",    values,    sizeof(values[0]),    CTT_LEN(values) },
    { "bytes",     bytes,     sizeof(bytes[0]),     CTT_LEN(bytes) },
};

const char *ctt_coding_word(int table, int i)
{
    if (table < 0 || table >= (int)CTT_LEN(tables) || i < 0 ||
        i >= tables[table].rows)
        return NULL;
    return *(const char *const *)((const char *)tables[table].row +
                                  (size_t)i * tables[table].size);
}

static int find(int table, const char *word, int *row)
{
    for (int i = 0; ctt_coding_word(table, i); i++) {
        if (strcmp(ctt_coding_word(table, i), word) == 0) {
            *row = i;
            return 0;
        }
    }
    return ctt_error(CTT_EUNSUP, "this version knows no %s '%s'",
                     tables[table].what, word);
}

static int find_all(const struct ctt_coding *how, int row[3])
{
    int rc = 0;

    CTT_TRY(find(0, how->positions, &row[0]));
    CTT_TRY(find(1, how->values, &row[1]));
    CTT_TRY(find(2, how->bytes, &row[2]));
out:
    return rc;
}

static struct part part_of(const float *w, const uint8_t *keep, int64_t count)
{
    struct part p = { w, keep, count, count };

    for (int64_t i = 0; keep && i < count; i++)
        p.kept -= !keep[i];
    return p;
}

static int pack(const struct part *p, const int row[3], uint8_t **out,
                int64_t *size)
{
    const struct positions *pos = &positions[row[0]];
    const struct values *val = &values[row[1]];
    int64_t at = val->width * p->kept, places = pos->size(p);
    uint8_t *raw = NULL;
    int rc = 0;

    CTT_CHECK(places >= 0, CTT_EUNSUP, "positions '%s' cannot leave any out",
              pos->word);
    raw = ctt_calloc((size_t)(at + places), 1);
    CTT_TRY(raw ? 0 : CTT_ENOMEM);
    val->put(p, raw);
    pos->put(p, raw + at);
    CTT_TRY(bytes[row[2]].pack(raw, at + places, p->kept, val->width, out,
                               size));
out:
    ctt_free(raw);
    return rc;
}

int ctt_encode(const struct ctt_coding *how, const float *w,
               const uint8_t *keep, int64_t count, uint8_t **out,
               int64_t *size)
{
    struct part p = part_of(w, keep, count);
    int row[3], rc = 0;

    CTT_TRY(find_all(how, row));
    CTT_TRY(pack(&p, row, out, size));
out:
    return rc;
}

/* Keeps the shorter one; frees the other. */
static void shorter(uint8_t **a, int64_t *na, uint8_t *b, int64_t nb)
{
    if (*a && *na <= nb) {
        ctt_free(b);
        return;
    }
    ctt_free(*a);
    *a = b;
    *na = nb;
}

/* Values that lose nothing are the only ones to choose from: row 0. */
int ctt_encode_best(const float *w, const uint8_t *keep, int64_t count,
                    struct ctt_coding *how, uint8_t **out, int64_t *size)
{
    struct part p = part_of(w, keep, count);
    uint8_t *best = NULL, *one = NULL;
    int64_t least = 0, n = 0;
    int rc = 0;

    for (int i = 0; i < (int)CTT_LEN(positions); i++) {
        for (int k = 0; k < (int)CTT_LEN(bytes); k++) {
            rc = pack(&p, (const int[]){ i, 0, k }, &one, &n);
            if (rc == CTT_EUNSUP)
                continue;
            CTT_TRY(rc);
            if (!best || n < least)
                *how = (struct ctt_coding){ positions[i].word, values[0].word,
                                            bytes[k].word };
            shorter(&best, &least, one, n);
        }
        if (p.kept == p.count)
            break;
    }
    rc = 0;
    *size = least;
    *out = best;
    best = NULL;
out:
    ctt_free(best);
    return rc;
}

/* No coding of positions is longer than a mask and a byte. */
int ctt_decode(const struct ctt_coding *how, const uint8_t *in, int64_t size,
               int64_t count, int64_t kept, float *w, uint8_t *keep)
{
    int64_t room, at, n = 0;
    uint8_t *raw = NULL;
    int row[3] = { 0 }, rc = 0;

    CTT_TRY(find_all(how, row));
    CTT_CHECK(kept >= 0 && kept <= count && size >= 0, CTT_EFORMAT,
              "%lld of %lld numbers cannot be kept", (long long)kept,
              (long long)count);
    at = values[row[1]].width * kept;
    room = at + bytes_of(count) + 1;
    raw = ctt_calloc((size_t)room, 1);
    CTT_TRY(raw ? 0 : CTT_ENOMEM);
    CTT_TRY(bytes[row[2]].unpack(in, size, kept, values[row[1]].width, raw,
                                 room, &n));
    CTT_CHECK(n >= at, CTT_EFORMAT, "its values are missing");
    CTT_CHECK(positions[row[0]].get(raw + at, n - at, count, kept, keep),
              CTT_EFORMAT, "its positions (%s) are damaged",
              positions[row[0]].word);
    values[row[1]].get(raw, count, keep, w);
out:
    ctt_free(raw);
    return rc;
}
