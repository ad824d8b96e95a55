/* SPDX-License-Identifier: Apache-2.0
 * ctt.h: types and conventions every module shares.
 *
 * Errors.  A function that can fail returns int: 0 or a positive result, or a
 * negative ctt_status.  Whoever detects the failure records the message with
 * ctt_error(); callers only pass the code on.  Output arguments come last and
 * are written only on success.
 *
 * Ownership.  xxx_new/open/load allocates, xxx_free/close releases and takes
 * the address of the pointer, which it sets to NULL; NULL is accepted.  No
 * other function frees what it was given, and a view never owns. */
#ifndef CTT_H
#define CTT_H

#include <stddef.h>
#include <stdint.h>

enum ctt_status {
    CTT_OK      = 0,
    CTT_ENOMEM  = -1,    /* out of host or device memory */
    CTT_EINVAL  = -2,    /* the caller's argument or option is wrong */
    CTT_EFORMAT = -3,    /* a file or a model text is wrong */
    CTT_EIO     = -4,    /* the system refused to read or write */
    CTT_EUNSUP  = -5,    /* valid, but not built in or not on this device */
    CTT_ENAN    = -6,    /* a value that is not finite */
    CTT_ESTOP   = -7,    /* the user asked to stop */
    CTT_ENOSPLIT = -8,   /* the data has no such split */
    CTT_ELACK   = -9,    /* the process has too few of something, such as open
                            files: no fault of what it reads */
};

enum ctt_dtype { CTT_F32, CTT_F16, CTT_BF16, CTT_I8, CTT_U8, CTT_I32 };

/* A tensor is a row-major matrix of pixels by channels: row (n,d,h,w) starts
 * ld elements after the previous one.  ld > c makes a view of some channels
 * of a wider tensor; that is how slices and concatenations cost nothing.  A
 * vector has d = h = w = 1, an image d = 1; a convolution weight is (out, kd,
 * kh, kw, in). */
struct ctt_tensor {
    void          *data;
    enum ctt_dtype dtype;
    int64_t        n, d, h, w, c;
    int64_t        ld;
    float          scale;    /* quantised values: each is a whole number from
                                -zero to 255 - zero times the scale; 0: any */
    int            zero;     /* a value of 0 as a byte */
};

static inline int64_t ctt_rows(const struct ctt_tensor *t)
{
    return t->n * t->d * t->h * t->w;
}

static inline int64_t ctt_volume(const struct ctt_tensor *t)
{
    return ctt_rows(t) * t->c;
}

static inline int64_t ctt_align(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

#define CTT_VERSION "0.2"
#define CTT_VERSION_DATE "2026-11-22"    /* printed in the manual pages */
#define CTT_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Ends of nouns for n things: "1 clip", "2 clips"; "1 class", "2 classes". */
#define ctt_s(n) ((n) == 1 ? "" : "s")
#define ctt_es(n) ((n) == 1 ? "" : "es")

/* A message is one line of UTF-8 that a terminal only shows, whatever the names
 * and texts are that it quotes (base/visible.h). */
int ctt_error(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));
const char *ctt_errmsg(void);

/* CTT_TRY and CTT_CHECK need an int rc and a label out, where the function
 * cleans up. */
#define CTT_TRY(expr)                                                   \
    do {                                                                \
        rc = (expr);                                                    \
        if (rc < 0)                                                     \
            goto out;                                                   \
    } while (0)

#define CTT_CHECK(cond, code, ...)                                      \
    do {                                                                \
        if (!(cond)) {                                                  \
            rc = ctt_error(code, __VA_ARGS__);                          \
            goto out;                                                   \
        }                                                               \
    } while (0)

/* ctt_calloc: zeroed memory, 64-byte aligned.  With CTT_FAIL_ALLOC=k in the
 * environment, or after ctt_fail_alloc(k), the k-th call fails, so that the
 * tests can walk every error path.  ctt_live_blocks: blocks not yet freed;
 * ctt_alloc_calls: calls so far, so that a test can show that a step makes
 * none. */
void *ctt_calloc(size_t count, size_t size);

/* ctt_calloc() for memory that will be written from end to end: a block of 2 to
 * 16 MiB gets pages of 2 MiB, where the system has them.  Fewer page faults,
 * but parts that are never written take memory, too. */
void *ctt_calloc_full(size_t count, size_t size);
void *ctt_realloc(void *p, size_t size);
void  ctt_free(void *p);
char *ctt_strdup(const char *s);

/* Gives free memory back to the system, after much was freed. */
void  ctt_free_pages(void);
void  ctt_fail_alloc(long k);
long  ctt_live_blocks(void);
long  ctt_alloc_calls(void);

/* Makes room for one more than count elements in an array p of *room elements
 * of `size` bytes.  Returns p, or its new address with *room raised; NULL: out
 * of memory, p is unchanged. */
void *ctt_grown(void *p, int *room, int count, size_t size);

#endif
