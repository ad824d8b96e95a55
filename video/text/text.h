/* SPDX-License-Identifier: Apache-2.0
 * text.h: the sentences of a text file as sequences of symbols: its bytes, or
 * its words; or all of its bytes as one sequence in windows. */
#ifndef CTT_TEXT_H
#define CTT_TEXT_H

#include "video/video.h"

/* Prefixes of paths: "text:FILE", bytes; "words:FILE", what stands between
 * blanks. */
#define CTT_TEXT_BYTES "text:"
#define CTT_TEXT_WORDS "words:"

/* 1 if path has one of them.  runs_on: its lines are not sentences of their own
 * but one text: a model remembers what went before a line. */
int ctt_text_is(const char *path);
int ctt_text_runs_on(const char *path);

/* A sentence is a line that has symbols.  CTT_TEXT_EOS ends it and stands
 * before the first one, as in the Penn Treebank's language models (Mikolov and
 * others 2010); CTT_TEXT_UNKNOWN stands for all beyond the vocabulary. */
#define CTT_TEXT_EOS "<eos>"
#define CTT_TEXT_UNKNOWN "<unk>"

enum { CTT_TEXT_LONGEST = 512,    /* symbols of a piece, if nothing is said */
       CTT_TEXT_WINDOW = 128,     /* likewise, of a text in windows */
       CTT_TEXT_BYTES_EACH = 3 };  /* of a symbol in frames: its number, the
                                     lowest byte first */

struct ctt_text_set {
    char *const *known;      /* the vocabulary of a model, or NULL: that of the
                                text */
    int          nknown;
    int          vocab;      /* then: the most frequent symbols, so many with
                                the two above */
    int          longest;    /* symbols of a piece: a longer line is several;
                                0: CTT_TEXT_LONGEST or CTT_TEXT_WINDOW */
    int          windows;    /* a text that runs on is one line, so that its
                                pieces follow each other */
};

struct ctt_text;

/* Reads the file of a path.  list: becomes that of its pieces: the path is
 * FILE:LINE, of a line in pieces FILE:LINE#FROM+COUNT, the labels are the
 * vocabulary, the most frequent symbol first, and the label of a piece is the
 * symbol after its last.  CTT_EFORMAT: there is no symbol, or none that is
 * known; CTT_EINVAL: known is not of a text. */
int  ctt_text_open(const char *path, const struct ctt_text_set *set,
                   struct ctt_list *list, struct ctt_text **out);
void ctt_text_close(struct ctt_text **t);

/* Makes the vocabulary, unless it is a model's, that of these pieces alone: the
 * list's labels and the numbers of all symbols follow. */
int  ctt_text_recount(struct ctt_text *t, const int *piece, int pieces,
                      struct ctt_list *list);

/* 1 if the pieces follow each other. */
int ctt_text_is_one(const struct ctt_text *t);

/* The symbols of piece i as frames of 1x1 pixel: the first is the symbol before
 * its line (CTT_TEXT_EOS) or before the piece, the last is the one before its
 * label. */
int  ctt_text_frames(const struct ctt_text *t, int i, struct ctt_frames *out);

/* The number in the bytes of a frame. */
static inline int ctt_text_symbol(const uint8_t *p)
{
    return p[0] | p[1] << 8 | p[2] << 16;
}

/* A CRC-32 of all symbols. */
uint32_t ctt_text_crc(const struct ctt_text *t);

#endif
