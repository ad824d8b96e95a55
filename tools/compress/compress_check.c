/* SPDX-License-Identifier: Apache-2.0
 * compress_check.c: settings of convtt-compress that have no effect beside
 * others, where the table of options cannot say so. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"
#include "net/code/zip.h"

#include <stdio.h>
#include <string.h>

int ctt_compress_check_trainer(const struct ctt_compress_cfg *c)
{
    int clips = c->train.data || c->train.val, rc = 0;

    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++) {
        if (ctt_opt_is_default(o, &c->train))
            continue;
        CTT_CHECK(clips || !(o->tags & CTT_CFG_CLIPS), CTT_EINVAL,
                  "--%s requires --data or --val", o->name);
        CTT_CHECK(c->recipe.epochs || !(o->tags & CTT_CFG_STEP), CTT_EINVAL,
                  "--%s requires retraining: --data and --retrain-epochs other "
                  "than 0", o->name);
    }
out:
    return rc;
}

int ctt_compress_check_stages(const struct ctt_compress_cfg *c,
                              const struct ctt_opt *tab)
{
    static const char *const of[] = { "prune-steps", "prune-until",
                                      "share-epochs", "int8-epochs" };
    int rc = 0;

    for (size_t i = 0; !c->recipe.epochs && i < CTT_LEN(of); i++)
        CTT_CHECK(ctt_opt_is_default(tab + ctt_opt_find(tab, of[i]), c),
                  CTT_EINVAL, "--%s requires retraining: --data and "
                  "--retrain-epochs other than 0", of[i]);
out:
    return rc;
}

/* Fails for a setting of INT8 where auto has nothing to choose. */
static int check_int8(const struct ctt_compress_cfg *c,
                      const struct ctt_opt *tab, int clips)
{
    static const char *const of[] = { "int8-except", "int8-slow",
                                      "int8-harm" };
    int rc = 0;

    if (c->recipe.int8.method != CTT_INT8_AUTO ||
        (clips && ctt_recipe_opens_type(&c->recipe)))
        goto out;
    for (size_t i = 0; i < CTT_LEN(of); i++)
        CTT_CHECK(ctt_opt_is_default(tab + ctt_opt_find(tab, of[i]), c),
                  CTT_EINVAL, "--%s requires --int8 other than auto, which "
                  "reads bytes only with clips of classes, without --half, and "
                  "with --thin, --svd-rank, --svd-energy, --svd-macs, "
                  "--tt-rank, --tt-tol or --prune", of[i]);
out:
    return rc;
}

int ctt_compress_check_choices(const struct ctt_compress_cfg *c,
                               const struct ctt_opt *tab, int clips)
{
    int rc;

    CTT_CHECK(ctt_opt_is_default(tab + ctt_opt_find(tab, "for"), c) ||
              ctt_recipe_opens(&c->recipe, clips), CTT_EINVAL,
              "--for requires something to choose: --tt-rank or --tt-tol, or "
              "with clips of classes --prune that is retrained, or --int8=auto "
              "for a model that is thinned, factorised or pruned");
    CTT_CHECK(c->recipe.aim != CTT_AIM_MS ||
              ctt_compress_may_time(c), CTT_EINVAL,
              "--for=ms requires times, which are not measured with "
              "--choose-by=rules or --device=ref");
    CTT_TRY(check_int8(c, tab, clips));
out:
    return rc;
}

/* ---- what results depend on ---- */

/* Files, and what only says where and how fast. */
static int is_result(const struct ctt_opt *o)
{
    static const char *const none[] = { "out", "budget", "dry-run",
        "sense-log", "sense-clips", "sense-kl", "budget-steps", "budget-csv",
        "for", "choose-by", "data", "val", "dense", "explain-log",
        "explain-csv", "profile", "report", "report-html", NULL };

    if (ctt_compress_listed(o->name, none))
        return 0;
    return !(o->tags & CTT_CFG_RESUME) ||
           strcmp(o->name, "retrain-epochs") == 0 ||
           strcmp(o->name, "epochs") == 0 || strcmp(o->name, "max-steps") == 0;
}

/* A new number once rows of a log no longer mean the same: 3, as pruning leaves
 * out the weights that are not assigned it. */
enum { METHOD = 3 };

static int print_settings(FILE *f, const void *arg)
{
    const struct ctt_compress_job *j = arg;
    struct ctt_opt tab[CTT_OPT_MAX + 1];
    int n = 0;

    for (const struct ctt_opt *o = j->tab; o->name; o++)
        if (is_result(o))
            tab[n++] = *o;
    tab[n] = (struct ctt_opt){ .name = NULL };
    ctt_opt_print(tab, &j->c, f);
    fprintf(f, " data=%08x method=%d\n",
            (unsigned)(j->data ? ctt_data_crc(j->data) : 0), METHOD);
    return 0;
}

int ctt_compress_how(const struct ctt_compress_job *j, uint32_t *how)
{
    char *text = NULL;
    int rc;

    CTT_TRY(ctt_text_collect("settings", print_settings, j, &text));
    *how = ctt_crc32(0, text, 1, (int64_t)strlen(text));
out:
    ctt_free(text);
    return rc;
}

int ctt_compress_can_log(struct ctt_compress_job *j, const char *path,
                         const struct ctt_output_kind *kind)
{
    return ctt_compress_log_fault(j, ctt_output_check(path, kind));
}

int ctt_compress_log_fault(struct ctt_compress_job *j, int rc)
{
    if (rc == CTT_EINVAL || rc == CTT_EFORMAT)
        j->status = CTT_EXIT_USAGE;
    return rc;
}

int ctt_compress_check_dense(struct ctt_compress_job *j,
                             const struct ctt_model *m, const char *path)
{
    int dense = !m->constraint.keep &&
                !ctt_constraint_shares(&m->constraint, m->g->weights);
    int rc = 0;

    for (int i = 0; i < m->g->count; i++)
        dense &= m->g->node[i].op != CTT_OP_QUANT;
    if (!dense)
        j->status = CTT_EXIT_USAGE;
    CTT_CHECK(dense, CTT_EINVAL, "%s: is pruned, shared or quantised: --%s "
              "needs the dense model that it was made of", path,
              j->c.budget ? "budget" : "explain");
out:
    return rc;
}
