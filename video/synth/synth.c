/* SPDX-License-Identifier: Apache-2.0
 * synth.c: the scripts of the generated clips: actions that only the motion
 * distinguishes, after Something-Something (Goyal et al. 2017).
 *
 * What a single frame shows is drawn from the same ranges for all classes: the
 * position, size and orientation of an object, whether it is in two pieces, and
 * the position of the hand.  Opposite motions pass through the same poses.
 * Tearing and poking begin like the pretended actions and differ only late.
 *
 * Of the actions in an order all begin in poses of the same distribution, what
 * follows a movement is seen late, and another object moves at random. */
#include "video/synth/synth.h"
#include "video/synth/synth_draw.h"

#include <math.h>
#include <string.h>

enum { THINGS = 3 };    /* objects per frame, at most */

static const float pi = 3.14159265f;

/* A movement and then another: between at[0] and at[1], at[1] and at[2]. */
struct course {
    struct ctt_move leg[2];
    float at[3], dist, grow, turn;
};

/* All random choices of a clip, drawn once before its first frame, except
 * camera jitter and pixel noise.  Times are in frames. */
struct script {
    struct ctt_action act;
    int              label, frames, others;
    struct ctt_thing thing, other[THINGS - 1];
    struct ctt_hand  hand;
    float come, start, late, stop, leave;    /* leave = frames: never */
    float dist, grow, turn;                  /* extent of the motion */
    float at_x, at_y, at_grow;               /* the pose if it does not move */
    float side;                              /* direction object to hand */
    float touch;                             /* distance middle to hand */
    float sway, cycles, gap;
    float slow[4], noise, gain, drift, jitter;
    struct course course[2];                 /* of thing and other[0] */
};

static float clamp01(float x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static float ease(float x)
{
    x = clamp01(x);
    return .4f * x + .6f * x * x * (3 - 2 * x);
}

/* Of five objects two stand, two lie, one has any angle; poked ones stand. */
static float posture(struct ctt_rng *r, enum ctt_prep prep)
{
    int k = prep == CTT_PREP_POKE ? 0 : ctt_rng_below(r, 5);
    float tilt = ctt_rng_in(r, -.2f, .2f);
    float any = ctt_rng_in(r, -pi, pi);

    return k < 2 ? tilt : k == 2 ? tilt + pi / 2 : k == 3 ? tilt - pi / 2 : any;
}

static void pick_times(struct ctt_rng *r, struct script *s)
{
    float n = (float)s->frames;

    s->start = n * ctt_rng_in(r, .06f, .2f);
    s->come = s->start - ctt_rng_in(r, 4, 12);
    s->stop = n * ctt_rng_in(r, .72f, .92f);
    s->late = s->start + (s->stop - s->start) * ctt_rng_in(r, .5f, .65f);
    s->leave = s->stop + ctt_rng_in(r, 0, 3);
    if (ctt_rng_below(r, 2))
        s->leave = n;
}

static void pick_motion(struct ctt_rng *r, struct script *s)
{
    float most;    /* cycles that 12 frames per second can show */

    s->dist = ctt_rng_in(r, .3f, .5f);
    s->grow = ctt_rng_in(r, .7f, 1.1f);
    s->turn = ctt_rng_in(r, 2.2f, 3.2f);
    s->at_x = ctt_rng_below(r, 3) ? 0 : ctt_rng_in(r, -.5f, .5f);
    s->at_y = ctt_rng_below(r, 3) ? 0 : ctt_rng_in(r, -.5f, .5f);
    s->at_grow = ctt_rng_below(r, 3) ? 0 : ctt_rng_in(r, -.5f, .5f);
    s->sway = ctt_rng_in(r, .045f, .065f);
    s->cycles = 2 + (float)ctt_rng_below(r, 2);
    most = floorf((s->late - s->start) / 6);
    s->cycles = s->cycles < most ? s->cycles : most > 1 ? most : 1;
    s->gap = ctt_rng_in(r, .8f, 1.3f);
}

static void pick_thing(struct ctt_rng *r, struct script *s)
{
    struct ctt_thing *t = &s->thing;
    float nx, ny;

    ctt_thing_pick(r, t);
    t->x = ctt_rng_in(r, .3f, .7f);
    t->y = ctt_rng_in(r, .3f, .7f);
    t->s = ctt_rng_in(r, .17f, .24f);
    t->a = posture(r, s->act.prep);
    if (s->act.prep == CTT_PREP_POKE)
        t->y -= t->s / 2;    /* an object that falls sinks by half its height */
    s->side = ctt_rng_in(r, -1, 1) + (ctt_rng_below(r, 2) ? 0 : pi);
    nx = (float)cos(s->side - t->a);
    ny = (float)sin(s->side - t->a);
    s->touch = ctt_thing_edge(t->shape, nx, ny) * .85f;
    t->nx = nx;
    t->ny = ny;
    t->gap = 0;
    if (s->act.prep != CTT_PREP_PULL && !ctt_rng_below(r, 3))
        t->gap = s->gap * ctt_rng_in(r, .3f, 1);
    s->hand.s = ctt_rng_in(r, .11f, .15f) / t->s;
    ctt_hand_pick(r, &s->hand);
}

/* Objects that do not move, some in two pieces. */
static void pick_others(struct ctt_rng *r, struct script *s)
{
    s->others = ctt_rng_below(r, THINGS);
    for (int k = 0; k < s->others; k++) {
        struct ctt_thing *t = &s->other[k];
        float side = ctt_rng_in(r, -pi, pi);
        ctt_thing_pick(r, t);
        t->x = ctt_rng_in(r, .05f, .95f);
        t->y = ctt_rng_in(r, .05f, .95f);
        t->s = ctt_rng_in(r, .1f, .22f);
        t->a = posture(r, CTT_PREP_NONE);
        t->nx = (float)cos(side);
        t->ny = (float)sin(side);
        t->gap = ctt_rng_below(r, 3) ? 0 : ctt_rng_in(r, .1f, .7f);
    }
}

/* Movements of an object, shorter than those that have a clip alone: the second
 * begins at 26 to 63% of the clip. */
static void pick_course(struct ctt_rng *r, const struct script *s,
                        struct course *c)
{
    c->at[0] = s->start;
    c->at[1] = s->start + (s->stop - s->start) * ctt_rng_in(r, .3f, .6f);
    c->at[2] = s->stop;
    c->dist = ctt_rng_in(r, .2f, .35f);
    c->grow = ctt_rng_in(r, .45f, .7f);
    c->turn = ctt_rng_in(r, 1.2f, 2);
}

/* Actions in an order: one of the other objects moves too, at random. */
static void pick_order(struct ctt_rng *r, struct script *s)
{
    struct course *own = &s->course[0], *other = &s->course[1];

    pick_course(r, s, own);
    pick_course(r, s, other);
    memcpy(own->leg, s->act.leg, sizeof(own->leg));
    for (int k = 0; k < 2; k++)
        other->leg[k] = ctt_synth_any(r);
    other->at[0] = (float)s->frames * ctt_rng_in(r, 0, .3f);
    other->at[2] = (float)s->frames * ctt_rng_in(r, .7f, 1);
    if (!s->others)
        s->others = 1;
}

static void pick_camera(struct ctt_rng *r, struct script *s)
{
    for (int k = 0; k < 4; k++)
        s->slow[k] = ctt_rng_in(r, .05f, .3f);
    s->noise = ctt_rng_in(r, 1, 4);
    s->gain = ctt_rng_in(r, .8f, 1.1f);
    s->drift = ctt_rng_in(r, -.08f, .08f);
    s->jitter = ctt_rng_in(r, .001f, .004f);
}

/* Progress of the motion at frame t, from -0.5 to 0.5. */
static float progress(const struct script *s, float t)
{
    return ease((t - s->start) / (s->stop - s->start)) - .5f;
}

/* Distance of the hand from the object, in half heights. */
static float hand_away(const struct script *s, float t)
{
    float come = ease((t - s->come) / (s->start - s->come));
    float leave = ease((t - s->leave) / 10);

    return 3.5f * (1 - come) + 3.5f * leave;
}

static void course_follow(const struct course *c, float t,
                          struct ctt_thing *h)
{
    for (int k = 0; k < 2; k++) {
        const struct ctt_move *m = &c->leg[k];
        float u = ease((t - c->at[k]) / (c->at[k + 1] - c->at[k]));
        h->x += c->dist * m->x * u;
        h->y += c->dist * m->y * u;
        h->s *= expf(c->grow * m->grow * u);
        h->a += c->turn * m->turn * u;
    }
}

/* The hand is at distance away from (x, y). */
struct pose { struct ctt_thing thing; float x, y, away, hand_turn; };

/* Moves, scales and rotates, or keeps one of the same poses. */
static void pose_move(const struct script *s, float t, struct pose *p)
{
    const struct ctt_move *a = &s->act.leg[0];
    float u = progress(s, t), turn = a->turn * u * s->turn;

    p->thing.x += s->dist * (a->x != 0 ? a->x * u : s->at_x);
    p->thing.y += s->dist * (a->y != 0 ? a->y * u : s->at_y);
    p->thing.s *= expf(s->grow * (a->grow != 0 ? a->grow * u : s->at_grow));
    p->thing.a += turn;
    p->x = p->thing.x;
    p->y = p->thing.y;
    p->hand_turn = .8f * turn;
}

static void pose_order(const struct script *s, float t, struct pose *p)
{
    struct ctt_thing *h = &p->thing;

    course_follow(&s->course[0], t, h);
    p->x = h->x;
    p->y = h->y;
    p->hand_turn = .8f * (h->a - s->thing.a);
}

/* Back and forth until the late part begins, then torn or released. */
static void pose_pull(const struct script *s, float t, struct pose *p)
{
    float v = clamp01((t - s->start) / (s->late - s->start));
    float w = ease((t - s->late) / (s->stop - s->late));
    float by = s->sway * (float)sin(2 * pi * s->cycles * v);

    p->x = p->thing.x += by * (float)cos(s->side);
    p->y = p->thing.y += by * (float)sin(s->side);
    p->thing.gap = s->act.late ? w * s->gap : 0;
    p->away += w * s->gap;
}

/* The object tilts away from each poke; the last one may topple it about its
 * foot.  The hand retreats between pokes. */
static void pose_poke(const struct script *s, float t, struct pose *p)
{
    struct ctt_thing *h = &p->thing;
    float v = clamp01((t - s->start) / (s->late - s->start));
    float w = clamp01((t - s->late) / (s->stop - s->late));
    float beat = (float)sin(pi * s->cycles * v), last = (float)sin(pi * w);
    float tilt = s->sway * 5 * beat * beat, fall = clamp01(w * 1.5f);
    float dir = cos(s->side) > 0 ? -1 : 1;

    tilt += s->act.late ? fall * fall * pi / 2 : s->sway * 5 * last;
    h->a += dir * tilt;
    h->x += dir * h->s * (float)sin(tilt);
    h->y += h->s * (1 - (float)cos(tilt));
    p->away += .5f * (1 - beat * beat - last);
}

static void (*const pose_late[])(const struct script *, float,
                                 struct pose *) = {
    [CTT_PREP_PULL] = pose_pull, [CTT_PREP_POKE] = pose_poke,
};

/* The object and the hand at frame t; the hand scales with the object. */
static void pose_at(const struct script *s, float t, struct ctt_thing *thing,
                    struct ctt_hand *hand)
{
    struct pose p = { .thing = s->thing, .away = hand_away(s, t) };
    float r;

    (s->act.ordered ? pose_order : pose_move)(s, t, &p);
    if (s->act.prep != CTT_PREP_NONE)
        pose_late[s->act.prep](s, t, &p);
    r = (s->touch + p.away) * p.thing.s;
    *thing = p.thing;
    *hand = s->hand;
    hand->s = s->hand.s * p.thing.s;
    hand->a = s->side + p.hand_turn;
    hand->x = p.x + r * (float)cos(hand->a);
    hand->y = p.y + r * (float)sin(hand->a);
}

static void view_at(const struct script *s, struct ctt_rng *r, float t,
                    struct ctt_view *w)
{
    const float *f = s->slow;

    w->x = .006f * (float)(sin(f[0] * t) + sin(f[1] * t + 1)) +
           ctt_rng_in(r, -s->jitter, s->jitter);
    w->y = .006f * (float)(sin(f[2] * t) + sin(f[3] * t + 2)) +
           ctt_rng_in(r, -s->jitter, s->jitter);
    w->gain = s->gain * (1 + s->drift * t / (float)s->frames);
}

static void draw_frame(const struct script *s, struct ctt_canvas *v,
                       struct ctt_rng *r, int f, uint64_t noise, uint8_t *out)
{
    struct ctt_rng pixels = { r->key, noise };
    struct ctt_thing thing;
    struct ctt_hand hand;
    struct ctt_view w;

    pose_at(s, (float)f, &thing, &hand);
    view_at(s, r, (float)f, &w);
    ctt_draw_view(v, &w);
    for (int k = 0; k < s->others; k++) {
        struct ctt_thing other = s->other[k];
        if (k == 0 && s->act.ordered)
            course_follow(&s->course[1], (float)f, &other);
        ctt_draw_thing(v, &w, &other);
    }
    ctt_draw_thing(v, &w, &thing);
    ctt_draw_hand(v, &w, &hand);
    ctt_draw_bytes(v, &pixels, w.gain, s->noise, out);
}

static void pick_script(const struct ctt_synth *y, struct ctt_rng *r, int i,
                        struct script *s)
{
    s->label = ctt_synth_label(y, i);
    ctt_synth_action(s->label, &s->act);
    s->frames = CTT_SYNTH_MIN +
                ctt_rng_below(r, CTT_SYNTH_MAX - CTT_SYNTH_MIN + 1);
    pick_times(r, s);
    pick_motion(r, s);
    pick_thing(r, s);
    pick_others(r, s);
    pick_camera(r, s);
    if (s->act.ordered)
        pick_order(r, s);
}

int ctt_synth_make(const struct ctt_synth *y, int i, struct ctt_frames *out,
                   struct ctt_caption *c)
{
    struct ctt_rng r = { y->seed, (uint64_t)i << 28 };
    uint64_t noise = r.i + (1u << 27);
    size_t bytes = (size_t)y->size * y->size * 3;
    struct ctt_canvas v = { 0 };
    struct script s = { 0 };
    uint8_t *data = NULL;
    int rc = 0;

    CTT_CHECK(y->size >= 16 && y->size <= 1024 && y->size % 2 == 0, CTT_EINVAL,
              "size %d: must be even, from 16 to 1024", y->size);
    CTT_CHECK(i >= 0, CTT_EINVAL, "clip %d: no such clip", i);
    pick_script(y, &r, i, &s);
    CTT_TRY(ctt_canvas_new(&v, y->size));
    data = ctt_calloc((size_t)s.frames, bytes);
    if (!data) {
        rc = CTT_ENOMEM;
        goto out;
    }
    ctt_draw_back(&v, &r);
    for (int f = 0; f < s.frames; f++, noise += (uint64_t)y->size * y->size)
        draw_frame(&s, &v, &r, f, noise, data + (size_t)f * bytes);
    *out = (struct ctt_frames){ data, s.frames, y->size, y->size, 3,
                                CTT_SYNTH_FPS };
    *c = (struct ctt_caption){ s.label, s.thing.colour, s.thing.shape };
out:
    ctt_canvas_free(&v);
    return rc;
}

int ctt_synth_clip(const struct ctt_synth *s, int i, struct ctt_frames *out,
                   int *label)
{
    struct ctt_caption c;
    int rc = ctt_synth_make(s, i, out, &c);

    if (rc >= 0)
        *label = c.label;
    return rc;
}
