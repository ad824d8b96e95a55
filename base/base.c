/* SPDX-License-Identifier: Apache-2.0
 * base.c: the last error of this thread, and host memory: the only file of the
 * libraries that calls malloc. */
#define _DEFAULT_SOURCE    /* madvise */
#include "base/limits.h"
#include "base/visible.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

static _Thread_local char message[512];
static atomic_long live, calls, fail_at;
static atomic_int asked;    /* whether the environment has been read */
static _Atomic int64_t used;    /* bytes of the live blocks */
static atomic_long over;        /* refused by the limit */

int ctt_error(int code, const char *fmt, ...)
{
    char text[sizeof(message)];    /* an argument may be the old message */
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ctt_visible(text, 0, message, sizeof(message));
    return code;
}

const char *ctt_errmsg(void)
{
    return message;
}

void ctt_fail_alloc(long k)
{
    atomic_store(&asked, 1);
    atomic_store(&fail_at, k);
}

long ctt_live_blocks(void)
{
    return atomic_load(&live);
}

long ctt_alloc_calls(void)
{
    return atomic_load(&calls);
}

static int refused(void)
{
    atomic_fetch_add(&calls, 1);
    if (!atomic_exchange(&asked, 1)) {
        const char *k = getenv("CTT_FAIL_ALLOC");
        if (k)
            atomic_store(&fail_at, atol(k));
    }
    return atomic_load(&fail_at) > 0 && atomic_fetch_sub(&fail_at, 1) == 1;
}

/* ---- the budget ---- */

int64_t ctt_memory_used(void)
{
    return atomic_load(&used);
}

long ctt_memory_refused(void)
{
    return atomic_load(&over);
}

int64_t ctt_memory_left(void)
{
    int64_t left = ctt_limits()->memory - atomic_load(&used) +
                   ctt_cache_held();

    return left > 0 ? left : 0;
}

/* Bytes in MB, rounded up. */
static long long mb(int64_t bytes)
{
    return (long long)((bytes >> 20) + ((bytes & 0xfffff) > 0));
}

/* The error of a block over the limit: in bytes where a size rounded to MB
 * would seem to fit. */
static int too_much(const char *what, int64_t bytes)
{
    int64_t most = ctt_limits()->memory;
    int64_t now = ctt_memory_used() - ctt_cache_held();
    int exact = mb(bytes) <= mb(most) - mb(now);
    const char *unit = exact ? "bytes" : "MB";

    atomic_fetch_add(&over, 1);
    return ctt_error(CTT_ENOMEM, "%s: %lld %s do not fit into the memory limit "
                     "of %lld %s (--memory), of which %lld %s are in use", what,
                     exact ? (long long)bytes : mb(bytes), unit,
                     exact ? (long long)most : mb(most), unit,
                     exact ? (long long)now : mb(now), unit);
}

int ctt_memory_check(const char *what, int64_t bytes)
{
    return bytes <= ctt_memory_left() ? 0 : too_much(what, bytes);
}

/* Frees `bytes` bytes of caches, if they hold as many. */
static int free_cached(int64_t bytes)
{
    return bytes <= ctt_cache_held() && ctt_cache_drop(bytes) > 0;
}

/* Adds a block of this size to those in use, unless it exceeds the limit. */
static int reserve_bytes(size_t size)
{
    int64_t n = size > INT64_MAX ? INT64_MAX : (int64_t)size;
    int64_t most = ctt_limits()->memory, now = atomic_load(&used);

    while (n <= most) {
        if (n > most - now) {
            if (!free_cached(n - (most - now)))
                break;
            now = atomic_load(&used);
        } else if (atomic_compare_exchange_weak(&used, &now, now + n)) {
            return 0;
        }
    }
    return too_much("out of memory", n);
}

static void release(int64_t size)
{
    atomic_fetch_sub_explicit(&used, size, memory_order_relaxed);
}

void ctt_memory_untouched(int64_t bytes)
{
    release(bytes);
}

/* Corrects the reserved bytes to those that malloc gave, which freeing
 * subtracts. */
static void correct_used(size_t reserved, size_t given)
{
    release((int64_t)reserved - (int64_t)given);
}

int ctt_memory_spare(size_t size)
{
    void *volatile p = refused() ? NULL : malloc(size);    /* not optimised
                                                              away */
    free(p);
    return p ? 0 : ctt_error(CTT_ENOMEM, "out of memory: %zu bytes", size);
}

/* ---- blocks ---- */

/* A larger block is cleared by giving its pages back to the kernel, which makes
 * zeros of them when they are used: a large block costs nothing before. */
enum { LARGE = 1 << 20, HUGE_PAGE = 2 << 20, MANY = 16 << 20 };

/* The place behind each block that begins on a huge page, as a list.  malloc
 * counts bytes that the alignment skips as the block's, though nobody touches
 * them. */
struct behind {
    struct behind *next;
    char          *p;
    size_t         size;
};

static struct behind *first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void list(char *p, size_t size)
{
    struct behind *b = (struct behind *)(void *)(p + size);

    pthread_mutex_lock(&lock);
    *b = (struct behind){ first, p, size };
    first = b;
    pthread_mutex_unlock(&lock);
}

/* Takes a block off the list; 0: it was not there. */
static int leave(const void *p, size_t *size)
{
    struct behind **b = &first, *found = NULL;

    *size = 0;
    if ((uintptr_t)p % HUGE_PAGE != 0)
        return 0;
    pthread_mutex_lock(&lock);
    while (*b && (*b)->p != p)
        b = &(*b)->next;
    if (*b) {
        found = *b;
        *size = found->size;
        *b = found->next;
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

/* The size in multiples of 64 bytes. */
static size_t padded_size(size_t size)
{
    return size ? (size + 63) / 64 * 64 : 64;
}

/* Such a list would hide errors that a sanitizer must find. */
#ifdef __SANITIZE_ADDRESS__
enum { LISTS = 0 };
#else
enum { LISTS = 1 };
#endif

/* A block of a rounded size; *size: the bytes that it has then. */
static void *aligned(size_t *size)
{
    int listed = LISTS && *size >= HUGE_PAGE;
    size_t more = listed ? sizeof(struct behind) : 0;
    void *p = NULL;

    if (posix_memalign(&p, listed ? HUGE_PAGE : 64, *size + more) != 0)
        return NULL;
    if (listed)
        list(p, *size);
    else
        *size = malloc_usable_size(p);
    return p;
}

static void clear(char *p, size_t size)
{
    size_t page, head, pages;

    /* valgrind takes the pages for memory that was never written */
    if (size < LARGE || RUNNING_ON_VALGRIND) {
        memset(p, 0, size);
        return;
    }
    page = (size_t)sysconf(_SC_PAGESIZE);
    head = (page - (uintptr_t)p % page) % page;
    pages = (size - head) / page * page;
    memset(p, 0, head);
    if (madvise(p + head, pages, MADV_DONTNEED) != 0)
        memset(p + head, 0, pages);    /* locked, or not such memory */
    memset(p + head + pages, 0, size - head - pages);
}

void *ctt_calloc(size_t count, size_t size)
{
    size_t given;
    void *p = NULL;

    if (size && count > (SIZE_MAX / 2 - 64) / size) {
        ctt_error(CTT_ENOMEM, "out of memory: %zu times %zu bytes", count,
                  size);
        return NULL;
    }
    size = padded_size(count * size);
    if (reserve_bytes(size) < 0)
        return NULL;
    given = size;
    p = refused() ? NULL : aligned(&given);
    if (!p) {
        release((int64_t)size);
        ctt_error(CTT_ENOMEM, "out of memory: %zu bytes", size);
        return NULL;
    }
    correct_used(size, given);
    atomic_fetch_add(&live, 1);
    clear(p, size);
    return p;
}

/* A block that ends in the last quarter of a large page gets all of it. */
static size_t pages_of(size_t size)
{
    size_t past = size % HUGE_PAGE;

    return past >= HUGE_PAGE / 4 * 3 ? size - past + HUGE_PAGE : size;
}

/* A first touch for each page of 4 KiB takes longer than reading a model file.
 * Only the whole large pages of the block: the next ones are not its own.  Not
 * for more than MANY bytes: a virtual machine that must ask its host for so
 * many large pages took twice the time of small ones. */
void *ctt_calloc_full(size_t count, size_t size)
{
    size_t bytes = size && count <= MANY / size ? pages_of(count * size) : 0;
    void *p = bytes ? ctt_calloc(bytes, 1) : ctt_calloc(count, size);

    if (p && bytes && (uintptr_t)p % HUGE_PAGE == 0)
        (void)madvise(p, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return p;
}

/* The block that malloc then gives is not listed. */
void *ctt_realloc(void *p, size_t size)
{
    size_t old, more;
    int listed = leave(p, &old);
    void *q = NULL;

    old = listed || !p ? old : malloc_usable_size(p);
    more = size > old ? size - old : 0;
    if (reserve_bytes(more) < 0)
        goto out;
    q = refused() ? NULL : realloc(p, size ? size : 1);
    if (!q) {
        release((int64_t)more);
        ctt_error(CTT_ENOMEM, "out of memory: %zu bytes", size);
        goto out;
    }
    release((int64_t)old);
    correct_used(more, malloc_usable_size(q));
    if (!p)
        atomic_fetch_add(&live, 1);
out:
    if (!q && listed)
        list(p, old);
    return q;
}

void *ctt_grown(void *p, int *room, int count, size_t size)
{
    int more = *room ? *room : 16;
    void *q;

    if (count < *room)
        return p;
    if (*room > INT_MAX / 2) {
        ctt_error(CTT_ENOMEM, "more than %d entries", *room);
        return NULL;
    }
    more += *room;
    q = ctt_realloc(p, (size_t)more * size);
    if (q)
        *room = more;
    return q;
}

void ctt_free(void *p)
{
    size_t size;

    if (p) {
        atomic_fetch_sub(&live, 1);
        if (!leave(p, &size))
            size = malloc_usable_size(p);
        release((int64_t)size);
    }
    free(p);
}

void ctt_free_pages(void)
{
    (void)malloc_trim(0);
}

char *ctt_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = ctt_realloc(NULL, n);    /* sooner than an aligned block */

    return p ? memcpy(p, s, n) : NULL;
}
