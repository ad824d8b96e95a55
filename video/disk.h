/* SPDX-License-Identifier: Apache-2.0
 * disk.h: folders, paths and text files. */
#ifndef CTT_DISK_H
#define CTT_DISK_H

#include "base/ctt.h"

enum ctt_disk_kind { CTT_DISK_NONE, CTT_DISK_FILE, CTT_DISK_FOLDER };

enum ctt_disk_kind ctt_disk_kind(const char *path);

/* "a device", "a FIFO" or "a socket"; NULL for files and folders, and if there
 * is nothing. */
const char *ctt_disk_special(const char *path);

/* A number that changes with the size or the time of change of a file, or of an
 * entry of a folder; 0: there is nothing. */
uint64_t ctt_disk_state(const char *path);

/* A folder's entries, sorted by bytes, without hidden ones. */
struct ctt_folder {
    char **name;
    int    count, room;
};
int  ctt_folder_read(const char *path, struct ctt_folder *out);
void ctt_folder_clear(struct ctt_folder *f);
void ctt_sort_strings(char **s, int count);

/* Strings that the caller frees, or NULL if out of memory.  join: dir/name, or
 * name if it is absolute or dir is "".  dir: the part of path before its last
 * slash, or "." if it has none. */
char *ctt_path_join(const char *dir, const char *name);
char *ctt_path_dir(const char *path);
/* The part of path after its last slash. */
const char *ctt_path_base(const char *path);

/* The extension of a file name (".mp4"), or "". */
const char *ctt_path_ending(const char *path);

/* Reads a text file, or a pipe that the user passes on purpose
 * (ctt_stream_open()), of at most limit bytes and appends a 0. A byte order
 * mark is dropped; a 0 byte in the text is an error.  Line ends are those of
 * ctt_text_ends().  A pipe can be read only
 * once, but its text is needed for each split: the text of each is kept until
 * the program ends. */
int  ctt_text_read(const char *path, size_t limit, char **out, size_t *size);

/* Makes carriage returns line ends in a text that has no others, but perhaps at
 * its end: spreadsheets write such lists for old Macs. */
void ctt_text_ends(char *s);

/* Cuts the next line off *at, trims it and adds 1 to *line; NULL at the end. */
char *ctt_text_line(char **at, int *line);
char *ctt_text_trim(char *s);

/* The quote that ends the one with which s begins, or NULL; "" between them is
 * one.  unquote: s, without them if it is all between quotes. */
char *ctt_text_quote(char *s);
char *ctt_text_unquote(char *s);

/* 1 and the number if s consists of 1 to 9 decimal digits. */
int  ctt_text_number(const char *s, int *out);

#endif
