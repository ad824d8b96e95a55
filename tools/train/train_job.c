/* SPDX-License-Identifier: Apache-2.0
 * train_job.c: opens the model, clips and outputs of a run of convtt-train. */
#include "tools/train/train_tool.h"
#include "net/rewrite/aux_head.h"
#include "net/file/decision.h"
#include "net/init.h"
#include "net/kind.h"
#include "tools/profile/profile.h"
#include "exchange/board.h"
#include "tools/report/page.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct ctt_output_kind csv_kind = {
    .name = "log of convtt-train as CSV", .begin = CTT_LOG_CSV_BEGIN,
    .in_place = 1 };
static const struct ctt_output_kind json_kind = {
    .name = "log of convtt-train as JSON", .begin = CTT_LOG_JSON_BEGIN,
    .in_place = 1 };

void ctt_training_close(struct ctt_training *j)
{
    ctt_train_page_free(&j->page);
    ctt_train_board_close(j);
    ctt_data_close(&j->test);
    if (j->whole) {
        ctt_fold_close(&j->val);
        ctt_fold_close(&j->data);
    }
    ctt_data_close(&j->val);
    ctt_data_close(&j->data);
    ctt_data_close(&j->whole);
    ctt_model_free(&j->m);
    ctt_teachers_free(&j->teachers);
    ctt_graph_free(&j->g);
    for (size_t i = 0; i < CTT_LEN(j->claim); i++)
        ctt_newfile_drop(&j->claim[i]);
}

static const struct ctt_graph *graph_of(const struct ctt_training *j)
{
    return j->m ? j->m->g : j->g;
}

/* The input line of the model. */
static void training_input(const struct ctt_training *j, struct ctt_input *in)
{
    const struct ctt_graph *g = graph_of(j);

    *in = g->node[ctt_graph_input(g)].attr.input;
}

/* Differences between tasks. */
struct task {
    int  labels;    /* the model has classes */
    void (*data)(const char *what, const struct ctt_data *d);
};

static const char *skipped(const struct ctt_data *d, char *buf, size_t size)
{
    buf[0] = '\0';
    if (ctt_data_skipped(d))
        snprintf(buf, size, ", %d bad clips skipped", ctt_data_skipped(d));
    return buf;
}

static void tell_classes(const char *what, const struct ctt_data *d)
{
    char bad[48];
    int labels;

    ctt_data_labels(d, &labels);
    ctt_tool_say("%s: %d clips of %d classes%s%s", what, ctt_data_clips(d),
                 labels, ctt_data_several(d) ? ", several labels per clip" : "",
                 skipped(d, bad, sizeof(bad)));
}

static void tell_sequences(const char *what, const struct ctt_data *d)
{
    char bad[48];

    ctt_tool_say("%s: %d sequence%s%s", what, ctt_data_clips(d),
                 ctt_s(ctt_data_clips(d)), skipped(d, bad, sizeof(bad)));
}

static void tell_sentences(const char *what, const struct ctt_data *d)
{
    char bad[48];
    int labels;

    ctt_data_labels(d, &labels);
    ctt_tool_say("%s: %d %s%s, %lld symbols of a vocabulary of %d%s",
                 what, ctt_data_clips(d), ctt_data_is_one(d)
                 ? "window" : "line", ctt_s(ctt_data_clips(d)),
                 (long long)ctt_data_all_frames(d), labels,
                 skipped(d, bad, sizeof(bad)));
}

static const struct task tasks[] = {
    [CTT_RECOGNISE] = { 1, tell_classes },
    [CTT_PREDICT] = { 0, tell_sequences },
    [CTT_BOTH] = { 1, tell_classes },
    [CTT_NEXT] = { 1, tell_sentences },
};

static const struct task *task_of(const struct ctt_training *j)
{
    return &tasks[j->cfg.task];
}

int ctt_training_data(struct ctt_training *j, const char *path,
                      const char *split, struct ctt_data **out)
{
    struct ctt_input in;
    char *const *known = NULL;
    int labels = 0, rc;

    if (j->m && j->m->labels) {
        known = j->m->label;
        labels = j->m->labels;
    } else if (j->data && task_of(j)->labels)
        known = ctt_data_labels(j->data, &labels);
    training_input(j, &in);
    rc = ctt_data_open(path, split, &in, known, labels, &j->cfg,
                       &ctt_say_events, out);
    if (rc < 0)
        j->status = ctt_tool_status(rc);
    return rc;
}

void ctt_training_tell(const struct ctt_training *j, const char *what,
                       const struct ctt_data *d)
{
    task_of(j)->data(what, d);
}

/* Opens the validation clips: --val, --val-split of the data, or of data
 * without splits a fifth. */
static int open_val(struct ctt_training *j)
{
    const char *path = j->cfg.val ? j->cfg.val : j->cfg.data;
    struct ctt_input in;
    int rc = 0;

    if (strcmp(path, "none") == 0)
        goto out;
    training_input(j, &in);
    if (!j->cfg.val)
        CTT_TRY(ctt_hold_out(&j->cfg, &in, &j->data, &j->val, &j->whole));
    if (rc > 0 || j->cfg.val)
        CTT_TRY(ctt_training_data(j, path, j->cfg.val_split, &j->val));
out:
    return rc;
}

static int tell_val(const struct ctt_training *j)
{
    int rc = 0;

    ctt_tool_warned();
    if (!j->val)
        goto out;
    CTT_CHECK(j->cfg.doctor || !ctt_data_same(j->data, j->val), CTT_EINVAL,
              "%s: --val has the same clips as the training data",
              j->cfg.val ? j->cfg.val : j->cfg.data);
    CTT_TRY(ctt_check_several(j->m->g, ctt_data_several(j->val),
                              j->cfg.val ? j->cfg.val : j->cfg.data,
                              j->cfg.val ? NULL : j->cfg.val_split));
    ctt_training_tell(j, "validation", j->val);
    CTT_TRY(ctt_say_set("validation", j->val));
    CTT_TRY(ctt_say_shared("validation", j->val, "training", j->data));
out:
    return rc;
}

/* Opens the clips of --test before the training, which would be in vain if they
 * cannot be read, and checks that they are others; or checks the labels of
 * split test. */
static int open_test(struct ctt_training *j)
{
    const struct { const char *name; const struct ctt_data *d; } used[] = {
        { "training", j->data }, { "validation", j->val },
    };
    int rc = 0;

    if (!j->cfg.test) {
        CTT_TRY(ctt_held_out_check(&j->cfg, j->m, j->data, NULL));
        goto out;
    }
    CTT_TRY(ctt_training_data(j, j->cfg.test, "test", &j->test));
    CTT_TRY(ctt_held_out_check(&j->cfg, j->m, j->data, j->test));
    ctt_tool_warned();
    ctt_training_tell(j, "test", j->test);
    CTT_TRY(ctt_say_set("test", j->test));
    for (size_t i = 0; i < CTT_LEN(used) && used[i].d; i++) {
        CTT_CHECK(!ctt_data_same(used[i].d, j->test), CTT_EINVAL, "%s: --test "
                  "has the same clips as the %s data", j->cfg.test,
                  used[i].name);
        CTT_TRY(ctt_say_shared("test", j->test, used[i].name, used[i].d));
    }
out:
    return rc;
}

/* Reads the model text; only --task both trains the line `ahead`. */
static int read_model_text(const struct ctt_training *j, struct ctt_graph **out)
{
    struct ctt_graph *g = NULL;
    int rc;

    if (j->cfg.backbone)
        return ctt_backbone_graph(&j->cfg, j->text, out);
    CTT_TRY(ctt_tool_net_set(j->text, j->cfg.set, &g));
    if (j->cfg.task != CTT_BOTH && ctt_graph_ahead(g) >= 0) {
        CTT_TRY(ctt_aux_head_drop(g, out));
        goto out;
    }
    *out = g;
    g = NULL;
out:
    ctt_graph_free(&g);
    return rc;
}

/* The text must be that of the checkpoint's model, which has the numbers of the
 * text's mean=auto and std=auto. */
static int same_model(struct ctt_training *j)
{
    const struct ctt_input *in;
    struct ctt_graph *g = NULL;
    char *ours = NULL, *theirs = NULL;
    int rc = 0;

    CTT_TRY(read_model_text(j, &g));
    in = &j->m->g->node[ctt_graph_input(j->m->g)].attr.input;
    ctt_graph_set_light(g, in->mean, in->std);
    g->several |= j->m->g->several;
    if (task_of(j)->labels)
        CTT_TRY(ctt_fit_classes(&g, j->m->labels, j->cfg.task == CTT_NEXT));
    ours = ctt_net_print(g);
    theirs = ctt_net_print(j->m->g);
    CTT_TRY(ours && theirs ? 0 : CTT_ENOMEM);
    CTT_CHECK(strcmp(ours, theirs) == 0, CTT_EINVAL,
              "%s: the checkpoint is of another model than %s",
              j->cfg.checkpoint, j->text);
out:
    ctt_graph_free(&g);
    ctt_free(ours);
    ctt_free(theirs);
    return rc;
}

/* Where the checkpoint cannot go on as the command line says. */
static int resume_suits(struct ctt_training *j)
{
    int rc = 0;

    if (j->text)
        CTT_TRY(same_model(j));
    rc = ctt_checkpoint_suits(j->m, &j->cfg);
    if (rc < 0)
        j->status = ctt_tool_status(rc);
out:
    return rc;
}

static void tell_length(const struct ctt_training *j)
{
    char was[128];

    if (*ctt_resume_length(j->m, &j->cfg, was, sizeof(was)))
        ctt_tool_warn("%s: the run so far had%s; from here on the learning "
                      "rate falls as for the new length, so the model will be "
                      "that of neither run", j->cfg.checkpoint, was);
}

/* A node of --nodes or a name of --set that is not there is wrong usage, a text
 * that is wrong is not. */
static int read_text(struct ctt_training *j)
{
    int rc = read_model_text(j, &j->g);

    if (rc < 0 && (j->cfg.backbone || j->cfg.set))
        j->status = ctt_tool_status(rc);
    return rc;
}

/* Errors that clips and an own vocabulary would meet late, or never. */
static int check_text(struct ctt_training *j)
{
    const struct ctt_graph *g = graph_of(j);
    const struct ctt_opt *vocab = &ctt_train_opts[ctt_opt_find(ctt_train_opts,
                                                               "vocab")];
    int rc = 0;

    j->status = CTT_EXIT_USAGE;
    CTT_CHECK(j->cfg.task == CTT_NEXT || !ctt_graph_reads_symbols(g),
              CTT_EINVAL, "%s: a model of text (it has the line embed): pass "
              "--task next, and --data text:FILE or words:FILE",
              j->text ? j->text : j->cfg.init
              ? j->cfg.init : "this model");
    CTT_CHECK(j->text || j->cfg.resume || ctt_opt_is_default(vocab, &j->cfg),
              CTT_EINVAL, "--vocab: %s has a vocabulary, which --init takes "
              "over without a model text", j->cfg.init);
    j->status = CTT_EXIT_FAIL;
out:
    return rc;
}

int ctt_training_start(struct ctt_training *j)
{
    int rc = 0;

    CTT_CHECK(!j->cfg.resume || access(j->cfg.checkpoint, F_OK) == 0 ||
              errno != ENOENT, CTT_EIO,
              "%s: no checkpoint is there, as none was written yet or the "
              "training has ended; start without --resume", j->cfg.checkpoint);
    if (j->cfg.resume)
        CTT_TRY(ctt_model_load(j->cfg.checkpoint, 1, &j->m));
    else if (j->text)
        CTT_TRY(read_text(j));
    else
        CTT_TRY(ctt_model_load_finite(j->cfg.init, &j->m));
    if (j->m)
        ctt_decision_drop(j->m);
    if (!j->cfg.resume && !j->text && j->cfg.task != CTT_BOTH)
        CTT_TRY(ctt_aux_head_drop_from(&j->m));
    CTT_TRY(check_text(j));
    CTT_CHECK(!j->cfg.resume || j->m->train, CTT_EFORMAT,
              "%s: a model without a training state, no checkpoint",
              j->cfg.checkpoint);
    if (j->cfg.resume)
        CTT_TRY(resume_suits(j));
    CTT_TRY(ctt_teachers_load(j->cfg.teacher, &j->teachers));
    j->cfg.wiring.teachers = j->teachers.list[0] ? j->teachers.list : NULL;
out:
    return rc;
}

int ctt_training_types(struct ctt_training *j, struct ctt_graph **g,
                       struct ctt_amp_plan **p)
{
    int rc;

    CTT_TRY(ctt_train_suits(graph_of(j), &j->cfg));
    j->status = CTT_EXIT_USAGE;
    CTT_TRY(ctt_train_plan(graph_of(j), &j->cfg, g, p));
    j->status = CTT_EXIT_FAIL;
out:
    return rc;
}

int ctt_training_check(struct ctt_training *j)
{
    struct ctt_amp_plan *p = NULL;
    struct ctt_graph *g = NULL;
    int rc;

    CTT_TRY(ctt_training_types(j, &g, &p));
    j->status = CTT_EXIT_USAGE;
    CTT_TRY(ctt_train_layers(graph_of(j), &j->cfg));
    j->status = CTT_EXIT_FAIL;
    CTT_TRY(ctt_train_device(&j->cfg));
out:
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    return rc;
}

int ctt_training_model(struct ctt_training *j)
{
    char *const *labels = NULL;
    struct ctt_graph *g;
    int count = 0, rc = 0;

    if (!j->cfg.resume)    /* the data decides */
        (j->m ? j->m->g : j->g)->several |= ctt_data_several(j->data);
    if (j->m)
        goto out;
    CTT_TRY(ctt_data_measure(j->data, j->g, &ctt_say_events));
    if (task_of(j)->labels) {
        labels = ctt_data_labels(j->data, &count);
        CTT_TRY(ctt_fit_classes(&j->g, count, j->cfg.task == CTT_NEXT));
    }
    g = j->g;
    j->g = NULL;
    CTT_TRY(ctt_tool_new_model(j->text, g, &j->m));
    if (labels)
        CTT_TRY(ctt_model_labels(j->m, labels, count));
    ctt_init_weights(j->m, (uint64_t)j->cfg.seed);
    if (j->cfg.init)
        CTT_TRY(ctt_take_weights(j->m, j->cfg.init));
    if (j->cfg.backbone && !ctt_tool_is_net(j->text))
        CTT_TRY(ctt_take_weights(j->m, j->text));
out:
    return rc;
}

/* Prints the size of the model. */
static void tell_model(const struct ctt_training *j)
{
    const struct ctt_graph *g = j->m->g;
    double step, clip;
    char a[32], b[32], c[32], answer[64] = "";

    ctt_graph_macs(g, &step, &clip);
    if (g->clip < g->count)
        snprintf(answer, sizeof(answer), ", %s per answer",
                 ctt_tool_count(clip, c, sizeof(c)));
    ctt_tool_say("model: %s parameters, %s multiplications per %s%s",
                 ctt_tool_count((double)ctt_model_params(j->m), a, sizeof(a)),
                 ctt_tool_count(step, b, sizeof(b)), ctt_word_frame(&j->cfg),
                 answer);
}

int ctt_training_claim(struct ctt_training *j)
{
    const struct ctt_train_cfg *c = &j->cfg;
    int rc;

    CTT_TRY(ctt_newfile_claim(c->out, &j->claim[0]));
    if (c->checkpoint)
        CTT_TRY(ctt_newfile_claim(c->checkpoint, &j->claim[1]));
    CTT_TRY(ctt_output_check(c->out, &ctt_output_model));
    if (!c->resume)
        ctt_output_say_replaced(c->out);
    if (c->checkpoint)
        CTT_TRY(ctt_output_check_checkpoint(c->checkpoint, c->resume));
    CTT_TRY(ctt_output_check(c->log_csv, &csv_kind));
    CTT_TRY(ctt_output_check(c->log_json, &json_kind));
    CTT_TRY(ctt_output_check(c->report_html, &ctt_output_page));
    CTT_TRY(ctt_profile_check(c->profile));
    if (c->log_tensorboard)
        CTT_TRY(ctt_board_folder(c->log_tensorboard));
out:
    return rc;
}

/* A set whose clips are read after those of --data, by a path and no form of
 * one, is missed before. */
static int is_there(const char *set)
{
    int rc = 0;

    CTT_CHECK(!set || strpbrk(set, ":#%") || access(set, F_OK) == 0, CTT_EIO,
              "%s: no such file or folder", set);
out:
    return rc;
}

static int open_sets(struct ctt_training *j)
{
    int rc;

    CTT_TRY(is_there(j->cfg.test));
    CTT_TRY(ctt_training_data(j, j->cfg.data, j->cfg.split, &j->data));
    CTT_TRY(open_val(j));
    CTT_TRY(ctt_training_model(j));
    ctt_tool_warned();
    ctt_training_tell(j, "training", j->data);
    CTT_TRY(ctt_say_set("training", j->data));
    CTT_TRY(ctt_say_classes(j->data, &j->cfg));
    j->page = (struct ctt_train_page){ .cfg = &j->cfg, .text = j->text,
        .data = j->data, .val = j->val, .label = j->m->label };
    CTT_TRY(tell_val(j));
    CTT_TRY(open_test(j));
out:
    return rc;
}

int ctt_training_begin(struct ctt_training *j)
{
    int rc;

    CTT_TRY(ctt_training_check(j));
    rc = open_sets(j);
    if (rc < 0)
        j->status = ctt_tool_status(rc);
    CTT_TRY(rc);
    if (j->cfg.resume)
        tell_length(j);
    tell_model(j);
out:
    return rc;
}

