/* SPDX-License-Identifier: Apache-2.0
 * texts.h: the texts of a model file (doc/format.md). */
#ifndef CTT_TEXTS_H
#define CTT_TEXTS_H

#include "net/file/h5.h"

enum ctt_text { CTT_TEXT_NET, CTT_TEXT_LABELS, CTT_TEXT_HISTORY,
                CTT_TEXT_INDEX, CTT_TEXTS };

/* The texts, each with a 0 after its size bytes; NULL: the file has none. */
struct ctt_texts {
    char   *text[CTT_TEXTS];
    int64_t size[CTT_TEXTS];
};

/* Reads all texts of a file, of any version; the caller frees them also after
 * an error, whose message names the file. */
int  ctt_texts_read(struct ctt_h5 *f, struct ctt_texts *t);
void ctt_texts_free(struct ctt_texts *t);

/* The bytes of the dataset /texts: one gzip member, which the caller frees.
 * CTT_EINVAL for a text that is longer than a file may have. */
int  ctt_texts_pack(const struct ctt_texts *t, uint8_t **out, int64_t *size);

/* Reads a dataset that is one text of at most `most` bytes, without a 0 in it;
 * *text stays NULL if there is none, which is an error with `must`. */
int  ctt_texts_one(struct ctt_h5 *f, const char *name, int must, int64_t most,
                   char **text);

#endif
