/* SPDX-License-Identifier: Apache-2.0
 * infer_film.c: a clip as a strip of frames and, below, the model's
 * probabilities as they change while the clip is seen. */
#include "tools/infer/infer_tool.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "tools/report/page.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/picture.h"
#include "tools/shared/tool.h"
#include "video/save.h"

#include <string.h>

/* Pixels of the picture: of a frame, of the plot, and beside them. */
enum { FRAMES = 8, SIDE = 96, PLOT = 160, LEFT = 48, TOP = 40, LINE = 16,
       WIDTH = LEFT + FRAMES * SIDE + 28, NAME = 96 };
enum { CURVES = 5 };

struct film {
    const struct ctt_recogniser *r;
    const struct ctt_item       *item;
    int    frames;
    double fps;
    float *p;                      /* [frames][classes] */
    char  *png[FRAMES];            /* in base 64 */
    int    at[FRAMES];
    int    curve[CURVES], curves;  /* classes, the most probable first */
};

/* ---- the data ---- */

/* Frame number at[k] of the clip, as the model sees it. */
static int keep_frame(struct film *f, int k, const uint8_t *frame)
{
    const struct ctt_input *in = &f->r->in;
    uint8_t *png = NULL;
    int64_t size = 0;
    int rc;

    CTT_TRY(ctt_png_encode(f->r->set->film, frame, in->w, in->h, in->c, &png,
                           &size));
    f->png[k] = ctt_base64(png, size);
    CTT_TRY(f->png[k] ? 0 : CTT_ENOMEM);
out:
    ctt_free(png);
    return rc;
}

/* Runs the clip again, with an answer after each frame. */
static int watch_clip(struct film *f, struct ctt_recogniser *r,
                      const struct ctt_frames *d)
{
    size_t size = (size_t)d->w * (size_t)d->h * (size_t)d->c;
    double ms = 0;
    int rc = 0, k = 0;

    ctt_session_reset(r->session);
    for (int i = 0; i < d->count; i++) {
        CTT_TRY(ctt_recognise_push(r, d->data + (size_t)i * size, 1, &ms));
        CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
        memcpy(f->p + (size_t)i * (size_t)r->classes, r->probs,
               (size_t)r->classes * sizeof(*f->p));
        while (k < FRAMES && f->at[k] == i)
            CTT_TRY(keep_frame(f, k++, r->frames));
    }
out:
    return rc;
}

static float highest(const struct film *f, int label)
{
    float p = 0;

    for (int i = 0; i < f->frames; i++) {
        float at = f->p[(size_t)i * (size_t)f->r->classes + (size_t)label];
        p = at > p ? at : p;
    }
    return p;
}

/* The classes that are most probable at some time, and the true one. */
static int choose_curves(struct film *f)
{
    float *p = ctt_calloc((size_t)f->r->classes, sizeof(*p));
    int *order = ctt_calloc((size_t)f->r->classes, sizeof(*order));
    int label = ctt_recognise_label(f->r, f->item), rc = p && order ? 0 :
                                                         CTT_ENOMEM;

    CTT_TRY(rc);
    for (int k = 0; k < f->r->classes; k++)
        p[k] = k == label ? 2 : highest(f, k);
    f->curves = f->r->classes < CURVES ? f->r->classes : CURVES;
    ctt_top(p, f->r->classes, order, f->curves);
    memcpy(f->curve, order, (size_t)f->curves * sizeof(*order));
out:
    ctt_free(p);
    ctt_free(order);
    return rc;
}

/* ---- the picture ---- */

static double x_of(const struct film *f, double frames)
{
    return LEFT + frames / f->frames * FRAMES * SIDE;
}

static double y_of(double share)
{
    return TOP + SIDE + 24 + PLOT * (1 - share);
}

static void print_frames(FILE *to, const struct film *f)
{
    for (int k = 0; k < FRAMES; k++)
        if (f->png[k])
            fprintf(to, "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                    "href=\"data:image/png;base64,%s\"/>\n", LEFT + k * SIDE,
                    TOP, SIDE - 2, SIDE - 2, f->png[k]);
}

static void print_axes(FILE *to, const struct film *f)
{
    char text[32];

    for (int k = 0; k <= 4; k++) {
        double y = y_of(k / 4.0), x = x_of(f, f->frames * k / 4.0);

        ctt_svg_line(to, LEFT, y, LEFT + FRAMES * SIDE, y,
                     "stroke=\"#ddd\"");
        snprintf(text, sizeof(text), "%d%%", 25 * k);
        ctt_svg_text(to, LEFT - 6, y + 4, "end", text);
        if (f->fps > 0)
            snprintf(text, sizeof(text), "%.1f s",
                     f->frames * k / 4.0 / f->fps);
        else
            snprintf(text, sizeof(text), "%d", f->frames * k / 4);
        ctt_svg_text(to, x, y_of(0) + 16, k == 4 ? "end" : "middle", text);
    }
    ctt_svg_text(to, LEFT + FRAMES * SIDE / 2.0, y_of(0) + 32, "middle",
                 f->fps > 0 ? "time seen (the frames above: at the middle of "
                              "their share)"
                            : "frames seen");
}

/* A step per frame, as an answer holds until the next one. */
static void print_curve(FILE *to, const struct film *f, int k)
{
    size_t classes = (size_t)f->r->classes;

    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"%s "
            "points=\"", ctt_svg_colour(k), k ? 1.5 : 3.0, ctt_svg_dash(k));
    for (int i = 0; i < f->frames; i++)
        fprintf(to, "%.1f,%.1f ", x_of(f, i + 1),
                y_of((double)f->p[(size_t)i * classes +
                                  (size_t)f->curve[k]]));
    fprintf(to, "\"/>\n");
}

static void print_legend(FILE *to, const struct film *f, int k)
{
    double y = y_of(0) + 52 + k * LINE;
    char name[NAME], text[NAME + 16], style[64];

    ctt_visible(f->r->label[f->curve[k]], 0, name, sizeof(name));
    snprintf(text, sizeof(text), "%s%s", name,
             f->curve[k] == ctt_recognise_label(f->r, f->item) ? " (true)"
                                                               : "");
    snprintf(style, sizeof(style), "stroke=\"%s\" stroke-width=\"%d\"%s",
             ctt_svg_colour(k), k ? 2 : 3, ctt_svg_dash(k));
    ctt_svg_line(to, LEFT, y - 4, LEFT + 24, y - 4, style);
    ctt_svg_text(to, LEFT + 32, y, "start", text);
}

static int print_film(FILE *to, const void *arg)
{
    const struct film *f = arg;
    char id[NAME], title[NAME + 64];

    ctt_svg_begin(to, WIDTH, (int)y_of(0) + 56 + f->curves * LINE);
    snprintf(title, sizeof(title), "%s: probability of the classes after each "
             "frame", ctt_visible(f->item->id, 0, id, sizeof(id)));
    fprintf(to, "<g font-size=\"15\">");
    ctt_svg_text(to, LEFT, 24, "start", title);
    fprintf(to, "</g>\n");
    print_frames(to, f);
    print_axes(to, f);
    for (int k = f->curves; k-- > 0; )
        print_curve(to, f, k);
    for (int k = 0; k < f->curves; k++)
        print_legend(to, f, k);
    ctt_svg_end(to);
    return 0;
}

int ctt_film_write(struct ctt_recogniser *r, const struct ctt_item *item,
                   const struct ctt_frames *d)
{
    struct film f = { .r = r, .item = item, .frames = d->count,
                      .fps = (double)d->fps };
    int rc;

    f.p = ctt_calloc((size_t)d->count, (size_t)r->classes * sizeof(*f.p));
    CTT_TRY(f.p ? 0 : CTT_ENOMEM);
    for (int k = 0; k < FRAMES; k++)
        f.at[k] = (2 * k + 1) * d->count / (2 * FRAMES);
    CTT_TRY(watch_clip(&f, r, d));
    CTT_TRY(choose_curves(&f));
    CTT_TRY(ctt_file_print(r->set->film, print_film, &f));
out:
    for (int k = 0; k < FRAMES; k++)
        ctt_free(f.png[k]);
    ctt_free(f.p);
    return rc;
}
