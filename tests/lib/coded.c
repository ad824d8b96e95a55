/* SPDX-License-Identifier: Apache-2.0
 * coded.c: weights to encode. */
#include "tests/lib/coded.h"
#include "base/random.h"

#include <string.h>

/* ---- weights to encode ---- */

static float draw_number(int64_t i)
{
    static const uint32_t odd[] = {
        0x7fc00001, 0xffffffff, 0x80000000, 0x7f800000, 0x00000001, 0
    };
    float x = (float)ctt_random(7, (uint64_t)i) * 0x1p-31f - 1;

    if (i % 11 == 3)
        memcpy(&x, &odd[(size_t)(i / 11) % CTT_LEN(odd)], 4);
    return x;
}

static int in_pattern(enum pattern pattern, int64_t i, int64_t n)
{
    const int kept[PATTERNS] = {
        [ALL] = 1, [FIRST] = i == 0, [LAST] = i == n - 1, [ODD] = i & 1,
        [SOME] = ctt_random(1, (uint64_t)i) < UINT32_MAX / 10,
        [CLUMPS] = i / 97 % 5 == 2,
        [BLOCKS] = ctt_random(2, (uint64_t)i / 4) < UINT32_MAX / 4
    };

    return kept[pattern];
}

static float coded_number(enum numbers numbers, int64_t i)
{
    uint32_t u = ctt_random(7, (uint64_t)i);

    switch (numbers) {
    case HALVES:        return i % 7 ? ctt_of_f16(u & 0xbfff) : -0.0f;
    case BYTES:         return 0x1p-6f * (float)((int)(u % 255) - 127);
    case SHARED:        return (float)(u % 11) * 0.7f - 3;
    case SHARED_HALVES: return (float)(u % 5) - 2.5f;
    default:            return draw_number(i);
    }
}

/* A code for each of the few values. */
static uint8_t code(enum numbers numbers, int64_t i)
{
    uint32_t u = ctt_random(7, (uint64_t)i);

    return (uint8_t)(numbers == SHARED ? 1 + u % 11
                     : numbers == SHARED_HALVES ? 1 + u % 5 : 0);
}

void coded_of(enum numbers numbers, struct coded *s, int64_t n,
                    enum pattern pattern)
{
    *s = (struct coded){ .numbers = numbers, .n = n };
    s->w = ctt_calloc((size_t)n, 4);
    s->back = ctt_calloc((size_t)n, 4);
    s->keep = ctt_calloc((size_t)n, 1);
    s->keep_back = ctt_calloc((size_t)n, 1);
    s->share = ctt_calloc((size_t)n, 1);
    s->share_back = ctt_calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        s->keep[i] = (uint8_t)in_pattern(pattern, i, n);
        s->w[i] = s->keep[i] ? coded_number(numbers, i) : 0;
        s->share[i] = s->keep[i] ? code(numbers, i) : 0;
        s->kept += s->keep[i];
    }
}

void coded_make(struct coded *s, int64_t n, enum pattern pattern)
{
    coded_of(ANY, s, n, pattern);
}

void coded_free(struct coded *s)
{
    ctt_free(s->w);
    ctt_free(s->back);
    ctt_free(s->keep);
    ctt_free(s->keep_back);
    ctt_free(s->share);
    ctt_free(s->share_back);
}

struct ctt_weight coded_weight_of(const float *w, const uint8_t *keep,
                                   int64_t n)
{
    struct ctt_weight as = { .t = { (void *)w, CTT_F32, 1, 1, 1, 1, n, n } };

    as.keep = keep;
    return as;
}

struct ctt_weight coded_weight(const struct coded *s)
{
    struct ctt_weight as = coded_weight_of(s->w, s->keep, s->n);

    if (s->numbers == SHARED || s->numbers == SHARED_HALVES)
        as.share = s->share;
    return as;
}

/* The values alone are those of the whole; else CTT_EINVAL. */
static int decode_alone(const struct coded *s, const struct ctt_coding *how,
                        const uint8_t *p, int64_t size,
                        const struct ctt_tensor *shape)
{
    float *w = ctt_calloc((size_t)s->n, sizeof(*w));
    const struct ctt_decoded to = { w, NULL, NULL };
    int rc = w ? 0 : CTT_ENOMEM;

    if (w) {
        memset(w, 0x55, (size_t)s->n * 4);
        rc = ctt_decode(how, p, size, shape, s->kept, &to);
    }
    if (rc >= 0 && memcmp(w, s->back, (size_t)s->n * 4) != 0)
        rc = CTT_EINVAL;
    ctt_free(w);
    return rc;
}

/* Over garbage, so that everything must be written. */
int coded_decode(struct coded *s, const struct ctt_coding *how,
                  const uint8_t *p, int64_t size)
{
    const struct ctt_decoded to = { s->back, s->keep_back, s->share_back };
    const struct ctt_tensor shape = { .n = 1, .d = 1, .h = 1, .w = 1,
                                      .c = s->n, .ld = s->n };
    int rc;

    memset(s->back, 0x55, (size_t)s->n * 4);
    memset(s->keep_back, 0x55, (size_t)s->n);
    memset(s->share_back, 0x55, (size_t)s->n);
    rc = ctt_decode(how, p, size, &shape, s->kept, &to);
    return rc < 0 ? rc : decode_alone(s, how, p, size, &shape);
}

int coded_same(const struct coded *s)
{
    return memcmp(s->w, s->back, (size_t)s->n * 4) == 0 &&
           memcmp(s->keep, s->keep_back, (size_t)s->n) == 0 &&
           memcmp(s->share, s->share_back, (size_t)s->n) == 0;
}
