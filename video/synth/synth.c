/* SPDX-License-Identifier: Apache-2.0
 * synth.c: the scripts of the generated clips: twelve actions that only the
 * motion distinguishes, after Something-Something (Goyal et al. 2017).
 *
 * What a single frame shows is drawn from the same ranges for all classes: the
 * position, size and orientation of an object, whether it is in two pieces, and
 * the position of the hand.  Opposite motions pass through the same poses.
 * Tearing and poking begin like the pretended actions and differ only late. */
#include "video/synth/synth.h"
#include "video/synth/synth_draw.h"

#include <math.h>
#include <string.h>

enum { THINGS = 3 };    /* objects per frame, at most */

enum prep { PREP_NONE, PREP_PULL, PREP_POKE };

/* Signs of motion, growth and rotation; or the object is first pulled or poked
 * and then, late in the clip, tears or falls (late = 1) or does not. */
struct action { float x, y, grow, turn; enum prep prep; int late; };

const char *const ctt_synth_template[CTT_SYNTH_CLASSES] = {
    "Moving [something] from left to right",
    "Moving [something] from right to left",
    "Moving [something] up",
    "Moving [something] down",
    "Moving [something] towards the camera",
    "Moving [something] away from the camera",
    "Turning [something] clockwise",
    "Turning [something] anticlockwise",
    "Tearing [something] into two pieces",
    "Pretending to be tearing [something]",
    "Poking [something] so that it falls over",
    "Poking [something] so slightly that it does not fall",
};

static const struct action action[CTT_SYNTH_CLASSES] = {
    { 1, 0, 0, 0, PREP_NONE, 0 },  { -1, 0, 0, 0, PREP_NONE, 0 },
    { 0, -1, 0, 0, PREP_NONE, 0 }, { 0, 1, 0, 0, PREP_NONE, 0 },
    { 0, 0, 1, 0, PREP_NONE, 0 },  { 0, 0, -1, 0, PREP_NONE, 0 },
    { 0, 0, 0, 1, PREP_NONE, 0 },  { 0, 0, 0, -1, PREP_NONE, 0 },
    { 0, 0, 0, 0, PREP_PULL, 1 },  { 0, 0, 0, 0, PREP_PULL, 0 },
    { 0, 0, 0, 0, PREP_POKE, 1 },  { 0, 0, 0, 0, PREP_POKE, 0 },
};

/* The names of classes 2k and 2k + 1 together. */
static const char *const pair[CTT_SYNTH_PAIRS] = { "across", "upward", "nearer",
                                                   "turn", "tear", "poke" };

static const float pi = 3.14159265f;

/* All random choices of a clip, drawn once before its first frame, except
 * camera jitter and pixel noise.  Times are in frames. */
struct script {
    const struct action *act;
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
static float posture(struct ctt_rng *r, enum prep prep)
{
    int k = prep == PREP_POKE ? 0 : ctt_rng_below(r, 5);
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
    t->a = posture(r, s->act->prep);
    if (s->act->prep == PREP_POKE)
        t->y -= t->s / 2;    /* an object that falls sinks by half its height */
    s->side = ctt_rng_in(r, -1, 1) + (ctt_rng_below(r, 2) ? 0 : pi);
    nx = (float)cos(s->side - t->a);
    ny = (float)sin(s->side - t->a);
    s->touch = ctt_thing_edge(t->shape, nx, ny) * .85f;
    t->nx = nx;
    t->ny = ny;
    t->gap = 0;
    if (s->act->prep != PREP_PULL && !ctt_rng_below(r, 3))
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
        t->a = posture(r, PREP_NONE);
        t->nx = (float)cos(side);
        t->ny = (float)sin(side);
        t->gap = ctt_rng_below(r, 3) ? 0 : ctt_rng_in(r, .1f, .7f);
    }
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

/* The hand is at distance away from (x, y). */
struct pose { struct ctt_thing thing; float x, y, away, hand_turn; };

/* Moves, scales and rotates, or keeps one of the same poses. */
static void pose_move(const struct script *s, float t, struct pose *p)
{
    const struct action *a = s->act;
    float u = progress(s, t), turn = a->turn * u * s->turn;

    p->thing.x += s->dist * (a->x != 0 ? a->x * u : s->at_x);
    p->thing.y += s->dist * (a->y != 0 ? a->y * u : s->at_y);
    p->thing.s *= expf(s->grow * (a->grow != 0 ? a->grow * u : s->at_grow));
    p->thing.a += turn;
    p->x = p->thing.x;
    p->y = p->thing.y;
    p->hand_turn = .8f * turn;
}

/* Back and forth until the late part begins, then torn or released. */
static void pose_pull(const struct script *s, float t, struct pose *p)
{
    float v = clamp01((t - s->start) / (s->late - s->start));
    float w = ease((t - s->late) / (s->stop - s->late));
    float by = s->sway * (float)sin(2 * pi * s->cycles * v);

    p->x = p->thing.x += by * (float)cos(s->side);
    p->y = p->thing.y += by * (float)sin(s->side);
    p->thing.gap = s->act->late ? w * s->gap : 0;
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

    tilt += s->act->late ? fall * fall * pi / 2 : s->sway * 5 * last;
    h->a += dir * tilt;
    h->x += dir * h->s * (float)sin(tilt);
    h->y += h->s * (1 - (float)cos(tilt));
    p->away += .5f * (1 - beat * beat - last);
}

static void (*const pose_late[])(const struct script *, float,
                                 struct pose *) = {
    [PREP_PULL] = pose_pull, [PREP_POKE] = pose_poke,
};

/* The object and the hand at frame t; the hand scales with the object. */
static void pose_at(const struct script *s, float t, struct ctt_thing *thing,
                    struct ctt_hand *hand)
{
    struct pose p = { .thing = s->thing, .away = hand_away(s, t) };
    float r;

    pose_move(s, t, &p);
    if (s->act->prep != PREP_NONE)
        pose_late[s->act->prep](s, t, &p);
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
    for (int k = 0; k < s->others; k++)
        ctt_draw_thing(v, &w, &s->other[k]);
    ctt_draw_thing(v, &w, &thing);
    ctt_draw_hand(v, &w, &hand);
    ctt_draw_bytes(v, &pixels, w.gain, s->noise, out);
}

static unsigned actions_of(const struct ctt_synth *s)
{
    return s->actions ? s->actions : (1u << CTT_SYNTH_PAIRS) - 1;
}

int ctt_synth_choose(struct ctt_synth *s, const char *names)
{
    unsigned chosen = 0;
    int rc = 0, k;

    for (size_t n; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        for (k = 0; k < CTT_SYNTH_PAIRS; k++)
            if (strlen(pair[k]) == n && memcmp(pair[k], names, n) == 0)
                break;
        CTT_CHECK(k < CTT_SYNTH_PAIRS, CTT_EINVAL, "no action '%.*s': across, "
                  "upward, nearer, turn, tear or poke", (int)n, names);
        chosen |= 1u << k;
    }
    s->actions = chosen;
out:
    return rc;
}

int ctt_synth_classes(const struct ctt_synth *s)
{
    int n = 0;

    for (unsigned a = actions_of(s); a; a >>= 1)
        n += 2 * (int)(a & 1);
    return n;
}

int ctt_synth_class(const struct ctt_synth *s, int k)
{
    int at = 0;

    for (unsigned a = actions_of(s); k >= 2 * (int)(a & 1); a >>= 1, at += 2)
        k -= 2 * (int)(a & 1);
    return at + k;
}

/* Each block of as many clips as there are classes contains each class once, in
 * random order. */
int ctt_synth_label(const struct ctt_synth *s, int i)
{
    int order[CTT_SYNTH_CLASSES], n = ctt_synth_classes(s), block = i / n;
    struct ctt_rng r = { ~s->seed, (uint64_t)block << 28 };

    for (int k = 0; k < n; k++) {
        int j = ctt_rng_below(&r, k + 1);
        order[k] = order[j];
        order[j] = ctt_synth_class(s, k);
    }
    return order[i % n];
}

/* Of eight blocks, six are for training, one for validation and one, unless
 * test clips follow, for test, so every split has the same share of each class.
 */
int ctt_synth_split(const struct ctt_synth *s, int i)
{
    int block = i / ctt_synth_classes(s) % 8;

    if (s->test)
        return i >= s->clips ? 2 : block == 1;
    return block == 1 ? 1 : block == 2 ? 2 : 0;
}

static void pick_script(const struct ctt_synth *y, struct ctt_rng *r, int i,
                        struct script *s)
{
    s->label = ctt_synth_label(y, i);
    s->act = &action[s->label];
    s->frames = CTT_SYNTH_MIN +
                ctt_rng_below(r, CTT_SYNTH_MAX - CTT_SYNTH_MIN + 1);
    pick_times(r, s);
    pick_motion(r, s);
    pick_thing(r, s);
    pick_others(r, s);
    pick_camera(r, s);
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
