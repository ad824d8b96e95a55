/* SPDX-License-Identifier: Apache-2.0
 * test_dead.c: dead channels are dropped, those that something needs are not,
 * and the answers stay the same. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <string.h>

static const struct ctt_node *node(const struct ctt_model *m, const char *name)
{
    int at = ctt_graph_find(m->g, name);

    CU_ASSERT_FATAL(at >= 0);
    return &m->g->node[at];
}

static void zero(struct ctt_model *m, int64_t at)
{
    m->w[at] = 0;
    if (m->constraint.keep)
        m->constraint.keep[at] = 0;
}

static void zero_row(struct ctt_model *m, const char *name, int64_t row)
{
    const struct ctt_node *n = node(m, name);
    int64_t size = ctt_volume(&n->w[0]) / n->w[0].n;

    for (int64_t k = 0; k < size; k++)
        zero(m, n->at[0] + row * size + k);
}

static void zero_column(struct ctt_model *m, const char *name, int64_t column)
{
    const struct ctt_node *n = node(m, name);

    for (int64_t k = column; k < ctt_volume(&n->w[0]); k += n->w[0].c)
        zero(m, n->at[0] + k);
}

/* Does what a word says: "a:2=0.5" makes row 2 of conv a zero and its bias 0.5
 * (0 if it has none), "b.1" makes column 1 of conv b zero. */
static void damage(struct ctt_model *m, const char *words)
{
    for (const char *s = words; *s; s += strcspn(s, " "), s += *s == ' ') {
        char name[8], sort;
        float bias;
        int j;

        CU_ASSERT_FATAL(sscanf(s, "%7[a-z]%c%d=%f", name, &sort, &j, &bias) >=
                        3);
        if (sort == '.') {
            zero_column(m, name, j);
            continue;
        }
        zero_row(m, name, j);
        if (node(m, name)->nw > 1)
            m->w[node(m, name)->at[1] + j] = bias;
    }
}

/* The channels of each conv, as text. */
static void widths(const struct ctt_model *m, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (int i = 0; i < m->g->count && at < size; i++)
        if (ctt_is_conv(&m->g->node[i]))
            at += (size_t)snprintf(text + at, size - at, "%s%d",
                                   at ? " " : "",
                                   (int)m->g->node[i].out.c);
}

#define IMAGE "input x h=6 w=6 c=3\n"
#define A "conv a in=x out=5 kernel=1,3,3 pad=0,1,1\n"
#define PADDED "conv b in=r out=4 kernel=1,3,3 pad=0,1,1\nconv y in=b out=2\n"

static const char plain[] =
    IMAGE A "act r in=a kind=relu\nconv b in=r out=4 kernel=1,3,3\n"
    "act s in=b kind=tanh\nconv y in=s out=2\n";
static const char padded[] = IMAGE A "act r in=a kind=relu\n" PADDED;
static const char sigmoid[] = IMAGE A "act r in=a kind=sigmoid\n" PADDED;
static const char normed[] =
    IMAGE A "norm n in=a kind=batch\nact t in=n kind=sigmoid\n"
    "dropout d in=t rate=0.5\npool p in=d kind=avg kernel=1,3,3 pad=0,1,1\n"
    "upsample u in=p by=1,2,2\nreshape r in=u h=2 w=8 c=5\n"
    "conv b in=r out=4 kernel=1,2,2\nconv y in=b out=2\n";
#define WINDOWED(keys) \
    IMAGE A "act r in=a kind=relu\nclip\nwindow v in=r steps=3" keys "\n" \
    "conv b in=v out=4 kernel=3,1,1\npool p in=b kind=max\nconv y in=p out=2\n"
static const char windowed[] = WINDOWED("");
static const char first[] = WINDOWED(" fill=first");
static const char spread[] = WINDOWED(" spread=1");
static const char two[] =
    IMAGE A "act r in=a kind=relu\nconv b in=r out=4\nconv c in=a out=4\n"
    "mul m in=b,c\nconv y in=m out=2\n";
static const char deep[] =
    IMAGE A "act r in=a kind=relu\nconv b in=r out=4\nact s in=b kind=relu\n"
    "conv c in=s out=3\nconv y in=c out=2\n";
static const char no_bias[] =
    IMAGE A "conv b in=a out=4 bias=0\nconv y in=b out=2\n";
static const char turned[] =
    IMAGE "deconv a in=x out=5 kernel=1,2,2 stride=1,2,2\n"
    "act r in=a kind=relu\ndeconv b in=r out=4 kernel=1,2,2\n"
    "conv y in=b out=2\n";

/* A conv v of the frames, z of the hidden state. */
#define RECURRENT \
    IMAGE A "conv v in=a out=16\nstate s of=h like=v c=4\n" \
    "conv z in=s plus=v out=16 bias=0\nstate c of=k like=z c=4\n" \
    "lstm h in=z,c\ncell k in=h\nconv y in=h out=2\n"

static const char bytes[] =
    IMAGE A "act r in=a kind=relu\nquant q in=r scale=0.01 zero=9\n"
    "conv b in=q out=4 kernel=1,3,3\nconv y in=b out=2\n";

/* Texts, what is zero, the channels of the convs before and after. */
static const struct { const char *text, *zero, *before, *after; } cases[] = {
    { plain, "", "5 4 2", "5 4 2" },
    { bytes, "", "5 4 2", "5 4 2" },
    { bytes, "a:3=-0.5 y.1", "5 4 2", "5 3 2" },
    { plain, "a:0=0.5 a:3=-0.5", "5 4 2", "3 4 2" },
    { plain, "b.1 b.4", "5 4 2", "3 4 2" },
    { plain, "a:0=0.5 b.0 b.2 a:4=0.25", "5 4 2", "2 4 2" },
    { plain, "y.3 b:2=0.75", "5 4 2", "5 2 2" },
    { plain, "a:0=1 a:1=2 a:2=-1 a:3=0 a:4=4", "5 4 2", "1 1 2" },
    { plain, "b.0 b.1 b.2 b.3 b.4", "5 4 2", "1 1 2" },
    { plain, "y.0 y.1 y.2 y.3", "5 4 2", "1 1 2" },
    { plain, "y:0=0.5 y:1=0.5", "5 4 2", "1 1 2" },    /* y is the output */
    { padded, "a:0=-0.5 a:1=0.5", "5 4 2", "4 4 2" },
    { sigmoid, "a:0=-0.5 a:1=0.5 b.2", "5 4 2", "4 4 2" },
    { normed, "a:0=-0.5 a:1=0.5 b.2", "5 4 2", "2 4 2" },
    { windowed, "a:0=-0.5 a:1=0.5 b.2", "5 4 2", "3 4 2" },
    { first, "a:0=-0.5 a:1=0.5 b.2", "5 4 2", "2 4 2" },
    { spread, "a:0=-0.5 a:1=0.5 b.2", "5 4 2", "2 4 2" },
    { two, "b.0 b.1 c.1 a:2=0.5 c.3", "5 4 4 2", "3 4 4 2" },
    { two, "y.1", "5 4 4 2", "5 3 3 2" },
    { deep, "y.0 c:1=0.5 b:3=-1", "5 4 3 2", "5 3 1 2" },
    { no_bias, "a:0=0.5 a:1=0 b.2", "5 4 2", "3 4 2" },
    { turned, "a:0=0.5 a:1=-0.5 b.2", "5 4 2", "3 4 2" },
    /* channels that stand and fall with others */
    { IMAGE A "act r in=a kind=relu\nstate s of=r\nadd d in=r,s\n"
      "conv y in=d out=2\n", "a:0=-1 y.1", "5 2", "4 2" },
    { RECURRENT, "y.1", "5 16 16 2", "5 16 16 2" },
    { RECURRENT, "y.1 z.1", "5 16 16 2", "5 12 12 2" },
    { RECURRENT, "y.1 z.1 z:1=0", "5 16 16 2", "5 12 12 2" },
    { RECURRENT, "y.1 z:0=0 z:2=0 z:3=0 z:4=0 z:6=0 z:7=0 z:8=0 z:10=0 "
      "z:11=0 z:12=0 z:14=0 z:15=0", "5 16 16 2", "5 12 12 2" },
    { RECURRENT, "v:2=0 v:5=0", "5 16 16 2", "5 16 16 2" },
    { IMAGE A "state s of=a\nconv b in=a out=5\nadd d in=b,s\n"
      "conv y in=d out=2\n", "a:0=0 b.1 b:3=0", "5 5 2", "5 5 2" },
    { IMAGE A "conv b in=x out=5 kernel=1,3,3 pad=0,1,1\nconcat d in=a,b\n"
      "conv y in=d out=2\n", "a:0=0 b:0=0 y.1", "5 5 2", "4 5 2" },
    { IMAGE A "slice d in=a from=1 to=4\nconv y in=d out=2\n", "a:0=0 a:2=0 "
      "y.1", "5 2", "2 2" },
    { IMAGE A "norm n in=a kind=layer\nconv y in=n out=2\n", "a:0=0 y.1",
      "5 2", "5 2" },
    { IMAGE A "conv b in=x plus=a out=5\nconv y in=b out=2\n", "a:0=0 b:1=0 "
      "y.1", "5 5 2", "4 4 2" },
    { IMAGE A "conv b in=a out=4\nconv y in=b out=2\nreshape z in=a h=1\n"
      "add w in=z,z\n", "b.0", "5 4 2", "5 1 1" },
    { IMAGE A "reshape r in=a h=1 w=1 c=180\nconv y in=r out=2\n",
      "a:0=0", "5 2", "5 2" },
    /* a depthwise conv goes on without some of its groups; other groups would
     * be others: nothing around such a conv is dropped */
    { IMAGE A "conv b in=a out=5 kernel=1,3,3 groups=5\nact r in=b kind=relu6\n"
      "conv c in=r out=4\nconv y in=c out=2\n",
      "a:0=0 b:1=0 b:2=-1 c.3 c:1=0.5 y.2", "5 5 4 2", "4 4 2 2" },
    { IMAGE "conv a in=x out=6\nconv b in=a out=4 groups=2\n"
      "conv y in=b out=2\n",
      "a:0=0.5 a:3=0 b.1 b:2=0 y.1", "6 4 2", "6 4 2" },
    { IMAGE A "act r in=a kind=relu6\nconv b in=r out=4\nconv y in=b out=2\n",
      "a:0=-0.5 a:1=7", "5 4 2", "3 4 2" },
    { IMAGE A "act r in=a kind=gelu\nconv b in=r out=4\n"
      "act s in=b kind=hswish\nconv y in=s out=2\n",
      "a:0=-0.5 a:1=7 b:2=-2", "5 4 2", "3 3 2" },
    /* padding at one end is no pixel either */
    { IMAGE A "act r in=a kind=leaky slope=0.5\nconv b in=r out=4 "
      "kernel=1,3,3 after=0,1,0\nconv y in=b out=2\n",
      "a:0=-0.5 a:1=0", "5 4 2", "4 4 2" },
};

static void check_case(size_t i, int masked)
{
    struct ctt_model *m = small_model(cases[i].text, 3 + i), *to = NULL;
    char before[64], after[64], *text;

    if (masked)
        CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    damage(m, cases[i].zero);
    CHECK_OK(ctt_drop_dead(m, &to));
    widths(m, before, sizeof(before));
    widths(to, after, sizeof(after));
    CU_ASSERT_STRING_EQUAL(before, cases[i].before);
    CU_ASSERT_STRING_EQUAL(after, cases[i].after);
    if (strcmp(after, cases[i].after) != 0)
        printf("\n    case %zu, '%s': %s", i, cases[i].zero, after);
    for (int steps = 1; steps < 5; steps += 3)
        small_compare(m, to, steps, 1e-5);
    text = ctt_net_print(to->g);
    CU_ASSERT_PTR_NOT_NULL(text);
    CU_ASSERT_EQUAL(to->constraint.keep != NULL, masked);
    for (int64_t k = 0; masked && k < to->g->weights; k++)
        CU_ASSERT(to->constraint.keep[k] || to->w[k] == 0);
    ctt_free(text);
    ctt_model_free(&m);
    ctt_model_free(&to);
}

static void test_cases(void)
{
    for (size_t i = 0; i < CTT_LEN(cases); i++)
        for (int masked = 0; masked < 2; masked++)
            check_case(i, masked);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* What stays has its numbers, mask and codes; what is gone has left no kept
 * zero. */
static void test_constraints(void)
{
    struct ctt_model *m = small_model(plain, 1), *to = NULL;
    const struct ctt_node *a, *b;

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    CHECK_OK(ctt_constraint_share(&m->constraint, m->g->weights));
    a = node(m, "a");
    for (int64_t k = 0; k < ctt_volume(&a->w[0]); k++) {
        m->constraint.share[a->at[0] + k] = (uint8_t)(1 + k % 3);
        m->w[a->at[0] + k] = 0.25f * (float)(1 + k % 3);
    }
    zero(m, a->at[0] + 28);    /* in row 1 */
    m->constraint.share[a->at[0] + 28] = 0;
    damage(m, "b.0");
    CHECK_OK(ctt_drop_dead(m, &to));
    b = node(to, "a");
    CU_ASSERT_EQUAL_FATAL(b->w[0].n, 4);
    for (int64_t k = 0; k < ctt_volume(&b->w[0]); k++) {
        int64_t was = a->at[0] + 27 + k, is = b->at[0] + k;

        CU_ASSERT_EQUAL(to->w[is], m->w[was]);
        CU_ASSERT_EQUAL(to->constraint.keep[is], m->constraint.keep[was]);
        CU_ASSERT_EQUAL(to->constraint.share[is], m->constraint.share[was]);
    }
    CU_ASSERT_EQUAL(to->constraint.keep[b->at[0] + 1], 0);
    b = node(to, "b");
    for (int64_t k = 0; k < ctt_volume(&b->w[0]); k++)
        CU_ASSERT(to->constraint.keep[b->at[0] + k] &&
                  to->w[b->at[0] + k] != 0);
    ctt_model_free(&m);
    ctt_model_free(&to);
}

/* A bias that relu makes 0 is pruned, if nothing else sees it; one that may
 * become a value is not. */
static void test_biases(void)
{
    static const char text[] =
        IMAGE A "act r in=a kind=relu\nconv b in=x out=5 kernel=1,3,3 "
        "pad=0,1,1\nconcat d in=r,b\nconv y in=d out=2\n";
    struct ctt_model *m = small_model(text, 1), *to = NULL;
    const uint8_t *keep;

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    damage(m, "a:0=-0.5 a:1=0.5 a:2=0 b:0=-0.5 b:1=0");
    CHECK_OK(ctt_drop_dead(m, &to));
    keep = to->constraint.keep + node(to, "a")->at[1];
    CU_ASSERT(!keep[0] && keep[1] && !keep[2] && keep[3] && keep[4]);
    keep = to->constraint.keep + node(to, "b")->at[1];
    CU_ASSERT(keep[0] && !keep[1] && keep[2]);
    small_compare(m, to, 2, 0);
    ctt_model_free(&m);
    ctt_model_free(&to);
}

static void test_not_finite(void)
{
    struct ctt_model *m = small_model(plain, 1), *to = NULL;

    m->w[node(m, "b")->at[0]] = 1e38f * 10;
    CU_ASSERT_EQUAL(ctt_drop_dead(m, &to), CTT_ENAN);
    CU_ASSERT_PTR_NULL(to);
    ctt_model_free(&m);
}

static void test_alloc(void)
{
    struct ctt_model *m = small_model(normed, 4), *to = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    damage(m, "a:0=0.5 b.1");
    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = ctt_drop_dead(m, &to);
        ctt_fail_alloc(0);
        CU_ASSERT_FATAL(rc >= 0 || (rc == CTT_ENOMEM && !to));
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    ctt_model_free(&to);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Lines that nothing reads go, with what only they read. */
static void test_unread(void)
{
    static const char text[] =
        "input x c=4\nconv u in=x out=3\nstate s of=u\nadd v in=u,s\n"
        "conv a in=x out=4\nconv y in=a out=2\n";
    struct ctt_model *m = small_model(text, 5), *was = NULL;

    CHECK_OK(ctt_model_copy(m, &was));
    CU_ASSERT_EQUAL(ctt_drop_unread(&m), 3);
    CU_ASSERT_EQUAL(m->g->count, 3);
    small_compare(was, m, 4, 0);
    CU_ASSERT_EQUAL(ctt_drop_unread(&m), 0);
    ctt_model_free(&was);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "lines", test_unread },
        { "channels", test_cases },
        { "masks and codes", test_constraints },
        { "biases", test_biases },
        { "not finite", test_not_finite },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "dead", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
