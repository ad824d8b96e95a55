/* SPDX-License-Identifier: Apache-2.0
 * mnist.c: reads the digits of idx files and generates Moving-MNIST from them;
 * besides net/code/zip.c the only file that includes zlib.h. */
#include "net/code/zip.h"
#include "net/newfile.h"
#include "net/random.h"
#include "video/disk.h"
#include "video/split.h"
#include "video/video.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
    SIDE = 28, BYTES = SIDE * SIDE,    /* of an image */
    RANGE = CTT_MNIST_SIDE - SIDE,     /* of the corner, in pixels */
    HEAD = 16, MAGIC = 0x803,          /* bytes, in three dimensions */
    IMAGES_MAX = 1 << 22,
    CHUNK = 1024                       /* images read at a time */
};

struct ctt_mnist {
    char    *file;
    uint8_t *image;    /* [count][28][28] */
    int      count, room;
};

/* ---- idx files ---- */

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

/* Reads up to size bytes; *got: how many there were.  A truncated gzip stream
 * is handled like a file that ends early; *cut is then 1. */
static int read_some(gzFile f, const char *path, void *to, int size, int *got,
                     int *cut)
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

/* Reads the number of images from the header. */
static int read_head(gzFile f, const char *path, int *count)
{
    uint8_t head[HEAD];
    int rc, got, cut;

    CTT_TRY(read_some(f, path, head, HEAD, &got, &cut));
    CTT_CHECK(got >= 4 && word(head) == MAGIC, CTT_EFORMAT,
              "%s: no idx file of images", path);
    CTT_CHECK(got == HEAD, CTT_EFORMAT, "%s: ends in its header", path);
    CTT_CHECK(word(head + 8) == SIDE && word(head + 12) == SIDE, CTT_EFORMAT,
              "%s: images of %lux%lu, not %dx%d", path,
              (unsigned long)word(head + 12), (unsigned long)word(head + 8),
              SIDE, SIDE);
    CTT_CHECK(word(head + 4) > 0 && word(head + 4) <= IMAGES_MAX, CTT_EFORMAT,
              "%s: says it has %lu images (1 to %d can be)", path,
              (unsigned long)word(head + 4), (int)IMAGES_MAX);
    *count = (int)word(head + 4);
out:
    return rc;
}

/* Makes room for one more chunk; the count of the header is not trusted. */
static int reserve(struct ctt_mnist *m, int count)
{
    int room = 2 * m->room > CHUNK ? 2 * m->room : CHUNK;
    uint8_t *more;

    if (m->room - m->count >= CHUNK || m->room == count)
        return 0;
    room = room < count ? room : count;
    more = ctt_realloc(m->image, (size_t)room * BYTES + 1);
    if (!more)
        return CTT_ENOMEM;
    m->image = more;
    m->room = room;
    return 0;
}

/* With the last image a byte more is asked for: zlib notices that the sum at
 * the end of a gzip file is missing only if it must go on. */
static int read_images(struct ctt_mnist *m, gzFile f, int count)
{
    int rc = 0, got = 0, cut = 0, rest = 0;

    while (m->count < count) {
        int want;

        CTT_TRY(reserve(m, count));
        want = m->room - m->count < CHUNK ? m->room - m->count : CHUNK;
        rest = m->count + want == count;
        CTT_TRY(read_some(f, m->file, m->image + (size_t)m->count * BYTES,
                          want * BYTES + rest, &got, &cut));
        m->count += got / BYTES;
        CTT_CHECK(got >= want * BYTES, CTT_EFORMAT,
                  "%s: ends after %d of %d images", m->file, m->count, count);
        got -= want * BYTES;
    }
    CTT_CHECK(!cut, CTT_EFORMAT, "%s: its gzip data ends without its sum",
              m->file);
    CTT_CHECK(got == 0, CTT_EFORMAT, "%s: goes on after its %d images",
              m->file, count);
out:
    return rc;
}

/* The file to read: path, or the training images in that folder. */
static int find_file(const char *path, char **out)
{
    static const char *const name[] = {
        "train-images-idx3-ubyte", "train-images-idx3-ubyte.gz" };
    enum ctt_disk_kind kind = ctt_disk_kind(path);
    char *file = NULL;
    int rc = 0;

    CTT_CHECK(kind != CTT_DISK_NONE, CTT_EIO, "%s: no such file or folder",
              path);
    file = kind == CTT_DISK_FILE ? ctt_strdup(path) : NULL;
    for (size_t i = 0; kind != CTT_DISK_FILE && i < CTT_LEN(name); i++) {
        ctt_free(file);
        file = ctt_path_join(path, name[i]);
        CTT_TRY(file ? 0 : CTT_ENOMEM);
        kind = ctt_disk_kind(file);
    }
    CTT_TRY(file ? 0 : CTT_ENOMEM);
    CTT_CHECK(kind == CTT_DISK_FILE, CTT_EIO, "%s: no %s(.gz) in it (another "
              "file of images can be named itself)", path, name[0]);
    *out = file;
    file = NULL;
out:
    ctt_free(file);
    return rc;
}

int ctt_mnist_open(const char *path, struct ctt_mnist **out)
{
    struct ctt_mnist *m = ctt_calloc(1, sizeof(*m));
    int64_t size;
    gzFile f = NULL;
    int rc = m ? 0 : CTT_ENOMEM, count = 0, fd = -1;

    CTT_TRY(rc);
    CTT_TRY(find_file(path, &m->file));
    CTT_TRY(ctt_file_open(m->file, &fd, &size));
    f = gzdopen(fd, "rb");
    CTT_CHECK(f, CTT_ENOMEM, "%s: out of memory", m->file);
    fd = -1;    /* f owns it */
    CTT_TRY(read_head(f, m->file, &count));
    CTT_TRY(read_images(m, f, count));
    *out = m;
    m = NULL;
out:
    if (f)
        gzclose(f);
    if (fd >= 0)
        close(fd);
    ctt_mnist_close(&m);
    return rc;
}

void ctt_mnist_close(struct ctt_mnist **m)
{
    if (!*m)
        return;
    ctt_free((*m)->file);
    ctt_free((*m)->image);
    ctt_free(*m);
    *m = NULL;
}

int ctt_mnist_count(const struct ctt_mnist *m)
{
    return m->count;
}

const char *ctt_mnist_file(const struct ctt_mnist *m)
{
    return m->file;
}

uint32_t ctt_mnist_crc(const struct ctt_mnist *m)
{
    return ctt_crc32(0, m->image, 1, (int64_t)m->count * BYTES);
}

/* ---- sequences ---- */

/* Positions are integers, so all machines give the same result: ONE is 1. */
static const int64_t ONE = (int64_t)1 << 40;

/* Random numbers of a digit, by position in its stream of SLOTS. */
enum { IMAGE, X, Y, WAY, SLOTS = 32, DIGITS = 16 };

/* Number of the first sequence of a split; below 2^54, for DIGITS * SLOTS. */
enum { SPLIT_BITS = 48 };

struct mover { const uint8_t *image; int64_t at[2], step[2]; };

int ctt_mnist_first(const char *split, int64_t *first)
{
    int part = ctt_split_number(split), rc = 0;

    CTT_CHECK(part >= 0, CTT_EINVAL, "mnist: no split '%s' (train, validation "
              "or test)", split);
    *first = (int64_t)part << SPLIT_BITS;
out:
    return rc;
}

int ctt_mnist_fits(const char *path, const struct ctt_input *in)
{
    const int side = CTT_MNIST_SIDE;
    int rc = 0;

    CTT_CHECK(in->h == side && in->w == side && in->c == 1, CTT_EINVAL,
              "mnist:%s: makes frames of %dx%dx1, the model wants %dx%dx%d",
              path, side, side, in->w, in->h, in->c);
out:
    return rc;
}

/* Draws a step of 0.1 in a random direction: that of a random point in a
 * circle, by rejection sampling from the square around it (rejected with
 * probability 1 - pi/4), because sine and cosine differ between C libraries. */
static void draw_way(uint64_t key, uint64_t from, struct mover *d)
{
    double far = 0.1 * (double)ONE, half;
    int64_t v[2] = { 65535, 0 };

    for (uint64_t k = WAY; k < SLOTS; k++) {
        uint32_t r = ctt_random(key, from + k);
        int64_t x = 2 * (int64_t)(r & 0xffff) - 65535;
        int64_t y = 2 * (int64_t)(r >> 16) - 65535;

        if (x * x + y * y > (int64_t)65535 * 65535)
            continue;
        v[0] = x;
        v[1] = y;
        break;
    }
    half = sqrt((double)(v[0] * v[0] + v[1] * v[1]));
    for (int k = 0; k < 2; k++)
        d->step[k] = llround(far * ((double)v[k] / half));
}

static void draw_digit(const struct ctt_mnist *m, uint64_t key, uint64_t from,
                       struct mover *d)
{
    uint64_t image = (uint64_t)ctt_random(key, from + IMAGE);

    d->image = m->image + (image * (uint64_t)m->count >> 32) * BYTES;
    for (int k = 0; k < 2; k++)
        d->at[k] = (int64_t)ctt_random(key, from + (uint64_t)(X + k)) << 8;
    draw_way(key, from, d);
}

/* Makes a step, then reflects it at the walls. */
static void move(struct mover *d)
{
    for (int k = 0; k < 2; k++) {
        int64_t at = d->at[k] + d->step[k];

        if (at <= 0 || at >= ONE) {
            at = at <= 0 ? 0 : ONE;
            d->step[k] = -d->step[k];
        }
        d->at[k] = at;
    }
}

static void paint(const struct mover *d, uint8_t *frame)
{
    const uint8_t *from = d->image;
    uint8_t *to = frame + (d->at[1] * RANGE / ONE) * CTT_MNIST_SIDE +
                  d->at[0] * RANGE / ONE;

    for (int y = 0; y < SIDE; y++, from += SIDE, to += CTT_MNIST_SIDE)
        for (int x = 0; x < SIDE; x++)
            to[x] = from[x] > to[x] ? from[x] : to[x];
}

int ctt_mnist_draw(const struct ctt_mnist *m, uint64_t seed, int64_t i,
                   int digits, int frames, uint8_t *out)
{
    const size_t frame = (size_t)CTT_MNIST_SIDE * CTT_MNIST_SIDE;
    struct mover d[CTT_MNIST_DIGITS];
    int rc = 0;

    CTT_CHECK(digits >= 1 && digits <= CTT_MNIST_DIGITS && frames >= 1 &&
              i >= 0 && i < (int64_t)1 << 54, CTT_EINVAL, "mnist: no sequence "
              "%lld of %d digits in %d frames", (long long)i, digits, frames);
    for (int k = 0; k < digits; k++)
        draw_digit(m, seed, ((uint64_t)i * DIGITS + (uint64_t)k) * SLOTS,
                   &d[k]);
    memset(out, 0, frame * (size_t)frames);
    for (int t = 0; t < frames; t++, out += frame)
        for (int k = 0; k < digits; k++) {
            move(&d[k]);
            paint(&d[k], out);
        }
out:
    return rc;
}

int ctt_mnist_frames(const struct ctt_mnist *m, uint64_t seed, int64_t i,
                     int digits, int frames, struct ctt_frames *out)
{
    struct ctt_frames f = { .count = frames, .h = CTT_MNIST_SIDE,
                            .w = CTT_MNIST_SIDE, .c = 1 };
    int rc;

    f.data = ctt_calloc((size_t)f.count * (size_t)f.h, (size_t)f.w);
    CTT_TRY(f.data ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_mnist_draw(m, seed, i, digits, frames, f.data));
    *out = f;
    f.data = NULL;
out:
    ctt_frames_free(&f);
    return rc;
}
