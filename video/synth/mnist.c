/* SPDX-License-Identifier: Apache-2.0
 * mnist.c: generates Moving-MNIST from the digits of an idx file. */
#include "net/code/zip.h"
#include "base/random.h"
#include "video/disk.h"
#include "video/synth/idx.h"
#include "video/list/split.h"
#include "video/video.h"

#include <math.h>
#include <string.h>

enum {
    SIDE = 28, BYTES = SIDE * SIDE,    /* of an image */
    RANGE = CTT_MNIST_SIDE - SIDE      /* of the corner, in pixels */
};

struct ctt_mnist { struct ctt_idx idx; };

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
    int rc = m ? 0 : CTT_ENOMEM;
    char *file = NULL;

    CTT_TRY(rc);
    CTT_TRY(find_file(path, &file));
    CTT_TRY(ctt_idx_open(file, CTT_IDX_IMAGES, SIDE, &m->idx));
    *out = m;
    m = NULL;
out:
    ctt_free(file);
    ctt_mnist_close(&m);
    return rc;
}

void ctt_mnist_close(struct ctt_mnist **m)
{
    if (!*m)
        return;
    ctt_idx_close(&(*m)->idx);
    ctt_free(*m);
    *m = NULL;
}

int ctt_mnist_count(const struct ctt_mnist *m)
{
    return m->idx.count;
}

const char *ctt_mnist_file(const struct ctt_mnist *m)
{
    return m->idx.file;
}

uint32_t ctt_mnist_crc(const struct ctt_mnist *m)
{
    return ctt_crc32(0, m->idx.data, 1, (int64_t)m->idx.count * BYTES);
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

    d->image = m->idx.data +
               (image * (uint64_t)m->idx.count >> 32) * BYTES;
    for (int k = 0; k < 2; k++)
        d->at[k] = (int64_t)ctt_random(key, from + (uint64_t)(X + k)) << 8;
    draw_way(key, from, d);
}

/* Makes a step, then reflects it at the walls. */
static void move_digit(struct mover *d)
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
            move_digit(&d[k]);
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
