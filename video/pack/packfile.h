/* SPDX-License-Identifier: Apache-2.0
 * packfile.h: the format of a pack, for its writer and its reader.
 *
 * A pack is an HDF5 file with contiguous datasets:
 *     /input         u8: the settings of a model's input line, as text
 *     /labels        u8: class names, each ended by a 0
 *     /ids           u8: the clips' ids, each ended by a 0
 *     /index         i64 (clips, 5): label or -1, frames, frames per second
 *                    times 2^24, checksum of the frames, their offset in the
 *                    file
 *     /clip/<i>      u8 (frames, h, w, c), i in decimal from 0
 * Version 2 is that of clips with several labels: rows of /index have further
 * words, one per 64 classes, with a bit for each class that the clip has, from
 * the lowest on.  All others have version 1.  The datasets are
 * followed, beyond the HDF5 data, by a tail of little-endian words of 64 bits:
 * "ctt-pack", the version, offset and size of each of the first
 * four datasets, and a checksum over the words before and those four datasets.
 * Checksums are those of ctt_pack_sum().  So any HDF5 tool can read the file,
 * but we read it without HDF5, which crashes on some damaged files and allows
 * only one thread at a time. */
#ifndef CTT_PACKFILE_H
#define CTT_PACKFILE_H

#include "net/kind.h"
#include "video/video.h"

enum ctt_pack_part { CTT_PACK_INPUT, CTT_PACK_LABELS, CTT_PACK_IDS,
                     CTT_PACK_INDEX, CTT_PACK_PARTS };
enum ctt_pack_column { CTT_PACK_LABEL, CTT_PACK_FRAMES, CTT_PACK_FPS,
                       CTT_PACK_SUM, CTT_PACK_AT, CTT_PACK_COLUMNS };
enum { CTT_PACK_VERSION = 1, CTT_PACK_SEVERAL = 2,
       CTT_PACK_TAIL = 2 + 2 * CTT_PACK_PARTS + 1 };

/* Words of a row of the index of a list with so many classes. */
static inline int ctt_pack_words(int several, int labels)
{
    return (int)CTT_PACK_COLUMNS + (several ? (labels + 63) / 64 : 0);
}

#define CTT_PACK_FPS_UNIT 16777216.0

struct ctt_pack {
    char            *path;
    int              fd;
    struct ctt_input in;
    int              h, w;       /* of a stored frame */
    struct ctt_list *list;
    int64_t        (*index)[CTT_PACK_COLUMNS];
    int              room;       /* rows of index allocated */
    struct ctt_pack_out *out;    /* NULL unless writing */
};

/* new: a pack without a file.  free: closes a file that is read; the output of
 * a writer is freed by ctt_pack_close() before. */
int  ctt_pack_new(const char *path, struct ctt_pack **out);
void ctt_pack_free(struct ctt_pack **pack);

/* pack.c: as ctt_pack_open() from a descriptor, which it takes over, also on
 * failure; path is used in messages. */
int  ctt_pack_open_fd(const char *path, int fd, struct ctt_pack **out);

/* Continues the checksum sum over n bytes; a change of any single byte changes
 * the result. */
uint64_t ctt_pack_sum(uint64_t sum, const void *data, size_t n);

/* Write and read a little-endian word. */
void     ctt_pack_put(uint8_t *p, uint64_t x);
uint64_t ctt_pack_get(const uint8_t *p);

#endif
