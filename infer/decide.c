/* SPDX-License-Identifier: Apache-2.0
 * decide.c: the early decision of a stream. */
#include "infer/decide.h"
#include "net/code/zip.h"

#include <string.h>

static int likeliest(const float *p, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (p[i] > p[best])
            best = i;
    return best;
}

int ctt_smooth_next(struct ctt_smooth *s, int k, const float *probs,
                    float *confidence)
{
    float share = k ? (float)(1 - s->smooth) : 1;
    int best;

    for (int i = 0; i < s->classes; i++)
        s->p[i] = k ? s->p[i] + share * (probs[i] - s->p[i]) : probs[i];
    best = likeliest(s->p, s->classes);
    *confidence = s->p[best];
    return best;
}

/* Thresholds are valid for the arithmetic of their calibration only. */
int ctt_decide_open(const struct ctt_infer *m, struct ctt_decide *s)
{
    const struct ctt_decision *d = &m->decision;
    const char *type = ctt_infer_type(m);
    int rc = 0;

    if (!m->decides)
        goto out;
    CTT_CHECK(strcmp(d->type, type) == 0, CTT_EINVAL, "its thresholds for "
              "early decisions were calibrated with %s, not %s", d->type, type);
    s->d = d;
    s->smooth.smooth = d->smooth;
    s->smooth.classes = m->classes;
    s->smooth.p = ctt_calloc((size_t)m->classes, sizeof(float));
    s->probs = ctt_calloc((size_t)m->classes, sizeof(float));
    CTT_TRY(s->smooth.p && s->probs ? 0 : CTT_ENOMEM);
out:
    return rc;
}

void ctt_decide_close(struct ctt_decide *s)
{
    ctt_free(s->smooth.p);
    ctt_free(s->probs);
}

void ctt_decide_reset(struct ctt_decide *s)
{
    s->check = s->done = s->ended = 0;
}

static int is_over(const struct ctt_decide *s)
{
    return !s->d || s->done || s->check >= s->d->checks;
}

int ctt_decide_until(const struct ctt_decide *s, int64_t frames, int most)
{
    int64_t left;

    if (is_over(s))
        return most;
    left = ctt_decision_frame(s->check) - frames;
    return left > 0 && left < most ? (int)left : most;
}

int ctt_decide_due(const struct ctt_decide *s, int64_t frames)
{
    return !is_over(s) && frames == ctt_decision_frame(s->check);
}

static void set_decision(struct ctt_decide *s, int answer, float confidence,
                         int64_t frame, int early)
{
    s->done = 1;
    s->made = (struct ctt_infer_decision){ .answer = answer, .early = early,
        .confidence = confidence, .frame = frame };
}

void ctt_decide_check(struct ctt_decide *s)
{
    int k = s->check++, best;
    float confidence;

    best = ctt_smooth_next(&s->smooth, k, s->probs, &confidence);
    if (ctt_head_sure(&s->d->head, k, best, confidence) >= s->d->threshold[k])
        set_decision(s, best, confidence, ctt_decision_frame(k), 1);
}

/* A decision at the end takes the last answer, not the mean. */
void ctt_decide_end(struct ctt_decide *s, int64_t frames)
{
    int best = likeliest(s->probs, s->smooth.classes);

    s->ended = 1;
    if (!s->done)
        set_decision(s, best, s->probs[best], frames, 0);
}

/* ---- saved streams ---- */

/* Stored state before the mean of the probabilities, in doc/format.md's
 * order. */
struct kept {
    int32_t check, done, ended, answer, early;
    float   confidence;
    int64_t frame;
};
_Static_assert(sizeof(struct kept) == 32, "doc/format.md states the places");

int64_t ctt_decide_bytes(const struct ctt_decide *s)
{
    return s->d ? (int64_t)sizeof(struct kept) +
                  s->smooth.classes * (int64_t)sizeof(float) : 0;
}

void ctt_decide_store(const struct ctt_decide *s, char *to)
{
    struct kept k = { .check = s->check, .done = s->done, .ended = s->ended,
        .answer = s->made.answer, .early = s->made.early,
        .confidence = s->made.confidence, .frame = s->made.frame };

    if (!s->d)
        return;
    if (!s->done)
        k.answer = k.early = 0, k.confidence = 0, k.frame = 0;
    memcpy(to, &k, sizeof(k));
    memcpy(to + sizeof(k), s->smooth.p,
           (size_t)s->smooth.classes * sizeof(float));
}

static int is_share(float p)
{
    return p >= 0 && p <= 1.001f;    /* a mean may round up */
}

/* Count of checks of an undecided stream after `frames` frames. */
static int checks_by(const struct ctt_decide *s, int64_t frames)
{
    int n = 0;

    while (n < s->d->checks && ctt_decision_frame(n) <= frames)
        n++;
    return n;
}

static int is_valid_state(const struct ctt_decide *s, const struct kept *k,
                          int64_t frames)
{
    int due = checks_by(s, frames);

    if (k->done < 0 || k->done > 1 || k->ended < 0 || k->ended > k->done)
        return 0;
    if (!k->done)
        return k->check == due;
    return k->check >= 0 && k->check <= due && k->early >= 0 &&
           k->early <= 1 && k->answer >= 0 && k->answer < s->smooth.classes &&
           is_share(k->confidence) && k->frame > 0 && k->frame <= frames;
}

static int are_shares(const char *p, int n)
{
    float x;

    for (int i = 0; i < n; i++) {
        memcpy(&x, p + (size_t)i * sizeof(x), sizeof(x));
        if (!is_share(x))
            return 0;
    }
    return 1;
}

int ctt_decide_valid(const struct ctt_decide *s, const char *from,
                     int64_t frames)
{
    struct kept k;

    memcpy(&k, from, sizeof(k));
    return is_valid_state(s, &k, frames) &&
           are_shares(from + sizeof(k), s->smooth.classes);
}

void ctt_decide_load(struct ctt_decide *s, const char *from)
{
    struct kept k;

    memcpy(&k, from, sizeof(k));
    memcpy(s->smooth.p, from + sizeof(k),
           (size_t)s->smooth.classes * sizeof(float));
    s->check = k.check;
    s->done = k.done;
    s->ended = k.ended;
    s->made = (struct ctt_infer_decision){ .answer = k.answer,
        .early = k.early, .confidence = k.confidence, .frame = k.frame };
}

int ctt_decide_crc(const struct ctt_decide *s, uint32_t *out)
{
    char *text = NULL;
    int rc = 0;

    *out = 0;
    if (!s->d)
        goto out;
    CTT_TRY(ctt_decision_print(s->d, &text));
    *out = ctt_crc32(0, text, 1, (int64_t)strlen(text));
out:
    ctt_free(text);
    return rc;
}
