/* SPDX-License-Identifier: Apache-2.0
 * train_result.c: tests of the trained model at the end of a training. */
#include "tools/train/train_tool.h"
#include "comm/comm.h"
#include "base/limits.h"
#include "base/statistics/statistics.h"
#include "tools/shared/training.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <stdio.h>

enum { SCORE = 96 };    /* bytes of a validation score in words */

static int tell_accuracy(const struct ctt_train_cfg *cfg,
                         const struct ctt_model *model,
                         struct ctt_training *j, char score[SCORE],
                         struct ctt_metrics **scores)
{
    char range[32];
    double top1;
    struct ctt_metrics *m = NULL;
    struct ctt_point p[CTT_MAX_POINTS];
    int n, rc = 0;

    CTT_TRY(ctt_points_parse("1f,0.1,0.2,0.25,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1",
                             p, &n));
    CTT_TRY((cfg->report_html || cfg->log_tensorboard ? ctt_answer_recognise
                                                      : ctt_evaluate_recognise)
            (model, cfg, j->val, p, n, &m));
    CTT_TRY(ctt_say_metrics(m, model->label));
    top1 = ctt_metrics_top1(m, n - 1);
    if (m->several)
        snprintf(score, SCORE, "mAP %.1f%%, top-1 %.1f%% of %lld validation "
                 "clips", 100 * m->map[n - 1], 100 * top1,
                 (long long)m->clips);
    else
        snprintf(score, SCORE, "top-1 %.1f%% (%s) of %lld validation clips",
                 100 * top1, ctt_wilson_text(top1, m->clips, range,
                                             sizeof(range)),
                 (long long)m->clips);
    *scores = m;
    m = NULL;
out:
    ctt_metrics_free(&m);
    return rc;
}

static int tell_scores(const struct ctt_train_cfg *cfg,
                       const struct ctt_model *m, struct ctt_training *j,
                       char score[SCORE], struct ctt_metrics **scores)
{
    struct ctt_predict_scores *f = NULL;
    int rc = 0;

    *scores = NULL;
    CTT_TRY(ctt_evaluate_predict(m, cfg, j->val, &f));
    CTT_TRY(ctt_say_scores(f));
    snprintf(score, SCORE, "MSE %.2fe-3 of %lld validation sequences",
             1e3 * ctt_predict_scores_at(f, CTT_BY_MODEL, 0).mse,
             (long long)f->sequences);
out:
    ctt_predict_scores_free(&f);
    return rc;
}

/* In nats: a gain over counts that says nothing. */
#define NO_GAIN 0.01

/* The validation text by counts of the training text and by the model. */
static int tell_perplexity(const struct ctt_train_cfg *cfg,
                           const struct ctt_model *m, struct ctt_training *j,
                           char score[SCORE], struct ctt_metrics **scores)
{
    static const char *const names[CTT_NGRAMS + 1] = {
        [CTT_UNIGRAM] = "counts of symbols",
        [CTT_BIGRAM] = "counts of pairs (Kneser-Ney)",
        [CTT_NGRAMS] = "the model",
    };
    struct ctt_table t = { NULL, 0, 0, 0 };
    double nats[CTT_NGRAMS + 1];
    int64_t symbols, unknown;
    int rc;

    *scores = NULL;
    CTT_TRY(ctt_ngram_scores(j->data, j->val, nats, &symbols, &unknown));
    CTT_TRY(ctt_evaluate_next(m, cfg, j->val, &nats[CTT_NGRAMS]));
    ctt_table_row(&t, "next symbol by\tperplexity\tloss\tbits per symbol");
    for (int k = 0; k <= CTT_NGRAMS; k++)
        ctt_table_row(&t, "%s\t%.2f\t%.4f\t%.3f", names[k], exp(nats[k]),
                      nats[k], nats[k] / log(2));
    CTT_TRY(ctt_table_print(&t));
    if (nats[CTT_NGRAMS] > nats[CTT_UNIGRAM] - NO_GAIN)
        ctt_tool_warn("the model tells the next symbol no better than counts "
                      "of symbols do: a higher --lr, a smaller --batch or more "
                      "--epochs may help");
    snprintf(score, SCORE, "perplexity %.2f of %lld validation symbols, %.1f%% "
             "of them <unk>", exp(nats[CTT_NGRAMS]), (long long)symbols,
             100 * (double)unknown / (double)symbols);
out:
    return rc;
}

static int (*const tell_of[])(const struct ctt_train_cfg *cfg,
                              const struct ctt_model *m,
                              struct ctt_training *j, char score[SCORE],
                              struct ctt_metrics **scores) = {
    [CTT_RECOGNISE] = tell_accuracy, [CTT_PREDICT] = tell_scores,
    [CTT_BOTH] = tell_accuracy, [CTT_NEXT] = tell_perplexity,
};

/* The role of validation for the model, in words. */
static const char *choice(const struct ctt_train_cfg *cfg)
{
    if (ctt_val_chose(cfg))
        return "they chose the epoch, so their figures flatter it";
    return cfg->backbone
           ? "they chose nothing, as the head is fitted to training clips "
             "alone, so their figures do not flatter it"
           : "they chose nothing, as the weights are the last epoch's, so "
             "their figures do not flatter it";
}

/* The role of the held-out clips, in words; opened: the result of opening split
 * test, if they are missing; shared: of them are training clips. */
static const char *proof(const struct ctt_train_cfg *cfg,
                         const struct ctt_data *test, int opened, int shared)
{
    static const char *const words[2][2] = {
        { "those of split 'test' do not", "nor do those of split 'test'" },
        { "those of --test do not", "nor do those of --test" },
    };

    if (test && shared)
        return "some test clips are training clips, so those of the test "
               "flatter it";
    return test ? words[cfg->test != NULL][!ctt_val_chose(cfg)]
                : cfg->task == CTT_NEXT ? "there is no test text (--test FILE)"
                : ctt_held_out_missing(opened);
}

/* Ranks share the tests, so all have the same clips or none. */
static int agree(const struct ctt_train_cfg *cfg, const struct ctt_data *test)
{
    static const char *const name = "test clips";
    uint32_t mine = test ? ctt_data_crc(test) : 0;

    return ctt_comm_same(cfg->wiring.comm, &mine, &name, 1);
}

/* Answers without a network, on the held-out clips or else on those of
 * validation, of which the model has these scores; and the page. */
static int tell_baselines(const struct ctt_train_cfg *cfg,
                          struct ctt_training *j, struct ctt_data *test,
                          const struct ctt_metrics *on_test,
                          const struct ctt_metrics *on_val)
{
    struct ctt_train_page *page = &j->page;
    char split[32];
    int rc = 0;

    page->on_val = on_val;
    page->on_test = on_test;
    page->set = on_test ? ctt_held_out_name(cfg, split, sizeof(split))
                        : "validation clips";
    if (on_test || on_val)
        CTT_TRY(ctt_train_baselines(cfg, j->data, on_test ? test : j->val,
                                    on_test ? on_test : on_val, page));
    if (ctt_ranks_writes(cfg)) {
        ctt_train_page_write(page);
        CTT_TRY(ctt_train_board_clips(j));
    }
out:
    page->on_val = page->on_test = NULL;
    return rc;
}

int ctt_train_result(const struct ctt_train_cfg *cfg, const struct ctt_model *m,
                     struct ctt_training *j)
{
    struct ctt_data *test = j->test, *own = NULL, *val = j->val;
    struct ctt_metrics *on_val = NULL, *on_test = NULL;
    char score[SCORE] = "";
    const char *in_test, *in_train;
    int rc = 0, opened = 0, shared = 0;

    ctt_stop_set(NULL);    /* the model is written */
    j->page.label = m->label;    /* the model of the start may be gone */
    if (val)
        CTT_TRY(tell_of[cfg->task](cfg, m, j, score, &on_val));
    if (!test) {
        opened = ctt_held_out_open(cfg, m, ctt_all_clips(j->whole, j->data),
                                   val, &own);
        CTT_TRY(ctt_is_lack(opened) ? opened : 0);
        test = own;
    }
    CTT_TRY(agree(cfg, test));
    if (test)
        CTT_TRY(ctt_held_out_say(cfg, m, cfg->out, test, &on_test));
    CTT_TRY(tell_baselines(cfg, j, test, on_test, on_val));
    if (test && j->data)
        CTT_TRY(shared = ctt_data_shared(j->data, test, &in_train, &in_test));
    if (val)
        ctt_tool_say("%s written: %s; %s; %s", cfg->out, score, choice(cfg),
                     proof(cfg, test, opened, shared));
    else
        ctt_tool_say("%s written%s%s", cfg->out, test ? "" : "; nothing has "
                     "measured how often it is right: ",
                     test ? "" : ctt_held_out_missing(opened));
out:
    ctt_metrics_free(&on_val);
    ctt_metrics_free(&on_test);
    ctt_data_close(&own);
    return rc;
}
