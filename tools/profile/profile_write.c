/* SPDX-License-Identifier: Apache-2.0
 * profile_write.c: a profile as a trace of events (Chrome's format, which
 * ui.perfetto.dev reads), as CSV, and printed. */
#include "tools/profile/profile.h"
#include "base/span.h"
#include "tools/shared/tool.h"

enum { TOP = 10, LINE = 256 };

static const char *pass_word(const struct ctt_node_row *r)
{
    return r->pass == CTT_FWD ? "forward" : "backward";
}

static double gflops(const struct ctt_node_row *r)
{
    return r->seconds > 0 ? 1e-9 * r->flops / r->seconds : 0;
}

static double seconds_of(const struct ctt_profile_said *p, int from)
{
    double all = 0;

    for (int i = from; i < p->rows; i++)
        all += p->row[i].seconds;
    return all;
}

/* ---- the trace ---- */

/* A thread has the name of the first thing that it did; the first is the
 * program's own. */
static void put_thread(struct ctt_json_out *o, const struct ctt_span *s)
{
    char name[64];

    if (s->thread)
        snprintf(name, sizeof(name), "%s %d", ctt_span_words[s->kind],
                 s->thread);
    ctt_json_begin_row(o, "\n");
    ctt_json_put_text(o, "name", "thread_name");
    ctt_json_put_text(o, "ph", "M");
    ctt_json_put_int(o, "pid", 1);
    ctt_json_put_int(o, "tid", s->thread);
    ctt_json_begin(o, "args", '{');
    ctt_json_put_text(o, "name", s->thread ? name : "program");
    ctt_json_finish(o, '}');
    ctt_json_finish(o, '}');
}

static void put_span(struct ctt_json_out *o, const struct ctt_span *s,
                     double from)
{
    ctt_json_begin_row(o, "\n");
    ctt_json_put_text(o, "name", s->name ? s->name : ctt_span_words[s->kind]);
    ctt_json_put_text(o, "cat", ctt_span_words[s->kind]);
    ctt_json_put_text(o, "ph", "X");
    ctt_json_put_int(o, "pid", 1);
    ctt_json_put_int(o, "tid", s->thread);
    ctt_json_put_fixed(o, "ts", 3, 1e6 * (s->start - from));
    ctt_json_put_fixed(o, "dur", 3, 1e6 * (s->end - s->start));
    ctt_json_finish(o, '}');
}

static void put_events(struct ctt_json_out *o)
{
    int64_t n;
    const struct ctt_span *s = ctt_spans_get(&n);
    double from = n ? s[0].start : 0;
    int threads = 0;

    for (int64_t i = 0; i < n; i++) {
        from = s[i].start < from ? s[i].start : from;
        threads = s[i].thread >= threads ? s[i].thread + 1 : threads;
    }
    ctt_json_begin(o, "traceEvents", '[');
    for (int t = 0; t < threads; t++)
        for (int64_t i = 0; i < n; i++)
            if (s[i].thread == t) {
                put_thread(o, &s[i]);
                break;
            }
    for (int64_t i = 0; i < n; i++)
        put_span(o, &s[i], from);
    ctt_json_finish(o, ']');
}

static void put_node(struct ctt_json_out *o, const struct ctt_profile_said *p,
                     const struct ctt_node_row *r, double all)
{
    struct ctt_bound b = ctt_bound_of(&p->ceiling, r);

    ctt_json_begin_row(o, "\n");
    ctt_json_put_text(o, "node", r->name);
    ctt_json_put_text(o, "op", r->op);
    ctt_json_put_text(o, "pass", pass_word(r));
    ctt_json_put_text(o, "shape", r->shape);
    ctt_json_put_text(o, "type", r->type);
    ctt_json_put_text(o, "kernel", r->kernel);
    ctt_json_put_int(o, "calls", r->calls);
    ctt_json_put_fixed(o, "ms", 6, 1e3 * r->seconds);
    ctt_json_put_real(o, "share", 4, all > 0 ? r->seconds / all : 0);
    ctt_json_put_real(o, "gflops", 4, gflops(r));
    ctt_json_put_real(o, "bytes", 17, r->bytes);
    ctt_json_put_text(o, "bound", b.by);
    ctt_json_put_real(o, "of_ceiling", 4, b.share);
    ctt_json_put_fixed(o, "best_ms", 6, 1e3 * b.best);
    ctt_json_finish(o, '}');
}

int ctt_profile_trace(FILE *f, const void *said)
{
    const struct ctt_profile_said *p = said;
    struct ctt_json_out o = { f, "", 0 };
    double all = seconds_of(p, 0);

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "displayTimeUnit", "ms");
    put_events(&o);
    ctt_json_begin(&o, "ceiling", '{');
    ctt_json_put_text(&o, "device", p->device);
    ctt_json_put_int(&o, "threads", p->ceiling.threads);
    ctt_json_put_real(&o, "gflops_fp32", 4, p->ceiling.floats);
    ctt_json_put_real(&o, "gflops_int8", 4, p->ceiling.ints);
    ctt_json_put_real(&o, "gb_per_s", 4, p->ceiling.copy);
    ctt_json_put_int(&o, "gb_per_s_within", p->ceiling.bytes);
    ctt_json_finish(&o, '}');
    ctt_json_begin(&o, "nodes", '[');
    for (int i = 0; i < p->rows; i++)
        put_node(&o, p, &p->row[i], all);
    ctt_json_finish(&o, ']');
    ctt_json_finish(&o, '}');
    putc('\n', f);
    return 0;
}

/* ---- the table ---- */

int ctt_profile_csv(FILE *f, const void *said)
{
    const struct ctt_profile_said *p = said;
    double all = seconds_of(p, 0);

    fputs("node,op,pass,shape,type,kernel,calls,ms,share,gflops,bytes,bound,"
          "of_ceiling,best_ms\n", f);
    for (int i = 0; i < p->rows; i++) {
        const struct ctt_node_row *r = &p->row[i];
        struct ctt_bound b = ctt_bound_of(&p->ceiling, r);

        ctt_csv_quoted(f, r->name);
        fprintf(f, "%s,%s,%s,%s,", r->op, pass_word(r), r->shape, r->type);
        ctt_csv_quoted(f, r->kernel);
        fprintf(f, "%lld,%.6f,%.4f,%.4f,%.17g,%s,%.4f,%.6f\n",
                (long long)r->calls, 1e3 * r->seconds,
                all > 0 ? r->seconds / all : 0, gflops(r), r->bytes, b.by,
                b.share, 1e3 * b.best);
    }
    return 0;
}

static void say_row(struct ctt_table *t, const struct ctt_profile_said *p,
                    const struct ctt_node_row *r, double all)
{
    struct ctt_bound b = ctt_bound_of(&p->ceiling, r);
    char megabytes[32];

    snprintf(megabytes, sizeof(megabytes), "%.3f",
             1e-6 * r->bytes / (double)r->calls);
    ctt_table_row(t, "%s\t%s%s\t%s\t%s\t%s\t%lld\t%.4f\t%.1f%%\t%.1f\t%.0f%%"
                  "\t%s\t%s", r->name, r->op, r->pass == CTT_FWD ? "" : " back",
                  r->shape, r->type, r->kernel, (long long)r->calls,
                  1e3 * r->seconds / (double)r->calls,
                  all > 0 ? 100 * r->seconds / all : 0, gflops(r),
                  100 * b.share, megabytes, b.by);
}

static const enum ctt_span_kind whole[] = { CTT_SPAN_FRAME, CTT_SPAN_ANSWER,
    CTT_SPAN_STEP, CTT_SPAN_TEST };
static const enum ctt_span_kind within[] = { CTT_SPAN_INPUT, CTT_SPAN_WAIT,
    CTT_SPAN_COPY, CTT_SPAN_EXCHANGE, CTT_SPAN_UPDATE };
static const enum ctt_span_kind beside[] = { CTT_SPAN_DECODE, CTT_SPAN_LOAD,
    CTT_SPAN_AUGMENT };

/* The spans in which nodes run, and how much of them is known. */
static void say_spans(double nodes)
{
    double all = 0, known = nodes;

    printf("nodes           %.3f ms", 1e3 * nodes);
    for (size_t i = 0; i < CTT_LEN(within); i++) {
        struct ctt_span_sum s = ctt_spans_sum(within[i]);

        known += s.seconds;
        if (s.count)
            printf(", %s %.3f", ctt_span_words[within[i]], 1e3 * s.seconds);
    }
    for (size_t i = 0; i < CTT_LEN(whole); i++)
        all += ctt_spans_sum(whole[i]).seconds;
    printf(": %.1f%% of %.3f ms", all > 0 ? 100 * known / all : 0, 1e3 * all);
    for (size_t i = 0; i < CTT_LEN(whole); i++) {
        struct ctt_span_sum s = ctt_spans_sum(whole[i]);

        if (s.count)
            printf(", %s: %lld", ctt_span_words[whole[i]], (long long)s.count);
    }
    putchar('\n');
    for (size_t i = 0; i < CTT_LEN(beside); i++) {
        struct ctt_span_sum s = ctt_spans_sum(beside[i]);

        if (s.count)
            printf("%-15s %.3f ms beside, %lld times\n",
                   ctt_span_words[beside[i]], 1e3 * s.seconds,
                   (long long)s.count);
    }
}

/* Amdahl (1967): the rest stays, however fast a part becomes. */
static void say_limits(const struct ctt_profile_said *p, double all)
{
    double best = 0, first = p->row[0].seconds, rest = seconds_of(p, TOP);

    for (int i = 0; i < p->rows; i++)
        best += ctt_bound_of(&p->ceiling, &p->row[i]).best;
    printf("ceiling         %.1f GFLOP/s of fp32", p->ceiling.floats);
    if (p->ceiling.ints > 0)
        printf(", %.1f of int8", p->ceiling.ints);
    printf(", %.1f GB/s within %.1f MB, measured now on %s, %d thread%s\n",
           p->ceiling.copy, 1e-6 * (double)p->ceiling.bytes, p->device,
           p->ceiling.threads, ctt_s(p->ceiling.threads));
    printf("roofline        %.3f ms at that ceiling, %.1f%% of the time\n",
           1e3 * best, all > 0 ? 100 * best / all : 0);
    printf("Amdahl          %.2f times as fast at most without %s",
           all > first ? all / (all - first) : 1.0, p->row[0].name);
    if (rest > 0.01 * all)
        printf(", %.2f without the %d above", all / rest, TOP);
    putchar('\n');
}

int ctt_profile_say(const struct ctt_profile_said *p)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    double all = seconds_of(p, 0);
    int rc = 0;

    if (!p->rows)
        return 0;
    ctt_table_row(&t, "node\top\tshape\ttype\tkernel\tcalls\tms a call\tshare\t"
                  "GFLOP/s\tof ceiling\tMB a call\tbound by");
    for (int i = 0; i < p->rows && i < TOP; i++)
        say_row(&t, p, &p->row[i], all);
    if (p->rows > TOP)
        ctt_table_row(&t, "%d others\t\t\t\t\t\t\t%.1f%%\t\t\t\t",
                      p->rows - TOP, 100 * seconds_of(p, TOP) / all);
    putchar('\n');
    CTT_TRY(ctt_table_print(&t));
    say_spans(all);
    say_limits(p, all);
out:
    return rc;
}
