/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_say.c: output of convtt-infer --bench, as text or JSON. */
#include "tools/bench/bench_tool.h"
#include "net/quant.h"
#include "base/visible.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <stdio.h>

/* The numbers that convs multiply: "int8" if a conv reads bytes, or the type of
 * the run. */
static const char *type_of(const struct ctt_bench_said *s)
{
    const struct ctt_graph *g = s->nodes.run->g;

    for (int i = 0; i < g->count; i++)
        if (ctt_is_int8(g, i))
            return "int8";
    return s->model->type;
}

/* The timed unit: its name in JSON, and in words. */
static const struct unit { const char *name, *words; } units[] = {
    { "frame", "a frame and its answer" },
    { "answer", "a frame and its answer, computed only when asked" },
    { "prediction", "a step of the stream: a frame predicts the next" },
    { "symbol", "a symbol of text and the next ones' probabilities" },
};

static int reads_text(const struct ctt_bench_said *s)
{
    return ctt_graph_reads_symbols(s->nodes.run->g);
}

static const struct unit *unit_of(const struct ctt_bench_said *s)
{
    return &units[reads_text(s) ? 3 : s->predicts ? 2 : s->on_demand ? 1 : 0];
}

static double share_of(const struct ctt_bench_said *s,
                       const struct ctt_node_time *n)
{
    double all = ctt_nodes_ms(&s->nodes);

    return all > 0 ? n->ms / all : 0;
}

/* ---- JSON ---- */

static void json_text(const char *name, const char *text)
{
    printf("\"%s\":", name);
    ctt_json_put(stdout, text);
}

static void json_model(const struct ctt_bench_said *s)
{
    json_text("model", ctt_tool_given(s->model->name));
    printf(",\"weights\":\"%s\"", s->model->made ? "random" : "file");
    if (s->model->made)
        printf(",\"zeros\":%.4f", s->model->zeros);
    printf(",\"file_bytes\":%" PRId64 ",\"device\":\"%s\",\"type\":\"%s\"",
           s->model->bytes, s->device, type_of(s));
}

static void json_times(const struct ctt_bench_said *s)
{
    const struct ctt_spread *t = &s->ms;

    printf(",\"unit\":\"%s\",\"threads\":%d,\"threads_used\":%d,"
           "\"streams\":1,\"warm_up\":%d,"
           "\"runs\":%d,\"mean_ms\":%.6f,\"cpu_ms\":%.6f,"
           "\"median_ms\":%.6f,\"p90_ms\":%.6f,"
           "\"p99_ms\":%.6f,\"max_ms\":%.6f,\"frames_per_s\":%.3f,"
           "\"open_ms\":%.3f,\"first_ms\":%.3f,\"rss_mb\":%.1f,"
           "\"peak_mb\":%.1f,\"session_bytes\":%" PRId64,
           unit_of(s)->name, s->threads, s->used, s->warm_up, t->count,
           t->mean, s->cpu_ms, t->median, t->p90, t->p99, t->max, 1e3 / t->mean,
           s->open_ms, s->first_ms, s->resident_mb,
           s->peak_mb, s->session_bytes);
}

static void json_rows(const struct ctt_bench_said *s)
{
    printf(",\"scaling\":[");
    for (int i = 0; i < s->rows; i++)
        printf("%s{\"streams\":%d,\"threads\":%d,\"median_ms\":%.6f,"
               "\"frames_per_s\":%.3f,\"batch\":%s}", i ? "," : "",
               s->row[i].streams, s->row[i].threads, s->row[i].median_ms,
               s->row[i].frames_per_s, s->row[i].batch ? "true" : "false");
    printf("]");
}

static void json_nodes(const struct ctt_bench_said *s)
{
    const char *comma = "";
    struct ctt_node_time n;

    printf(",\"nodes\":[");
    for (int i = 0; i < s->nodes.run->g->count; i++) {
        if (!ctt_nodes_row(&s->nodes, i, &n))
            continue;
        printf("%s{", comma);
        json_text("name", n.name);
        printf(",\"word\":\"%s\",\"when\":\"%s\",", n.word, n.when);
        json_text("kernel", n.kernel);
        printf(",\"share\":%.4f}", share_of(s, &n));
        comma = ",";
    }
    printf("]");
}

static void json_turns(const struct ctt_bench_said *s)
{
    const struct ctt_spread *r = &s->turns.ratio;

    printf(",\"against\":{");
    json_text("model", s->other->name);
    printf(",\"median_ms\":%.6f,\"ratio\":%.6f,\"ratio_q1\":%.6f,"
           "\"ratio_q3\":%.6f,\"pairs\":%d,\"steady\":%s}", s->turns.ms[0],
           r->median, r->q1, r->q3, r->count,
           s->turns.steady ? "true" : "false");
}

static void json_fit(const struct ctt_bench_said *s)
{
    printf(",\"fit\":{\"frames_per_s\":%g,\"cores\":%d", s->fit.rate,
           s->fit.cores);
    for (int i = 0; i < CTT_SERVE_KINDS; i++)
        printf(",\"%s\":%d", ctt_serve_words[i], s->fit.streams[i]);
    printf("}");
}

static void say_json(const struct ctt_bench_said *s)
{
    printf("{");
    json_model(s);
    json_times(s);
    json_rows(s);
    json_nodes(s);
    if (s->other)
        json_turns(s);
    if (s->fit.rate > 0)
        json_fit(s);
    printf("}\n");
}

/* ---- text ---- */

static void say_model(const struct ctt_bench_said *s)
{
    char pruned[48] = "", used[24] = "";

    if (s->model->zeros > 0)
        snprintf(pruned, sizeof(pruned), ", %.1f%% of them pruned",
                 100 * s->model->zeros);
    ctt_tool_say("%s: %s%s; %" PRId64 " bytes", s->model->name,
                 s->model->made ? "random weights" : "a model file", pruned,
                 s->model->bytes);
    if (s->used < s->threads)
        snprintf(used, sizeof(used), " (%d used)", s->used);
    ctt_tool_say("device %s, %s, %d thread%s%s; timed: %s", s->device,
                 type_of(s), s->threads, ctt_s(s->threads), used,
                 unit_of(s)->words);
}

static int say_times(const struct ctt_bench_said *s)
{
    const struct ctt_spread *m = &s->ms;
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "ms\tcount\tmean\tp50\tp90\tp99\tmax");
    ctt_table_row(&t, "open\t1\t%.3f", s->open_ms);
    ctt_table_row(&t, "first\t1\t%.3f", s->first_ms);
    ctt_table_row(&t, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", unit_of(s)->name,
                  m->count, m->mean, m->median, m->p90, m->p99, m->max);
    return ctt_table_print(&t);
}

static int say_rows(const struct ctt_bench_said *s)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "streams\tthreads\tp50 ms\t%ss/s\tas",
                  reads_text(s) ? "symbol" : "frame");
    for (int i = 0; i < s->rows; i++)
        ctt_table_row(&t, "%d\t%d%s\t%.3f\t%.1f\t%s", s->row[i].streams,
                      s->row[i].threads, s->row[i].batch ||
                      s->row[i].streams == 1 ? "" : " each",
                      s->row[i].median_ms, s->row[i].frames_per_s,
                      s->row[i].batch ? "batch" : s->row[i].streams > 1
                      ? "sessions" : "session");
    return ctt_table_print(&t);
}

/* The times of all kernels of the node, or the reason of the rule's choice. */
static const char *measured(const struct ctt_bench_said *s, int node)
{
    const struct ctt_run *r = s->nodes.run;

    return ctt_dev_why(r->dev, r->cache[node][CTT_CACHE_FWD], CTT_FWD);
}

static int say_nodes(const struct ctt_bench_said *s)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct ctt_node_time n;

    ctt_table_row(&t, s->model->tune
                          ? "node\tword\twhen\tkernel\t%% of time\twhy"
                          : "node\tword\twhen\tkernel\t%% of time");
    for (int i = 0; i < s->nodes.run->g->count; i++)
        if (ctt_nodes_row(&s->nodes, i, &n))
            ctt_table_row(&t, s->model->tune ? "%s\t%s\t%s\t%s\t%.1f\t%s"
                                             : "%s\t%s\t%s\t%s\t%.1f",
                          n.name, n.word, n.when, n.kernel,
                          100 * share_of(s, &n), measured(s, i));
    return ctt_table_print(&t);
}

static void say_turns(const struct ctt_bench_said *s)
{
    const struct ctt_spread *r = &s->turns.ratio;

    if (!s->turns.steady) {
        ctt_tool_say("\nagainst %s, in turns: no ratio (the machine is too "
                     "busy): the middle half of %d pairs is from %.3f to %.3f",
                     s->other->name, r->count, r->q1, r->q3);
        return;
    }
    ctt_tool_say("\nagainst %s, in turns: %.3f times its %.3f ms (median; "
                 "quartiles %.3f and %.3f of %d pairs)", s->other->name,
                 r->median, s->turns.ms[0], r->q1, r->q3, r->count);
}

static int say_fit(const struct ctt_bench_said *s)
{
    const struct ctt_serve *f = &s->fit;
    struct ctt_table t = { NULL, 0, 0, 0 };

    printf("\nstreams of %g frames per second that fit on %d core%s:\n",
           f->rate, f->cores, ctt_s(f->cores));
    ctt_table_row(&t, "as\tstreams\ta core");
    for (int i = 0; i < CTT_SERVE_KINDS; i++)
        ctt_table_row(&t, "%s\t%d\t%.1f", ctt_serve_words[i], f->streams[i],
                      (double)f->streams[i] / f->cores);
    return ctt_table_print(&t);
}

int ctt_bench_say(const struct ctt_bench_said *s, int json)
{
    int rc = 0;

    if (json) {
        say_json(s);
        return 0;
    }
    say_model(s);
    printf("\n");
    CTT_TRY(say_times(s));
    printf("memory: %.1f MB resident, %.1f MB at its peak; %.1f KB of values "
           "a session\n\n", s->resident_mb, s->peak_mb,
           (double)s->session_bytes / 1024);
    CTT_TRY(say_rows(s));
    printf("\n");
    CTT_TRY(say_nodes(s));
    if (s->other)
        say_turns(s);
    if (s->fit.rate > 0)
        CTT_TRY(say_fit(s));
out:
    return rc;
}
