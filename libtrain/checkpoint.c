/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.c: checkpoints: the model's file with a /train section. */
#include "libtrain/checkpoint.h"
#include "libtrain/recognise/carry.h"
#include "libtrain/data/data.h"
#include "libtrain/optim.h"
#include "libtrain/settings.h"
#include "base/warn.h"

#include <string.h>

static int64_t size_of(const struct ctt_optim *o)
{
    return o->weights * (int64_t)sizeof(float);
}

/* ---- writing ---- */

static int add_moments(struct ctt_state *s, const struct ctt_optim *o,
                       const char *name, const float *m)
{
    int rc = 0;

    if (!m)
        goto out;
    if (ctt_dev_shared(o->dev))
        return ctt_state_lend(s, name, 4, o->weights, m);
    CTT_TRY(ctt_state_add(s, name, 4, o->weights, NULL));
    CTT_TRY(ctt_dev_copy(o->dev, CTT_TO_HOST, m, s->array[s->count - 1].data,
                         size_of(o)));
out:
    return rc;
}

/* Checksums of the clips: CLIPS to train on, VAL to test on, 0 without.  The
 * low half is of names and classes, the high one of frames; 0: of none, as of
 * an older convtt. */
enum { CLIPS, VAL, SETS };

static int64_t sum_of_clips(const struct ctt_data *d)
{
    uint64_t frames = 0;

    for (int i = 0; d && i < d->clips; i++)
        frames = 31 * frames + (d->clip[i].sum ^ d->clip[i].sum >> 32);
    return d ? (int64_t)(frames << 32 | ctt_data_crc(d)) : 0;
}

static int add_clips(struct ctt_state *s, const struct ctt_data *d,
                     const struct ctt_data *val)
{
    const int64_t crc[SETS] = { sum_of_clips(d), sum_of_clips(val) };

    return ctt_state_add(s, "data", 8, SETS, crc);
}

static int fill_state(struct ctt_state *s, const struct ctt_data *d,
                      int several, const struct ctt_optim *o,
                      const struct ctt_train_position *p, const float *best)
{
    const struct ctt_checkpoint_values v = { .updates = o->t, .clips = d->clips,
                                  .weights = o->weights, .several = several,
                                  .at = *p };
    int rc = 0;

    CTT_TRY(ctt_values_write(&v, s));
    CTT_TRY(add_moments(s, o, "m", o->flat.m));
    CTT_TRY(add_moments(s, o, "v", o->flat.v));
    CTT_TRY(add_moments(s, o, "average", o->average));
    if (best && p->best_epoch)
        CTT_TRY(ctt_state_lend(s, "best", 4, o->weights, best));
out:
    return rc;
}

/* Begins a state with the settings, the clips and, if there is one, the
 * recipe. */
static int begin_state(const struct ctt_train_cfg *cfg,
                       const struct ctt_data *d, const struct ctt_data *val,
                       struct ctt_state **out)
{
    struct ctt_state *s = NULL;
    int rc;

    CTT_TRY(ctt_state_new(&s));
    CTT_TRY(ctt_settings_print(cfg, &s->settings));
    CTT_TRY(add_clips(s, d, val));
    if (cfg->wiring.recipe)
        CTT_TRY(ctt_state_add(s, "recipe", 1,
                              (int64_t)strlen(cfg->wiring.recipe),
                              cfg->wiring.recipe));
    *out = s;
    s = NULL;
out:
    ctt_state_free(&s);
    return rc;
}

/* Saves the model with this training state, and leaves it with its own. */
static int save_with(const char *path, struct ctt_model *m, struct ctt_state *s)
{
    struct ctt_state *old = m->train;
    int rc;

    m->train = s;
    rc = ctt_model_save(path, m);
    m->train = old;
    return rc;
}

int ctt_pause_save(const char *path, struct ctt_model *m,
                   const struct ctt_train_cfg *cfg, const struct ctt_data *d,
                   const struct ctt_data *val)
{
    struct ctt_state *s = NULL;
    int rc;

    CTT_TRY(begin_state(cfg, d, val, &s));
    CTT_TRY(save_with(path, m, s));
out:
    ctt_state_free(&s);
    return rc;
}

int ctt_checkpoint_save(const char *path, struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, const struct ctt_data *val,
                        const struct ctt_optim *o,
                        const struct ctt_train_position *p, const float *best,
                        const struct ctt_checkpoint_rest *rest)
{
    struct ctt_state *s = NULL;
    int rc = 0;

    CTT_TRY(ctt_model_finite(m));
    CTT_TRY(begin_state(cfg, d, val, &s));
    CTT_TRY(fill_state(s, d, m->g->several, o, p, best));
    if (rest->residual)
        CTT_TRY(ctt_state_lend(s, "residual", 4, rest->residuals,
                               rest->residual));
    if (rest->states) {
        CTT_TRY(ctt_state_lend(s, "states", 1, rest->count, rest->states));
        CTT_TRY(ctt_state_add(s, "states-of", 8, 1, &rest->kind));
    }
    CTT_TRY(save_with(path, m, s));
out:
    ctt_state_free(&s);
    return rc;
}

/* ---- reading ---- */

/* Finds an array with one float per weight. */
static int find_floats(const struct ctt_state *s, const char *name,
                       int64_t count, const void **out)
{
    const struct ctt_array *a = ctt_state_find(s, name);
    int rc = 0;

    CTT_CHECK(a && a->size == sizeof(float) && a->count == count, CTT_EFORMAT,
              "the checkpoint has no usable '%s'", name);
    *out = a->data;
out:
    return rc;
}

static int get_moments(const struct ctt_state *s, const struct ctt_optim *o,
                       const char *name, float *m)
{
    const void *data = NULL;
    int rc = 0;

    if (!m)
        goto out;
    CTT_TRY(find_floats(s, name, o->weights, &data));
    CTT_TRY(ctt_dev_copy(o->dev, CTT_TO_DEVICE, data, m, size_of(o)));
out:
    return rc;
}

static int get_best(const struct ctt_state *s, const struct ctt_optim *o,
                    float *best)
{
    const void *data = NULL;
    int rc = 0;

    CTT_TRY(find_floats(s, "best", o->weights, &data));
    memcpy(best, data, (size_t)size_of(o));
out:
    return rc;
}

int ctt_checkpoint_residual(const struct ctt_state *s, int64_t residuals,
                            const float **out)
{
    const void *data = NULL;
    int rc;

    CTT_TRY(find_floats(s, "residual", residuals, &data));
    *out = data;
out:
    return rc;
}

int ctt_checkpoint_states(const struct ctt_state *s, struct ctt_carry *c)
{
    const struct ctt_array *a = ctt_state_find(s, "states");
    const struct ctt_array *of = ctt_state_find(s, "states-of");
    int rc = 0;

    if (!a)
        goto out;
    CTT_CHECK(a->size == 1 && a->count > 0 && of && of->size == 8 &&
              of->count == 1, CTT_EFORMAT,
              "the checkpoint has no usable 'states'");
    c->kept = ctt_calloc((size_t)a->count, 1);
    CTT_TRY(c->kept ? 0 : CTT_ENOMEM);
    memcpy(c->kept, a->data, (size_t)a->count);
    memcpy(&c->kept_kind, of->data, sizeof(c->kept_kind));
    c->count = a->count;
out:
    return rc;
}

/* CTT_EINVAL, and the path of d, unless it has the clips of the checkpoint,
 * which are number `set` of its array; one of an older convtt has none. */
static int same_clips(const struct ctt_state *s, int set,
                      const struct ctt_data *d, const char *path)
{
    const struct ctt_array *a = ctt_state_find(s, "data");
    int64_t crc[SETS], now = sum_of_clips(d);
    int rc = 0;

    if (!a)
        goto out;
    CTT_CHECK(a->size == 8 && a->count == SETS, CTT_EFORMAT,
              "the checkpoint has no usable 'data'");
    memcpy(crc, a->data, sizeof(crc));
    CTT_CHECK((uint32_t)crc[set] == (uint32_t)now, CTT_EINVAL,
              "%s: not the clips of the checkpoint: other names, classes or "
              "order", path ? path : "the data");
    if (crc[set] != now && crc[set] >> 32 && now >> 32)
        ctt_warn("%s: clips of these names have other frames now than when "
                 "the checkpoint was written; the run goes on with these",
                 path ? path : "the data");
out:
    return rc;
}

static int read_all(const struct ctt_state *s, const struct ctt_train_cfg *cfg,
                    const struct ctt_data *d, struct ctt_optim *o,
                    struct ctt_train_position *p, float *best)
{
    struct ctt_checkpoint_values v = { .at = *p };
    int rc = 0;

    CTT_TRY(ctt_values_read(s, &v));
    CTT_CHECK(v.clips == d->clips, CTT_EINVAL,
              "the checkpoint was made with %lld clips, the data has %d",
              (long long)v.clips, d->clips);
    CTT_TRY(same_clips(s, CLIPS, d, cfg->data));
    CTT_CHECK(v.weights == o->weights, CTT_EFORMAT,
              "the checkpoint's 'weights' is %lld, the model has %lld",
              (long long)v.weights, (long long)o->weights);
    /* without a test set there is nowhere to keep the best weights */
    if (!best)
        v.at.best_epoch = 0;
    CTT_TRY(get_moments(s, o, "m", o->flat.m));
    CTT_TRY(get_moments(s, o, "v", o->flat.v));
    CTT_TRY(get_moments(s, o, "average", o->average));
    if (v.at.best_epoch)
        CTT_TRY(get_best(s, o, best));
    o->t = v.updates;
    *p = v.at;
out:
    return rc;
}

static const char *settings_of(const struct ctt_state *s)
{
    return s->settings ? s->settings : "";
}

int ctt_pause_open(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                   char **recipe)
{
    const struct ctt_array *a = m->train ? ctt_state_find(m->train, "recipe")
                                         : NULL;
    char *text = NULL;
    int rc = 0;

    CTT_CHECK(a && a->size == 1, CTT_EFORMAT,
              "no checkpoint of convtt-compress");
    CTT_TRY(ctt_settings_same(cfg, settings_of(m->train)));
    text = ctt_calloc((size_t)a->count + 1, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    memcpy(text, a->data, (size_t)a->count);
    *recipe = text;
out:
    return rc;
}

int ctt_pause_end(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                  const struct ctt_data *d, const struct ctt_data *val)
{
    int rc;

    CTT_TRY(same_clips(m->train, CLIPS, d, cfg->data));
    CTT_TRY(same_clips(m->train, VAL, val, cfg->val ? cfg->val : cfg->data));
    if (!ctt_state_find(m->train, "values"))
        ctt_state_free(&m->train);
out:
    return rc;
}

int ctt_checkpoint_suits(const struct ctt_model *m,
                         const struct ctt_train_cfg *cfg)
{
    struct ctt_checkpoint_values v = { .weights = 0 };
    int rc = 0;

    if (!m->train || ctt_state_find(m->train, "recipe"))
        goto out;    /* those of convtt-compress */
    CTT_TRY(ctt_values_read(m->train, &v));
    CTT_CHECK(v.at.epoch <= cfg->epochs, CTT_EINVAL, "%s: %lld epochs are "
              "trained already, --epochs=%d is fewer; --epochs=%lld ends the "
              "run there", cfg->checkpoint, (long long)v.at.epoch, cfg->epochs,
              (long long)v.at.epoch);
    CTT_CHECK(!cfg->max_steps || v.at.step <= cfg->max_steps, CTT_EINVAL,
              "%s: %lld steps are trained already, --max-steps=%d is fewer; "
              "--max-steps=%lld ends the run there", cfg->checkpoint,
              (long long)v.at.step, cfg->max_steps, (long long)v.at.step);
out:
    return rc;
}

int ctt_checkpoint_load(const struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, struct ctt_optim *o,
                        struct ctt_train_position *p, float *best)
{
    int rc;

    CTT_CHECK(cfg->wiring.recipe || !ctt_state_find(m->train, "recipe"),
              CTT_EINVAL, "the checkpoint is of convtt-compress, which goes on "
              "with it");
    CTT_TRY(ctt_settings_same(cfg, settings_of(m->train)));
    CTT_TRY(read_all(m->train, cfg, d, o, p, best));
out:
    return rc;
}
