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
