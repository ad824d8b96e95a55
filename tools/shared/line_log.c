/* SPDX-License-Identifier: Apache-2.0
 * line_log.c: a file of results, a JSON line each, from which a run that was
 * stopped or killed goes on. */
#include "tools/shared/output.h"
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 64 << 20, REASON = 256 };

struct ctt_line_log {
    const char *path;
    int         fd;
};

/* Takes a line, whose number is for the message. */
static int read_result(const struct ctt_line_log *log,
                       const struct ctt_line_log_of *of, int number,
                       const char *line)
{
    struct ctt_value *v = NULL;
    int rc = ctt_json_parse(log->path, number, line, &v);

    CTT_TRY(rc == CTT_EFORMAT ? 0 : rc);
    CTT_TRY(v ? of->line(of->arg, v) : 0);
    CTT_CHECK(rc, CTT_EFORMAT, "%s:%d: is no result of %s", log->path, number,
              of->option);
out:
    ctt_json_free(&v);
    return rc;
}

/* The lines of text, which is cut. */
static int read_lines(const struct ctt_line_log *log,
                      const struct ctt_line_log_of *of, char *text)
{
    char *rest = NULL;
    int number = 0, rc = 0;

    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (number++ > 0) {
            CTT_TRY(read_result(log, of, number, line));
            continue;
        }
        CTT_CHECK(strlen(line) + 1 == strlen(of->key) &&
                  memcmp(line, of->key, strlen(line)) == 0, CTT_EINVAL,
                  "%s: %s", log->path, of->other);
    }
    rc = 0;
out:
    return rc;
}

int ctt_line_log_add(struct ctt_line_log *log, const char *line)
{
    ssize_t n = (ssize_t)strlen(line);
    int rc = 0;

    CTT_CHECK(n > 0, CTT_EINVAL, "%s: a line is empty", log->path);
    CTT_CHECK(write(log->fd, line, (size_t)n) == n, CTT_EIO, "%s: %s",
              log->path, strerror(errno));
out:
    return rc;
}

int ctt_line_log_print(struct ctt_line_log *log,
                       int (*print)(FILE *f, const void *arg), const void *arg)
{
    char *line = NULL;
    int rc;

    CTT_TRY(ctt_text_collect(log->path, print, arg, &line));
    CTT_TRY(ctt_line_log_add(log, line));
out:
    ctt_free(line);
    return rc;
}

/* The text up to its last whole line, which the caller frees. */
static int read_whole(const struct ctt_line_log *log,
                      const struct ctt_line_log_of *of, char **out)
{
    struct stat st;
    char *text = NULL, *end;
    int64_t size;
    int rc = 0;

    CTT_CHECK(fstat(log->fd, &st) == 0, CTT_EIO, "%s: %s", log->path,
              strerror(errno));
    size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    CTT_CHECK(size >= 0 && size < MOST, CTT_EINVAL, "%s: is no log of %s",
              log->path, of->option);
    text = ctt_calloc((size_t)size + 1, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(log->path, log->fd, 0, text, size));
    CTT_CHECK(!size || strncmp(text, of->begin, strlen(of->begin)) == 0,
              CTT_EINVAL, "%s: is no log of %s", log->path, of->option);
    end = strrchr(text, '\n');
    text[end ? end + 1 - text : 0] = '\0';
    *out = text;
    text = NULL;
out:
    ctt_free(text);
    return rc;
}

static int begin_lines(struct ctt_line_log *log,
                       const struct ctt_line_log_of *of)
{
    char *text = NULL;
    off_t whole;
    int rc = 0;

    CTT_TRY(read_whole(log, of, &text));
    whole = (off_t)strlen(text);
    CTT_TRY(read_lines(log, of, text));
    CTT_CHECK(ftruncate(log->fd, whole) == 0, CTT_EIO, "%s: %s", log->path,
              strerror(errno));
    if (whole == 0)
        CTT_TRY(ctt_line_log_add(log, of->key));
out:
    ctt_free(text);
    return rc;
}

int ctt_line_log_open(const char *path, const struct ctt_line_log_of *of,
                      struct ctt_line_log **out)
{
    struct ctt_line_log *log = ctt_calloc(1, sizeof(*log));
    int rc = 0;

    CTT_TRY(log ? 0 : CTT_ENOMEM);
    log->path = path;
    log->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    CTT_CHECK(log->fd >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
    CTT_TRY(ctt_file_lock(log->fd, path));
    CTT_TRY(begin_lines(log, of));
    *out = log;
    log = NULL;
out:
    ctt_line_log_close(&log);
    return rc;
}

void ctt_line_log_close(struct ctt_line_log **log)
{
    if (!*log)
        return;
    if ((*log)->fd >= 0)
        close((*log)->fd);
    ctt_free(*log);
    *log = NULL;
}

void ctt_log_reason(struct ctt_json_out *o, const char *name, const char *s)
{
    char text[REASON];
    size_t n = 0;

    for (; *s && n + 1 < sizeof(text); s++)
        text[n++] = (unsigned char)*s < 0x20 || *s == '"' || *s == '\\'
                    ? '\'' : *s;
    text[n] = '\0';
    ctt_json_put_text(o, name, text);
}
