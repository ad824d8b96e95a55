/* SPDX-License-Identifier: Apache-2.0
 * event_out.c: destinations of events: standard output, a file, and a command
 * of the user. */
#include "tools/stream/stream_tool.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "tools/shared/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* WAIT: seconds for commands at the end. */
enum { TEXT = 4096, UTC = 32, WHY = 128, WAIT = 5, VARIABLES = 9 };

struct ctt_event_out {
    struct ctt_event_to to;
    int                 fd;    /* of the file; -1: none */
    struct ctt_hook    *hook;
    pthread_mutex_t     lock;      /* of the commands */
    int64_t             missed;
};

static const char *const kind_word[] = {
    [CTT_EVENT_BEGIN] = "begin", [CTT_EVENT_END] = "end",
};

/* ---- the file ---- */

static int write_event(int fd, const char *path, const char *p, size_t n)
{
    int e = ctt_stalling_write(fd, p, n), rc = 0;

    CTT_CHECK(!e, CTT_EIO, "%s: cannot write: %s", path, strerror(e));
out:
    return rc;
}

/* A program that was killed may have left half a line. */
static int end_line(int fd, const char *path)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char last;

    if (size <= 0 || pread(fd, &last, 1, size - 1) != 1 || last == '\n')
        return 0;
    return write_event(fd, path, "\n", 1);
}

/* Read, too, if it can be: a pipe and a device need not. */
static int open_events(struct ctt_event_out *o)
{
    const char *path = o->to.file;
    int more = O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, rc = 0;

    o->fd = open(path, O_RDWR | more, 0666);
    if (o->fd < 0)
        o->fd = open(path, O_WRONLY | more, 0666);
    CTT_CHECK(o->fd >= 0, CTT_EIO, "%s: cannot write: %s", path,
              strerror(errno));
    CTT_TRY(ctt_file_lock(o->fd, path));
    CTT_TRY(end_line(o->fd, path));
out:
    return rc;
}

int ctt_event_out_open(const struct ctt_event_to *to,
                       struct ctt_event_out **out)
{
    struct ctt_event_out *o = ctt_calloc(1, sizeof(*o));
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    o->to = *to;
    o->fd = -1;
    pthread_mutex_init(&o->lock, NULL);
    if (to->file)
        CTT_TRY(open_events(o));
    if (to->command) {
        ctt_tool_at_last(ctt_hook_kill_all);
        CTT_TRY(ctt_hook_open(to->command, to->limit, &o->hook));
    }
    *out = o;
    o = NULL;
out:
    ctt_event_out_close(&o);
    return rc;
}

void ctt_event_out_close(struct ctt_event_out **out)
{
    struct ctt_event_out *o = *out;

    if (!o)
        return;
    ctt_hook_close(&o->hook);
    if (o->fd >= 0)
        close(o->fd);
    pthread_mutex_destroy(&o->lock);
    ctt_free(o);
    *out = NULL;
}

/* ---- a line ---- */

/* The moment as ISO 8601 writes it. */
static const char *utc(double wall, char to[UTC])
{
    time_t s = (time_t)floor(wall);
    int ms = (int)((wall - floor(wall)) * 1000);
    struct tm t;
    size_t n;

    if (!gmtime_r(&s, &t))
        memset(&t, 0, sizeof(t));
    n = strftime(to, UTC, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(to + n, UTC - n, ".%03dZ", ms);
    return to;
}

static int print_json(FILE *f, const void *arg)
{
    const struct ctt_event_line *l = arg;
    const struct ctt_event *e = l->event;
    char when[UTC];

    fprintf(f, CTT_EVENT_LINE_BEGIN "%s\",\"class\":", kind_word[e->kind]);
    ctt_json_put(f, l->name);
    fprintf(f, ",\"start\":%.3f,\"peak\":%.3f,\"end\":%.3f,"
            "\"confidence\":%.6f,\"mean\":%.6f,\"stream\":", e->start, e->peak,
            e->end, (double)e->confidence, (double)e->mean);
    ctt_json_put(f, l->stream);
    fprintf(f, ",\"utc\":\"%s\"}\n", utc(l->wall, when));
    return 0;
}

static void print_plain(const struct ctt_event_line *l, int named)
{
    const struct ctt_event *e = l->event;
    char text[TEXT], stream[TEXT];

    if (named)
        printf("%-*s ", named,
               ctt_visible(l->stream, 0, stream, sizeof(stream)));
    ctt_tool_say("%-5s %9.2f s to %9.2f s  %5.1f%%  %s", kind_word[e->kind],
                 e->start, e->end, 100 * (double)e->confidence,
                 ctt_visible(l->name, 0, text, sizeof(text)));
}

/* ---- the command ---- */

static void tell_failures(struct ctt_event_out *o)
{
    char why[WHY];
    int more = 1;

    while (more) {
        pthread_mutex_lock(&o->lock);
        more = ctt_hook_tell(o->hook, why, sizeof(why));
        pthread_mutex_unlock(&o->lock);
        if (more)
            ctt_tool_warn("--exec: %s", why);
    }
}

static int print_variable(FILE *f, const void *arg)
{
    const char *const *part = arg;

    fprintf(f, "CONVTT_%s=%s", part[0], part[1]);
    return 0;
}

/* Value number i of the environment: its name, and its text in `to`. */
static const char *variable(const struct ctt_event_line *l, int i, char *to,
                            const char **value)
{
    static const char *const name[VARIABLES] = { "EVENT", "CLASS", "STREAM",
        "UTC", "START", "PEAK", "END", "CONFIDENCE", "MEAN" };
    const struct ctt_event *e = l->event;
    const char *text[] = { kind_word[e->kind], l->name, l->stream };
    const double number[] = { e->start, e->peak, e->end,
        (double)e->confidence, (double)e->mean };

    *value = i < 3 ? text[i] : to;
    if (i == 3)
        utc(l->wall, to);
    if (i > 3)
        snprintf(to, UTC, "%.6f", number[i - 4]);
    return name[i];
}

static int run_hook(struct ctt_event_out *o, const struct ctt_event_line *l,
                    const char *json)
{
    char *all[VARIABLES + 1] = { NULL }, number[UTC];
    int rc = 0;

    for (int i = 0; i < VARIABLES; i++) {
        const char *part[2];

        part[0] = variable(l, i, number, &part[1]);
        CTT_TRY(ctt_text_collect("--exec", print_variable, part, &all[i]));
    }
    pthread_mutex_lock(&o->lock);
    rc = ctt_hook_run(o->hook, json, all);
    o->missed += rc == 0 || rc == CTT_EIO;
    pthread_mutex_unlock(&o->lock);
    tell_failures(o);
    if (rc == 0)
        ctt_tool_warn("--exec: %d commands are running, none is started for "
                      "this event", CTT_HOOK_ROOM);
    if (rc == CTT_EIO)
        ctt_tool_warn("an event without its command: %s", ctt_errmsg());
    rc = rc == CTT_EIO ? 0 : rc;
out:
    for (int i = 0; i < VARIABLES; i++)
        ctt_free(all[i]);
    return rc < 0 ? rc : 0;
}

/* After a failure, which may have left half a line, nothing more is written. */
static int put_file(struct ctt_event_out *o, const char *json)
{
    int rc = 0;

    if (o->fd < 0)
        return 0;
    CTT_TRY(write_event(o->fd, o->to.file, json, strlen(json)));
    return 0;
out:
    close(o->fd);
    o->fd = -1;
    return rc;
}

int ctt_event_out_put(struct ctt_event_out *o, const struct ctt_event_line *l)
{
    struct ctt_failure f = { 0 };
    char *json = NULL;
    int rc;

    CTT_TRY(ctt_text_collect("events", print_json, l, &json));
    flockfile(stdout);
    if (o->to.json)
        fputs(json, stdout);
    else
        print_plain(l, o->to.named);
    fflush(stdout);
    funlockfile(stdout);
    ctt_failure_note(&f, put_file(o, json));
    if (o->hook)
        ctt_failure_note(&f, run_hook(o, l, json));
    rc = ctt_failure_tell(&f);
out:
    ctt_free(json);
    return rc;
}

void ctt_event_out_look(struct ctt_event_out *o)
{
    if (!o->hook)
        return;
    pthread_mutex_lock(&o->lock);
    ctt_hook_look(o->hook);
    pthread_mutex_unlock(&o->lock);
    tell_failures(o);
}

void ctt_event_out_wait(struct ctt_event_out *o, int64_t *missed,
                        int64_t *failed)
{
    *missed = *failed = 0;
    if (!o->hook)
        return;
    ctt_hook_wait(o->hook, WAIT);
    ctt_event_out_look(o);
    *missed = o->missed;
    *failed = ctt_hook_failed(o->hook);
}
