/* SPDX-License-Identifier: Apache-2.0
 * test_next.c: --task next: a language model's loss and gradient are those of
 * PyTorch, and its tests say the loss per symbol. */
#include "libtrain/data/fold.h"
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/toy.h"

#include <math.h>

static const char net[] =
    "input x c=1\n"
    "embed e in=x vocab=6 out=3\n"
    "lstm h in=e hidden=2\n"
    "conv y in=h out=6\n";

static const char sentences[] = "a b a c\nb a\nc c a b d a b\n\nd";

/* Of PyTorch, by bench/peers/words.py; gates i, f, o, g. */
static const double torch_loss = 1.882547785;
static const double torch_gradient[] = {
    /* table */
    -0.00835471, -0.00207000, 0.00888813, 0.00000000, 0.00000000,
    0.00000000, -0.00118089, 0.00182049, 0.00071177, 0.00111810,
    -0.00358421, -0.00019449, 0.00377773, -0.00784974, -0.00175494,
    0.00401282, -0.00959349, -0.00154068,
    /* h.zx w */
    0.00736487, -0.00479204, -0.00613002, -0.00196877, -0.00010495,
    0.00199582, 0.00305503, -0.00131866, -0.00271522, -0.00049147,
    -0.00187471, 0.00097456, 0.00902902, -0.00139315, -0.00867003,
    -0.00262248, -0.00129127, 0.00295523, -0.01398880, -0.00564041,
    0.01544228, 0.00778381, 0.00537904, -0.00916993,
    /* h.zx b */
    0.02026188, -0.00304721, 0.00824867, 0.00416345, 0.01678036,
    -0.00122214, -0.04028203, 0.03618341,
    /* h.z w */
    -0.00401338, 0.00158695, 0.00039022, 0.00047640, -0.00188285,
    0.00108957, -0.00121560, -0.00028612, -0.00405545, 0.00207847,
    -0.00024542, 0.00085394, 0.00712091, -0.00196565, -0.00220551,
    0.00455363,
    /* y w */
    0.00936659, -0.00449850, -0.03640794, -0.00204819, 0.05805703,
    0.02216717, -0.01750811, -0.01440519, -0.01385062, -0.00311751,
    0.00034305, 0.00190221,
    /* y b */
    0.00952934, 0.14259629, -0.20172782, 0.01164948, 0.04831308,
    -0.01036037,
};

/* Where the weights of that model begin: 0.6 sin(1.7 (first + i)). */
static void set_weights(struct ctt_model *m)
{
    int first = 0;

    for (int k = 0; k < m->g->count; k++)
        for (int j = 0; j < m->g->node[k].nw; j++, first += 100) {
            const struct ctt_node *n = &m->g->node[k];

            for (int i = 0; i < ctt_volume(&n->w[j]); i++)
                m->w[n->at[j] + i] = (float)(0.6 * sin(1.7 * (first + i)));
        }
}

static struct ctt_model *model_of(const char *text)
{
    struct ctt_model *m = NULL;
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    set_weights(m);
    return m;
}

static struct ctt_train_cfg next_cfg(void)
{
    struct ctt_train_cfg cfg = clip_cfg();

    cfg.task = CTT_NEXT;
    return cfg;
}

static const char *words_path(const char *text)
{
    static char path[300];
    const char *file = clip_path("sentences.txt");
    FILE *f = fopen(file, "w");

    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
    snprintf(path, sizeof(path), "words:%s", file);
    return path;
}

static struct ctt_data *words_of(const char *text,
                                 const struct ctt_train_cfg *cfg)
{
    const struct ctt_input in = { .d = 1, .h = 1, .w = 1, .c = 1, .scale = 1,
                                  .std = { 1, 1, 1 } };
    struct ctt_data *d = NULL;

    CHECK_OK(ctt_data_open(words_path(text), "train", &in, NULL, 0, cfg, NULL,
                           &d));
    return d;
}

static void check_gradients(const struct ctt_model *m, const float *dw,
                            double by)
{
    int at = 0, bad = 0;

    for (int k = 0; k < m->g->count; k++)
        for (int j = 0; j < m->g->node[k].nw; j++) {
            const struct ctt_node *n = &m->g->node[k];

            for (int i = 0; i < ctt_volume(&n->w[j]); i++)
                bad += !(fabs(dw[n->at[j] + i] * by -
                              torch_gradient[at++]) < 1e-6);
        }
    CU_ASSERT_EQUAL(at, (int)CTT_LEN(torch_gradient));
    CU_ASSERT_EQUAL(bad, 0);
}

/* One batch of all sentences, each of its own length, as PyTorch has them one
 * by one. */
static void check_torch(const char *device, int threads)
{
    struct ctt_train_cfg cfg = next_cfg();
    struct ctt_data *d = words_of(sentences, &cfg);
    struct ctt_model *m = model_of(net);
    const struct ctt_augment none = { 0 };
    struct ctt_recognise_step *s = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_sums sums = { 0 };
    struct ctt_dev *dev = NULL;
    struct ctt_buckets bk;
    struct ctt_batch batch;
    double wait = 0, nats;

    CHECK_OK(ctt_dev_open(device, threads, &dev));
    CHECK_OK(ctt_buckets_find(d, 4, "1", &bk));
    CHECK_OK(ctt_order_new(d, 4, &p));
    ctt_order_make(d, &bk, 1, 1, p);
    CHECK_OK(ctt_recognise_step_open(m->g, m->w, &cfg, dev, 4, d->longest,
                                     &s));
    CHECK_OK(ctt_loader_open(d, 4, d->longest, &l));
    ctt_loader_start(l, p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
    CHECK_OK(ctt_recognise_step_run(s, d, &batch, 1, 2, &sums));
    CU_ASSERT_EQUAL(sums.weight, 18);
    CU_ASSERT_DOUBLE_EQUAL(sums.loss / sums.weight, torch_loss, 1e-6);
    check_gradients(m, s->x->dw, 1);
    ctt_loader_close(&l);
    ctt_recognise_step_close(&s);
    ctt_order_free(&p);
    cfg.device = device;
    CHECK_OK(ctt_evaluate_next(m, &cfg, d, &nats));
    CU_ASSERT_DOUBLE_EQUAL(nats, torch_loss, 1e-6);
    cfg.val_batch = 1;
    cfg.buckets = "3,5";
    CHECK_OK(ctt_evaluate_next(m, &cfg, d, &nats));
    CU_ASSERT_DOUBLE_EQUAL(nats, torch_loss, 1e-6);
    ctt_model_free(&m);
    ctt_data_close(&d);
    ctt_dev_close(&dev);
}

static void loss_and_gradient_are_those_of_pytorch(void)
{
    check_torch("ref", 1);
    check_torch("cpu", 2);
}

/* ---- pieces of long lines ---- */

/* A line in pieces is predicted symbol by symbol all the same, from a state of
 * zeros at each piece's begin. */
static void pieces_have_each_symbol_once(void)
{
    struct ctt_train_cfg cfg = next_cfg();
    struct ctt_data *d;
    int labels;

    cfg.max_frames = 3;
    d = words_of("a b c d e f g\n", &cfg);
    CU_ASSERT_EQUAL(ctt_data_clips(d), 3);
    CU_ASSERT_EQUAL(ctt_data_all_frames(d), 8);    /* and the end */
    CU_ASSERT_STRING_EQUAL(ctt_data_labels(d, &labels)[d->clip[0].label], "c");
    CU_ASSERT_STRING_EQUAL(ctt_data_labels(d, &labels)[d->clip[2].label],
                           "<eos>");
    CU_ASSERT_EQUAL(labels, 9);
    for (int i = 0; i < 3; i++) {    /* of one line: in one fold */
        uint64_t group = ctt_name_group(ctt_data_clip(d, i, &labels));

        CU_ASSERT(group != 0 &&
                  group == ctt_name_group(ctt_data_clip(d, 0, &labels)));
    }
    ctt_data_close(&d);
}

/* ---- counts ---- */

static void counts_are_smoothed(void)
{
    struct ctt_train_cfg cfg = next_cfg();
    struct ctt_data *d = words_of("a b\na c\n", &cfg);
    double nats[CTT_NGRAMS], sum = 0, one, pair;
    int64_t symbols, unknown;

    /* <eos> 2, a 2, b 1, c 1 of 6, of a vocabulary of 5 */
    CHECK_OK(ctt_ngram_scores(d, d, nats, &symbols, &unknown));
    CU_ASSERT(symbols == 6 && unknown == 0);
    one = -(4 * log(3.0 / 11) + 2 * log(2.0 / 11)) / 6;
    CU_ASSERT_DOUBLE_EQUAL(nats[CTT_UNIGRAM], one, 1e-9);
    /* a after <eos> 2 of 2, b and c after a 1 of 2, <eos> after each; five
     * different pairs, of which one ends in a, b, c each and two in <eos> */
    sum += 2 * log((1.25 + 0.75 * 2 / 10) / 2);
    sum += 2 * log((0.25 + 1.5 * 2 / 10) / 2);
    sum += 2 * log(0.25 + 0.75 * 3 / 10);
    pair = -sum / 6;
    CU_ASSERT_DOUBLE_EQUAL(nats[CTT_BIGRAM], pair, 1e-9);
    ctt_data_close(&d);
}

/* ---- what is refused ---- */

static void models_of_clips_are_refused(void)
{
    static const struct { const char *net, *why; } cases[] = {
        { "input x c=1\nembed e in=x vocab=5 out=3\nconv y in=e out=6",
          "e: vocab=5, the text has 6 symbols" },
        { "input x c=1\nembed e in=x vocab=6 out=3\nconv y in=e out=5",
          "the model answers 5 symbols, the text has 6" },
        { "input x c=1\nembed e in=x vocab=6 out=3\nclip\n"
          "window v in=e steps=1\nconv y in=v out=6", "the line 'clip'" },
    };
    struct ctt_train_cfg cfg = next_cfg();
    struct ctt_data *d = words_of(sentences, &cfg);

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_model *m = model_of(cases[i].net);
        double nats;

        CU_ASSERT(ctt_evaluate_next(m, &cfg, d, &nats) < 0);
        CU_ASSERT(strstr(ctt_errmsg(), cases[i].why) != NULL);
        ctt_model_free(&m);
    }
    ctt_data_close(&d);
}

/* ---- training ---- */

/* The weights after three epochs. */
static float *weights_after(int threads, const char *buckets, double *nats)
{
    struct ctt_train_cfg cfg = next_cfg();
    struct ctt_data *d;
    struct ctt_model *m;
    struct ctt_result r;
    float *w;

    cfg.device = "cpu";
    cfg.threads = threads;
    cfg.buckets = buckets;
    cfg.epochs = 60;
    cfg.lr = 0.05f;
    d = words_of("a b a b\na b\nc d c d\nc d\na b a b a b\nc d c d\n",
                 &cfg);
    m = model_of(net);
    CHECK_OK(ctt_train(m, &cfg, d, NULL, NULL, &r));
    CHECK_OK(ctt_evaluate_next(m, &cfg, d, nats));
    w = ctt_calloc((size_t)m->g->weights, sizeof(*w));
    CU_ASSERT_FATAL(w != NULL);
    memcpy(w, m->w, (size_t)m->g->weights * sizeof(*w));
    ctt_model_free(&m);
    ctt_data_close(&d);
    return w;
}

static void threads_do_not_matter(void)
{
    double one, two, three;
    struct ctt_model *m = model_of(net);
    size_t size = (size_t)m->g->weights * sizeof(float);
    float *a = weights_after(1, "auto", &one);
    float *b = weights_after(2, "auto", &two);
    float *c = weights_after(2, "3,4,9", &three);

    CU_ASSERT(memcmp(a, b, size) == 0);
    CU_ASSERT(memcmp(a, c, size) != 0);    /* other batches */
    CU_ASSERT(one < 0.7 && three < 0.7);   /* pairs are learned: log 6 is 1.8 */
    ctt_free(a);
    ctt_free(b);
    ctt_free(c);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "loss and gradient are those of PyTorch",
          loss_and_gradient_are_those_of_pytorch },
        { "pieces have each symbol once", pieces_have_each_symbol_once },
        { "counts are smoothed", counts_are_smoothed },
        { "models of clips are refused", models_of_clips_are_refused },
        { "threads do not matter", threads_do_not_matter },
        CU_TEST_INFO_NULL
    };

    return clips_main("next", clips_clean, tests);
}
