/* SPDX-License-Identifier: Apache-2.0
 * pictures.c: clips stored as folders of numbered pictures. */
#include "video/pictures.h"
#include "video/disk.h"
#include "video/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name = before, digits, ending: img_ 00001 .jpg */
struct parts {
    size_t      before, digits;
    const char *ending;
    int         number;
};

/* The ending as a constant, or NULL. */
static const char *picture(const char *ending)
{
    static const char *const known[] = { ".jpg", ".jpeg", ".png", ".bmp",
        ".webp", ".ppm", ".pgm", ".tif", ".tiff", ".JPG", ".JPEG", ".PNG" };

    for (size_t i = 0; i < CTT_LEN(known); i++)
        if (strcmp(known[i], ending) == 0)
            return known[i];
    return NULL;
}

static int take_apart(const char *name, struct parts *p)
{
    size_t end;

    end = (size_t)(ctt_path_ending(name) - name);
    p->ending = picture(name + end);
    if (!p->ending)
        return 0;
    p->before = end;
    while (p->before && strchr("0123456789", name[p->before - 1]))
        p->before--;
    p->digits = end - p->before;
    p->number = atoi(name + p->before);
    return p->digits > 0 && p->digits < 10;
}

static int alike(const char *a, const struct parts *p, const char *b,
                 const struct parts *q)
{
    return p->before == q->before && strncmp(a, b, p->before) == 0 &&
           strcmp(p->ending, q->ending) == 0;
}

/* dir/ and the first n bytes of name. */
static char *make_start(const char *dir, const char *name, size_t n)
{
    size_t room = strlen(dir) + n + 2;
    char *s = ctt_calloc(room, 1);

    if (s)
        snprintf(s, room, "%s/%.*s", dir, (int)n, name);
    return s;
}

static int find_in(const char *dir, struct ctt_pictures *out)
{
    struct ctt_folder f = { 0 };
    struct parts p, q;
    const char *first = NULL;
    int rc = 0, low = 0, count = 0;

    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count; i++) {
        if (!take_apart(f.name[i], &q))
            continue;
        if (!first) {
            first = f.name[i];
            p = q;
            low = q.number;
        }
        if (alike(first, &p, f.name[i], &q)) {
            low = q.number < low ? q.number : low;
            count++;
        }
    }
    CTT_CHECK(first, CTT_EFORMAT, "%s: a folder without numbered pictures",
              dir);
    out->start = make_start(dir, first, p.before);
    CTT_TRY(out->start ? 0 : CTT_ENOMEM);
    out->ending = p.ending;
    out->width = first[p.before] == '0' ? (int)p.digits : 1;
    out->first = low;
    out->count = count;
out:
    ctt_folder_clear(&f);
    return rc;
}

int ctt_pictures_find(const char *path, struct ctt_pictures *out)
{
    struct ctt_pictures p = { 0 };
    struct ctt_part part;
    char *dir = NULL;
    int rc;

    CTT_TRY(ctt_part_of(path, &dir, &part));
    if (ctt_disk_kind(dir) == CTT_DISK_FILE ||
        (ctt_disk_kind(dir) == CTT_DISK_NONE && strcmp(dir, path) == 0))
        goto out;    /* opening it will report that it does not exist */
    CTT_TRY(find_in(dir, &p));
    if (part.kind == CTT_PART_FRAMES) {
        CTT_CHECK(part.first <= p.count && part.count <= p.count - part.first,
                  CTT_EFORMAT, "%s: %d pictures from %d, but there are %d",
                  path, part.count, part.first, p.count);
        p.first += part.first;
        p.count = part.count;
    }
    CTT_CHECK(part.kind != CTT_PART_TIME || part.fps > 0, CTT_EFORMAT, "%s: "
              "pictures have no times without a rate, as in "
              "FOLDER#t=START,END@RATE", path);
    *out = p;
    p = (struct ctt_pictures){ 0 };
out:
    ctt_pictures_clear(&p);
    ctt_free(dir);
    return rc;
}

/* ---- patterns ---- */

/* The part of a pattern between its % and its d: 1 and the digits it asks for
 * (1: as needed); *before, *after: bytes before it, and what follows. */
static int take_pattern(const char *path, size_t *before, const char **after,
                        int *width)
{
    const char *at = strchr(path, '%'), *base = ctt_path_base(path);

    if (!at || at < base)
        return 0;
    *before = (size_t)(at - path);
    at++;
    *width = 1;
    if (at[0] == '0' && at[1] >= '1' && at[1] <= '9') {
        *width = at[1] - '0';
        at += 2;
    }
    *after = at + 1;
    return *at == 'd' && !strchr(at, '%');
}

int ctt_pictures_is_pattern(const char *path)
{
    const char *after;
    size_t before;
    int width;

    return take_pattern(path, &before, &after, &width);
}

/* Numbers of pictures in a folder that a pattern means: how many, the lowest,
 * the highest. */
static int find_numbers(const char *path, size_t before, const char *ending,
                        int width, struct ctt_pictures *p)
{
    const char *base = ctt_path_base(path);
    size_t n = before - (size_t)(base - path);
    char *dir = ctt_path_dir(path);
    struct ctt_folder f = { 0 };
    struct parts q;
    int rc, high = 0;

    CTT_TRY(dir ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count; i++) {
        if (!take_apart(f.name[i], &q) || q.before != n ||
            strncmp(f.name[i], base, n) != 0 || strcmp(q.ending, ending) != 0 ||
            q.digits < (size_t)width ||
            (q.digits > (size_t)width && f.name[i][n] == '0'))
            continue;
        p->first = p->count == 0 || q.number < p->first ? q.number : p->first;
        high = q.number > high ? q.number : high;
        p->count++;
    }
    CTT_CHECK(p->count > 0, CTT_EFORMAT, "%s: there are no such pictures",
              path);
    CTT_CHECK(high - p->first == p->count - 1, CTT_EFORMAT, "%s: %d pictures "
              "from %d to %d: some are missing", path, p->count, p->first,
              high);
out:
    ctt_folder_clear(&f);
    ctt_free(dir);
    return rc;
}

int ctt_pictures_pattern(const char *path, struct ctt_pictures *out,
                         double *fps)
{
    struct ctt_pictures p = { 0 };
    struct ctt_part part;
    const char *after;
    char *file = NULL;
    size_t before;
    int rc;

    CTT_TRY(ctt_part_of(path, &file, &part));
    CTT_CHECK(part.kind == CTT_PART_ALL && take_pattern(file, &before, &after,
              &p.width), CTT_EINVAL, "%s: not a pattern of pictures, as "
              "img_%%05d.png or img_%%05d.png#@25", path);
    p.ending = picture(after);
    CTT_CHECK(p.ending, CTT_EINVAL, "%s: not an ending of pictures", path);
    CTT_TRY(find_numbers(file, before, p.ending, p.width, &p));
    p.start = ctt_calloc(before + 1, 1);
    CTT_TRY(p.start ? 0 : CTT_ENOMEM);
    memcpy(p.start, file, before);
    *out = p;
    *fps = part.fps;
    p.start = NULL;
out:
    ctt_pictures_clear(&p);
    ctt_free(file);
    return rc;
}

void ctt_pictures_clear(struct ctt_pictures *p)
{
    ctt_free(p->start);
    *p = (struct ctt_pictures){ 0 };
}

int ctt_pictures_name(const struct ctt_pictures *p, int i, char **out)
{
    size_t room = strlen(p->start) + strlen(p->ending) + 16;
    char *s = ctt_calloc(room, 1);

    if (!s)
        return CTT_ENOMEM;
    snprintf(s, room, "%s%0*d%s", p->start, p->width, p->first + i, p->ending);
    *out = s;
    return 0;
}
