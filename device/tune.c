/* SPDX-License-Identifier: Apache-2.0
 * tune.c: the table of timing results, and the devices that use it. */
#include "device/tune.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* busy: held by the device that measures.  lock: of the rows. */
struct ctt_tune {
    pthread_mutex_t busy, lock;
    char          **row;         /* "key\tname\ttimes", sorted */
    int             rows, room;
    int             news;        /* rows that the file does not have */
    char           *path;        /* NULL: no file, or the user's */
    int             usual;       /* the user's file */
    char            machine[CTT_MACHINE];
};

/* ---- rows ---- */

/* Words of printable characters, some of them. */
static int is_text(const char *s, size_t most, const char *also)
{
    size_t n = 0;

    for (; s[n]; n++)
        if (s[n] <= ' ' && !strchr(also, s[n]))
            return 0;
        else if (s[n] > '~')
            return 0;
    return n > 0 && n < most;
}

/* Compares the key of a row with a key. */
static int compare_key(const char *row, const char *key)
{
    size_t n = strlen(key);
    int c = strncmp(row, key, n);

    return c ? c : row[n] == '\t' ? 0 : 1;
}

/* The first row whose key is not less. */
static int lower_bound(const struct ctt_tune *t, const char *key)
{
    int from = 0, to = t->rows;

    while (from < to) {
        int mid = from + (to - from) / 2;

        if (compare_key(t->row[mid], key) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static char *new_row(const char *key, const char *name, const char *times)
{
    size_t size = strlen(key) + strlen(name) + strlen(times) + 3;
    char *row = ctt_calloc(size, 1);

    if (row)
        snprintf(row, size, "%s\t%s\t%s", key, name, times);
    return row;
}

static int insert(struct ctt_tune *t, int i, char *row)
{
    char **p;

    if (t->rows == CTT_TUNE_ROWS)
        return -1;
    p = ctt_grown(t->row, &t->room, t->rows, sizeof(*p));
    if (!p)
        return -1;
    t->row = p;
    memmove(p + i + 1, p + i, (size_t)(t->rows - i) * sizeof(*p));
    p[i] = row;
    t->rows++;
    return 0;
}

static int set_row(struct ctt_tune *t, const char *key, char *row)
{
    int i = lower_bound(t, key);

    if (i == t->rows || compare_key(t->row[i], key) != 0)
        return insert(t, i, row);
    ctt_free(t->row[i]);
    t->row[i] = row;
    return 0;
}

int ctt_tune_add(struct ctt_tune *t, const char *key, const char *name,
                 const char *times)
{
    char *row;
    int rc;

    if (!is_text(key, CTT_TUNE_KEY, " ") || !is_text(name, 32, "") ||
        !is_text(times, CTT_TUNE_TIMES, " "))
        return -1;
    row = new_row(key, name, times);
    if (!row)
        return -1;
    pthread_mutex_lock(&t->lock);
    rc = set_row(t, key, row);
    t->news += rc == 0;
    pthread_mutex_unlock(&t->lock);
    if (rc < 0)
        ctt_free(row);
    return rc;
}

int ctt_tune_find(struct ctt_tune *t, const char *key, char *name,
                  size_t room, char *times)
{
    const char *row, *tail;
    int i, found;

    pthread_mutex_lock(&t->lock);
    i = lower_bound(t, key);
    found = i < t->rows && compare_key(t->row[i], key) == 0;
    if (found) {
        row = t->row[i] + strlen(key) + 1;
        tail = strchr(row, '\t');
        snprintf(name, room, "%.*s", (int)(tail - row), row);
        snprintf(times, CTT_TUNE_TIMES, "%s", tail + 1);
    }
    pthread_mutex_unlock(&t->lock);
    return found;
}

int ctt_tune_rows(struct ctt_tune *t)
{
    return t->rows;
}

const char *ctt_tune_row(const struct ctt_tune *t, int i)
{
    return i < t->rows ? t->row[i] : NULL;
}

/* ---- opening ---- */

int ctt_tune_new(struct ctt_tune **out)
{
    struct ctt_tune *t = ctt_calloc(1, sizeof(*t));

    if (!t)
        return CTT_ENOMEM;
    pthread_mutex_init(&t->busy, NULL);
    pthread_mutex_init(&t->lock, NULL);
    *out = t;
    return 0;
}

/* The path of the file now; "": there is none. */
static void file_of(const struct ctt_tune *t, int make, char *path,
                    size_t room)
{
    path[0] = '\0';
    if (t->path)
        snprintf(path, room, "%s", t->path);
    else if (t->usual && ctt_tune_place(t->machine, make, path, room) < 0)
        path[0] = '\0';
}

void ctt_dev_machine(char *text, size_t size)
{
    ctt_dev_cpu.machine(text, size);
}

int ctt_tune_open(const char *device, const char *path, struct ctt_tune **out)
{
    struct ctt_tune *t = NULL;
    char file[4096];
    int rc = 0;

    CTT_CHECK(strcmp(device, ctt_dev_cpu.name) == 0, CTT_EUNSUP,
              "the device %s does not choose kernels by timing", device);
    CTT_TRY(ctt_tune_new(&t));
    ctt_dev_cpu.machine(t->machine, sizeof(t->machine));
    t->usual = !path;
    if (path && *path)
        CTT_TRY((t->path = ctt_strdup(path)) ? 0 : CTT_ENOMEM);
    file_of(t, 0, file, sizeof(file));
    if (*file)
        ctt_tune_read(file, t->machine, t);
    t->news = 0;
    *out = t;
    t = NULL;
out:
    ctt_tune_close(&t);
    return rc;
}

void ctt_tune_close(struct ctt_tune **tune)
{
    struct ctt_tune *t = *tune;

    if (!t)
        return;
    for (int i = 0; i < t->rows; i++)
        ctt_free(t->row[i]);
    pthread_mutex_destroy(&t->busy);
    pthread_mutex_destroy(&t->lock);
    ctt_free(t->row);
    ctt_free(t->path);
    ctt_free(t);
    *tune = NULL;
}

/* ---- devices ---- */

void ctt_dev_tune(struct ctt_dev *d, struct ctt_tune *t)
{
    d->tune = t;
    d->tuner = t ? &ctt_tuner : NULL;
}

int ctt_dev_tuning(struct ctt_dev *d, enum ctt_tuning mode)
{
    int unknown = d->unknown;

    d->tuning = mode;
    d->unknown = 0;
    return unknown;
}

int ctt_dev_tune_begin(struct ctt_dev *d)
{
    if (!d->tune)
        return 0;
    pthread_mutex_lock(&d->tune->busy);
    return 1;
}

/* Results that cannot be written are measured again by the next program. */
void ctt_dev_tune_end(struct ctt_dev *d)
{
    struct ctt_tune *t = d->tune;
    char file[4096];

    if (t->news) {
        file_of(t, 1, file, sizeof(file));
        if (*file)
            ctt_tune_write(file, t->machine, t);
        t->news = 0;
    }
    pthread_mutex_unlock(&t->busy);
}
