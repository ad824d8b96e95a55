/* SPDX-License-Identifier: Apache-2.0
 * infer.c: convtt-infer: what clips show, said while they run. */
#include "infer/infer.h"
#include "net/opt.h"
#include "tools/infer_say.h"
#include "tools/tool.h"
#include "video/video.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "convtt-infer [options] MODEL CLIP|LIST|FOLDER|- ...\n\n"
    "Says what each clip shows after a share of it has been seen (--observe),\n"
    "or as frames come in (--every).  '-' reads paths from standard input, a\n"
    "line each.";

enum { MOST_SHARES = 16, BATCH = 8 };

struct config {
    const char *split, *classes, *observe;
    int every, top, json, time, strict, device, threads;
};

#define FIELD(f) offsetof(struct config, f)

static const char *const devices[] = { "cpu", "ref", NULL };

static const struct ctt_opt options[] = {
    { "observe", CTT_STRING, FIELD(observe), "", "answer at these shares of "
      "a clip [0.25,0.5,1]", .letter = 'o', .arg = "R,..." },
    { "every", CTT_INT, FIELD(every), "0", "answer each N frames as they "
      "come, and at the end", 0, 1 << 20, .letter = 'e', .arg = "N" },
    { "top", CTT_INT, FIELD(top), "3", "how many classes to show", 1, 1 << 20,
      .letter = 'k', .arg = "K" },
    { "json", CTT_FLAG, FIELD(json), "0", "a line of JSON an answer",
      .letter = 'j' },
    { "split", CTT_STRING, FIELD(split), "", "which part of a data set "
      "[validation, or all if it has no parts]", .arg = "NAME" },
    { "classes", CTT_STRING, FIELD(classes), "", "a file that names the "
      "classes to keep", .arg = "FILE" },
    { "time", CTT_FLAG, FIELD(time), "0", "measure each frame", .letter = 't' },
    { "strict", CTT_FLAG, FIELD(strict), "0", "stop at a clip that cannot be "
      "read" },
    { "device", CTT_CHOICE, FIELD(device), "cpu", "what computes",
      .choices = devices },
    { "threads", CTT_INT, FIELD(threads), "0", "0: all processors", 0, 4096,
      .arg = "N" },
    { .name = NULL }
};

struct tool {
    struct config       c;
    struct ctt_infer   *m;
    struct ctt_session *s;
    struct ctt_input    in;
    char              **label;     /* the model's classes */
    int                 classes;
    float              *frames;    /* BATCH of them, as the model wants them */
    float              *probs;
    int                *order;     /* classes by falling probability */
    struct ctt_score    score[MOST_SHARES];    /* a share each */
    int                 scores;
    struct ctt_times    frame, answer;
    double              open_ms;
    int                 read, skipped;
};

/* A clip on its way through the session. */
struct clip {
    const struct ctt_item *item;
    int                    seen, total;    /* frames; total 0: not known */
    double                 fps, ms;        /* ms: computing so far */
};

/* What failed was the session, whose library has its own last error. */
static int session(int rc)
{
    return rc < 0 ? ctt_error(rc, "%s", ctt_infer_error()) : rc;
}

static double now_ms(void)
{
    return 1e3 * ctt_tool_seconds();
}

/* ---- one clip ---- */

static void rank(struct tool *t)
{
    for (int i = 0; i < t->classes; i++) {
        int j = i;
        for (; j > 0 && t->probs[t->order[j - 1]] < t->probs[i]; j--)
            t->order[j] = t->order[j - 1];
        t->order[j] = i;
    }
}

/* The clip's class, if it is known and one of the model's, or -1. */
static int label_of(const struct tool *t, const struct clip *c)
{
    return c->item->label < t->classes ? c->item->label : -1;
}

static void count(const struct tool *t, const struct clip *c,
                  struct ctt_score *s)
{
    int label = label_of(t, c);

    if (label < 0)
        return;
    s->clips++;
    s->top1 += t->order[0] == label;
    for (int i = 0; i < 5 && i < t->classes; i++)
        s->top5 += t->order[i] == label;
}

static void say(const struct tool *t, const struct clip *c)
{
    struct ctt_said a = { .file = c->item->path, .id = c->item->id,
        .frame = c->seen, .frames = c->total, .ms = c->ms, .name = t->label,
        .probs = t->probs, .order = t->order, .top = t->c.top };

    a.seconds = c->fps > 0 ? c->seen / c->fps : -1;
    if (label_of(t, c) >= 0)
        a.label = t->label[label_of(t, c)];
    ctt_say_answer(&a, t->c.json);
}

/* s: where the answer counts, or NULL. */
static int answer(struct tool *t, struct clip *c, struct ctt_score *s)
{
    double start = now_ms(), ms;
    int rc = 0;

    CTT_TRY(session(ctt_session_read(t->s, t->probs)));
    ms = now_ms() - start;
    c->ms += ms;
    if (t->c.time)
        CTT_TRY(ctt_times_add(&t->answer, ms));
    rank(t);
    if (s)
        count(t, c, s);
    say(t, c);
out:
    return rc;
}

/* The next frames, as stored, cut from their middle. */
static int push(struct tool *t, struct clip *c, const uint8_t *data, int frames)
{
    double start = now_ms(), ms;
    int w, h, rc = 0;

    ctt_frame_size(&t->in, &w, &h);
    for (int i = 0; i < frames; i++)
        ctt_frame_float(data + (size_t)i * (size_t)w * (size_t)h * t->in.c,
                        &t->in, (w - t->in.w) / 2, (h - t->in.h) / 2, 0,
                        t->frames + (size_t)i * t->in.w * t->in.h * t->in.c);
    CTT_TRY(session(ctt_session_push_float(t->s, t->frames, frames)));
    ms = now_ms() - start;
    c->ms += ms;
    c->seen += frames;
    if (t->c.time)
        CTT_TRY(ctt_times_add(&t->frame, ms));
out:
    return rc;
}

/* A clip that is there as a whole, answered at each share of it. */
static int observe(struct tool *t, struct clip *c, const struct ctt_frames *f)
{
    size_t size = (size_t)f->w * (size_t)f->h * (size_t)f->c;
    int rc = 0, most = t->c.time ? 1 : BATCH;

    c->total = f->count;
    c->fps = (double)f->fps;
    for (int i = 0; i < t->scores; i++) {
        int until = (int)(t->score[i].seen * f->count * (1 + 1e-9));
        until = until < 1 ? 1 : until;
        while (c->seen < until) {
            int some = until - c->seen < most ? until - c->seen : most;
            CTT_TRY(push(t, c, f->data + (size_t)c->seen * size, some));
        }
        CTT_TRY(answer(t, c, &t->score[i]));
    }
out:
    return rc;
}

/* bad: set when it is the clip that is wrong. */
static int run_whole(struct tool *t, struct clip *c, int *bad)
{
    struct ctt_frames f = { 0 };
    int rc = ctt_frames_load(c->item->path, &t->in, 0, &f);

    *bad = rc < 0 && rc != CTT_ENOMEM;
    CTT_TRY(rc);
    CTT_TRY(observe(t, c, &f));
out:
    ctt_frames_free(&f);
    return rc;
}

static int run_stream(struct tool *t, struct clip *c, int *bad)
{
    struct ctt_reader *r = NULL;
    uint8_t *data = NULL;
    int w, h, rc, answered = 0;

    c->fps = (double)t->in.fps;
    ctt_frame_size(&t->in, &w, &h);
    data = ctt_calloc((size_t)w * (size_t)h, (size_t)t->in.c);
    CTT_TRY(data ? 0 : CTT_ENOMEM);
    rc = ctt_reader_open(c->item->path, &t->in, &r);
    *bad = rc < 0 && rc != CTT_ENOMEM;
    CTT_TRY(rc);
    for (;;) {
        rc = ctt_reader_next(r, data);
        *bad = rc < 0 && rc != CTT_ENOMEM;
        CTT_TRY(rc);
        if (rc == 0)
            break;
        CTT_TRY(push(t, c, data, 1));
        if (c->seen % t->c.every == 0) {
            CTT_TRY(answer(t, c, NULL));
            answered = c->seen;
        }
    }
    if (answered == c->seen)
        count(t, c, &t->score[0]);
    else
        CTT_TRY(answer(t, c, &t->score[0]));
out:
    ctt_reader_close(&r);
    ctt_free(data);
    return rc;
}

static int run_item(struct tool *t, const struct ctt_item *item)
{
    struct clip c = { .item = item };
    int bad = 0, rc;

    ctt_session_reset(t->s);
    rc = (t->c.every ? run_stream : run_whole)(t, &c, &bad);
    if (rc < 0 && bad && !t->c.strict) {
        ctt_tool_warn("%s; skipped", ctt_errmsg());
        t->skipped++;
        return 0;
    }
    t->read += rc >= 0;
    return rc < 0 ? rc : 0;
}

/* ---- what there is to do ---- */

static int open_list(struct tool *t, const char *path, const char *split,
                     struct ctt_list **list)
{
    return ctt_list_open(path, split, t->label, t->classes, t->c.classes,
                         list);
}

static int run_path(struct tool *t, const char *path)
{
    struct ctt_list *list = NULL;
    int rc;

    rc = open_list(t, path, t->c.split ? t->c.split : "validation", &list);
    if (rc == CTT_EINVAL && !t->c.split)    /* a folder that has no splits */
        rc = open_list(t, path, "train", &list);
    CTT_TRY(rc);
    for (int i = 0; i < list->count; i++)
        CTT_TRY(run_item(t, &list->item[i]));
out:
    ctt_list_free(&list);
    return rc;
}

/* A path that cannot be listed is a clip that cannot be read. */
static int run_operand(struct tool *t, const char *path)
{
    int before = t->read + t->skipped, rc = run_path(t, path);

    if (rc >= 0 || rc == CTT_ENOMEM || t->c.strict ||
        t->read + t->skipped > before)
        return rc;
    ctt_tool_warn("%s; skipped", ctt_errmsg());
    t->skipped++;
    return 0;
}

static int run_input(struct tool *t)
{
    char line[8192];
    int rc = 0;

    while (fgets(line, sizeof(line), stdin)) {
        size_t n = strcspn(line, "\n");
        CTT_CHECK(line[n] || feof(stdin), CTT_EINVAL,
                  "standard input: a path of more than %zu bytes",
                  sizeof(line) - 2);
        line[n] = '\0';
        if (n)
            CTT_TRY(run_operand(t, line));
    }
    CTT_CHECK(!ferror(stdin), CTT_EIO, "standard input cannot be read");
out:
    return rc;
}

static int set_shares(struct tool *t)
{
    const char *s = t->c.observe ? t->c.observe : "0.25,0.5,1";
    double last = 0;
    int rc = 0;
    char *end;

    if (t->c.every)
        s = "1";
    CTT_CHECK(!t->c.every || !t->c.observe, CTT_EINVAL,
              "--every and --observe exclude each other");
    do {
        CTT_CHECK(t->scores < MOST_SHARES, CTT_EINVAL,
                  "--observe: more than %d shares", MOST_SHARES);
        double r = strtod(s, &end);
        CTT_CHECK(end != s && (*end == ',' || !*end) && r > last && r <= 1,
                  CTT_EINVAL, "--observe: '%s' is not rising shares up to 1",
                  t->c.observe);
        t->score[t->scores++].seen = last = r;
        s = end + 1;
    } while (*end);
out:
    return rc;
}

static void look_at_model(struct tool *t)
{
    const struct ctt_infer_input *w = ctt_infer_wants(t->m);

    t->in = (struct ctt_input){ .d = 1, .h = w->h, .w = w->w, .c = w->c,
        .fps = w->fps, .scale = w->scale, .fit = (int)w->fit,
        .colour = (int)w->colour };
    memcpy(t->in.mean, w->mean, sizeof(t->in.mean));
    memcpy(t->in.std, w->std, sizeof(t->in.std));
    t->classes = ctt_infer_classes(t->m);
    if (t->c.top > t->classes)
        t->c.top = t->classes;
}

static int open_model(struct tool *t, const char *path)
{
    double start = now_ms();
    int rc;

    CTT_TRY(session(ctt_infer_open(path, devices[t->c.device], t->c.threads,
                                   &t->m)));
    CTT_TRY(session(ctt_session_open(t->m, &t->s)));
    t->open_ms = now_ms() - start;
    look_at_model(t);
    t->label = ctt_calloc((size_t)t->classes, sizeof(*t->label));
    t->probs = ctt_calloc((size_t)t->classes, sizeof(*t->probs));
    t->order = ctt_calloc((size_t)t->classes, sizeof(*t->order));
    t->frames = ctt_calloc((size_t)BATCH * (size_t)t->in.w * (size_t)t->in.h,
                           (size_t)t->in.c * sizeof(*t->frames));
    CTT_TRY(t->label && t->probs && t->order && t->frames ? 0 : CTT_ENOMEM);
    for (int i = 0; i < t->classes; i++)
        t->label[i] = (char *)ctt_infer_class(t->m, i);
out:
    return rc;
}

static void close_tool(struct tool *t)
{
    ctt_session_close(&t->s);
    ctt_infer_close(&t->m);
    ctt_free(t->label);
    ctt_free(t->probs);
    ctt_free(t->order);
    ctt_free(t->frames);
    ctt_free(t->frame.ms);
    ctt_free(t->answer.ms);
}

static int run_all(struct tool *t, char **path, int paths)
{
    int rc = 0;

    for (int i = 0; i < paths; i++)
        CTT_TRY(strcmp(path[i], "-") == 0 ? run_input(t)
                                          : run_operand(t, path[i]));
    CTT_TRY(ctt_say_scores(t->score, t->scores, t->c.json));
    if (t->c.time)
        CTT_TRY(ctt_say_times(t->open_ms, &t->frame, &t->answer, t->c.json));
    if (t->skipped)
        ctt_tool_warn("%d of %d clips skipped", t->skipped,
                      t->read + t->skipped);
    CTT_CHECK(t->read > 0, CTT_EINVAL, "no clip could be read");
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct tool t = { .m = NULL };
    int first, done, status = 0;

    ctt_tool_start("convtt-infer", argv);
    first = ctt_opt_main(options, usage, &t.c, argc, argv, &done);
    if (first < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (done)
        return 0;
    if (argc - first < 2)
        return ctt_tool_die(CTT_EXIT_USAGE, "a model and clips must be given "
                            "(see --help)");
    if (set_shares(&t) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (open_model(&t, argv[first]) < 0 ||
        run_all(&t, argv + first + 1, argc - first - 1) < 0)
        status = ctt_tool_fail(CTT_EXIT_FAIL);
    close_tool(&t);
    return ctt_tool_end(status);
}
