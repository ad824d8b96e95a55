/* SPDX-License-Identifier: Apache-2.0
 * record.c: the log of a search: its head and results as lines of JSON. */
#include "libtrain/search/search.h"
#include "libtrain/settings.h"
#include "base/newfile.h"
#include "base/visible.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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

    fprintf(f, CTT_SEARCH_LOG_BEGIN "\"%s\",\"trials\":%d,\"first\":%d,"
            "\"factor\":%d,\"repeats\":%d,\"epochs\":%d,\"seed\":%d,"
            "\"space\":\"%08" PRIx32 "\",\"model\":\"%08" PRIx32
            "\",\"clips\":\"%08" PRIx32 "\",\"validation\":\"%08" PRIx32
            "\",\"settings\":", ctt_search_methods[c->search_method],
            c->trials, ctt_search_first(c), c->search_factor, c->repeats,
            c->epochs, c->seed, h->key->space, h->key->model, h->key->clips,
            h->key->validation);
    ctt_json_put(f, h->settings);
    fputs("}\n", f);
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

/* The value of member i, up to the next one, of n bytes; NULL: it is not
 * there. */
static const char *value_of(const char *line, size_t i, size_t *n)
{
    const char *p, *end = NULL;
    char next[32];

    snprintf(next, sizeof(next), "\"%s\":", members[i].member);
    p = strstr(line, next);
    if (!p)
        return NULL;
    p += strlen(next);
    if (i + 1 < CTT_LEN(members)) {
        snprintf(next, sizeof(next), ",\"%s\":", members[i + 1].member);
        end = strstr(p, next);
    } else {
        end = strrchr(p, '}');
    }
    *n = end ? (size_t)(end - p) : 0;
    return end ? p : NULL;
}

int ctt_search_same(const char *path, const char *line, const char *now)
{
    size_t whole = strcspn(now, "\n"), n, m;
    int rc = 0;

    if (strlen(line) == whole && memcmp(line, now, whole) == 0)
        goto out;
    for (size_t i = 0; i < CTT_LEN(members); i++) {
        const char *theirs = value_of(line, i, &n);
        const char *ours = value_of(now, i, &m);

        CTT_CHECK(theirs && ours, CTT_EINVAL, "%s: is no log of --search",
                  path);
        CTT_CHECK(n == m && memcmp(theirs, ours, n) == 0, CTT_EINVAL, "%s: is "
                  "of another %s (%.*s, now %.*s): name another --search-log",
                  path, members[i].words, n > 200 ? 200 : (int)n, theirs,
                  m > 200 ? 200 : (int)m, ours);
    }
    rc = ctt_error(CTT_EINVAL, "%s: is no log of --search", path);
out:
    return rc;
}

/* ---- results as lines ---- */

struct line { const struct ctt_search *s; const struct ctt_search_job *job; };

/* What a trial is, which follows from the search. */
static int print_trial(FILE *f, const void *arg)
{
    const struct line *l = arg;
    const struct ctt_space *space = l->s->space;
    const struct ctt_draw *d = &l->s->draw[l->job->trial];
    const char *comma = "";

    fprintf(f, "{\"trial\":%d,\"seed\":%d,\"settings\":{",
            l->job->trial + 1, l->s->cfg->seed + l->job->repeat);
    for (int i = 0; i < space->count; i++)
        if (d->text[i]) {
            fprintf(f, "%s\"%s\":\"%s\"", comma, space->setting[i].opt->name,
                    d->text[i]);
            comma = ",";
        }
    fprintf(f, "},\"epochs\":%d,", l->s->epochs[l->job->rung]);
    return 0;
}

static void put_number(FILE *f, double x)
{
    if (isfinite(x))
        fprintf(f, "%.6g", x);
    else
        fputs("null", f);
}

static void put_numbers(FILE *f, const char *name, const double *x, int n)
{
    fprintf(f, "\"%s\":[", name);
    for (int i = 0; i < n; i++) {
        if (i)
            fputc(',', f);
        put_number(f, x[i]);
    }
    fputs("],", f);
}

static int print_line(FILE *f, const void *arg)
{
    const struct line *l = arg;
    const struct ctt_trial *t = ctt_search_at(l->s, l->job->trial,
                                              l->job->repeat);

    print_trial(f, arg);
    put_numbers(f, "curve", t->score, t->epochs);
    put_numbers(f, "loss", t->loss, t->epochs);
    fprintf(f, "\"best\":%d,\"score\":", ctt_trial_best(l->s, t, t->epochs));
    put_number(f, ctt_trial_score(l->s, t, t->epochs, NULL));
    if (t->failed)
        fprintf(f, ",\"failed\":\"%s\"", t->failed);
    fprintf(f, ",\"seconds\":%.3f}\n", t->seconds);
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

    fprintf(f, "{\"won\":%d,\"seed\":%d}\n", s->won[0] + 1,
            s->cfg->seed + s->won[1]);
    return 0;
}

int ctt_search_won_line(const struct ctt_search *s, char **out)
{
    return ctt_text_collect("--search", print_won, s, out);
}

/* ---- reading lines ---- */

/* Passes `word`; NULL: it is not there. */
static const char *pass(const char *p, const char *word)
{
    size_t n = strlen(word);

    return p && strncmp(p, word, n) == 0 ? p + n : NULL;
}

static const char *take_number(const char *p, double none, double *x)
{
    char *end;

    if (pass(p, "null")) {
        *x = none;
        return p + 4;
    }
    if (!p)
        return NULL;
    *x = strtod(p, &end);
    return end == p || !isfinite(*x) ? NULL : end;
}

/* "[1,null,2]" with at most `most` numbers. */
static const char *take_numbers(const char *p, const char *name, double none,
                                double *x, int most, int *n)
{
    p = pass(pass(pass(p, "\""), name), "\":[");
    *n = 0;
    if (pass(p, "]"))
        return pass(p, "],");
    while (p && *n < most) {
        p = take_number(p, none, &x[(*n)++]);
        if (pass(p, "],"))
            return p + 2;
        p = pass(p, ",");
    }
    return NULL;
}

/* The job that a line is of; NULL: of none. */
static const char *take_job(const struct ctt_search *s, const char *line,
                            struct ctt_search_job *job)
{
    int trial, seed, epochs;
    const char *rest = strstr(line, "},\"epochs\":");

    if (sscanf(line, "{\"trial\":%d,\"seed\":%d,", &trial, &seed) != 2 ||
        !rest || sscanf(rest, "},\"epochs\":%d,", &epochs) != 1 || trial < 1 ||
        trial > s->cfg->trials || seed < s->cfg->seed ||
        seed >= s->cfg->seed + s->cfg->repeats)
        return NULL;
    *job = (struct ctt_search_job){ trial - 1, seed - s->cfg->seed, 0 };
    while (job->rung < s->rungs && s->epochs[job->rung] != epochs)
        job->rung++;
    return job->rung < s->rungs ? rest : NULL;
}

/* A trial comes to one rung after the other, a repeat at once to the last. */
static int follows(const struct ctt_search *s, const struct ctt_search_job *job)
{
    const struct ctt_trial *t = ctt_search_at(s, job->trial, job->repeat);

    return !t->failed && job->rung == (job->repeat ? s->rungs - 1
                                       : t->rung + 1) &&
           (!job->repeat || t->rung < 0);
}

/* There may be none. */
static const char *take_failed(const char *p, char **out)
{
    const char *text = pass(p, ",\"failed\":\""), *end = text;

    if (!text)
        return p;
    while (*end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    *out = ctt_calloc((size_t)(end - text) + 1, 1);
    if (*out)
        memcpy(*out, text, (size_t)(end - text));
    return pass(end, "\"");
}

/* The list of results grows by t, whose arrays the trial takes over. */
static void put(struct ctt_search *s, const struct ctt_search_job *job,
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

/* What follows the settings; NULL: it is damaged. */
static const char *take_rest(const struct ctt_search *s, const char *p,
                             int rung, struct ctt_trial *t)
{
    int most = s->epochs[rung], losses = 0, best = 0, n = 0;
    double score;

    p = take_numbers(p, "curve", NAN, t->score, most, &t->epochs);
    p = take_numbers(p, "loss", INFINITY, t->loss, most, &losses);
    if (!p || losses != t->epochs ||
        sscanf(p, "\"best\":%d,\"score\":%n", &best, &n) != 1 || !n)
        return NULL;
    p = take_number(p + n, NAN, &score);
    p = take_failed(p, &t->failed);
    p = take_number(pass(p, ",\"seconds\":"), NAN, &t->seconds);
    return p && strcmp(p, "}") == 0 && (t->failed || t->epochs > 0) ? p : NULL;
}

static int take_line(struct ctt_search *s, const char *line, const char *rest,
                     const struct ctt_search_job *job)
{
    struct ctt_trial t = { .rung = -1 };
    char *begin = NULL;
    int rc = 0;

    CTT_TRY(ctt_text_collect("--search", print_trial,
                             &(struct line){ s, job }, &begin));
    CTT_TRY(new_arrays(s, job->rung, &t));
    rest = pass(line, begin);
    if (rest && follows(s, job) && take_rest(s, rest, job->rung, &t)) {
        put(s, job, &t);
        rc = 1;
    }
out:
    free_arrays(&t);
    ctt_free(begin);
    return rc;
}

int ctt_search_take(struct ctt_search *s, const char *line)
{
    struct ctt_search_job job = { 0, 0, 0 };
    int trial, seed, n = 0;
    const char *rest;

    if (s->won[0] >= 0)
        return 0;
    if (sscanf(line, "{\"won\":%d,\"seed\":%d}%n", &trial, &seed, &n) == 2 &&
        n && !line[n]) {
        seed -= s->cfg->seed;
        if (trial < 1 || trial > s->cfg->trials || seed < 0 ||
            seed >= s->cfg->repeats ||
            ctt_search_at(s, trial - 1, seed)->rung < s->rungs - 1)
            return 0;
        s->won[0] = trial - 1;
        s->won[1] = seed;
        return 1;
    }
    rest = take_job(s, line, &job);
    return rest ? take_line(s, line, rest, &job) : 0;
}

/* ---- the log of a training ---- */

static double member(const char *line, const char *end, const char *name,
                     double none)
{
    const char *p = strstr(line, name);
    double x;

    return p && p < end && take_number(p + strlen(name), none, &x) ? x : none;
}

/* Epochs of a text of lines, one each; -1: they are not numbered from 1 on. */
static int read_curve(const struct ctt_search *s, const char *text, int most,
                      struct ctt_trial *t)
{
    int predicts = s->cfg->task == CTT_PREDICT, n = 0;
    const char *score = predicts ? "\"val_mse\":" : "\"val_mean_top1\":";
    const char *loss = predicts ? "\"val_loss\":" : "\"val_mean_loss\":";

    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        if (n == most ||
            member(text, end, CTT_LOG_JSON_BEGIN, 0) != n + 1)
            return -1;
        t->score[n] = member(text, end, score, NAN);
        t->loss[n++] = member(text, end, loss, INFINITY);
    }
    return n;
}

/* A string without the quotes of JSON. */
static int print_failed(FILE *f, const void *arg)
{
    ctt_json_put(f, arg);
    return 0;
}

static int quote(const char *text, char **out)
{
    char *json = NULL;
    int rc;

    CTT_TRY(ctt_text_collect("--search", print_failed, text, &json));
    json[strlen(json) - 1] = '\0';
    *out = ctt_strdup(json + 1);
    rc = *out ? 0 : CTT_ENOMEM;
out:
    ctt_free(json);
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
        CTT_TRY(quote(failed, &t.failed));
    } else {
        CTT_TRY(ctt_file_text(log, MOST_LOG, &text, &size));
        t.epochs = read_curve(s, text, s->epochs[job->rung], &t);
        CTT_CHECK(t.epochs > 0, CTT_EFORMAT, "%s: is no log of trial %d with "
                  "%d epochs", log, job->trial + 1, s->epochs[job->rung]);
    }
    put(s, job, &t);
    rc = 0;
out:
    free_arrays(&t);
    ctt_free(text);
    return rc;
}
