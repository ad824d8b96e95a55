/* SPDX-License-Identifier: Apache-2.0
 * engine.c: libFuzzer's initialisation; with "--seeds DIR FILE" the program
 * only writes its seeds to DIR and its words to FILE. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    ctt_fuzz_start();
    if (*argc != 4 || strcmp((*argv)[1], "--seeds") != 0)
        return 0;
    ctt_fuzz_write_seeds((*argv)[2], (*argv)[3]);
    exit(0);
}
