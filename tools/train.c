/* SPDX-License-Identifier: Apache-2.0
 * train.c: convtt-train: trains a model on clips. */
#include "libtrain/train.h"
#include "net/init.h"
#include "net/limits.h"
#include "net/newfile.h"
#include "tools/files.h"
#include "tools/teachers.h"
#include "tools/tool.h"
#include "tools/train_doctor.h"
#include "tools/train_folds.h"
#include "tools/train_model.h"
#include "tools/train_opt.h"
#include "tools/train_result.h"
#include "tools/train_say.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct job {
    struct ctt_train_cfg cfg;
    const char       *text;         /* path of the model text, or NULL */
    char              ckpt[4096];
    int               own_ckpt;     /* not named by --checkpoint */
    struct ctt_graph *g;            /* of the text, until m is created */
    struct ctt_model *m;
    struct ctt_teachers teachers;
    struct ctt_data  *data, *val;
    struct ctt_newfile *claim[2];   /* on the model and the checkpoint */
    int               status;       /* of the program if it fails now */
};

static void close_job(struct job *j)
{
    ctt_data_close(&j->val);
    ctt_data_close(&j->data);
    ctt_model_free(&j->m);
    ctt_teachers_free(&j->teachers);
    ctt_graph_free(&j->g);
    for (size_t i = 0; i < CTT_LEN(j->claim); i++)
        ctt_newfile_drop(&j->claim[i]);
}

static const struct ctt_graph *graph_of(const struct job *j)
{
    return j->m ? j->m->g : j->g;
}

static void input_of(const struct job *j, struct ctt_input *in)
{
    const struct ctt_graph *g = graph_of(j);

    *in = g->node[ctt_graph_input(g)].attr.input;
}

static int open_data(struct job *j, const char *path, const char *split,
                     struct ctt_data **out)
{
    struct ctt_input in;
    char *const *known = j->m && j->m->labels ? j->m->label : NULL;

    input_of(j, &in);
    return ctt_data_open(path, split, &in, known, known ? j->m->labels : 0,
                         &j->cfg, &ctt_say_events, out);
}

/* What differs between tasks. */
struct task {
    int  labels;    /* the model has classes */
    void (*data)(const char *what, const struct ctt_data *d);
};

static const struct task *task_of(const struct job *j);

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
    ctt_tool_say("%s: %d clips of %d classes%s", what, ctt_data_clips(d),
                 labels, skipped(d, bad, sizeof(bad)));
}

static void tell_sequences(const char *what, const struct ctt_data *d)
{
    char bad[48];

    ctt_tool_say("%s: %d sequences%s", what, ctt_data_clips(d),
                 skipped(d, bad, sizeof(bad)));
}

/* Opens the validation clips: --val, or --val-split of the data, which may be
 * missing unless it was named; data that cannot be read is an error.  A list
 * without splits is the same for every split. */
static int open_val(struct job *j)
{
    const char *path = j->cfg.val ? j->cfg.val : j->cfg.data;
    int named = strcmp(j->cfg.val_split, "validation") != 0;
    int rc = open_data(j, path, j->cfg.val_split, &j->val);

    if (rc != CTT_EINVAL || j->cfg.val || named)
        CTT_TRY(rc);
    if (rc < 0) {
        rc = 0;
        ctt_tool_say("no validation clips: %s", ctt_errmsg());
    } else if (!j->cfg.val && ctt_data_same(j->data, j->val)) {
        CTT_CHECK(!named, CTT_EINVAL, "%s: --val-split=%s has the same clips "
                  "as the split to train on", path, j->cfg.val_split);
        ctt_data_close(&j->val);
        ctt_tool_say("no validation clips: %s has no split '%s'", j->cfg.data,
                     j->cfg.val_split);
    }
    ctt_tool_warned();
    if (!j->val)
        goto out;
    task_of(j)->data("validation", j->val);
    CTT_TRY(ctt_say_set("validation", j->val));
    CTT_TRY(ctt_say_shared(j->data, j->val));
out:
    return rc;
}

/* The text must be that of the checkpoint's model, which has the numbers of the
 * text's mean=auto and std=auto. */
static int same_model(struct job *j)
{
    const struct ctt_input *in;
    struct ctt_graph *g = NULL;
    char *ours = NULL, *theirs = NULL;
    int rc = 0;

    CTT_TRY(ctt_tool_net(j->text, &g));
    in = &j->m->g->node[ctt_graph_input(j->m->g)].attr.input;
    ctt_graph_set_light(g, in->mean, in->std);
    if (task_of(j)->labels)
        CTT_TRY(ctt_fit_classes(&g, j->m->labels));
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

/* Loads the checkpoint, the model text, or the model of --init. */
static int open_start(struct job *j)
{
    int rc = 0;

    if (j->cfg.resume)
        CTT_TRY(ctt_model_load(j->cfg.checkpoint, 1, &j->m));
    else if (j->text)
        CTT_TRY(ctt_tool_net(j->text, &j->g));
    else
        CTT_TRY(ctt_model_load(j->cfg.init, 0, &j->m));
    CTT_CHECK(!j->cfg.resume || j->m->train, CTT_EFORMAT,
              "%s: a model without a training state, no checkpoint",
              j->cfg.checkpoint);
    if (j->cfg.resume && j->text)
        CTT_TRY(same_model(j));
    CTT_TRY(ctt_teachers_load(j->cfg.teacher, &j->teachers));
    j->cfg.taught_by = j->teachers.list[0] ? j->teachers.list : NULL;
out:
    return rc;
}

/* The types of values; a wrong word of --amp-allow or --amp-deny is wrong
 * usage. */
static int plan_types(struct job *j, struct ctt_graph **g,
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

/* Whatever is wrong without the clips is told before they are read. */
static int check_start(struct job *j)
{
    struct ctt_amp_plan *p = NULL;
    struct ctt_graph *g = NULL;
    int rc;

    CTT_TRY(plan_types(j, &g, &p));
    j->status = CTT_EXIT_USAGE;
    CTT_TRY(ctt_train_layers(graph_of(j), &j->cfg));
    j->status = CTT_EXIT_FAIL;
    CTT_TRY(ctt_train_device(&j->cfg));
out:
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    return rc;
}

/* Creates the model of the text, with the classes of the data if it has any. */
static int make_model(struct job *j)
{
    char *const *labels = NULL;
    struct ctt_graph *g;
    int count = 0, rc = 0;

    if (j->m)
        goto out;
    CTT_TRY(ctt_data_measure(j->data, j->g, &ctt_say_events));
    if (task_of(j)->labels) {
        labels = ctt_data_labels(j->data, &count);
        CTT_TRY(ctt_fit_classes(&j->g, count));
    }
    g = j->g;
    j->g = NULL;
    CTT_TRY(ctt_model_new(g, &j->m));
    if (labels)
        CTT_TRY(ctt_model_labels(j->m, labels, count));
    ctt_init_weights(j->m, (uint64_t)j->cfg.seed);
    if (j->cfg.init)
        CTT_TRY(ctt_take_weights(j->m, j->cfg.init));
out:
    return rc;
}

/* Prints the size of the model. */
static void tell_model(const struct job *j)
{
    const struct ctt_graph *g = j->m->g;
    double step = 0, clip = 0;
    char a[32], b[32], c[32], answer[64] = "";

    for (int i = 0; i < g->count; i++)
        *(i < g->clip ? &step : &clip) += (double)ctt_node_macs(g, i);
    if (g->clip < g->count)
        snprintf(answer, sizeof(answer), ", %s per answer",
                 ctt_tool_count(clip, c, sizeof(c)));
    ctt_tool_say("model: %s parameters, %s multiplications per frame%s",
                 ctt_tool_count((double)ctt_model_params(j->m), a, sizeof(a)),
                 ctt_tool_count(step, b, sizeof(b)), answer);
}

static const struct task tasks[] = {
    [CTT_RECOGNISE] = { 1, tell_classes },
    [CTT_PREDICT] = { 0, tell_sequences },
};

static const struct task *task_of(const struct job *j)
{
    return &tasks[j->cfg.task];
}

static int check_outputs(struct job *j)
{
    const struct ctt_train_cfg *c = &j->cfg;
    int rc;

    CTT_TRY(ctt_newfile_claim(c->out, &j->claim[0]));
    CTT_TRY(ctt_newfile_claim(c->checkpoint, &j->claim[1]));
    CTT_TRY(ctt_tool_can_replace(c->out, CTT_TOOL_MODEL));
    CTT_TRY(ctt_tool_can_checkpoint(c->checkpoint, c->resume));
    if (c->log_csv)
        CTT_TRY(ctt_tool_can_append(c->log_csv, CTT_TOOL_LOG_CSV));
    if (c->log_json)
        CTT_TRY(ctt_tool_can_append(c->log_json, CTT_TOOL_LOG_JSON));
out:
    return rc;
}

/* After the start is open: the model and the clips of a run. */
static int begin(struct job *j)
{
    int rc;

    CTT_TRY(check_start(j));
    CTT_TRY(open_data(j, j->cfg.data, j->cfg.split, &j->data));
    CTT_TRY(make_model(j));
    ctt_tool_warned();
    task_of(j)->data("training", j->data);
    CTT_TRY(ctt_say_set("training", j->data));
    CTT_TRY(open_val(j));
    tell_model(j);
out:
    return rc;
}

/* --doctor: nothing is trained; status 3 if something looks wrong. */
static int examine(struct job *j, int *status)
{
    struct ctt_input in;
    int rc;

    CTT_TRY(open_start(j));
    input_of(j, &in);
    CTT_TRY(ctt_doctor_check(&j->cfg, &in));
    CTT_TRY(begin(j));
    CTT_TRY(ctt_doctor_table(j->m, &j->cfg, j->data, j->val));
    *status = rc ? CTT_EXIT_DOUBT : 0;
out:
    return rc;
}

static int train(struct job *j, int *status)
{
    struct ctt_result r;
    char scale[96];
    int rc = 0;

    CTT_TRY(check_outputs(j));
    CTT_TRY(open_start(j));
    CTT_TRY(begin(j));
    if (!j->cfg.resume)    /* the model text is decided */
        CTT_TRY(ctt_doctor_glance(j->m, &j->cfg, j->data, j->val));
    CTT_TRY(ctt_train(j->m, &j->cfg, j->data, j->val, &ctt_say_events, &r));
    if (r.stopped) {
        *status = CTT_EXIT_FAIL;
        ctt_tool_say("stopped after step %lld; --resume continues from %s",
                     (long long)r.steps, j->cfg.checkpoint);
        goto out;
    }
    ctt_tool_say("%lld steps in %.0f s: %.1f clips/s, %.1f%% of the time "
                 "waiting for clips%s%s", (long long)r.steps, r.seconds,
                 r.clips_a_second, 100 * r.wait, j->cfg.amp ? "; " : "",
                 j->cfg.amp ? ctt_say_scale(r.scale, r.skipped, scale,
                                            sizeof(scale)) : "");
    CTT_TRY(ctt_train_result(&j->cfg, j->m, j->data, j->val));
    if (j->own_ckpt)
        unlink(j->cfg.checkpoint);
out:
    return rc;
}

/* The model and the clips of a fold, which are parts of j->data. */
static int begin_fold(struct job *j, int k)
{
    struct ctt_data *whole = j->data;
    int rc = make_model(j);

    j->data = NULL;
    CTT_TRY(rc);
    CTT_TRY(ctt_fold_open(whole, &j->cfg, k, &j->data, &j->val));
    ctt_tool_say("fold %d of %d: %d clips to train on, %d to validate on",
                 k + 1, j->cfg.folds, ctt_data_clips(j->data),
                 ctt_data_clips(j->val));
    if (k == 0 && !j->cfg.resume)
        CTT_TRY(ctt_doctor_glance(j->m, &j->cfg, j->data, j->val));
out:
    return rc;
}

static int train_fold(void *arg, const struct ctt_train_cfg *cfg, int k,
                      struct ctt_metrics **out)
{
    const struct job *all = arg;
    struct job j = { .cfg = *cfg, .text = all->text };
    struct ctt_result r;
    int rc;

    CTT_TRY(check_outputs(&j));
    CTT_TRY(open_start(&j));
    j.data = all->data;
    CTT_TRY(begin_fold(&j, k));
    CTT_TRY(ctt_train(j.m, &j.cfg, j.data, j.val, &ctt_say_events, &r));
    if (r.stopped)
        ctt_tool_say("stopped after step %lld of fold %d; --resume continues "
                     "from %s", (long long)r.steps, k + 1, cfg->checkpoint);
    else
        CTT_TRY(ctt_evaluate_recognise(j.m, &j.cfg, j.val, ctt_fold_points,
                                       CTT_FOLD_POINTS, &ctt_say_events, out));
    rc = r.stopped;
out:
    ctt_fold_close(&j.val);
    ctt_fold_close(&j.data);
    close_job(&j);
    return rc;
}

/* --folds: what all of them share is read once. */
static int train_folds(struct job *j, int *status)
{
    struct ctt_train_cfg cfg = j->cfg;
    int rc = 0;

    CTT_CHECK(j->text || cfg.init, CTT_EINVAL, "--folds needs the model text "
              "or --init, also to resume");
    j->cfg.resume = 0;
    CTT_TRY(open_start(j));
    CTT_TRY(check_start(j));
    CTT_TRY(open_data(j, cfg.data, cfg.split, &j->data));
    if (j->g)
        CTT_TRY(ctt_data_measure(j->data, j->g, NULL));
    ctt_tool_warned();
    task_of(j)->data("all folds", j->data);
    CTT_TRY(ctt_say_set("all folds", j->data));
    CTT_TRY(ctt_train_folds(&cfg, j->own_ckpt, train_fold, j));
    *status = rc ? CTT_EXIT_FAIL : 0;
out:
    return rc;
}

/* --amp-plan: the plan of the model before it is adapted to data. */
static int plan(struct job *j)
{
    struct ctt_amp_plan *p = NULL;
    struct ctt_graph *g = NULL;
    int rc = 0;

    CTT_TRY(open_start(j));
    CTT_TRY(plan_types(j, &g, &p));
    CTT_TRY(ctt_say_plan(g, p));
out:
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    return rc;
}

/* No output may be an input or another output; only OUT may be the file of
 * --init. */
static int check_files(const struct job *j)
{
    const struct ctt_train_cfg *c = &j->cfg;
    const char *const made[] = { c->out, c->checkpoint, c->log_csv,
                                 c->log_json, c->sheet };
    const char *const read[] = { j->text, c->data, c->val, c->classes };
    int n = (int)CTT_LEN(made), rc;

    CTT_TRY(ctt_tool_apart(made, n));
    for (size_t k = 0; k < CTT_LEN(read); k++)
        CTT_TRY(ctt_tool_spares(made, n, read[k]));
    CTT_TRY(ctt_teachers_spared(c->teacher, made, n));
    CTT_TRY(ctt_tool_spares(made + 1, n - 1, c->init));
out:
    return rc;
}

static int is_default(const struct ctt_train_cfg *c, const char *name)
{
    return ctt_opt_is_default(ctt_train_opts +
                              ctt_opt_find(ctt_train_opts, name), c);
}

/* Settings of a teacher that is not there are refused. */
static int check_teacher(const struct ctt_train_cfg *c)
{
    int rc = 0;

    CTT_CHECK(c->teacher || is_default(c, "distil"), CTT_EINVAL,
              "--distil requires --teacher");
    CTT_CHECK(c->teacher || c->self_distil > 0 ||
              is_default(c, "distil-temperature"), CTT_EINVAL,
              "--distil-temperature requires --teacher or --self-distil");
out:
    return rc;
}

/* Checks what the table of options cannot express. */
static int complete(struct job *j, int argc, char **argv, int first)
{
    struct ctt_train_cfg *c = &j->cfg;
    int rc = 0;

    CTT_CHECK(argc - first <= 1, CTT_EINVAL, "one model text expected, "
              "but also given: '%s'", argv[first + 1]);
    j->text = first < argc ? argv[first] : NULL;
    CTT_CHECK(j->text || c->init || c->resume, CTT_EINVAL,
              "no model text given (see --help)");
    CTT_CHECK(c->out || c->amp_plan || c->doctor, CTT_EINVAL,
              "-o OUT must be given (see --help)");
    CTT_CHECK(c->data || c->amp_plan, CTT_EINVAL,
              "--data PATH must be given (see --help)");
    CTT_TRY(ctt_train_check(c));
    CTT_TRY(check_teacher(c));
    CTT_CHECK(c->checkpoint || c->out || !c->resume, CTT_EINVAL,
              "--checkpoint FILE must be given (see --help)");
    if (!c->checkpoint && c->out) {
        int n = snprintf(j->ckpt, sizeof(j->ckpt), "%s.ckpt", c->out);
        CTT_CHECK(n < (int)sizeof(j->ckpt), CTT_EINVAL, "-o: name too long");
        c->checkpoint = j->ckpt;
        j->own_ckpt = 1;
    }
    CTT_TRY(check_files(j));
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct job j = { .status = CTT_EXIT_FAIL };
    int done = 0, status = 0, rc;

    ctt_tool_start("convtt-train", argv);
    rc = ctt_opt_main(&ctt_train_program, &j.cfg, argc, argv, &done);
    if (done && rc >= 0)
        return ctt_tool_end(0);
    if (rc < 0 || ctt_limits_set(&j.cfg.limits) < 0 ||
        complete(&j, argc, argv, rc) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    ctt_tool_catch();
    rc = j.cfg.amp_plan ? plan(&j) :
         j.cfg.doctor ? examine(&j, &status) :
         j.cfg.folds ? train_folds(&j, &status) : train(&j, &status);
    if (rc < 0)
        ctt_tool_fail(j.status);
    close_job(&j);
    return ctt_tool_end(rc < 0 ? j.status : status);
}
