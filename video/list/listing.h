/* SPDX-License-Identifier: Apache-2.0
 * listing.h: a list of clips while the reader of a layout (list_*.c) fills
 * it. */
#ifndef CTT_LISTING_H
#define CTT_LISTING_H

#include "video/list/names.h"
#include "video/part.h"
#include "video/video.h"

/* The labels of the list's items are indices into names. */
struct ctt_listing {
    const char       *path, *split;
    int               own;        /* the path is of this split alone */
    int               need;       /* data without splits does not do */
    int               parted;     /* set by the reader: the data has splits */
    int               numeric;    /* the data numbers its classes */
    struct ctt_names  names;
    struct ctt_names  numbers;    /* of the classes in the data, as text;
                                     empty: 0, 1 ... */
    double            fps;        /* of folders of pictures; 0: none */
    struct ctt_list  *list;
    struct ctt_list  *others;     /* NULL, or receives the clips of other
                                     splits in the same list, which are no
                                     background */
    struct ctt_pool_part *texts;  /* what readers keep until they are done */
};

/* Frees its names, numbers and texts; not its lists. */
void ctt_listing_clear(struct ctt_listing *s);

/* Adds a clip; its path is dir/file. */
int ctt_listing_add(struct ctt_listing *s, const char *dir, const char *file,
                    int label);

/* The same of a part of it. */
int ctt_listing_part(struct ctt_listing *s, const char *dir, const char *file,
                     const struct ctt_part *part, int label);

/* Gives the clip that was added last a further label. */
int ctt_listing_also(struct ctt_listing *s, int label);

/* Gives a clip a path, and the id that follows from it. */
int ctt_list_name(struct ctt_list *l, struct ctt_item *item, const char *path);

/* Gives a list without labels copies of these. */
int ctt_list_labels(struct ctt_list *l, char *const *label, int labels);

/* Texts in s->texts.  join: dir/name, or dir if name is "".  folder: the same,
 * or NULL if there is no such folder.  dir: the folder of a path.  text: all of
 * a file. */
int ctt_listing_join(struct ctt_listing *s, const char *dir, const char *name,
                     char **out);
int ctt_listing_folder(struct ctt_listing *s, const char *dir,
                       const char *name, char **out);
int ctt_listing_dir(struct ctt_listing *s, const char *path, char **out);
int ctt_listing_text(struct ctt_listing *s, const char *path, char **out);

/* Adds the names found to s->names, sorted, because their order differs between
 * the lists of the splits; sorts found. */
int ctt_listing_names(struct ctt_listing *s, struct ctt_names *found);

/* list_rate.c: gives the clips that are folders of pictures, or parts of them,
 * the rate s->fps unless they have one. */
int ctt_listing_rate(struct ctt_listing *s);

/* list_background.c: adds a class of that name, whose clips lie before and
 * between the parts of each video that the list has: where a gap is at least
 * half as long as the median part, it is cut into as many pieces as come
 * closest to that.  Parts of s->others are no gaps, and a gap before one of
 * them is another split's.  CTT_EINVAL if the list has no parts, unless they
 * are not needed, has them in seconds and in frames, or has such a class;
 * CTT_EFORMAT if there are more than 100,000 clips. */
int ctt_listing_background(struct ctt_listing *s, const char *name,
                           int needed);

/* fit.c: fits the classes of s->list, which are s->names, to those of a model
 * and to a subset, as ctt_list_open() says of its arguments. */
int ctt_listing_fit(struct ctt_listing *s, char *const *known, int nknown,
                    const char *subset);

/* The class of a template: "Holding [something]" is "Holding something". */
void ctt_class_plain(const char *s, char *out, size_t room);

#endif
