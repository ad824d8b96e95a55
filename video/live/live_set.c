/* SPDX-License-Identifier: Apache-2.0
 * live_set.c: the kind of a live source by its name, and whether the settings
 * fit it. */
#include "base/limits.h"
#include "video/disk.h"
#include "video/live/live_inside.h"
#include "video/pictures.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* RAW_RATE: frames a second. */
enum { RAW_RATE = 1000 };

/* FFmpeg may use exactly these protocols; RTSP is a format that opens TCP. */
static const struct scheme {
    const char          *start;
    enum ctt_stream_kind kind;
    const char          *protocols;
    int                  raw;      /* its bytes come whole and in order */
} schemes[] = {
    { "rtsp://", CTT_STREAM_RTSP, "tcp", 0 },
    { "rtsps://", CTT_STREAM_RTSP, "tls,tcp", 0 },
    { "http://", CTT_STREAM_ADDRESS, "http,tcp", 1 },
    { "https://", CTT_STREAM_ADDRESS, "https,httpproxy,tls,tcp", 1 },
    { "tcp://", CTT_STREAM_ADDRESS, "tcp", 1 },
    { "udp://", CTT_STREAM_ADDRESS, "udp", 0 },
};

static const struct scheme *scheme_of(const char *s)
{
    for (size_t i = 0; i < CTT_LEN(schemes); i++)
        if (strncasecmp(s, schemes[i].start, strlen(schemes[i].start)) == 0)
            return &schemes[i];
    return NULL;
}

/* ---- raw frames ---- */

static int parse_side(const char **at, char until, int *out)
{
    char *end;
    long n = strtol(*at, &end, 10);

    if (end == *at || *end != until || n < 1 || n > CTT_SIDE_MAX ||
        **at < '0' || **at > '9')
        return 0;
    *out = (int)n;
    *at = end + 1;
    return 1;
}

static int is_format(const char *s, size_t n)
{
    static const char *const known[] = { "rgb24", "bgr24", "gray", "yuv420p" };

    for (size_t i = 0; i < CTT_LEN(known); i++)
        if (strlen(known[i]) == n && strncmp(known[i], s, n) == 0)
            return 1;
    return 0;
}

static int read_raw(const char *text, struct ctt_raw *raw)
{
    const char *at = text;
    size_t n = 0;
    char *end;
    int ok = parse_side(&at, 'x', &raw->w) && parse_side(&at, 'x', &raw->h);
    int rc = 0;

    if (ok) {
        n = strcspn(at, "@");
        ok = at[n] == '@' && is_format(at, n);
    }
    if (ok) {
        snprintf(raw->format, sizeof(raw->format), "%.*s", (int)n, at);
        raw->fps = strtod(at + n + 1, &end);
        ok = end != at + n + 1 && !*end && raw->fps > 0 &&
             raw->fps <= RAW_RATE;
    }
    CTT_CHECK(ok, CTT_EINVAL, "raw frames: '%s' is not WIDTHxHEIGHTxFORMAT"
              "@RATE with a format of rgb24, bgr24, gray, yuv420p, as in "
              "640x480xrgb24@30", text);
    CTT_CHECK((int64_t)raw->w * raw->h <= ctt_limits()->frame_pixels,
              CTT_EINVAL, "raw frames: '%s' has over %lld pixels "
              "(--frame-pixels)", text, (long long)ctt_limits()->frame_pixels);
out:
    return rc;
}

/* ---- the source ---- */

/* The begin of the server's name if source has the form of an address, of any
 * scheme; else NULL. */
static const char *host_of(const char *source)
{
    const char *colon = strstr(source, "://");

    if (!colon || colon == source)
        return NULL;
    for (const char *c = source; c < colon; c++)
        if (!isalnum((unsigned char)*c) && !strchr("+-.", *c))
            return NULL;
    return colon + 3;
}

int ctt_live_is_address(const char *source)
{
    return host_of(source) != NULL;
}

const char *ctt_live_name(const char *source, char *to, size_t size)
{
    const char *host = host_of(source), *end, *at;

    if (!host) {
        snprintf(to, size, "%s", source);
        return to;
    }
    end = host + strcspn(host, "/?#");
    for (at = end; at > host && at[-1] != '@'; at--)
        ;
    snprintf(to, size, "%.*s%.*s", (int)(host - source), source,
             (int)strcspn(at, "?#"), at);
    return to;
}

/* The same, of any length. */
static char *public_name(const char *source)
{
    size_t size = strlen(source) + 1;
    char *name = ctt_calloc(size, 1);

    if (name)
        ctt_live_name(source, name, size);
    return name;
}

/* The kind of a path that is neither a regular file nor a folder. */
static int special(const char *path, const struct stat *s,
                   struct ctt_stream *how)
{
    int rc = 0;

    if (S_ISFIFO(s->st_mode))
        how->kind = CTT_STREAM_PIPE;
    else if (S_ISCHR(s->st_mode))
        how->kind = CTT_STREAM_CAMERA;
    else if (!S_ISREG(s->st_mode) && !S_ISDIR(s->st_mode))
        CTT_TRY(ctt_error(CTT_EINVAL, "%s: %s, not a stream", path,
                          ctt_disk_special(path) ? ctt_disk_special(path) :
                          "no file"));
out:
    return rc;
}

/* Writes an address as FFmpeg knows it, with a scheme in small letters. */
static void lower_scheme(char *source)
{
    const struct scheme *scheme = scheme_of(source);
    struct stat s;

    if (scheme && stat(source, &s) < 0)
        memcpy(source, scheme->start, strlen(scheme->start));
}

/* A kind of how->source. */
static int find_kind(struct ctt_stream *how)
{
    const char *source = how->source;
    const struct scheme *scheme = scheme_of(source);
    struct stat s;
    int rc = 0;

    if (strcmp(source, "-") == 0) {
        how->kind = CTT_STREAM_PIPE;
        how->source = NULL;
    } else if (stat(source, &s) == 0)
        CTT_TRY(special(source, &s, how));
    else if (scheme) {
        how->kind = scheme->kind;
        how->protocols = scheme->protocols;
    } else if (ctt_pictures_is_pattern(source))
        how->kind = CTT_STREAM_PATTERN;
    else if (strncmp(source, "/dev/video", 10) == 0)
        how->kind = CTT_STREAM_CAMERA;    /* perhaps plugged in later */
    else
        CTT_CHECK(!host_of(source), CTT_EINVAL, "%s: not an address of "
                  "rtsp://, rtsps://, http://, https://, tcp:// or udp://",
                  how->name);
out:
    return rc;
}

int ctt_live_looks(const char *path)
{
    struct ctt_stream how = { .source = path, .name = path };

    struct stat s;

    /* First, as find_kind() sets an error even where it is not returned. */
    if (stat(path, &s) == 0)
        return !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
    return host_of(path) ||
           (find_kind(&how) == 0 && how.kind != CTT_STREAM_CLIP);
}

static int find_raw(const char *text, struct ctt_live_plan *p)
{
    const struct scheme *scheme = scheme_of(p->source);
    enum ctt_stream_kind kind = p->how.kind;
    int rc = 0;

    CTT_TRY(read_raw(text, &p->how.raw));
    if (kind == CTT_STREAM_CLIP)
        p->how.kind = CTT_STREAM_FILE;
    CTT_CHECK(kind == CTT_STREAM_CLIP || kind == CTT_STREAM_PIPE ||
              (kind == CTT_STREAM_ADDRESS && scheme->raw), CTT_EINVAL,
              "%s: has no raw frames: these come from a file, a pipe, http:// "
              "or tcp://", p->name);
out:
    return rc;
}

static int in_range(double x, double most)
{
    return x >= 0 && x <= most;
}

static int check_settings(const struct ctt_live_set *set)
{
    int rc = 0;

    CTT_CHECK(set->source && *set->source, CTT_EINVAL, "a stream needs a "
              "source");
    CTT_CHECK(in_range(set->timeout, CTT_LIVE_TIMEOUT_MAX), CTT_EINVAL,
              "%g: a stream's timeout is 0 to %d seconds", set->timeout,
              CTT_LIVE_TIMEOUT_MAX);
    CTT_CHECK(in_range(set->reset_after, CTT_LIVE_TIMEOUT_MAX), CTT_EINVAL,
              "%g: a stream is reset after 0 to %d seconds", set->reset_after,
              CTT_LIVE_TIMEOUT_MAX);
    CTT_CHECK(in_range(set->cut, 1), CTT_EINVAL, "%g: the threshold of a cut "
              "is 0 to 1", set->cut);
out:
    return rc;
}

int ctt_live_plan(const struct ctt_live_set *set, struct ctt_live_plan *out)
{
    struct ctt_live_plan p = { 0 };
    int rc, waits;

    CTT_TRY(check_settings(set));
    p.source = ctt_strdup(set->source);
    p.name = strcmp(set->source, "-") == 0 ? ctt_strdup("standard input") :
             public_name(set->source);
    CTT_TRY(p.source && p.name ? 0 : CTT_ENOMEM);
    lower_scheme(p.source);
    p.how.source = p.source;
    p.how.name = p.name;
    p.how.timeout = set->timeout > 0 ? set->timeout : CTT_LIVE_TIMEOUT;
    CTT_TRY(find_kind(&p.how));
    p.again = p.how.kind >= CTT_STREAM_ADDRESS;
    if (set->raw)
        CTT_TRY(find_raw(set->raw, &p));
    waits = p.how.kind <= CTT_STREAM_FILE && !set->realtime;
    CTT_CHECK(!waits || set->behind == CTT_BEHIND_AUTO ||
              set->behind == CTT_BEHIND_WAIT, CTT_EINVAL, "%s: a file waits: "
              "frames are dropped or left out in real time only (--realtime)",
              p.name);
    *out = p;
    return 0;
out:
    ctt_live_plan_clear(&p);
    return rc;
}

void ctt_live_plan_clear(struct ctt_live_plan *p)
{
    ctt_free(p->source);
    ctt_free(p->name);
    *p = (struct ctt_live_plan){ 0 };
}
