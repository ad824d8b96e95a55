/* SPDX-License-Identifier: Apache-2.0
 * info.c: convtt-info: what is in a model file, what the model language knows,
 * and how models compare. */
#include "infer/infer.h"
#include "net/file.h"
#include "tools/tool.h"
#include "video/video.h"

#include <stdio.h>
#include <string.h>

struct cfg {
    int   ops, net, compare, threads, max_clips;
    const char *strip, *data, *split, *device;
};

#define FIELD(f) offsetof(struct cfg, f)

static const char usage[] =
    "convtt-info [OPTION...] MODEL...\n"
    "Shows what a model file holds; of several models, a table of all.";

static const struct ctt_opt opts[] = {
    { "ops", CTT_FLAG, FIELD(ops), "0", "list the words of the model "
      "language" },
    { "net", CTT_FLAG, FIELD(net), "0", "print the model's text only" },
    { "strip", CTT_STRING, FIELD(strip), "", "write the model without what "
      "only its training needs", .arg = "OUT" },
    { "compare", CTT_FLAG, FIELD(compare), "0", "a table, of one model too" },
    { "data", CTT_STRING, FIELD(data), "", "clips on which the table measures "
      "time and accuracy", .letter = 'd', .arg = "PATH" },
    { "split", CTT_STRING, FIELD(split), "validation", "part of the data",
      .arg = "NAME" },
    { "max-clips", CTT_INT, FIELD(max_clips), "0", "take at most so many; "
      "0: all", 0, 1000000000, .arg = "N" },
    { "threads", CTT_INT, FIELD(threads), "0", "0: all processors", 0, 4096,
      .letter = 't', .arg = "N" },
    { "device", CTT_STRING, FIELD(device), "cpu", "cpu, or ref: plain C",
      .arg = "NAME" },
    { .name = NULL }
};

/* ---- the language ---- */

static void tell_attribute(const struct ctt_opt *o)
{
    char left[64];

    snprintf(left, sizeof(left), "%s=%s", o->name,
             !o->dflt ? "..." : o->dflt[0] ? o->dflt : "NAME");
    printf("    %-16s %s", left, o->help);
    for (int i = 0; o->choices && o->choices[i]; i++)
        printf("%s%s", i ? ", " : ": ", o->choices[i]);
    if (o->min != 0 || o->max != 0)
        printf(" (%.10g to %.10g)", o->min, o->max);
    printf("%s\n", o->dflt ? "" : " (must be given)");
}

static void tell_ops(void)
{
    const struct ctt_opt *attr;
    const char *word;

    printf("A model is a text: a line a node, 'word name key=value ...', and "
           "# comments.\nin= names the inputs with commas between; plus= of a "
           "conv names what is added to\nits result.  The line 'clip' "
           "separates what runs every step from what runs when\nthe model is "
           "asked.\n\nPrimitives:\n");
    for (int i = 0; i < CTT_NOPS; i++) {
        const struct ctt_op *op = &ctt_ops[i];

        printf("  %s", op->name);
        if (op->max_in > op->min_in)
            printf(", %d to %d inputs\n", op->min_in, op->max_in);
        else
            printf(", %d input%s\n", op->min_in, op->min_in == 1 ? "" : "s");
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

static void macs_of(const struct ctt_graph *g, double *frame, double *answer)
{
    *frame = *answer = 0;
    for (int i = 0; i < g->count; i++)
        *(i < g->clip ? frame : answer) += (double)ctt_node_macs(g, i);
}

static void tell_input(const struct ctt_graph *g)
{
    static const char *const colours[] = { "RGB", "BGR", "gray" };
    const struct ctt_input *in = &g->node[ctt_graph_input(g)].attr.input;
    double frame, answer;
    char a[32], b[32];

    macs_of(g, &frame, &answer);
    printf("frames          %dx%d %s, %g a second\n", in->w, in->h,
           in->c == 1 ? colours[2] : colours[in->colour], (double)in->fps);
    printf("multiplications %s a frame, %s an answer\n",
           ctt_tool_count(frame, a, sizeof(a)),
           ctt_tool_count(answer, b, sizeof(b)));
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

static int tell_stored(const char *path)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct ctt_stored *s = NULL;
    int64_t bytes, payload = 0;
    int count, rc = 0;

    CTT_TRY(ctt_model_stored(path, &s, &count, &bytes));
    ctt_table_row(&t, "weight\tpositions\tvalues\tbytes\tparameters\tkept\t"
                  "on disk");
    for (int i = 0; i < count; i++) {
        payload += s[i].size;
        ctt_table_row(&t, "%s\t%s\t%s\t%s\t%lld\t%lld\t%lld", s[i].name,
                      s[i].positions, s[i].values, s[i].bytes,
                      (long long)s[i].params, (long long)s[i].kept,
                      (long long)s[i].size);
    }
    CTT_TRY(ctt_table_print(&t));
    printf("on disk         %lld bytes, %lld of them weights\n",
           (long long)bytes, (long long)payload);
out:
    ctt_free(s);
    return rc;
}

static int tell_model(const char *path)
{
    struct ctt_model *m = NULL;
    char *text = NULL;
    char a[32];
    int rc = 0;

    CTT_TRY(ctt_model_load(path, 1, &m));
    CTT_TRY((text = ctt_net_print(m->g)) ? 0 : CTT_ENOMEM);
    printf("model           %s\n", path);
    tell_input(m->g);
    printf("parameters      %s\n", ctt_tool_count((double)ctt_model_params(m),
                                                  a, sizeof(a)));
    printf("training state  %s\n", m->train ? "yes (--strip drops it)" : "no");
    printf("\n%s\n", text);
    CTT_TRY(tell_nodes(m->g));
    printf("\n");
    CTT_TRY(tell_stored(path));
    printf("\n%d classes\n", m->labels);
    for (int i = 0; i < m->labels; i++)
        printf("  %d  %s\n", i, m->label[i]);
    if (m->history && m->history[0])
        printf("\nhistory\n%s", m->history);
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

    CTT_TRY(ctt_model_load(path, 0, &m));
    CTT_TRY((text = ctt_net_print(m->g)) ? 0 : CTT_ENOMEM);
    fputs(text, stdout);
out:
    ctt_free(text);
    ctt_model_free(&m);
    return rc;
}

static int strip(const char *path, const char *out)
{
    struct ctt_model *m = NULL;
    int rc = 0;

    CTT_TRY(ctt_model_load(path, 0, &m));
    CTT_TRY(ctt_model_save(out, m));
out:
    ctt_model_free(&m);
    return rc;
}

/* ---- measuring ---- */

enum { RATIOS = 3, TIMED_CLIPS = 8 };
static const double ratios[RATIOS] = { 0.25, 0.5, 1 };

struct measured {
    int    clips, skipped, right[RATIOS];
    double frame_ms, answer_ms;    /* one at a time, as a camera gives them */
};

struct meter {
    const struct cfg     *cfg;
    struct ctt_input      in;
    struct ctt_infer     *model;
    struct ctt_session   *session;
    struct ctt_list      *list;
    float                *probs;
    uint8_t              *frames;   /* of a clip, cut to the model's size */
    size_t                room;
    int                   count;
    double                push_s, read_s;
    int                   pushes, reads;
};

static int infer_failed(int rc)
{
    return rc < 0 ? ctt_error(rc, "%s", ctt_infer_error()) : rc;
}

/* The middle of each stored frame. */
static int cut(struct meter *k, const struct ctt_frames *f)
{
    size_t row = (size_t)(k->in.w * f->c), frame = row * (size_t)k->in.h;
    int x = (f->w - k->in.w) / 2, y = (f->h - k->in.h) / 2;

    if (frame * (size_t)f->count > k->room) {
        uint8_t *more = ctt_realloc(k->frames, frame * (size_t)f->count);
        if (!more)
            return CTT_ENOMEM;
        k->frames = more;
        k->room = frame * (size_t)f->count;
    }
    for (int t = 0; t < f->count; t++)
        for (int r = 0; r < k->in.h; r++)
            memcpy(k->frames + (size_t)t * frame + (size_t)r * row,
                   f->data + (((size_t)t * (size_t)f->h + (size_t)(y + r)) *
                              (size_t)f->w + (size_t)x) * (size_t)f->c, row);
    k->count = f->count;
    return 0;
}

static int best_class(const struct meter *k)
{
    int best = 0;

    for (int i = 1; i < ctt_infer_classes(k->model); i++)
        if (k->probs[i] > k->probs[best])
            best = i;
    return best;
}

/* max(1, floor(ratio * frames)). */
static int frames_at(double ratio, int frames)
{
    int n = (int)(ratio * frames * (1 + 1e-9));

    return n > 1 ? n : 1;
}

static int ask_clip(struct meter *k, int label, struct measured *r)
{
    size_t frame = (size_t)(k->in.h * k->in.w * k->in.c);
    int at = 0, rc = 0;

    ctt_session_reset(k->session);
    for (int i = 0; i < RATIOS; i++) {
        int to = frames_at(ratios[i], k->count);
        if (to > at)
            CTT_TRY(infer_failed(ctt_session_push(k->session, k->frames +
                                                  (size_t)at * frame,
                                                  to - at)));
        at = to;
        CTT_TRY(infer_failed(ctt_session_read(k->session, k->probs)));
        r->right[i] += best_class(k) == label;
    }
    r->clips++;
out:
    return rc;
}

static int time_clip(struct meter *k)
{
    size_t frame = (size_t)(k->in.h * k->in.w * k->in.c);
    int rc = 0;

    ctt_session_reset(k->session);
    for (int t = 0; t < k->count; t++) {
        double a = ctt_tool_seconds(), b;
        CTT_TRY(infer_failed(ctt_session_push(k->session, k->frames +
                                              (size_t)t * frame, 1)));
        b = ctt_tool_seconds();
        CTT_TRY(infer_failed(ctt_session_read(k->session, k->probs)));
        if (t == 0)
            continue;    /* the first one prepares */
        k->push_s += b - a;
        k->read_s += ctt_tool_seconds() - b;
        k->pushes++;
        k->reads++;
    }
out:
    return rc;
}

static int measure_clip(struct meter *k, int i, struct measured *r)
{
    const struct ctt_item *item = &k->list->item[i];
    struct ctt_frames f = { NULL, 0, 0, 0, 0, 0 };
    int rc = ctt_frames_load(item->path, &k->in, 0, &f);

    if (rc < 0 && rc != CTT_ENOMEM) {
        ctt_tool_warn("%s (skipped)", ctt_errmsg());
        r->skipped++;
        rc = 0;
        goto out;
    }
    CTT_TRY(rc);
    CTT_TRY(cut(k, &f));
    CTT_TRY(ask_clip(k, item->label, r));
    if (r->clips <= TIMED_CLIPS)
        CTT_TRY(time_clip(k));
out:
    ctt_frames_free(&f);
    return rc;
}

static int measure(const struct cfg *cfg, const char *path,
                   const struct ctt_model *m, struct measured *out)
{
    struct meter k = { .cfg = cfg };
    struct measured r = { .clips = 0 };
    int n, rc = 0;

    k.in = m->g->node[ctt_graph_input(m->g)].attr.input;
    CTT_TRY(ctt_list_open(cfg->data, cfg->split, m->labels ? m->label : NULL,
                          m->labels, NULL, &k.list));
    CTT_TRY(infer_failed(ctt_infer_open(path, cfg->device, cfg->threads,
                                        &k.model)));
    CTT_TRY(infer_failed(ctt_session_open(k.model, &k.session)));
    k.probs = ctt_calloc((size_t)ctt_infer_classes(k.model), sizeof(float));
    CTT_TRY(k.probs ? 0 : CTT_ENOMEM);
    n = k.list->count;
    n = cfg->max_clips && cfg->max_clips < n ? cfg->max_clips : n;
    for (int i = 0; i < n; i++) {
        ctt_tool_progress(0, "%s: clip %d of %d", path, i + 1, n);
        CTT_TRY(measure_clip(&k, i, &r));
    }
    CTT_CHECK(r.clips, CTT_EFORMAT, "%s: no usable clip in %d", cfg->data, n);
    r.frame_ms = k.pushes ? 1e3 * k.push_s / k.pushes : 0;
    r.answer_ms = k.reads ? 1e3 * k.read_s / k.reads : 0;
    *out = r;
out:
    ctt_session_close(&k.session);
    ctt_infer_close(&k.model);
    ctt_list_free(&k.list);
    ctt_free(k.probs);
    ctt_free(k.frames);
    return rc;
}

/* ---- comparing ---- */

static int compare_row(const struct cfg *cfg, const char *path,
                       struct ctt_table *t)
{
    struct ctt_model *m = NULL;
    struct ctt_stored *s = NULL;
    struct measured r = { .clips = 0 };
    char params[32], macs[32], more[32];
    double frame, answer;
    int64_t bytes;
    int count, rc = 0;

    CTT_TRY(ctt_model_load(path, 0, &m));
    CTT_TRY(ctt_model_stored(path, &s, &count, &bytes));
    macs_of(m->g, &frame, &answer);
    ctt_tool_count((double)ctt_model_params(m), params, sizeof(params));
    ctt_tool_count(frame, macs, sizeof(macs));
    ctt_tool_count(answer, more, sizeof(more));
    if (!cfg->data) {
        ctt_table_row(t, "%s\t%lld\t%s\t%s\t%s", path, (long long)bytes,
                      params, macs, more);
        goto out;
    }
    CTT_TRY(measure(cfg, path, m, &r));
    ctt_table_row(t, "%s\t%lld\t%s\t%s\t%s\t%.2f\t%.2f\t%.1f%%\t%.1f%%\t%.1f%%",
                  path, (long long)bytes, params, macs, more, r.frame_ms,
                  r.answer_ms, 100.0 * r.right[0] / r.clips,
                  100.0 * r.right[1] / r.clips, 100.0 * r.right[2] / r.clips);
out:
    ctt_free(s);
    ctt_model_free(&m);
    return rc;
}

static int compare(const struct cfg *cfg, char **path, int count)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    int rc = 0;

    ctt_table_row(&t, "model\tbytes\tparameters\tmult/frame\tmult/answer%s",
                  cfg->data ? "\tms/frame\tms/answer\ttop-1 at 25%\tat 50%\t"
                  "at 100%" : "");
    for (int i = 0; i < count; i++)
        CTT_TRY(compare_row(cfg, path[i], &t));
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

static int run(const struct cfg *cfg, char **path, int count)
{
    if (cfg->strip)
        return strip(path[0], cfg->strip);
    if (cfg->net)
        return tell_net(path[0]);
    if (cfg->compare || cfg->data || count > 1)
        return compare(cfg, path, count);
    return tell_model(path[0]);
}

int main(int argc, char **argv)
{
    struct cfg cfg;
    int first, done = 0;

    ctt_tool_start("convtt-info");
    memset(&cfg, 0, sizeof(cfg));
    first = ctt_opt_main(opts, usage, &cfg, argc, argv, &done);
    if (done && first >= 0)
        return 0;
    if (first < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (cfg.ops) {
        tell_ops();
        return 0;
    }
    if (first == argc)
        return ctt_tool_die(CTT_EXIT_USAGE, "no model given (see --help)");
    if (argc - first > 1 && (cfg.strip || cfg.net))
        return ctt_tool_die(CTT_EXIT_USAGE, "--strip and --net take one model");
    if (run(&cfg, argv + first, argc - first) < 0)
        return ctt_tool_fail(CTT_EXIT_FAIL);
    return 0;
}
