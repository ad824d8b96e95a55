/* SPDX-License-Identifier: Apache-2.0
 * test_half.c: sessions whose convs multiply 16 bits: which convs and values
 * have 16 bits, the memory that this takes, and answers close to those of
 * floats, however frames come. */
#include "tests/lib/stream.h"
#include "infer/inside.h"
#include "device/cpu/features.h"
#include "base/half.h"

#include <math.h>
#include <string.h>

/* All kinds of readers and makers of values. */
static const char mixed[] = STREAM_INPUT
    "conv a in=x out=24 kernel=5 pad=2 stride=2\n"
    "act ar in=a kind=relu\n"
    "conv b in=ar out=32 kernel=2 stride=2\n"
    "conv c in=ar out=32 kernel=2 stride=2\n"
    "act br in=b kind=tanh\n"
    "add s in=b,br\n"
    "state c3 of=c delay=3\n"
    "conv e in=c3 out=24\n"
    "conv zx in=s out=128\n"
    "state h1 of=h like=zx c=32\n"
    "state m1 of=m like=zx c=32\n"
    "conv z in=h1 plus=zx out=128\n"
    "lstm h in=z,m1\n"
    "cell m in=h\n"
    "conv w in=h out=33\n"
    "slice w1 in=w from=1 to=33\n"
    "conv v in=w1 out=24\n"
    "concat k in=v,e\n"
    "conv f in=k out=64 kernel=3 pad=1\n"
    "conv g in=x out=8 kernel=3 pad=1 groups=1 stride=2\n"
    "quant fq in=f scale=0.1 zero=128\n"
    "conv i in=fq out=32\n"
    "pool p in=i kind=avg\n"
    "pool pg in=g kind=avg\n"
    "conv n in=s out=48\n"
    "conv o in=n out=64\n"
    "act or in=o kind=relu\n"
    "quant oq in=or scale=0.1 zero=128\n"
    "conv j in=oq out=8\n"
    "pool pj in=j kind=avg\n"
    "concat all in=p,pg,pj\n"
    "conv y in=all out=5\n";

/* The convs that multiply 16 bits, and the values that have them: only such
 * convs read them, and such a conv, or nothing, computes them.  Registers of 32
 * sums of fp16 are too long for w and n. */
static const struct kind {
    const char    *word;
    enum ctt_dtype type;
    int          (*here)(void);
    int            percent;    /* of the memory of floats, for `all` */
    const char    *multiply[12], *shorts[7];
} kinds[] = {
    { "bf16", CTT_BF16, ctt_has_avx512bf16, 54,
      { "a", "b", "c", "e", "zx", "z", "w", "v", "f", "n", "o" },
      { "a", "ar", "c", "c3", "w", "w1" } },
    { "fp16", CTT_F16, ctt_has_avx512fp16, 64,
      { "a", "b", "c", "e", "zx", "z", "v", "f", "o" },
      { "a", "ar", "c", "c3" } },
};
static const char *const writers[] = { "f", "o", "or", NULL };    /* of bytes */
static const struct kind *kind;

static int is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return 1;
    return 0;
}

static struct ctt_infer *open_half(const char *text, const char *device)
{
    struct ctt_infer *m = stream_open(text, device);

    CHECK_OK(ctt_infer_multiply(m, kind->word));
    return m;
}

/* That the rule says so, what the session's memory has, and which kernels
 * computed it. */
static void check_nodes(const struct ctt_run *r, int here)
{
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];
        enum ctt_dtype type = n->out.scale > 0 ? CTT_U8 :
            is_one_of(n->name, kind->shorts) ? kind->type : CTT_F32;
        int mul = is_one_of(n->name, kind->multiply);

        if (is_one_of(n->name, writers))
            type = CTT_U8;
        CU_ASSERT_EQUAL(r->slot[i].type, type);
        CU_ASSERT_EQUAL(r->mul[i], mul ? kind->type : CTT_F32);
        if (r->slot[i].type != type || (r->mul[i] == kind->type) != mul)
            printf("\n    %s: %s", n->name, ctt_dtype_word(r->slot[i].type));
        if (n->op == CTT_OP_CONV && here)
            CU_ASSERT_EQUAL(strncmp(ctt_dev_impl(r->dev, r->cache[i][0],
                                                 CTT_FWD), kind->word, 4)
                            == 0, mul);
    }
}

static void test_rule(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (size_t k = 0; k < CTT_LEN(devices); k++) {
        struct ctt_infer *m = open_half(mixed, devices[k]);
        struct ctt_session *s = NULL;

        CHECK_OK(ctt_session_open(m, &s));
        CHECK_OK(ctt_session_push_float(s, stream_floats, 5));
        check_nodes(ctt_session_run(s), k == 1 && kind->here());
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

/* The input's frames are 16 bits too if such convs alone read them. */
static const char all[] = STREAM_INPUT
    "conv a in=x out=64 kernel=5 pad=2 stride=2\n"
    "act ar in=a kind=relu\n"
    "conv b in=ar out=64\n"
    "state b4 of=b delay=4\n"
    "conv c in=b4 out=64\n"
    "clip\n"
    "window v in=c steps=4 every=3\n"
    "conv d in=v out=64 kernel=4,1,1\n"
    "pool p in=d kind=avg\n"
    "conv y in=p out=4\n";

static int64_t bytes_of_values(struct ctt_infer *m)
{
    struct ctt_session *s = NULL;
    int64_t bytes;

    CHECK_OK(ctt_session_open(m, &s));
    bytes = ctt_session_run(s)->values;
    ctt_session_close(&s);
    return bytes;
}

static void test_memory(void)
{
    struct ctt_infer *m = stream_open(all, "cpu");
    int64_t floats = bytes_of_values(m), halves;

    CHECK_OK(ctt_infer_multiply(m, kind->word));
    halves = bytes_of_values(m);
    CU_ASSERT(floats > 100000);
    CU_ASSERT(halves * 100 < floats * kind->percent);
    CHECK_OK(ctt_infer_multiply(m, "fp32"));
    CU_ASSERT_EQUAL(bytes_of_values(m), floats);
    ctt_infer_close(&m);
}

/* Answers are those of floats up to the rounding, but not the same. */
static void check_close(const char *text, const char *device)
{
    struct ctt_infer *m = stream_open(text, device);
    struct stream floats = { .m = m, .chunk = 1 }, halves = floats;

    stream_run(&floats);
    CHECK_OK(floats.rc);
    CHECK_OK(ctt_infer_multiply(m, kind->word));
    stream_run(&halves);
    CHECK_OK(halves.rc);
    CHECK_CLOSE(halves.probs, floats.probs, MOST_CLASSES, 0.01);
    CU_ASSERT(memcmp(halves.probs, floats.probs, sizeof(floats.probs)) != 0);
    ctt_infer_close(&m);
}

static void test_close(void)
{
    check_close(mixed, "ref");
    check_close(mixed, "cpu");
    check_close(all, "ref");
    check_close(all, "cpu");
}

/* However frames come: the same bits by plain C; by other kernels, a value may
 * be rounded to its other neighbour. */
static void check_chunks(const char *text, const char *device, double tol)
{
    static const int chunks[] = { 2, 3, 8, LONG };
    struct ctt_infer *m = open_half(text, device);
    struct stream one = { .m = m, .chunk = 1 };

    stream_run(&one);
    CHECK_OK(one.rc);
    for (size_t i = 0; i < CTT_LEN(chunks); i++)
        stream_again(&one, chunks[i], 0, tol);
    ctt_infer_close(&m);
}

static void test_chunks(void)
{
    check_chunks(mixed, "ref", 0);
    check_chunks(all, "ref", 0);
    check_chunks(mixed, "cpu", 1e-3);
    check_chunks(all, "cpu", 1e-3);
}

static void test_refused(void)
{
    struct ctt_infer *m = stream_open(all, "ref");

    stream_refused(ctt_infer_multiply(m, "fp8"), CTT_EINVAL,
                   "no type 'fp8': fp32, fp16 or bf16, on a GPU tf32, too");
    stream_refused(ctt_infer_multiply(m, NULL), CTT_EINVAL, "type is NULL");
    stream_refused(ctt_infer_multiply(NULL, "bf16"), CTT_EINVAL, "m is NULL");
    stream_refused(ctt_infer_multiply(m, "tf32"), CTT_EUNSUP,
                   "the device ref has no tf32 inference");
    ctt_infer_close(&m);
}

static void each_kind(void (*test)(void))
{
    for (size_t k = 0; k < CTT_LEN(kinds); k++) {
        kind = &kinds[k];
        test();
    }
}

static void test_all(void)
{
    each_kind(test_rule);
    each_kind(test_memory);
    each_kind(test_close);
    each_kind(test_chunks);
}

static CU_TestInfo tests[] = {
    { "each type", test_all }, { "refused", test_refused }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "half", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
