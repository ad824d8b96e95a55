/* SPDX-License-Identifier: Apache-2.0
 * part.c: the end of a clip's path that says which part of a video it is. */
#include "video/part.h"
#include "video/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths have microseconds. */
#define LEAST 1e-6

/* 1 and the number if s is one from 0 to below most: digits and at most one
 * point. */
static int part_number(const char *s, double most, double *out)
{
    size_t n = strspn(s, "0123456789"), m = s[n] == '.';

    m = m ? 1 + strspn(s + n + 1, "0123456789") : 0;
    if (n + m < 1 || n + m > 30 || s[n + m] || (n == 0 && m == 1))
        return 0;
    *out = strtod(s, NULL);
    return *out < most;
}

/* Cuts s at the last c; the text behind it, or NULL. */
static char *cut_last(char *s, char c)
{
    char *p = strrchr(s, c);

    if (p)
        *p++ = 0;
    return p;
}

/* "start,end" or "start,end~". */
static int read_time(char *s, struct ctt_part *p)
{
    size_t n = strlen(s);
    char *end;

    p->or_all = n > 0 && s[n - 1] == '~';
    if (p->or_all)
        s[n - 1] = 0;
    end = cut_last(s, ',');
    p->kind = CTT_PART_TIME;
    return end && part_number(s, CTT_PART_SECONDS, &p->start) &&
           part_number(end, CTT_PART_SECONDS, &p->end) &&
           p->start < p->end;
}

/* Reads the text behind '#': 1; 0: no part. */
static int read_end(char *s, struct ctt_part *p)
{
    char *rate = cut_last(s, '@'), *count;

    if (rate && !(part_number(rate, CTT_PART_RATE + 1, &p->fps) &&
                  p->fps > 0))
        return 0;
    if (!*s)
        return rate != NULL;
    if (strncmp(s, "t=", 2) == 0)
        return read_time(s + 2, p);
    count = cut_last(s, '+');
    p->kind = CTT_PART_FRAMES;
    return count && ctt_text_number(s, &p->first) &&
           ctt_text_number(count, &p->count) && p->count > 0;
}

int ctt_part_of(const char *path, char **file, struct ctt_part *out)
{
    struct ctt_part p = { CTT_PART_ALL, 0, 0, 0, 0, 0, 0 };
    const char *hash = strrchr(ctt_path_base(path), '#');
    char *copy = ctt_strdup(path), *end = NULL;
    int rc = copy ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    *out = p;
    if (hash && ctt_disk_kind(path) == CTT_DISK_NONE) {
        end = ctt_strdup(hash + 1);
        CTT_TRY(end ? 0 : CTT_ENOMEM);
        if (read_end(end, &p)) {
            copy[hash - path] = 0;
            *out = p;
        } else if (strncmp(hash, "#t=", 3) == 0) {
            rc = ctt_error(CTT_EFORMAT, "%s: not two times, the first below "
                           "the second", path);
            goto out;
        }
    }
    *file = copy;
    copy = NULL;
out:
    ctt_free(copy);
    ctt_free(end);
    return rc;
}

int ctt_part_times(double start, double end, struct ctt_part *out)
{
    *out = (struct ctt_part){ .kind = CTT_PART_TIME, .start = start,
                              .end = end };
    return start >= 0 && end < CTT_PART_SECONDS && end - start > LEAST;
}

/* Pandas writes whole numbers of a column with gaps as "12.0". */
static int frame_number(const char *s, int *out)
{
    size_t n = strlen(s);
    char whole[16];

    if (n < 3 || n > sizeof(whole) || strcmp(s + n - 2, ".0") != 0)
        return ctt_text_number(s, out);
    snprintf(whole, sizeof(whole), "%.*s", (int)n - 2, s);
    return ctt_text_number(whole, out);
}

int ctt_part_between(const char *start, const char *end, int frames,
                     struct ctt_part *out)
{
    struct ctt_part p = { CTT_PART_TIME, 0, 0, 0, 0, 0, 0 };
    int last = 0;

    if (*start == '#' && *end == '#') {
        frames = 1;
        start++;
        end++;
    }
    *out = p;
    if (!frames)
        return part_number(start, CTT_PART_SECONDS, &p.start) &&
               part_number(end, CTT_PART_SECONDS, &p.end) &&
               ctt_part_times(p.start, p.end, out);
    out->kind = CTT_PART_FRAMES;
    if (!frame_number(start, &out->first) || !frame_number(end, &last))
        return 0;
    out->count = last - out->first;
    return out->count > 0;
}

/* A number of at most 6 decimals, without zeros at its end. */
static void put_decimal(char *to, size_t room, double x)
{
    int n = snprintf(to, room, "%.6f", x);

    while (n > 0 && to[n - 1] == '0')
        to[--n] = 0;
    if (n > 0 && to[n - 1] == '.')
        to[n - 1] = 0;
}

char *ctt_part_path(const char *file, const struct ctt_part *p)
{
    char a[32], b[32], part[96] = "", rate[40] = "";
    size_t room = strlen(file) + sizeof(part) + sizeof(rate);
    char *s;

    if (p->kind == CTT_PART_ALL && !(p->fps > 0))
        return ctt_strdup(file);
    s = ctt_realloc(NULL, room);
    if (!s)
        return NULL;
    if (p->kind == CTT_PART_FRAMES) {
        snprintf(part, sizeof(part), "%d+%d", p->first, p->count);
    } else if (p->kind == CTT_PART_TIME) {
        put_decimal(a, sizeof(a), p->start);
        put_decimal(b, sizeof(b), p->end);
        snprintf(part, sizeof(part), "t=%s,%s%s", a, b, p->or_all ? "~" : "");
    }
    if (p->fps > 0) {
        put_decimal(a, sizeof(a), p->fps);
        snprintf(rate, sizeof(rate), "@%s", a);
    }
    snprintf(s, room, "%s%s%s%s", file, *part || *rate ? "#" : "", part, rate);
    return s;
}
