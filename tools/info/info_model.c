/* SPDX-License-Identifier: Apache-2.0
 * info_model.c: the output of convtt-info on one model: its use, and with --all
 * its text, nodes, weights, classes and history. */
#include "net/file/card.h"
#include "net/file/thresholds.h"
#include "net/op.h"
#include "net/unit.h"
#include "base/visible.h"
#include "tools/info/info_tool.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 50 };    /* columns for names of classes */

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
    if (ctt_graph_reads_symbols(g)) {
        printf("reads           symbols of text\nmultiplications %s per "
               "symbol\n", exact(frame, a, sizeof(a)));
        return;
    }
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
static void tell_card(const char *history, int text)
{
    int n = 0;

    if (ctt_card_find(history, "date", &n)) {
        tell_part(history, "date", "trained         ");
        tell_part(history, "convtt", ", by convtt ");
        tell_part(history, "clips", text ? ", on pieces of text: "
                                         : ", on clips: ");
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

    printf("labels          several per clip, each by itself\n");
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

/* Its answers, with as many names of classes as a line has room for. */
static void tell_answers(const struct ctt_model *m)
{
    const struct ctt_tensor *o = &m->g->node[ctt_graph_output(m->g)].out;
    int at = 0, i = 0;
    char name[256];

    if (!m->labels) {
        printf("answers         %lldx%lldx%lld numbers\n", (long long)o->h,
               (long long)o->w, (long long)o->c);
        return;
    }
    if (ctt_graph_reads_symbols(m->g))
        printf("answers         the next of %d symbols: ", m->labels);
    else
        printf("answers         %d class%s: ", m->labels, ctt_es(m->labels));
    for (; i < m->labels && at < LINE; i++)
        at += printf("%s%s", i ? ", " : "", ctt_visible(m->label[i], 0, name,
                                                        sizeof(name)));
    printf("%s\n", i < m->labels ? ", ..." : "");
}

static int is_unvalidated(const char *line)
{
    static const char end[] = ": " CTT_CARD_UNVALIDATED;
    size_t n = strlen(line), k = strlen(end);

    return strncmp(line, "train ", 6) == 0 ||
           (n >= k && strcmp(line + n - k, end) == 0);
}

/* The score in a line of a history, if it has one, or that there is none. */
static void read_score(const char *line, int text, char *said, size_t size)
{
    static const struct { const char *name, *form; double by; } scores[] = {
        { " val_map=", "mAP %.1f%%", 100 },
        { " val_top1=", "top-1 %.1f%%", 100 },
        { " val_mse=", "MSE %.4g", 1 }, { " val_loss=", "loss %.4g", 1 },
    };
    const char *at;

    if (is_unvalidated(line))
        snprintf(said, size, "not measured since the last change");
    for (size_t i = 0; i < CTT_LEN(scores); i++)
        if ((at = strstr(line, scores[i].name)) != NULL) {
            double x = atof(at + strlen(scores[i].name));

            snprintf(said, size, text ? "perplexity %.2f" : scores[i].form,
                     text ? exp(x) : scores[i].by * x);
            return;
        }
}

static int tell_score(const struct ctt_model *m)
{
    char *lines = ctt_strdup(m->history ? m->history : ""), *rest;
    char said[64] = "", *line;
    int rc = lines ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (line = strtok_r(lines, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest))
        read_score(line, ctt_graph_reads_symbols(m->g), said, sizeof(said));
    if (said[0])
        printf("validation      %s\n", said);
out:
    ctt_free(lines);
    return rc;
}

/* The stage of compression that a line of a history tells of, by how the line
 * begins; NULL: none, or one that changed nothing. */
static const char *compressed_by(const char *line)
{
    static const char *const stages[] = { "tensor trains", "SVD", "thinned",
        "pruned", "folded", "shared", "int8", "rounded" };
    static const char same[] = ": no change", dropped[] = ": given up";
    const char *behind = line + strcspn(line, ":\n");

    if (strncmp(behind, same, strlen(same)) == 0 ||
        strncmp(behind, dropped, strlen(dropped)) == 0)
        return NULL;
    for (size_t i = 0; i < CTT_LEN(stages); i++) {
        size_t n = strlen(stages[i]);

        if (strncmp(line, stages[i], n) == 0 && strchr(" :\n", line[n]))
            return stages[i];
    }
    return NULL;
}

/* The stages of compression in their order, once of lines in a row. */
static void tell_stages(const char *history)
{
    const char *s = history ? history : "", *before = NULL;

    for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        const char *stage = compressed_by(s);

        if (!stage || stage == before)
            continue;
        printf("%s%s", before ? ", " : "compressed      ", stage);
        before = stage;
    }
    if (before)
        printf("\n");
}

/* The part that --all adds. */
static int tell_rest(const char *path, const struct ctt_model *m)
{
    char *text = ctt_net_print(m->g), shown[8192];
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
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
    return rc;
}

/* Bytes per parameter only of the parameters. */
static int tell_size(const char *path, const struct ctt_model *m)
{
    int64_t params = ctt_model_params(m);
    struct ctt_stored *s = NULL;
    int64_t bytes;
    int count, rc;

    CTT_TRY(ctt_model_stored(path, &s, &count, &bytes));
    printf("on disk         %lld bytes", (long long)bytes);
    if (params > 0 && !m->train)
        printf(", %.1f per parameter", (double)bytes / (double)params);
    printf("\n");
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

int ctt_info_model(const char *path, int all)
{
    struct ctt_model *m = NULL;
    char a[48], shown[8192];
    int rc = 0, is_net = ctt_tool_is_net(path);

    CTT_TRY(ctt_info_load(path, 1, &m));
    printf("model           %s\n", ctt_visible(ctt_tool_given(path), 0, shown,
                                               sizeof(shown)));
    tell_input(m->g);
    printf("parameters      %s\n", exact((double)ctt_model_params(m), a,
                                         sizeof(a)));
    if (!is_net) {
        if (!all)
            CTT_TRY(tell_size(path, m));
        tell_stages(m->history);
        printf("training state  %s\n", m->train ? "yes (--strip drops it)"
                                                : "no");
        tell_answers(m);
        if (m->labels && !ctt_graph_reads_symbols(m->g))
            CTT_TRY(tell_decision(m));
        tell_card(m->history, ctt_graph_reads_symbols(m->g));
        CTT_TRY(tell_score(m));
    }
    if (all || is_net)
        CTT_TRY(tell_rest(path, m));
    else
        printf("\n--all shows its text, nodes, weights, %s and history\n",
               ctt_graph_reads_symbols(m->g) ? "vocabulary" : "classes");
out:
    ctt_model_free(&m);
    return rc;
}
