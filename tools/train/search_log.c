/* SPDX-License-Identifier: Apache-2.0
 * search_log.c: the log of a search as a file, a JSON line per result. */
#include "tools/train/train_tool.h"
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1 << 28 };

int ctt_search_log_add(struct ctt_search_run *r, const char *line)
{
    size_t n = strlen(line);
    int rc = 0;

    CTT_CHECK(write(r->log, line, n) == (ssize_t)n, CTT_EIO, "%s: %s",
              r->log_path, strerror(errno));
out:
    return rc;
}

/* The text up to its last whole line, which the caller frees. */
static int read_whole(const struct ctt_search_run *r, char **out)
{
    const size_t begin = sizeof(CTT_SEARCH_LOG_BEGIN) - 1;
    char *text = NULL, *end;
    struct stat st;
    int64_t size;
    int rc = 0;

    CTT_CHECK(fstat(r->log, &st) == 0, CTT_EIO, "%s: %s", r->log_path,
              strerror(errno));
    size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
    CTT_CHECK(size >= 0 && size < MOST, CTT_EINVAL, "%s: is no log of "
              "--search", r->log_path);
    text = ctt_calloc((size_t)size + 1, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(r->log_path, r->log, 0, text, size));
    CTT_CHECK(strncmp(text, CTT_SEARCH_LOG_BEGIN,
                      (size_t)size < begin ? (size_t)size : begin) == 0,
              CTT_EINVAL, "%s: is no log of --search", r->log_path);
    end = strrchr(text, '\n');
    text[end ? end + 1 - text : 0] = '\0';
    *out = text;
    text = NULL;
out:
    ctt_free(text);
    return rc;
}

/* Cuts the text into lines. */
static int take_lines(struct ctt_search_run *r, char *text, const char *head)
{
    int rc = 0, line = 1;

    for (char *p = text, *end; (end = strchr(p, '\n')) != NULL;
         p = end + 1, line++) {
        *end = '\0';
        if (line == 1) {
            CTT_TRY(ctt_search_same(r->log_path, p, head));
            continue;
        }
        CTT_TRY(ctt_search_take(r->s, p));
        CTT_CHECK(rc, CTT_EFORMAT, "%s:%d: is no result of this search",
                  r->log_path, line);
        r->known++;
    }
    rc = 0;
out:
    return rc;
}

int ctt_search_log_open(struct ctt_search_run *r)
{
    char *head = NULL, *text = NULL;
    off_t whole;
    int rc;

    CTT_TRY(ctt_search_head(r->s, &r->key, &head));
    r->log = open(r->log_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    CTT_CHECK(r->log >= 0, CTT_EIO, "%s: %s", r->log_path, strerror(errno));
    CTT_TRY(ctt_file_lock(r->log, r->log_path));
    CTT_TRY(read_whole(r, &text));
    whole = (off_t)strlen(text);
    CTT_TRY(take_lines(r, text, head));
    CTT_CHECK(ftruncate(r->log, whole) == 0, CTT_EIO, "%s: %s", r->log_path,
              strerror(errno));
    if (whole == 0) {
        ctt_search_clear(r);    /* of another search, whose log is gone */
        CTT_TRY(ctt_search_log_add(r, head));
    }
out:
    ctt_free(text);
    ctt_free(head);
    return rc;
}
