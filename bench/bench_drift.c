/* SPDX-License-Identifier: Apache-2.0
 * bench_drift.c: drift of the states of a quantised model from its original's,
 * over a long stream: the relative root mean square error of each LSTM's result
 * and cell state after 1, 10, 100 .. steps, the root mean square of these over
 * all steps, and the largest.  The frames are artificial waves, or those of all
 * clips of a set one after another, as often as needed, without a reset between
 * them.
 * Usage: bench_drift MODEL.h5 INT8.h5|bf16 [STEPS [CLIPS]].  bf16: the same
 * model with bf16 products, and 16 bits for values read by convs only. */
#include "infer/inside.h"
#include "infer/infer.h"
#include "base/random.h"
#include "video/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, LONG_NAME = CTT_NAME + 4 };

/* A value of both models, by node; its errors. */
struct state {
    int    node[2];
    double now, sum, worst;    /* sum: of squares of all steps */
};

/* Frames of clips. */
struct reel {
    struct ctt_source *s;
    struct ctt_feed   *f;
    int                clip;
};

struct pair {
    struct ctt_infer   *m[2];
    struct ctt_session *s[2];
    struct state        state[MOST];
    int                 states;
    float              *x[2];
    uint8_t            *frame;
    struct reel         reel;
};

static const struct ctt_graph *session_graph(const struct pair *p, int k)
{
    return ctt_session_run(p->s[k])->g;
}

/* Other values are gone after a step. */
static int has_history(const struct pair *p, int k, int node)
{
    const struct ctt_run *r = ctt_session_run(p->s[k]);

    return node >= 0 && r->slot[r->slot[node].alias].history > 0;
}

static void add_state(struct pair *p, int node, const char *other)
{
    int at = ctt_graph_find(session_graph(p, 1), other);

    if (has_history(p, 0, node) && has_history(p, 1, at) && p->states < MOST)
        p->state[p->states++] = (struct state){ { node, at }, 0, 0, 0 };
}

/* The quantised model keeps an LSTM's result as bytes, NAME.q8. */
static void find_states(struct pair *p)
{
    const struct ctt_graph *g = session_graph(p, 0);
    char name[LONG_NAME];

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        if (n->op != CTT_OP_LSTM)
            continue;
        snprintf(name, sizeof(name), "%s.q8", n->name);
        if (ctt_graph_find(session_graph(p, 1), name) < 0)
            snprintf(name, sizeof(name), "%s", n->name);
        add_state(p, i, name);
        if (n->cell >= 0)
            add_state(p, n->cell, g->node[n->cell].name);
    }
}

/* Waves that move and change their speed, under noise. */
static void draw_wave(const struct ctt_infer_input *in, int64_t t, uint8_t *to)
{
    double x0 = 9 * sin((double)t / 23) + (double)t / 7,
           y0 = 5 * cos((double)t / 31) - (double)t / 11;

    for (int64_t i = 0; i < (int64_t)in->h * in->w; i++) {
        double y = (double)(i / in->w) + y0, x = (double)(i % in->w) + x0;

        for (int k = 0; k < in->c; k++) {
            uint32_t noise = ctt_random((uint64_t)t, (uint64_t)(i * in->c + k));
            double v = 128 + 60 * sin(x / (3 + k)) + 50 * cos(y / 4 - k) +
                       (double)(noise % 21) - 10;
            to[i * in->c + k] = (uint8_t)fmin(255, fmax(0, v));
        }
    }
}

static int compare_state(struct pair *p, struct state *s)
{
    double error = 0, sum = 0;
    int64_t n = ctt_volume(&session_graph(p, 0)->node[s->node[0]].out);
    int rc = 0;

    for (int k = 0; k < 2; k++) {
        const struct ctt_run *r = ctt_session_run(p->s[k]);

        CTT_TRY(ctt_run_get(r, s->node[k], r->cursor - 1,
                            ctt_rows(&r->g->node[s->node[k]].out), p->x[k]));
    }
    for (int64_t i = 0; i < n; i++) {
        double a = (double)p->x[0][i], d = (double)p->x[1][i] - a;

        error += d * d;
        sum += a * a;
    }
    s->now = sqrt(error / (sum > 0 ? sum : 1));
    s->sum += s->now * s->now;
    s->worst = fmax(s->worst, s->now);
out:
    return rc;
}

/* Stored frames get the size of the model's, without a margin to crop. */
static int open_reel(struct pair *p, const char *path)
{
    const struct ctt_graph *g = session_graph(p, 0);
    struct ctt_input in = g->node[ctt_graph_input(g)].attr.input;
    struct ctt_source_set set = { .labels = CTT_LABELS_ANY, .sequences = 100,
                                  .digits = 2, .frames = 20,
                                  .drawn_for = "prediction" };

    in.scale = 1;
    return ctt_source_open(path, &set, &in, &p->reel.s);
}

/* The next frame of the clip, or the first one of the next clip. */
static int next_frame(struct reel *r, uint8_t *to)
{
    int clips = ctt_source_list(r->s)->count, rc = 0;

    for (int tried = 0; tried <= clips; tried++) {
        if (!r->f)
            CTT_TRY(ctt_feed_open(r->s, r->clip, 1, &r->f));
        rc = ctt_feed_next(r->f, to);
        CTT_TRY(rc);
        if (rc > 0)
            goto out;
        ctt_feed_close(&r->f);
        r->clip = (r->clip + 1) % clips;
    }
    CTT_CHECK(0, CTT_EFORMAT, "the clips have no frames");
out:
    return rc;
}

static int drift_step(struct pair *p, int64_t t)
{
    int rc = 0;

    if (p->reel.s)
        CTT_TRY(next_frame(&p->reel, p->frame));
    else
        draw_wave(ctt_infer_wants(p->m[0]), t, p->frame);
    for (int k = 0; k < 2; k++)
        CTT_TRY(ctt_session_push(p->s[k], p->frame, 1));
    for (int i = 0; i < p->states; i++)
        CTT_TRY(compare_state(p, &p->state[i]));
out:
    return rc;
}

static void print_drift(const struct pair *p, int64_t t)
{
    for (int i = 0; i < p->states; i++)
        printf("%-8lld  %-16s  %.5f  %.5f  %.5f\n", (long long)t,
               session_graph(p, 0)->node[p->state[i].node[0]].name,
               p->state[i].now, sqrt(p->state[i].sum / (double)t),
               p->state[i].worst);
}

/* The model, and the other one or the same in 16 bits. */
static int open_models(struct pair *p, char **path)
{
    int half = strcmp(path[1], "bf16") == 0, rc = 0;

    for (int k = 0; k < 2; k++)
        CTT_TRY(ctt_infer_open(path[half ? 0 : k], "cpu", 1, &p->m[k]));
    if (half)
        CTT_TRY(ctt_infer_multiply(p->m[1], "bf16"));
    for (int k = 0; k < 2; k++)
        CTT_TRY(ctt_session_open(p->m[k], &p->s[k]));
out:
    return rc;
}

static int run_drift(struct pair *p, char **path, int64_t steps,
                     const char *clips)
{
    const struct ctt_infer_input *in;
    int64_t most = 1;
    int rc = 0;

    CTT_TRY(open_models(p, path));
    for (int i = 0; i < session_graph(p, 0)->count; i++)
        if (ctt_volume(&session_graph(p, 0)->node[i].out) > most)
            most = ctt_volume(&session_graph(p, 0)->node[i].out);
    in = ctt_infer_wants(p->m[0]);
    find_states(p);
    for (int k = 0; k < 2; k++)
        p->x[k] = ctt_calloc((size_t)most, sizeof(float));
    p->frame = ctt_calloc((size_t)(in->h * in->w * in->c), 1);
    CTT_TRY(p->x[0] && p->x[1] && p->frame ? 0 : CTT_ENOMEM);
    if (clips)
        CTT_TRY(open_reel(p, clips));
    printf("%-8s  %-16s  %-7s  %-7s  %s\n", "step", "state", "error", "so far",
           "largest");
    for (int64_t t = 1, next = 1; t <= steps; t++) {
        CTT_TRY(drift_step(p, t));
        if (t == next || t == steps)
            print_drift(p, t);
        next *= t == next ? 10 : 1;
    }
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct pair p = { .states = 0 };
    int rc;

    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: bench_drift MODEL.h5 INT8.h5|bf16 "
                "[STEPS [CLIPS]]\n");
        return 2;
    }
    rc = run_drift(&p, argv + 1, argc > 3 ? atoll(argv[3]) : 1000,
                   argc > 4 ? argv[4] : NULL);
    if (rc < 0)
        fprintf(stderr, "bench_drift: %s\n", ctt_errmsg());
    for (int k = 0; k < 2; k++) {
        ctt_session_close(&p.s[k]);
        ctt_infer_close(&p.m[k]);
        ctt_free(p.x[k]);
    }
    ctt_free(p.frame);
    ctt_feed_close(&p.reel.f);
    ctt_source_close(&p.reel.s);
    return rc < 0;
}
