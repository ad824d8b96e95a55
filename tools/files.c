/* SPDX-License-Identifier: Apache-2.0
 * files.c: which paths name the same file or can be written; model texts. */
#define _XOPEN_SOURCE 700    /* realpath */
#include "tools/files.h"
#include "net/file.h"
#include "net/kind.h"
#include "net/newfile.h"
#include "tools/tool.h"
#include "video/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ctt_tool_is_net(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".net") == 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The folder that a path lies in; 0 if there is none. */
static int folder_of(const char *path, struct stat *out)
{
    size_t n = (size_t)(last_part(path) - path);
    char *folder = ctt_calloc(n + 2, 1);
    int there;

    if (!folder)
        return 0;
    memcpy(folder, path, n);
    folder[n] = '.';
    there = stat(folder, out) == 0;
    ctt_free(folder);
    return there;
}

static int same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What is not there yet is known by its folder and name. */
int ctt_tool_same_file(const char *a, const char *b)
{
    struct stat x, y;
    int here, there;

    if (!a || !b)
        return 0;
    here = stat(a, &x) == 0;
    there = stat(b, &y) == 0;
    if (here && there)
        return same_inode(&x, &y);
    return here == there && strcmp(last_part(a), last_part(b)) == 0 &&
           folder_of(a, &x) && folder_of(b, &y) && same_inode(&x, &y);
}

/* The folder that a file at path is written to; follows an existing link. */
static char *target_folder(const char *path)
{
    char *real = realpath(path, NULL);
    const char *at = real ? real : path;
    size_t n = (size_t)(last_part(at) - at);
    char *folder = ctt_calloc(n + 2, 1);

    if (folder) {
        memcpy(folder, at, n);
        folder[n] = '.';
    }
    free(real);
    return folder;
}

int ctt_tool_can_write(const char *path)
{
    char *folder = target_folder(path);
    struct stat st;
    int rc = 0;

    CTT_TRY(folder ? 0 : CTT_ENOMEM);
    CTT_CHECK(access(folder, W_OK | X_OK) == 0, CTT_EIO,
              "%s: cannot write it: %s", path, strerror(errno));
    CTT_CHECK(stat(path, &st) != 0 || S_ISREG(st.st_mode), CTT_EIO,
              "%s: not a regular file", path);
out:
    ctt_free(folder);
    return rc;
}

/* By its end, so that a damaged model may be replaced. */
static int is_model(const char *path)
{
    return ctt_kind_at(path) == CTT_KIND_MODEL;
}

static int is_checkpoint(const char *path)
{
    struct ctt_model *m = NULL;
    int is = ctt_model_load(path, 1, &m) >= 0 && m->train;

    ctt_model_free(&m);
    return is;
}

static int is_pack(const char *path)
{
    struct ctt_pack *p = NULL;
    int is = ctt_pack_open(path, &p) >= 0;

    ctt_pack_close(&p);
    return is;
}

int ctt_tool_can_replace(const char *path, enum ctt_tool_kind kind)
{
    static const struct { const char *what; int (*is)(const char *path); }
    kinds[] = {
        [CTT_TOOL_MODEL] = { "model", is_model },
        [CTT_TOOL_CHECKPOINT] = { "checkpoint", is_checkpoint },
        [CTT_TOOL_PACK] = { "pack", is_pack },
    };
    struct stat st;
    int rc;

    CTT_TRY(ctt_tool_can_write(path));
    CTT_CHECK(stat(path, &st) != 0 || st.st_size == 0 || kinds[kind].is(path),
              CTT_EIO, "%s: is there already and is no %s; remove it first",
              path, kinds[kind].what);
out:
    return rc;
}

int ctt_tool_can_checkpoint(const char *path, int resume)
{
    struct stat st;
    int rc;

    if (resume)
        return ctt_tool_can_write(path);
    CTT_TRY(ctt_tool_can_replace(path, CTT_TOOL_CHECKPOINT));
    if (stat(path, &st) == 0)
        ctt_tool_warn("%s: the checkpoint of an earlier run will be replaced; "
                      "--resume would continue that run", path);
out:
    return rc;
}

int ctt_tool_can_append(const char *path)
{
    struct stat st;
    int rc = 0;

    if (stat(path, &st) < 0)
        return ctt_tool_can_write(path);
    CTT_CHECK(!S_ISDIR(st.st_mode), CTT_EIO, "%s: is a folder", path);
    CTT_CHECK(!S_ISFIFO(st.st_mode) || strncmp(path, "/dev/", 5) == 0, CTT_EIO,
              "%s: a FIFO, which would wait for a reader", path);
    CTT_CHECK(access(path, W_OK) == 0, CTT_EIO, "%s: cannot write it: %s",
              path, strerror(errno));
out:
    return rc;
}

int ctt_tool_reads(const char *data, const char *file)
{
    const char *path = data ? ctt_source_idx(data) : NULL;
    struct stat x, y;

    return ctt_tool_same_file(data, file) ||
           ctt_tool_same_file(path, file) ||
           (path && file && strstr(last_part(file), "-ubyte") &&
            (stat(path, &x) == 0 || folder_of(path, &x)) &&
            folder_of(file, &y) && same_inode(&x, &y));
}

int ctt_tool_apart(const char *const *made, int n)
{
    int rc = 0;

    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            CTT_CHECK(!ctt_tool_same_file(made[i], made[k]), CTT_EINVAL,
                      "%s: given for two files", made[k]);
out:
    return rc;
}

int ctt_tool_spares(const char *const *made, int n, const char *data)
{
    int rc = 0;

    for (int i = 0; i < n; i++)
        CTT_CHECK(!ctt_tool_reads(data, made[i]), CTT_EINVAL,
                  "%s: given for two files", made[i]);
out:
    return rc;
}

int ctt_tool_net(const char *path, struct ctt_graph **out)
{
    char *text = NULL;
    int rc;

    CTT_TRY(ctt_net_read(path, &text));
    rc = ctt_net_parse(text, out);
    if (rc < 0)
        rc = ctt_error(rc, "%s: %s", path, ctt_errmsg());
out:
    ctt_free(text);
    return rc;
}
