/* SPDX-License-Identifier: Apache-2.0
 * train_search.c: --search: trains trials of settings, and keeps the best. */
#include "tools/train/train_tool.h"
#include "tools/report/page.h"
#include "base/clock.h"
#include "net/code/zip.h"
#include "base/newfile.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct ctt_output_kind log_kind = {
    .name = "log of --search", .begin = CTT_SEARCH_LOG_BEGIN, .in_place = 1 };
static const struct ctt_output_kind csv_kind = {
    .name = "results of --search as CSV", .begin = CTT_SEARCH_CSV_BEGIN };

enum { FAILURES = 3 };    /* in the beginning: then something else is wrong */

/* ---- before ---- */

static int name(const char *path, const char *what, char out[CTT_SEARCH_PATH])
{
    int rc = 0;

    CTT_CHECK(snprintf(out, CTT_SEARCH_PATH, "%s%s", path, what) <
              CTT_SEARCH_PATH, CTT_EINVAL, "%s: name too long", path);
out:
    return rc;
}

static int check_search_files(const struct ctt_search_run *r)
{
    const struct ctt_train_cfg *c = &r->j->cfg;
    const char *const made[] = { c->out, r->log_path, r->folder,
                                 c->search_csv, c->report_html };
    const char *const read[] = { r->j->text, c->data, c->val, c->test,
                                 c->classes, c->init, c->search };
    int n = (int)CTT_LEN(made), rc;

    CTT_TRY(ctt_tool_apart(made, n));
    for (size_t k = 0; k < CTT_LEN(read); k++)
        CTT_TRY(ctt_tool_spares(made, n, read[k]));
    CTT_TRY(ctt_teachers_spared(c->teacher, made, n));
    CTT_TRY(ctt_output_check(c->out, &ctt_output_model));
    if (!c->resume)
        ctt_output_say_replaced(c->out);
    if (access(r->log_path, F_OK) == 0)
        CTT_TRY(ctt_output_check(r->log_path, &log_kind));
    CTT_TRY(ctt_output_check(c->search_csv, &csv_kind));
    CTT_TRY(ctt_output_check(c->report_html, &ctt_output_page));
out:
    return rc;
}

/* Adds the bytes of a file to a checksum. */
static int add_file(const char *path, uint32_t *crc)
{
    char bytes[4096];
    size_t n = 0;
    int64_t size = 0;
    int fd = -1, rc;

    CTT_TRY(ctt_file_open(path, &fd, &size));
    for (int64_t at = 0; at < size; at += (int64_t)n) {
        n = size - at < (int64_t)sizeof(bytes) ? (size_t)(size - at)
                                               : sizeof(bytes);
        CTT_TRY(ctt_file_read_at(path, fd, at, bytes, (int64_t)n));
        *crc = ctt_crc32_plain(*crc, (const uint8_t *)bytes, (int64_t)n);
    }
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

static int make_key(struct ctt_search_run *r)
{
    const struct ctt_training *j = r->j;
    int rc;

    CTT_TRY(add_file(j->cfg.search, &r->key.space));
    if (j->text)
        CTT_TRY(add_file(j->text, &r->key.model));
    if (j->cfg.init)
        CTT_TRY(add_file(j->cfg.init, &r->key.model));
    r->key.clips = ctt_data_crc(j->data);
    r->key.validation = ctt_data_crc(j->val);
out:
    return rc;
}

/* The clips are read here, too, to be checked, compared and tested in the end;
 * their frames are not kept, as each trial keeps its own. */
static int open_clips(struct ctt_training *j)
{
    int cache = j->cfg.cache, rc;

    j->cfg.cache = 0;
    CTT_TRY(ctt_training_start(j));
    CTT_TRY(ctt_training_begin(j));
    j->cfg.cache = cache;
    j->status = CTT_EXIT_USAGE;
    CTT_CHECK(j->val, CTT_EINVAL, "--search compares trials on validation "
              "clips, and there are none (see --val)");
    j->status = CTT_EXIT_FAIL;
out:
    return rc;
}

static int writes(const struct ctt_search_run *r)
{
    return ctt_ranks_writes(&r->j->cfg);
}

static int open_log(struct ctt_search_run *r)
{
    int rc = ctt_search_log_open(r);

    if (rc == CTT_EINVAL || rc == CTT_EFORMAT)    /* the user's mistake */
        r->j->status = CTT_EXIT_USAGE;
    CTT_TRY(rc);
    if (r->known)
        ctt_tool_say("%d results are in %s already", r->known, r->log_path);
out:
    return rc;
}

/* 1 if the network of a draw is within the limits of the space.  A stop is
 * seen where the model text is read. */
static int draw_fits(const struct ctt_search_run *r, const struct ctt_draw *d,
                     int trial)
{
    struct ctt_graph *g = NULL;
    char text[512];
    int rc = ctt_tool_net_set(r->j->text, d->set, &g);

    if (rc >= 0)
        rc = ctt_space_fits(r->space, g);
    ctt_graph_free(&g);
    if (rc == CTT_ESTOP)
        return ctt_error(rc, "stopped while networks are drawn");
    if (rc >= 0)
        return rc;
    ctt_draw_text(r->space, d, text, sizeof(text));
    r->j->status = CTT_EXIT_USAGE;
    return ctt_error(rc, "%s: trial %d, %s: %s", r->space->path, trial + 1,
                     text, ctt_errmsg());
}

/* Draws a trial anew until its network is within the limits; adds to *more how
 * often. */
static int draw_small(const struct ctt_search_run *r, int trial, int *more)
{
    struct ctt_draw *d = &r->s->draw[trial];
    int rc = draw_fits(r, d, trial);

    for (int k = 1; rc == 0 && k < CTT_REDRAWS; k++, ++*more) {
        ctt_space_draw(r->space, (uint64_t)r->j->cfg.seed,
                       trial + k * CTT_TRIALS, d);
        rc = ctt_space_check_draw(r->space, d, &r->j->cfg, trial);
        r->j->status = rc < 0 ? CTT_EXIT_USAGE : r->j->status;
        CTT_TRY(rc);
        rc = draw_fits(r, d, trial);
    }
    CTT_TRY(rc);
    r->j->status = rc ? r->j->status : CTT_EXIT_USAGE;
    CTT_CHECK(rc, CTT_EINVAL, "%s: none of %d networks is within 'at-most'; "
              "smaller ranges or a larger number help", r->space->path,
              CTT_REDRAWS);
out:
    return rc;
}

/* The text must be that of a model with the names that each trial sets. */
static int check_named(const struct ctt_search_run *r)
{
    struct ctt_training *j = r->j;
    int limited = r->space->most[0] > 0 || r->space->most[1] > 0, more = 0;
    int rc = 0;

    j->status = CTT_EXIT_USAGE;
    CTT_CHECK(!(r->space->set || limited) || j->text, CTT_EINVAL, "%s: a "
              "setting '$NAME' or 'at-most' requires a model text",
              r->space->path);
    CTT_CHECK(!limited || r->space->set, CTT_EINVAL, "%s: 'at-most' limits "
              "networks, and no setting '$NAME' changes them", r->space->path);
    j->status = CTT_EXIT_FAIL;
    for (int i = 0; i < j->cfg.trials && r->space->set; i++)
        CTT_TRY(draw_small(r, i, &more));
    rc = 0;
    if (more && writes(r))
        ctt_tool_say("%s: %d network%s above 'at-most', drawn again",
                     r->space->path, more, ctt_s(more));
out:
    return rc;
}

static int begin_search(struct ctt_search_run *r)
{
    struct ctt_training *j = r->j;
    int rc;

    j->status = CTT_EXIT_USAGE;
    CTT_TRY(ctt_space_read(j->cfg.search, &r->space));
    CTT_TRY(ctt_space_check(r->space, &j->cfg));
    CTT_TRY(name(j->cfg.search_log ? j->cfg.search_log : j->cfg.out,
                 j->cfg.search_log ? "" : ".search.jsonl", r->log_path));
    CTT_TRY(name(j->cfg.out, ".trials", r->folder));
    rc = writes(r) ? check_search_files(r) : 0;
    j->status = ctt_tool_status(rc);
    CTT_TRY(rc);
    if (writes(r))
        CTT_TRY(ctt_newfile_claim(j->cfg.out, &j->claim[0]));
    CTT_TRY(open_clips(j));
    CTT_TRY(ctt_search_new(r->space, &j->cfg, &r->s));
    CTT_TRY(check_named(r));
    j->page.search = r->s;
    CTT_TRY(ctt_search_open(r));
    CTT_TRY(make_key(r));
    CTT_TRY(ctt_search_meet(r));
    CTT_TRY(ctt_ranks_watch(&j->cfg));
    if (writes(r))
        CTT_TRY(open_log(r));
out:
    return rc;
}

/* ---- trials ---- */

/* Returns 1 if no trial was trained and the first ones have failed (of several
 * at a time, failures end first). */
static int all_fail(const struct ctt_search *s)
{
    for (int i = 0; i < s->cfg->trials; i++) {
        const struct ctt_trial *t = ctt_search_at(s, i, 0);

        if (t->rung < 0 ? i < FAILURES : !t->failed)
            return 0;
    }
    return s->cfg->trials >= FAILURES;
}

/* Waits for a process and keeps its result. */
static int take_one(struct ctt_search_run *r)
{
    struct ctt_search_job job;
    char path[CTT_SEARCH_PATH], *failed = NULL, *line = NULL;
    double seconds;
    int rc;

    CTT_TRY(ctt_search_wait(r, &job, &seconds, &failed));
    CTT_TRY(ctt_search_file(r, &job, "jsonl", path));
    CTT_TRY(ctt_search_result(r->s, &job, path, failed, seconds));
    CTT_TRY(ctt_search_line(r->s, &job, &line));
    CTT_TRY(ctt_search_log_add(r, line));
    ctt_search_say_result(r, &job);
    CTT_CHECK(!all_fail(r->s), CTT_EINVAL, "all %d trials failed, so the "
              "search ends; the last: %s", r->s->results,
              failed ? failed : "of another run");
out:
    ctt_free(failed);
    ctt_free(line);
    return rc;
}

static int run_trials(struct ctt_search_run *r)
{
    struct ctt_search_job job;
    int rc = 0;

    for (;;) {
        while (ctt_search_running(r) < r->places) {
            CTT_TRY(ctt_search_next(r->s, &job));
            if (rc == 0)
                break;
            CTT_TRY(ctt_search_start(r, &job));
        }
        if (!ctt_search_running(r))
            break;
        CTT_TRY(take_one(r));
    }
    rc = 0;
out:
    return rc;
}

/* ---- after ---- */

/* The model of the trial that won; it is trained again if its file is gone. */
static int load_best(struct ctt_search_run *r, struct ctt_search_job *job,
                     struct ctt_model **out)
{
    char path[CTT_SEARCH_PATH], *failed = NULL;
    double seconds;
    int rc;

    CTT_TRY(ctt_search_file(r, job, "h5", path));
    if (access(path, F_OK) != 0) {
        ctt_tool_say("trial %d is trained again, as %s is gone", job->trial + 1,
                     path);
        CTT_TRY(ctt_search_start(r, job));
        CTT_TRY(ctt_search_wait(r, job, &seconds, &failed));
        CTT_CHECK(!failed, CTT_EIO, "trial %d: %s", job->trial + 1, failed);
    }
    CTT_TRY(ctt_model_load(path, 0, out));
out:
    ctt_free(failed);
    return rc;
}

/* Says in the history that the settings were chosen, of how many. */
static int add_history(struct ctt_model *m, const struct ctt_search *s)
{
    const struct ctt_train_cfg *c = s->cfg;
    size_t room = strlen(m->history ? m->history : "") + 160;
    char *text = ctt_calloc(room, 1);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    snprintf(text, room, "%ssearch trials=%d method=%s epochs=%d seed=%d "
             "repeats=%d settings=%d\n", m->history ? m->history : "",
             c->trials, ctt_search_methods[c->search_method], c->epochs,
             c->seed, c->repeats, s->space->count);
    ctt_free(m->history);
    m->history = text;
out:
    return rc;
}

/* Ranks share the tests. */
static int test_best(struct ctt_search_run *r, const struct ctt_search_job *job,
                     const struct ctt_model *m)
{
    struct ctt_training *j = r->j;
    struct ctt_train_cfg c = j->cfg;
    int rc;

    ctt_ranks_unwatch();
    CTT_TRY(ctt_space_apply(r->space, &r->s->draw[job->trial], &c));
    CTT_TRY(ctt_train_result(&c, m, j));
out:
    return rc;
}

/* fresh: test clips have not been scored yet. */
static int write_best(struct ctt_search_run *r, struct ctt_search_job *job,
                      int fresh)
{
    const char *out = r->j->cfg.out;
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(load_best(r, job, &m));
    CTT_TRY(ctt_search_end(r, job, fresh));
    CTT_TRY(add_history(m, r->s));
    CTT_TRY(ctt_model_save(out, m));
    if (fresh)
        CTT_TRY(test_best(r, job, m));
    else
        ctt_tool_say("%s written", out);
out:
    ctt_model_free(&m);
    return rc;
}

static int is_there(struct ctt_search_run *r, const struct ctt_search_job *job)
{
    ctt_tool_say("%s is there already", r->j->cfg.out);
    return ctt_search_end(r, job, 0);
}

static int end_search(struct ctt_search_run *r)
{
    const struct ctt_train_cfg *c = &r->j->cfg;
    int fresh = r->s->won[0] < 0, rc;
    struct ctt_search_job job;
    char *line = NULL;

    CTT_TRY(ctt_search_winner(r->s, &job));
    CTT_CHECK(rc, CTT_EINVAL, "no trial was trained to the end (%s has why)",
              r->log_path);
    r->s->won[0] = job.trial;
    r->s->won[1] = job.repeat;
    CTT_TRY(ctt_search_say(r));
    ctt_tool_say("\ntrial %d is the best, seed %d", job.trial + 1,
                 c->seed + job.repeat);
    if (fresh || access(c->out, F_OK) != 0)
        CTT_TRY(write_best(r, &job, fresh));
    else
        CTT_TRY(is_there(r, &job));
    if (c->search_csv)
        CTT_TRY(ctt_search_csv(r, c->search_csv));
    if (!fresh)
        ctt_train_page_write(&r->j->page);
    if (fresh) {
        CTT_TRY(ctt_search_won_line(r->s, &line));
        CTT_TRY(ctt_search_log_add(r, line));
    }
    ctt_search_clear(r);
    rc = 0;
out:
    ctt_free(line);
    return rc;
}

static int lead(struct ctt_search_run *r)
{
    double all;
    int rc = 0;

    r->began = ctt_seconds();
    ctt_search_work(r->s, &r->done, &all);
    if (r->s->won[0] < 0) {
        ctt_search_say_plan(r);
        CTT_TRY(run_trials(r));
    }
    CTT_TRY(end_search(r));
out:
    return rc;
}

/* A rank that does as rank 0 says. */
static int follow_rank(struct ctt_search_run *r)
{
    char path[CTT_SEARCH_PATH];
    struct ctt_model *m = NULL;
    struct ctt_search_job job;
    int test, rc;

    CTT_TRY(ctt_search_serve(r, &job, &test));
    if (!test)
        goto out;
    CTT_TRY(ctt_search_file(r, &job, "h5", path));
    CTT_TRY(ctt_model_load(path, 0, &m));
    CTT_TRY(test_best(r, &job, m));
out:
    ctt_model_free(&m);
    return rc;
}

int ctt_train_search(struct ctt_training *j, int *status)
{
    struct ctt_search_run r = { .j = j, .log = -1 };
    int rc;

    CTT_TRY(begin_search(&r));
    CTT_TRY(writes(&r) ? lead(&r) : follow_rank(&r));
out:
    ctt_ranks_unwatch();
    ctt_search_close(&r);
    if (r.log >= 0)
        close(r.log);
    ctt_search_free(&r.s);
    ctt_space_free(&r.space);
    if (r.stopped) {
        rc = 0;
        *status = CTT_EXIT_FAIL;
        if (writes(&r))
            ctt_tool_fail(CTT_EXIT_FAIL);
    }
    if (!writes(&r))    /* the error may be of this rank alone: print it */
        j->status = CTT_EXIT_FAIL;
    return rc;
}
