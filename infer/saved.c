/* SPDX-License-Identifier: Apache-2.0
 * saved.c: the file of a saved stream: a header and what the stream remembers,
 * as it lies in memory. */
#include "infer/saved.h"
#include "net/code/zip.h"
#include "base/newfile.h"
#include "run/sample.h"

#include <string.h>
#include <unistd.h>

static const char magic[16] = "convtt stream 1\n";    /* without its 0 */

/* ORDER shows the byte order. */
enum { ORDER = 0x01020304 };
static const int64_t FRAMES_MOST = INT64_C(1) << 48;

/* Fields have no padding between them. */
struct header {
    char     magic[16];
    uint32_t order, kind;
    uint64_t model;
    int64_t  frames, bytes;
    uint64_t mean, square;
    int32_t  seen;
    uint32_t crc;              /* of the file with 0 in this field */
    uint32_t rules;
    int32_t  decision;
};
_Static_assert(sizeof(struct header) == 80, "doc/format.md states the places");

static int alloc_image(struct ctt_saved *s)
{
    s->image = ctt_calloc(sizeof(struct header) +
                          (size_t)(s->bytes + s->decision), 1);
    s->values = s->image ? s->image + sizeof(struct header) : NULL;
    return s->image ? 0 : CTT_ENOMEM;
}

int ctt_saved_new(const struct ctt_run *run, int64_t frames,
                  const struct ctt_pixels *pixels,
                  const struct ctt_decide *decide, struct ctt_saved *s)
{
    int rc = 0;

    *s = (struct ctt_saved){ .frames = frames, .mean = pixels->mean,
        .square = pixels->square, .seen = pixels->frames, .decide = decide,
        .decision = ctt_decide_bytes(decide),
        .bytes = frames ? ctt_sample_bytes(run) : 0 };
    CTT_TRY(alloc_image(s));
    if (s->decision)
        ctt_decide_store(decide, s->values + s->bytes);
out:
    return rc;
}

void ctt_saved_free(struct ctt_saved *s)
{
    ctt_free(s->image);
    s->image = s->values = NULL;
}

/* Hash of a model's text and weights: found once, as late kernels are read from
 * the file for it. */
static int fingerprint(const struct ctt_infer *m, uint64_t *out)
{
    char *text = NULL;
    uint32_t w = 0;
    int rc = 0;

    if ((*out = __atomic_load_n(&m->print, __ATOMIC_RELAXED)))
        goto out;
    text = ctt_net_print(m->model->g);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_model_crc(m->model, &w));
    *out = (uint64_t)ctt_crc32(0, text, 1, (int64_t)strlen(text)) << 32 | w;
    __atomic_store_n((uint64_t *)(uintptr_t)&m->print, *out, __ATOMIC_RELAXED);
out:
    ctt_free(text);
    return rc;
}

/* CRC-32 of the whole file, with the checksum itself as 0. */
static uint32_t checksum(struct ctt_saved *s, struct header *h)
{
    h->crc = 0;
    memcpy(s->image, h, sizeof(*h));
    return ctt_crc32(0, s->image, 1,
                     (int64_t)sizeof(*h) + s->bytes + s->decision);
}

/* A file that is there is replaced if it is a saved stream, of any version, or
 * has no byte: a wrong name costs nobody a model or a clip. */
static int check_replaced(const char *path)
{
    char got[sizeof(magic) - 2];
    int64_t size = 0;
    int fd = -1, rc = 0;

    if (access(path, F_OK) < 0)
        return 0;    /* ctt_file_replace() says why it cannot be written */
    CTT_TRY(ctt_file_open(path, &fd, &size));
    if (size == 0)
        goto out;
    CTT_CHECK(size >= (int64_t)sizeof(got), CTT_EINVAL, "%s: not replaced: the "
              "file that is there is no saved stream", path);
    CTT_TRY(ctt_file_read_at(path, fd, 0, got, sizeof(got)));
    CTT_CHECK(memcmp(got, magic, sizeof(got)) == 0, CTT_EINVAL, "%s: not "
              "replaced: the file that is there is no saved stream", path);
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

int ctt_saved_write(const char *path, const struct ctt_infer *m,
                    const struct ctt_run *run, struct ctt_saved *s)
{
    struct header h = { .order = ORDER, .kind = ctt_sample_kind(run),
        .frames = s->frames, .bytes = s->bytes, .mean = s->mean,
        .square = s->square, .seen = s->seen,
        .decision = (int32_t)s->decision };
    int rc = 0;

    CTT_TRY(check_replaced(path));
    memcpy(h.magic, magic, sizeof(magic));
    CTT_TRY(fingerprint(m, &h.model));
    CTT_TRY(ctt_decide_crc(s->decide, &h.rules));
    h.crc = checksum(s, &h);
    memcpy(s->image, &h, sizeof(h));
    CTT_TRY(ctt_file_replace(path, s->image,
                             (int64_t)sizeof(h) + s->bytes + s->decision));
out:
    return rc;
}

/* ---- reading ---- */

/* Checks sizes before any use of the header. */
static int check_sizes(const char *path, const struct header *h, int64_t size)
{
    size_t version = sizeof(magic) - 2;
    int rc = 0;

    CTT_CHECK(memcmp(h->magic, magic, version) == 0, CTT_EFORMAT,
              "%s: this is no saved stream", path);
    CTT_CHECK(memcmp(h->magic, magic, sizeof(magic)) == 0, CTT_EFORMAT,
              "%s: this stream was saved by another version of convtt", path);
    CTT_CHECK(h->order == ORDER, CTT_EFORMAT, "%s: this stream was saved on "
              "a machine with another order of bytes", path);
    CTT_CHECK(h->bytes >= 0 && h->decision >= 0 && h->bytes ==
              size - (int64_t)sizeof(*h) - h->decision, CTT_EFORMAT,
              "%s: the file is cut short or has more bytes than it should",
              path);
out:
    return rc;
}

/* Checks for numbers that only a forged file with a correct checksum has. */
static int check_numbers(const char *path, const struct header *h)
{
    uint64_t seen = (uint64_t)h->seen, white = CTT_PIXELS_WHITE;
    int rc = 0;

    CTT_CHECK(h->frames >= 0 && h->frames <= FRAMES_MOST && h->seen >= 0 &&
              h->seen <= CTT_PIXELS_MEMORY && h->seen <= h->frames &&
              h->mean <= seen * (white << 32) &&
              h->square <= seen * (white * white << 16), CTT_EFORMAT,
              "%s: numbers of its frames are out of range", path);
out:
    return rc;
}

static int check_same_model(const char *path, const struct ctt_infer *m,
                            const struct ctt_run *run, const struct header *h)
{
    int64_t bytes = h->frames ? ctt_sample_bytes(run) : 0;
    uint64_t model = 0;
    int rc = 0;

    CTT_TRY(fingerprint(m, &model));
    CTT_CHECK(h->model == model, CTT_EINVAL,
              "%s: this stream was saved with another model than %s", path,
              m->path);
    CTT_CHECK(h->kind == ctt_sample_kind(run) && h->bytes == bytes, CTT_EINVAL,
              "%s: this stream was saved with another device or type of values "
              "than it is to go on with", path);
out:
    return rc;
}

/* A stream that decides continues with the same thresholds only. */
static int check_decision(const char *path, const struct header *h,
                          const struct ctt_decide *d)
{
    uint32_t rules;
    int rc = 0;

    CTT_TRY(ctt_decide_crc(d, &rules));
    CTT_CHECK(!h->decision == !d->d, CTT_EINVAL,
              "%s: this stream was saved where streams %s early", path,
              h->decision ? "decide" : "do not decide");
    CTT_CHECK(h->rules == rules, CTT_EINVAL, "%s: this stream was saved with "
              "other thresholds for early decisions", path);
    CTT_CHECK(h->decision == ctt_decide_bytes(d), CTT_EFORMAT,
              "%s: numbers of its decision are out of range", path);
out:
    return rc;
}

static int check_header(const char *path, const struct ctt_infer *m,
                        const struct ctt_run *run, struct header *h,
                        const struct ctt_decide *d, struct ctt_saved *s)
{
    uint32_t crc = h->crc;
    int rc = 0;

    CTT_CHECK(checksum(s, h) == crc, CTT_EFORMAT,
              "%s: the file is damaged: its checksum is wrong", path);
    CTT_TRY(check_numbers(path, h));
    CTT_TRY(check_same_model(path, m, run, h));
    CTT_TRY(check_decision(path, h, d));
    CTT_CHECK(!h->decision ||
              ctt_decide_valid(d, s->values + s->bytes, h->frames), CTT_EFORMAT,
              "%s: numbers of its decision are out of range", path);
    s->frames = h->frames;
    s->mean = h->mean;
    s->square = h->square;
    s->seen = h->seen;
out:
    return rc;
}

/* Reads no more bytes than a stream of this run has. */
static int read_stream(const char *path, int fd, int64_t size,
                       const struct ctt_infer *m, const struct ctt_run *run,
                       const struct ctt_decide *d, struct ctt_saved *s)
{
    struct header h;
    int rc = 0;

    CTT_CHECK(size >= (int64_t)sizeof(h), CTT_EFORMAT,
              "%s: this is no saved stream", path);
    CTT_TRY(ctt_file_read_at(path, fd, 0, &h, sizeof(h)));
    CTT_TRY(check_sizes(path, &h, size));
    CTT_TRY(h.bytes > ctt_sample_bytes(run) ? check_same_model(path, m, run, &h)
                                            : 0);
    if (h.decision > ctt_decide_bytes(d))
        CTT_TRY(check_decision(path, &h, d));
    s->bytes = h.bytes;
    s->decision = h.decision;
    CTT_TRY(alloc_image(s));
    CTT_TRY(ctt_file_read_at(path, fd, (int64_t)sizeof(h), s->values,
                             h.bytes + h.decision));
    CTT_TRY(check_header(path, m, run, &h, d, s));
out:
    return rc;
}

int ctt_saved_read(const char *path, const struct ctt_infer *m,
                   const struct ctt_run *run, const struct ctt_decide *decide,
                   struct ctt_saved *s)
{
    int64_t size;
    int fd = -1, rc = 0;

    *s = (struct ctt_saved){ .frames = 0 };
    CTT_TRY(ctt_file_open(path, &fd, &size));
    CTT_TRY(read_stream(path, fd, size, m, run, decide, s));
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

void ctt_saved_pixels(const struct ctt_saved *s, struct ctt_pixels *pixels)
{
    pixels->frames = s->seen;
    pixels->mean = s->mean;
    pixels->square = s->square;
}

void ctt_saved_decision(const struct ctt_saved *s, struct ctt_decide *decide)
{
    if (s->decision)
        ctt_decide_load(decide, s->values + s->bytes);
}
