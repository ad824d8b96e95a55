/* SPDX-License-Identifier: Apache-2.0
 * source.h: where clips come from: what a path given by the user means, for
 * training, the runtime and the data tools alike. */
#ifndef CTT_SOURCE_H
#define CTT_SOURCE_H

#include "video/video.h"

/* How paths of sources begin whose clips are drawn: "mnist:DIR". */
#define CTT_SOURCE_DRAWN "mnist:"

/* 1 if path is one of those. */
int  ctt_source_is_drawn(const char *path);

/* The file or folder that the source at path reads: DIR of "mnist:DIR", else
 * path itself. */
const char *ctt_source_disk_path(const char *path);

/* What is asked of a source.  All of it stays the caller's. */
struct ctt_source_set {
    /* "train", "validation" or "test".  NULL: clips to test on, which is
     * "test" of Moving-MNIST and elsewhere "validation", or all clips of data
     * without that split. */
    const char  *split;
    int          need_split;  /* a pack, which has no splits, is an error if
                                 split is given */
    const char  *classes;     /* a file of the classes to keep, as for
                                 ctt_list_open(), or NULL */
    char *const *label;       /* the model's classes */
    int          labels;      /* how many; 0: the data has its own classes;
                                 CTT_LABELS_ANY: none are needed, as for
                                 prediction */
    int          any_input;   /* frames of a pack may differ from the input */

    /* Of sources whose sequences are drawn: how many the list names, and the
     * digits and frames of each. */
    int          sequences, digits, frames;
    const char  *drawn_for;   /* what to use them for, to say in an error
                                 where classes are needed */
};

struct ctt_source;

/* path: "mnist:DIR", Moving-MNIST made of the digits in DIR; a pack; or what
 * ctt_list_open() reads.  in: what the model wants of its frames.  Opens the
 * pack or the digits, but no clip of a list.  CTT_EINVAL if the source cannot
 * be what is asked (its frames, classes or splits), CTT_EIO if nothing can be
 * read at path, CTT_EFORMAT if that is damaged; the message names it. */
int  ctt_source_open(const char *path, const struct ctt_source_set *set,
                     const struct ctt_input *in, struct ctt_source **out);
void ctt_source_close(struct ctt_source **s);

/* The clips, valid until the source is closed.  Its labels are the model's if
 * that has any. */
const struct ctt_list *ctt_source_list(const struct ctt_source *s);

/* The input settings by which its frames are stored: those of the model, but
 * scale 1 where frames are drawn, which have no margin to cut away. */
const struct ctt_input *ctt_source_input(const struct ctt_source *s);

/* 1 if clips are files, whose paths the list has. */
int  ctt_source_files(const struct ctt_source *s);

/* 1 if clips are drawn: then there are 2^48 of them, and the list names the
 * first ones only. */
int  ctt_source_drawn(const struct ctt_source *s);

/* 1 if clip i of a is clip k of b. */
int  ctt_source_same(const struct ctt_source *a, int i,
                     const struct ctt_source *b, int k);

/* Clip i's frames, at most max of them (0: all).  seed: decides, together with
 * i, what is drawn; of other sources it changes nothing.  Several threads may
 * load at once.  Free them with ctt_frames_free(). */
int  ctt_source_frames(const struct ctt_source *s, int i, uint64_t seed,
                       int max, struct ctt_frames *out);

/* The same clip frame by frame: 1 and a stored frame in data, or 0 at the end.
 * A file is decoded as its frames are asked for, others at open. */
struct ctt_feed;
int  ctt_feed_open(const struct ctt_source *s, int i, uint64_t seed,
                   struct ctt_feed **out);
int  ctt_feed_next(struct ctt_feed *f, uint8_t *data);
void ctt_feed_close(struct ctt_feed **f);

#endif
