/* SPDX-License-Identifier: Apache-2.0
 * fuzz_checkpoint.c: training resumed from any training state is an error in
 * one line, or makes a step and writes a checkpoint from which it goes on; the
 * recipe of a checkpoint of convtt-compress is kept.  An input is the arrays of
 * the state, "%NAME SIZE", and its settings. */
#include "tests/fuzz/fuzz.h"
#include "libtrain/checkpoint.h"
#include "net/init.h"
#include "tests/lib/stop.h"

#include <string.h>

enum { PARTS = 12, SIDE = 11, FRAMES = 4, CLIPS = 5 };

const char *const ctt_fuzz_words[] = {
    "\n%settings\n", "\n%values 1\n", "\n%m 4\n", "\n%v 4\n", "\n%best 4\n",
    "\n%data 8\n", "\n%place 8\n", "\n%sums 8\n", "\n%recipe 1\n",
    "\n%!job predict\n", "version=5\n", "version=4\n", "step=",
    "epoch=", "batch=", "best-epoch=", "updates=", "clips=", "weights=",
    "sampling-start=", "sampling-stalled=",
    "sampling-falls=", "loss-scale-clean=", "loss-scale-skips=",
    "loss-scale=", "best-loss=", "sum-weight=", "=0\n", "=-1\n", "=1\n", "=3\n",
    "9223372036854775807", "9223372036854775806", "-9223372036854775808",
    "2147483647", "2147483648", "4294967296", "0x1p1023", "0x1p-1074", "nan",
    "inf", "-inf", "0x1p+16", "\n", NULL
};

/* ---- the trainings ---- */

struct job {
    const char          *net;
    struct ctt_train_cfg cfg;
    struct ctt_data     *data, *val;
};

static struct job jobs[2] = {
    { .net = "input x h=11 w=11 c=1 colour=gray\nconv e in=x out=2 kernel=3\n"
             "norm n in=e kind=batch\npool p in=n kind=avg\n"
             "conv y in=p out=2\n" },
    { .net = "input x h=11 w=11 c=1 colour=gray\n"
             "convlstm h in=x hidden=2 kernel=3\n"
             "conv y in=h out=1 kernel=1\n" },
};

static struct ctt_model *new_model(const struct job *j)
{
    static char one[] = "one", two[] = "two";
    char *label[] = { one, two };
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    FUZZ_CHECK(ctt_net_parse(j->net, &g) >= 0 && ctt_model_new(g, &m) >= 0);
    if (j == jobs)
        FUZZ_CHECK(ctt_model_labels(m, label, 2) >= 0);
    ctt_init_weights(m, 1);
    return m;
}

static const char *pack_clips(const struct ctt_model *m, const char *name)
{
    static uint8_t pixel[FRAMES * SIDE * SIDE];
    struct ctt_frames f = { pixel, FRAMES, SIDE, SIDE, 1, 0 };
    const char *path = ctt_scratch(name);
    struct ctt_pack *p = NULL;
    char id[16];

    FUZZ_CHECK(ctt_pack_create(path, &m->g->node[0].attr.input, m->label,
                               m->labels, &p) >= 0);
    for (int i = 0; i < CLIPS; i++) {
        for (size_t k = 0; k < sizeof(pixel); k++)
            pixel[k] = (uint8_t)(k * (size_t)(i + 3) % 251);
        snprintf(id, sizeof(id), "%d", i);
        FUZZ_CHECK(ctt_pack_add(p, id, m->labels ? i % 2 : -1, &f) >= 0);
    }
    FUZZ_CHECK(ctt_pack_finish(&p) >= 0);
    return path;
}

static void open_job(struct job *j)
{
    struct ctt_train_cfg *c = &j->cfg;
    struct ctt_model *m = new_model(j);
    const struct ctt_input *in = &m->g->node[0].attr.input;
    const char *path;

    FUZZ_CHECK(ctt_opt_defaults(ctt_train_opts, c) >= 0);
    c->device = "ref";
    c->threads = c->workers = 1;
    c->batch = c->val_batch = 2;
    c->epochs = 3;
    if (j != jobs) {
        c->task = CTT_PREDICT;
        c->input_frames = c->future_frames = 2;
        c->sampling_start = "0.5";
        c->sampling_decay = 0.4f;
        c->amp = CTT_O1;
        c->amp_type = CTT_F16;
    }
    path = pack_clips(m, "clips.pack");
    FUZZ_CHECK(ctt_data_open(path, "train", in, m->label, m->labels, c, NULL,
                             &j->data) >= 0);
    FUZZ_CHECK(ctt_data_open(path, "train", in, m->label, m->labels, c, NULL,
                             &j->val) >= 0);
    ctt_model_free(&m);
}

static void close_jobs(void)
{
    for (size_t i = 0; i < CTT_LEN(jobs); i++) {
        ctt_data_close(&jobs[i].data);
        ctt_data_close(&jobs[i].val);
    }
}

static struct job *seed_job(int predict)
{
    static char checkpoint[512];

    if (!jobs[0].data) {
        for (size_t i = 0; i < CTT_LEN(jobs); i++)
            open_job(&jobs[i]);
        snprintf(checkpoint, sizeof(checkpoint), "%s", ctt_scratch("c.net"));
        jobs[0].cfg.checkpoint = jobs[1].cfg.checkpoint = checkpoint;
        atexit(close_jobs);
    }
    return &jobs[predict];
}

/* ---- a step ---- */

static void stop_after(void *arg, const struct ctt_progress *p)
{
    (void)p, (void)arg;
    stop_now = 1;
}

/* Trains for one more step, as ctt_train() does.  *steps: how many were made
 * since the beginning, -1 if nothing was left to do. */
static int resume_steps(const struct job *j, struct ctt_model *m,
                        int64_t *steps)
{
    const struct ctt_events ev = { .progress = stop_after };
    struct ctt_result r = { 0 };
    int rc = stop_train(m, &j->cfg, j->data, j->val, &ev, &r);

    *steps = stop_now ? r.steps : -1;
    return rc;
}

/* 1 if a number of the state is the largest one that may be read. */
static int is_full(const struct ctt_model *m)
{
    static const int64_t most = INT64_C(1) << 53;
    struct ctt_checkpoint_values v = { .version = 0 };

    return ctt_values_read(m->train, &v) >= 0 &&
           (v.at.step == most || v.updates == most ||
            v.at.scale.clean == most || v.at.scale.skips == most ||
            v.at.scale.skipped == most || v.at.sampling.stalled == most);
}

/* A checkpoint of a resumed training can be resumed again. */
static void check_resumable(const struct job *j, int64_t steps)
{
    struct ctt_checkpoint_values v = { .version = 0 };
    struct ctt_model *m = NULL;
    int64_t more = 0;

    FUZZ_CHECK(ctt_model_load(j->cfg.checkpoint, 1, &m) >= 0 && m->train);
    FUZZ_CHECK(ctt_values_read(m->train, &v) >= 0);
    FUZZ_CHECK(v.at.step == steps);
    if (resume_steps(j, m, &more) >= 0)
        FUZZ_CHECK(more == -1 || more == steps + 1);
    else
        FUZZ_CHECK(ctt_errmsg()[0]);
    ctt_model_free(&m);
}

static char *recipe_of(const struct job *j, struct ctt_model *m)
{
    char *recipe = NULL;

    if (ctt_pause_open(m, &j->cfg, &recipe) < 0) {
        FUZZ_CHECK(!recipe && ctt_errmsg()[0]);
    } else if (ctt_pause_end(m, &j->cfg, j->data, j->val) < 0) {
        FUZZ_CHECK(ctt_errmsg()[0]);
        ctt_free(recipe);
        recipe = NULL;
    }
    return recipe;
}

/* A recipe that is read is written and read as the same. */
static void check_recipe(const struct job *j, const struct ctt_model *m)
{
    struct ctt_train_cfg cfg = j->cfg;
    struct ctt_model *copy = NULL;
    const char *path = ctt_scratch("p.net");
    char *recipe, *again;

    FUZZ_CHECK(ctt_model_copy(m, &copy) >= 0);
    recipe = recipe_of(j, copy);
    if (recipe && *recipe) {
        cfg.wiring.recipe = recipe;
        FUZZ_CHECK(ctt_pause_save(path, copy, &cfg, j->data, j->val) >=
                   0);
        ctt_model_free(&copy);
        FUZZ_CHECK(ctt_model_load(path, 1, &copy) >= 0);
        again = recipe_of(j, copy);
        FUZZ_CHECK(again && strcmp(recipe, again) == 0 && !copy->train);
        ctt_free(again);
    }
    ctt_free(recipe);
    ctt_model_free(&copy);
}

/* ---- an input ---- */

/* Bytes of an array; m, v and best have one float per weight, whatever the
 * input has, because any other length is refused at once. */
static void add_array(const struct ctt_model *m, const struct ctt_chunk *c)
{
    int size = atoi(c->words), each;
    int64_t count, bytes, n = (int64_t)c->n;
    void *data;

    each = strcmp(c->name, "m") == 0 || strcmp(c->name, "v") == 0 ||
           strcmp(c->name, "best") == 0;
    if (size != 1 && size != 4 && size != 8)
        size = each ? 4 : 1;
    count = each && size == 4 ? m->g->weights : n / size;
    bytes = count * size;
    data = ctt_calloc((size_t)bytes + 1, 1);
    FUZZ_CHECK(data);
    if (n)
        memcpy(data, c->p, (size_t)(n < bytes ? n : bytes));
    ctt_state_add(m->train, c->name, size, count, data);
    ctt_free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ctt_chunk c[PARTS];
    int count = ctt_chunks(data, size, c, PARTS);
    const struct job *j = seed_job(ctt_chunk_find(c, count, "!job") != NULL);
    struct ctt_model *m;
    long live = ctt_live_blocks();
    int64_t steps = 0;
    int full;

    m = new_model(j);
    FUZZ_CHECK(ctt_state_new(&m->train) >= 0);
    for (int i = 0; i < count; i++) {
        if (strcmp(c[i].name, "settings") == 0 && !m->train->settings)
            m->train->settings = ctt_chunk_text(&c[i]);
        else if (*c[i].name != '!')
            add_array(m, &c[i]);
    }
    check_recipe(j, m);
    remove(j->cfg.checkpoint);
    full = is_full(m);
    if (resume_steps(j, m, &steps) < 0)
        FUZZ_CHECK(ctt_errmsg()[0]);
    else if (steps >= 0 && !full)
        check_resumable(j, steps);
    ctt_model_free(&m);
    FUZZ_CHECK(ctt_live_blocks() == live);
    return 0;
}

/* ---- seeds ---- */

static size_t put_part(uint8_t *p, size_t n, size_t room, const char *head,
                       const void *data, size_t size)
{
    int len = snprintf((char *)p + n, room - n, "%%%s\n", head);

    n += (size_t)len;
    FUZZ_CHECK(n + size + 1 < room);
    memcpy(p + n, data, size);
    p[n + size] = '\n';
    return n + size + 1;
}

/* A checkpoint after one step; as version 4 wrote it, without names; after an
 * epoch, with the best weights; of convtt-compress. */
enum { NAMED, UNNAMED, EPOCH, RECIPE, KINDS };
static size_t make_seed(int predict, int kind, uint8_t *p, size_t room)
{
    const struct job *j = seed_job(predict);
    struct ctt_model *m = new_model(j), *at = NULL;
    const struct ctt_state *s;
    int64_t steps;
    char head[80];
    int most = kind == EPOCH ? 4 : 1;    /* an epoch has three */
    size_t n = 0;

    for (int i = 1; i <= most; i++) {
        FUZZ_CHECK(resume_steps(j, i > 1 ? at : m, &steps) >= 0 && steps == i);
        ctt_model_free(&at);
        FUZZ_CHECK(ctt_model_load(j->cfg.checkpoint, 1, &at) >= 0);
    }
    s = at->train;
    if (predict)
        n = put_part(p, n, room, "!job predict", "", 0);
    n = put_part(p, n, room, "settings", s->settings, strlen(s->settings));
    if (kind == RECIPE)
        n = put_part(p, n, room, "recipe 1", "version=1\nrounds=0", 18);
    for (int i = 0; i < s->count; i++) {
        const struct ctt_array *a = &s->array[i];
        if (kind == UNNAMED && (strcmp(a->name, "values") == 0 ||
                                strcmp(a->name, "data") == 0))
            continue;
        snprintf(head, sizeof(head), "%s %d", a->name, a->size);
        n = put_part(p, n, room, head, a->data, (size_t)(a->count * a->size));
    }
    if (kind == UNNAMED) {
        int64_t place[14] = { 4, 1, 0, 1, 0, 1, CLIPS, m->g->weights, -1, 0,
                              -1 };
        double sums[13] = { [12] = 1 };
        n = put_part(p, n, room, "place 8", place, sizeof(place));
        n = put_part(p, n, room, "sums 8", sums, sizeof(sums));
    }
    ctt_model_free(&m);
    ctt_model_free(&at);
    return n;
}

size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room)
{
    return i < 2 * KINDS ? make_seed(i % 2, i / 2, p, room) : 0;
}
