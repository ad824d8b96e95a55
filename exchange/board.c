/* SPDX-License-Identifier: Apache-2.0
 * board.c: files of events for TensorBoard. */
#include "exchange/board.h"
#include "exchange/write/proto.h"
#include "net/file/card.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096, BINS = 30, FILES = 10000 };

/* Numbers of fields in event.proto and summary.proto. */
enum { WALL_TIME = 1, STEP, VERSION, SUMMARY = 5, SESSION = 7 };
enum { STATUS = 1, START = 1 };
enum { VALUE = 1 };
enum { TAG = 1, SIMPLE = 2, IMAGE = 4, SPREAD = 5 };
enum { HEIGHT = 1, WIDTH, SPACE, ENCODED };
enum { LEAST = 1, MOST, COUNT, SUM, SQUARES, LIMITS, BUCKETS };

struct ctt_board {
    FILE            *f;
    char             path[PATH];
    struct ctt_proto summary;
};

/* ---- records ---- */

/* CRC-32C (Castagnoli), a bit at a time: the files are small. */
static uint32_t crc32c(const uint8_t *p, int64_t n)
{
    uint32_t crc = 0xffffffff;

    for (int64_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (0x82f63b78 & -(crc & 1));
    }
    return ~crc;
}

static void put_bytes(uint8_t *to, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)(x >> 8 * i);
}

/* The sum of a record is turned and shifted, as a record may hold sums. */
static void put_crc(uint8_t to[4], const uint8_t *p, int64_t n)
{
    uint32_t crc = crc32c(p, n);

    put_bytes(to, (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u), 4);
}

static int write_record(struct ctt_board *b, const struct ctt_proto *event)
{
    uint8_t head[12], tail[4];
    int rc = event->rc;

    CTT_TRY(rc);
    put_bytes(head, (uint64_t)event->n, 8);
    put_crc(head + 8, head, 8);
    put_crc(tail, event->p, event->n);
    CTT_CHECK(fwrite(head, sizeof(head), 1, b->f) == 1 &&
              fwrite(event->p, (size_t)event->n, 1, b->f) == 1 &&
              fwrite(tail, sizeof(tail), 1, b->f) == 1 &&
              fflush(b->f) == 0, CTT_EIO, "%s: %s", b->path, strerror(errno));
out:
    return rc;
}

/* The time is that of SOURCE_DATE_EPOCH if that is set. */
static int begin_event(struct ctt_proto *event, int64_t step)
{
    time_t now;
    int rc = ctt_card_time(&now);

    CTT_TRY(rc);
    ctt_proto_double(event, WALL_TIME, (double)now);
    ctt_proto_int(event, STEP, step);
out:
    return rc;
}

/* ---- the file ---- */

int ctt_board_folder(const char *dir)
{
    struct stat st;
    int rc = 0;

    CTT_CHECK(mkdir(dir, 0777) == 0 || errno == EEXIST, CTT_EIO, "%s: %s", dir,
              strerror(errno));
    CTT_CHECK(stat(dir, &st) == 0 && access(dir, W_OK | X_OK) == 0, CTT_EIO,
              "%s: %s", dir, strerror(errno));
    CTT_CHECK(S_ISDIR(st.st_mode), CTT_EIO, "%s: not a folder", dir);
out:
    return rc;
}

static int make_file(const char *dir, struct ctt_board *b)
{
    time_t now;
    int rc, fd = -1;

    CTT_TRY(ctt_board_folder(dir));
    CTT_TRY(ctt_card_time(&now));
    for (int n = 0; fd < 0 && n < FILES; n++) {
        CTT_CHECK(snprintf(b->path, PATH, "%s/events.out.tfevents.%010lld.%d"
                           ".convtt", dir, (long long)now, n) < PATH, CTT_EIO,
                  "%.100s...: the path is too long", dir);
        fd = open(b->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        CTT_CHECK(fd >= 0 || errno == EEXIST, CTT_EIO, "%s: %s", b->path,
                  strerror(errno));
    }
    CTT_CHECK(fd >= 0, CTT_EIO, "%s: too many files of events", dir);
    b->f = fdopen(fd, "w");
    CTT_CHECK(b->f, CTT_ENOMEM, "%s: out of memory", b->path);
    fd = -1;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* The first event names the form of the file, the second begins a session:
 * TensorBoard then drops older events from its step on. */
static int write_heads(struct ctt_board *b, int64_t step)
{
    struct ctt_proto event = { NULL, 0, 0, 0 }, session = { NULL, 0, 0, 0 };
    int rc;

    CTT_TRY(begin_event(&event, 0));
    ctt_proto_text(&event, VERSION, "brain.Event:2");
    CTT_TRY(write_record(b, &event));
    event.n = 0;
    CTT_TRY(begin_event(&event, step));
    ctt_proto_int(&session, STATUS, START);
    ctt_proto_message(&event, SESSION, &session);
    CTT_TRY(write_record(b, &event));
out:
    ctt_proto_free(&event);
    ctt_proto_free(&session);
    return rc;
}

int ctt_board_open(const char *dir, int64_t step, struct ctt_board **out)
{
    struct ctt_board *b = ctt_calloc(1, sizeof(*b));
    int rc = b ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(make_file(dir, b));
    CTT_TRY(write_heads(b, step));
    *out = b;
    b = NULL;
out:
    if (b)
        ctt_board_close(&b);
    return rc;
}

int ctt_board_write(struct ctt_board *b, int64_t step)
{
    struct ctt_proto event = { NULL, 0, 0, 0 };
    int rc;

    CTT_TRY(begin_event(&event, step));
    ctt_proto_message(&event, SUMMARY, &b->summary);
    CTT_TRY(write_record(b, &event));
out:
    ctt_proto_free(&event);
    ctt_proto_free(&b->summary);
    return rc;
}

int ctt_board_close(struct ctt_board **b)
{
    int rc = 0;

    if (!*b)
        return 0;
    if ((*b)->f && fclose((*b)->f) != 0)
        rc = ctt_error(CTT_EIO, "%s: %s", (*b)->path, strerror(errno));
    ctt_proto_free(&(*b)->summary);
    ctt_free(*b);
    *b = NULL;
    return rc;
}

/* ---- values ---- */

/* Adds a value with that tag; frees its message. */
static void add_value(struct ctt_board *b, const char *tag,
                      struct ctt_proto *value)
{
    ctt_proto_text(value, TAG, tag);
    ctt_proto_message(&b->summary, VALUE, value);
    ctt_proto_free(value);
}

void ctt_board_number(struct ctt_board *b, const char *tag, double x)
{
    struct ctt_proto value = { NULL, 0, 0, 0 };

    if (!isfinite(x))
        return;
    ctt_proto_float(&value, SIMPLE, (float)x);
    add_value(b, tag, &value);
}

/* The numbers of x in BINS equal parts of low to high. */
static void count_bins(const float *x, int64_t n, double low, double high,
                       int64_t bin[BINS])
{
    double scale = high > low ? BINS / (high - low) : 0;

    memset(bin, 0, BINS * sizeof(*bin));
    for (int64_t i = 0; i < n; i++) {
        int k = (int)((x[i] - low) * scale);

        bin[k < BINS ? k : BINS - 1]++;
    }
}

static void put_bins(struct ctt_proto *spread, double low, double high,
                     const int64_t bin[BINS])
{
    struct ctt_proto limits = { NULL, 0, 0, 0 }, counts = { NULL, 0, 0, 0 };

    for (int k = 0; k < BINS; k++) {
        ctt_proto_real(&limits, low + (high - low) * (k + 1) / BINS);
        ctt_proto_real(&counts, (double)bin[k]);
    }
    ctt_proto_message(spread, LIMITS, &limits);
    ctt_proto_message(spread, BUCKETS, &counts);
    ctt_proto_free(&limits);
    ctt_proto_free(&counts);
}

void ctt_board_spread(struct ctt_board *b, const char *tag, const float *x,
                      int64_t n)
{
    struct ctt_proto value = { NULL, 0, 0, 0 }, spread = { NULL, 0, 0, 0 };
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    int64_t bin[BINS];

    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
        sum += x[i];
        squares += (double)x[i] * x[i];
    }
    if (n == 0 || !isfinite(sum))
        return;
    ctt_proto_double(&spread, LEAST, low);
    ctt_proto_double(&spread, MOST, high);
    ctt_proto_double(&spread, COUNT, (double)n);
    ctt_proto_double(&spread, SUM, sum);
    ctt_proto_double(&spread, SQUARES, squares);
    count_bins(x, n, low, high, bin);
    put_bins(&spread, low, high, bin);
    ctt_proto_message(&value, SPREAD, &spread);
    add_value(b, tag, &value);
    ctt_proto_free(&spread);
}

void ctt_board_picture(struct ctt_board *b, const char *tag,
                       const uint8_t *png, int64_t size, int w, int h, int c)
{
    struct ctt_proto value = { NULL, 0, 0, 0 }, image = { NULL, 0, 0, 0 };

    ctt_proto_int(&image, HEIGHT, h);
    ctt_proto_int(&image, WIDTH, w);
    ctt_proto_int(&image, SPACE, c);
    ctt_proto_bytes(&image, ENCODED, png, size);
    ctt_proto_message(&value, IMAGE, &image);
    add_value(b, tag, &value);
    ctt_proto_free(&image);
}
