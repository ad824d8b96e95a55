/* SPDX-License-Identifier: Apache-2.0
 * kind.h: which kind of convtt's files one is, by its last bytes; for messages
 * to somebody who gave one for another. */
#ifndef CTT_KIND_H
#define CTT_KIND_H

#include "base/ctt.h"

/* How the last bytes of a model (net/file/h5.h) and of a pack
 * (video/pack/packfile.h) begin, and how many these are. */
#define CTT_MODEL_MAGIC "convtt "
#define CTT_PACK_MAGIC  "ctt-pack"
enum { CTT_MODEL_END = 16, CTT_PACK_END = 88 };

/* A checkpoint is a model with a training state. */
enum ctt_kind { CTT_KIND_OTHER, CTT_KIND_MODEL, CTT_KIND_PACK };

/* The kind of a file from its last n bytes, CTT_PACK_END or all it has; and of
 * the file at path, CTT_KIND_OTHER if that cannot be read. */
enum ctt_kind ctt_kind_of(const uint8_t *end, int64_t n);
enum ctt_kind ctt_kind_at(const char *path);

/* "a model or a checkpoint"; NULL for CTT_KIND_OTHER. */
const char *ctt_kind_word(enum ctt_kind kind);

#endif
