/* SPDX-License-Identifier: Apache-2.0
 * pictures.c: clips stored as folders of numbered pictures. */
#include "video/pictures.h"
#include "base/warn.h"
#include "video/disk.h"
#include "video/part.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* name = before, digits, ending: img_ 00001 .jpg */
struct parts {
    size_t      before, digits;
    const char *ending;
    int64_t     number;
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

int ctt_pictures_is_one(const char *name)
{
    return picture(ctt_path_ending(name)) != NULL;
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
    p->number = strtoll(name + p->before, NULL, 10);
    return p->digits > 0 && p->digits <= 18;    /* an int64_t has as many */
}

/* ---- series: pictures of a folder that differ in their number ---- */

/* before: the first bytes of name, which is one of the folder's. */
struct series {
    const char  *name;
    struct parts p;
    int          count;
};

/* MOST: series that are told apart; more make no difference. */
enum { MOST = 8 };

static int same_series(const char *name, const struct parts *p,
                       const struct series *s)
{
    return p->before == s->p.before &&
           strncmp(name, s->name, p->before) == 0 &&
           strcmp(p->ending, s->p.ending) == 0;
}

/* Counts the pictures of each series; returns how many series there are. */
static int count_series(const struct ctt_folder *f, struct series all[MOST])
{
    struct parts p;
    int n = 0, k;

    for (int i = 0; i < f->count; i++) {
        if (!take_apart(f->name[i], &p))
            continue;
        for (k = 0; k < n && !same_series(f->name[i], &p, &all[k]); k++)
            ;
        if (k == MOST)
            continue;
        if (k == n)
            all[n++] = (struct series){ f->name[i], p, 0 };
        all[k].count++;
    }
    return n;
}

/* 1 for frames as programs name them: 00001.jpg, img_00001.jpg, frame-1.png.
 * Others, as flow_x_00001.jpg, may be made of them. */
static int is_frames(const struct series *s)
{
    static const char *const words[] = { "", "img", "image", "frame" };
    size_t n = s->p.before;

    while (n && strchr("_-. ", s->name[n - 1]))
        n--;
    for (size_t i = 0; i < CTT_LEN(words); i++)
        if (strlen(words[i]) == n && strncasecmp(words[i], s->name, n) == 0)
            return 1;
    return 0;
}

/* "img_*.jpg (20), flow_x_*.jpg (20)" */
static const char *list_series(const struct series *all, int n, int but,
                               char text[256])
{
    size_t at = 0;

    text[0] = 0;
    for (int i = 0; i < n && at < 200; i++)
        if (i != but)
            at += (size_t)snprintf(text + at, 256 - at, "%s%.*s*%s (%d)",
                                   at ? ", " : "",
                                   (int)(all[i].p.before < 40 ?
                                         all[i].p.before : 40), all[i].name,
                                   all[i].p.ending, all[i].count);
    return text;
}

/* The series that is the clip: the only one, or the only one of frames. */
static int choose_series(const char *dir, const struct series *all, int n,
                         int *out)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    int frames = 0, rc = 0;
    char text[256];

    CTT_CHECK(n, CTT_EFORMAT, "%s: a folder without numbered pictures", dir);
    *out = 0;
    for (int i = 0; i < n; i++)
        if (is_frames(&all[i])) {
            frames++;
            *out = i;
        }
    CTT_CHECK(n == 1 || frames == 1, CTT_EFORMAT, "%s: several series of "
              "pictures: %s: name one by a pattern, as img_%%05d.jpg", dir,
              list_series(all, n, -1, text));
    if (n > 1 && !atomic_flag_test_and_set(&told))
        ctt_warn("%s: beside the frames %.*s*%s, these are not read: %s (said "
                 "once)", dir, (int)all[*out].p.before, all[*out].name,
                 all[*out].p.ending, list_series(all, n, *out, text));
out:
    return rc;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = ((const struct ctt_picture *)a)->number;
    int64_t y = ((const struct ctt_picture *)b)->number;

    return (x > y) - (x < y);
}

/* 1 if the name has as many digits as the width asks for. */
static int is_as_wide(const struct ctt_picture *q, int width)
{
    int digits = snprintf(NULL, 0, "%0*" PRId64, width, q->number);

    return q->digits == digits;
}

/* Sorts the pictures, which become p's if they are not one after the other with
 * names of one width. */
static int take_numbers(const char *path, struct ctt_picture **each,
                        struct ctt_pictures *p)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    struct ctt_picture *of = *each;
    int n = p->count, wide = 1, gap;

    qsort(of, (size_t)n, sizeof(*of), by_number);
    for (int i = 1; i < n; i++)
        if (of[i].number == of[i - 1].number)
            return ctt_error(CTT_EFORMAT, "%s: two pictures have number %"
                             PRId64, path, of[i].number);
    for (int i = 0; i < n; i++)
        wide &= is_as_wide(&of[i], p->width);
    p->first = of[0].number;
    gap = of[n - 1].number - of[0].number != n - 1;
    if (!gap && wide)
        return 0;
    p->each = of;
    *each = NULL;
    if (gap && !atomic_flag_test_and_set(&told))
        ctt_warn("%s: %d pictures from %" PRId64 " to %" PRId64 ": numbers are "
                 "missing; read in order (said once)", path, n, of[0].number,
                 of[n - 1].number);
    return 0;
}

/* Fills all of p but start from those of a folder for which is() is 1. */
static int collect(const char *path, const struct ctt_folder *f,
                   int (*is)(const char *name, const struct parts *q,
                             const void *arg),
                   const void *arg, struct ctt_pictures *p)
{
    struct ctt_picture *each = ctt_calloc((size_t)f->count + 1, sizeof(*each));
    struct parts q;
    int rc = each ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->count = 0;
    for (int i = 0; i < f->count; i++)
        if (take_apart(f->name[i], &q) && is(f->name[i], &q, arg))
            each[p->count++] = (struct ctt_picture){ q.number, (int)q.digits };
    CTT_CHECK(p->count > 0, CTT_EFORMAT, "%s: there are no such pictures",
              path);
    CTT_TRY(take_numbers(path, &each, p));
out:
    ctt_free(each);
    return rc;
}

static int is_of_series(const char *name, const struct parts *q,
                        const void *arg)
{
    return same_series(name, q, arg);
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

static int find_in_folder(const char *dir, struct ctt_pictures *out)
{
    struct ctt_folder f = { 0 };
    struct series all[MOST];
    const struct series *s;
    int rc = 0, which = 0;

    CTT_TRY(ctt_folder_read(dir, &f));
    CTT_TRY(choose_series(dir, all, count_series(&f, all), &which));
    s = &all[which];
    out->start = make_start(dir, s->name, s->p.before);
    CTT_TRY(out->start ? 0 : CTT_ENOMEM);
    out->ending = s->p.ending;
    out->width = s->name[s->p.before] == '0' ? (int)s->p.digits : 1;
    CTT_TRY(collect(dir, &f, is_of_series, s, out));
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
    CTT_TRY(find_in_folder(dir, &p));
    if (part.kind == CTT_PART_FRAMES) {
        CTT_CHECK(part.first <= p.count && part.count <= p.count - part.first,
                  CTT_EFORMAT, "%s: %d pictures from %d, but there are %d",
                  path, part.count, part.first, p.count);
        p.from = part.first;
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

struct pattern { const char *name, *ending; size_t before; int width; };

static int is_of_pattern(const char *name, const struct parts *q,
                         const void *arg)
{
    const struct pattern *p = arg;

    return q->before == p->before && strncmp(name, p->name, p->before) == 0 &&
           strcmp(q->ending, p->ending) == 0 &&
           q->digits >= (size_t)p->width &&
           (q->digits == (size_t)p->width || name[p->before] != '0');
}

/* The pictures of a folder that a pattern means. */
static int find_numbers(const char *path, size_t before, struct ctt_pictures *p)
{
    const char *base = ctt_path_base(path);
    const struct pattern is = { base, p->ending,
                                before - (size_t)(base - path), p->width };
    char *dir = ctt_path_dir(path);
    struct ctt_folder f = { 0 };
    int rc = dir ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_folder_read(dir, &f));
    CTT_TRY(collect(path, &f, is_of_pattern, &is, p));
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
    CTT_TRY(find_numbers(file, before, &p));
    p.start = ctt_calloc(before + 1, 1);
    CTT_TRY(p.start ? 0 : CTT_ENOMEM);
    memcpy(p.start, file, before);
    *out = p;
    *fps = part.fps;
    p = (struct ctt_pictures){ 0 };
out:
    ctt_pictures_clear(&p);
    ctt_free(file);
    return rc;
}

void ctt_pictures_clear(struct ctt_pictures *p)
{
    ctt_free(p->start);
    ctt_free(p->each);
    *p = (struct ctt_pictures){ 0 };
}

int ctt_pictures_name(const struct ctt_pictures *p, int i, char **out)
{
    size_t room = strlen(p->start) + strlen(p->ending) + 24;
    char *s = ctt_calloc(room, 1);
    int at = p->from + i;

    if (!s)
        return CTT_ENOMEM;
    snprintf(s, room, "%s%0*" PRId64 "%s", p->start,
             p->each ? p->each[at].digits : p->width,
             p->each ? p->each[at].number : p->first + at, p->ending);
    *out = s;
    return 0;
}
