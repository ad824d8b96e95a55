/* SPDX-License-Identifier: Apache-2.0
 * record.c: the log of a search: its head and results as lines of JSON. */
#include "libtrain/search/search.h"
#include "libtrain/settings.h"
#include "base/json.h"
#include "base/newfile.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { MOST_LOG = 64 << 20 };    /* bytes of the log of a training */

/* ---- the head ---- */

struct head {
    const struct ctt_search *s;
    const struct ctt_search_key *key;
    const char *settings;
};

static int print_head(FILE *f, const void *arg)
{
    const struct head *h = arg;
    const struct ctt_train_cfg *c = h->s->cfg;
    struct ctt_json_out o = { f, "", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "search", ctt_search_methods[c->search_method]);
    ctt_json_put_int(&o, "trials", c->trials);
    ctt_json_put_int(&o, "first", ctt_search_first(c));
    ctt_json_put_int(&o, "factor", c->search_factor);
    ctt_json_put_int(&o, "repeats", c->repeats);
    ctt_json_put_int(&o, "epochs", c->epochs);
    ctt_json_put_int(&o, "seed", c->seed);
    ctt_json_put_crc(&o, "space", h->key->space);
    ctt_json_put_crc(&o, "model", h->key->model);
    ctt_json_put_crc(&o, "clips", h->key->clips);
    ctt_json_put_crc(&o, "validation", h->key->validation);
    ctt_json_put_text(&o, "settings", h->settings);
    ctt_json_finish(&o, '}');
    fputc('\n', f);
    return 0;
}

/* Settings that affect results, but may change when a training resumes. */
static int changed(const struct ctt_train_cfg *c, char **out)
{
    char *all = NULL, *text;
    size_t room;
    int rc;

    CTT_TRY(ctt_settings_changed(c, &all));
    room = strlen(all) + 64;
    text = ctt_calloc(room, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    snprintf(text, room, "%s max-steps=%d early-stop=%d", all, c->max_steps,
             c->early_stop);
    *out = text;
out:
    ctt_free(all);
    return rc;
}

int ctt_search_head(const struct ctt_search *s,
                    const struct ctt_search_key *key, char **out)
{
    char *settings = NULL;
    int rc;

    CTT_TRY(changed(s->cfg, &settings));
    CTT_TRY(ctt_text_collect("--search", print_head,
                             &(struct head){ s, key, settings }, out));
out:
    ctt_free(settings);
    return rc;
}

/* The members of the head, and what they are called. */
static const struct { const char *member, *words; } members[] = {
    { "search", "--search-method" }, { "trials", "--trials" },
    { "first", "--search-first" }, { "factor", "--search-factor" },
    { "repeats", "--repeats" }, { "epochs", "--epochs" },
    { "seed", "--seed" }, { "space", "search space" }, { "model", "model" },
    { "clips", "set of training clips" },
    { "validation", "set of validation clips" },
    { "settings", "list of settings" },
};

enum { SHOWN = 240 };

/* A value as a message shows it. */
static const char *shown(const struct ctt_value *v, char to[SHOWN])
{
    char digits[CTT_JSON_NUMBER];
    const char *text = ctt_json_scalar(v, digits);

    snprintf(to, SHOWN, ctt_json_kind(v) == '"' ? "\"%.200s\"" : "%.200s",
             text ? text : "?");
    return to;
}

/* The first member that differs; past the last: none. */
static size_t find_other(const struct ctt_value *a, const struct ctt_value *b)
{
    size_t i = 0;

    while (i < CTT_LEN(members) &&
           ctt_json_equal(ctt_json_get(a, members[i].member),
                          ctt_json_get(b, members[i].member)))
        i++;
    return i;
}

int ctt_search_same(const char *path, const char *line, const char *now)
{
    struct ctt_value *theirs = NULL, *ours = NULL;
    const struct ctt_value *was = NULL, *is;
    char was_text[SHOWN], is_text[SHOWN];
    size_t whole = strcspn(now, "\n"), i;
    int rc = 0;

    if (strlen(line) == whole && memcmp(line, now, whole) == 0)
        goto out;
    CTT_TRY(ctt_json_parse(path, 1, now, &ours));
    rc = ctt_json_parse(path, 1, line, &theirs);
    CTT_TRY(rc == CTT_EFORMAT ? 0 : rc);
    i = find_other(theirs, ours);
    if (i < CTT_LEN(members))
        was = ctt_json_get(theirs, members[i].member);
    CTT_CHECK(was, CTT_EINVAL, "%s: is no log of --search", path);
    is = ctt_json_get(ours, members[i].member);
    rc = ctt_error(CTT_EINVAL, "%s: is of another %s (%s, now %s): name "
                   "another --search-log", path, members[i].words,
                   shown(was, was_text), shown(is, is_text));
out:
    ctt_json_free(&theirs);
    ctt_json_free(&ours);
    return rc;
}

/* ---- results as lines ---- */

struct line { const struct ctt_search *s; const struct ctt_search_job *job; };

static void put_settings(struct ctt_json_out *o, const struct ctt_space *space,
                         const struct ctt_draw *d)
{
    ctt_json_begin(o, "settings", '{');
    for (int i = 0; i < space->count; i++)
        if (d->text[i])
            ctt_json_put_text(o, space->setting[i].opt->name, d->text[i]);
    ctt_json_finish(o, '}');
}

static int print_line(FILE *f, const void *arg)
{
    const struct line *l = arg;
    const struct ctt_search_job *job = l->job;
    const struct ctt_trial *t = ctt_search_at(l->s, job->trial, job->repeat);
    struct ctt_json_out o = { f, "", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_int(&o, "trial", job->trial + 1);
    ctt_json_put_int(&o, "seed", l->s->cfg->seed + job->repeat);
    put_settings(&o, l->s->space, &l->s->draw[job->trial]);
    ctt_json_put_int(&o, "epochs", l->s->epochs[job->rung]);
    ctt_json_put_reals(&o, "curve", 6, t->score, t->epochs);
    ctt_json_put_reals(&o, "loss", 6, t->loss, t->epochs);
    ctt_json_put_int(&o, "best", ctt_trial_best(l->s, t, t->epochs));
    ctt_json_put_real(&o, "score", 6, ctt_trial_score(l->s, t, t->epochs,
                                                      NULL));
    if (t->failed)
        ctt_json_put_text(&o, "failed", t->failed);
    ctt_json_put_fixed(&o, "seconds", 3, t->seconds);
    ctt_json_finish(&o, '}');
    fputc('\n', f);
    return 0;
}

int ctt_search_line(const struct ctt_search *s,
                    const struct ctt_search_job *job, char **out)
{
    return ctt_text_collect("--search", print_line,
                            &(struct line){ s, job }, out);
}

static int print_won(FILE *f, const void *arg)
{
    const struct ctt_search *s = arg;
    struct ctt_json_out o = { f, "", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_int(&o, "won", s->won[0] + 1);
    ctt_json_put_int(&o, "seed", s->cfg->seed + s->won[1]);
    ctt_json_finish(&o, '}');
    fputc('\n', f);
    return 0;
}

int ctt_search_won_line(const struct ctt_search *s, char **out)
{
    return ctt_text_collect("--search", print_won, s, out);
}

/* ---- reading lines ---- */

static int take_seed(const struct ctt_search *s, const struct ctt_value *v,
                     int *repeat)
{
    int seed = s->cfg->seed, taken;

    if (!ctt_json_int(ctt_json_get(v, "seed"), seed,
                      seed + s->cfg->repeats - 1, &taken))
        return 0;
    *repeat = taken - seed;
    return 1;
}

static int same_settings(const struct ctt_search *s, int trial,
                         const struct ctt_value *v)
{
    const struct ctt_draw *d = &s->draw[trial];
    int n = 0;

    for (int i = 0; i < s->space->count; i++) {
        const char *name = s->space->setting[i].opt->name, *text;

        if (!d->text[i])
            continue;
        text = ctt_json_text(ctt_json_get(v, name));
        if (!text || strcmp(text, d->text[i]) != 0)
            return 0;
        n++;
    }
    return ctt_json_kind(v) == '{' && ctt_json_size(v) == n;
}

/* The job of a line: 1; 0: no job of this search. */
static int take_job(const struct ctt_search *s, const struct ctt_value *v,
                    struct ctt_search_job *job)
{
    int epochs;

    if (!ctt_json_int(ctt_json_get(v, "trial"), 1, s->cfg->trials,
                      &job->trial) ||
        !take_seed(s, v, &job->repeat) ||
        !ctt_json_int(ctt_json_get(v, "epochs"), 0, INT_MAX, &epochs))
        return 0;
    job->trial--;
    while (job->rung < s->rungs && s->epochs[job->rung] != epochs)
        job->rung++;
    return job->rung < s->rungs &&
           same_settings(s, job->trial, ctt_json_get(v, "settings"));
}

/* A trial comes to one rung after the other, a repeat at once to the last. */
static int follows(const struct ctt_search *s, const struct ctt_search_job *job)
{
    const struct ctt_trial *t = ctt_search_at(s, job->trial, job->repeat);

    return !t->failed && job->rung == (job->repeat ? s->rungs - 1
                                       : t->rung + 1) &&
           (!job->repeat || t->rung < 0);
}

/* The list of results grows by t, whose arrays the trial takes over. */
static void put_result(struct ctt_search *s, const struct ctt_search_job *job,
                       struct ctt_trial *t)
{
    struct ctt_trial *to = ctt_search_at(s, job->trial, job->repeat);

    memcpy(t->order, to->order, sizeof(t->order));
    for (int k = to->rung + 1; k <= job->rung; k++)
        t->order[k] = s->results;
    t->rung = job->rung;
    s->results++;
    ctt_free(to->score);
    ctt_free(to->loss);
    ctt_free(to->failed);
    *to = *t;
    *t = (struct ctt_trial){ .rung = -1 };
}

static int new_arrays(const struct ctt_search *s, int rung,
                      struct ctt_trial *t)
{
    size_t n = (size_t)s->epochs[rung];

    t->score = ctt_calloc(n, sizeof(double));
    t->loss = ctt_calloc(n, sizeof(double));
    return t->score && t->loss ? 0 : CTT_ENOMEM;
}

static void free_arrays(struct ctt_trial *t)
{
    ctt_free(t->score);
    ctt_free(t->loss);
    ctt_free(t->failed);
}

/* Whether numbers can be scores of epochs, shares or with --task=predict mean
 * squares, and losses.  Those of an epoch without a test are NAN and
 * INFINITY. */
static int are_scores(const struct ctt_search *s, const struct ctt_trial *t,
                      int failed, double score)
{
    double most = s->cfg->task == CTT_PREDICT ? INFINITY : 1;
    double best = failed ? NAN : ctt_trial_score(s, t, t->epochs, NULL);

    for (int i = 0; i < t->epochs; i++)
        if (t->score[i] < 0 || t->score[i] > most || !(t->loss[i] >= 0))
            return 0;
    return t->seconds >= 0 && (isnan(best) ? isnan(score) : score == best);
}

/* The results of a line: 1; 0: it is damaged. */
static int take_results(const struct ctt_search *s, const struct ctt_value *v,
                        int rung, struct ctt_trial *t)
{
    const struct ctt_value *curve = ctt_json_get(v, "curve");
    const struct ctt_value *failed = ctt_json_get(v, "failed");
    const char *why = ctt_json_text(failed);
    double score;
    int best, rc;

    t->epochs = ctt_json_size(curve);
    rc = t->epochs <= s->epochs[rung] && (t->epochs > 0 || why) &&
         ctt_json_reals(curve, NAN, t->score, t->epochs) &&
         ctt_json_reals(ctt_json_get(v, "loss"), INFINITY, t->loss,
                        t->epochs) &&
         ctt_json_int(ctt_json_get(v, "best"), 0, INT_MAX, &best) &&
         ctt_json_real(ctt_json_get(v, "score"), NAN, &score) &&
         ctt_json_real(ctt_json_get(v, "seconds"), NAN, &t->seconds) &&
         !failed == !why && are_scores(s, t, why != NULL, score);
    if (rc && why) {
        t->failed = ctt_strdup(why);
        rc = t->failed ? 1 : CTT_ENOMEM;
    }
    return rc;
}

static int take_result(struct ctt_search *s, const struct ctt_value *v)
{
    struct ctt_search_job job = { 0, 0, 0 };
    struct ctt_trial t = { .rung = -1 };
    int rc;

    if (!take_job(s, v, &job) || !follows(s, &job))
        return 0;
    CTT_TRY(new_arrays(s, job.rung, &t));
    CTT_TRY(take_results(s, v, job.rung, &t));
    if (rc)
        put_result(s, &job, &t);
out:
    free_arrays(&t);
    return rc;
}

static int take_won(struct ctt_search *s, const struct ctt_value *v)
{
    int trial, repeat;

    if (!ctt_json_int(ctt_json_get(v, "won"), 1, s->cfg->trials, &trial) ||
        !take_seed(s, v, &repeat) ||
        ctt_search_at(s, trial - 1, repeat)->rung < s->rungs - 1)
        return 0;
    s->won[0] = trial - 1;
    s->won[1] = repeat;
    return 1;
}

int ctt_search_take(struct ctt_search *s, const char *line)
{
    struct ctt_value *v = NULL;
    int rc;

    if (s->won[0] >= 0)
        return 0;
    rc = ctt_json_parse("--search", 1, line, &v);
    CTT_TRY(rc == CTT_EFORMAT ? 0 : rc);
    CTT_TRY(ctt_json_get(v, "won") ? take_won(s, v) : take_result(s, v));
out:
    ctt_json_free(&v);
    return rc;
}

/* ---- the log of a training ---- */

/* Takes epoch n + 1 of a line: 1; 0: another one or none. */
static int read_epoch(const struct ctt_search *s, const char *line, int n,
                      struct ctt_trial *t)
{
    int predicts = s->cfg->task == CTT_PREDICT, epoch, rc;
    const char *score = predicts ? "val_mse" : "val_mean_top1";
    const char *loss = predicts ? "val_loss" : "val_mean_loss";
    struct ctt_value *v = NULL;

    rc = ctt_json_parse("--log-json", n + 1, line, &v);
    CTT_TRY(rc == CTT_EFORMAT ? 0 : rc);
    rc = ctt_json_int(ctt_json_get(v, "epoch"), n + 1, n + 1, &epoch);
    t->score[n] = NAN;
    t->loss[n] = INFINITY;
    if (rc) {
        if (ctt_json_get(v, "val_mean_map"))    /* several labels per clip */
            score = "val_mean_map";
        ctt_json_real(ctt_json_get(v, score), NAN, &t->score[n]);
        ctt_json_real(ctt_json_get(v, loss), INFINITY, &t->loss[n]);
    }
out:
    ctt_json_free(&v);
    return rc;
}

/* The number of epochs of a text with a whole line each; 0: they are not
 * numbered from 1 on, or more than `most`. */
static int read_curve(const struct ctt_search *s, char *text, int most,
                      struct ctt_trial *t)
{
    int n = 0, rc = 0;

    for (char *end; (end = strchr(text, '\n')) != NULL; text = end + 1, n++) {
        *end = '\0';
        if (n == most)
            return 0;
        CTT_TRY(read_epoch(s, text, n, t));
        if (!rc)
            return 0;
    }
    rc = n;
out:
    return rc;
}

int ctt_search_result(struct ctt_search *s, const struct ctt_search_job *job,
                      const char *log, const char *failed, double seconds)
{
    struct ctt_trial t = { .rung = -1 };
    char *text = NULL;
    int64_t size;
    int rc;

    t.seconds = seconds + ctt_search_at(s, job->trial, job->repeat)->seconds;
    CTT_TRY(new_arrays(s, job->rung, &t));
    if (failed) {
        t.failed = ctt_strdup(failed);
        CTT_TRY(t.failed ? 0 : CTT_ENOMEM);
    } else {
        CTT_TRY(ctt_file_text(log, MOST_LOG, &text, &size));
        CTT_TRY(t.epochs = read_curve(s, text, s->epochs[job->rung], &t));
        CTT_CHECK(t.epochs > 0, CTT_EFORMAT, "%s: is no log of trial %d with "
                  "%d epochs", log, job->trial + 1, s->epochs[job->rung]);
    }
    put_result(s, job, &t);
    rc = 0;
out:
    free_arrays(&t);
    ctt_free(text);
    return rc;
}
