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
 * the lowest on.  Version 3 is that of clips with maps (net/rewrite/maps.h):
 * /input goes on with a line "map NAME D H W C CRC" for each, and the sixth and
 * seventh word of a row of /index are the checksum of the clip's maps, which
 * begins with that of its frames, and the offset of
 *     /map/<i>       u16 (frames, numbers of all maps): bits of 16-bit floats
 * Version 4 has maps and several labels, whose words come last; all others have
 * version 1.  The datasets are followed, beyond the HDF5 data, by a tail of
 * little-endian words of 64 bits: "ctt-pack", the version, offset and size of
 * each of the first four datasets, and a checksum over the words before and
 * those four datasets.
 * Checksums are those of ctt_pack_sum().  So any HDF5 tool can read the file,
 * but we read it without HDF5, which crashes on some damaged files and allows
 * only one thread at a time. */
#ifndef CTT_PACKFILE_H
#define CTT_PACKFILE_H

#include "net/kind.h"
#include "net/rewrite/maps.h"
#include "video/video.h"

enum ctt_pack_part { CTT_PACK_INPUT, CTT_PACK_LABELS, CTT_PACK_IDS,
                     CTT_PACK_INDEX, CTT_PACK_PARTS };
enum ctt_pack_column { CTT_PACK_LABEL, CTT_PACK_FRAMES, CTT_PACK_FPS,
                       CTT_PACK_SUM, CTT_PACK_AT, CTT_PACK_COLUMNS,
                       CTT_PACK_MAP_SUM = CTT_PACK_COLUMNS, CTT_PACK_MAP_AT,
                       CTT_PACK_ALL };
/* A version is the first one and what is added to it. */
enum { CTT_PACK_VERSION = 1, CTT_PACK_SEVERAL = 1, CTT_PACK_MAPS = 2,
       CTT_PACK_LAST = CTT_PACK_VERSION + CTT_PACK_SEVERAL + CTT_PACK_MAPS,
       CTT_PACK_TAIL = 2 + 2 * CTT_PACK_PARTS + 1 };

/* Words of a row of the index before those of several labels. */
static inline int ctt_pack_fixed(const struct ctt_maps *maps)
{
    return maps->count ? (int)CTT_PACK_ALL : (int)CTT_PACK_COLUMNS;
}

/* All words of a row, of a list with so many classes. */
static inline int ctt_pack_words(const struct ctt_maps *maps, int several,
                                 int labels)
{
    return ctt_pack_fixed(maps) + (several ? (labels + 63) / 64 : 0);
}

#define CTT_PACK_FPS_UNIT 16777216.0

struct ctt_pack {
    char            *path;
    int              fd;
    struct ctt_input in;
    int              h, w;       /* of a stored frame */
    struct ctt_maps  maps;
    struct ctt_list *list;
    int64_t        (*index)[CTT_PACK_ALL];
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

/* The checksum of the frames of clip i of the list. */
uint64_t ctt_pack_key(const struct ctt_pack *p, int i);

/* pack_maps.c: print: the lines of maps, at most `room` bytes with a 0, behind
 * the settings in text.  take: reads them; CTT_EFORMAT if there are none. */
int  ctt_pack_print_maps(const struct ctt_maps *m, char *text, size_t room);
int  ctt_pack_take_maps(char *text, struct ctt_maps *out);

/* Bytes of one clip at most. */
#define CTT_PACK_CLIP_MAX (INT64_C(1) << 31)

/* Continues the checksum sum over n bytes; a change of any single byte changes
 * the result. */
uint64_t ctt_pack_sum(uint64_t sum, const void *data, size_t n);

/* Write and read a little-endian word. */
void     ctt_pack_put(uint8_t *p, uint64_t x);
uint64_t ctt_pack_get(const uint8_t *p);

#endif
