/* SPDX-License-Identifier: Apache-2.0
 * data_pack.h: convtt-data pack: decodes clips into one file. */
#ifndef CTT_DATA_PACK_H
#define CTT_DATA_PACK_H

#include "tools/data/data_opt.h"

/* Decodes the clips at path in c->workers threads and writes them to the pack
 * c->out in their order. */
int ctt_data_pack(const struct ctt_data_cfg *c, const char *path);

#endif
