/* SPDX-License-Identifier: Apache-2.0
 * live_read.c: the thread that opens a live source, decodes all of its frames
 * and opens it again. */
#include "base/clock.h"
#include "base/visible.h"
#include "video/disk.h"
#include "video/live/live_inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds before a source is opened again: the first time, and at most. */
#define PAUSE 0.5
#define PAUSE_MAX 10

/* A connection that gave frames and lasted so many seconds was one. */
#define STEADY 5

/* Seconds without a sender of UDP after which a line says so. */
#define QUIET 2

/* Frames a second of a source that does not say it. */
#define USUAL 25

/* A line for the user, which begins with the source's name. */
__attribute__((format(printf, 2, 3)))
static void live_say(struct ctt_live *l, const char *fmt, ...)
{
    char line[512], shown[sizeof(line)];
    va_list ap;
    int n;

    if (!l->set.say)
        return;
    n = snprintf(line, sizeof(line), "%s: ", l->plan.name);
    va_start(ap, fmt);
    if (n >= 0 && n < (int)sizeof(line))
        vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
    va_end(ap);
    l->set.say(l->set.arg, ctt_visible(line, 0, shown, sizeof(shown)));
}

/* The message at hand without the source's name, which a line begins with. */
static const char *message(const struct ctt_live *l)
{
    const char *s = ctt_errmsg();
    size_t n = strlen(l->plan.name);

    return strncmp(s, l->plan.name, n) == 0 && strncmp(s + n, ": ", 2) == 0 ?
           s + n + 2 : s;
}

/* ---- frames ---- */

/* Nothing but a clock says when frames of a source come that does not wait. */
static int uses_clock(const struct ctt_live *l)
{
    return !l->ahead && !l->paced;
}

static void update_counts(struct ctt_live *l, int frames,
                          const struct ctt_stream_told *told)
{
    pthread_mutex_lock(&l->lock);
    l->all += frames;
    l->counts.bytes = l->bytes + told->bytes;
    l->counts.damaged = l->damaged + told->damaged;
    l->counts.jumps = uses_clock(l) ? l->clock.jumps :
                      told->jumps + l->leaps;
    pthread_mutex_unlock(&l->lock);
}

static void tell_damaged(struct ctt_live *l, const struct ctt_stream_told *told)
{
    if (told->damaged && !l->said_damaged) {
        l->said_damaged = 1;
        live_say(l, "damaged packets or frames are left out or concealed");
    }
}

/* Warnings, each once. */
static void warn_once(struct ctt_live *l, struct ctt_video *v,
                      const struct ctt_stream_told *told)
{
    int w, h, turns;

    tell_damaged(l, told);
    if (l->clock.by_clock && !l->said_clock) {
        l->said_clock = 1;
        live_say(l, "the stream's times run at %.2f of the clock's speed: "
                 "the clock is used instead", l->clock.speed);
    }
    ctt_video_size(v, &w, &h, &turns);
    if (l->w && (w != l->w || h != l->h) && !ctt_video_timeless(v))
        live_say(l, "frames change from %dx%d to %dx%d", l->w, l->h, w, h);
    l->w = w;
    l->h = h;
}

/* Updates the mean time between frames, without pauses.  Pictures without times
 * are spaced by this mean. */
static void set_interval(struct ctt_live *l, const struct ctt_video *v,
                         double passed)
{
    enum { MEAN = 8, PAUSE_OF = 4 };

    if (!l->came || passed <= 0 || passed > CTT_LIVE_STILL ||
        (ctt_video_timeless(v) && !uses_clock(l)))
        return;
    if (!l->stated) {
        l->stated = 1;
        l->interval = passed < 1 ? passed : 1;
    }
    passed = passed < PAUSE_OF * l->interval ? passed : PAUSE_OF * l->interval;
    l->interval += (passed - l->interval) / MEAN;
}

/* The time t of a paced source, of which no leap is longer than any gap that a
 * user may set: seconds must stay exact next to those of the clock. */
static double without_leap(struct ctt_live *l, double t)
{
    const double most = CTT_LIVE_TIMEOUT_MAX + 1.0;

    if (t - l->leapt - l->before > most) {
        l->leapt = t - (l->before + most);
        l->before += most;
        l->leaps++;
    }
    t -= l->leapt;
    l->before = t > l->before ? t : l->before;
    return l->before;
}

/* Decodes the next frame: 1 and its time; at the end 0 and the end. */
static int decode_next(struct ctt_live *l, struct ctt_video *v, double *t)
{
    struct ctt_stream_told told;
    int rc = ctt_video_ahead(v, t);

    ctt_video_told(v, &told);
    if (rc > 0 && uses_clock(l))
        *t = ctt_live_clock_time(&l->clock, ctt_video_timeless(v) ? NAN :
                                 told.stamp, ctt_seconds());
    else if (rc > 0 && ctt_video_timeless(v))
        *t = (double)(ctt_video_seen(v) - 1) * l->interval;
    else if (rc >= 0 && l->paced)
        *t = without_leap(l, *t);
    update_counts(l, rc > 0, &told);
    return rc;
}

/* Reads a source as a clip is read: a frame is chosen when the next one is
 * known. */
static int read_ahead(struct ctt_live *l, struct ctt_video *v)
{
    struct ctt_stream_told told;
    double now, next;
    int rc, more = 1;

    CTT_TRY(decode_next(l, v, &next));
    while (more > 0) {
        now = next;
        ctt_video_step(v);
        ctt_video_told(v, &told);
        warn_once(l, v, &told);
        more = decode_next(l, v, &next);
        if (more == CTT_ESTOP || more == CTT_ENOMEM)
            return more;
        next = more < 0 ? now + l->interval : next;
        set_interval(l, v, next - now);
        rc = ctt_live_choose(l, v, now, next, more <= 0);
        if (rc < 0)
            return rc;
    }
    rc = more;
out:
    return rc;
}

/* A frame is used at once, as it is not known when the next one comes. */
static int read_live(struct ctt_live *l, struct ctt_video *v)
{
    struct ctt_stream_told told;
    double now;
    int rc;

    for (;;) {
        CTT_TRY(decode_next(l, v, &now));
        if (rc == 0)
            break;
        ctt_video_step(v);
        ctt_video_told(v, &told);
        warn_once(l, v, &told);
        set_interval(l, v, now - l->now);
        CTT_TRY(ctt_live_choose(l, v, now, now + l->interval, 0));
    }
out:
    return rc;
}

/* ---- waiting ---- */

/* Copies the value of `key` in the query of an address, or "". */
static const char *option(const char *address, const char *key, char *to,
                          size_t size)
{
    const char *at = strchr(address, '?');

    at = at ? strstr(at, key) : NULL;
    at = at ? at + strlen(key) : "";
    snprintf(to, size, "%.*s", (int)strcspn(at, "&#"), at);
    return to;
}

static int is_group(const char *host)
{
    int first = atoi(host);

    return (first >= 224 && first <= 239) || strncmp(host, "[ff", 3) == 0;
}

/* Names the port and the address at which FFmpeg receives: it ignores a host
 * that is no group. */
static void say_where(struct ctt_live *l)
{
    const char *host = l->plan.name + strlen("udp://");
    size_t n = strcspn(host, "/");
    char port[8], at[64];

    option(l->plan.source, "localport=", port, sizeof(port));
    option(l->plan.source, "localaddr=", at, sizeof(at));
    while (n > 0 && host[n - 1] != ':' && host[n - 1] != ']')
        n--;
    if (!*port && n > 0 && host[n - 1] == ':')
        snprintf(port, sizeof(port), "%.5s", host + n);
    if (is_group(host))
        snprintf(at, sizeof(at), "group %.*s", n > 0 ? (int)n - 1 : 0, host);
    live_say(l, "nothing has come yet: waits for a sender, at UDP port %s "
             "of %s", port, *at ? at : "every address of this machine");
}

int ctt_live_asked(void *live)
{
    struct ctt_live *l = live;
    double most = l->plan.how.timeout / 2 < QUIET ? l->plan.how.timeout / 2
                                                  : QUIET;

    if (!l->said_quiet && !l->all && ctt_seconds() - l->since > most &&
        strncmp(l->plan.source, "udp://", 6) == 0) {
        l->said_quiet = 1;
        say_where(l);
    }
    return ctt_live_closing(l);
}

/* ---- connections ---- */

/* Properties of the source, once it is open. */
static void set_up(struct ctt_live *l, struct ctt_video *v)
{
    double fps = (double)ctt_video_fps(v), in = (double)l->in.fps;
    struct ctt_stream_told told;
    int is_file = l->plan.how.kind <= CTT_STREAM_FILE;

    ctt_video_told(v, &told);
    l->every = in <= 0 || ctt_video_timeless(v);
    l->stated = ctt_video_timeless(v) ||
                (fps * CTT_LIVE_STILL >= 1 && fps <= 1000);
    if (ctt_video_timeless(v) || !l->stated)
        fps = in > 0 ? in : USUAL;
    l->interval = 1 / fps;
    l->pick.fps = l->every ? 0 : in;
    l->pick.fill = 0;
    l->waits = told.waits;
    l->paced = told.waits && l->set.realtime;
    pthread_mutex_lock(&l->lock);
    l->behind = l->set.behind != CTT_BEHIND_AUTO ? l->set.behind :
                told.waits && !l->paced ? CTT_BEHIND_WAIT : CTT_BEHIND_DROP;
    l->step = l->every ? l->interval : 1 / in;
    l->counts.fps = (double)ctt_video_fps(v);
    pthread_mutex_unlock(&l->lock);
    l->ahead = is_file ||
               (told.waits && !l->paced && l->behind == CTT_BEHIND_WAIT);
}

/* At the end: frames that the source stated, but did not deliver. */
static void tell_missing(struct ctt_live *l, const struct ctt_video *v)
{
    int64_t n = ctt_video_stated(v) - ctt_video_seen(v);
    struct ctt_stream_told told;

    ctt_video_told(v, &told);
    tell_damaged(l, &told);
    if (told.unread)
        live_say(l, "joined files, of which only the first ones are read, "
                 "and not the last %lld bytes", (long long)told.unread);
    if (n <= 0)
        return;
    live_say(l, "cut short: %lld frame%s missing at its end", (long long)n,
             n > 1 ? "s are" : " is");
    pthread_mutex_lock(&l->lock);
    l->counts.missing += n;
    pthread_mutex_unlock(&l->lock);
}

/* One connection: 0 at its end; *frames: whether any came. */
static int connect_once(struct ctt_live *l, int *frames)
{
    struct ctt_video *v = NULL;
    int64_t before = l->all;
    int rc;

    l->since = ctt_seconds();
    CTT_TRY(ctt_video_stream(l->plan.name, &l->plan.how, &v));
    set_up(l, v);
    rc = l->ahead ? read_ahead(l, v) : read_live(l, v);
    if (rc == 0)
        tell_missing(l, v);
out:
    *frames = l->all > before;
    ctt_video_close(&v);
    return rc;
}

/* A camera that was never there is a wrong name. */
static int is_missing(const struct ctt_live *l)
{
    return l->plan.how.kind == CTT_STREAM_CAMERA && !l->came &&
           ctt_disk_kind(l->plan.source) == CTT_DISK_NONE;
}

/* 1 if another try may help after rc.  A recording would begin anew. */
static int may_help(const struct ctt_live *l, int rc, int frames)
{
    return l->plan.again && !(frames && l->waits) && !l->hopeless &&
           !is_missing(l) && rc != CTT_ESTOP && rc != CTT_ENOMEM &&
           (rc == 0 || rc == CTT_EIO || frames);
}

/* The next connection goes on from where this one ended. */
static void between_connections(struct ctt_live *l)
{
    l->bytes = l->counts.bytes;
    l->damaged = l->counts.damaged;
    ctt_live_clock_again(&l->clock);
    if (l->came)
        l->fresh = CTT_FRESH_RECONNECT;
}

/* Prints a line and pauses: 0 for another try, else the result of the stream.
 */
static int pause_after(struct ctt_live *l, int rc, int tries)
{
    double pause = PAUSE * (tries < 10 ? 1 << tries : 1 << 10);
    char what[400], of[32] = "";

    pause = pause < PAUSE_MAX ? pause : PAUSE_MAX;
    snprintf(what, sizeof(what), "%s", rc < 0 ? message(l) : "has ended");
    if (l->set.reconnects >= 0 && tries >= l->set.reconnects) {
        if (tries == 0)
            return rc;
        return ctt_error(rc < 0 ? rc : CTT_EIO, "%s: %s; given up after %d "
                         "more %s", l->plan.name, what, tries,
                         tries == 1 ? "try" : "tries");
    }
    if (l->set.reconnects > 0)
        snprintf(of, sizeof(of), " of %d", l->set.reconnects);
    live_say(l, "%s; try %d%s to connect again in %g s", what, tries + 1,
             of, pause);
    between_connections(l);
    rc = ctt_live_sleep(l, ctt_seconds() + pause);
    pthread_mutex_lock(&l->lock);
    l->counts.reconnects++;
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static int read_source(struct ctt_live *l)
{
    int rc, frames, tries = 0, ended = 0;
    double since;

    l->fresh = CTT_FRESH_START;
    do {
        since = ctt_seconds();
        rc = connect_once(l, &frames);
        if (!may_help(l, rc, frames))
            return rc;
        tries = frames && ctt_seconds() - since > STEADY ? 0 : tries;
        ended = rc == 0 && l->set.reconnects == 0;
        rc = pause_after(l, rc, tries++);
    } while (rc == 0 && !ended);
    return rc;
}

void *ctt_live_read(void *live)
{
    struct ctt_live *l = live;
    int rc = read_source(l);

    pthread_mutex_lock(&l->lock);
    l->ended = 1;
    l->rc = rc;
    snprintf(l->why, sizeof(l->why), "%s", rc < 0 ? ctt_errmsg() : "");
    pthread_cond_signal(&l->news);
    pthread_mutex_unlock(&l->lock);
    ctt_live_tell(l);
    return NULL;
}
