/* SPDX-License-Identifier: Apache-2.0
 * files.c: which paths name the same file or can be written; model texts. */
#include "tools/shared/output.h"
#include "base/newfile.h"
#include "net/kind.h"
#include "tools/shared/tool.h"
#include "video/source.h"

#include <errno.h>
#include <fcntl.h>
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

/* Returns 0 if the folder of a path does not exist. */
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

/* A missing file is identified by folder and name. */
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

/* Creates and removes the temporary file. */
static int can_write(const char *path)
{
    struct ctt_newfile *f = NULL;
    int rc = ctt_newfile_open(path, &f);

    ctt_newfile_drop(&f);
    return rc;
}

/* An existing file must be of the kind; devices and pipes have none. */
static int check_kind(const char *path, const struct ctt_output_kind *kind)
{
    struct stat st;
    int rc = 0;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        goto out;
    CTT_TRY(ctt_output_is(path, kind));
    CTT_CHECK(rc, CTT_EIO, "%s: is there already and is no %s; remove it first",
              path, kind->name);
    rc = 0;
out:
    return rc;
}

/* Creates and removes a missing file. */
static int can_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), rc = 0;

    if (fd >= 0)
        unlink(path);
    else if (errno == EEXIST)
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    CTT_CHECK(fd >= 0, CTT_EIO, "%s: cannot write: %s", path, strerror(errno));
    CTT_TRY(ctt_file_lock(fd, path));
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

static int check_append(const char *path, const struct ctt_output_kind *kind)
{
    struct stat st;
    int there = stat(path, &st) == 0, rc = 0;

    CTT_CHECK(!there || !S_ISDIR(st.st_mode), CTT_EIO, "%s: is a folder",
              path);
    CTT_CHECK(!there || !S_ISFIFO(st.st_mode) ||
              strncmp(path, "/dev/", 5) == 0, CTT_EIO,
              "%s: a FIFO, which would wait for a reader", path);
    CTT_TRY(check_kind(path, kind));
    if (!there || S_ISREG(st.st_mode))
        CTT_TRY(can_open(path));
    CTT_CHECK(access(path, F_OK) != 0 || access(path, W_OK) == 0, CTT_EIO,
              "%s: cannot write it: %s", path, strerror(errno));
out:
    return rc;
}

int ctt_output_check(const char *path, const struct ctt_output_kind *kind)
{
    int rc = 0;

    if (!path)
        goto out;
    if (kind->in_place)
        return check_append(path, kind);
    CTT_TRY(check_kind(path, kind));
    CTT_TRY(can_write(path));
out:
    return rc;
}

void ctt_output_say_replaced(const char *path)
{
    if (path && ctt_kind_at(path) == CTT_KIND_MODEL)
        ctt_tool_say("warning: %s is a model already, which will be replaced",
                     path);
}

int ctt_output_check_checkpoint(const char *path, int resume)
{
    struct stat st;
    int rc;

    if (resume)
        return can_write(path);
    CTT_TRY(ctt_output_check(path, &ctt_output_checkpoint));
    if (stat(path, &st) == 0)
        ctt_tool_warn("%s: the checkpoint of an earlier run will be replaced; "
                      "--resume would continue that run", path);
out:
    return rc;
}

/* VIDEO#PART reads VIDEO. */
static int is_part_of(const char *data, const char *file)
{
    const char *part = data ? strrchr(data, '#') : NULL;
    char *video;
    int same;

    if (!part || !file)
        return 0;
    video = ctt_strdup(data);
    if (!video)
        return 1;    /* out of memory: rather refused than overwritten */
    video[part - data] = '\0';
    same = ctt_tool_same_file(video, file);
    ctt_free(video);
    return same;
}

int ctt_tool_reads(const char *data, const char *file)
{
    const char *path = data ? ctt_source_idx(data) : NULL;
    struct stat x, y;

    return ctt_tool_same_file(data, file) || is_part_of(data, file) ||
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
                      "%s: given for two files; name another one", made[k]);
out:
    return rc;
}

int ctt_tool_spares(const char *const *made, int n, const char *data)
{
    int rc = 0;

    for (int i = 0; i < n; i++)
        CTT_CHECK(!ctt_tool_reads(data, made[i]), CTT_EINVAL,
                  "%s: given for two files; name another one", made[i]);
out:
    return rc;
}

int ctt_node_is_table(const struct ctt_graph *g, int i)
{
    return g->node[i].op == CTT_OP_EMBED &&
           g->node[i].in[0] == ctt_graph_input(g);
}

int ctt_graph_reads_symbols(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (ctt_node_is_table(g, i))
            return 1;
    return 0;
}

int ctt_tool_net(const char *path, struct ctt_graph **out)
{
    return ctt_tool_net_set(path, NULL, out);
}

int ctt_tool_net_set(const char *path, const char *set, struct ctt_graph **out)
{
    char *text = NULL;
    int rc;

    CTT_TRY(ctt_net_read(path, &text));
    rc = ctt_net_parse_set(text, set, out);
    if (rc < 0)    /* what a file has is no wrong operand */
        rc = ctt_error(rc == CTT_EINVAL && !set ? CTT_EFORMAT : rc, "%s: %s",
                       path, ctt_errmsg());
out:
    ctt_free(text);
    return rc;
}

int ctt_tool_net_plain(const char *path, struct ctt_graph **out)
{
    static const float mean[3] = { 0, 0, 0 }, std[3] = { 1, 1, 1 };
    int rc = ctt_tool_net(path, out);

    if (rc >= 0)
        ctt_graph_set_light(*out, mean, std);
    return rc;
}

int ctt_tool_new_model(const char *path, struct ctt_graph *g,
                       struct ctt_model **out)
{
    int rc = ctt_model_new(g, out);

    return rc < 0 ? ctt_error(rc, "%s: %s", path, ctt_errmsg()) : rc;
}
