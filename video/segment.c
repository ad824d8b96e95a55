/* SPDX-License-Identifier: Apache-2.0
 * segment.c: the frames of a video that belong to the part that its path names,
 * without decoding what comes long before them. */
#include "video/decode.h"

#include <math.h>

/* NEAR: seconds from the start that are decoded rather than jumped over.  TIE:
 * times of frames and of lists are rounded, to milliseconds at least.  ROUGH:
 * a list may state an end that is later than that of the video by that. */
#define NEAR 1.0
#define TIE 0.002
#define ROUGH 1.0

/* ---- where the part begins ---- */

/* Jumps to the part if its first frame is known by its time. */
static int approach(struct ctt_video *v)
{
    const struct ctt_part *p = &v->part;
    double fps = v->pictures.count ? 0 : ctt_demux_steady(v->demux, p->first);
    double time = p->start;
    int rc = 0;

    if (p->kind == CTT_PART_FRAMES)
        time = fps > 0 ? (p->first - 0.5) / fps : 0;
    if (time <= NEAR)
        goto out;
    CTT_TRY(ctt_decode_enter(v, time));
    if (rc > 0 && p->kind == CTT_PART_FRAMES)
        v->t.seen = llround(v->t.last * fps) + 1;    /* its number, plus one */
    rc = 0;
out:
    return rc;
}

static void swap_frames(struct ctt_video *v)
{
    struct AVFrame *frame = v->held;

    v->held = v->ahead;
    v->ahead = frame;
}

static int beyond(const struct ctt_video *v)
{
    return ctt_error(CTT_EFORMAT, "%s: begins after the end of the video, "
                     "which has %.3f seconds", v->path, v->t.last + v->t.step);
}

/* The frame that is on screen when the part begins becomes `ahead`, the one
 * after it is held. */
static int begin_time(struct ctt_video *v)
{
    double time;
    int rc;

    do {
        swap_frames(v);
        time = v->t.last;
        CTT_TRY(ctt_decode_next(v));
    } while (rc > 0 && v->t.last <= v->part.start + TIE);
    if (rc == 0 && v->t.last + v->t.step <= v->part.start + TIE)
        return beyond(v);
    swap_frames(v);
    v->later = rc;
    v->ended = !rc;
    v->after = v->t.last;
    v->zero = v->part.start;
    rc = 0;
    v->t.last = time;
out:
    return rc;
}

static int begin_frames(struct ctt_video *v)
{
    int rc = 1;

    while (rc > 0 && v->t.seen <= v->part.first)
        CTT_TRY(ctt_decode_next(v));
    if (rc == 0)
        return beyond(v);
    v->zero = v->t.last;
    rc = 0;
out:
    return rc;
}

/* Makes the first frame of the part `ahead`. */
static int begin_part(struct ctt_video *v)
{
    int rc;

    CTT_TRY(ctt_decode_next(v));
    CTT_CHECK(rc, CTT_EFORMAT, "%s: contains no frame", v->path);
    CTT_TRY(approach(v));
    if (v->part.kind == CTT_PART_TIME)
        CTT_TRY(begin_time(v));
    else
        CTT_TRY(begin_frames(v));
    v->begun = 1;
    rc = 1;
out:
    return rc;
}

/* ---- and its end ---- */

/* The next frame of the part, or of the whole video. */
static int next_in_part(struct ctt_video *v)
{
    int rc = 0;

    if (v->part.kind == CTT_PART_ALL)
        return ctt_decode_next(v);
    if (!v->begun)
        return begin_part(v);
    if (v->later) {
        swap_frames(v);
        v->t.last = v->after;
        v->later = 0;
        rc = 1;
    } else if (!v->ended) {
        CTT_TRY(ctt_decode_next(v));
        v->ended = rc == 0;
    }
out:
    return rc;
}

/* 1 if `ahead` is behind the last frame of the part. */
static int is_past(const struct ctt_video *v)
{
    const struct ctt_part *p = &v->part;

    return (p->kind == CTT_PART_TIME && v->given > 0 &&
            v->t.last >= p->end - TIE) ||
           (p->kind == CTT_PART_FRAMES && v->given == p->count);
}

/* When the part ends, from its begin: with the video, or before. */
static double end_of(const struct ctt_video *v, int past)
{
    double end = past ? v->t.last : v->t.last + v->t.step;

    if (v->part.kind == CTT_PART_TIME && (past || v->part.end < end))
        end = v->part.end;
    return end - v->zero;
}

int ctt_video_ahead(struct ctt_video *v, double *t)
{
    int rc, past = 0;

    ctt_meter_start(&v->meter);
    CTT_TRY(next_in_part(v));
    CTT_CHECK(rc || v->t.seen > 0, v->how && !ctt_demux_waits(v->demux) ?
              CTT_EIO : CTT_EFORMAT, "%s: contains no frame", v->path);
    past = rc > 0 && is_past(v);
    v->given += rc > 0 && !past;
    *t = rc > 0 && !past ? v->t.last - v->zero : end_of(v, past);
    rc = rc > 0 && !past;
out:
    ctt_meter_stop(&v->meter);
    return rc;
}

int64_t ctt_video_seen(const struct ctt_video *v)
{
    return v->given;
}

int64_t ctt_video_stated(const struct ctt_video *v)
{
    const struct ctt_part *p = &v->part;
    double lacks = p->end - v->t.last - v->t.step;
    double fps = (double)ctt_video_fps(v);
    int64_t n = 0;

    if (!v->drained || v->pictures.count)
        return v->given;
    if (p->kind == CTT_PART_ALL) {
        n = ctt_demux_missing(v->demux, v->t.seen > 1 ? v->gap : v->t.step);
        if (n < 0 || (n == 0 && v->cut))
            return v->how ? v->given : INT64_MAX;
        n += v->cut;
    }
    else if (p->kind == CTT_PART_FRAMES)
        n = p->count - v->given;
    else if (lacks > ROUGH)
        n = fps > 0 ? llround(lacks * fps) : 1;
    return v->given + n;
}
