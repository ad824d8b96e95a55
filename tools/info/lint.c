/* SPDX-License-Identifier: Apache-2.0
 * lint.c: convtt-info --lint: what could be changed in a model, at which line
 * of its text, and the gain. */
#include "tools/info/lint_inside.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/visible.h"
#include "net/init.h"
#include "net/op.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/edit_quant.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <stdarg.h>
#include <stdlib.h>

/* A conv is slow below this share of the median rate of all, if it takes this
 * share of a frame. */
static const double slow_rate = 0.33, slow_share = 0.05;

static const char busy[] = "other programs use the processor";

/* ---- warnings ---- */

/* Prints a warning of a node: its line and what could be changed. */
static void warn(struct lint *l, int i, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void warn(struct lint *l, int i, const char *fmt, ...)
{
    char text[512], line[CTT_MAX_LINE], shown[4096];
    const char *start;
    int number = ctt_lint_line(l, i, &start);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ctt_tool_clear();
    printf("%s%s:%d: %s: %s\n", l->warnings ? "" : "\n",
           ctt_visible(l->path, 0, shown, sizeof(shown)), number,
           l->m->g->node[i].name, text);
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(start, "\n"), start);
    printf("    %s\n", ctt_visible(line, 0, shown, sizeof(shown)));
    l->warnings++;
}

/* ---- warnings without time ---- */

/* The node with the memory of a value. */
static int source_of(const struct ctt_graph *g, int i)
{
    while (ctt_ops[g->node[i].op].memory == CTT_VIEW)
        i = ctt_viewed(&g->node[i]);
    return i;
}

static void check_window(struct lint *l, int i)
{
    const struct ctt_node *n = &l->m->g->node[i];

    if (n->op == CTT_OP_WINDOW && l->kept > (double)ctt_memory_left())
        warn(l, i, "what the model keeps of earlier frames, %.3f MB, does not "
             "fit into %.3f MB (--memory); a window of half as many steps "
             "saves %.3f MB", 1e-6 * l->kept, 1e-6 * (double)ctt_memory_left(),
             2e-6 * l->cost[source_of(l->m->g, n->in[0])].past);
}

static void check_bytes(struct lint *l, int i)
{
    const struct ctt_graph *g = l->m->g;
    const char *why = g->node[i].op == CTT_OP_DECONV
                      ? "no kernel of a deconv reads them"
                      : ctt_quantise_cannot(g, i);

    if (ctt_is_conv(&g->node[i]) && why && !l->cost[i].int8)
        warn(l, i, "cannot read bytes: %s; its weights would take %.6f MB less",
             why, 3e-6 * l->cost[i].weights);
}

/* ---- measured warnings ---- */

static double median_ms(const struct lint *l, int i)
{
    struct ctt_times t = l->plan.node[i];

    return ctt_times_spread(&t).median;
}

static double rate_of(const struct lint *l, int i)
{
    double ms = median_ms(l, i);

    return ctt_is_conv(&l->m->g->node[i]) && ms > 0
           ? ctt_plan_macs(&l->plan, i) / ms : 0;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median rate of the convs that have calls of their own. */
static int median_rate(const struct lint *l, double *median)
{
    double *rate = ctt_calloc((size_t)l->m->g->count, sizeof(*rate));
    int n = 0;

    if (!rate)
        return CTT_ENOMEM;
    for (int i = 0; i < l->m->g->count; i++)
        if (rate_of(l, i) > 0)
            rate[n++] = rate_of(l, i);
    qsort(rate, (size_t)n, sizeof(*rate), ascending);
    *median = n ? rate[n / 2] : 0;
    ctt_free(rate);
    return 0;
}

/* A conv that no fast kernel takes, or that is much slower than the others. */
static void check_slow(struct lint *l, int i, double median)
{
    struct ctt_node_time n;
    double rate = rate_of(l, i), ms = median_ms(l, i);
    char gain[80];
    const char *why;
    int direct;

    if (!rate || !ctt_nodes_row(&l->plan.nodes, i, &n))
        return;
    why = ctt_dev_why(l->plan.s.dev, l->plan.s.run->cache[i][CTT_CACHE_FWD],
                      CTT_FWD);
    direct = strstr(n.kernel, "direct") || strstr(n.kernel, ":ref");
    if (rate >= median ||
        (!direct && (!l->steady || rate > slow_rate * median ||
                     ms < slow_share * l->ms)))
        return;
    snprintf(gain, sizeof(gain), "%.4f ms of %.4f a frame",
             ms * (1 - rate / median), l->ms);
    warn(l, i, "%s is slow%s%s%s: at the median rate of the convs it would "
         "gain %s%s", n.kernel, direct && *why ? " (" : "", direct ? why : "",
         direct && *why ? ")" : "",
         l->steady ? gain : "time, not measured, as ", l->steady ? "" : busy);
}

/* Times g and a variant of it in turns; 1: the variant is faster. */
static int is_faster(const struct lint *l, const struct ctt_graph *g,
                     const struct ctt_graph *other, struct ctt_paired_timing *t)
{
    int rc;

    CTT_TRY(ctt_lint_time(g, other, l->cfg->device, l->cfg->threads, t));
    rc = t->steady && t->ms[1] < t->ms[0] && t->ratio.q3 < 1;
out:
    return rc;
}

static int check_variant(struct lint *l, int i, const char *what,
                         const struct ctt_graph *other, int *vain)
{
    struct ctt_paired_timing t;
    int rc;

    CTT_TRY(is_faster(l, l->m->g, other, &t));
    if (!t.steady)
        warn(l, i, "%s: gain not measured, as %s", what, busy);
    else if (rc)
        warn(l, i, "%s would gain %.4f ms of %.4f a frame", what,
             t.ms[0] - t.ms[1], t.ms[0]);
    else
        ++*vain;
    rc = 0;
out:
    return rc;
}

static int check_pad(struct lint *l, int i, int *vain)
{
    struct ctt_graph *other = NULL;
    char what[96];
    int64_t size[2];
    int rc = ctt_lint_pad(l->m->g, i, size, &other);

    if (rc <= 0)
        return rc;
    snprintf(what, sizeof(what), "%lld channels are no multiple of %d: %lld",
             (long long)size[0], size[0] % 8 ? 8 : 16, (long long)size[1]);
    rc = check_variant(l, i, what, other, vain);
    ctt_graph_free(&other);
    return rc;
}

static int check_merge(struct lint *l, int i, int *vain)
{
    struct ctt_model *other = NULL;
    char what[CTT_NAME + 64];
    int with, rc = ctt_merge_convs(l->m, i, &with, &other);

    if (rc <= 0)
        return rc;
    snprintf(what, sizeof(what), "one conv with '%s', which reads the same,",
             l->m->g->node[with].name);
    rc = check_variant(l, i, what, other->g, vain);
    ctt_model_free(&other);
    return rc;
}

/* --merge: makes two convs one wherever that is faster, and writes the
 * model. */
static int write_merged(const struct lint *l)
{
    struct ctt_model *m = NULL, *other = NULL;
    struct ctt_paired_timing t;
    int merged = 0, with, rc;

    CTT_TRY(ctt_model_copy(l->m, &m));
    for (int i = 0; i < m->g->count; ) {
        CTT_TRY(ctt_merge_convs(m, i, &with, &other));
        if (rc)
            CTT_TRY(is_faster(l, m->g, other->g, &t));
        if (rc) {
            ctt_model_free(&m);
            m = other;
            other = NULL;
            merged++;
        } else {
            i++;
        }
        ctt_model_free(&other);
    }
    CTT_TRY(ctt_info_save(l->cfg->out, m));
    printf("%s written: %d pair%s of convs merged\n", l->cfg->out, merged,
           ctt_s(merged));
out:
    ctt_model_free(&m);
    ctt_model_free(&other);
    return rc;
}

static int check_times(struct lint *l)
{
    int vain = 0, rc;
    double median;

    CTT_TRY(median_rate(l, &median));
    for (int i = 0; i < l->m->g->count; i++)
        if (ctt_is_conv(&l->m->g->node[i])) {
            CTT_PROGRESS(i, l->m->g->count, "timing other channels and convs");
            check_slow(l, i, median);
            CTT_TRY(check_pad(l, i, &vain));
            CTT_TRY(check_merge(l, i, &vain));
        }
    ctt_tool_clear();
    if (vain)
        printf("\n%d other change%s of channels or convs gain%s nothing\n",
               vain, ctt_s(vain), vain == 1 ? "s" : "");
out:
    return rc;
}

/* ---- the whole ---- */

static int read_text(struct lint *l)
{
    if (ctt_tool_is_net(l->path))
        return ctt_net_read(l->path, &l->text);
    l->text = ctt_net_print(l->m->g);
    return l->text ? 0 : CTT_ENOMEM;
}

/* The bytes that a run needs at least for values: what it keeps of earlier
 * frames. */
static double kept_bytes(const struct lint *l)
{
    double bytes = 0;

    for (int i = 0; i < l->m->g->count; i++)
        bytes += 4 * l->cost[i].past;
    return bytes;
}

/* 1 if frames on one thread take hardly more time than they compute. */
static int has_processor(struct lint *l, int *alone)
{
    double start = ctt_seconds(), work = ctt_thread_seconds();
    int rc = 0;

    for (int i = 0; i < 5; i++)
        CTT_TRY(ctt_stepper_step(&l->plan.s));
    work = ctt_thread_seconds() - work;
    *alone = l->cfg->threads > 1 || ctt_seconds() - start < 1.1 * work;
out:
    return rc;
}

static int open_plan(struct lint *l)
{
    struct ctt_times copy;
    int rc;

    if (l->kept > (double)ctt_memory_left())
        return 0;
    CTT_TRY(ctt_plan_open(l->cfg, l->m, &l->plan));
    copy = l->plan.frame;
    CTT_TRY(has_processor(l, &l->steady));
    l->steady = l->steady && ctt_ratios_steady(&copy);
    l->ms = ctt_times_spread(&copy).median;
out:
    return rc;
}

static int can_write_merged(const struct lint *l)
{
    const char *out = l->cfg->merge ? l->cfg->out : NULL;
    int rc;

    CTT_TRY(ctt_tool_apart((const char *[]){ l->path, out }, 2));
    CTT_CHECK(!out || ctt_tool_is_net(out) == ctt_tool_is_net(l->path),
              CTT_EINVAL, "%s: --merge makes a text, NAME.net, of a text, and "
              "a model of a model", out);
    CTT_TRY(ctt_info_can_save(out));
out:
    return rc;
}

static int look(struct lint *l)
{
    int rc;

    CTT_TRY(can_write_merged(l));
    CTT_TRY(ctt_info_load(l->path, 0, &l->m));
    if (ctt_tool_is_net(l->path))    /* all zeros would be sparse */
        ctt_init_weights(l->m, 1);
    CTT_TRY(read_text(l));
    CTT_TRY(ctt_receptive_fields(l->m->g, &l->field));
    CTT_TRY(ctt_lint_costs(l->m, &l->cost));
    l->kept = kept_bytes(l);
    CTT_TRY(open_plan(l));
    CTT_TRY(ctt_lint_say_costs(l));
    for (int i = 0; i < l->m->g->count; i++) {
        check_window(l, i);
        check_bytes(l, i);
    }
    if (l->ms > 0)
        CTT_TRY(check_times(l));
    printf("\n%d warning%s; times with %d thread%s\n", l->warnings,
           ctt_s(l->warnings), l->cfg->threads, ctt_s(l->cfg->threads));
    if (l->cfg->merge)
        CTT_TRY(write_merged(l));
out:
    return rc;
}

int ctt_info_lint(const struct ctt_info_cfg *cfg, const char *path)
{
    struct ctt_info_cfg one = *cfg;
    struct lint l = { .cfg = &one, .path = path };
    int rc;

    one.threads = cfg->threads ? cfg->threads : 1;
    rc = look(&l);

    if (l.plan.g)
        ctt_plan_close(&l.plan);
    ctt_model_free(&l.m);
    ctt_free(l.text);
    ctt_free(l.field);
    ctt_free(l.cost);
    return rc;
}
