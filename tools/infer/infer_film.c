/* SPDX-License-Identifier: Apache-2.0
 * infer_film.c: a clip as a strip of frames and, below, the model's
 * probabilities as they change while the clip is seen. */
#include "tools/infer/infer_tool.h"
#include "base/visible.h"
#include "tools/report/page.h"
#include "tools/shared/infer_rc.h"

#include <string.h>

enum { FRAMES = CTT_FILM_FRAMES, CURVES = CTT_FILM_CURVES, NAME = 200 };

void ctt_film_free(struct ctt_film *f)
{
    ctt_free(f->id);
    ctt_free(f->data);
    ctt_free(f->x);
    *f = (struct ctt_film){ 0 };
}

/* Runs the clip again, with an answer after each frame: p[frames][classes]. */
static int watch_clip(struct ctt_film *f, struct ctt_recogniser *r,
                      const struct ctt_frames *d, float *p)
{
    size_t size = (size_t)d->w * (size_t)d->h * (size_t)d->c;
    size_t frame = (size_t)r->in.w * (size_t)r->in.h * (size_t)r->in.c;
    size_t classes = (size_t)r->classes;
    double ms = 0;
    int rc = 0, k = 0;

    ctt_session_reset(r->session);
    for (int i = 0; i < d->count; i++) {
        CTT_TRY(ctt_recognise_push(r, d->data + (size_t)i * size, 1, &ms));
        CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
        memcpy(p + (size_t)i * classes, r->probs, classes * sizeof(*p));
        for (; k < FRAMES && (2 * k + 1) * d->count / (2 * FRAMES) == i; k++)
            memcpy(f->data + (size_t)k * frame, r->frames, frame);
    }
out:
    return rc;
}

static float highest(const float *p, int frames, int classes, int class)
{
    float most = 0;

    for (int i = 0; i < frames; i++) {
        float at = p[(size_t)i * (size_t)classes + (size_t)class];

        most = at > most ? at : most;
    }
    return most;
}

/* The classes that are most probable at some time, and first the true ones. */
static int choose_curves(struct ctt_film *f, const struct ctt_recogniser *r,
                         const struct ctt_item *item, const float *p)
{
    float *most = ctt_calloc((size_t)r->classes, sizeof(*most));
    int *order = ctt_calloc((size_t)r->classes, sizeof(*order));
    int rc = most && order ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int k = 0; k < r->classes; k++)
        most[k] = ctt_item_has(r->list, item, k)
                  ? 2 : highest(p, f->frames, r->classes, k);
    f->curves = r->classes < CURVES ? r->classes : CURVES;
    ctt_top(most, r->classes, order, f->curves);
    for (int k = 0; k < f->curves; k++) {
        f->curve[k] = order[k];
        f->is_true[k] = ctt_item_has(r->list, item, order[k]);
    }
    for (int i = 0; i < f->frames; i++) {
        f->x[i] = f->fps > 0 ? (i + 1) / f->fps : i + 1;
        for (int k = 0; k < f->curves; k++)
            f->x[(k + 1) * f->frames + i] =
                (double)p[(size_t)i * (size_t)r->classes +
                          (size_t)f->curve[k]];
    }
out:
    ctt_free(most);
    ctt_free(order);
    return rc;
}

int ctt_film_take(struct ctt_recogniser *r, const struct ctt_item *item,
                  const struct ctt_frames *d, struct ctt_film *f)
{
    float *p = ctt_calloc((size_t)d->count + 1,
                          (size_t)r->classes * sizeof(*p));
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    *f = (struct ctt_film){ .label = ctt_recognise_label(r, item),
                            .frames = d->count, .fps = (double)d->fps };
    f->id = ctt_strdup(item->id);
    f->data = ctt_calloc(FRAMES * (size_t)r->in.w * (size_t)r->in.h,
                         (size_t)r->in.c);
    f->x = ctt_calloc((size_t)d->count + 1, (CURVES + 1) * sizeof(*f->x));
    CTT_TRY(f->id && f->data && f->x ? 0 : CTT_ENOMEM);
    CTT_TRY(watch_clip(f, r, d, p));
    CTT_TRY(choose_curves(f, r, item, p));
out:
    if (rc < 0)
        ctt_film_free(f);
    ctt_free(p);
    return rc;
}

int ctt_film_put(FILE *to, const struct ctt_film *f,
                 const struct ctt_recogniser *r, const char *path,
                 const char *note)
{
    struct ctt_series s[CURVES];
    char name[CURVES][NAME], id[NAME];

    for (int k = 0; k < f->curves; k++) {
        snprintf(name[k], NAME, "%.180s%s", r->label[f->curve[k]],
                 f->is_true[k] ? " (true)" : "");
        s[k] = (struct ctt_series){ name[k], f->frames, f->x,
                                    f->x + (k + 1) * f->frames, NULL, NULL };
    }
    return ctt_page_strip(to, &(struct ctt_page_clip){ path,
            ctt_visible(f->id, 0, id, NAME), note, f->data, FRAMES, r->in.w,
            r->in.h, r->in.c },
        &(struct ctt_chart){ "Answers after each frame", f->fps > 0
            ? "seconds seen" : "frames seen", "probability", s, f->curves, 1,
            1, 0, 1 });
}
