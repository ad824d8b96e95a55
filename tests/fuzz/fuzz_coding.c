/* SPDX-License-Identifier: Apache-2.0
 * fuzz_coding.c: any bytes are an error or a decoded weight, which encodes and
 * decodes to the same.  An input is: which coding, the counts of all and of
 * kept numbers in two bytes each, the encoded bytes. */
#include "tests/fuzz/fuzz.h"
#include "net/code/code.h"
#include "net/random.h"

#include <string.h>

enum { HEAD = 5, COUNT = 36 };

const char *const ctt_fuzz_words[] = { "\x1f\x8b\x08", "\x78\x9c", NULL };

struct four { float *w, *again; uint8_t *keep, *keep_again; };

static void decode(const struct ctt_coding *how, const uint8_t *p, size_t n,
                   int64_t count, int64_t kept, const struct four *b)
{
    const struct ctt_tensor t = { .data = b->w, .n = 1, .d = 1, .h = 1, .w = 1,
                                  .c = count, .ld = count };
    const struct ctt_weight as = { .t = t, .keep = b->keep };
    uint8_t *again = NULL;
    int64_t size = 0;

    if (ctt_decode(how, p, (int64_t)n, &t, kept, b->w, b->keep) < 0) {
        FUZZ_CHECK(ctt_errmsg()[0] && !strchr(ctt_errmsg(), '\n'));
        return;
    }
    FUZZ_CHECK(ctt_encode(how, &as, &again, &size) >= 0);
    FUZZ_CHECK(ctt_decode(how, again, size, &t, kept, b->again,
                          b->keep_again) >= 0);
    FUZZ_CHECK(memcmp(b->w, b->again, (size_t)count * 4) == 0 &&
               memcmp(b->keep, b->keep_again, (size_t)count) == 0);
    ctt_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct ctt_coding how;
    long live = ctt_live_blocks();
    size_t count;
    struct four b;

    if (n < HEAD)
        return 0;
    how.positions = ctt_coding_word(0, p[0] & 3);
    how.values = ctt_coding_word(1, 0);
    how.bytes = ctt_coding_word(2, p[0] >> 2 & 1);
    if (!how.positions || !how.bytes)
        return 0;
    count = 1u + p[1] + 256u * p[2];
    b.w = ctt_calloc(count, 4);
    b.again = ctt_calloc(count, 4);
    b.keep = ctt_calloc(count, 1);
    b.keep_again = ctt_calloc(count, 1);
    FUZZ_CHECK(b.w && b.again && b.keep && b.keep_again);
    decode(&how, p + HEAD, n - HEAD, (int64_t)count, p[3] + 256 * p[4], &b);
    ctt_free(b.w);
    ctt_free(b.again);
    ctt_free(b.keep);
    ctt_free(b.keep_again);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* Each coding of positions with each of bytes, of a weight that is pruned. */
size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    static const int codings[] = { 0, 1, 2, 4, 5, 6 };
    float w[COUNT];
    uint8_t keep[COUNT], *q = NULL;
    struct ctt_coding how;
    const struct ctt_weight as = {
        .t = { .data = w, .n = 1, .d = 1, .h = 1, .w = 1, .c = COUNT,
               .ld = COUNT }, .keep = keep };
    int64_t n = 0;

    if (i >= (int)CTT_LEN(codings))
        return 0;
    memset(p, 0, HEAD);
    p[0] = (uint8_t)codings[i];
    p[1] = COUNT - 1;
    for (int k = 0; k < COUNT; k++) {
        keep[k] = (codings[i] & 3) == 0 ||
                  ctt_random(6, (uint64_t)k) < UINT32_MAX / 5;
        w[k] = keep[k] ? (float)ctt_random(5, (uint64_t)k) * 0x1p-32f : 0;
        p[3] = (uint8_t)(p[3] + keep[k]);
    }
    how.positions = ctt_coding_word(0, codings[i] & 3);
    how.values = ctt_coding_word(1, 0);
    how.bytes = ctt_coding_word(2, codings[i] >> 2);
    FUZZ_CHECK(ctt_encode(&how, &as, &q, &n) >= 0 && (size_t)n + HEAD <= room);
    memcpy(p + HEAD, q, (size_t)n);
    ctt_free(q);
    return (size_t)n + HEAD;
}
