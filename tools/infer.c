/* SPDX-License-Identifier: Apache-2.0
 * infer.c: convtt-infer: what clips show, said while they run. */
#include "infer/infer.h"
#include "net/clock.h"
#include "tools/infer_opt.h"
#include "tools/infer_say.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHARES = 16, BATCH = 8 };

struct tool {
    struct ctt_infer_set c;
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
    struct ctt_predictor *ahead;       /* --predict */
};

/* A clip on its way through the session: number i of the clips. */
struct clip {
    const struct ctt_source *from;
    const struct ctt_item   *item;
    int                      i;
    int                      seen, total;    /* frames; total 0: not known */
    double                   fps, ms;        /* ms: computing so far */
};

static double now_ms(void)
{
    return 1e3 * ctt_seconds();
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

    CTT_TRY(ctt_infer_rc(ctt_session_read(t->s, t->probs)));
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
        ctt_frame_middle(data + (size_t)i * (size_t)w * (size_t)h * t->in.c,
                         w, h, &t->in, t->frames + (size_t)i * t->in.w *
                         t->in.h * t->in.c);
    CTT_TRY(ctt_infer_rc(ctt_session_push_float(t->s, t->frames, frames)));
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
    int rc = ctt_source_frames(c->from, c->i, 0, 0, &f);

    *bad = rc < 0 && rc != CTT_ENOMEM;
    CTT_TRY(rc);
    CTT_TRY(observe(t, c, &f));
out:
    ctt_frames_free(&f);
    return rc;
}

static int run_stream(struct tool *t, struct clip *c, int *bad)
{
    struct ctt_feed *r = NULL;
    uint8_t *data = NULL;
    int w, h, rc, answered = 0;

    c->fps = (double)t->in.fps;
    ctt_frame_size(&t->in, &w, &h);
    data = ctt_calloc((size_t)w * (size_t)h, (size_t)t->in.c);
    CTT_TRY(data ? 0 : CTT_ENOMEM);
    rc = ctt_feed_open(c->from, c->i, 0, &r);
    *bad = rc < 0 && rc != CTT_ENOMEM;
    CTT_TRY(rc);
    for (;;) {
        rc = ctt_feed_next(r, data);
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
    ctt_feed_close(&r);
    ctt_free(data);
    return rc;
}

static int run_item(struct tool *t, const struct ctt_source *from, int i)
{
    struct clip c = { .from = from, .i = i,
                      .item = &ctt_source_list(from)->item[i] };
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

static struct ctt_source_set which_clips(const struct tool *t)
{
    const struct ctt_predict *p = &t->c.predict;

    return (struct ctt_source_set){ .split = t->c.split, .need_split = 1,
        .classes = t->c.classes, .label = t->label,
        .labels = p->count ? CTT_LABELS_ANY : t->classes,
        .sequences = p->sequences, .digits = p->digits,
        .frames = p->seen + p->count, .drawn_for = "--predict" };
}

static int run_path(struct tool *t, const char *path)
{
    struct ctt_source_set set = which_clips(t);
    struct ctt_source *s = NULL;
    int rc;

    CTT_TRY(ctt_source_open(path, &set, &t->in, &s));
    for (int i = 0; i < ctt_source_list(s)->count; i++)
        CTT_TRY(run_item(t, s, i));
out:
    ctt_source_close(&s);
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

/* What to do with an operand: at once, or to be run when all are known. */
static int take_operand(struct tool *t, const char *path)
{
    return t->ahead ? ctt_predictor_add(t->ahead, path)
                    : run_operand(t, path);
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
            CTT_TRY(take_operand(t, line));
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

    CTT_TRY(ctt_infer_rc(ctt_infer_open(path, t->c.device, t->c.threads,
                                        &t->m)));
    CTT_TRY(ctt_infer_rc(ctt_session_open(t->m, &t->s)));
    t->open_ms = now_ms() - start;
    look_at_model(t);
    t->label = ctt_calloc((size_t)t->classes + 1, sizeof(*t->label));
    t->probs = ctt_calloc((size_t)t->classes + 1, sizeof(*t->probs));
    t->order = ctt_calloc((size_t)t->classes + 1, sizeof(*t->order));
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

static int take_operands(struct tool *t, char **path, int paths)
{
    int rc = 0;

    for (int i = 0; i < paths; i++)
        CTT_TRY(strcmp(path[i], "-") == 0 ? run_input(t)
                                          : take_operand(t, path[i]));
out:
    return rc;
}

static int run_all(struct tool *t, char **path, int paths)
{
    int rc = 0;

    CTT_TRY(take_operands(t, path, paths));
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

static int predict_all(struct tool *t, char **path, int paths)
{
    struct ctt_predict_with with = { .set = &t->c.predict, .session = t->s,
        .in = &t->in, .which = which_clips(t),
        .times = t->c.time ? &t->frame : NULL, .json = t->c.json,
        .strict = t->c.strict };
    int rc = 0;

    ctt_tool_catch();
    CTT_TRY(ctt_predictor_open(&with, &t->ahead));
    CTT_TRY(take_operands(t, path, paths));
    CTT_TRY(ctt_predictor_run(t->ahead));
    if (t->c.time)
        CTT_TRY(ctt_say_times(t->open_ms, &t->frame, &t->answer, t->c.json));
out:
    ctt_predictor_close(&t->ahead);
    return rc;
}

/* A model does one of both. */
static int run(struct tool *t, const char *model, char **path, int paths)
{
    int rc, predicts = ctt_infer_predicts(t->m);

    CTT_CHECK(predicts || !t->c.predict.count, CTT_EINVAL,
              "%s: does not predict frames, it says what a clip shows "
              "(leave out --predict)", model);
    CTT_CHECK(!predicts || t->c.predict.count, CTT_EINVAL,
              "%s: predicts frames; say how many (--predict N)", model);
    rc = (predicts ? predict_all : run_all)(t, path, paths);
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct tool t = { .m = NULL };
    int first, done, status = 0;

    ctt_tool_start("convtt-infer", argv);
    first = ctt_opt_main(&ctt_infer_program, &t.c, argc, argv, &done);
    if (first < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (done)
        return 0;
    if (argc - first < 2)
        return ctt_tool_die(CTT_EXIT_USAGE, "a model and clips must be given "
                            "(see --help)");
    if (ctt_infer_check(&t.c, argv + first, argc - first) < 0 ||
        set_shares(&t) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    if (open_model(&t, argv[first]) < 0 ||
        run(&t, argv[first], argv + first + 1, argc - first - 1) < 0)
        status = ctt_tool_fail(CTT_EXIT_FAIL);
    close_tool(&t);
    return ctt_tool_end(status);
}
