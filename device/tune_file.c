/* SPDX-License-Identifier: Apache-2.0
 * tune_file.c: the file of timing results: a line with version and machine,
 * then a line per row of the table. */
#include "device/kept.h"
#include "device/tune.h"
#include "base/newfile.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TITLE " times of convs: "

/* A table that is full. */
enum { MOST_BYTES = CTT_TUNE_ROWS * (CTT_TUNE_KEY + CTT_TUNE_TIMES + 64) };

/* ---- its place ---- */

/* FNV-1a (Fowler, Noll, Vo 1991): a file name of the machine's. */
static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

int ctt_tune_place(const char *machine, int make, char *path, size_t room)
{
    char folder[2200];
    int rc = 0;

    CTT_TRY(ctt_own_folder("", make, folder, sizeof(folder)));
    CTT_CHECK(snprintf(path, room, "%s/convs-%s-%08x.txt", folder, CTT_VERSION,
                       hash(machine)) < (int)room, CTT_EIO,
              "%s: the path is too long", folder);
out:
    return rc;
}

/* ---- reading ---- */

static int read_table(const char *path, char **out)
{
    int64_t size = 0;
    char *text = NULL;
    int rc = 0;

    CTT_TRY(ctt_own_text(path, MOST_BYTES, &text, &size));
    CTT_CHECK(size > 0 && strlen(text) == (size_t)size &&
              text[size - 1] == '\n', CTT_EFORMAT, "%s: damaged", path);
    *out = text;
    text = NULL;
out:
    ctt_free(text);
    return rc;
}

static void first_line(const char *machine, char *line, size_t room)
{
    snprintf(line, room, "convtt " CTT_VERSION TITLE "%s\n",
             machine);
}

/* Adds a row if its key is not there. */
static int take_line(const char *path, char *line, int number,
                     struct ctt_tune *t)
{
    char none[CTT_TUNE_TIMES], *name = strchr(line, '\t');
    char *times = name ? strchr(name + 1, '\t') : NULL;
    int rc = 0;

    CTT_CHECK(times, CTT_EFORMAT, "%s:%d: damaged", path, number);
    *name++ = '\0';
    *times++ = '\0';
    if (!ctt_tune_find(t, line, none, sizeof(none), none))
        CTT_CHECK(ctt_tune_add(t, line, name, times) == 0, CTT_EFORMAT,
                  "%s:%d: damaged", path, number);
out:
    return rc;
}

static int take_lines(const char *path, char *text, struct ctt_tune *t)
{
    int rc = 0, number = 2;

    for (char *end; *text; text = end + 1, number++) {
        end = strchr(text, '\n');
        *end = '\0';
        CTT_TRY(take_line(path, text, number, t));
    }
out:
    return rc;
}

/* Moves the rows of one table into another that does not have them. */
static void merge_rows(const struct ctt_tune *from, struct ctt_tune *to)
{
    const char *row;

    for (int i = 0; (row = ctt_tune_row(from, i)); i++) {
        char line[CTT_TUNE_KEY + CTT_TUNE_TIMES + 64];

        snprintf(line, sizeof(line), "%s", row);
        take_line("", line, i, to);
    }
}

int ctt_tune_read(const char *path, const char *machine, struct ctt_tune *t)
{
    struct ctt_tune *all = NULL;
    char *text = NULL, first[CTT_MACHINE + 64];
    size_t n;
    int rc = 0;

    CTT_TRY(ctt_tune_new(&all));
    CTT_TRY(read_table(path, &text));
    first_line(machine, first, sizeof(first));
    n = strlen(first);
    CTT_CHECK(strncmp(text, first, n) == 0, CTT_EFORMAT,
              "%s: of another version or machine", path);
    CTT_TRY(take_lines(path, text + n, all));
    merge_rows(all, t);
out:
    ctt_free(text);
    ctt_tune_close(&all);
    return rc;
}

/* ---- writing ---- */

struct to_print { const struct ctt_tune *t; const char *machine; };

static int print(FILE *f, const void *arg)
{
    const struct to_print *p = arg;
    char first[CTT_MACHINE + 64];
    const char *row;

    first_line(p->machine, first, sizeof(first));
    fputs(first, f);
    for (int i = 0; (row = ctt_tune_row(p->t, i)); i++)
        fprintf(f, "%s\n", row);
    return 0;
}

/* An error unless the file is empty or one of times, perhaps damaged or of
 * another machine: no other file is replaced. */
static int check_kind(const char *path)
{
    char head[64] = "";
    int64_t size = 0;
    int fd = -1, rc = 0;

    CTT_TRY(ctt_own_file(path, &fd, &size));
    if (size > (int64_t)sizeof(head) - 1)
        size = sizeof(head) - 1;
    CTT_TRY(ctt_file_read_at(path, fd, 0, head, size));
    CTT_CHECK(size == 0 || (strncmp(head, "convtt ", 7) == 0 &&
                            strstr(head, TITLE)),
              CTT_EIO, "%s: not a file of timing results; not replaced", path);
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

int ctt_tune_write(const char *path, const char *machine, struct ctt_tune *t)
{
    struct to_print p = { t, machine };
    struct stat s;
    int rc = 0;

    if (lstat(path, &s) == 0) {
        CTT_TRY(check_kind(path));
        rc = ctt_tune_read(path, machine, t);
        if (rc == CTT_ENOMEM || rc == CTT_EIO)
            return rc;
    }
    CTT_TRY(ctt_file_print(path, print, &p));
out:
    return rc;
}
