/* SPDX-License-Identifier: Apache-2.0
 * videos.h: finds the files of clips that a list names without folder or
 * extension. */
#ifndef CTT_VIDEOS_H
#define CTT_VIDEOS_H

#include "video/list/names.h"

struct ctt_videos {
    struct ctt_names wanted;
    char           **file;    /* of each wanted name; NULL: not found */
    int              room, found;
};

/* 1 for the name of a file that is commonly found among clips and is none. */
int  ctt_no_clip(const char *name);

/* A file that path names without its extension, of the usual ones of videos:
 * 1 and its path, which the caller frees; 0: none, or path has one of them
 * or exists.  CTT_EFORMAT: there are two, which the message names. */
int  ctt_videos_beside(const char *path, char **out);

/* Adds a name to look for: "stem" or "folder/stem", where stem is the name of
 * a file without its extension, or of a folder of pictures. */
int  ctt_videos_want(struct ctt_videos *v, const char *name);

/* Looks through dir, and through folders in it down to this depth (0: none).
 * Of two files with the same name the first one found is kept.  A dir that does
 * not exist contains nothing. */
int  ctt_videos_find(struct ctt_videos *v, const char *dir, int depth);

/* The path found for a wanted name, or NULL. */
const char *ctt_videos_file(const struct ctt_videos *v, const char *name);
void ctt_videos_clear(struct ctt_videos *v);

#endif
