/* SPDX-License-Identifier: Apache-2.0
 * test_bucket.c: buckets of clips of similar length, the order of the clips,
 * and balanced classes. */
#include "libtrain/data/balance.h"
#include "libtrain/data/bucket.h"
#include "base/random.h"
#include "tests/lib/check.h"

/* ---- buckets ---- */

/* A set of lengths without frames. */
static void fake(struct ctt_data *d, int clips, int (*length)(int i))
{
    memset(d, 0, sizeof(*d));
    d->clips = clips;
    d->clip = ctt_calloc((size_t)clips, sizeof(*d->clip));
    CU_ASSERT_FATAL(d->clip != NULL);
    for (int i = 0; i < clips; i++) {
        d->clip[i].item = i;
        d->clip[i].length = length(i);
        if (d->clip[i].length > d->longest)
            d->longest = d->clip[i].length;
    }
}

static int mixed(int i)
{
    return 20 + (int)(ctt_random(9, (uint64_t)i) % 41);
}

static int two_kinds(int i)
{
    return i % 2 ? 30 : 10;
}

static int all_alike(int i)
{
    (void)i;
    return 25;
}

static double padding(const struct ctt_data *d, const struct ctt_buckets *b)
{
    int64_t frames = 0, padded = 0;

    for (int i = 0; i < d->clips; i++) {
        int k = 0;
        while (b->bound[k] < d->clip[i].length)
            k++;
        CU_ASSERT_FATAL(k < b->count);
        frames += d->clip[i].length;
        padded += b->bound[k];
    }
    return 1 - (double)frames / (double)padded;
}

static void buckets_save_padding(void)
{
    struct ctt_buckets b, more;
    struct ctt_data d;

    fake(&d, 500, mixed);
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &b));
    CU_ASSERT(b.count > 1 && b.after < 0.5 * b.before);
    CU_ASSERT_DOUBLE_EQUAL(b.after, padding(&d, &b), 1e-12);
    for (int k = 1; k < b.count; k++)
        CU_ASSERT(b.bound[k] > b.bound[k - 1]);
    CU_ASSERT_EQUAL(b.bound[b.count - 1], d.longest);
    CHECK_OK(ctt_buckets_find(&d, 8, "1", &b));
    CU_ASSERT(b.count == 1 && b.after == b.before);
    for (int n = 2; n <= 8; n++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", n);
        CHECK_OK(ctt_buckets_find(&d, 8, text, &more));
        CU_ASSERT_EQUAL(more.count, n);
        CU_ASSERT(more.after < b.after);
        b = more;
    }
    ctt_free(d.clip);
    fake(&d, 64, two_kinds);
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &b));
    CU_ASSERT(b.count == 2 && b.bound[0] == 10 && b.after == 0);
    CHECK_OK(ctt_buckets_find(&d, 64, "auto", &b));    /* less than a batch */
    CU_ASSERT_EQUAL(b.count, 1);
    ctt_free(d.clip);
    fake(&d, 64, all_alike);
    CHECK_OK(ctt_buckets_find(&d, 8, "5", &b));
    CU_ASSERT_EQUAL(b.count, 1);
    CU_ASSERT_EQUAL(ctt_buckets_find(&d, 8, "0", &b), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_buckets_find(&d, 8, "many", &b), CTT_EINVAL);
    ctt_free(d.clip);
}

/* Bounds that the user gives: those without clips go, and the longest clip is
 * the last.  Text has more groups by itself. */
static void buckets_of_bounds(void)
{
    static const struct { const char *text; int count; } cases[] = {
        { "10,20,25", 2 }, { "10,20,25,82", 2 }, { "10,30", 2 },
        { "1,10,20", 2 }, { "80,90", 1 },
    };
    static const char *const bad[] = { "5,", ",5", "5,5", "9,5", "0,5", "5,x",
        "5 ,9", "5,9,", "", "65", "5,99999999999" };
    struct ctt_buckets b, wider;
    struct ctt_data d;

    fake(&d, 64, two_kinds);
    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        CHECK_OK(ctt_buckets_find(&d, 8, cases[i].text, &b));
        CU_ASSERT_EQUAL(b.count, cases[i].count);
        CU_ASSERT_EQUAL(b.bound[b.count - 1], d.longest);
        CU_ASSERT_DOUBLE_EQUAL(b.after, padding(&d, &b), 1e-12);
    }
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT_EQUAL(ctt_buckets_find(&d, 8, bad[i], &b), CTT_EINVAL);
    ctt_free(d.clip);
    fake(&d, 500, mixed);
    CHECK_OK(ctt_buckets_find(&d, 8, "30,45,90", &b));
    CU_ASSERT(b.count == 3 && b.bound[0] == 30 && b.bound[1] == 45 &&
              b.bound[2] == d.longest);
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &b));
    d.symbols = 1;
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &wider));
    CU_ASSERT(wider.count > b.count && wider.after < b.after);
    ctt_free(d.clip);
}

/* ---- the order ---- */

static void every_clip_once(const struct ctt_data *d, int n, int shuffle,
                            const struct ctt_order *p)
{
    int *seen = ctt_calloc((size_t)d->clips, sizeof(int)), twice = 0, holes = 0;

    CU_ASSERT_FATAL(seen != NULL);
    for (int i = 0; i < p->batches * n; i++) {
        int c = p->clip[i];
        if (c < 0) {
            holes++;
            continue;
        }
        twice += seen[c]++ > 0;
        CU_ASSERT(d->clip[c].length <= p->steps[i / n]);
    }
    for (int i = 0; i < d->clips; i++)
        CU_ASSERT(seen[i] >= 1);
    CU_ASSERT_EQUAL(shuffle ? holes : twice, 0);
    CU_ASSERT_EQUAL(twice + holes, p->batches * n - d->clips);
    ctt_free(seen);
}

static void orders_hold_every_clip(void)
{
    static const int clips[] = { 1, 3, 7, 8, 9, 100, 333 };

    for (size_t i = 0; i < CTT_LEN(clips); i++)
        for (int n = 1; n <= 8; n += 7)
            for (int shuffle = 0; shuffle < 2; shuffle++) {
                struct ctt_order *p = NULL;
                struct ctt_buckets b;
                struct ctt_data d;

                fake(&d, clips[i], mixed);
                CHECK_OK(ctt_buckets_find(&d, n, "4", &b));
                CHECK_OK(ctt_order_new(&d, n, &p));
                ctt_order_make(&d, &b, shuffle, 42, p);
                every_clip_once(&d, n, shuffle, p);
                ctt_order_free(&p);
                ctt_free(d.clip);
            }
}

static void orders_differ_by_key_only(void)
{
    struct ctt_order *p = NULL, *q = NULL;
    struct ctt_buckets b;
    struct ctt_data d;
    size_t bytes;

    fake(&d, 200, mixed);
    CHECK_OK(ctt_buckets_find(&d, 8, "auto", &b));
    CHECK_OK(ctt_order_new(&d, 8, &p));
    CHECK_OK(ctt_order_new(&d, 8, &q));
    bytes = (size_t)p->batches * 8 * sizeof(int);
    ctt_order_make(&d, &b, 1, 1, p);
    ctt_order_make(&d, &b, 1, 1, q);
    CU_ASSERT(memcmp(p->clip, q->clip, bytes) == 0);
    ctt_order_make(&d, &b, 1, 2, q);
    CU_ASSERT(memcmp(p->clip, q->clip, bytes) != 0);
    ctt_order_free(&p);
    ctt_order_free(&q);
    ctt_free(d.clip);
}

/* ---- balanced classes ---- */

enum { LABELS = 4, EMPTY = 2 };    /* EMPTY: has no clips */

/* Classes of about 3/4, 3/16 and 1/16 of the clips. */
static void label(struct ctt_data *d)
{
    static const struct ctt_list list = { .labels = LABELS };

    for (int i = 0; i < d->clips; i++)
        d->clip[i].label = i % 4 ? 0 : i % 16 ? 1 : 3;
    d->list = &list;
}

static void weights_make_classes_equal(void)
{
    double sum[LABELS] = { 0 }, all = 0;
    float *weight = NULL;
    struct ctt_data d;

    fake(&d, 100, mixed);
    label(&d);
    CHECK_OK(ctt_class_weights(&d, 0, &weight));
    for (int i = 0; i < d.clips; i++)
        sum[d.clip[i].label] += (double)weight[d.clip[i].label];
    for (int k = 0; k < LABELS; k++) {
        CU_ASSERT_DOUBLE_EQUAL(sum[k], k == EMPTY ? 0 : 100.0 / 3, 1e-4);
        all += sum[k];
    }
    CU_ASSERT_DOUBLE_EQUAL(all / d.clips, 1, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(weight[0], 100.0 / (3 * 75), 1e-6);
    ctt_free(weight);
    ctt_free(d.clip);
}

/* Counts d->clips draws by class and by clip. */
static void check_draws(const struct ctt_data *d, const int *draws)
{
    int of[LABELS] = { 0 }, clips[LABELS] = { 0 };
    int *seen = ctt_calloc((size_t)d->clips, sizeof(int));

    for (int i = 0; i < d->clips; i++) {
        of[d->clip[draws[i]].label]++;
        seen[draws[i]]++;
        clips[d->clip[i].label]++;
    }
    for (int k = 0; k < LABELS; k++)
        CU_ASSERT(k == EMPTY ? of[k] == 0 : of[k] * 3 >= d->clips - 2 &&
                  of[k] * 3 <= d->clips + 2);
    for (int i = 0; i < d->clips; i++) {
        int k = d->clip[i].label;
        CU_ASSERT(seen[i] == of[k] / clips[k] ||
                  seen[i] == of[k] / clips[k] + 1);
    }
    ctt_free(seen);
}

static void draws_are_balanced(void)
{
    static const int clips[] = { 17, 100, 333 };

    for (size_t i = 0; i < CTT_LEN(clips); i++) {
        int first[LABELS + 1], *work, *draws;
        struct ctt_data d;

        fake(&d, clips[i], mixed);
        label(&d);
        work = ctt_calloc((size_t)d.clips, sizeof(int));
        draws = ctt_calloc((size_t)d.clips, sizeof(int));
        for (uint64_t key = 1; key < 20; key++) {
            ctt_balanced_draws(&d, key, first, work, draws);
            check_draws(&d, draws);
        }
        ctt_free(work);
        ctt_free(draws);
        ctt_free(d.clip);
    }
}

/* A clip's turns are 0, 1, ..., each once; returns the highest of all. */
static int check_turns(const struct ctt_data *d, const struct ctt_order *p)
{
    int all = p->batches * p->n, most = 0;

    for (int c = 0; c < d->clips; c++) {
        int count = 0, sum = 0, seen = 0;
        for (int i = 0; i < all; i++)
            if (p->clip[i] == c) {
                CU_ASSERT_FATAL(p->turn[i] >= 0 && p->turn[i] < 31);
                CU_ASSERT(!(seen & 1 << p->turn[i]));
                seen |= 1 << p->turn[i];
                sum += p->turn[i];
                count++;
            }
        CU_ASSERT_EQUAL(sum, count * (count - 1) / 2);
        most = count > most ? count - 1 : most;
    }
    return most;
}

/* A clip that is drawn again is as long as the change of that turn makes it,
 * which its batch has room for, with places to fill in the last one or not. */
static void turns_have_lengths_of_their_own(void)
{
    static const int clips[] = { 96, 93, 5 };
    int apart = 0;

    for (size_t k = 0; k < CTT_LEN(clips); k++) {
        struct ctt_order *p = NULL;
        struct ctt_buckets b;
        struct ctt_data d;

        fake(&d, clips[k], mixed);
        label(&d);
        CHECK_OK(ctt_buckets_find(&d, 8, "4", &b));
        CHECK_OK(ctt_order_new(&d, 8, &p));
        CHECK_OK(ctt_order_balance(&d, p));
        p->a = (struct ctt_augment){ .speed = 2, .start = 0.3f, .key = 5 };
        ctt_order_make(&d, &b, 1, 7, p);
        check_turns(&d, p);
        for (int i = 0; i < p->batches * 8; i++) {
            struct ctt_augment a = ctt_augment_again(&p->a, p->turn[i]);
            int length = ctt_look_length(&d, p->clip[i], &a);

            CU_ASSERT(length >= 1 && length <= p->steps[i / 8]);
            apart += length != ctt_look_length(&d, p->clip[i], &p->a);
        }
        ctt_order_free(&p);
        ctt_free(d.clip);
    }
    CU_ASSERT(apart > 5);
}

/* Every draw is in a batch that is long enough; the order follows from the key,
 * whatever came before. */
static void balanced_orders(void)
{
    struct ctt_order *p = NULL, *q = NULL;
    struct ctt_buckets b;
    struct ctt_data d;
    size_t bytes;

    fake(&d, 96, mixed);
    label(&d);
    CHECK_OK(ctt_buckets_find(&d, 8, "4", &b));
    CHECK_OK(ctt_order_new(&d, 8, &p));
    CHECK_OK(ctt_order_new(&d, 8, &q));
    CHECK_OK(ctt_order_balance(&d, p));
    CHECK_OK(ctt_order_balance(&d, q));
    bytes = (size_t)p->batches * 8 * sizeof(int);
    ctt_order_make(&d, &b, 1, 6, q);
    ctt_order_make(&d, &b, 1, 7, p);
    CU_ASSERT(memcmp(p->clip, q->clip, bytes) != 0);
    ctt_order_make(&d, &b, 1, 7, q);
    CU_ASSERT(memcmp(p->clip, q->clip, bytes) == 0);
    CU_ASSERT(memcmp(p->turn, q->turn, bytes) == 0);
    check_draws(&d, p->clip);    /* 96 clips fill 12 batches */
    for (int i = 0; i < d.clips; i++)
        CU_ASSERT(d.clip[p->clip[i]].length <= p->steps[i / 8]);
    CU_ASSERT(check_turns(&d, p) > 1);
    ctt_order_free(&p);
    ctt_order_free(&q);
    ctt_free(d.clip);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "buckets save padding", buckets_save_padding },
        { "buckets of bounds", buckets_of_bounds },
        { "orders hold every clip", orders_hold_every_clip },
        { "orders differ by key only", orders_differ_by_key_only },
        { "weights make classes equal", weights_make_classes_equal },
        { "draws are balanced", draws_are_balanced },
        { "balanced orders", balanced_orders },
        { "turns have lengths of their own", turns_have_lengths_of_their_own },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "buckets", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
