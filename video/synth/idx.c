/* SPDX-License-Identifier: Apache-2.0
 * idx.c: reads idx files; besides net/code/zip.c the only file that includes
 * zlib.h. */
#include "video/synth/idx.h"
#include "base/limits.h"
#include "base/newfile.h"
#include "video/video.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ITEMS_MAX: images of a file.  CHUNK: bytes read at a time, or one image. */
enum { ITEMS_MAX = 1 << 22, CHUNK = 1 << 20 };

/* The head is a magic number and the size of each dimension, in words of four
 * bytes. */
enum { WORD = 4, HEAD_MAX = 4 * WORD };

static const struct kind { uint32_t magic; int head; const char *what; }
kinds[] = {
    [CTT_IDX_IMAGES] = { 0x803, 4 * WORD, "images" },
    [CTT_IDX_LABELS] = { 0x801, 2 * WORD, "labels" },
};

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static int64_t item_bytes(const struct ctt_idx *x)
{
    return (int64_t)x->h * x->w;
}

/* Reads up to size bytes; *got: how many there were.  A truncated gzip stream
 * is handled like a file that ends early; *cut is then 1. */
static int read_some(gzFile f, const char *path, void *to, int64_t size,
                     int64_t *got, int *cut)
{
    int code = Z_OK, rc = 0;

    errno = 0;
    *got = gzread(f, to, (unsigned)size);
    gzerror(f, &code);
    *cut = code == Z_BUF_ERROR;
    if (*cut)
        *got = *got < 0 ? 0 : *got;
    CTT_CHECK(*got >= 0 || code != Z_MEM_ERROR, CTT_ENOMEM,
              "%s: out of memory", path);
    CTT_CHECK(*got >= 0, code == Z_ERRNO ? CTT_EIO : CTT_EFORMAT, "%s: %s",
              path, code == Z_ERRNO && errno ? strerror(errno)
                                             : "its gzip data is damaged");
out:
    return rc;
}

/* Height and width of the images; of labels 1 and 1. */
static int take_size(struct ctt_idx *x, const uint8_t *head,
                     const struct kind *k, int side)
{
    uint32_t h = 1, w = 1;
    int rc = 0;

    if (k->head == HEAD_MAX) {
        h = word(head + 8);
        w = word(head + 12);
    }
    CTT_CHECK(!side || (h == (uint32_t)side && w == h), CTT_EFORMAT,
              "%s: images of %lux%lu, not %dx%d", x->file, (unsigned long)w,
              (unsigned long)h, side, side);
    CTT_CHECK(h > 0 && w > 0 && h <= CTT_SIDE_MAX && w <= CTT_SIDE_MAX,
              CTT_EFORMAT, "%s: images of %lux%lu", x->file, (unsigned long)w,
              (unsigned long)h);
    x->h = (int)h;
    x->w = (int)w;
    CTT_CHECK(item_bytes(x) <= ctt_limits()->frame_pixels, CTT_EFORMAT,
              "%s: images of %dx%d, over %lld pixels (--frame-pixels)",
              x->file, x->w, x->h, (long long)ctt_limits()->frame_pixels);
out:
    return rc;
}

/* Reads the number of items and their size from the header. */
static int read_head(struct ctt_idx *x, gzFile f, const struct kind *k,
                     int side, int *count)
{
    uint8_t head[HEAD_MAX];
    int64_t got;
    int rc, cut;

    CTT_TRY(read_some(f, x->file, head, k->head, &got, &cut));
    CTT_CHECK(got >= WORD && word(head) == k->magic, CTT_EFORMAT,
              "%s: no idx file of %s", x->file, k->what);
    CTT_CHECK(got == k->head, CTT_EFORMAT, "%s: ends in its header", x->file);
    CTT_TRY(take_size(x, head, k, side));
    CTT_CHECK(word(head + WORD) > 0 && word(head + WORD) <= ITEMS_MAX,
              CTT_EFORMAT, "%s: says it has %lu %s (1 to %d can be)", x->file,
              (unsigned long)word(head + WORD), k->what, (int)ITEMS_MAX);
    *count = (int)word(head + WORD);
out:
    return rc;
}

/* Makes room for one more chunk; the count of the header is not trusted. */
static int reserve_chunk(struct ctt_idx *x, int chunk, int count)
{
    int64_t room = x->room ? 2 * (int64_t)x->room : chunk;
    uint8_t *more;

    if (x->room - x->count >= chunk || x->room == count)
        return 0;
    room = room < count ? room : count;
    more = ctt_realloc(x->data, (size_t)(room * item_bytes(x)) + 1);
    if (!more)
        return CTT_ENOMEM;
    x->data = more;
    x->room = (int)room;
    return 0;
}

/* With the last item a byte more is asked for: zlib notices that the sum at the
 * end of a gzip file is missing only if it must go on. */
static int read_items(struct ctt_idx *x, gzFile f, const char *what, int count)
{
    int64_t size = item_bytes(x), got = 0;
    int chunk = size < CHUNK ? (int)(CHUNK / size) : 1, rc = 0, cut = 0;

    while (x->count < count) {
        int want, last;

        CTT_TRY(reserve_chunk(x, chunk, count));
        want = x->room - x->count < chunk ? x->room - x->count : chunk;
        last = x->count + want == count;
        CTT_TRY(read_some(f, x->file, x->data + x->count * size,
                          want * size + last, &got, &cut));
        x->count += (int)(got / size);
        CTT_CHECK(got >= want * size, CTT_EFORMAT, "%s: ends after %d of %d %s",
                  x->file, x->count, count, what);
        got -= want * size;
    }
    CTT_CHECK(!cut, CTT_EFORMAT, "%s: its gzip data ends without its sum",
              x->file);
    CTT_CHECK(got == 0, CTT_EFORMAT, "%s: goes on after its %d %s", x->file,
              count, what);
out:
    return rc;
}

int ctt_idx_open(const char *file, enum ctt_idx_kind kind, int side,
                 struct ctt_idx *out)
{
    const struct kind *k = &kinds[kind];
    struct ctt_idx x = { .file = ctt_strdup(file) };
    int64_t size;
    gzFile f = NULL;
    int rc = x.file ? 0 : CTT_ENOMEM, count = 0, fd = -1;

    CTT_TRY(rc);
    CTT_TRY(ctt_file_open(file, &fd, &size));
    f = gzdopen(fd, "rb");
    CTT_CHECK(f, CTT_ENOMEM, "%s: out of memory", file);
    fd = -1;    /* f owns it */
    CTT_TRY(read_head(&x, f, k, side, &count));
    CTT_TRY(read_items(&x, f, k->what, count));
    *out = x;
    x = (struct ctt_idx){ 0 };
out:
    if (f)
        gzclose(f);
    if (fd >= 0)
        close(fd);
    ctt_idx_close(&x);
    return rc;
}

void ctt_idx_close(struct ctt_idx *x)
{
    ctt_free(x->file);
    ctt_free(x->data);
    *x = (struct ctt_idx){ 0 };
}
