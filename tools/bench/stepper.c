/* SPDX-License-Identifier: Apache-2.0
 * stepper.c: frames of noise through a model's run, one at a time. */
#include "tools/bench/bench_tool.h"
#include "base/random.h"

static int open_stepper_run(struct ctt_stepper *s, const struct ctt_model *m)
{
    struct ctt_weight *weight = NULL;
    const float *w;
    int rc;

    CTT_TRY(ctt_dev_show(s->dev, "weights", m->w, m->g->weights, &s->w, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = s->dev, .w = w, .samples = 1, .steps = 1,
        .asks = 1 }, &s->run));
    CTT_TRY(ctt_model_weights(m, &weight));
    CTT_TRY(ctt_run_weights(s->run, weight));
out:
    ctt_free(weight);
    return rc;
}

int ctt_stepper_open(const struct ctt_model *m, const char *device,
                     int threads, int tune, struct ctt_stepper *s)
{
    int64_t n = ctt_volume(&m->g->node[ctt_graph_input(m->g)].out);
    int rc;

    *s = (struct ctt_stepper){ .g = m->g };
    CTT_TRY(ctt_dev_open(device, threads, &s->dev));
    if (tune)
        CTT_TRY(ctt_tune_open(device, NULL, &s->tune));
    ctt_dev_tune(s->dev, s->tune);
    CTT_TRY(open_stepper_run(s, m));
    CTT_TRY(ctt_run_tune(s->run, 1));
    s->noise = ctt_calloc((size_t)n, sizeof(*s->noise));
    CTT_TRY(s->noise ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < n; i++)
        s->noise[i] = (float)ctt_random(1, (uint64_t)i) * 0x1p-32f;
out:
    return rc;
}

int ctt_stepper_step(struct ctt_stepper *s)
{
    int in = ctt_graph_input(s->g), rc = 0;

    CTT_TRY(ctt_run_make_room(s->run, 1));
    CTT_TRY(ctt_run_put(s->run, in, s->run->cursor, s->noise,
                        ctt_rows(&s->g->node[in].out)));
    CTT_TRY(ctt_run_steps(s->run, 1));
    if (s->g->clip == s->g->count)
        goto out;
    s->run->ask[0] = (struct ctt_ask){ 0, s->run->cursor - 1 };
    CTT_TRY(ctt_run_clip(s->run, 1));
out:
    return rc;
}

void ctt_stepper_close(struct ctt_stepper *s)
{
    ctt_run_close(&s->run);
    if (s->w)
        ctt_dev_free(s->dev, &s->w);
    ctt_dev_close(&s->dev);
    ctt_tune_close(&s->tune);
    ctt_free(s->noise);
    s->noise = NULL;
}
