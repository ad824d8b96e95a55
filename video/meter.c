/* SPDX-License-Identifier: Apache-2.0
 * meter.c: the cost of decoding one clip, against the limits. */
#include "video/meter.h"
#include "base/clock.h"
#include "base/limits.h"

/* An address is waited for; the time of a file is that of decoding, so that a
 * pause of the process drops no clip. */
static double now(const struct ctt_meter *m)
{
    return m->timeout > 0 ? ctt_seconds() : ctt_thread_seconds();
}

/* Seconds without a new frame so far. */
static double spent(const struct ctt_meter *m)
{
    return m->spent + now(m) - m->since;
}

void ctt_meter_start(struct ctt_meter *m)
{
    m->since = now(m);
}

void ctt_meter_stop(struct ctt_meter *m)
{
    m->spent = spent(m);
}

static int check_stream(const struct ctt_meter *m)
{
    int rc = 0;

    CTT_CHECK(!m->quit || !m->quit(m->arg), CTT_ESTOP, "%s: closed", m->path);
    CTT_CHECK(spent(m) <= m->timeout, CTT_EIO,
              "%s: no frame for %g seconds", m->path, m->timeout);
out:
    return rc;
}

static int check_clip(const struct ctt_meter *m)
{
    const struct ctt_limits *most = ctt_limits();
    int rc = 0;

    CTT_CHECK(m->bytes <= most->clip_bytes, CTT_EFORMAT,
              "%s: longer than %lld bytes (--clip-bytes)", m->path,
              (long long)most->clip_bytes);
    CTT_CHECK(m->frames <= most->clip_frames, CTT_EFORMAT,
              "%s: longer than %lld frames (--clip-frames)", m->path,
              (long long)most->clip_frames);
    CTT_CHECK(spent(m) <= most->clip_seconds, CTT_EFORMAT,
              "%s: no new frame in %g seconds of decoding (--clip-seconds)",
              m->path, most->clip_seconds);
out:
    return rc;
}

int ctt_meter_check(struct ctt_meter *m)
{
    int rc = m->rc;

    CTT_TRY(rc);
    CTT_CHECK(!ctt_stopped(), CTT_ESTOP, "%s: stopped", m->path);
    rc = m->timeout > 0 ? check_stream(m) : check_clip(m);
out:
    m->rc = rc;
    return rc;
}

int ctt_meter_frame(struct ctt_meter *m)
{
    int rc;

    m->frames++;
    rc = ctt_meter_check(m);
    m->spent = 0;
    ctt_meter_start(m);
    return rc;
}
