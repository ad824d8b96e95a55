/* SPDX-License-Identifier: Apache-2.0
 * loaded.c: a loaded model. */
#include "infer/loaded.h"
#include "infer/engine.h"
#include "infer/inside.h"
#include "device/device.h"
#include "net/file/thresholds.h"
#include "net/rewrite/aux_head.h"
#include "base/half.h"
#include "base/limits.h"
#include "net/pixels.h"
#include "base/locale.h"

#include <string.h>

_Static_assert((int)CTT_INFER_CROP == CTT_FIT_CROP &&
               (int)CTT_INFER_STRETCH == CTT_FIT_STRETCH &&
               (int)CTT_INFER_PAD == CTT_FIT_PAD &&
               (int)CTT_INFER_RGB == CTT_RGB &&
               (int)CTT_INFER_BGR == CTT_BGR &&
               (int)CTT_INFER_GRAY == CTT_GRAY &&
               (int)CTT_INFER_SET == CTT_NORMALISE_SET &&
               (int)CTT_INFER_CLIP == CTT_NORMALISE_CLIP,
               "infer.h repeats graph.h");

const char *ctt_infer_error(void)
{
    return ctt_errmsg();
}

int ctt_infer_limits(const struct ctt_infer_limits *limits)
{
    int rc = 0;

    GIVEN(limits);
    CTT_TRY(ctt_limits_set(&(struct ctt_limits){ .memory = limits->memory,
        .classes = limits->classes, .nodes = limits->nodes }));
out:
    return rc;
}

static void look_at_input(struct ctt_infer *m)
{
    const struct ctt_input *a = &m->model->g->node[m->input].attr.input;
    struct ctt_infer_input *w = &m->wants;

    *w = (struct ctt_infer_input){ .h = a->h, .w = a->w, .c = a->c,
        .fps = a->fps, .scale = a->scale,
        .fit = (enum ctt_infer_fit)a->fit,
        .colour = (enum ctt_infer_colour)a->colour,
        .normalise = (enum ctt_infer_normalise)a->normalise,
        .gamma = a->gamma };
    memcpy(w->mean, a->mean, sizeof(w->mean));
    memcpy(w->std, a->std, sizeof(w->std));
}

/* 1 if the output is the next frame: computed every step, with the shape of a
 * frame, in a model without labels. */
static int is_frame(const struct ctt_model *m, const struct ctt_node *in,
                    const struct ctt_node *out)
{
    const struct ctt_tensor *a = &in->out, *b = &out->out;

    return m->g->clip == m->g->count && m->labels == 0 && a->d == b->d &&
           a->h == b->h && a->w == b->w && a->c == b->c;
}

/* Sets predicts, or the number of classes. */
static int check_answer(const char *path, struct ctt_infer *m)
{
    const struct ctt_node *node = m->model->g->node;
    const struct ctt_node *out = &node[m->output];
    int rc = 0;

    m->several = m->model->g->several;
    m->predicts = is_frame(m->model, &node[m->input], out);
    CTT_CHECK(!m->predicts || !m->several, CTT_EFORMAT, "%s: the line "
              "'several' is for classes, answer %s is a frame", path,
              out->name);
    if (m->predicts) {
        CTT_TRY(ctt_infer_blame(m, ctt_pixels_reversible(&node[m->input])));
        goto out;
    }
    CTT_CHECK(ctt_rows(&out->out) == 1, CTT_EUNSUP, "%s: answer %s is neither "
              "one number a class nor a frame as the input", path, out->name);
    m->classes = (int)out->out.c;
    CTT_CHECK(m->classes <= ctt_limits()->classes, CTT_EFORMAT,
              "%s: %d classes, more than the limit of %d", path, m->classes,
              ctt_limits()->classes);
    CTT_CHECK(m->model->labels == 0 || m->model->labels == m->classes,
              CTT_EFORMAT, "%s: %d labels for %d classes", path,
              m->model->labels, m->classes);
out:
    return rc;
}

/* A model must have one input, a picture per step, and as its output one number
 * per class or a frame. */
static int check_interface(const char *path, struct ctt_infer *m)
{
    const struct ctt_graph *g = m->model->g;
    const struct ctt_node *in;
    int inputs = ctt_graph_inputs(g), rc = 0;

    CTT_CHECK(inputs == 1, CTT_EUNSUP, "%s: has %d inputs; a session feeds one",
              path, inputs);
    m->input = ctt_graph_input(g);
    m->output = ctt_graph_output(g);
    in = &g->node[m->input];
    CTT_CHECK(in->out.d == 1 && in->out.c <= 3 && m->input < g->clip,
              CTT_EUNSUP, "%s: input %s does not take a picture a step", path,
              in->name);
    CTT_TRY(check_answer(path, m));
    look_at_input(m);
out:
    return rc;
}

/* The thresholds of classes that may each be there, if they are of this
 * model. */
static int look_at_thresholds(struct ctt_infer *m)
{
    struct ctt_thresholds t;
    const struct ctt_graph *g = m->model->g;
    int rc = 0, n = (int)g->node[ctt_graph_output(g)].out.c;

    m->threshold = ctt_calloc((size_t)n + 1, sizeof(*m->threshold));
    CTT_TRY(m->threshold ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++)
        m->threshold[i] = CTT_THRESHOLD;
    if (!m->model->decision)
        goto out;
    CTT_TRY(ctt_thresholds_parse(m->model->decision, &t));
    CTT_TRY(ctt_thresholds_hold(&t, m->model));
    if (!rc || t.classes != n)
        goto out;
    m->clips = t.clips;
    memcpy(m->threshold, t.of, (size_t)n * sizeof(*t.of));
out:
    return rc;
}

/* Reads the file's thresholds and compares them with the model. */
static int look_at_decision(struct ctt_infer *m)
{
    int rc = 0;

    if (m->model->g->several)
        return look_at_thresholds(m);
    m->has_decision = m->model->decision != NULL;
    if (!m->has_decision)
        goto out;
    CTT_TRY(ctt_decision_parse(m->model->decision, &m->decision));
    CTT_TRY(m->holds = ctt_decision_holds(&m->decision, m->model));
out:
    return rc;
}

static int check_device_name(const char *name)
{
    int known = 0, rc = 0;

    for (int i = 0; ctt_dev_names[i]; i++)
        known |= strcmp(ctt_dev_names[i], name) == 0;
    CTT_CHECK(known, CTT_EINVAL, "no device '%s' is built in", name);
out:
    return rc;
}

int ctt_infer_blame(const struct ctt_infer *m, int rc)
{
    return rc < 0 ? ctt_error(rc, "%s: %s", m->path, ctt_errmsg()) : rc;
}

int ctt_infer_open(const char *path, const char *device, int threads,
                   struct ctt_infer **out)
{
    CTT_PLAIN_NUMBERS;
    struct ctt_infer *m = NULL;
    int rc = 0;

    GIVEN(path);
    GIVEN(device);
    GIVEN(out);
    CTT_TRY(check_device_name(device));
    CTT_CHECK(threads >= 0, CTT_EINVAL, "%d threads", threads);
    m = ctt_calloc(1, sizeof(*m));
    CTT_TRY(m ? 0 : CTT_ENOMEM);
    m->path = ctt_strdup(path);
    m->device = ctt_strdup(device);
    m->threads = threads;
    CTT_TRY(m->path && m->device ? 0 : CTT_ENOMEM);
    CTT_TRY(strcmp(device, "cpu") == 0 ? ctt_model_load_late(path, &m->model)
                                       : ctt_model_load(path, 0, &m->model));
    CTT_TRY(look_at_decision(m));
    CTT_TRY(ctt_aux_head_drop_from(&m->model));    /* of a checkpoint */
    CTT_TRY(ctt_infer_blame(m, ctt_model_finite(m->model)));
    CTT_TRY(check_interface(path, m));
    if (ctt_dev_has(device, CTT_DEV_OWN_MEMORY))
        CTT_TRY(ctt_share_new(&m->share));
    m->number = ctt_calloc((size_t)m->classes + 1, sizeof(*m->number));
    CTT_TRY(m->number ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->classes; i++)
        snprintf(m->number[i], sizeof(m->number[i]), "%d", i);
    CTT_TRY(ctt_simplify(&m->model));
    *out = m;
    m = NULL;
out:
    ctt_infer_close(&m);
    return rc;
}

void ctt_infer_close(struct ctt_infer **m)
{
    if (!m || !*m)
        return;
    ctt_share_free(&(*m)->share);
    ctt_tune_close(&(*m)->tune);
    ctt_model_free(&(*m)->model);
    ctt_free((*m)->path);
    ctt_free((*m)->device);
    ctt_free((*m)->number);
    ctt_free((*m)->threshold);
    ctt_free(*m);
    *m = NULL;
}

/* The words of ctt_infer_multiply(), and what a device must be able to do; 0:
 * nothing. */
static const struct multiplied {
    const char               *word;
    enum ctt_dtype            type;
    int                       tf32;
    enum ctt_dev_capability   needs;
} multiplied[] = {
    { "fp32", CTT_F32, 0, 0 }, { "tf32", CTT_F32, 1, CTT_DEV_TF32 },
    { "fp16", CTT_F16, 0, CTT_DEV_HALF },
    { "bf16", CTT_BF16, 0, CTT_DEV_HALF },
};

int ctt_infer_multiply(struct ctt_infer *m, const char *type)
{
    const struct multiplied *t = NULL;
    int rc = 0;

    GIVEN(m);
    GIVEN(type);
    for (size_t i = 0; i < CTT_LEN(multiplied); i++)
        if (strcmp(type, multiplied[i].word) == 0)
            t = &multiplied[i];
    CTT_CHECK(t, CTT_EINVAL, "no type '%s': fp32, fp16 or bf16, on a GPU tf32, "
              "too", type);
    CTT_CHECK(!t->needs || ctt_dev_has(m->device, t->needs), CTT_EUNSUP,
              "%s: the device %s has no %s inference", m->path, m->device,
              type);
    m->multiply = t->type;
    m->tf32 = t->tf32;
out:
    return rc;
}

const char *ctt_infer_type(const struct ctt_infer *m)
{
    return m->tf32 ? "tf32" : ctt_dtype_word(m->multiply);
}

int ctt_infer_tune(struct ctt_infer *m, const char *file)
{
    CTT_PLAIN_NUMBERS;
    struct ctt_tune *t = NULL;
    int rc = 0;

    GIVEN(m);
    CTT_CHECK(!m->tune, CTT_EINVAL, "%s: its convs are tuned already",
              m->path);
    CTT_TRY(ctt_infer_blame(m, ctt_tune_open(m->device, file, &t)));
    m->tune = t;
out:
    return rc;
}

int ctt_infer_decide(struct ctt_infer *m)
{
    int rc = 0;

    GIVEN(m);
    CTT_CHECK(!m->several, CTT_EINVAL, "%s: clips have several labels, so "
              "there is no single answer to decide for early: read the "
              "probabilities of the classes", m->path);
    CTT_CHECK(m->has_decision, CTT_EINVAL, "%s: has no thresholds for early "
              "decisions (convtt-infer --calibrate finds them)", m->path);
    CTT_CHECK(m->holds, CTT_EINVAL, "%s: its thresholds for early decisions "
              "were calibrated for another model (calibrate this one)",
              m->path);
    CTT_CHECK(!m->predicts, CTT_EINVAL, "%s: this model predicts frames, it "
              "does not decide", m->path);
    CTT_CHECK(!m->decision.head.classes ||
              m->decision.head.classes == m->classes, CTT_EFORMAT,
              "%s: the head of its decisions has %d classes, not %d", m->path,
              m->decision.head.classes, m->classes);
    m->decides = 1;
out:
    return rc;
}

const struct ctt_infer_input *ctt_infer_wants(const struct ctt_infer *m)
{
    return m ? &m->wants : NULL;
}

int ctt_infer_classes(const struct ctt_infer *m)
{
    return m ? m->classes : 0;
}

int ctt_infer_predicts(const struct ctt_infer *m)
{
    return m && m->predicts;
}

int ctt_infer_several(const struct ctt_infer *m)
{
    return m && m->several;
}

float ctt_infer_threshold(const struct ctt_infer *m, int i)
{
    return m && m->several && i >= 0 && i < m->classes ? m->threshold[i] : 0;
}

const char *ctt_infer_class(const struct ctt_infer *m, int i)
{
    if (!m || i < 0 || i >= m->classes)
        return NULL;
    return m->model->labels ? m->model->label[i] : m->number[i];
}
