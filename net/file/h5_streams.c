/* SPDX-License-Identifier: Apache-2.0
 * h5_streams.c: stdout and stderr for an archive of HDF5 that is compiled for
 * programs only.  It addresses variables as if they lay beside it, which in a
 * shared library is true of those that the library hides; so the linker gives
 * it these for the C library's (--wrap; see m4/ctt_hdf5.m4). */
#include <stdio.h>

#define HIDDEN __attribute__((used, visibility("hidden")))

#ifdef PIC    /* not in libconvtt-infer.a, which is linked without --wrap */
extern FILE *__real_stdout, *__real_stderr;
HIDDEN FILE *__wrap_stdout, *__wrap_stderr;

__attribute__((constructor)) static void set_streams(void)
{
    __wrap_stdout = __real_stdout;
    __wrap_stderr = __real_stderr;
}
#endif
