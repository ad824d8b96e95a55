/* SPDX-License-Identifier: Apache-2.0
 * info.c: convtt-info: shows model files and the model language. */
#include "device/device.h"
#include "net/rewrite/aux_head.h"
#include "net/file/card.h"
#include "net/file/thresholds.h"
#include "net/init.h"
#include "net/op.h"
#include "net/unit.h"
#include "base/visible.h"
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
    const char *word;

    printf("A model is a text with one line per node, 'word name key=value "
           "...', and # comments.\nin= names the inputs, separated by commas; "
           "plus= of a conv names a value that is\nadded to its result.  Nodes "
           "before the line 'clip' run at every step, those\nafter it when an "
           "answer is requested.  The line 'several' stands last if clips "
           "have\nseveral labels.\n\nPrimitives:\n");
    for (int i = 0; i < CTT_NOPS; i++) {
        const struct ctt_op *op = &ctt_ops[i];

        printf("  %s", op->name);
        if (op->max_in > op->min_in)
            printf(", %d to %d inputs\n", op->min_in, op->max_in);
        else
            printf(", %d input%s\n", op->min_in, ctt_s(op->min_in));
        for (attr = op->attr; attr->name; attr++)
            tell_attribute(attr);
    }
    printf("\nCells, which stand for several lines:\n");
    for (int i = 0; (word = ctt_cell_word(i, &attr)) != NULL; i++) {
        printf("  %s\n", word);
        for (; attr->name; attr++)
            tell_attribute(attr);
    }
}

/* ---- one model ---- */

/* Formats n rounded and exactly: "2.69 M (2687281)". */
static const char *exact(double n, char *buf, size_t size)
{
    size_t used;

    ctt_tool_count(n, buf, size);
    used = strlen(buf);
    if (n >= 1000)
        snprintf(buf + used, size - used, " (%.0f)", n);
    return buf;
}

static void tell_input(const struct ctt_graph *g)
{
    static const char *const colours[] = { "RGB", "BGR", "gray" };
    const struct ctt_input *in = &g->node[ctt_graph_input(g)].attr.input;
    double frame, answer;
    char a[48], b[48];

    ctt_graph_macs(g, &frame, &answer);
    printf("frames          %dx%d %s, ", in->w, in->h,
           in->c == 1 ? colours[2] : colours[in->colour]);
    if (in->fps > 0)
        printf("%g per second\n", (double)in->fps);
    else
        printf("at the rate of the clip\n");
    printf("multiplications %s per frame, %s per answer\n",
           exact(frame, a, sizeof(a)), exact(answer, b, sizeof(b)));
}

static int tell_nodes(const struct ctt_graph *g)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "node\tword\tsize\tparameters\tmultiplications");
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        const struct ctt_tensor *o = &n->out;
        char size[64];

        if (i == g->clip)
            ctt_table_row(&t, "clip");
        if (o->d > 1)
            snprintf(size, sizeof(size), "%lldx%lldx%lldx%lld",
                     (long long)o->d, (long long)o->h, (long long)o->w,
                     (long long)o->c);
        else
            snprintf(size, sizeof(size), "%lldx%lldx%lld", (long long)o->h,
                     (long long)o->w, (long long)o->c);
        ctt_table_row(&t, "%s\t%s\t%s\t%lld\t%lld", n->name,
                      ctt_ops[n->op].name, size,
                      (long long)ctt_node_params(n),
                      (long long)ctt_node_macs(g, i));
    }
    return ctt_table_print(&t);
}

/* The node and the number of a weight of that title; NULL: there is none. */
static const struct ctt_node *weight_of(const struct ctt_graph *g,
                                        const char *title, int *k)
{
    char is[CTT_WEIGHT_NAME];

    for (int i = 0; i < g->count; i++)
        for (*k = 0; *k < g->node[i].nw; (*k)++) {
            ctt_weight_title(&g->node[i], *k, is);
            if (strcmp(is, title) == 0)
                return &g->node[i];
        }
    return NULL;
}

enum { UNITS = 48 };

/* Of a kernel: "3/8", how many of its units are not pruned as a whole, and of
 * how many; else "-". */
static const char *units_kept(const struct ctt_model *m, const char *title,
                              enum ctt_prune_form form, char text[UNITS])
{
    const uint8_t *keep = m->constraint.keep;
    int64_t dim[5], kept = 0, all;
    int k, groups;
    const struct ctt_node *n = weight_of(m->g, title, &k);

    snprintf(text, UNITS, "-");
    if (!n || ctt_weight_shape(n, k, dim) != 5)
        return text;
    groups = ctt_is_grouped(n) ? n->attr.conv.groups : 1;
    all = ctt_units(form, &n->w[k], groups);
    for (int64_t i = 0; i < all; i++) {
        struct ctt_unit u = ctt_unit_at(form, &n->w[k], groups, i);

        kept += ctt_unit_kept(&u, keep ? keep + n->at[k] : NULL) > 0;
    }
    snprintf(text, UNITS, "%lld/%lld", (long long)kept, (long long)all);
    return text;
}

static int tell_stored(const char *path, const struct ctt_model *m)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct ctt_stored *s = NULL;
    int64_t bytes, payload = 0;
    char blocks[UNITS], rows[UNITS];
    int count, rc = 0;

    CTT_TRY(ctt_model_stored(path, &s, &count, &bytes));
    ctt_table_row(&t, "weight\tpositions\tvalues\tbytes\tparameters\tkept\t"
                  "blocks kept\trows kept\ton disk");
    for (int i = 0; i < count; i++) {
        payload += s[i].size;
        ctt_table_row(&t, "%s\t%s\t%s\t%s\t%lld\t%lld\t%s\t%s\t%lld",
                      s[i].name, s[i].positions, s[i].values, s[i].bytes,
                      (long long)s[i].params, (long long)s[i].kept,
                      units_kept(m, s[i].name, CTT_PRUNE_BLOCK, blocks),
                      units_kept(m, s[i].name, CTT_PRUNE_ROW, rows),
                      (long long)s[i].size);
    }
    CTT_TRY(ctt_table_print(&t));
    printf("on disk         %lld bytes, %lld of them weights\n",
           (long long)bytes, (long long)payload);
out:
    ctt_free(s);
    return rc;
}

int ctt_info_load(const char *path, int with_train, struct ctt_model **m)
{
    struct ctt_graph *g = NULL;
    int rc;

    if (!ctt_tool_is_net(path))
        return ctt_model_load(path, with_train, m);
    CTT_TRY(ctt_tool_net(path, &g));
    CTT_TRY(ctt_tool_new_model(path, g, m));
out:
    return rc;
}

static void tell_history(const char *s)
{
    char line[8192], shown[2 * sizeof(line)];

    if (s && *s)
        printf("\nhistory\n");
    for (size_t n; s && *s; s += n + (s[n] == '\n')) {
        n = strcspn(s, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)n, s);
        puts(ctt_visible(line, 0, shown, sizeof(shown)));
    }
}

static void tell_part(const char *history, const char *name, const char *before)
{
    int n = 0;
    const char *value = ctt_card_find(history, name, &n);
    char text[80], shown[2 * sizeof(text)];

    if (!value)
        return;
    snprintf(text, sizeof(text), "%.*s", n, value);
    printf("%s%s", before, ctt_visible(text, 0, shown, sizeof(shown)));
}

/* When, by what and on which clips the model was trained; nothing if its
 * history does not say so. */
static void tell_card(const char *history)
{
    int n = 0;

    if (ctt_card_find(history, "date", &n)) {
        tell_part(history, "date", "trained         ");
        tell_part(history, "convtt", ", by convtt ");
        tell_part(history, "clips", ", on clips: ");
        tell_part(history, "clip-seconds", ", their mean length in s: ");
        tell_part(history, "data-crc", " (checksum of names and labels ");
        printf(")\n");
    }
    if (ctt_card_find(history, "licence", &n)) {
        tell_part(history, "licence", "licence         ");
        printf("\n");
    }
}

/* The thresholds of the classes of a model whose clips have several labels. */
static int tell_thresholds(const struct ctt_model *m)
{
    struct ctt_thresholds t = { .classes = 0 };
    int rc = 0, holds = 1;

    printf("answers         several labels per clip: each class by itself\n");
    if (m->decision) {
        CTT_TRY(ctt_thresholds_parse(m->decision, &t));
        CTT_TRY(holds = ctt_thresholds_hold(&t, m));
    }
    if (!t.classes)
        printf("thresholds      0.5 (convtt-infer --calibrate)\n");
    else
        printf("thresholds      of each class, from %lld clips%s\n",
               (long long)t.clips, holds ? "" : ", but of another model: not "
               "used");
    rc = 0;
out:
    return rc;
}

/* Which early decisions the file has thresholds for. */
static int tell_decision(const struct ctt_model *m)
{
    struct ctt_decision d;
    int rc = 0, holds;

    if (m->g->several)
        return tell_thresholds(m);
    if (!m->decision) {
        printf("early decision  no (convtt-infer --calibrate)\n");
        goto out;
    }
    CTT_TRY(ctt_decision_parse(m->decision, &d));
    CTT_TRY(holds = ctt_decision_holds(&d, m));
    printf("early decision  %s gap of %g%% with probability %g, smooth %g, "
           "%s, from %lld clip%s%s%s\n", ctt_guarantee_words[d.guarantee],
           100 * d.max_gap, 1 - d.delta, d.smooth, d.type, (long long)d.clips,
           ctt_s(d.clips), d.head.classes ? ", confidence head" : "",
           holds ? "" : ", but of another model: not used");
out:
    return rc;
}

static int tell_model(const char *path)
{
    struct ctt_model *m = NULL;
    char *text = NULL;
    char a[48], shown[8192];
    int rc = 0;

    CTT_TRY(ctt_info_load(path, 1, &m));
    CTT_TRY((text = ctt_net_print(m->g)) ? 0 : CTT_ENOMEM);
    printf("model           %s\n", ctt_visible(ctt_tool_given(path), 0, shown,
                                               sizeof(shown)));
    tell_input(m->g);
    printf("parameters      %s\n", exact((double)ctt_model_params(m), a,
                                         sizeof(a)));
    if (!ctt_tool_is_net(path)) {
        printf("training state  %s\n", m->train ? "yes (--strip drops it)"
                                                : "no");
        CTT_TRY(tell_decision(m));
        tell_card(m->history);
    }
    printf("\n%s\n", text);
    CTT_TRY(tell_nodes(m->g));
    if (ctt_tool_is_net(path))
        goto out;
    printf("\n");
    CTT_TRY(tell_stored(path, m));
    printf("\n%d class%s\n", m->labels, ctt_es(m->labels));
    for (int i = 0; i < m->labels; i++)
        printf("  %d  %s\n", i,
               ctt_visible(m->label[i], 0, shown, sizeof(shown)));
    tell_history(m->history);
out:
    ctt_free(text);
    ctt_model_free(&m);
    return rc;
}

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

    CTT_CHECK(!ctt_tool_same_file(path, out), CTT_EINVAL, "%s: given for two "
              "files", out);
    CTT_TRY(ctt_output_check(out, &ctt_output_model));
    CTT_TRY(ctt_model_load(path, 0, &m));
    CTT_TRY(ctt_model_save_inference(out, m));
out:
    ctt_model_free(&m);
    return rc;
}

/* A file that is no pack is taken for a model. */
static int tell_file(const char *path)
{
    struct ctt_pack *p = NULL;
    int rc;

    if (!ctt_pack_is(path) || ctt_pack_open(path, &p) < 0)
        return tell_model(path);
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
    return tell_file(path[0]);
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
    if (argc - first > 1 && (cfg.strip || cfg.net || cfg.plan || cfg.watch ||
                             cfg.lint || cfg.export_to || cfg.import))
        return ctt_tool_die(CTT_EXIT_USAGE, "--strip, --net, --plan, --watch, "
                            "--lint, --export and --import take one file");
    models = !cfg.report && !cfg.watch;
    if (argc - first == 1 && models)
        argv[first] = ctt_tool_model(argv[first]);
    rc = argc - first == 1 && models ? ctt_tool_import(argv[first],
                                                       &argv[first]) : 0;
    if (rc >= 0)
        rc = show_files(&cfg, argv + first, argc - first);
    return rc < 0 ? ctt_tool_fail(ctt_tool_status(rc)) : ctt_tool_end(0);
}
