/* SPDX-License-Identifier: Apache-2.0
 * compress_prove.c: which clips trained, chose and proved a compressed
 * model. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/training.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <stdio.h>

static void add_use(struct ctt_report *r, const char *used_for,
                    const char *path,
                    const char *split, const struct ctt_data *d)
{
    r->clips[r->sets++] = (struct ctt_clips){ used_for, path, split,
                                              ctt_data_clips(d) };
}

/* Whether they chose the convs that read floats. */
static int chose_convs(const struct ctt_recipe *o, const struct ctt_report *r)
{
    const struct ctt_choice *c = ctt_report_form(r);

    if (o->int8.method == CTT_INT8_AUTO)
        return c && c->int8;
    return o->int8.method > 0 && ctt_int8_auto(&o->int8);
}

/* The choices of the validation clips, or "". */
static const char *choice(const struct ctt_recipe *o,
                          const struct ctt_report *r, char *text, size_t size)
{
    const struct ctt_tt *t = &o->tt;
    const char *const parts[] = {
        o->epochs <= 0 ? NULL : o->automatic
        ? "the best epoch of each retraining and when it ended"
        : "the best epoch of each retraining",
        (t->rank > 0 || t->tol > 0) && t->harm > 0 && t->harm < 1
        ? "which weights stay whole" : NULL,
        chose_convs(o, r) ? "which convs read floats" : NULL,
    };
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < CTT_LEN(parts) && n < size; i++)
        if (parts[i])
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", and " : "",
                                  parts[i]);
    return text;
}

/* Tests both; base: of the original. */
static int test_both(const struct ctt_compress_job *j, struct ctt_data *d,
                     struct ctt_report *r)
{
    const struct ctt_train_cfg *c = &j->c.train;
    struct ctt_metrics *base = NULL;
    struct ctt_model *given = NULL;
    int rc;

    CTT_TRY(ctt_model_load(j->path, 0, &given));
    CTT_TRY(ctt_compress_test(given, c, d, NULL, &r->proof[0], &base));
    CTT_TRY(ctt_compress_test(j->m, c, d, base, &r->proof[1], NULL));
    add_use(r, "proof", c->data, "test", d);
out:
    ctt_metrics_free(&base);
    ctt_model_free(&given);
    return rc;
}

static int prove(const struct ctt_compress_job *j, struct ctt_report *r)
{
    struct ctt_data *d = NULL;
    char text[160], missing[96] = "";
    int rc = 0, opened;

    opened = ctt_held_out_open(&j->c.train, j->m,
                               ctt_all_clips(j->whole, j->data), j->val, &d);
    CTT_TRY(ctt_is_lack(opened) ? opened : 0);
    choice(&j->c.recipe, r, text, sizeof(text));
    if (j->c.train.task != CTT_NEXT)
        snprintf(missing, sizeof(missing), ": %s",
                 ctt_held_out_missing(opened));
    ctt_tool_say("\n%s is that of the validation %s, which chose %s: "
                 "it flatters; %s%s", j->c.train.task == CTT_NEXT
                 ? "perplexity" : ctt_score_word(r->several),
                 ctt_word_clips(&j->c.train), text,
                 d ? "split 'test' was never used for training or choices:"
                   : "nothing else is held out",
                 d ? "" : missing);
    if (d)
        CTT_TRY(test_both(j, d, r));
out:
    ctt_data_close(&d);
    return rc;
}

/* ---- as text ---- */

static int print_uses(const struct ctt_report *r, int all)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char line[1024];
    int rc = 0;

    for (int k = 0; ctt_report_proof_cells(r, k, line, sizeof(line)); k++)
        ctt_table_row(&t, "%s", line);
    if (t.rows)
        CTT_TRY(ctt_table_print(&t));
    if (!all)
        goto out;
    ctt_table_row(&t, "clips\tpath\tsplit\tused for");
    for (int k = 0; k < r->sets; k++)
        ctt_table_row(&t, "%" PRId64 "\t%s\t%s\t%s", r->clips[k].clips,
                      r->clips[k].path, r->clips[k].split,
                      r->clips[k].used_for);
    ctt_tool_say("\ndata:");
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

int ctt_compress_prove(const struct ctt_compress_job *j, struct ctt_report *r)
{
    const struct ctt_train_cfg *c = &j->c.train;
    char text[160];
    int rc = 0, chose;

    if (!j->val)
        goto out;
    chose = *choice(&j->c.recipe, r, text, sizeof(text)) != '\0';
    if (j->data)
        add_use(r, j->c.recipe.epochs > 0 ? "training" : "statistics", c->data,
                c->split, j->data);
    add_use(r, chose ? "choice" : "test", c->val ? c->val : c->data,
            c->val_split, j->val);
    if (chose)
        CTT_TRY(prove(j, r));
    CTT_TRY(print_uses(r, ctt_compress_tells_all(&j->c)));
out:
    return rc;
}
