/* SPDX-License-Identifier: Apache-2.0
 * packfile.h: what writing and reading a pack share.
 *
 * A pack is an HDF5 file, whose datasets are all in one piece each:
 *     /input         u8: the settings as a model's input line has them
 *     /labels        u8: class names, each ended by a 0
 *     /ids           u8: the clips' ids, each ended by a 0
 *     /index         i64 (clips, 5): label or -1, frames, frames a second
 *                    times 2^24, checksum of the frames, where in the file
 *                    they begin
 *     /clip/<i>      u8 (frames, h, w, c), i in decimal from 0
 * and behind it, where HDF5 does not look, a tail of little-endian words of 64
 * bits: "ctt-pack", 1 (the version), begin and size of the first four of
 * these, and a checksum over all words before and those four.  Checksums are
 * ctt_pack_sum's.  Thus any HDF5 tool reads the file, but we do so without
 * HDF5, which does not survive each kind of damage and can be called by one
 * thread at a time. */
#ifndef CTT_PACKFILE_H
#define CTT_PACKFILE_H

#include "video/video.h"

enum ctt_pack_part { CTT_PACK_INPUT, CTT_PACK_LABELS, CTT_PACK_IDS,
                     CTT_PACK_INDEX, CTT_PACK_PARTS };
enum ctt_pack_column { CTT_PACK_LABEL, CTT_PACK_FRAMES, CTT_PACK_FPS,
                       CTT_PACK_SUM, CTT_PACK_AT, CTT_PACK_COLUMNS };
enum { CTT_PACK_VERSION = 1, CTT_PACK_TAIL = 2 + 2 * CTT_PACK_PARTS + 1 };

#define CTT_PACK_MAGIC    "ctt-pack"
#define CTT_PACK_FPS_UNIT 16777216.0

struct ctt_pack {
    char            *path;
    int              fd;
    struct ctt_input in;
    int              h, w;       /* of a stored frame */
    struct ctt_list *list;
    int64_t        (*index)[CTT_PACK_COLUMNS];
    int              room;       /* of index; list->count are used */
    struct ctt_pack_out *out;    /* while writing */
};

/* An empty pack without a file; free closes its file, but drops no output. */
int  ctt_pack_new(const char *path, struct ctt_pack **out);
void ctt_pack_free(struct ctt_pack **pack);

/* A checksum of n bytes that goes on from sum: any one changed byte changes
 * it. */
uint64_t ctt_pack_sum(uint64_t sum, const void *data, size_t n);

/* Little-endian words in a file. */
void     ctt_pack_put(uint8_t *p, uint64_t x);
uint64_t ctt_pack_get(const uint8_t *p);

#endif
