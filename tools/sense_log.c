/* SPDX-License-Identifier: Apache-2.0
 * sense_log.c: the results of --sense in a file, a JSON line each. */
#include "tools/sense_log.h"
#include "net/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* WORD and REASON are what the formats that read them say. */
enum { LINE = 1024, MOST = 64 << 20, WORD = 63, REASON = 111 };
_Static_assert(CTT_NAME <= WORD + 1 && CTT_REASON == REASON + 1,
               "texts that formats read");

struct ctt_sense_log {
    const char *path;
    int         fd, number;    /* of the line read last */
    const struct ctt_sense_extra *extra;
};

/* ---- lines ---- */

static int print_key(const struct ctt_sense_key *k, char *line)
{
    return snprintf(line, LINE, CTT_SENSE_LOG_BEGIN "\"model\":\"%08" PRIx32
                    "\",\"clips\":\"%08" PRIx32 "\",\"count\":%d,"
                    "\"device\":\"%s\",\"threads\":%d,\"timed\":%d,"
                    "\"machine\":\"%08" PRIx32 "\"}\n", k->model, k->data,
                    k->clips, k->device, k->threads, k->timed, k->machine);
}

/* Reasons hold names of nodes and numbers, but no text of strangers. */
static void plain(const char *from, char *to, size_t size)
{
    size_t n = 0;

    for (; *from && n + 1 < size; from++)
        to[n++] = (unsigned char)*from < 0x20 || *from == '"' || *from == '\\'
                  ? '\'' : *from;
    to[n] = '\0';
}

static void print_number(double x, char text[32])
{
    if (isnan(x))
        snprintf(text, 32, "null");
    else
        snprintf(text, 32, "%.17g", x);
}

static int print_point(const struct ctt_sense *s, const struct ctt_sense_point
                       *p, char *line)
{
    const struct ctt_change *c = &p->change;
    char why[CTT_REASON], faster[32];
    int n = snprintf(line, LINE, "{\"weight\":\"%s\",\"option\":\"%s\","
                     "\"value\":%.17g,", s->weight[p->weight].name,
                     p->ladder->name, p->value);

    plain(p->why, why, sizeof(why));
    print_number(p->faster, faster);
    if (why[0])
        return n + snprintf(line + n, LINE - (size_t)n, "\"why\":\"%s\"}\n",
                            why);
    return n + snprintf(line + n, LINE - (size_t)n,
                        "\"kl\":[%.17g,%.17g,%.17g],"
                        "\"lost\":[%.17g,%.17g,%.17g],\"bytes\":%" PRId64
                        ",\"faster\":%s}\n", c->kl[0], c->kl[1], c->kl[2],
                        c->lost[0], c->lost[1], c->lost[2], p->bytes, faster);
}

/* ---- reading ---- */

static int damaged(const struct ctt_sense_log *log)
{
    return ctt_error(CTT_EFORMAT, "%s:%d: is no result of --sense", log->path,
                     log->number);
}

static struct ctt_sense_point *find(struct ctt_sense *s, const char *weight,
                                    const char *option, double value)
{
    for (int i = 0; i < s->points; i++) {
        struct ctt_sense_point *p = &s->point[i];

        if (fabs(p->value - value) < 1e-6 &&
            strcmp(p->ladder->name, option) == 0 &&
            strcmp(s->weight[p->weight].name, weight) == 0)
            return p;
    }
    return NULL;
}

/* What follows weight, option and value.  Returns whether it is complete. */
static int read_rest(const char *text, struct ctt_sense_point *p)
{
    struct ctt_change *c = &p->change;
    char faster[32];
    int end = 0;

    if (sscanf(text, "\"why\":\"%111[^\"]\"}%n", p->why, &end) == 1 && end > 0)
        return text[end] == '\0';
    p->why[0] = '\0';
    if (sscanf(text, "\"kl\":[%lf,%lf,%lf],\"lost\":[%lf,%lf,%lf],\"bytes\":%"
               SCNd64 ",\"faster\":%31[^}]}%n", &c->kl[0], &c->kl[1],
               &c->kl[2], &c->lost[0], &c->lost[1], &c->lost[2], &p->bytes,
               faster, &end) != 8 || end == 0 || text[end] != '\0')
        return 0;
    p->faster = NAN;
    return strcmp(faster, "null") == 0 ||
           (sscanf(faster, "%lf%n", &p->faster, &end) == 1 &&
            faster[end] == '\0');
}

/* A point of a weight or a value that there is no more is left out. */
static int read_point(const struct ctt_sense_log *log, const char *line,
                      struct ctt_sense *s)
{
    struct ctt_sense_point got = { .fit = NAN }, *p;
    char weight[WORD + 1], option[WORD + 1];
    int n = 0;

    if (sscanf(line, "{\"weight\":\"%63[^\"]\",\"option\":\"%63[^\"]\","
               "\"value\":%lf,%n", weight, option, &got.value, &n) != 3 || !n ||
        !read_rest(line + n, &got))
        return damaged(log);
    p = find(s, weight, option, got.value);
    if (!p || p->done)
        return 0;
    got.weight = p->weight;
    got.ladder = p->ladder;
    got.value = p->value;
    got.done = 1;
    *p = got;
    return 1;
}

static int is_extra(const char *line)
{
    return strncmp(line, CTT_BUDGET_LINE, strlen(CTT_BUDGET_LINE)) == 0;
}

static int read_extra(const struct ctt_sense_log *log, const char *line)
{
    int rc = log->extra ? log->extra->line(log->extra->arg, line) : 1;

    return rc ? rc : damaged(log);
}

/* The lines of text, which is cut. */
static int read_lines(struct ctt_sense_log *log, char *text, const char *key,
                      struct ctt_sense *s, int *known)
{
    char *rest = NULL;
    int rc = 0;

    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (log->number++ > 0 && is_extra(line)) {
            CTT_TRY(read_extra(log, line));
            continue;
        }
        if (log->number > 1) {
            int got = read_point(log, line, s);

            CTT_TRY(got);
            *known += got;
            continue;
        }
        CTT_CHECK(strlen(line) + 1 == strlen(key) &&
                  memcmp(line, key, strlen(line)) == 0, CTT_EINVAL,
                  "%s: is of another model, other clips or another device: "
                  "name another --sense-log", log->path);
    }
    rc = 0;
out:
    return rc;
}

static int write_line(struct ctt_sense_log *log, const char *line, int n)
{
    int rc = 0;

    CTT_CHECK(n > 0, CTT_EINVAL, "%s: a line is empty", log->path);
    CTT_CHECK(write(log->fd, line, (size_t)n) == n, CTT_EIO, "%s: %s",
              log->path, strerror(errno));
out:
    return rc;
}

/* Returns the text up to its last whole line, which the caller frees. */
static int read_whole(struct ctt_sense_log *log, char **out)
{
    struct stat st;
    char *text = NULL, *end;
    int64_t size;
    int rc = 0;

    CTT_CHECK(fstat(log->fd, &st) == 0, CTT_EIO, "%s: %s", log->path,
              strerror(errno));
    size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    CTT_CHECK(size >= 0 && size < MOST, CTT_EINVAL, "%s: is no log of --sense",
              log->path);
    text = ctt_calloc((size_t)size + 1, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(log->path, log->fd, 0, text, size));
    CTT_CHECK(!size || strncmp(text, CTT_SENSE_LOG_BEGIN,
                               strlen(CTT_SENSE_LOG_BEGIN)) == 0, CTT_EINVAL,
              "%s: is no log of --sense", log->path);
    end = strrchr(text, '\n');
    text[end ? end + 1 - text : 0] = '\0';
    *out = text;
    text = NULL;
out:
    ctt_free(text);
    return rc;
}

/* ---- the log ---- */

static int begin(struct ctt_sense_log *log, const char *key,
                 struct ctt_sense *s, int *known)
{
    char *text = NULL;
    off_t whole;
    int rc = 0;

    CTT_TRY(read_whole(log, &text));
    whole = (off_t)strlen(text);
    CTT_TRY(read_lines(log, text, key, s, known));
    CTT_CHECK(ftruncate(log->fd, whole) == 0, CTT_EIO, "%s: %s", log->path,
              strerror(errno));
    if (whole == 0)
        CTT_TRY(write_line(log, key, (int)strlen(key)));
out:
    ctt_free(text);
    return rc;
}

int ctt_sense_log_open(const char *path, const struct ctt_sense_key *key,
                       const struct ctt_sense_extra *extra,
                       struct ctt_sense *s, int *known,
                       struct ctt_sense_log **out)
{
    struct ctt_sense_log *log = ctt_calloc(1, sizeof(*log));
    char line[LINE];
    int rc = 0;

    *known = 0;
    CTT_TRY(log ? 0 : CTT_ENOMEM);
    log->path = path;
    log->extra = extra;
    log->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    CTT_CHECK(log->fd >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
    CTT_TRY(ctt_file_lock(log->fd, path));
    print_key(key, line);
    CTT_TRY(begin(log, line, s, known));
    *out = log;
    log = NULL;
out:
    ctt_sense_log_close(&log);
    return rc;
}

void ctt_sense_log_close(struct ctt_sense_log **log)
{
    if (!*log)
        return;
    if ((*log)->fd >= 0)
        close((*log)->fd);
    ctt_free(*log);
    *log = NULL;
}

int ctt_sense_log_line(struct ctt_sense_log *log, const char *line)
{
    return write_line(log, line, (int)strlen(line));
}

int ctt_sense_log_add(struct ctt_sense_log *log, const struct ctt_sense *s,
                      int point)
{
    char line[LINE];
    int n = print_point(s, &s->point[point], line);

    if (n >= LINE)
        return ctt_error(CTT_EINVAL, "%s: a line is too long", log->path);
    return write_line(log, line, n);
}
