/* SPDX-License-Identifier: Apache-2.0
 * state.c: checkpoints: the model's file with a /train section. */
#include "libtrain/state.h"

#include <math.h>
#include <string.h>

enum { VERSION = 4, WORDS = 14, REALS = 13, TEXT = 1 << 14 };

/* Whether the setting of a line "name=value" may change when training resumes.
 */
static int is_free(const char *line)
{
    int k = ctt_opt_find_n(ctt_train_opts, line, strcspn(line, "="));

    return k >= 0 && (ctt_train_opts[k].tags & CTT_CFG_RESUME);
}

int ctt_settings_print(const struct ctt_train_cfg *cfg, char **out)
{
    char *text = ctt_calloc(TEXT, 1);
    FILE *f = NULL;
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f = fmemopen(text, TEXT - 1, "w");
    CTT_CHECK(f, CTT_ENOMEM, "out of memory: settings");
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++) {
        struct ctt_opt one[2] = { *o };
        long at = ftell(f);
        ctt_opt_print(one, cfg, f);
        if (ftell(f) > at)
            fputc('\n', f);
    }
    CTT_CHECK(fflush(f) == 0 && !ferror(f), CTT_EINVAL,
              "the settings are too long");
    *out = text;
    text = NULL;
out:
    if (f)
        fclose(f);
    ctt_free(text);
    return rc;
}

static int has_line(const char *text, const char *line, size_t n)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") == n && memcmp(text, line, n) == 0)
            return 1;
    return 0;
}

/* Lines of text that are not in dflt and matter, in the place of dflt. */
static void leave_changed(const char *text, char *dflt)
{
    char *kept = dflt + strlen(dflt) + 1, *to = kept;

    for (const char *s = text; *s; s += *s == '\n') {
        size_t n = strcspn(s, "\n");
        if (!is_free(s + 1) && !has_line(dflt, s, n)) {
            memcpy(to, s, n);
            to += n;
        }
        s += n;
    }
    *to = '\0';
    memmove(dflt, kept, (size_t)(to - kept) + 1);
}

int ctt_settings_changed(const struct ctt_train_cfg *cfg, char **out)
{
    struct ctt_train_cfg plain = { .data = NULL };
    char *now = NULL, *dflt = NULL;
    int rc = 0;

    CTT_TRY(ctt_opt_defaults(ctt_train_opts, &plain));
    CTT_TRY(ctt_settings_print(cfg, &now));
    CTT_TRY(ctt_settings_print(&plain, &dflt));
    CTT_CHECK(strlen(now) + strlen(dflt) + 2 < TEXT, CTT_EINVAL,
              "the settings are too long");
    leave_changed(now, dflt);
    *out = dflt;
    dflt = NULL;
out:
    ctt_free(now);
    ctt_free(dflt);
    return rc;
}

int ctt_history(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                const struct ctt_data *d, int64_t steps, const char *test,
                char **out)
{
    const char *old = m->history ? m->history : "";
    char *changed = NULL, *s = NULL;
    size_t room;
    int rc = 0;

    CTT_TRY(ctt_settings_changed(cfg, &changed));
    room = strlen(old) + strlen(changed) + strlen(test) + 128;
    s = ctt_calloc(room, 1);
    CTT_TRY(s ? 0 : CTT_ENOMEM);
    snprintf(s, room, "%strain clips=%d steps=%lld epochs=%d%s%s\n", old,
             d->clips, (long long)steps, cfg->epochs, changed, test);
    *out = s;
out:
    ctt_free(changed);
    return rc;
}

/* Each of these lines must be among those; names the first that is not. */
static int compare(const char *these, const char *those, const char *how)
{
    int rc = 0;

    for (const char *s = these; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        int n = (int)strcspn(s, "\n"), skip = *s == ' ';
        CTT_CHECK(has_line(those, s, (size_t)n) || is_free(s + skip),
                  CTT_EINVAL, "the checkpoint was made %s --%.*s", how,
                  n - skip, s + skip);
    }
out:
    return rc;
}

/* ---- the place as numbers ---- */

static void to_words(const struct ctt_place *p, const struct ctt_data *d,
                     const struct ctt_optim *o, int64_t w[WORDS])
{
    const int64_t v[WORDS] = { VERSION, p->step, p->epoch, p->batch,
                               p->best_epoch, o->t, d->clips, o->weights,
                               p->sampling.start, p->sampling.stalled,
                               p->sampling.falls, p->scale.clean,
                               p->scale.skips, p->scale.skipped };

    memcpy(w, v, sizeof(v));
}

static void to_reals(const struct ctt_place *p, double r[REALS])
{
    const double v[REALS] = { p->sums.loss, p->sums.weight, p->sums.right,
        p->sums.clips, p->val.loss, p->val.top1, p->val.top5, p->val.mse,
        p->val.psnr, p->val.ssim, p->val.ssim2, p->sampling.best,
        p->scale.scale };

    memcpy(r, v, sizeof(v));
}

static int64_t size_of(const struct ctt_optim *o)
{
    return o->weights * (int64_t)sizeof(float);
}

static int add_moments(struct ctt_state *s, const struct ctt_optim *o,
                       const char *name, const float *m)
{
    int rc = 0;

    if (!m)
        goto out;
    CTT_TRY(ctt_state_add(s, name, 4, o->weights, NULL));
    CTT_TRY(ctt_dev_copy(o->dev, CTT_TO_HOST, m, s->array[s->count - 1].data,
                         size_of(o)));
out:
    return rc;
}

static int fill(struct ctt_state *s, const struct ctt_data *d,
                const struct ctt_optim *o, const struct ctt_place *p,
                const float *best)
{
    int64_t words[WORDS];
    double reals[REALS];
    int rc = 0;

    to_words(p, d, o, words);
    to_reals(p, reals);
    CTT_TRY(ctt_state_add(s, "place", 8, WORDS, words));
    CTT_TRY(ctt_state_add(s, "sums", 8, REALS, reals));
    CTT_TRY(add_moments(s, o, "m", o->flat.m));
    CTT_TRY(add_moments(s, o, "v", o->flat.v));
    if (best && p->best_epoch)
        CTT_TRY(ctt_state_add(s, "best", 4, o->weights, best));
out:
    return rc;
}

int ctt_weights_check(const struct ctt_model *m)
{
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int k = 0; k < n->nw; k++)
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++)
                if (!isfinite(m->w[n->at[k] + j]))
                    return ctt_error(CTT_ENAN, "%s: a weight is not finite; "
                                     "not saved", n->name);
    }
    return 0;
}

int ctt_checkpoint_save(const char *path, struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, const struct ctt_optim *o,
                        const struct ctt_place *p, const float *best)
{
    struct ctt_state *s = NULL, *old = m->train;
    int rc = 0;

    CTT_TRY(ctt_weights_check(m));
    CTT_TRY(ctt_state_new(&s));
    CTT_TRY(ctt_settings_print(cfg, &s->settings));
    CTT_TRY(fill(s, d, o, p, best));
    m->train = s;
    rc = ctt_model_save(path, m);
    m->train = old;
out:
    ctt_state_free(&s);
    return rc;
}

static int find(const struct ctt_state *s, const char *name, int size,
                int64_t count, const void **out)
{
    const struct ctt_array *a = ctt_state_find(s, name);
    int rc = 0;

    CTT_CHECK(a && a->size == size && a->count == count, CTT_EFORMAT,
              "the checkpoint has no usable '%s'", name);
    *out = a->data;
out:
    return rc;
}

static int get(const struct ctt_state *s, const char *name, int size,
               int64_t count, void *out)
{
    const void *data = NULL;
    int rc = find(s, name, size, count, &data);

    if (rc >= 0)
        memcpy(out, data, (size_t)size * (size_t)count);
    return rc;
}

static int get_moments(const struct ctt_state *s, const struct ctt_optim *o,
                       const char *name, float *m)
{
    const void *data = NULL;
    int rc = 0;

    if (!m)
        goto out;
    CTT_TRY(find(s, name, 4, o->weights, &data));
    CTT_TRY(ctt_dev_copy(o->dev, CTT_TO_DEVICE, data, m, size_of(o)));
out:
    return rc;
}

/* The first number, whatever follows it. */
static int check_version(const struct ctt_state *s)
{
    const struct ctt_array *a = ctt_state_find(s, "place");
    int64_t version = VERSION;
    int rc = 0;

    if (a && a->size == sizeof(version) && a->count > 0)
        memcpy(&version, a->data, sizeof(version));
    CTT_CHECK(version == VERSION, CTT_EFORMAT, "a checkpoint of another "
              "version: %lld, not %d; --init goes on from its weights",
              (long long)version, VERSION);
out:
    return rc;
}

static int load_numbers(const struct ctt_state *s, const struct ctt_data *d,
                        struct ctt_optim *o, struct ctt_place *p, float *best)
{
    int64_t w[WORDS];
    double r[REALS];
    int rc = 0;

    CTT_TRY(check_version(s));
    CTT_TRY(get(s, "place", 8, WORDS, w));
    CTT_TRY(get(s, "sums", 8, REALS, r));
    CTT_CHECK(w[6] == d->clips, CTT_EINVAL,
              "the checkpoint was made with %lld clips, the data has %d",
              (long long)w[6], d->clips);
    for (int i = 1; i <= 5; i++)
        CTT_CHECK(w[i] >= 0, CTT_EFORMAT, "the checkpoint's step is negative");
    CTT_CHECK(w[8] >= -1 && w[9] >= 0 && w[10] >= -1 && !isnan(r[11]),
              CTT_EFORMAT, "the checkpoint's sampling is damaged");
    CTT_CHECK(w[11] >= 0 && w[12] >= 0 && w[13] >= 0 && r[12] >= 1 &&
              isfinite(r[12]), CTT_EFORMAT,
              "the checkpoint's loss scale is damaged");
    /* without a test set there is nowhere to keep the best weights */
    *p = (struct ctt_place){ .step = w[1], .epoch = w[2], .batch = w[3],
        .best_epoch = best ? w[4] : 0, .sums = { r[0], r[1], r[2], r[3] },
        .val = { r[4], r[5], r[6], r[7], r[8], r[9], r[10] },
        .sampling = { .start = w[8], .stalled = w[9], .falls = w[10],
                      .best = r[11] },
        .scale = { .dynamic = p->scale.dynamic, .scale = r[12], .clean = w[11],
                   .skips = w[12], .skipped = w[13] } };
    o->t = w[5];
    CTT_TRY(get_moments(s, o, "m", o->flat.m));
    CTT_TRY(get_moments(s, o, "v", o->flat.v));
    if (best && p->best_epoch)
        CTT_TRY(get(s, "best", 4, o->weights, best));
out:
    return rc;
}

int ctt_checkpoint_load(const struct ctt_model *m,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, struct ctt_optim *o,
                        struct ctt_place *p, float *best)
{
    char *now = NULL;
    const char *was = m->train->settings ? m->train->settings : "";
    int rc = 0;

    CTT_TRY(ctt_settings_print(cfg, &now));
    CTT_TRY(compare(was, now, "with"));
    CTT_TRY(compare(now, was, "without"));
    CTT_TRY(load_numbers(m->train, d, o, p, best));
out:
    ctt_free(now);
    return rc;
}
