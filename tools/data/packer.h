/* SPDX-License-Identifier: Apache-2.0
 * packer.h: the clips of a source go into a pack. */
#ifndef CTT_PACKER_H
#define CTT_PACKER_H

struct ctt_data_cfg;
struct ctt_journal;
struct ctt_mapping;
struct ctt_pack;
struct ctt_source;

/* mapping: NULL: no maps, and no journal. */
struct ctt_packing {
    const struct ctt_data_cfg *c;
    const struct ctt_source   *s;
    const struct ctt_mapping  *mapping;
    struct ctt_journal        *journal;
};

/* Decodes each clip in c->workers threads and adds it to the pack; with a
 * mapping its maps, too, which the journal keeps until the pack is whole.
 * *bad: clips that were skipped, each with its reason as a warning.  Fails if
 * stopped, without memory, or if the pack or the journal cannot be written. */
int ctt_pack_clips(const struct ctt_packing *job, struct ctt_pack *out,
                   int *bad);

#endif
