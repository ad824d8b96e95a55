/* SPDX-License-Identifier: Apache-2.0
 * zip.c: finds the files of a zip archive by its central directory (PKWARE,
 * APPNOTE 6.3). */
#include "exchange/weights/pth.h"
#include "net/code/zip.h"

#include <stdlib.h>
#include <string.h>

enum { END = 22, ENTRY = 46, LOCAL = 30, COMMENT_MOST = 65535,
       STORED = 0, ENCRYPTED = 1 };

static int64_t two(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

static int64_t four(const uint8_t *p)
{
    return two(p) | two(p + 2) << 16;
}

/* The record at the end, before a comment; NULL: there is none. */
static const uint8_t *find_end(const uint8_t *image, int64_t size)
{
    int64_t first = size - END - COMMENT_MOST;

    for (int64_t at = size - END; at >= 0 && at >= first; at--)
        if (memcmp(image + at, "PK\5\6", 4) == 0 &&
            at + END + two(image + at + 20) == size)
            return image + at;
    return NULL;
}

/* The data lies behind a second head, at an offset that the first one has. */
static int find_data(const char *path, const uint8_t *image, int64_t size,
                     const uint8_t *entry, struct ctt_zipped *f)
{
    int64_t at = four(entry + 42);
    int rc = 0;

    CTT_CHECK(four(entry + 20) != UINT32_MAX && at != UINT32_MAX, CTT_EUNSUP,
              "%s: an archive of 4 GiB or more", path);
    CTT_CHECK(two(entry + 10) == STORED && !(two(entry + 8) & ENCRYPTED) &&
              four(entry + 20) == four(entry + 24), CTT_EUNSUP, "%s: %.*s is "
              "compressed; torch.save() stores files as they are", path,
              f->length, f->name);
    CTT_CHECK(at <= size - LOCAL && memcmp(image + at, "PK\3\4", 4) == 0,
              CTT_EFORMAT, "%s: %.*s begins nowhere", path, f->length, f->name);
    at += LOCAL + two(image + at + 26) + two(image + at + 28);
    CTT_CHECK(at <= size && f->size <= size - at, CTT_EFORMAT, "%s: %.*s ends "
              "behind the file", path, f->length, f->name);
    f->data = image + at;
out:
    return rc;
}

/* Writers may leave the checksum out, as 0. */
static int check_data(const char *path, const struct ctt_zipped *f)
{
    int rc = 0;

    CTT_CHECK(f->crc == 0 || ctt_crc32(0, f->data, 1, f->size) == f->crc,
              CTT_EFORMAT, "%s: %.*s is damaged (CRC-32)", path, f->length,
              f->name);
out:
    return rc;
}

/* Takes an entry of the directory, which ends at `end`; *next: the one behind
 * it. */
static int take_entry(const char *path, const uint8_t *image, int64_t size,
                      const uint8_t *entry, const uint8_t *end,
                      struct ctt_zip *z, const uint8_t **next)
{
    struct ctt_zipped *f = &z->file[z->count];
    int rc = 0;

    CTT_CHECK(end - entry >= ENTRY && memcmp(entry, "PK\1\2", 4) == 0,
              CTT_EFORMAT, "%s: its list of files is damaged", path);
    *next = entry + ENTRY + two(entry + 28) + two(entry + 30) + two(entry + 32);
    CTT_CHECK(*next <= end, CTT_EFORMAT, "%s: its list of files is damaged",
              path);
    *f = (struct ctt_zipped){ (const char *)entry + ENTRY,
                              (int)two(entry + 28), NULL, four(entry + 24),
                              (uint32_t)four(entry + 16) };
    CTT_CHECK(!memchr(f->name, 0, (size_t)f->length), CTT_EFORMAT, "%s: a name "
              "in its list of files has a 0", path);
    CTT_TRY(find_data(path, image, size, entry, f));
    z->count++;
out:
    return rc;
}

static int by_file_name(const void *a, const void *b)
{
    const struct ctt_zipped *x = a, *y = b;
    int n = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->name, y->name, (size_t)n);

    return order ? order : x->length - y->length;
}

int ctt_zip_open(const char *path, const uint8_t *image, int64_t size,
                 struct ctt_zip *out)
{
    struct ctt_zip z = { NULL, 0 };
    const uint8_t *end = size >= END ? find_end(image, size) : NULL, *entry;
    int64_t files, total = 0;
    int rc = 0;

    CTT_CHECK(end, CTT_EFORMAT, "%s: an archive without its end", path);
    files = two(end + 10);
    CTT_CHECK(files < UINT16_MAX && four(end + 16) != UINT32_MAX, CTT_EUNSUP,
              "%s: an archive of 4 GiB or of 65535 files or more", path);
    CTT_CHECK(four(end + 16) <= end - image, CTT_EFORMAT, "%s: its list of "
              "files begins behind its end", path);
    entry = image + four(end + 16);
    z.file = ctt_calloc((size_t)files + 1, sizeof(*z.file));
    CTT_TRY(z.file ? 0 : CTT_ENOMEM);
    while (z.count < files) {
        CTT_TRY(take_entry(path, image, size, entry, end, &z, &entry));
        total += z.file[z.count - 1].size;
        CTT_CHECK(total <= size, CTT_EFORMAT, "%s: its files share bytes",
                  path);
        CTT_TRY(check_data(path, &z.file[z.count - 1]));
    }
    qsort(z.file, (size_t)z.count, sizeof(*z.file), by_file_name);
    for (int i = 1; i < z.count; i++)
        CTT_CHECK(by_file_name(&z.file[i - 1], &z.file[i]) != 0, CTT_EFORMAT,
                  "%s: has %.*s twice", path, z.file[i].length,
                  z.file[i].name);
    *out = z;
    z.file = NULL;
out:
    ctt_zip_close(&z);
    return rc;
}

void ctt_zip_close(struct ctt_zip *z)
{
    ctt_free(z->file);
    *z = (struct ctt_zip){ NULL, 0 };
}

const struct ctt_zipped *ctt_zip_find(const struct ctt_zip *z,
                                      const char *name)
{
    struct ctt_zipped key = { name, (int)strlen(name), NULL, 0, 0 };

    return z->count ? bsearch(&key, z->file, (size_t)z->count,
                              sizeof(*z->file), by_file_name) : NULL;
}
