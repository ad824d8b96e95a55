/* SPDX-License-Identifier: Apache-2.0
 * test_late.c: kernels that stay in the model's file until they are packed: the
 * same bits, less memory, and what happens if the file changes. */
#include "tests/lib/stream.h"
#include "base/limits.h"
#include "base/newfile.h"
#include "infer/inside.h"
#include "net/file/file.h"
#include "net/late.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Convs for each way to compute them: in large and small tiles, with stride,
 * 1x1, depthwise, with gaps, of few channels, with pair and lstm, after a
 * norm. */
static const char floats[] = STREAM_INPUT
    "conv a in=x out=32 kernel=3 pad=1\n"
    "norm an in=a kind=batch\n"
    "act ar in=an kind=relu\n"
    "conv b in=ar out=64 kernel=3 pad=1 bias=0\n"
    "conv c in=b out=32 kernel=1\n"
    "conv d in=c out=32 kernel=3 pad=1 groups=32\n"
    "conv e in=d out=48 kernel=1\n"
    "conv f in=e out=24 kernel=3 pad=2 dilation=2\n"
    "conv g in=f out=40 kernel=3 pad=1 stride=2\n"
    "convlstm l in=g hidden=16 kernel=3\n"
    "pool p in=l kind=avg\n"
    "conv y in=p out=5\n";

static const char bytes[] = STREAM_INPUT
    "quant xq in=x scale=0.02 zero=100\n"
    "conv a in=xq out=32 kernel=3 pad=1\n"
    "act ar in=a kind=relu\n"
    "quant aq in=ar scale=0.04 zero=0\n"
    "conv b in=aq out=64 kernel=3 pad=1\n"
    "quant bq in=b scale=0.05 zero=120\n"
    "conv c in=bq out=40 kernel=3 pad=2 dilation=2\n"
    "quant cq in=c scale=0.05 zero=120\n"
    "conv d in=cq out=32 kernel=1\n"
    "pool p in=d kind=avg\n"
    "conv y in=p out=5\n";

/* Convs that all are packed. */
static const char packed[] = STREAM_INPUT
    "conv a in=x out=32 kernel=3 pad=1\n"
    "conv b in=a out=64 kernel=3 pad=1\n"
    "conv c in=b out=32 kernel=1\n"
    "pool p in=c kind=avg\n"
    "conv y in=p out=5\n";

/* A model in which nine of ten weights are pruned, or none. */
static const char *write_model(const char *text, int pruned)
{
    const char *path = stream_model(text, NULL, 0);
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_model_load(path, 0, &m));
    if (pruned) {
        CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
        for (int64_t i = 0; i < m->g->weights; i++)
            m->constraint.keep[i] = i % 10 == 0;
        ctt_model_hold(m);
    }
    CHECK_OK(ctt_model_save(path, m));
    ctt_model_free(&m);
    return path;
}

/* The answers to all frames in a session of its own. */
static int answer(const char *path, int64_t least, float *probs)
{
    int64_t old = ctt_late_least(least);
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    int rc = 0;

    CTT_TRY(ctt_infer_open(path, "cpu", 2, &m));
    CTT_TRY(ctt_session_open(m, &s));
    for (int i = 0; i < LONG; i++) {
        CTT_TRY(ctt_session_push_float(s, stream_floats + i * FRAME, 1));
        CTT_TRY(ctt_session_read(s, probs + i * MOST_CLASSES));
    }
out:
    ctt_session_close(&s);
    ctt_infer_close(&m);
    ctt_late_least(old);
    return rc;
}

static void test_same(void)
{
    static const char *const texts[] = { floats, bytes };
    static float early[LONG * MOST_CLASSES], late[LONG * MOST_CLASSES];

    for (size_t i = 0; i < CTT_LEN(texts); i++)
        for (int pruned = 0; pruned < 2; pruned++) {
            const char *path = write_model(texts[i], pruned);

            CHECK_OK(answer(path, INT64_MAX, early));
            CHECK_OK(answer(path, 1, late));
            CU_ASSERT(memcmp(early, late, sizeof(late)) == 0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
}

/* A saved stream names its model by the weights, wherever they are. */
static void test_saved(void)
{
    const char *path = write_model(floats, 0);
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;

    for (int64_t least = 1; least > 0; least = least > 1 ? 0 : INT64_MAX) {
        int64_t old = ctt_late_least(least);

        CHECK_OK(ctt_infer_open(path, "cpu", 1, &m));
        CHECK_OK(ctt_session_open(m, &s));
        if (least > 1)
            CHECK_OK(ctt_session_restore(s, "late.stream"));
        CHECK_OK(ctt_session_push_float(s, stream_floats, 1));
        CHECK_OK(ctt_session_save(s, "late.stream"));
        ctt_session_close(&s);
        ctt_infer_close(&m);
        ctt_late_least(old);
    }
    remove("late.stream");
}

/* Times each conv; keys become the lines of the table without times, in their
 * order, and the number of times is returned. */
static int tune_all(const char *path, int64_t least, char *keys, size_t room)
{
    int64_t old = ctt_late_least(least), size = 0;
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    char *text = NULL, *line, *rest = NULL;
    int times = 0;

    remove("late.times");
    CHECK_OK(ctt_infer_open(path, "cpu", 1, &m));
    CHECK_OK(ctt_infer_tune(m, "late.times"));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push_float(s, stream_floats, 1));
    ctt_session_close(&s);
    ctt_infer_close(&m);
    ctt_late_least(old);
    CHECK_OK(ctt_file_text("late.times", 1 << 20, &text, &size));
    *keys = '\0';
    for (line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        size_t n = strcspn(line, "\t"), at = strlen(keys);

        for (const char *c = line + n; *c; c++)
            times += *c == '=';
        snprintf(keys + at, room - at, "%.*s\n", (int)n, line);
    }
    ctt_free(text);
    remove("late.times");
    return times;
}

/* The table has the zeros of kernels, and times of all rows, wherever kernels
 * are. */
static void test_tuned(void)
{
    static char early[1 << 14], late[1 << 14];

    for (int pruned = 0; pruned < 2; pruned++) {
        const char *path = write_model(packed, pruned);
        int all = tune_all(path, INT64_MAX, early, sizeof(early));
        int some = tune_all(path, 1, late, sizeof(late));

        CU_ASSERT_STRING_EQUAL(early, late);
        CU_ASSERT(all > 4 && some > 4);    /* of four convs */
    }
}

static int push_one(const struct ctt_infer *m, struct ctt_session **s)
{
    int rc = 0;

    if (!*s)
        CTT_TRY(ctt_session_open(m, s));
    CTT_TRY(ctt_session_push_float(*s, stream_floats, 1));
out:
    return rc;
}

static void write_noise(const char *path)
{
    FILE *f = fopen(path, "r+b");
    long size = 0;

    CU_ASSERT_FATAL(f != NULL);
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    for (long i = 0; i < size; i++)
        fputc((int)((uint32_t)i * 2654435761u >> 24), f);
    fclose(f);
}

/* Sessions that are open go on; one that is opened later reads the file that
 * was opened, under whatever name, unless that was written over. */
static void test_changed(void)
{
    const char *path = write_model(floats, 0);
    int64_t old = ctt_late_least(1);
    struct ctt_session *s[3] = { NULL };
    struct ctt_infer *m = NULL;

    CHECK_OK(ctt_infer_open(path, "cpu", 1, &m));
    CHECK_OK(push_one(m, &s[0]));
    CU_ASSERT_EQUAL(rename(path, "late.moved"), 0);
    CHECK_OK(push_one(m, &s[1]));
    write_noise("late.moved");
    CHECK_OK(push_one(m, &s[0]));
    stream_refused(push_one(m, &s[2]), CTT_EFORMAT,
                   "the file has changed since it was opened");
    for (int i = 0; i < 3; i++)
        ctt_session_close(&s[i]);
    ctt_infer_close(&m);
    remove("late.moved");
    ctt_late_least(old);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A forged file, whose checksums hold. */
static void test_not_finite(void)
{
    static float probs[LONG * MOST_CLASSES];
    const char *path = write_model(floats, 0);
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_model_load(path, 0, &m));
    m->w[m->g->node[4].at[0]] = NAN;
    CHECK_OK(ctt_model_save(path, m));
    ctt_model_free(&m);
    stream_refused(answer(path, 1, probs), CTT_ENAN, "model.ctt: weight 'b.w'");
    stream_refused(answer(path, INT64_MAX, probs), CTT_ENAN, "weight 'b.w'");
}

/* After the first frame nobody has the floats of a kernel that is packed. */
static void test_freed(void)
{
    const char *path = write_model(packed, 0);
    struct ctt_session *s = NULL;
    struct ctt_infer *m = NULL;
    int64_t used[2], old, before = ctt_memory_used();

    for (int late = 0; late < 2; late++) {
        old = ctt_late_least(late ? 1 : INT64_MAX);
        CHECK_OK(ctt_infer_open(path, "cpu", 1, &m));
        CHECK_OK(push_one(m, &s));
        used[late] = ctt_alloc_calls();
        CHECK_OK(push_one(m, &s));
        CU_ASSERT_EQUAL(ctt_alloc_calls(), used[late]);
        used[late] = ctt_memory_used();
        ctt_session_close(&s);
        ctt_infer_close(&m);
        ctt_late_least(old);
    }
    /* the flat block is there, without pages, which do not count */
    CU_ASSERT(used[1] < used[0] - (64 << 10));
    CU_ASSERT_EQUAL(ctt_memory_used(), before);
}

static void test_no_memory(void)
{
    static float probs[LONG * MOST_CLASSES], want[LONG * MOST_CLASSES];
    const char *path = write_model(floats, 1);
    long calls;

    CHECK_OK(answer(path, 1, want));
    calls = ctt_alloc_calls();
    CHECK_OK(answer(path, 1, want));
    calls = ctt_alloc_calls() - calls;
    for (long k = 1; k <= calls; k += 7) {
        int rc;

        ctt_fail_alloc(k);
        rc = answer(path, 1, probs);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == CTT_ENOMEM ||
                  (rc >= 0 && memcmp(probs, want, sizeof(want)) == 0));
        CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
    }
}

static CU_TestInfo tests[] = {
    { "the same bits", test_same },
    { "saved streams", test_saved }, { "tuned", test_tuned },
    { "the file changes", test_changed },
    { "numbers that are not finite", test_not_finite },
    { "freed", test_freed },
    { "failing allocations", test_no_memory },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "late", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
