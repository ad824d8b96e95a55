/* SPDX-License-Identifier: Apache-2.0
 * pictures.c: clips stored as folders of numbered pictures. */
#include "video/pictures.h"
#include "video/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name = before, digits, ending: img_ 00001 .jpg */
struct parts {
    size_t      before, digits;
    const char *ending;
    int         number;
};

static int is_picture(const char *ending)
{
    static const char *const known[] = { ".jpg", ".jpeg", ".png", ".bmp",
        ".webp", ".ppm", ".pgm", ".tif", ".tiff", ".JPG", ".JPEG", ".PNG" };

    for (size_t i = 0; i < CTT_LEN(known); i++)
        if (strcmp(known[i], ending) == 0)
            return 1;
    return 0;
}

static int take_apart(const char *name, struct parts *p)
{
    size_t end;

    p->ending = ctt_path_ending(name);
    if (!is_picture(p->ending))
        return 0;
    p->before = end = (size_t)(p->ending - name);
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

/* Copies n bytes and doubles percent signs, which a pattern requires. */
static char *escaped(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (from[i] == '%')
            *to++ = '%';
        *to++ = from[i];
    }
    return to;
}

static char *make_pattern(const char *dir, const char *name,
                          const struct parts *p)
{
    size_t room = 2 * (strlen(dir) + strlen(name)) + 16;
    char *s = ctt_calloc(room, 1), *to = s;
    int width = name[p->before] == '0' ? (int)p->digits : 1;

    if (!s)
        return NULL;
    to = escaped(to, dir, strlen(dir));
    *to++ = '/';
    to = escaped(to, name, p->before);
    snprintf(to, room - (size_t)(to - s), "%%0%dd%s", width, p->ending);
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
    out->pattern = make_pattern(dir, first, &p);
    CTT_TRY(out->pattern ? 0 : CTT_ENOMEM);
    out->first = low;
    out->count = count;
out:
    ctt_folder_clear(&f);
    return rc;
}

/* Cuts "#first+count" off path and reads it; 0: there is none. */
static int cut_range(char *path, int *first, int *count)
{
    char *hash = strrchr(path, '#'), *plus = hash ? strchr(hash, '+') : NULL;
    int good;

    if (!plus)
        return 0;
    *plus = 0;
    good = ctt_text_number(hash + 1, first) &&
           ctt_text_number(plus + 1, count);
    *hash = 0;
    return good;
}

int ctt_pictures_find(const char *path, struct ctt_pictures *out)
{
    struct ctt_pictures p = { 0 };
    char *dir = NULL;
    int rc = 0, first = 0, count = 0;

    if (ctt_disk_kind(path) == CTT_DISK_FILE)
        return 0;
    dir = ctt_strdup(path);
    CTT_TRY(dir ? 0 : CTT_ENOMEM);
    if (ctt_disk_kind(path) == CTT_DISK_NONE &&
        !cut_range(dir, &first, &count))
        goto out;    /* opening it will report that it does not exist */
    CTT_TRY(find_in(dir, &p));
    count = strcmp(dir, path) == 0 ? p.count : count;
    CTT_CHECK(count > 0 && first <= p.count && count <= p.count - first,
              CTT_EFORMAT, "%s: %d pictures from %d, but there are %d", path,
              count, first, p.count);
    p.first += first;
    p.count = count;
    *out = p;
    p = (struct ctt_pictures){ 0 };
out:
    ctt_pictures_clear(&p);
    ctt_free(dir);
    return rc;
}

void ctt_pictures_clear(struct ctt_pictures *p)
{
    ctt_free(p->pattern);
    *p = (struct ctt_pictures){ 0 };
}

int ctt_pictures_url(const struct ctt_pictures *p, const char *path,
                     char **out)
{
    const char *name = p->count ? p->pattern : path;
    char *s = ctt_calloc(strlen(name) + sizeof("file:"), 1);

    if (!s)
        return CTT_ENOMEM;
    memcpy(s, "file:", 5);
    strcpy(s + 5, name);
    *out = s;
    return 0;
}
