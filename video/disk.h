/* SPDX-License-Identifier: Apache-2.0
 * disk.h: folders, paths and whole text files. */
#ifndef CTT_DISK_H
#define CTT_DISK_H

#include "net/ctt.h"

enum ctt_disk_kind { CTT_DISK_NONE, CTT_DISK_FILE, CTT_DISK_FOLDER };

enum ctt_disk_kind ctt_disk_kind(const char *path);

/* A folder's entries, sorted by bytes, without the hidden ones. */
struct ctt_folder {
    char **name;
    int    count, room;
};
int  ctt_folder_read(const char *path, struct ctt_folder *out);
void ctt_folder_clear(struct ctt_folder *f);
void ctt_sort_strings(char **s, int count);

/* Strings that the caller frees, or NULL if memory is out: dir/name (name
 * alone if it is absolute or dir is ""), and what stands before the last
 * slash of path ("." if nothing does). */
char *ctt_path_join(const char *dir, const char *name);
char *ctt_path_dir(const char *path);
const char *ctt_path_base(const char *path);

/* Where the ending of a file name begins (".mp4"), or the end of it. */
const char *ctt_path_ending(const char *path);

/* Reads a whole text of at most limit bytes, with a 0 behind it.  A byte order
 * mark is left out; a 0 in it is an error. */
int  ctt_text_read(const char *path, size_t limit, char **out, size_t *size);

/* Cuts the next line off *at and trims it; *line counts.  NULL at the end. */
char *ctt_text_line(char **at, int *line);
char *ctt_text_trim(char *s);

/* 1 and the number if all of s is decimal digits and small enough. */
int  ctt_text_number(const char *s, int *out);

#endif
