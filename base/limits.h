/* SPDX-License-Identifier: Apache-2.0
 * limits.h: limits of memory, time and sizes for input that is not trusted, and
 * the request to stop. */
#ifndef CTT_LIMITS_H
#define CTT_LIMITS_H

#include "base/ctt.h"

enum { CTT_MAX_NODES = 1 << 16 };   /* of a graph, whatever the limit is */

/* A file that exceeds one of these is refused with a message that names the
 * limit.  They apply to the whole process. */
struct ctt_limits {
    int64_t memory;         /* bytes of all blocks of ctt_calloc() and
                               ctt_realloc() together; memory of libraries
                               such as FFmpeg and HDF5, and of a GPU, is not
                               counted */
    int64_t frame_pixels;   /* of a decoded picture */
    int64_t clip_bytes;     /* read from the files of one clip */
    int64_t clip_frames;    /* decoded from one clip */
    double  clip_seconds;   /* of CPU time of decoding without a new frame */
    int     classes;        /* of a list, a pack or a model */
    int     nodes;          /* of a model */
};

/* The limits in force.  Before ctt_limits_set() they are the defaults; the
 * limit of memory is then the result of ctt_memory_free() at the first call,
 * but at least CTT_MEMORY_LEAST. */
const struct ctt_limits *ctt_limits(void);
#define CTT_MEMORY_LEAST (INT64_C(64) << 20)

/* Replaces the limits: call it before threads start.  A member that is 0 gets
 * its default; CTT_EINVAL if one is negative or not finite. */
int  ctt_limits_set(const struct ctt_limits *l);

/* used: bytes of all live blocks.  left: bytes that the limit of memory still
 * allows; blocks of caches count as free. */
int64_t ctt_memory_used(void);
int64_t ctt_memory_left(void);

/* Blocks refused by the limit of memory so far, to tell these failures from
 * those of a system without memory. */
long    ctt_memory_refused(void);

/* A cache keeps data that can be made again, in blocks that count as free: when
 * the limit of memory would be exceeded, drop is called. */
struct ctt_cache {
    /* Frees at least `bytes` bytes, if possible, with ctt_free(); returns the
     * bytes freed.  Called with the lock below, by any thread. */
    int64_t (*drop)(struct ctt_cache *c, int64_t bytes);
    int64_t held;               /* bytes kept; the owner adds to it */
    struct ctt_cache *next;     /* set by ctt_cache_open() */
};

/* open: from now on the cache may be asked to drop data.  close: no longer;
 * comes before the memory of the cache is freed. */
void ctt_cache_open(struct ctt_cache *c);
void ctt_cache_close(struct ctt_cache *c);

/* The lock of all caches, taken for every change of their content.  Nothing may
 * be allocated while it is held. */
void ctt_cache_lock(void);
void ctt_cache_unlock(void);

/* held: bytes of all caches.  drop: frees at least `bytes` of them, if
 * possible; returns the bytes freed. */
int64_t ctt_cache_held(void);
int64_t ctt_cache_drop(int64_t bytes);

/* So many bytes of blocks that nobody touches do not count (below 1 MiB a block
 * is written when it is cleared); negative, after its free: they do again. */
void ctt_memory_untouched(int64_t bytes);

/* CTT_ENOMEM if a sum of blocks to be allocated exceeds ctt_memory_left();
 * `what` begins the message, which names the limit.  Asked before the first
 * block, so that the message names the whole. */
int  ctt_memory_check(const char *what, int64_t bytes);

/* CTT_ENOMEM if the system would not give a library a block of this size now.
 * Memory of libraries does not count towards the limit. */
int  ctt_memory_spare(size_t size);

/* Free bytes: the least of those of the machine, of the control group (Linux,
 * versions 1 and 2) and of the address space (RLIMIT_AS) of this process.  A
 * cache of files that the kernel may drop counts as free. */
int64_t ctt_memory_free(void);

/* Sets the function that tells whether the user asked to stop; long work calls
 * ctt_stopped() and then fails with CTT_ESTOP.  NULL: nobody asks. */
void ctt_stop_set(int (*asked)(void));
int  ctt_stopped(void);

#endif
