/* SPDX-License-Identifier: Apache-2.0
 * fuzz_coding.c: any bytes are an error or a decoded weight, which encodes and
 * decodes to the same.  An input is: which coding and how many output channels,
 * the counts of a channel's and of all kept numbers in two bytes each, the
 * encoded bytes. */
#include "tests/fuzz/fuzz.h"
#include "net/code/code.h"
#include "base/random.h"

#include <string.h>

enum { HEAD = 5, COUNT = 36, CHANNELS = 4 };

/* A codebook of halves and of floats, a scale, a long gap. */
const char *const ctt_fuzz_words[] = {
    "\x02\x02\x01\x3c\x01\x40", "\x01\x04\x01\x01\x80\x3f",
    "\xff\x02", "\xff\x04", "\x01\x01\x80\x3f", "\x01\x01\x80\x7f",
    "\xff\xff\x01", NULL
};

/* A decoded weight, and the weight decoded from its encoding. */
struct both { struct ctt_decoded one, again; };

static int same_weight(const struct both *b, int64_t count)
{
    size_t n = (size_t)count;

    return memcmp(b->one.w, b->again.w, n * sizeof(*b->one.w)) == 0 &&
           memcmp(b->one.keep, b->again.keep, n) == 0 &&
           memcmp(b->one.share, b->again.share, n) == 0;
}

static void decode_input(const struct ctt_coding *how, const uint8_t *p,
                         size_t n, int channels, int64_t each, int64_t kept,
                         const struct both *b)
{
    const struct ctt_tensor t = { .data = b->one.w, .n = channels, .d = 1,
                                  .h = 1, .w = 1, .c = each, .ld = each };
    int64_t count = channels * each;
    struct ctt_weight as = { .t = t, .keep = b->one.keep };
    struct ctt_coding best;
    uint8_t *again = NULL;
    int64_t size = 0;

    if (ctt_decode(how, p, (int64_t)n, &t, kept, &b->one) < 0) {
        FUZZ_CHECK(ctt_errmsg()[0] && !strchr(ctt_errmsg(), '\n'));
        return;
    }
    if (ctt_coding_shares(how->values) && kept > 0)
        as.share = b->one.share;
    FUZZ_CHECK(ctt_encode_best(&as, &best, &again, &size) >= 0);
    FUZZ_CHECK(ctt_decode(&best, again, size, &t, kept, &b->again) >= 0);
    FUZZ_CHECK(same_weight(b, count));
    ctt_free(again);
}

static void get_room(size_t count, struct ctt_decoded *to)
{
    to->w = ctt_calloc(count, sizeof(*to->w));
    to->keep = ctt_calloc(count, 1);
    to->share = ctt_calloc(count, 1);
    FUZZ_CHECK(to->w && to->keep && to->share);
}

static void drop_room(struct ctt_decoded *to)
{
    ctt_free(to->w);
    ctt_free(to->keep);
    ctt_free(to->share);
}

/* Takes a digit with as many values as the table has rows. */
static const char *take_word(int table, int *from)
{
    const char *word;
    int rows = 0;

    while (ctt_coding_word(table, rows))
        rows++;
    word = ctt_coding_word(table, *from % rows);
    *from /= rows;
    return word;
}

/* The first byte: the rows of positions, values and bytes, and the output
 * channels, as digits; returns how many of these. */
static int coding(uint8_t first, struct ctt_coding *how)
{
    int from = first;

    how->positions = take_word(0, &from);
    how->values = take_word(1, &from);
    how->bytes = take_word(2, &from);
    return 1 + from % CHANNELS;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct ctt_coding how;
    long live = ctt_live_blocks();
    size_t count, each;
    struct both b;
    int channels;

    if (n < HEAD)
        return 0;
    channels = coding(p[0], &how);
    each = 1u + p[1] + 256u * p[2];
    count = (size_t)channels * each;
    get_room(count, &b.one);
    get_room(count, &b.again);
    decode_input(&how, p + HEAD, n - HEAD, channels, (int64_t)each,
                 p[3] + 256 * p[4], &b);
    drop_room(&b.one);
    drop_room(&b.again);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* A number that each coding of values holds. */
static float seed_number(const char *values, uint32_t draw)
{
    return values[0] == 'f' || values[0] == 'i' ? (float)(draw % 255) - 127
                                                : (float)(draw % 7);
}

/* Blocks of 4 of each row, or single numbers. */
static int is_kept_at(const char *positions, int k, int64_t c)
{
    int64_t unit = positions[0] == 'b' ? k / c * c + k % c / 4 * 4 : k;

    return strcmp(positions, "all") == 0 ||
           ctt_random(6, (uint64_t)unit) < UINT32_MAX / 5;
}

/* Each coding, of a weight that is pruned unless all its numbers are kept. */
size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    float w[COUNT];
    uint8_t keep[COUNT], share[COUNT], *q = NULL;
    struct ctt_coding how;
    struct ctt_weight as = {
        .t = { .data = w, .d = 1, .h = 1, .w = 1 }, .keep = keep };
    int64_t n = 0;

    if (i > UINT8_MAX)
        return 0;
    memset(p, 0, HEAD);
    p[0] = (uint8_t)i;
    as.t.n = coding(p[0], &how);
    as.t.c = as.t.ld = COUNT / as.t.n;
    p[1] = (uint8_t)(as.t.c - 1);
    for (int k = 0; k < COUNT; k++) {
        uint32_t draw = ctt_random(5, (uint64_t)k);
        keep[k] = (uint8_t)is_kept_at(how.positions, k, as.t.c);
        w[k] = keep[k] ? seed_number(how.values, draw) : 0;
        share[k] = keep[k] ? (uint8_t)(1 + draw % 7) : 0;
        p[3] = (uint8_t)(p[3] + keep[k]);
    }
    if (ctt_coding_shares(how.values))
        as.share = share;
    FUZZ_CHECK(ctt_encode(&how, &as, &q, &n) >= 0 && (size_t)n + HEAD <= room);
    memcpy(p + HEAD, q, (size_t)n);
    ctt_free(q);
    return (size_t)n + HEAD;
}
