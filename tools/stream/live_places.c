/* SPDX-License-Identifier: Apache-2.0
 * live_places.c: the states of a model for several streams of frames. */
#include "tools/stream/stream_tool.h"
#include "tools/shared/infer_rc.h"

#include <stdio.h>

struct ctt_places {
    int                  count;
    struct ctt_batch    *batch;      /* or */
    struct ctt_session **session;    /* the first one is the caller's */
};

/* ---- open and close ---- */

static int open_sessions(struct ctt_places *p, const struct ctt_infer *m,
                         struct ctt_session *first)
{
    int rc = 0;

    p->session = ctt_calloc((size_t)p->count, sizeof(*p->session));
    CTT_TRY(p->session ? 0 : CTT_ENOMEM);
    p->session[0] = first;
    for (int i = 1; i < p->count; i++)
        CTT_TRY(ctt_infer_rc(ctt_session_open(m, &p->session[i])));
out:
    return rc;
}

/* A batch gives the least free number, so streams get the numbers of their
 * places. */
static int open_batch(struct ctt_places *p, const struct ctt_infer *m)
{
    int rc = 0, place;

    CTT_TRY(ctt_infer_rc(ctt_batch_open(m, p->count, &p->batch)));
    for (int i = 0; i < p->count; i++)
        CTT_TRY(ctt_infer_rc(ctt_batch_join(p->batch, &place)));
out:
    return rc;
}

int ctt_places_open(const struct ctt_infer *m, struct ctt_session *session,
                    int count, struct ctt_places **out)
{
    struct ctt_places *p = ctt_calloc(1, sizeof(*p));
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->count = count;
    CTT_TRY(session ? open_sessions(p, m, session) : open_batch(p, m));
    *out = p;
    p = NULL;
out:
    ctt_places_close(&p);
    return rc;
}

void ctt_places_close(struct ctt_places **places)
{
    struct ctt_places *p = *places;

    if (!p)
        return;
    for (int i = 1; p->session && i < p->count; i++)
        ctt_session_close(&p->session[i]);
    ctt_free(p->session);
    ctt_batch_close(&p->batch);
    ctt_free(p);
    *places = NULL;
}

/* ---- streams ---- */

int ctt_places_reset(struct ctt_places *p, int place)
{
    if (p->batch)
        return ctt_infer_rc(ctt_batch_reset(p->batch, place));
    ctt_session_reset(p->session[place]);
    return 0;
}

int ctt_places_leave(struct ctt_places *p, int place)
{
    return p->batch ? ctt_infer_rc(ctt_batch_leave(p->batch, place)) : 0;
}

static int push_sessions(struct ctt_places *p, const uint8_t *const *frames)
{
    int rc = 0;

    for (int i = 0; i < p->count; i++)
        if (frames[i])
            CTT_TRY(ctt_infer_rc(ctt_session_push(p->session[i], frames[i],
                                                  1)));
out:
    return rc;
}

int ctt_places_push(struct ctt_places *p, const uint8_t *const *frames)
{
    return p->batch ? ctt_infer_rc(ctt_batch_push(p->batch, frames))
                    : push_sessions(p, frames);
}

/* A batch names the place, which is no name that a user has given. */
static int without_place(int rc)
{
    int n = 0;

    if (rc == CTT_ENAN && sscanf(ctt_errmsg(), "stream %*d: %n", &n) == 0 && n)
        return ctt_error(rc, "%s", ctt_errmsg() + n);
    return rc;
}

int ctt_places_decided(const struct ctt_places *p, int place,
                       struct ctt_infer_decision *out)
{
    if (p->batch)
        return without_place(ctt_infer_rc(ctt_batch_decided(p->batch, place,
                                                            out)));
    return ctt_infer_rc(ctt_session_decided(p->session[place], out));
}

int ctt_places_read(struct ctt_places *p, float *const *probs)
{
    int rc = 0;

    if (p->batch)
        return without_place(ctt_infer_rc(ctt_batch_read(p->batch, probs)));
    for (int i = 0; i < p->count; i++)
        if (probs[i])
            CTT_TRY(ctt_infer_rc(ctt_session_read(p->session[i], probs[i])));
out:
    return rc;
}

int64_t ctt_places_bytes(const struct ctt_places *p)
{
    return p->batch ? ctt_batch_bytes(p->batch) / p->count
                    : ctt_session_bytes(p->session[0]);
}
