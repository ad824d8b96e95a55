/* SPDX-License-Identifier: Apache-2.0
 * list_background.c: a class of what lies between the segments of the videos
 * in a list. */
#include "video/list/listing.h"
#include "base/limits.h"

#include <stdlib.h>

/* Clips of the class, at most: a small list can name hours. */
enum { PIECES = 100000 };

/* A segment; its times are seconds or frames. */
struct span {
    int    video;    /* number of its file */
    int    other;    /* of another split, whose gap is before it */
    double start, end;
    struct ctt_part part;
};

struct spans {
    struct span     *span;
    int              count, pieces;
    struct ctt_names file;
};

/* Adds the segment that a clip is, if it is one.  The content of a video
 * that may have been cut is unknown. */
static int add_span(struct spans *t, const struct ctt_item *item, int other)
{
    struct span *p = &t->span[t->count];
    char *file = NULL;
    int rc;

    CTT_TRY(ctt_part_of(item->path, &file, &p->part));
    if (p->part.kind == CTT_PART_ALL || p->part.or_all)
        goto out;
    CTT_TRY(p->video = ctt_names_add(&t->file, file));
    p->other = other;
    p->start = p->part.start;
    p->end = p->part.end;
    if (p->part.kind == CTT_PART_FRAMES) {
        p->start = p->part.first;
        p->end = p->start + p->part.count;
    }
    t->count++;
out:
    ctt_free(file);
    return rc < 0 ? rc : 0;
}

static int by_length(const void *a, const void *b)
{
    const struct span *p = a, *q = b;
    double x = p->end - p->start, y = q->end - q->start;

    return (x > y) - (x < y);
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->video != y->video ? (x->video > y->video) - (x->video < y->video)
                                : (x->start > y->start) - (x->start < y->start);
}

/* Cuts what lies from start to the segment p into pieces of about that length;
 * there is none if it is shorter than half a piece. */
static int add_gap(struct ctt_listing *s, struct spans *t,
                   const struct span *p, double start, double length,
                   int label)
{
    double gap = p->start - start, pieces = gap / length + 0.5, first, last;
    struct ctt_part part = p->part;
    int rc = 0, n;

    CTT_CHECK(pieces < PIECES - t->pieces, CTT_EFORMAT, "%s: more than %d "
              "clips between the parts of videos, which are very short "
              "(--background)", s->path, PIECES);
    t->pieces += n = pieces < 0 ? 0 : (int)pieces;
    for (int k = 0; k < n; k++) {
        first = start + gap * k / n;
        last = start + gap * (k + 1) / n;
        if (part.kind == CTT_PART_FRAMES) {
            part.first = (int)first;
            part.count = (int)last - part.first;
        } else if (!ctt_part_times(first, last, &part)) {
            continue;
        }
        part.fps = p->part.fps;
        CTT_TRY(ctt_listing_part(s, "", t->file.name[p->video], &part, label));
    }
out:
    return rc;
}

/* The gaps before and between the segments of each video, in pieces as long as
 * the median segment. */
static int add_gaps(struct ctt_listing *s, struct spans *t, int label)
{
    double length, end = 0;
    int rc = 0;

    qsort(t->span, (size_t)t->count, sizeof(*t->span), by_length);
    length = t->span[t->count / 2].end - t->span[t->count / 2].start;
    qsort(t->span, (size_t)t->count, sizeof(*t->span), by_start);
    for (int i = 0; i < t->count; i++) {
        const struct span *p = &t->span[i];
        if (i == 0 || p->video != p[-1].video)
            end = 0;
        if (!p->other)
            CTT_TRY(add_gap(s, t, p, end, length, label));
        end = p->end > end ? p->end : end;
    }
out:
    return rc;
}

/* Seconds and frames do not compare. */
static int is_mixed(const struct spans *t)
{
    for (int i = 1; i < t->count; i++)
        if (t->span[i].part.kind != t->span[0].part.kind)
            return 1;
    return 0;
}

/* Names the class; the numbers of others no longer say which they are. */
static int name_class(struct ctt_listing *s, const char *name)
{
    int rc;

    CTT_CHECK(ctt_names_find(&s->names, name) < 0, CTT_EINVAL, "%s: has a "
              "class '%s' already (--background)", s->path, name);
    CTT_CHECK(s->names.count < ctt_limits()->classes, CTT_EFORMAT,
              "%s: more than %d classes", s->path, ctt_limits()->classes);
    CTT_TRY(ctt_names_add(&s->names, name));
    s->numeric = 0;
out:
    return rc;
}

int ctt_listing_background(struct ctt_listing *s, const char *name,
                           int needed)
{
    int rc = 0, n = s->list->count, others = s->others->count;
    struct spans t = { .count = 0 };

    t.span = ctt_calloc((size_t)n + (size_t)others + 1, sizeof(*t.span));
    CTT_TRY(t.span ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++)
        CTT_TRY(add_span(&t, &s->list->item[i], 0));
    CTT_CHECK(t.count || !needed, CTT_EINVAL, "%s: no clip is a part of a "
              "video, so nothing lies between them (--background)", s->path);
    if (t.count == 0)
        goto out;
    for (int i = 0; i < others; i++)
        CTT_TRY(add_span(&t, &s->others->item[i], 1));
    CTT_CHECK(!is_mixed(&t), CTT_EINVAL, "%s: parts in seconds and parts in "
              "frames (--background)", s->path);
    CTT_TRY(name_class(s, name));
    CTT_TRY(add_gaps(s, &t, rc));
out:
    ctt_free(t.span);
    ctt_names_clear(&t.file);
    return rc < 0 ? rc : 0;
}
