/* SPDX-License-Identifier: Apache-2.0
 * compress_explain.c: convtt-compress --explain: what each part of a
 * compression costs and saves. */
#include "tools/compress/compress_tool.h"
#include "tools/report/page.h"
#include "tools/shared/tool.h"
#include "net/file/decision.h"

#include <math.h>
#include <stdio.h>

static const struct ctt_output_kind log_kind = {
    .name = "log of --explain", .begin = CTT_EXPLAIN_LOG_BEGIN, .in_place = 1 };
static const struct ctt_output_kind csv_kind = {
    .name = "table of --explain as CSV", .begin = CTT_EXPLAIN_CSV_BEGIN };

/* ---- settings ---- */

/* Whether a setting has no effect: of a stage, a recipe or a file, or, where
 * nothing is trained, of training. */
static int is_idle(const struct ctt_compress_cfg *c, const struct ctt_opt *o)
{
    static const char *const used[] = { "explain", "dense", "explain-steps",
        "explain-log", "explain-csv", "report-html", "choose-by", NULL };
    static const char *const none[] = { "resume", "checkpoint",
        "checkpoint-every", "val-every", "warmup", "teacher", NULL };

    if (o->off >= offsetof(struct ctt_compress_cfg, recipe))
        return !ctt_compress_listed(o->name, used);
    return ctt_compress_listed(o->name, none) ||
           (!c->explain_steps && (o->tags & CTT_CFG_STEP));
}

int ctt_compress_check_explain(struct ctt_compress_job *j)
{
    struct ctt_compress_cfg *c = &j->c;
    int rc;

    for (const struct ctt_opt *o = j->tab; o->name; o++)
        CTT_CHECK(!is_idle(c, o) || ctt_opt_is_default(o, c), CTT_EINVAL,
                  "--%s has no effect with --explain%s", o->name,
                  o->off < offsetof(struct ctt_compress_cfg, recipe) &&
                  !c->explain_steps ? " --explain-steps=0" : "");
    CTT_CHECK(c->train.data || (c->train.val && !c->explain_steps), CTT_EINVAL,
              "--explain requires --data, or --val with --explain-steps=0");
    CTT_TRY(ctt_opt_check(j->tab, c));
    CTT_TRY(ctt_train_check(&c->train));
    c->recipe.epochs = c->explain_steps > 0;    /* training clips are read */
    c->recipe.norm_clips = 0;
    c->train.deterministic = 1;
    CTT_TRY(ctt_compress_name(j->path, ".explain.jsonl", j->log,
                              sizeof(j->log), &c->explain_log));
    CTT_TRY(ctt_compress_spare(j, (const char *const[]){ c->explain_log,
                               c->explain_csv, c->report_html,
                               c->profile }, 4));
out:
    return rc;
}

static int check_outputs(struct ctt_compress_job *j)
{
    const struct ctt_compress_cfg *c = &j->c;
    int rc;

    CTT_TRY(ctt_compress_can_log(j, c->explain_log, &log_kind));
    CTT_TRY(ctt_output_check(c->explain_csv, &csv_kind));
    CTT_TRY(ctt_output_check(c->report_html, &ctt_output_page));
out:
    return rc;
}

/* ---- the answers ---- */

struct explain {
    struct ctt_answers       a;                  /* beside the dense model's */
    const struct ctt_model  *dense;
    struct ctt_metrics      *base[CTT_BASES];
    struct ctt_line_log     *log;
    int                      known;              /* before this run */
};

/* A sum of numbers of clips, and of their squares. */
struct sum { double n, x, squares; };

static void add_number(struct sum *s, double x)
{
    s->n++;
    s->x += x;
    s->squares += x * x;
}

static double mean_of(const struct sum *s)
{
    return s->n > 0 ? s->x / s->n : 0;
}

/* The standard error of the mean. */
static double error_of(const struct sum *s)
{
    double mean = mean_of(s);

    return s->n > 1 ? sqrt(fmax(0, s->squares / s->n - mean * mean) /
                           (s->n - 1)) : 0;
}

static int is_read(const struct ctt_metrics *r, int clip)
{
    return r->verdict[(int64_t)clip * CTT_ACCURACIES] != CTT_UNREAD;
}

/* Means over clips that all have read. */
static void compare_answers(const struct explain *a,
                            const struct ctt_metrics *was,
                            const struct ctt_metrics *is, struct ctt_gain *out)
{
    struct sum all = { 0, 0, 0 }, kl[CTT_ACCURACIES] = { { 0, 0, 0 } },
               top1[CTT_ACCURACIES] = { { 0, 0, 0 } };

    for (int i = 0; i < ctt_data_clips(a->a.j->val); i++) {
        double sum = 0;

        if (!is_read(is, i) || !is_read(was, i) || !is_read(a->a.was, i))
            continue;
        for (int k = 0; k < CTT_ACCURACIES; k++) {
            int64_t at = (int64_t)i * CTT_ACCURACIES + k;
            double gain = ctt_answers_divergence(&a->a, was, at) -
                          ctt_answers_divergence(&a->a, is, at);

            sum += gain;
            add_number(&kl[k], gain);
            add_number(&top1[k], (double)(is->verdict[at] == CTT_RIGHT) -
                          (double)(was->verdict[at] == CTT_RIGHT));
        }
        add_number(&all, sum / CTT_ACCURACIES);
    }
    out->kl_error = error_of(&all);
    for (int k = 0; k < CTT_ACCURACIES; k++) {
        out->kl[k] = mean_of(&kl[k]);
        out->top1[k] = mean_of(&top1[k]);
        out->error[k] = error_of(&top1[k]);
    }
}

/* ---- what ctt_explain_run() calls ---- */

static int keep_base(void *arg, enum ctt_explain_base b,
                     const struct ctt_model *m)
{
    struct explain *a = arg;

    ctt_metrics_free(&a->base[b]);
    return ctt_answers_of(&a->a, m, &a->base[b]);
}

static int gain(void *arg, enum ctt_explain_base b, const struct ctt_model *m,
                struct ctt_gain *out)
{
    struct explain *a = arg;
    struct ctt_metrics *is = NULL;
    int rc;

    CTT_TRY(ctt_answers_of(&a->a, m, &is));
    compare_answers(a, a->base[b], is, out);
    for (int k = 0; k < CTT_ACCURACIES; k++)
        CTT_CHECK(isfinite(out->kl[k]), CTT_ENAN, "--explain: answers are not "
                  "finite");
out:
    ctt_metrics_free(&is);
    return rc;
}

/* The dense model teaches; the last weights count, as clips that choose an
 * epoch would be those that the result is measured on. */
static int train_weight(void *arg, const char *freeze, struct ctt_model *m)
{
    struct explain *a = arg;
    const struct ctt_model *const teachers[] = { a->dense, NULL };
    struct ctt_train_cfg cfg = a->a.j->c.train;
    struct ctt_events ev = { .arg = a->a.j->ev.arg, .clip = a->a.j->ev.clip,
                             .warn = a->a.j->ev.warn };
    struct ctt_result r;
    int rc;

    cfg.freeze = freeze;
    cfg.max_steps = cfg.epochs = a->a.j->c.explain_steps;
    cfg.warmup = 0;
    cfg.wiring.teachers = teachers;
    rc = ctt_train(m, &cfg, a->a.j->data, NULL, &ev, &r);
    if (rc >= 0 && r.stopped)
        rc = ctt_error(CTT_ESTOP, "stopped");
    return rc < 0 ? rc : 0;
}

static int begin_point(void *arg, const struct ctt_explain *e, int point)
{
    const struct explain *a = arg;
    const struct ctt_explain_point *p = &e->point[point];
    char what[2 * CTT_NAME];

    snprintf(what, sizeof(what), "%s: %s", ctt_explain_weight_name(e, p),
             ctt_explain_kind_name(p));
    return ctt_answers_begin(&a->a, what);
}

static int log_point(void *arg, const struct ctt_explain *e, int point)
{
    struct explain *a = arg;

    a->a.done++;
    return ctt_explain_log_add(a->log, e, point);
}

/* ---- all ---- */

static int key_of(const struct explain *a, const struct ctt_explain *e,
                  int timed, struct ctt_explain_key *out)
{
    struct ctt_decision sign = { .weights = 0 };
    int rc;

    CTT_TRY(ctt_compress_key(a->a.j, e->small, a->a.j->val, timed,
                             &out->of));
    CTT_TRY(ctt_decision_sign(a->dense, &sign));
    out->dense = sign.crc;
    CTT_TRY(ctt_compress_how(a->a.j, &out->how));
out:
    return rc;
}

static int open_log(struct explain *a, struct ctt_explain *e, int timed)
{
    struct ctt_compress_job *j = a->a.j;
    struct ctt_explain_key key;
    int rc;

    CTT_TRY(key_of(a, e, timed, &key));
    rc = ctt_explain_log_open(j->c.explain_log, &key, e, &a->known, &a->log);
    CTT_TRY(ctt_compress_log_fault(j, rc));
    if (a->known)
        ctt_tool_say("%d of %d results are in %s already", a->known, e->points,
                     j->c.explain_log);
out:
    return rc;
}

static int measure_points(struct explain *a, struct ctt_explain *e)
{
    struct ctt_recipe_calls calls = ctt_compress_calls(a->a.j);
    struct ctt_explain_calls all = { a, &calls, keep_base, gain,
        a->a.j->c.explain_steps > 0 ? train_weight : NULL, begin_point,
        log_point };
    int rc;

    CTT_TRY(open_log(a, e, calls.compare != NULL));
    CTT_TRY(ctt_answers_open(&a->a, a->dense, "--explain"));
    a->a.all = e->points - a->known;
    rc = ctt_explain_run(e, &all, a->a.j->c.explain_log);
    CTT_CHECK(rc != CTT_ESTOP, CTT_ESTOP, "--explain: stopped; the same "
              "command goes on from %s", a->a.j->c.explain_log);
    CTT_TRY(rc);
out:
    return rc;
}

static void say_model(const char *name, const struct ctt_metrics *r)
{
    ctt_tool_say("%s: %s %.1f%%, %.1f%%, %.1f%% at 25, 50, 100%%", name,
                 r->several ? "likeliest class right" : "top-1",
                 100 * ctt_metrics_top1(r, 0), 100 * ctt_metrics_top1(r, 1),
                 100 * ctt_metrics_top1(r, 2));
}

static void say_both(const struct explain *a)
{
    const struct ctt_metrics *is = a->base[CTT_BASE_GIVEN];
    struct ctt_gain g;

    say_model(a->a.j->c.dense, a->a.was);
    say_model(a->a.j->path, is);
    compare_answers(a, is, a->a.was, &g);
    ctt_tool_say("divergence of its answers: %.4f, %.4f, %.4f nats", g.kl[0],
                 g.kl[1], g.kl[2]);
}

static int write_tables(const struct explain *a, const struct ctt_explain *e)
{
    const struct ctt_compress_cfg *c = &a->a.j->c;
    int rc;

    say_both(a);
    CTT_TRY(ctt_explain_say(e, c->explain_steps));
    if (c->explain_csv)
        CTT_TRY(ctt_explain_csv(e, c->explain_csv));
    ctt_explain_page(e, c->report_html);
    ctt_tool_say("\n%d results in %s", e->points, c->explain_log);
out:
    return rc;
}

static int open_models(struct ctt_compress_job *j, struct ctt_explain **e)
{
    int rc;

    CTT_TRY(ctt_compress_load(j->path, "--explain", &j->m));
    CTT_TRY(ctt_compress_load(j->c.dense, "--explain", &j->given));
    CTT_TRY(ctt_compress_check_dense(j, j->given, j->c.dense));
    rc = ctt_explain_new(j->m, j->given, e);
    if (rc == CTT_EINVAL) {
        j->status = CTT_EXIT_USAGE;
        rc = ctt_error(rc, "--explain: %s against %s: %s", j->path,
                       j->c.dense, ctt_errmsg());
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_train_device(&j->c.train));
out:
    return rc;
}

int ctt_compress_explain(struct ctt_compress_job *j)
{
    struct explain a = { .a = { .j = j } };
    struct ctt_explain *e = NULL;
    int rc;

    CTT_TRY(check_outputs(j));
    CTT_TRY(open_models(j, &e));
    a.dense = e->dense;
    CTT_TRY(ctt_compress_open_clips(j));
    a.a.clips = j->val;
    CTT_TRY(measure_points(&a, e));
    CTT_TRY(write_tables(&a, e));
out:
    ctt_line_log_close(&a.log);
    ctt_answers_close(&a.a);
    for (int b = 0; b < CTT_BASES; b++)
        ctt_metrics_free(&a.base[b]);
    ctt_explain_free(&e);
    return rc;
}
