/* SPDX-License-Identifier: Apache-2.0
 * info.c: convtt-info: shows model files and the model language. */
#include "device/device.h"
#include "net/rewrite/aux_head.h"
#include "net/init.h"
#include "net/op.h"
#include "tools/shared/output.h"
#include "tools/info/info_tool.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <string.h>

/* ---- the language ---- */

static void tell_attribute(const struct ctt_opt *o)
{
    char left[64], range[CTT_OPT_RANGE];

    snprintf(left, sizeof(left), "%s=%s", o->name,
             !o->dflt ? "..." : o->dflt[0] ? o->dflt : "NAME");
    printf("    %-16s %s", left, o->help);
    for (int i = 0; o->choices && o->choices[i]; i++)
        printf("%s%s", i ? ", " : ": ", o->choices[i]);
    if (ctt_opt_range(o, range))
        printf(" (%s)", range);
    printf("%s\n", o->dflt ? "" : " (must be given)");
}

static void tell_ops(void)
{
    const struct ctt_opt *attr;
    const char *word, *use;

    printf("A model is a text with one line per node, 'word name key=value "
           "...', and # comments.\nin= names the inputs, separated by commas; "
           "plus= of a conv names a value that is\nadded to its result.  Nodes "
           "before the line 'clip' run at every step, those\nafter it when an "
           "answer is requested.  The line 'several' stands last if clips "
           "have\nseveral labels.\n\nPrimitives:\n");
    for (int i = 0; i < CTT_NOPS; i++) {
        const struct ctt_op *op = &ctt_ops[i];

        printf("  %s, ", op->name);
        if (op->max_in > op->min_in)
            printf("%d to ", op->min_in);
        printf("%d input%s: %s\n", op->max_in, ctt_s(op->max_in), op->use);
        for (attr = op->attr; attr->name; attr++)
            tell_attribute(attr);
    }
    printf("\nCells, which stand for several lines:\n");
    for (int i = 0; (word = ctt_cell_word(i, &attr, &use)) != NULL; i++) {
        printf("  %s: %s\n", word, use);
        for (; attr->name; attr++)
            tell_attribute(attr);
    }
}

/* ---- one model ---- */

static int tell_net(const char *path)
{
    struct ctt_model *m = NULL;
    char *text = NULL;
    int rc = 0;

    CTT_TRY(ctt_info_load(path, 0, &m));
    CTT_TRY((text = ctt_net_print(m->g)) ? 0 : CTT_ENOMEM);
    fputs(text, stdout);
out:
    ctt_free(text);
    ctt_model_free(&m);
    return rc;
}

static int tell_plan(const struct ctt_info_cfg *cfg, const char *path)
{
    struct ctt_model *m = NULL;
    int rc = 0;

    CTT_TRY(ctt_info_load(path, 0, &m));
    if (ctt_tool_is_net(path))    /* all zeros would be sparse */
        ctt_init_weights(m, 1);
    CTT_TRY(ctt_info_plan(cfg, m));
out:
    ctt_model_free(&m);
    return rc;
}

static int strip(const char *path, const char *out)
{
    struct ctt_model *m = NULL;
    int rc = 0;

    CTT_TRY(ctt_tool_apart((const char *[]){ path, out }, 2));
    CTT_TRY(ctt_output_check(out, &ctt_output_model));
    CTT_TRY(ctt_model_load(path, 0, &m));
    ctt_output_say_replaced(out);
    CTT_TRY(ctt_model_save_inference(out, m));
out:
    ctt_model_free(&m);
    return rc;
}

/* A file that is no pack is taken for a model. */
static int tell_file(const char *path, int all)
{
    struct ctt_pack *p = NULL;
    int rc;

    if (!ctt_pack_is(path) || ctt_pack_open(path, &p) < 0)
        return ctt_info_model(path, all);
    rc = ctt_info_pack(path, p);
    ctt_pack_close(&p);
    return rc;
}

static int show_files(const struct ctt_info_cfg *cfg, char **path, int count)
{
    if (cfg->import)
        return ctt_info_import(cfg, count ? path[0] : NULL);
    if (cfg->export_to)
        return ctt_info_export(cfg, path[0]);
    if (cfg->strip)
        return strip(path[0], cfg->strip);
    if (cfg->net)
        return tell_net(path[0]);
    if (cfg->plan)
        return tell_plan(cfg, path[0]);
    if (cfg->lint)
        return ctt_info_lint(cfg, path[0]);
    if (cfg->watch)
        return ctt_info_watch(path[0]);
    if (cfg->report)
        return ctt_info_runs(cfg, path, count);
    if (cfg->compare || cfg->data || cfg->report_html || count > 1)
        return ctt_info_compare(cfg, path, count);
    return tell_file(path[0], cfg->all);
}

int main(int argc, char **argv)
{
    struct ctt_info_cfg cfg;
    int first, models, done = 0, rc;

    ctt_tool_start("convtt-info", argv);
    memset(&cfg, 0, sizeof(cfg));
    first = ctt_opt_main(&ctt_info_program, &cfg, argc, argv, &done);
    if (done && first >= 0)
        return ctt_tool_end(0);
    ctt_tool_tell(&cfg.telling);
    if (first < 0 || ctt_opt_check(ctt_info_program.opts, &cfg) < 0 ||
        ctt_limits_set(&cfg.limits) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (cfg.ops) {
        tell_ops();
        return ctt_tool_end(0);
    }
    if (first == argc && !cfg.import)
        return ctt_tool_die(CTT_EXIT_USAGE, "no model given (see --help)");
    if (argc - first > 1 && (cfg.strip || cfg.net || cfg.all || cfg.plan ||
                             cfg.watch || cfg.lint || cfg.export_to ||
                             cfg.import))
        return ctt_tool_die(CTT_EXIT_USAGE, "--strip, --net, --all, --plan, "
                            "--watch, --lint, --export and --import take one "
                            "file");
    models = !cfg.report && !cfg.watch;
    if (argc - first == 1 && models)
        argv[first] = ctt_tool_model(argv[first]);
    rc = argc - first == 1 && models ? ctt_tool_import(argv[first],
                                                       &argv[first]) : 0;
    if (rc >= 0)
        rc = show_files(&cfg, argv + first, argc - first);
    return rc < 0 ? ctt_tool_fail(ctt_tool_status(rc)) : ctt_tool_end(0);
}
