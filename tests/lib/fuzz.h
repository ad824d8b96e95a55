/* SPDX-License-Identifier: Apache-2.0
 * fuzz.h: what a fuzz target defines; fuzz.c runs it unless it is built with
 * libFuzzer (clang -fsanitize=fuzzer, without fuzz.c). */
#ifndef CTT_FUZZ_H
#define CTT_FUZZ_H

#include <stddef.h>
#include <stdint.h>

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

#endif
