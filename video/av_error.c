/* SPDX-License-Identifier: Apache-2.0
 * av_error.c: FFmpeg's errors in the user's words. */
#include "base/limits.h"
#include "video/demux.h"

#include <libavutil/error.h>

#include <errno.h>
#include <stdio.h>

/* Bytes of free memory with which a block that FFmpeg does not get must be one
 * that no clip needs. */
enum { ENOUGH = 1 << 28 };

/* Of streams: errors that another try cannot change, and others. */
static const struct {
    int         code, rc;
    const char *why;    /* NULL: as FFmpeg says it */
} causes[] = {
    { AVERROR_HTTP_UNAUTHORIZED, CTT_EINVAL, "needs a name and a password, or "
      "others (NAME:PASSWORD@ before the host)" },
    { AVERROR_HTTP_FORBIDDEN, CTT_EINVAL, "access is forbidden (403)" },
    { AVERROR_HTTP_BAD_REQUEST, CTT_EINVAL, "refused the request (400)" },
    { AVERROR_PROTOCOL_NOT_FOUND, CTT_EUNSUP, "this FFmpeg does not have the "
      "protocol" },
    { AVERROR_HTTP_NOT_FOUND, CTT_EIO, "not found (404)" },
    { AVERROR_HTTP_OTHER_4XX, CTT_EIO, NULL },
    { AVERROR_HTTP_SERVER_ERROR, CTT_EIO, NULL },
    { AVERROR_EOF, CTT_EIO, "ended before the first frame" },
    { AVERROR(EIO), CTT_EIO, NULL },
    { AVERROR(EPIPE), CTT_EIO, NULL },
    { AVERROR(ENODEV), CTT_EIO, NULL },
    { AVERROR(ECONNREFUSED), CTT_EIO, NULL },
    { AVERROR(ECONNRESET), CTT_EIO, NULL },
    { AVERROR(ECONNABORTED), CTT_EIO, NULL },
    { AVERROR(ENOTCONN), CTT_EIO, NULL },
    { AVERROR(ETIMEDOUT), CTT_EIO, NULL },
    { AVERROR(EHOSTUNREACH), CTT_EIO, NULL },
    { AVERROR(ENETUNREACH), CTT_EIO, NULL },
    { AVERROR(ENETDOWN), CTT_EIO, NULL },
    { AVERROR(EADDRINUSE), CTT_EIO, NULL },
    { AVERROR(EADDRNOTAVAIL), CTT_EIO, NULL },
};

int ctt_av_error(const struct ctt_meter *m, int code, const char *what)
{
    const char *known = NULL;
    int rc = CTT_EFORMAT;
    char why[128];

    if (m->rc < 0)
        return m->rc;
    if (code == AVERROR(ENOMEM) && ctt_memory_free() < ENOUGH)
        return ctt_error(CTT_ENOMEM, "%s: out of memory", m->path);
    if (code == AVERROR(ENOMEM))
        return ctt_error(CTT_EFORMAT, "%s: %s: asks for more memory than a "
                         "clip may (--memory, --frame-pixels)", m->path, what);
    for (size_t i = 0; i < CTT_LEN(causes) && m->timeout > 0; i++) {
        if (causes[i].code == code) {
            known = causes[i].why;
            rc = causes[i].rc;
        }
    }
    if (known)
        return ctt_error(rc, "%s: %s", m->path, known);
    if (av_strerror(code, why, sizeof(why)) < 0)
        snprintf(why, sizeof(why), "error %d", code);
    return ctt_error(rc, "%s: %s: %s", m->path, what, why);
}
