/* SPDX-License-Identifier: Apache-2.0
 * limits.c: limits for input that is not trusted, free memory, and the request
 * to stop. */
#include "base/limits_opt.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- free memory ---- */

enum { TEXT = 8192 };

/* Reads a short file of the kernel.  stdio would allocate. */
static int read_kernel_file(const char *path, char text[TEXT])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The number in the line of a file that starts with these words ("": the first
 * line); -1 if there is none, as for "max". */
static int64_t number_in(const char *path, const char *words)
{
    char text[TEXT], *line = text, *end;
    int64_t n;

    if (!read_kernel_file(path, text))
        return -1;
    while (strncmp(line, words, strlen(words)) != 0) {
        line = strchr(line, '\n');
        if (!line++)
            return -1;
    }
    line += strlen(words);
    n = strtoll(line, &end, 10);
    return end == line ? -1 : n;
}

/* Memory of control groups: their line in /proc/self/cgroup, and files. */
static const struct group_kind {
    const char *line, *root, *most, *used, *stat, *cache;
} group_kinds[] = {
    { "0::", "/sys/fs/cgroup", "memory.max", "memory.current", "memory.stat",
      "inactive_file " },
    { ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
      "memory.usage_in_bytes", "memory.stat", "total_inactive_file " },
};

static int64_t group_number(const struct group_kind *k, const char *group,
                            const char *file, const char *words)
{
    char path[TEXT];
    int n = snprintf(path, sizeof(path), "%s%s/%s", k->root, group, file);

    return n < (int)sizeof(path) ? number_in(path, words) : -1;
}

/* The bytes that the group and the groups around it leave free.  The use of a
 * group that may have all memory of the machine is not read: the kernel must
 * add numbers up for it. */
static int64_t group_free(const struct group_kind *k, char *group)
{
    int64_t all = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t least = INT64_MAX;
    char *slash = group + strlen(group);

    for (; slash; slash = strrchr(group, '/')) {
        int64_t most, used, cache;
        *slash = '\0';
        most = group_number(k, group, k->most, "");
        if (most < 0 || most >= all)
            continue;
        used = group_number(k, group, k->used, "");
        cache = group_number(k, group, k->stat, k->cache);
        if (used < 0)
            continue;
        used -= cache > 0 ? cache : 0;
        most = most > used ? most - used : 0;
        least = most < least ? most : least;
    }
    return least;
}

static int64_t groups_free(void)
{
    char text[TEXT], *at, *end;
    int64_t least = INT64_MAX, n;

    for (size_t i = 0; i < CTT_LEN(group_kinds); i++) {
        const struct group_kind *k = &group_kinds[i];
        if (!read_kernel_file("/proc/self/cgroup", text) ||
            !(at = strstr(text, k->line)))
            continue;
        at += strlen(k->line);
        end = strchr(at, '\n');
        if (end)
            *end = '\0';
        n = group_free(k, strcmp(at, "/") == 0 ? at + 1 : at);
        least = n < least ? n : least;
    }
    return least;
}

/* The bytes that RLIMIT_AS leaves of the address space. */
static int64_t space_free(void)
{
    struct rlimit most;
    int64_t pages = number_in("/proc/self/statm", "");

    if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
        pages < 0)
        return INT64_MAX;
    pages *= sysconf(_SC_PAGESIZE);
    return (int64_t)most.rlim_cur > pages ? (int64_t)most.rlim_cur - pages : 0;
}

int64_t ctt_memory_free(void)
{
    int64_t kib = number_in("/proc/meminfo", "MemAvailable:");
    int64_t n = kib < 0 ? sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) :
                kib * 1024;
    int64_t group = groups_free(), space = space_free();

    n = group < n ? group : n;
    return space < n ? space : n;
}

/* ---- limits ---- */

#define AT(member) offsetof(struct ctt_limits, member)

static const struct ctt_opt rows[] = {
    CTT_LIMIT_ROWS(AT, 0),
    { .name = NULL }
};

static struct ctt_limits limits, defaults;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_limits(void)
{
    int64_t most = ctt_memory_free();

    ctt_opt_defaults(rows, &defaults);    /* of the table: they are valid */
    defaults.memory = most > CTT_MEMORY_LEAST ? most : CTT_MEMORY_LEAST;
    defaults.nodes = CTT_MAX_NODES;
    limits = defaults;
}

const struct ctt_limits *ctt_limits(void)
{
    pthread_once(&once, init_limits);
    return &limits;
}

#define TAKE(member, from, into) \
    do { \
        CTT_CHECK((from)->member >= 0 && isfinite((double)(from)->member), \
                  CTT_EINVAL, "a limit of %g for %s", \
                  (double)(from)->member, #member); \
        if ((from)->member > 0) \
            (into)->member = (from)->member; \
    } while (0)

int ctt_limits_set(const struct ctt_limits *l)
{
    struct ctt_limits new;
    int rc = 0;

    ctt_limits();
    new = defaults;
    TAKE(memory, l, &new);
    TAKE(frame_pixels, l, &new);
    TAKE(clip_bytes, l, &new);
    TAKE(clip_frames, l, &new);
    TAKE(clip_seconds, l, &new);
    TAKE(classes, l, &new);
    TAKE(nodes, l, &new);
    limits = new;
out:
    return rc;
}

/* ---- the request to stop ---- */

static int (*_Atomic stop_asked)(void);

void ctt_stop_set(int (*asked)(void))
{
    atomic_store(&stop_asked, asked);
}

int ctt_stopped(void)
{
    int (*asked)(void) = atomic_load(&stop_asked);

    return asked && asked();
}
