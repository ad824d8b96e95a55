/* SPDX-License-Identifier: Apache-2.0
 * machine.c: a made-up machine on which recipes choose. */
#include "tests/lib/machine.h"
#include "tests/lib/check.h"
#include "tests/lib/saved.h"
#include "tests/lib/small.h"
#include "base/limits.h"
#include "net/quant.h"

#include <stdio.h>
#include <string.h>

const char machine_net[] = "input x h=6 w=6 c=16\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "convlstm h in=r hidden=8 kernel=3\npool p in=h kind=avg\n"
    "conv y in=p out=5\n";

/* ---- properties of a model ---- */

int machine_bytes(const struct ctt_model *m)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += ctt_is_int8(m->g, i);
    return n;
}

int machine_chains(const struct ctt_model *m)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += strstr(m->g->node[i].name, ".t1") != NULL;
    return n;
}

/* Whether conv a, which is pruned, is so in whole blocks. */
int machine_in_blocks(const struct ctt_model *m)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, "a")];

    return m->constraint.keep &&
           ctt_units_whole(CTT_PRUNE_BLOCK, &n->w[0], 1,
                           m->constraint.keep + n->at[0]);
}

static double time_of(const struct machine *t, const char *path)
{
    struct ctt_model *m = NULL;
    double ms = 4;

    if (ctt_model_load(path, 0, &m) < 0)
        return -1;    /* memory */
    if (machine_bytes(m))
        ms *= (machine_bytes(m) > t->few ? t->int8 : t->part) *
              (machine_in_blocks(m) ? t->blocks : 1);
    for (int i = machine_chains(m); i > 0; i--)
        ms *= t->chain;
    ctt_model_free(&m);
    return ms;
}

/* Whether the runtime has memory for the model. */
static int machine_fits(const struct machine *t, const char *path)
{
    struct ctt_model *m = NULL;
    int fits = 1;

    if (!t->no_blocks && !t->no_chains)
        return 1;
    CHECK_OK(ctt_model_load(path, 0, &m));
    fits = !(t->no_blocks && machine_in_blocks(m)) &&
           !(t->no_chains && machine_chains(m));
    ctt_model_free(&m);
    return fits;
}

static int machine_compare(void *arg, const char *base, const char *path,
                           struct ctt_speed *s)
{
    struct machine *t = arg;
    double was = time_of(t, base), ms = time_of(t, path);

    t->compared++;
    if (was < 0 || ms < 0)
        return CTT_ENOMEM;
    if (!machine_fits(t, path) || !machine_fits(t, base))
        return ctt_memory_check("out of memory", INT64_MAX);
    *s = (struct ctt_speed){ ms, ms / was, 0, t->busy };
    return 0;
}

static int machine_accuracy(void *arg, const char *stage,
                            const struct ctt_model *m, struct ctt_score *s)
{
    const struct machine *t = arg;

    (void)stage;
    *s = (struct ctt_score){ .clips = 100 };
    for (int k = 0; k < CTT_ACCURACIES; k++)
        s->top1[k] = 0.9 - (machine_bytes(m) > t->few ? t->lost : 0);
    return 0;
}

static int machine_retrain(void *arg, const char *stage, int epochs,
                           const struct ctt_changes *during,
                           struct ctt_model *m)
{
    (void)arg;
    (void)stage;
    (void)epochs;
    (void)during;
    (void)m;
    return 0;
}

static void machine_log(void *arg, const char *line)
{
    struct machine *t = arg;
    size_t n = strlen(t->said);

    snprintf(t->said + n, sizeof(t->said) - n, "%s\n", line);
}

/* ---- running ---- */

struct ctt_recipe machine_recipe(int aim)
{
    return (struct ctt_recipe){
        .prune = { .share = 0.8f, .rounds = 1, .form = CTT_PRUNE_AUTO },
        .fold = { CTT_FOLD_AUTO }, .round = { .bits = 8, .bias_bits = 8 },
        .int8 = { .method = CTT_INT8_AUTO, .harm = 0.005f, .epochs = 2 },
        .epochs = 2, .aim = aim,
    };
}

struct ctt_recipe_calls machine_calls(struct machine *t)
{
    return (struct ctt_recipe_calls){ .arg = t, .compare = machine_compare,
        .accuracy = machine_accuracy, .retrain = machine_retrain,
        .say = machine_log, .sample = small_sample_any, .clips = 100 };
}

struct machine_result machine_run(const char *text, const struct ctt_recipe *o,
                             const struct ctt_recipe_calls *calls)
{
    struct machine_result x = { small_model(text, 5), NULL };

    CHECK_OK(ctt_recipe_run(o, calls, saved_path, NULL, &x.m, &x.r));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x.r);
    return x;
}

void machine_end(struct machine_result *x)
{
    ctt_report_free(&x->r);
    ctt_model_free(&x->m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

const char *machine_chosen(const struct machine_result *x)
{
    const struct ctt_choice *c = ctt_report_form(x->r);

    return c ? c->name : "none";
}

int machine_says(const struct machine_result *x, const char *line)
{
    return x->m->history && strstr(x->m->history, line) != NULL;
}

struct ctt_choice *machine_row(const struct machine_result *x, const char *of,
                              const char *name)
{
    for (int i = 0; i < x->r->choices; i++)
        if (strcmp(x->r->choice[i].of, of) == 0 &&
            strcmp(x->r->choice[i].name, name) == 0)
            return &x->r->choice[i];
    CU_FAIL_FATAL("no such candidate");
    return NULL;
}
