/* SPDX-License-Identifier: Apache-2.0
 * kind.h: the kind of a file of convtt, by its last bytes, for messages about a
 * file of another kind than expected. */
#ifndef CTT_KIND_H
#define CTT_KIND_H

#include "base/ctt.h"

/* The magic words with which the last bytes of a model (net/file/h5.h) and of a
 * pack (video/pack/packfile.h) begin, and the number of these bytes. */
#define CTT_MODEL_MAGIC "convtt "
#define CTT_PACK_MAGIC  "ctt-pack"
enum { CTT_MODEL_END = 16, CTT_PACK_END = 88 };

/* A checkpoint is a model with a training state. */
enum ctt_kind { CTT_KIND_OTHER, CTT_KIND_MODEL, CTT_KIND_PACK };

/* of: the kind of a file from its last n bytes, CTT_PACK_END or all it has.
 * at: that of the file at path; CTT_KIND_OTHER if it cannot be read. */
enum ctt_kind ctt_kind_of(const uint8_t *end, int64_t n);
enum ctt_kind ctt_kind_at(const char *path);

/* The kind in words, "a model or a checkpoint"; NULL for CTT_KIND_OTHER. */
const char *ctt_kind_word(enum ctt_kind kind);

#endif
