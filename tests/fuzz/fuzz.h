/* SPDX-License-Identifier: Apache-2.0
 * fuzz.h: the functions and texts that a fuzz target defines.  run.c mutates
 * its seeds without feedback; with configure --enable-fuzzer libFuzzer does it,
 * guided by coverage. */
#ifndef CTT_FUZZ_H
#define CTT_FUZZ_H

#include "base/ctt.h"

#include <stdio.h>
#include <stdlib.h>

enum { CTT_FUZZ_ROOM = 1 << 16 };    /* bytes of an input, at most */

/* Tries one input; aborts if a check fails. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes the i-th seed to p[room] and returns its length; 0 behind the last
 * one. */
size_t ctt_fuzz_seed(int i, uint8_t *p, size_t room);

/* Words to insert into inputs, ended by NULL. */
extern const char *const ctt_fuzz_words[];

#define FUZZ_CHECK(cond)                                                \
    do {                                                                \
        if (!(cond)) {                                                  \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__,       \
                    __LINE__, #cond, ctt_errmsg());                     \
            abort();                                                    \
        }                                                               \
    } while (0)

/* ---- seed.c ---- */

/* A seed that is a string constant, and the i-th of several, for
 * ctt_fuzz_seed(). */
struct ctt_fuzz_text { const char *p; size_t n; };
#define FUZZ_TEXT(s) { s, sizeof(s) - 1 }
size_t ctt_fuzz_text(const struct ctt_fuzz_text *text, int texts, int i,
                     uint8_t *p, size_t room);

/* Writes the seeds to files in dir, and the words to the file dictionary, in
 * libFuzzer's form. */
void ctt_fuzz_write_seeds(const char *dir, const char *dictionary);

/* Sets limits (base/limits.h) that keep an input below the seconds and the
 * memory at which a fuzzer gives up; and HDF5 stays open, see net/file/h5.h. */
void ctt_fuzz_start(void);

/* ---- scratch.c ---- */

/* The path of a file in a folder in memory (TMPDIR, if that is set); the
 * program removes it at its end.  The text stays until eight calls later. */
const char *ctt_scratch(const char *name);

/* Writes a file there, with the folders above it; its path. */
const char *ctt_scratch_put(const char *name, const void *p, size_t n);

/* Reads a file into p[room]; its length. */
size_t ctt_scratch_get(const char *path, uint8_t *p, size_t room);

/* Removes a folder there with all that is in it. */
void ctt_scratch_clear(const char *name);

/* An error was one line that begins with the path. */
void ctt_fuzz_refused(const char *path);

/* ---- chunk.c ---- */

/* A part (chunk) of an input: "%NAME WORDS\n" and the text until the next "\n%"
 * or the end, a form that mutations seldom destroy. */
struct ctt_chunk {
    char           name[48], words[80];
    const uint8_t *p;
    size_t         n;
};

/* Splits an input into at most `room` chunks, without the text before the first
 * one; returns their number. */
int ctt_chunks(const uint8_t *p, size_t n, struct ctt_chunk *out, int room);

/* The first one of that name, or NULL. */
const struct ctt_chunk *ctt_chunk_find(const struct ctt_chunk *c, int count,
                                       const char *name);

/* Its bytes as a string, which the caller frees; up to a 0, if there is one. */
char *ctt_chunk_text(const struct ctt_chunk *c);

#endif
