/* SPDX-License-Identifier: Apache-2.0
 * compress_sensitivity.c: convtt-compress --sense: what each weight bears. */
#include "tools/compress/compress_tool.h"
#include "tools/report/page.h"
#include "tools/shared/tool.h"
#include "net/rewrite/aux_head.h"
#include "device/device.h"
#include "net/code/memo.h"
#include "net/code/zip.h"
#include "net/file/decision.h"
#include "net/rewrite/edit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct ctt_output_kind ctt_output_sensitivity_log = {
    .name = "log of --sense", .begin = CTT_SENSITIVITY_LOG_BEGIN,
    .in_place = 1 };
static const struct ctt_output_kind csv_kind = {
    .name = "table of --sense as CSV", .begin = CTT_SENSITIVITY_CSV_BEGIN };

/* ---- settings ---- */

/* Whether a setting has no effect: of a stage, a recipe, a file, or of
 * training. */
static int is_idle(const struct ctt_opt *o)
{
    static const char *const used[] = { "sense", "sense-kl", "sense-log",
        "sense-csv", "sense-clips", "report-html", "choose-by", "time-threads",
        NULL };

    if (o->off < offsetof(struct ctt_compress_cfg, recipe))
        return (o->tags & CTT_CFG_STEP) != 0;
    return !ctt_compress_listed(o->name, used);
}

int ctt_compress_check_sensitivity(struct ctt_compress_job *j)
{
    struct ctt_compress_cfg *c = &j->c;
    int rc;

    for (const struct ctt_opt *o = j->tab; o->name; o++)
        CTT_CHECK(!is_idle(o) || ctt_opt_is_default(o, c), CTT_EINVAL,
                  "--%s has no effect with --sense", o->name);
    CTT_CHECK(c->train.data || c->train.val, CTT_EINVAL,
              "--sense requires --data or --val");
    CTT_TRY(ctt_opt_check(j->tab, c));
    CTT_TRY(ctt_train_check(&c->train));
    CTT_TRY(ctt_compress_name(j->path, ".sense.jsonl", j->log, sizeof(j->log),
                              &c->sense_log));
    CTT_TRY(ctt_compress_spare(j, (const char *const[]){ c->sense_log,
                               c->sense_csv, c->report_html, c->profile }, 4));
out:
    return rc;
}

static int check_outputs(struct ctt_compress_job *j)
{
    const struct ctt_compress_cfg *c = &j->c;
    int rc;

    CTT_TRY(ctt_compress_can_log(j, c->sense_log, &ctt_output_sensitivity_log));
    CTT_TRY(ctt_output_check(c->sense_csv, &csv_kind));
    CTT_TRY(ctt_output_check(c->report_html, &ctt_output_page));
out:
    return rc;
}

/* ---- the answers ---- */

struct sense {
    struct ctt_answers       a;      /* beside those of the original */
    struct ctt_data         *part, *rest;    /* of the clips; NULL: all */
    struct ctt_sensitivity_log *log;
    int                      known;  /* before this run */
};

/* Clips that are enough to tell options apart: of --sense-clips auto. */
enum { CLIPS = 32, FRAMES = 600 };
static int enough(const struct ctt_data *d)
{
    int64_t clips = ctt_data_clips(d), frames = ctt_data_all_frames(d);
    int n = (int)(frames > 0 ? FRAMES * clips / frames : clips);

    return n > CLIPS ? n : CLIPS;
}

/* Takes a part of the clips if there are twice as many as --sense-clips.  Those
 * that cannot be divided are all taken. */
static int take_part(struct sense *a)
{
    struct ctt_compress_job *j = a->a.j;
    struct ctt_train_cfg cfg = j->c.train;
    int clips = ctt_data_clips(j->val), n = j->c.sense_clips, rc = 0;

    if (n == CTT_OPT_WORD)
        n = enough(j->val);
    cfg.folds = n ? clips / n : 1;
    if (cfg.folds < 2)
        goto out;
    rc = ctt_fold_open(j->val, &cfg, 0, &a->rest, &a->part);
    if (rc == CTT_EINVAL)
        ctt_tool_say("sensitivity: all %d clips: %s", clips, ctt_errmsg());
    CTT_TRY(rc == CTT_EINVAL ? 0 : rc);
    if (a->part)
        ctt_tool_say("sensitivity: %d of %d clips (--sense-clips)",
                     ctt_data_clips(a->part), clips);
out:
    return rc < 0 ? rc : 0;
}

/* The mean over clips that both have read. */
static void compare_answers(const struct ctt_answers *a,
                            const struct ctt_metrics *is,
                            struct ctt_change *out)
{
    int n = 0, points = CTT_ACCURACIES;

    *out = (struct ctt_change){ { 0 }, { 0 } };
    for (int i = 0; i < ctt_data_clips(a->clips); i++) {
        int64_t at = (int64_t)i * points;

        if (a->was->verdict[at] == CTT_UNREAD || is->verdict[at] == CTT_UNREAD)
            continue;
        n++;
        for (int k = 0; k < points; k++) {
            out->kl[k] += ctt_answers_divergence(a, is, at + k);
            out->lost[k] += (a->was->verdict[at + k] == CTT_RIGHT) -
                            (is->verdict[at + k] == CTT_RIGHT);
        }
    }
    for (int k = 0; k < points && n > 0; k++) {
        out->kl[k] /= n;
        out->lost[k] /= n;
    }
}

/* ---- what ctt_sensitivity_run() calls ---- */

static int measure_change(void *arg, const struct ctt_model *m,
                          struct ctt_change *out)
{
    struct sense *a = arg;
    struct ctt_metrics *is = NULL;
    int rc = 0;

    CTT_TRY(ctt_answers_of(&a->a, m, &is));
    compare_answers(&a->a, is, out);
    CTT_CHECK(isfinite(ctt_change_mean(out)), CTT_ENAN, "--sense: answers are "
              "not finite");
out:
    ctt_metrics_free(&is);
    return rc;
}

static int begin_point(void *arg, const struct ctt_sensitivity *s, int point)
{
    const struct sense *a = arg;
    const struct ctt_sensitivity_point *p = &s->point[point];
    char what[2 * CTT_NAME];

    snprintf(what, sizeof(what), "%s: %s %g", s->weight[p->weight].name,
             p->ladder->name, p->value);
    return ctt_answers_begin(&a->a, what);
}

static int log_point(void *arg, const struct ctt_sensitivity *s, int point)
{
    struct sense *a = arg;

    a->a.done++;
    return ctt_sensitivity_log_add(a->log, s, point);
}

/* ---- all ---- */

/* Of what times depend on, besides --threads; --time-threads as many are the
 * same. */
static uint32_t machine_crc(const struct ctt_compress_cfg *c)
{
    char words[256] = "";
    uint32_t crc;

    ctt_dev_machine(words, sizeof(words));
    crc = ctt_crc32(0, words, 1, (int64_t)strlen(words));
    return c->time_threads && c->time_threads != c->train.threads
           ? ctt_crc32(crc, &c->time_threads, sizeof(int), 1) : crc;
}

int ctt_compress_key(const struct ctt_compress_job *j,
                     const struct ctt_model *m, const struct ctt_data *clips,
                     int timed, struct ctt_sensitivity_key *out)
{
    struct ctt_decision sign = { .weights = 0 };
    int rc = ctt_decision_sign(m, &sign);

    *out = (struct ctt_sensitivity_key){ sign.crc, ctt_data_crc(clips),
        ctt_data_clips(clips), j->c.train.device, j->c.train.threads, timed,
        timed ? machine_crc(&j->c) : 0 };
    return rc;
}

static int write_tables(const struct ctt_compress_cfg *c,
                        const struct ctt_sensitivity *s)
{
    int rc;

    CTT_TRY(ctt_sensitivity_say(s, (double)c->sense_kl));
    if (c->sense_csv)
        CTT_TRY(ctt_sensitivity_csv(s, c->sense_csv));
    ctt_sensitivity_page(s, (double)c->sense_kl, c->report_html);
    ctt_tool_say("\n%d results in %s", s->points, c->sense_log);
out:
    return rc;
}

/* Runs all; a->log is open afterwards. */
static int measure_points(struct sense *a,
                          const struct ctt_sensitivity_extra *extra,
                          int timed, struct ctt_sensitivity *s)
{
    struct ctt_compress_job *j = a->a.j;
    struct ctt_recipe_calls calls = ctt_compress_calls(j);
    struct ctt_sensitivity_calls all = { a, &calls, measure_change,
        begin_point, log_point };
    struct ctt_sensitivity_key key;
    int rc;

    CTT_TRY(take_part(a));
    a->a.clips = a->part ? a->part : j->val;
    CTT_TRY(ctt_compress_key(j, s->m, a->a.clips, calls.compare != NULL,
                             &key));
    rc = ctt_sensitivity_log_open(j->c.sense_log, &key, extra, s, &a->known,
                                  &a->log);
    CTT_TRY(ctt_compress_log_fault(j, rc));
    if (!timed)
        calls.compare = NULL;
    if (a->known)
        ctt_tool_say("%d of %d results are in %s already", a->known, s->points,
                     j->c.sense_log);
    CTT_TRY(ctt_answers_open(&a->a, s->m, "--sense"));
    a->a.all = ctt_sensitivity_missing(s, calls.compare != NULL);
    j->many_times = 1;
    rc = ctt_sensitivity_run(s, &all, j->c.sense_log);
    j->many_times = 0;
    CTT_CHECK(rc != CTT_ESTOP, CTT_ESTOP, "%s: stopped; the same command goes "
              "on from %s", j->c.budget ? "--budget" : "--sense",
              j->c.sense_log);
    CTT_TRY(rc);
out:
    return rc;
}

/* Of models that differ in one weight most is compressed once. */
enum { MEMO = 64 << 20 };

static void close_sense(struct sense *a)
{
    ctt_sensitivity_log_close(&a->log);
    if (a->part) {
        ctt_fold_close(&a->rest);
        ctt_fold_close(&a->part);
    }
    ctt_answers_close(&a->a);
}

int ctt_compress_measure(struct ctt_compress_job *j,
                         const struct ctt_sensitivity_extra *extra, int timed,
                         struct ctt_sensitivity *s,
                         struct ctt_sensitivity_log **log)
{
    struct sense a = { .a = { .j = j } };
    int rc;

    ctt_memo_keep(MEMO);
    rc = measure_points(&a, extra, timed, s);
    ctt_memo_keep(0);
    *log = a.log;
    a.log = NULL;
    close_sense(&a);
    return rc;
}

int ctt_compress_load(const char *path, const char *what,
                      struct ctt_model **out)
{
    const struct ctt_tensor *y;
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_model_load(path, 0, &m));
    ctt_decision_drop(m);
    CTT_TRY(ctt_aux_head_drop_from(&m));
    CTT_TRY(ctt_drop_unread(&m));
    y = &m->g->node[ctt_graph_output(m->g)].out;
    CTT_CHECK(y->d * y->h * y->w == 1, CTT_EUNSUP, "%s: predicts frames; "
              "%s is for classification", path, what);
    *out = m;
    m = NULL;
out:
    ctt_model_free(&m);
    return rc;
}

int ctt_compress_sensitivity(struct ctt_compress_job *j)
{
    struct sense a = { .a = { .j = j } };
    struct ctt_sensitivity *s = NULL;
    int rc;

    CTT_TRY(check_outputs(j));
    CTT_TRY(ctt_compress_load(j->path, "--sense", &j->m));
    CTT_TRY(ctt_train_device(&j->c.train));
    CTT_TRY(ctt_compress_open_clips(j));
    CTT_TRY(ctt_sensitivity_new(j->m, &s));
    ctt_memo_keep(MEMO);
    CTT_TRY(measure_points(&a, NULL, 1, s));
    CTT_TRY(write_tables(&j->c, s));
out:
    ctt_memo_keep(0);
    close_sense(&a);
    ctt_sensitivity_free(&s);
    return rc;
}
