/* SPDX-License-Identifier: Apache-2.0
 * test_compose.c: every stage with every other, in one run and in two: what
 * comes out is the model that was tested, is trained further under its
 * constraints, and is compressed again; an order that would undo a stage is
 * refused.  CTT_COMPOSE_NETS=N: of the first N nets. */
#include "tests/lib/held.h"
#include "tests/lib/toy.h"
#include "tests/lib/toy_compress.h"
#include "net/rewrite/edit.h"

#include <math.h>

/* ---- the steps ---- */

/* What a model is made by: a stage, alone or retrained with a teacher, or a
 * training. */
enum step { THIN, SVD, RESPONSES, TRAINS, PRUNE, FOLD, SHARE, ROUND, DISTIL,
            DSD, STEPS };

#define BIT(step) (1u << (step))
#define SET(member, type)                                               \
    offsetof(struct ctt_recipe, member), sizeof(type), &(const type)

/* The settings of a step's stage; a training has none. */
static const struct {
    const char *name;
    size_t      at, size;
    const void *value;
} steps_of[STEPS] = {
    [THIN] = { "thin", SET(thin, struct ctt_thin){
        .share = 0.3f, .rounds = 1, .multiple = 1,
        .score = CTT_THIN_RESPONSE } },
    [SVD] = { "svd", SET(svd, struct ctt_svd){ .rank = 2, .least = 60 } },
    [RESPONSES] = { "svd on responses", SET(svd, struct ctt_svd){
        .rank = 2, .least = 60, .clips = 4, .on = CTT_ON_RESPONSES } },
    [TRAINS] = { "tensor trains", SET(tt, struct ctt_tt){
        .rank = 2, .least = 60, .harm = 1 } },
    [PRUNE] = { "prune", SET(prune, struct ctt_prune){
        .share = 0.5f, .steps = 3, .until = 0.6f, .least = 9,
        .floor = 0.02f } },
    [DISTIL] = { "distil", SET(prune, struct ctt_prune){
        .form = CTT_PRUNE_BLOCK,
        .share = 0.7f, .steps = 3, .until = 0.6f, .least = 9,
        .floor = 0.02f } },
    [FOLD] = { "fold", SET(fold, struct ctt_fold){ CTT_FOLD_ALL } },
    [SHARE] = { "share", SET(share, struct ctt_share){
        .bits = "2", .lambda = 0.02f, .least = 2, .epochs = 1 } },
    [ROUND] = { "round", SET(round, struct ctt_round){ 8, 8 } },
    [DSD] = { .name = "dsd" },
};

static void ask(struct ctt_recipe *o, unsigned steps)
{
    for (int s = 0; s < STEPS; s++)
        if (steps & BIT(s) && steps_of[s].value)
            memcpy((char *)o + steps_of[s].at, steps_of[s].value,
                   steps_of[s].size);
    o->epochs = 2;
}

/* ---- models and clips ---- */

/* Besides a net with a norm, a recurrent cell and dropout, one of pictures. */
static const char picture_net[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
    "conv a in=x out=6 kernel=3\n"
    "pool p in=a kind=max kernel=2\n"
    "conv b in=p out=12 kernel=4\n"
    "act r in=b kind=relu\n"
    "conv y in=r out=4\n";

static const char mixed_net[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
    "resblock a in=x out=8 stride=2\n"
    "conv g in=a out=8 kernel=3 pad=1 groups=8 bias=0\n"
    "norm gn in=g kind=batch\n"
    "act gr in=gn kind=relu6\n"
    "conv v in=gr out=6 kernel=3 pad=1 groups=2 bias=0\n"
    "norm vn in=v kind=layer\n"
    "deconv d in=vn out=5 kernel=2 stride=2\n"
    "norm dn in=d kind=batch\n"
    "convttlstm h in=dn hidden=4 kernel=3\n"
    "pool p in=h kind=avg\n"
    "lstm l in=p hidden=8\n"
    "conv y in=l out=4\n";

static struct kind {
    const char       *name, *net;
    int               frames;    /* of a clip; 0: all */
    struct ctt_data  *train, *val;
    struct ctt_model *dense, *dsd;
} kinds[] = {
    { .name = "video", .net = clip_net },
    { .name = "picture", .net = picture_net, .frames = 1 },
    { .name = "clip", .net = clip_net_end },
    { .name = "mixed", .net = mixed_net },
};
enum { KINDS = CTT_LEN(kinds), FEW = 2 };

static int kinds_tried(void)
{
    const char *s = getenv("CTT_COMPOSE_NETS");
    int n = s ? atoi(s) : FEW;

    return n < 1 ? 1 : n > KINDS ? KINDS : n;
}

static struct ctt_train_cfg cfg_of(const struct kind *k)
{
    struct ctt_train_cfg c = clip_cfg();

    c.device = "cpu";
    c.epochs = 1;
    c.max_frames = k->frames;
    c.distil = 0;
    return c;
}

static void train(const struct kind *k, const struct ctt_train_cfg *c,
                  struct ctt_model *m)
{
    struct ctt_result r;

    CHECK_OK(ctt_train(m, c, k->train, k->val, NULL, &r));
}

static void open_kind(struct kind *k)
{
    struct ctt_train_cfg c = cfg_of(k);
    struct ctt_input in = clip_input();

    CHECK_OK(ctt_data_open(clip_path("train.pack"), "train", &in, NULL, 0, &c,
                           NULL, &k->train));
    CHECK_OK(ctt_data_open(clip_path("val.pack"), "train", &in, NULL, 0, &c,
                           NULL, &k->val));
    CHECK_OK(clip_model(k->net, 3, &k->dense));
    c.epochs = 2;
    train(k, &c, k->dense);
    CHECK_OK(clip_model(k->net, 3, &k->dsd));
    c.epochs = 5;
    c.dsd = 0.3f;
    train(k, &c, k->dsd);
}

static void close_kind(struct kind *k)
{
    ctt_data_close(&k->train);
    ctt_data_close(&k->val);
    ctt_model_free(&k->dense);
    ctt_model_free(&k->dsd);
}

/* ---- runs ---- */

static const char *result(void) { return clip_path("result.h5"); }

/* One run of these stages on *m, which becomes its result; *loss: of its last
 * test. */
static int compress(struct kind *k, unsigned stages, struct ctt_model **m,
                    double *loss)
{
    struct toy_job j = { cfg_of(k), k->train, k->val, NAN };
    struct ctt_recipe_calls calls = toy_calls(&j);
    struct ctt_model *teacher = NULL;
    const struct ctt_model *teachers[2] = { NULL };
    struct ctt_report *r = NULL;
    struct ctt_recipe o = { .epochs = 0 };
    int rc;

    ask(&o, stages);
    CHECK_OK(ctt_model_copy(*m, &teacher));
    teachers[0] = teacher;
    if (stages & BIT(DISTIL)) {
        j.cfg.distil = 0.7f;
        j.cfg.wiring.teachers = teachers;
    }
    remove(result());
    rc = ctt_recipe_run(&o, &calls, result(), NULL, m, &r);
    *loss = j.loss;
    ctt_report_free(&r);
    ctt_model_free(&teacher);
    return rc;
}

/* ---- what must hold for each result ---- */

static int convs(const struct ctt_model *m)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += ctt_is_conv(&m->g->node[i]);
    return n;
}

/* The file has what was tested. */
static void check_file(struct kind *k, const struct ctt_model *m, double loss)
{
    struct toy_job j = { cfg_of(k), k->train, k->val, NAN };
    struct ctt_score score;
    struct ctt_model *read = NULL;

    CHECK_OK(ctt_model_load(result(), 1, &read));
    CU_ASSERT_EQUAL_FATAL(read->g->weights, m->g->weights);
    CU_ASSERT(memcmp(read->w, m->w, (size_t)m->g->weights * 4) == 0);
    CHECK_OK(toy_accuracy(&j, "", read, &score));
    CU_ASSERT_DOUBLE_EQUAL(j.loss, loss, 1e-9);
    ctt_model_free(&read);
}

/* Channels of the results of convs, of those that the dense model has. */
static int64_t widths(const struct ctt_model *dense, const struct ctt_model *m)
{
    int64_t sum = 0;

    for (int i = 0; i < m->g->count; i++)
        if (ctt_is_conv(&m->g->node[i]) &&
            ctt_graph_find(dense->g, m->g->node[i].name) >= 0)
            sum += m->g->node[i].out.c;
    return sum;
}

/* What was done to a copy of m, which is freed, ended no constraint. */
static void check_held(const struct ctt_model *m, struct ctt_model **copy)
{
    struct held was = held_of(m), is = held_of(*copy);

    CU_ASSERT_EQUAL(is.kept, was.kept);
    CU_ASSERT(is.values <= was.values && !is.values == !was.values);
    ctt_model_free(copy);
}

static void check_trained(struct kind *k, const struct ctt_model *m)
{
    struct ctt_train_cfg c = cfg_of(k);
    struct ctt_model *copy = NULL;

    CHECK_OK(ctt_model_copy(m, &copy));
    train(k, &c, copy);
    check_held(m, &copy);
}

static void check_again(struct kind *k, const struct ctt_model *m)
{
    struct ctt_model *copy = NULL;
    double loss;

    CHECK_OK(ctt_model_copy(m, &copy));
    CHECK_OK(compress(k, BIT(ROUND), &copy, &loss));
    check_held(m, &copy);
}

static void check_result(struct kind *k, const struct ctt_model *m, double loss)
{
    check_file(k, m, loss);
    check_trained(k, m);
    check_again(k, m);
}

/* A model that all these steps made of the dense one has what each leaves. */
static void check_steps(const struct kind *k, unsigned steps,
                        const struct ctt_model *m)
{
    struct held h = held_of(m), dense = held_of(k->dense);

    if (steps & (BIT(PRUNE) | BIT(DISTIL)))
        CU_ASSERT(h.kept < dense.kept * 6 / 10);
    CU_ASSERT(!(steps & BIT(SHARE)) == !h.values);
    CU_ASSERT(h.values <= 4 * convs(m));
    if (steps & (BIT(SVD) | BIT(RESPONSES) | BIT(TRAINS)))
        CU_ASSERT(convs(m) > convs(k->dense));
    if (steps & BIT(THIN))
        CU_ASSERT(widths(k->dense, m) < widths(k->dense, k->dense));
    if (steps & BIT(FOLD))
        CU_ASSERT_EQUAL(ctt_foldable_norms(m->g), 0);
}

/* Says which steps failed. */
static void tell(const struct kind *k, unsigned first, unsigned then,
                 unsigned failures)
{
    if (CU_get_number_of_failures() == failures)
        return;
    printf("\n%s:", k->name);
    for (int s = 0; s < 2 * STEPS; s++) {
        if (s == STEPS && then)
            printf(", then");
        if ((s < STEPS ? first : then) & BIT(s % STEPS))
            printf(" %s", steps_of[s % STEPS].name);
    }
    printf("\n");
}

/* ---- one run ---- */

static struct ctt_model *given(const struct kind *k, unsigned steps)
{
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_model_copy(steps & BIT(DSD) ? k->dsd : k->dense, &m));
    return m;
}

static void one_run(struct kind *k, unsigned steps)
{
    unsigned failures = CU_get_number_of_failures();
    struct ctt_model *m = given(k, steps);
    double loss = NAN;

    CHECK_OK(compress(k, steps, &m, &loss));
    check_steps(k, steps, m);
    check_result(k, m, loss);
    ctt_model_free(&m);
    tell(k, steps, 0, failures);
}

/* Two settings of one stage are not asked in one run. */
static int is_run(unsigned steps)
{
    unsigned svd = BIT(SVD) | BIT(RESPONSES), prune = BIT(PRUNE) | BIT(DISTIL);

    return (steps & svd) != svd && (steps & prune) != prune &&
           (steps & ~(unsigned)BIT(DSD)) != 0;
}

static void test_one_run(void)
{
    for (int i = 0; i < kinds_tried(); i++)
        for (unsigned a = 0; a < STEPS; a++)
            for (unsigned b = a; b < STEPS; b++)
                if (is_run(BIT(a) | BIT(b)) && ctt_check_tries())
                    one_run(&kinds[i], BIT(a) | BIT(b));
}

static void test_many(void)
{
    static const unsigned many[] = {
        BIT(SVD) | BIT(TRAINS) | BIT(PRUNE),
        BIT(RESPONSES) | BIT(FOLD) | BIT(SHARE),
        BIT(TRAINS) | BIT(DISTIL) | BIT(SHARE),
        BIT(DSD) | BIT(PRUNE) | BIT(SHARE),
        BIT(THIN) | BIT(TRAINS) | BIT(PRUNE) | BIT(SHARE),
        BIT(DSD) | BIT(THIN) | BIT(RESPONSES) | BIT(TRAINS) | BIT(DISTIL) |
            BIT(FOLD) | BIT(SHARE) | BIT(ROUND),
    };

    for (int i = 0; i < kinds_tried(); i++)
        for (size_t s = 0; s < CTT_LEN(many); s++)
            one_run(&kinds[i], many[s]);
}

/* ---- two runs, one after the other ---- */

static const struct { unsigned first, then; const char *says; } refused[] = {
    { BIT(PRUNE) | BIT(DISTIL) | BIT(SHARE), BIT(SVD) | BIT(RESPONSES),
      "an SVD of it would be neither" },
    { BIT(PRUNE) | BIT(DISTIL) | BIT(SHARE), BIT(TRAINS),
      "a tensor train of it would be neither" },
    { BIT(PRUNE), BIT(PRUNE), "nothing to prune" },
    { BIT(DISTIL), BIT(PRUNE) | BIT(DISTIL), "nothing to prune" },
    { BIT(SHARE), BIT(SHARE), "share values already" },
    { BIT(PRUNE) | BIT(DISTIL) | BIT(SHARE), BIT(DSD),
      "is for dense models" },
};

/* Why the second step is refused after the first, or NULL. */
static const char *refusal(enum step a, enum step b, const struct ctt_model *m)
{
    if (a == SHARE && b == FOLD && ctt_foldable_norms(m->g) > 0)
        return "fold before sharing";
    for (size_t i = 0; i < CTT_LEN(refused); i++)
        if (refused[i].first & BIT(a) && refused[i].then & BIT(b))
            return refused[i].says;
    return NULL;
}

static int do_step(struct kind *k, enum step s, struct ctt_model **m,
                   double *loss)
{
    struct ctt_train_cfg c = cfg_of(k);
    struct toy_job j = { c, k->train, k->val, NAN };
    struct ctt_score score;
    struct ctt_result r;
    int rc;

    if (s != DSD)
        return compress(k, BIT(s), m, loss);
    c.epochs = 5;
    c.dsd = 0.3f;
    remove(result());
    CTT_TRY(ctt_train(*m, &c, k->train, k->val, NULL, &r));
    CTT_TRY(ctt_model_save(result(), *m));
    CTT_TRY(toy_accuracy(&j, "", *m, &score));
    *loss = j.loss;
out:
    return rc;
}

/* Nothing that the first run has constrained is free after the second. */
static void check_second(struct kind *k, enum step a, enum step b,
                         const struct ctt_model *first,
                         const struct ctt_model *m, double loss)
{
    struct held was = held_of(first), is = held_of(m);

    if (a == PRUNE || a == DISTIL)
        CU_ASSERT(is.kept <= was.kept);
    if (a == SHARE)
        CU_ASSERT(is.values > 0 && is.values <= was.values);
    check_steps(k, BIT(a) | BIT(b), m);
    check_result(k, m, loss);
}

static void two_runs(struct kind *k, enum step a, enum step b,
                     const struct ctt_model *first)
{
    unsigned failures = CU_get_number_of_failures();
    const char *says = refusal(a, b, first);
    struct ctt_model *m = NULL;
    double loss = NAN;
    int rc;

    CHECK_OK(ctt_model_copy(first, &m));
    rc = do_step(k, b, &m, &loss);
    if (!says) {
        CHECK_OK(rc);
        check_second(k, a, b, first, m, loss);
    } else {
        CU_ASSERT_EQUAL(rc, CTT_EINVAL);
        CU_ASSERT(strstr(ctt_errmsg(), says) && !strchr(ctt_errmsg(), '\n'));
        CU_ASSERT(access(result(), F_OK) != 0);
    }
    ctt_model_free(&m);
    tell(k, BIT(a), BIT(b), failures);
}

static void test_two_runs(void)
{
    for (int i = 0; i < kinds_tried(); i++)
        for (int a = 0; a < STEPS; a++) {
            struct ctt_model *first = given(&kinds[i], BIT(a));
            double loss;

            if (a != DSD)
                CHECK_OK(compress(&kinds[i], BIT(a), &first, &loss));
            for (int b = 0; b < STEPS; b++)
                if (ctt_check_tries())
                    two_runs(&kinds[i], (enum step)a, (enum step)b, first);
            ctt_model_free(&first);
        }
}

static void test_given(void)
{
    for (int i = 0; i < kinds_tried(); i++)
        open_kind(&kinds[i]);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "models as given", test_given },
        { "one run of two", test_one_run },
        { "one run of many", test_many },
        { "two runs", test_two_runs },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "compose", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (clips_dir() < 0)
        return 99;
    if (clips_pack(clip_path("train.pack"), 0, 12) < 0 ||
        clips_pack(clip_path("val.pack"), 100, 8) < 0)
        return 99;
    rc = ctt_check_main(suites);
    for (int i = 0; i < kinds_tried(); i++)
        close_kind(&kinds[i]);
    return clips_clean() == 0 ? rc : 99;
}
