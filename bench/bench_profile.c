/* SPDX-License-Identifier: Apache-2.0
 * bench_profile.c: the cost of --profile: frames of models on one thread, with
 * and without being recorded, in turns.
 *
 * Usage: bench_profile NAME.net... */
#include "base/clock.h"
#include "base/span.h"
#include "device/dev.h"
#include "net/file/file.h"
#include "net/init.h"
#include "tools/bench/bench_tool.h"
#include "tools/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct ctt_pace pace = { 20, 2000, 5 };

struct both { struct ctt_runner r; ctt_call_watch *watch; };

static int run_recorded(void *arg, int which, int frames)
{
    struct both *b = arg;

    ctt_spans_on = which;
    ctt_dev_watch(which ? b->watch : NULL);
    return ctt_runner_step(&b->r, frames);
}

static int64_t node_calls(void)
{
    return ctt_spans_sum(CTT_SPAN_NODE).count;
}

static int time_recording(struct both *b, const char *name)
{
    struct ctt_turns p = { .run = run_recorded, .arg = b,
                           .clock = ctt_thread_seconds, .first = 1 };
    struct ctt_paired_timing t;
    double start, frame;
    int64_t before;
    int rc;

    CTT_TRY(run_recorded(b, 0, 100));
    start = p.clock();
    CTT_TRY(run_recorded(b, 0, 100));
    frame = (p.clock() - start) / 100;
    p.frames = 1 + (int)fmin(0.005 / frame, 1000);
    before = node_calls();
    CTT_TRY(run_recorded(b, 1, 100));
    before = (node_calls() - before) / 100;
    CTT_TRY(ctt_paired_timing_of(&p, &pace, &t));
    printf("%-36s %9.1f us %4lld nodes  %.4f (%.4f-%.4f)  %4.0f ns a node%s\n",
           name, 1e3 * t.ms[0], (long long)before, t.ratio.median, t.ratio.q1,
           t.ratio.q3, 1e6 * (t.ratio.median - 1) * t.ms[0] / (double)before,
           t.steady ? "" : "  (busy)");
    fflush(stdout);
out:
    return rc;
}

/* A model file of the text at path, with random weights. */
static int random_model_file(const char *path, char name[32])
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    char *text = NULL;
    int rc, fd = mkstemp(strcpy(name, "/tmp/bench_profile-XXXXXX"));

    CTT_CHECK(fd >= 0, CTT_EIO, "%s: cannot write", name);
    close(fd);
    CTT_TRY(ctt_net_read(path, &text));
    CTT_TRY(ctt_net_parse(text, &g));
    CTT_TRY(ctt_model_new(g, &m));
    ctt_init_weights(m, 1);
    CTT_TRY(ctt_model_save(name, m));
out:
    ctt_model_free(&m);
    ctt_free(text);
    return rc;
}

static int bench_recording(const char *path)
{
    char name[32];
    struct both b = { .watch = NULL };
    int rc;

    CTT_TRY(random_model_file(path, name));
    rc = ctt_runner_load(name, "cpu", "fp32", 0, 1, &b.r);
    unlink(name);
    CTT_TRY(rc);
    CTT_TRY(ctt_spans_open(1 << 18));
    CTT_TRY(ctt_node_times_open());
    b.watch = ctt_dev_watching();
    CTT_TRY(time_recording(&b, path));
out:
    ctt_spans_stop();
    ctt_node_times_close();
    ctt_runner_close(&b.r);
    ctt_spans_close();
    return rc;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (bench_recording(argv[i]) < 0)
            fprintf(stderr, "%s\n", ctt_errmsg());
    return 0;
}
