/* SPDX-License-Identifier: Apache-2.0
 * infer.c: convtt-infer: runs a model on the clips that the operands name. */
#include "infer/inside.h"
#include "base/clock.h"
#include "net/file/card.h"
#include "net/file/file.h"
#include "tools/infer/infer_tool.h"
#include "tools/profile/profile.h"
#include "tools/stream/stream_tool.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/tool.h"
#include "video/live/live.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct tool {
    struct ctt_infer_set  c;
    struct ctt_infer     *m;
    const char           *model;      /* its path */
    struct ctt_recogniser r;
    struct ctt_predictor *ahead;      /* NULL without --predict */
    struct ctt_decoder   *decoder;    /* of recognition */
    struct ctt_live_list sources;   /* of --stream and --streams */
    float                *threshold;  /* of classes, or NULL */
    double                open_ms;
    double                clip;       /* seconds of the training's clips; 0:
                                         its model does not say */
    int                   status;     /* of the program if it fails now */
};

static struct ctt_source_set which_clips(const struct tool *t)
{
    const struct ctt_predict *p = &t->c.predict;

    return (struct ctt_source_set){ .split = t->c.split, .need_split = 1,
        .classes = t->c.classes, .fps = (double)t->c.fps, .label = t->r.label,
        .labels = p->count ? CTT_LABELS_ANY : t->r.classes,
        .strict = t->c.strict,
        .sequences = p->sequences, .digits = p->digits,
        .frames = p->seen + p->count, .drawn_for = "--predict" };
}

/* Clips that the model, --split or --classes do not suit are not bad, but a
 * mistake of the command line. */
static int note_usage(struct tool *t, int rc)
{
    if (rc < 0 && ctt_tool_status(rc) == CTT_EXIT_USAGE)
        t->status = CTT_EXIT_USAGE;
    return rc;
}

/* Answers for the clip that is first in line; 0: there is none. */
static int run_first(struct tool *t)
{
    struct ctt_decoded d;
    int rc = 0;

    if (!ctt_decoder_take(t->decoder, &d))
        return 0;
    rc = ctt_recognise_decoded(&t->r, &d);
    if (d.last)
        ctt_source_close(&d.from);
    return rc < 0 ? rc : 1;
}

static int run_rest(struct tool *t)
{
    int rc = 0;

    do {
        CTT_TRY(run_first(t));
    } while (rc);
out:
    return rc;
}

/* Queues the clips of a source and runs earlier ones.  The last clip closes the
 * source; after a failure nothing reads it. */
static int run_clips(struct tool *t, struct ctt_source **s)
{
    int n = ctt_source_list(*s)->count, rc = 0;

    for (int i = 0; i < n; i++) {
        if (ctt_decoder_full(t->decoder))
            CTT_TRY(run_first(t));
        ctt_decoder_put(t->decoder, *s, i, i + 1 == n);
    }
    if (n)
        *s = NULL;
out:
    if (rc < 0)
        ctt_decoder_close(&t->decoder);
    return rc < 0 ? rc : 0;
}

static int run_streams(struct tool *t, struct ctt_source **s)
{
    int rc = 0;

    for (int i = 0; i < ctt_source_list(*s)->count; i++)
        CTT_TRY(ctt_recognise_stream(&t->r, *s, i));
out:
    return rc;
}

/* --calibrate requires --split for data with splits: "validation", the default
 * of other uses, has chosen the epoch.  rc: of opening the source. */
static int check_split(const struct tool *t, const char *path, int rc,
                       const struct ctt_source *s)
{
    if (!t->c.decide.calibrate || t->c.split)
        return rc;
    if (rc == CTT_ENOSPLIT || (rc >= 0 && ctt_source_parted(s)))
        rc = ctt_error(CTT_EINVAL, "%s has splits: --calibrate needs --split "
                       "test, or clips that neither training nor choosing has "
                       "used", path);
    return rc;
}

/* An operand of recognition: its clips, or why it is skipped. */
struct operand {
    struct ctt_source *s;
    char              *why;
};

/* A clip that is not there is skipped as others that cannot be read; lists,
 * folders and packs stand for clips that would all be left out. */
static int open_operand(struct tool *t, const char *path, struct operand *out)
{
    struct ctt_source_set set = which_clips(t);
    int rc = ctt_source_open(path, &set, &t->r.in, &out->s);

    rc = check_split(t, path, rc, out->s);
    rc = note_usage(t, ctt_stream_redact(path, rc));
    if (rc < 0 && ctt_live_looks(path))
        ctt_error(rc, "%s; --stream reads it", ctt_errmsg());
    if (rc < 0 && rc != CTT_EINVAL && ctt_source_is_lost(path)) {
        out->why = ctt_strdup(ctt_errmsg());
        rc = out->why ? 0 : CTT_ENOMEM;
    } else if (rc >= 0 && t->r.calibrator) {
        ctt_calibrate_judge(t->r.calibrator, path,
                            ctt_source_crc(out->s, 1));
        rc = ctt_source_note(out->s);
    }
    return rc;
}

/* Runs the clips, or after those before it says that it is skipped. */
static int run_operand(struct tool *t, struct operand *o)
{
    int rc;

    if (o->s)
        return (t->c.every ? run_streams : run_clips)(t, &o->s);
    CTT_TRY(run_rest(t));
    CTT_CHECK(!t->c.strict, CTT_EIO, "%s", o->why);
    ctt_tool_warn("%s; skipped", o->why);
    t->r.skipped++;
out:
    return rc;
}

static void close_operand(struct operand *o)
{
    ctt_source_close(&o->s);
    ctt_free(o->why);
}

/* Takes a path of standard input: recognition runs it, prediction first
 * collects all. */
static int take_path(struct tool *t, const char *path)
{
    struct operand o = { NULL, NULL };
    int rc;

    if (t->ahead)
        return note_usage(t, ctt_stream_redact(
                             path, ctt_predictor_add(t->ahead, path)));
    CTT_TRY(open_operand(t, path, &o));
    CTT_TRY(run_operand(t, &o));
out:
    close_operand(&o);
    return rc;
}

static int take_line(void *tool, const char *path)
{
    struct tool *t = tool;
    int rc;

    CTT_TRY(take_path(t, path));
    if (t->decoder)
        CTT_TRY(run_rest(t));
out:
    return rc;
}

/* Copies the model's input line and classes. */
static void describe_model(struct tool *t)
{
    const struct ctt_infer_input *w = ctt_infer_wants(t->m);

    t->r.in = (struct ctt_input){ .d = 1, .h = w->h, .w = w->w, .c = w->c,
        .fps = w->fps, .scale = w->scale, .fit = (int)w->fit,
        .colour = (int)w->colour, .normalise = (int)w->normalise,
        .gamma = w->gamma };
    memcpy(t->r.in.mean, w->mean, sizeof(t->r.in.mean));
    memcpy(t->r.in.std, w->std, sizeof(t->r.in.std));
    t->r.classes = ctt_infer_classes(t->m);
    t->r.kept = (struct ctt_kept_answers){ .classes = t->r.classes,
        .ratios = t->c.decide.calibrate ? 1 : t->r.ratios };
    if (t->c.top > t->r.classes)
        t->c.top = t->r.classes;
}

/* The outputs of a model whose clips have several labels. */
static int take_thresholds(struct tool *t)
{
    if (!ctt_infer_several(t->m))
        return 0;
    t->threshold = ctt_calloc((size_t)t->r.classes + 1, sizeof(*t->threshold));
    for (int i = 0; i < t->r.classes && t->threshold; i++)
        t->threshold[i] = ctt_infer_threshold(t->m, i);
    t->r.threshold = t->threshold;
    return t->threshold ? 0 : CTT_ENOMEM;
}

static int open_model(struct tool *t, const char *path)
{
    struct ctt_recogniser *r = &t->r;
    double start = ctt_milliseconds();
    size_t n;
    int rc;

    CTT_TRY(ctt_stream_redact(
        path,
        ctt_infer_rc(ctt_infer_open(path, t->c.device, t->c.threads, &t->m))));
    CTT_TRY(ctt_infer_rc(ctt_infer_multiply(t->m, ctt_type_run(
                                            t->c.bench.type))));
    if (t->c.bench.tune)
        CTT_TRY(ctt_infer_rc(ctt_infer_tune(t->m, NULL)));
    if (t->c.decide.on)
        CTT_TRY(ctt_infer_rc(ctt_infer_decide(t->m)));
    CTT_TRY(ctt_infer_rc(ctt_session_open(t->m, &r->session)));
    t->open_ms = ctt_milliseconds() - start;
    describe_model(t);
    n = (size_t)r->classes + 1;
    r->label = ctt_calloc(n, sizeof(*r->label));
    r->probs = ctt_calloc(n, sizeof(*r->probs));
    r->order = ctt_calloc(n, sizeof(*r->order));
    r->frames = ctt_calloc((size_t)CTT_RECOGNISE_BATCH * (size_t)r->in.w *
                           (size_t)r->in.h, (size_t)r->in.c);
    CTT_TRY(r->label && r->probs && r->order && r->frames ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_renamed_open(r->classes, &r->renamed));
    for (int i = 0; i < r->classes; i++)
        r->label[i] = (char *)ctt_infer_class(t->m, i);
    CTT_TRY(take_thresholds(t));
out:
    return rc;
}

static void close_tool(struct tool *t)
{
    ctt_calibrator_close(&t->r.calibrator);
    ctt_session_close(&t->r.session);
    ctt_infer_close(&t->m);
    ctt_live_list_free(&t->sources);
    ctt_free(t->r.label);
    ctt_free(t->threshold);
    ctt_kept_free(&t->r.kept);
    ctt_free(t->r.probs);
    ctt_free(t->r.order);
    ctt_free(t->r.frames);
    ctt_free(t->r.renamed);
    ctt_judged_free(&t->r.judged);
    ctt_infer_report_free(&t->r.report);
    ctt_free(t->r.frame.ms);
    ctt_free(t->r.answer.ms);
    ctt_free(t->r.decode.decode.ms);
    ctt_free(t->r.decode.wait.ms);
}

/* Recognition opens all operands before it runs the first. */
static int take_operands(struct tool *t, char **path, int paths)
{
    struct operand *o = ctt_calloc((size_t)paths + 1, sizeof(*o));
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < paths && !t->ahead; i++)
        if (strcmp(path[i], "-") != 0)
            CTT_TRY(open_operand(t, path[i], &o[i]));
    for (int i = 0; i < paths; i++)
        CTT_TRY(strcmp(path[i], "-") == 0 ?
                note_usage(t, ctt_input_paths(take_line, t)) :
                t->ahead ? take_path(t, path[i]) : run_operand(t, &o[i]));
out:
    for (int i = 0; o && i < paths; i++)
        close_operand(&o[i]);
    ctt_free(o);
    return rc;
}

static int say_times(struct tool *t)
{
    const struct ctt_said_times s[] = {
        { "decode", &t->r.decode.decode }, { "wait", &t->r.decode.wait },
        { "frame", &t->r.frame }, { "answer", &t->r.answer },
    };

    return t->c.time ? ctt_say_times(t->open_ms, s, (int)CTT_LEN(s),
                                     t->c.json) : 0;
}

/* Other uses of clips than answers at each ratio. */
static int open_decision(struct tool *t, const char *model)
{
    const struct ctt_decide_set *c = &t->c.decide;
    int rc = 0;

    t->r.watch = c->on ? ctt_decide_clip :
                 c->calibrate ? ctt_calibrate_clip : NULL;
    if (!c->calibrate)
        goto out;
    ctt_tool_catch();
    if (t->r.threshold) {
        t->r.watch = ctt_calibrate_several;
        CTT_TRY(ctt_calibrate_check(model));
        goto out;
    }
    CTT_TRY(ctt_calibrator_open(c, model, ctt_type_run(t->c.bench.type),
                                t->r.classes, &t->r.calibrator));
out:
    return rc;
}

static int recognise_all(struct tool *t, const char *model, char **path,
                         int paths)
{
    int rc = 0;

    CTT_TRY(open_decision(t, model));
    CTT_TRY(note_usage(t, ctt_judged_check(&t->c)));
    CTT_TRY(ctt_decoder_open(t->c.every ? 0 : t->c.workers, 0, 0,
                             t->c.time ? &t->r.decode : NULL, &t->decoder));
    CTT_TRY(take_operands(t, path, paths));
    CTT_TRY(run_rest(t));
    if (t->r.read > 0 || !t->r.watch) {
        CTT_TRY(ctt_recognise_say(&t->r, t->model));
        CTT_TRY(say_times(t));
    }
    if (t->r.skipped)
        ctt_tool_warn("%d of %d clips skipped", t->r.skipped,
                      t->r.read + t->r.skipped);
    CTT_CHECK(t->r.read > 0, CTT_EINVAL, "no clip could be read");
out:
    ctt_decoder_close(&t->decoder);
    return rc;
}

static int predict_all(struct tool *t, char **path, int paths)
{
    struct ctt_predict_with with = { .set = &t->c.predict,
        .session = t->r.session, .in = &t->r.in, .which = which_clips(t),
        .times = t->c.time ? &t->r.frame : NULL,
        .decode = t->c.time ? &t->r.decode : NULL, .json = t->c.json,
        .strict = t->c.strict, .workers = t->c.workers };
    int rc = 0;

    ctt_tool_catch();
    CTT_TRY(ctt_predictor_open(&with, &t->ahead));
    CTT_TRY(take_operands(t, path, paths));
    CTT_TRY(ctt_predictor_run(t->ahead));
    CTT_TRY(say_times(t));
out:
    ctt_predictor_close(&t->ahead);
    return rc;
}

/* How long the clips were that the model was trained on. */
static int find_clip(struct tool *t)
{
    struct ctt_model *m = NULL;
    const char *seconds;
    int n = 0, rc;

    CTT_TRY(ctt_model_load(t->model, 0, &m));
    seconds = ctt_card_find(m->history, "clip-seconds", &n);
    t->clip = seconds ? atof(seconds) : 0;
out:
    ctt_model_free(&m);
    return rc;
}

/* Standard output may be a pipe whose reader goes or stalls: that is an error
 * of writing, after which the file of --draw is still finished. */
static int stream_all(struct tool *t)
{
    ctt_tool_catch();
    ctt_stalling_standard();
    signal(SIGPIPE, SIG_IGN);
    if (t->c.stream.list)
        ctt_session_close(&t->r.session);
    return note_usage(t, ctt_live_run(&(struct ctt_live_with){ .set = &t->c,
        .m = t->m, .session = t->r.session, .in = &t->r.in, .label = t->r.label,
        .classes = t->r.classes, .threshold = t->r.threshold,
        .sources = &t->sources, .clip = t->clip }));
}

/* A model either recognises or predicts. */
static int run_model(struct tool *t, const char *model, char **path, int paths)
{
    int rc, predicts = ctt_infer_predicts(t->m);
    int several = ctt_infer_several(t->m);
    int stream = ctt_stream_is_on(&t->c.stream);

    CTT_CHECK(predicts || !t->c.predict.count, CTT_EINVAL,
              "%s: this model %s and does not predict frames (omit --predict)",
              model, ctt_recognises_text(&t->r) ? "predicts symbols of text"
                                  : "recognises classes");
    CTT_CHECK(!predicts || !stream, CTT_EINVAL, "%s: this model "
              "predicts frames; --stream recognises classes", model);
    CTT_CHECK(!predicts || t->c.predict.count, CTT_EINVAL,
              "%s: this model predicts frames; pass --predict N", model);
    CTT_CHECK(!several || !t->c.decide.answers, CTT_EINVAL, "--answers is a "
              "table of early decisions, which a model with several labels per "
              "clip does not make");
    CTT_CHECK(!several || !t->c.wrong, CTT_EINVAL,
              "--wrong: clips of this model have several labels; the table of "
              "accuracy has their mean average precision");
    t->model = t->r.report.model = model;
    if (ctt_recognises_text(&t->r))
        return note_usage(t, ctt_recognise_texts(&t->r, path, paths));
    if (stream)
        CTT_TRY(find_clip(t));
    if (stream)
        rc = stream_all(t);
    else
        rc = predicts ? predict_all(t, path, paths)
                      : recognise_all(t, model, path, paths);
out:
    return rc;
}

static int bench(const struct tool *t, const char *model)
{
    return ctt_bench(&(struct ctt_bench_with){ .set = &t->c.bench,
        .path = model, .device = t->c.device, .threads = t->c.threads,
        .json = t->c.json });
}

/* The profile ends after the session, whose threads are recorded too. */
static int run_profiled(struct tool *t, char **path, int paths)
{
    const struct ctt_infer_set *c = &t->c;
    struct ctt_failure why = { 0, NULL };
    int rc;

    CTT_TRY(ctt_profile_check(c->profile));
    CTT_TRY(ctt_profile_open(c->profile));
    rc = open_model(t, path[0]);
    if (rc >= 0)
        rc = run_model(t, path[0], path + 1, paths - 1);
    ctt_failure_note(&why, rc);
    close_tool(t);
    rc = ctt_profile_end(c->profile, c->device, c->threads, !c->json,
                         ctt_failure_tell(&why));
out:
    ctt_live_list_free(&t->sources);
    return rc < 0 ? ctt_tool_fail(t->status) : 0;
}

int main(int argc, char **argv)
{
    struct tool t = { .status = CTT_EXIT_FAIL };
    int first, done, status = 0;

    t.r.set = &t.c;
    ctt_tool_start("convtt-infer", argv);
    first = ctt_opt_main(&ctt_infer_program, &t.c, argc, argv, &done);
    if (first < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (done)
        return ctt_tool_end(0);
    if (argc == first)
        return ctt_tool_die(CTT_EXIT_USAGE, "no model given (see --help)");
    argv[first] = ctt_tool_model(argv[first]);
    ctt_tool_tell(&t.c.telling);
    if (ctt_limits_set(&t.c.limits) < 0 ||
        ctt_infer_check(&t.c, argv + first, argc - first) < 0 ||
        ctt_recognise_ratios(&t.r) < 0 ||
        ctt_stream_sources(&t.c.stream, argv + first, &t.sources) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    status = ctt_tool_import(argv[first], &argv[first]);
    if (status < 0)
        return ctt_tool_fail(ctt_tool_status(status));
    if (t.c.bench.on)
        return ctt_tool_end(bench(&t, argv[first]) < 0
                            ? ctt_tool_fail(t.status) : 0);
    status = run_profiled(&t, argv + first, argc - first);
    return ctt_tool_end(status);
}
