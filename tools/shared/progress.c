/* SPDX-License-Identifier: Apache-2.0
 * progress.c: how far long work is, on standard error. */
#include "tools/shared/tool.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/visible.h"

#include <stdarg.h>
#include <unistd.h>

enum { LINE = 1024, VISIBLE = 2 * LINE };

static struct ctt_telling telling;
static int shown;                /* columns of the line on the terminal */
static double last_line;         /* time of the last one */

/* The work that the last call told of: units done then, and at its first call,
 * which was at `from`. */
static struct { double all, done, begun, from; } told;

void ctt_progress_begin(void)
{
    last_line = ctt_seconds();
}

void ctt_tool_tell(const struct ctt_telling *t)
{
    telling = *t;
}

int ctt_tool_is_quiet(void)
{
    return telling.quiet;
}

/* "1:02:03" or "2:03" of seconds; returns buf. */
static const char *clock_text(double s, char *buf, size_t size)
{
    int64_t t = s > 0 && s < 1e9 ? (int64_t)s : 0;

    if (t >= 3600)
        snprintf(buf, size, "%lld:%02d:%02d", (long long)(t / 3600),
                 (int)(t / 60 % 60), (int)(t % 60));
    else
        snprintf(buf, size, "%d:%02d", (int)(t / 60), (int)(t % 60));
    return buf;
}

/* The seconds that are left; NAN: unknown. */
static double time_left(const struct ctt_work *w, double now)
{
    if (w->all != told.all || w->done < told.done) {
        told.all = w->all;
        told.begun = w->done;
        told.from = now;
    }
    told.done = w->done;
    if (!isnan(w->left) || w->all == 0)
        return w->all > 0 ? w->left : NAN;
    return w->done > told.begun ? (now - told.from) /
           (w->done - told.begun) * (w->all - w->done) : NAN;
}

static double share_done(const struct ctt_work *w)
{
    return w->all > 0 ? fmin(fmax(w->done / w->all, 0), 1) : NAN;
}

static void put_json(const char *text, double share, double left)
{
    struct ctt_json_out o = { stderr, "", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "progress", text);
    ctt_json_put_fixed(&o, "share", 4, share);
    ctt_json_put_fixed(&o, "left_s", 1, left);
    fputs("}\n", stderr);
}

static void put_line(const char *text, double share, double left, int terminal)
{
    char line[VISIBLE + 96], clock[32], far[16] = "", rest[48] = "";
    int n;

    if (!isnan(share))
        snprintf(far, sizeof(far), ", %.0f%% done", 100 * share);
    if (!isnan(left))
        snprintf(rest, sizeof(rest), ", %s left",
                 clock_text(left, clock, sizeof(clock)));
    n = snprintf(line, sizeof(line), "%s%s%s", text, far, rest);
    if (!terminal) {
        fprintf(stderr, "%s\n", line);
        return;
    }
    fprintf(stderr, "\r%s%*s", line, shown > n ? shown - n : 0, "");
    fflush(stderr);
    shown = n;
}

/* Seconds between two lines. */
static double line_pause(int terminal)
{
    return telling.progress == CTT_TELL_JSON ? 1 : terminal ? 0.1 : 10;
}

void ctt_tool_progress(const struct ctt_work *w, const char *fmt, ...)
{
    int terminal = isatty(STDERR_FILENO);
    double now = ctt_seconds(), left = w ? time_left(w, now) : NAN;
    char line[LINE], text[VISIBLE];
    va_list ap;

    if (telling.quiet || telling.progress == CTT_TELL_OFF ||
        ctt_tool_rank(-1) > 0 || now - last_line < line_pause(terminal))
        return;
    last_line = now;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (telling.progress == CTT_TELL_JSON)
        put_json(line, w ? share_done(w) : NAN, left);
    else
        put_line(ctt_visible(line, 0, text, sizeof(text)),
                 w ? share_done(w) : NAN, left, terminal);
}

void ctt_tool_clear(void)
{
    if (!shown)    /* several threads may come here */
        return;
    fprintf(stderr, "\r%*s\r", shown, "");
    shown = 0;
}
