/* SPDX-License-Identifier: Apache-2.0
 * test_net.c: the model language, its shape rules, its cells, its schedule. */
#include "tests/lib/check.h"
#include "net/graph.h"

#include <stdlib.h>
#include <string.h>

static const char *const good[] = {
    "# a comment\n"
    "input      x    h=8 w=8 c=1 fps=12 mean=0.5 std=0.25\n"
    "convttlstm b0l0 in=x hidden=4 kernel=5 order=3 steps=5 rank=2\n"
    "conv       y    in=b0l0 out=1   # the frame\n"
    "clip\n"
    "window     v    in=b0l0 steps=3 every=2\n",

    "input x h=9 w=11 c=3 colour=bgr fit=pad\r\n"
    "resblock a in=x out=8 stride=2\r\n"
    "resblock b in=a out=8 norm=0\n"
    "convlstm h in=b hidden=4\n"
    "pool p in=h kind=avg\n"
    "lstm l in=p hidden=6\n"
    "dropout d in=l rate=0.25\n"
    "conv y in=d out=5\n",

    "input x d=4 h=8 w=6 c=2\n"
    "conv a in=x out=4 kernel=3 pad=1 stride=2\n"
    "deconv b in=a out=3 kernel=2 stride=2 bias=0\n"
    "norm n in=b kind=layer eps=1e-3\n"
    "reshape r in=n h=0 c=1\n"
    "slice s in=n from=1 to=3\n"
    "mul m in=n,n\n"
    "concat q in=s,m\n"
    "add z in=q bias=1\n"
    "pool y in=z kind=max kernel=2\n",

    "input x c=2\n"
    "clip\n"
    "window v in=x steps=3 every=2 fill=first\n"
    "window w in=x steps=3 spread=1\n"
    "window u in=x fill=zero steps=3 spread=0\n"
    "concat y in=v,w,u\n",
};

static void test_round_trip(void)
{
    for (size_t i = 0; i < CTT_LEN(good); i++) {
        struct ctt_graph *a = NULL, *b = NULL;
        char *sa, *sb;

        CHECK_OK(ctt_net_parse(good[i], &a));
        sa = ctt_net_print(a);
        CHECK_OK(ctt_net_parse(sa, &b));
        sb = ctt_net_print(b);
        CU_ASSERT_STRING_EQUAL(sa, sb);
        CU_ASSERT_EQUAL(a->count, b->count);
        CU_ASSERT_EQUAL(a->weights, b->weights);
        ctt_free(sa);
        ctt_free(sb);
        ctt_graph_free(&a);
        ctt_graph_free(&b);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A setting that is printed only where it is not at its default. */
static void test_quiet(void)
{
    static const char text[] = "input x c=4\nconv a in=x out=4 groups=1\n"
                               "act l in=a kind=leaky slope=0.01\n"
                               "act m in=l kind=leaky slope=0.2\n"
                               "conv b in=m out=4 pad=1 after=1\n"
                               "conv d in=b out=4 kernel=3 pad=0,1,0 "
                               "after=0,1,2 dilation=1,2,1\n"
                               "pool p in=d kind=avg after=pad\n"
                               "conv y in=p out=4 groups=2\n";
    struct ctt_graph *g = NULL;
    char *s;

    CHECK_OK(ctt_net_parse(text, &g));
    s = ctt_net_print(g);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_PTR_NULL(strstr(s, "groups=1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s, " bias=1 groups=2\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s, "l in=a kind=leaky\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s, " pad=0,1,1 bias=1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s, " bias=1 after=0,1,2 dilation=1,2,1"
                                  "\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s, " pad=0,0,0\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(s, " kind=leaky slope=0.2\n"));
    ctt_free(s);
    ctt_graph_free(&g);
}

/* Texts that are no model, and a part of what is said of each. */
static const struct { const char *text, *says; } wrong[] = {
    { "", "no input" },
    { "input x c=1", "nothing follows" },
    { "conv y in=x out=1", "no node 'x'" },
    { "input x", "'c' must be given" },
    { "input x c=0", "bad value" },
    { "input x c=1\nconv y in=x out=4 out=12",
      "line 2: y: out= is given twice" },
    { "input x c=1 h=8 h=8", "line 1: x: h= is given twice" },
    { "input x c=1\nlstm y in=x hidden=4 hidden=4", "hidden= is given twice" },
    { "input x c=1 std=0", "bad value" },
    { "input x c=nan", "bad value" },
    { "input x c=\v1", "bad value" },
    { "input x fps=\f1 c=1", "bad value" },
    { "input x c=1\rh=2\nact y in=x kind=relu", "bad value" },
    { "input x c=1\ninput x c=1", "line 2: 'x' is defined twice" },
    { "frob x", "unknown operation 'frob'" },
    { "input", "needs a name" },
    { "input a/b c=1", "is no name" },
    { "input x c=1 h", "not key=value" },
    { "input x c=1\nconv y in=x out=1 kernel=3", "larger" },
    { "input x c=1 h=4\nconv y in=x out=1 kernel=1,2,1 after=0,2,0",
      "y: after=2 is not smaller than the window of 2" },
    { "input x c=1 h=4\npool y in=x kind=avg kernel=1,2,1 after=0,9,0",
      "y: after=9 is not smaller than the window of 2" },
    { "input x c=1 h=4\nconv y in=x out=1 after=100", "after: bad value" },
    { "input x c=1 h=4\ndeconv y in=x out=1 after=1", "unknown setting" },
    { "input x c=1 h=4\nconv y in=x out=1 kernel=1,3,1 dilation=2",
      "y: kernel 5 is larger than the padded input 4" },
    { "input x c=1 h=4\nconv y in=x out=1 dilation=0", "dilation: bad value" },
    { "input x c=1 h=4\npool y in=x kind=max dilation=2", "unknown setting" },
    { "input x c=2 h=2\ninput y c=3\nmul z in=x,y", "differ in shape" },
    { "input x c=2 h=2\ninput y c=2 h=3\nmul z in=x,y", "differ in shape" },
    { "input x c=2\nsoftmax y in=x", "'over' must be given" },
    { "input x c=2\nsoftmax y in=x over=rows", "no choice 'rows'" },
    { "input x c=2\nlrn y in=x", "'size' must be given" },
    { "input x c=2\nlrn y in=x size=0", "size: bad value" },
    { "input x c=2\nlrn y in=x size=3 k=0", "k: bad value" },
    { "input x c=2 h=6\npatch y in=x by=1,4,1", "6 pixels are no blocks of 4" },
    { "input x c=6\npatch y in=x by=2 back=1",
      "6 channels are no 4 equal parts" },
    { "input x c=6\ngroupnorm y in=x groups=4",
      "6 channels cannot be cut into 4 groups" },
    { "input x c=4\ninput z c=6\nattend y in=x,z",
      "6 channels are no vectors of 4" },
    { "input x c=2\ninput z c=6\ninput m c=2\nattend y in=x,z,m",
      "the third input must be one pixel of 3 channels" },
    { "input x c=2\ne3dlstm y in=x hidden=3 steps=1", "steps: bad value" },
    { "input x c=2\ne3dlstm y in=x hidden=3 memory=z", "y.g1" },
    { "input x c=2\nconv z in=x out=3\ne3dlstm y in=x hidden=3 memory=z",
      "y: memory=z is no e3dlstm" },
    { "input x c=2\ne3dlstm z in=x hidden=2 steps=2\n"
      "e3dlstm y in=z hidden=3 memory=z",
      "y: memory=z has another number of channels than 3" },
    { "input x c=1\nact y in=x kind=swish", "no choice 'swish'" },
    { "input x c=1\nact y in=x kind=leaky slope=-1", "slope: bad value" },
    { "input x c=1\nact y in=x kind=silu slope=0.2", "kind=leaky" },
    { "input x c=1\nconv y in=x out=1 kernel=3,3", "bad value" },
    { "input x c=1\nconv y in=x out=1 colour=3", "unknown setting" },
    { "input x c=1\nconv y in=x,x out=1", "given by plus" },
    { "input x c=6\nconv y in=x out=4 groups=3",
      "y: 6 channels in and 4 out cannot both be cut into 3 groups" },
    { "input x c=6\nconv y in=x out=4 groups=4",
      "y: 6 channels in and 4 out cannot both be cut into 4 groups" },
    { "input x c=6\nconv y in=x out=4 groups=0", "groups: bad value '0'" },
    { "input x c=6\ndeconv y in=x out=6 groups=2", "unknown setting" },
    { "input x c=1\nconv y plus=x out=1", "after in=" },
    { "input x c=1\nconv y in=x plus=x out=2", "not of its shape" },
    { "input x c=1\nadd y in=x plus=x", "unknown setting" },
    { "input x c=2\nslice y in=x from=1 to=3", "no channels" },
    { "input x c=2\ninput y c=3\nadd z in=x,y", "differ in shape" },
    { "input x c=2\ninput y h=2 c=3\nconcat z in=x,y", "differ in size" },
    { "input x c=1\nstate s of=t", "comes later" },
    { "input x c=1\nstate s of=t like=x c=1", "no node 't'" },
    { "input x c=1\nstate s of=x\nstate t of=s", "is a state" },
    { "input x c=1\nstate s of=y like=x c=1 fill=first\nconv y in=s out=1",
      "s: fill=first needs the value of step 0, but 'y' comes later" },
    { "input x c=1\nstate s of=x\nstate t of=x delay=2 fill=first\n"
      "add y in=s,t", "t: 's' delays 'x' with another 'fill'" },
    { "input x c=1\nstate s of=x fill=last\nconv y in=s out=1",
      "fill: no choice 'last' (zero, first)" },
    { "input x c=1\nstate s of=y like=x c=2\nconv y in=x out=1",
      "not the shape" },
    { "input x c=1\nclip\nwindow v in=x steps=2\nstate s of=v",
      "before 'clip'" },
    { "input x c=1\nclip\nconv v in=x out=2", "only a window" },
    { "input x c=1\nwindow v in=x steps=2", "after 'clip'" },
    { "input x c=1\nclip\nwindow v in=x steps=2 fill=last",
      "v: fill: no choice 'last' (zero, first)" },
    { "input x c=1\nclip\nwindow v in=x steps=2 spread=2",
      "spread: bad value '2'" },
    { "input x c=1\nclip\nwindow v in=x steps=2 every=2 spread=1",
      "v: spread=1 has no 'every'" },
    { "input x c=1\nclip\nwindow v in=x steps=2 fill=first spread=1",
      "v: spread=1 has no 'fill'" },
    { "input x c=3\nstate s of=x\nslice p in=s from=1 to=2\nclip\n"
      "window v in=p steps=2 spread=1",
      "v: spread=1 cannot show the state 's'" },
    { "input x c=1\nconv y in=x out=1\nclip", "before and after" },
    { "input x c=1\nclip\nclip", "twice" },
    { "input x c=4\ncell y in=x", "not an lstm" },
    { "input x c=4\nreshape y in=x c=3", "do not multiply" },
    { "input x c=4\nreshape y in=x c=0 h=0", "two sizes" },
    { "input x c=4\nslice s in=x to=2\nreshape y in=s c=2", "a slice" },
    { "input x h=1048576 w=1048576 c=1048576", "too large" },
    { "input x h=1048576 w=1048576 c=1\n"
      "conv y in=x out=1 kernel=1,4096,4096", "too large" },
    { "input x h=9 w=9 c=1\nconvlstm y in=x hidden=2 kernel=2", "even" },
    { "input x h=9 w=9 c=1\nconvttlstm y in=x hidden=2 order=3 steps=2",
      "order 3 with 2 steps" },
    { "input x c=1\nlstm y in=x", "takes 2 to 2 inputs" },
    { "input x c=1\npool y in=x kind=median", "no choice 'median'" },
    { "input x c=1\npool y in=x kind=max kernel=1 pad=1", "not smaller" },
    { "input x c=1\nupsample y in=x", "'by' must be given" },
    { "input x c=1\nupsample y in=x by=1,0,1", "by: bad value '1,0,1'" },
    { "input x c=2\nembed y in=x vocab=9 out=4", "a symbol is one number" },
    { "input x c=1\nact a in=x kind=relu\nembed y in=a vocab=9 out=4",
      "y: looks up symbols of an input" },
    { "input x c=1\nembed y in=x out=4", "'vocab' must be given" },
    { "input x w=20000 c=1\nupsample y in=x by=53",
      "y: 20000 pixels times 53 are more than 1048576" },
};

static void test_errors(void)
{
    for (size_t i = 0; i < CTT_LEN(wrong); i++) {
        struct ctt_graph *g = NULL;
        int rc = ctt_net_parse(wrong[i].text, &g);
        CU_ASSERT(rc < 0 && g == NULL);
        if (!strstr(ctt_errmsg(), wrong[i].says))
            printf("\n    %s\n    says: %s", wrong[i].text, ctt_errmsg());
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), wrong[i].says));
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The k-th allocation fails, for every k: no leak, no crash, no success. */
static void test_out_of_memory(void)
{
    struct ctt_graph *g = NULL;
    struct ctt_schedule *s = NULL;
    int rc = CTT_ENOMEM;

    for (long k = 1; rc == CTT_ENOMEM; k++) {
        char *text = NULL;
        ctt_fail_alloc(k);
        rc = ctt_net_parse(good[0], &g);
        if (rc == 0)
            rc = ctt_schedule_new(g, 1, &s);
        if (rc == 0)
            rc = (text = ctt_net_print(g)) ? 0 : CTT_ENOMEM;
        ctt_fail_alloc(0);
        ctt_free(text);
        ctt_schedule_free(&s);
        ctt_graph_free(&g);
        CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
    }
    CU_ASSERT_EQUAL(rc, 0);
}

static const struct ctt_node *node(const struct ctt_graph *g, const char *name)
{
    int i = ctt_graph_find(g, name);

    CU_ASSERT_FATAL(i >= 0);
    return &g->node[i];
}

static void check_shape(const struct ctt_graph *g, const char *name, int64_t d,
                        int64_t h, int64_t w, int64_t c)
{
    const struct ctt_tensor *t = &node(g, name)->out;

    CU_ASSERT(t->n == 1 && t->d == d && t->h == h && t->w == w && t->c == c);
}

static void test_shapes(void)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(good[2], &g));
    check_shape(g, "a", 2, 4, 3, 4);
    check_shape(g, "b", 4, 8, 6, 3);
    check_shape(g, "r", 1, 4 * 8 * 6 * 3, 1, 1);
    check_shape(g, "s", 4, 8, 6, 2);
    CU_ASSERT_EQUAL(node(g, "s")->out.ld, 3);
    check_shape(g, "q", 4, 8, 6, 5);
    check_shape(g, "y", 2, 4, 3, 5);
    CU_ASSERT_EQUAL(ctt_node_params(node(g, "a")), 4 * 27 * 2 + 4);
    CU_ASSERT_EQUAL(ctt_node_macs(g, 1), 2 * 4 * 3 * 4 * 27 * 2);
    ctt_graph_free(&g);
    CHECK_OK(ctt_net_parse("input x h=7 w=9 c=2\n"
                           "conv y in=x out=3 kernel=3 stride=2 pad=1\n", &g));
    check_shape(g, "y", 1, 4, 5, 3);
    CU_ASSERT_EQUAL(node(g, "y")->w[0].d, 1);
    ctt_graph_free(&g);
    CHECK_OK(ctt_net_parse("input x h=7 w=9 c=6\n"
                           "conv y in=x out=4 kernel=3 groups=2\n", &g));
    check_shape(g, "y", 1, 5, 7, 4);
    CU_ASSERT_EQUAL(node(g, "y")->w[0].c, 3);
    CU_ASSERT_EQUAL(ctt_node_params(node(g, "y")), 4 * 9 * 3 + 4);
    CU_ASSERT_EQUAL(ctt_node_macs(g, 1), 5 * 7 * 4 * 9 * 3);
    ctt_graph_free(&g);
    CHECK_OK(ctt_net_parse("input x d=2 h=7 w=9 c=2\nupsample y in=x by=3\n"
                           "upsample z in=y by=1,2,1\ninput a h=3 c=1\n"
                           "upsample b in=a by=4\n", &g));
    check_shape(g, "y", 6, 21, 27, 2);
    check_shape(g, "z", 6, 42, 27, 2);
    check_shape(g, "b", 1, 12, 4, 1);
    ctt_graph_free(&g);
}

/* The cell has the parameters of the paper's: per core a conv of the states
 * with bias, between cores a conv with bias, and the gates. */
static void test_cell_params(void)
{
    struct ctt_graph *g = NULL;
    int64_t sum = 0, in = 5, hid = 6, k = 9, r = 4, m = 3, lags = 2;

    CHECK_OK(ctt_net_parse("input x h=8 w=8 c=5\nconvttlstm h in=x hidden=6 "
                           "kernel=3 order=3 steps=4 rank=4\n", &g));
    for (int i = 0; i < g->count; i++)
        sum += ctt_node_params(&g->node[i]);
    CU_ASSERT_EQUAL(sum, m * (lags * hid * r * k + r) +
                    (m - 1) * (r * r * k + r) +
                    (in + r) * 4 * hid * k + 4 * hid);
    ctt_graph_free(&g);
}

static int place(const struct ctt_graph *g, const struct ctt_schedule *s,
                 const char *name)
{
    int i = ctt_graph_find(g, name);

    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; j < s->first[k + 1]; j++)
            if (s->order[j] == i) {
                CU_ASSERT_EQUAL(s->of[i], k);
                return k;
            }
    CU_FAIL_FATAL("not scheduled");
    return -1;
}

static void test_schedule(void)
{
    struct ctt_graph *g = NULL;
    struct ctt_schedule *s = NULL;
    int loop, other;

    CHECK_OK(ctt_net_parse("input x h=8 w=8 c=1\nstate p of=x\n"
                           "concat d in=x,p\nconvlstm h in=d hidden=2\n"
                           "convttlstm q in=h hidden=2\n"
                           "conv y in=q out=1\n", &g));
    CHECK_OK(ctt_schedule_new(g, 1, &s));
    loop = place(g, s, "h");
    other = place(g, s, "q");
    CU_ASSERT(s->bound[loop] && s->bound[other] && loop < other);
    CU_ASSERT_EQUAL(place(g, s, "h.c"), loop);
    CU_ASSERT_EQUAL(place(g, s, "h.z"), loop);
    CU_ASSERT(!s->bound[place(g, s, "h.zx")]);
    CU_ASSERT(place(g, s, "h.zx") < loop);
    CU_ASSERT(!s->bound[place(g, s, "p")] && !s->bound[place(g, s, "d")]);
    CU_ASSERT(place(g, s, "q.zx") > loop && place(g, s, "q.zx") < other);
    CU_ASSERT_EQUAL(place(g, s, "q.q"), other);
    CU_ASSERT(place(g, s, "y") > other && !s->bound[place(g, s, "y")]);
    CU_ASSERT_EQUAL(s->first[s->comps], g->count);
    ctt_schedule_free(&s);
    ctt_graph_free(&g);
}

/* An answer that is fed back makes one loop of all, but only for steps in
 * which it is. */
static void test_feedback(void)
{
    struct ctt_graph *g = NULL;
    struct ctt_schedule *s = NULL;

    CHECK_OK(ctt_net_parse("input f h=8 w=8 c=1\ninput m c=1\n"
                           "state b of=y like=f c=1\nmix x in=f,b,m\n"
                           "convlstm h in=x hidden=2 kernel=3\n"
                           "conv y in=h out=1\n", &g));
    CHECK_OK(ctt_schedule_new(g, 0, &s));
    CU_ASSERT(!s->bound[place(g, s, "x")] && !s->bound[place(g, s, "h.zx")]);
    CU_ASSERT(s->bound[place(g, s, "h")] && !s->bound[place(g, s, "y")]);
    CU_ASSERT(place(g, s, "m") < place(g, s, "x"));
    CU_ASSERT(place(g, s, "x") < place(g, s, "h.zx"));
    ctt_schedule_free(&s);
    CHECK_OK(ctt_schedule_new(g, 1, &s));
    CU_ASSERT(s->bound[place(g, s, "x")]);
    CU_ASSERT_EQUAL(place(g, s, "x"), place(g, s, "y"));
    CU_ASSERT_EQUAL(place(g, s, "x"), place(g, s, "h.zx"));
    CU_ASSERT_NOT_EQUAL(place(g, s, "f"), place(g, s, "x"));
    ctt_schedule_free(&s);
    ctt_graph_free(&g);
}

static void test_options(void)
{
    static const char *const kinds[] = { "a", "b", NULL };
    struct cfg { int n, flag, kind; float x, f3[3]; const char *s; } c;
    static const struct ctt_opt tab[] = {
        { "n", CTT_INT, offsetof(struct cfg, n), "3", "", 0, 9, .letter = 'n' },
        { "flag", CTT_FLAG, offsetof(struct cfg, flag), "0", "" },
        { "kind", CTT_CHOICE, offsetof(struct cfg, kind), "a", "",
          .choices = kinds },
        { "x", CTT_FLOAT, offsetof(struct cfg, x), "0.5", "" },
        { "f", CTT_FLOAT3, offsetof(struct cfg, f3), "1", "", 0, 9,
          .word = "auto" },
        { "s", CTT_STRING, offsetof(struct cfg, s), "", "" },
        { .name = NULL }
    };
    static const struct { const char *word[4], *says; } bad[] = {
        { { "--frob" }, "unknown option '--frob'" },
        { { "--n", "10" }, "--n: bad value '10' (0 to 9)" },
        { { "-nx" }, "bad value" },
        { { "--n" }, "needs a value" },
        { { "--flag=1" }, "takes no value" },
        { { "--kind", "c" }, "no choice 'c'" },
        { { "--x=1e999" }, "bad value" },
        { { "--f", "1,2" }, "--f: bad value '1,2' (0 to 9, or auto)" },
        { { "--f", "auto,1,1" }, "bad value" },
        { { "--x", "auto" }, "bad value" },
        { { "--s=" }, "--s: the value is empty" },
    };
    static const struct ctt_program t = { .name = "t", .synopsis = "",
                                          .opts = tab };
    char *ok[] = { "t", "one", "-n4", "--flag", "--kind=b", "--x", "-2", "--",
                   "-two" };
    int done;

    CU_ASSERT_EQUAL(ctt_opt_main(&t, &c, 9, ok, &done), 7);
    CU_ASSERT(c.n == 4 && c.flag == 1 && c.kind == 1 && c.x == -2 && !c.s);
    CU_ASSERT(strcmp(ok[7], "one") == 0 && strcmp(ok[8], "-two") == 0);
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        char *argv[4] = { "t" };
        int argc = 1;
        for (; argc < 4 && bad[i].word[argc - 1]; argc++)
            argv[argc] = (char *)bad[i].word[argc - 1];
        CU_ASSERT(ctt_opt_main(&t, &c, argc, argv, &done) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), bad[i].says));
    }
}

/* Settings that have no effect without others. */
static void test_conditions(void)
{
    static const char *const kinds[] = { "a", "b", "c", NULL };
    struct cfg { int n, m, kind; const char *s; };
    static const struct ctt_opt tab[] = {
        { "kind", CTT_CHOICE, offsetof(struct cfg, kind), "a", "",
          .choices = kinds },
        { "s", CTT_STRING, offsetof(struct cfg, s), "", "",
          .needs = "kind!=a" },
        { "n", CTT_INT, offsetof(struct cfg, n), "3", "",
          .needs = "kind=b|kind=c s=x:* none=1" },
        { "m", CTT_INT, offsetof(struct cfg, m), "0", "", .needs = "!n" },
        { .name = NULL }
    };
    static const struct { struct cfg c; const char *says; } cases[] = {
        { { 3, 0, 0, NULL }, NULL },
        { { 3, 0, 0, "x" }, "--s requires --kind other than a" },
        { { 3, 0, 1, "x" }, NULL },
        { { 4, 0, 0, NULL }, "--n requires --kind=b or --kind=c" },
        { { 4, 0, 2, NULL }, "--n requires --s=x:..." },
        { { 4, 0, 2, "x" }, "--n requires --s=x:..." },
        { { 4, 0, 1, "x:" }, NULL },
        { { 4, 1, 1, "x:y" }, "--m excludes --n" },
        { { 3, 1, 0, NULL }, NULL },
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        int rc = ctt_opt_check(tab, &cases[i].c);
        CU_ASSERT_EQUAL(rc, cases[i].says ? CTT_EINVAL : 0);
        if (rc < 0 && cases[i].says)
            CU_ASSERT_STRING_EQUAL(ctt_errmsg(), cases[i].says);
    }
}

/* Each of as many rows as there may be, if it has no default, must be given. */
static void test_many_options(void)
{
    static struct ctt_opt tab[CTT_OPT_MAX + 1];
    static char name[CTT_OPT_MAX][16];
    const struct ctt_program t = { .name = "t", .synopsis = "", .opts = tab };
    int cfg[CTT_OPT_MAX], done;

    for (int i = 0; i < CTT_OPT_MAX; i++) {
        snprintf(name[i], sizeof(name[i]), "o%d", i);
        tab[i] = (struct ctt_opt){ name[i], CTT_INT, (size_t)i * sizeof(int),
                                   "7", "" };
    }
    for (int i = 0; i < CTT_OPT_MAX; i += 5) {
        char word[32], *argv[] = { "t", word, NULL };
        struct ctt_opt_seen seen = { { 0 } };

        tab[i].dflt = NULL;
        snprintf(word, sizeof(word), "--o%d=3", i);
        CU_ASSERT_EQUAL(ctt_opt_main(&t, cfg, 2, argv, &done), 2);
        CU_ASSERT_EQUAL(cfg[i], 3);
        CU_ASSERT(ctt_opt_main(&t, cfg, 1, argv, &done) < 0);
        CU_ASSERT(strstr(ctt_errmsg(), "must be given") != NULL);
        CU_ASSERT(ctt_opt_missing(tab, &seen) < 0);
        CHECK_OK(ctt_opt_word(tab, cfg, word + 2, &seen));
        CHECK_OK(ctt_opt_missing(tab, &seen));
        tab[i].dflt = "7";
        CU_ASSERT(!ctt_opt_is_default(&tab[i], cfg));
        cfg[i] = 7;
        CU_ASSERT(ctt_opt_is_default(&tab[i], cfg));
    }
}

static CU_TestInfo tests[] = {
    { "round trip", test_round_trip },
    { "quiet", test_quiet },
    { "errors", test_errors },
    { "out of memory", test_out_of_memory },
    { "shapes", test_shapes },
    { "cell parameters", test_cell_params },
    { "schedule", test_schedule },
    { "feedback", test_feedback },
    { "options", test_options },
    { "conditions", test_conditions },
    { "many options", test_many_options },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "net", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
