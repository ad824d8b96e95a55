/* SPDX-License-Identifier: Apache-2.0
 * recipe.c: the stages in order; after each round of one the model is tested,
 * retrained, tested again and measured. */
#include "compress/stage.h"
#include "net/newfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct run {
    struct ctt_walk k;
    const char     *path;     /* models are measured in a file beside it */
    int             rounds;   /* done so far, of all stages */
};

/* ---- one round ---- */

/* Adds a line to the history. */
static int note(struct ctt_model *m, const char *line)
{
    const char *old = m->history ? m->history : "";
    size_t n = strlen(old), size = n + strlen(line) + 3;
    char *s = ctt_calloc(size, 1);

    if (!s)
        return CTT_ENOMEM;
    snprintf(s, size, "%s%s%s\n", old, n && old[n - 1] != '\n' ? "\n" : "",
             line);
    ctt_free(m->history);
    m->history = s;
    return 0;
}

int ctt_walk_accuracy(const struct ctt_walk *k, const char *what,
                      const struct ctt_model *m, double top1[CTT_ACCURACIES])
{
    if (!k->calls->accuracy)
        return 0;
    return k->calls->accuracy(k->calls->arg, what, m, top1);
}

/* Adds a row to the report, measured on the saved model, whose file is then
 * dropped. */
static int measure(struct run *a, struct ctt_stage_row **row)
{
    struct ctt_newfile *f = NULL;
    struct ctt_walk *k = &a->k;
    const char *temp;
    int rc = 0;

    CTT_TRY(ctt_newfile_open(a->path, &f));
    temp = ctt_newfile_temp(f);
    CTT_TRY(ctt_model_put(f, *k->m));
    CTT_TRY(ctt_report_stage(k->r, k->name, *k->m, temp, row));
    CTT_TRY(ctt_report_stored(k->r, temp));
    if (k->calls->time)
        CTT_TRY(k->calls->time(k->calls->arg, temp, &(*row)->ms));
out:
    ctt_newfile_drop(&f);
    return rc;
}

/* Tests, retrains and measures.  first: the model as given, which has no
 * accuracy before retraining. */
static int finish(struct run *a, int epochs, int first)
{
    double before[CTT_ACCURACIES] = { NAN, NAN, NAN };
    double after[CTT_ACCURACIES];
    struct ctt_walk *k = &a->k;
    struct ctt_stage_row *row;
    int rc = 0;

    CTT_TRY(ctt_walk_accuracy(k, k->name, *k->m, before));
    memcpy(after, before, sizeof(after));
    if (epochs > 0 && k->calls->retrain) {
        CTT_TRY(k->calls->retrain(k->calls->arg, k->name, epochs, *k->m));
        CTT_TRY(ctt_walk_accuracy(k, k->name, *k->m, after));
    }
    CTT_TRY(measure(a, &row));
    memcpy(row->after, after, sizeof(after));
    if (!first)
        memcpy(row->before, before, sizeof(before));
out:
    return rc;
}

/* ---- all ---- */

static int run_stage(struct run *a, const struct ctt_stage *s)
{
    const struct ctt_recipe *o = a->k.o;
    int rc = 0;

    a->k.start = 0;
    for (int i = 1; i <= ctt_stage_rounds(s, o); i++) {
        CTT_TRY(s->run(&a->k, i));
        CTT_TRY(note(*a->k.m, a->k.line));
        CTT_TRY(finish(a, ctt_recipe_epochs(o, a->rounds), 0));
        a->rounds++;
    }
out:
    return rc;
}

static int check(const struct ctt_model *m, const struct ctt_recipe *o)
{
    int asked = 0, rc = 0;

    for (int i = 0; ctt_stages[i]; i++)
        asked |= ctt_stages[i]->asked(o);
    CTT_CHECK(asked, CTT_EINVAL, "nothing to do: no stage is asked");
    for (int i = 0; ctt_stages[i]; i++)
        CTT_TRY(ctt_stages[i]->check(o, m));
out:
    return rc;
}

int ctt_recipe_run(const struct ctt_recipe *o,
                   const struct ctt_recipe_calls *calls, const char *path,
                   struct ctt_model **m, struct ctt_report **out)
{
    struct run a = { .k = { .o = o, .calls = calls, .m = m,
                            .name = "as given" }, .path = path };
    int rc = 0;

    CTT_TRY(check(*m, o));
    CTT_TRY(ctt_report_new(*m, &a.k.r));
    CTT_TRY(finish(&a, 0, 1));
    for (int i = 0; ctt_stages[i]; i++)
        CTT_TRY(run_stage(&a, ctt_stages[i]));
    CTT_TRY(ctt_model_save(path, *m));
    *out = a.k.r;
    a.k.r = NULL;
out:
    ctt_report_free(&a.k.r);
    return rc;
}
