/* SPDX-License-Identifier: Apache-2.0
 * h5.c: the bytes of HDF5 files: read, checked, completed; and calling HDF5
 * safely. */
#include "net/file/h5_in.h"
#include "base/limits.h"
#include "base/newfile.h"
#include "net/code/zip.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Space at the end of an image, and an upper bound of what HDF5 adds to an
 * object in it; the memory that HDF5 1.10 allocates for a file, and for each of
 * its objects until its cache is full. */
enum { SLACK = 1 << 17, OBJECT = 1 << 10, RESERVE = 2 << 20,
       RESERVE_EACH = 10 << 10, RESERVE_OBJECTS = 2200 };

/* ---- calling HDF5 ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ctt_h5_enter_anyway(struct ctt_h5_quiet *q)
{
    pthread_mutex_lock(&lock);
    H5Eget_auto2(H5E_DEFAULT, &q->func, &q->data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

int ctt_h5_enter(struct ctt_h5_quiet *q, int objects)
{
    int n = objects < RESERVE_OBJECTS ? objects : RESERVE_OBJECTS, rc;

    pthread_mutex_lock(&lock);
    rc = ctt_memory_spare(RESERVE + (size_t)n * RESERVE_EACH);
    pthread_mutex_unlock(&lock);
    if (rc >= 0)
        ctt_h5_enter_anyway(q);
    return rc;
}

int ctt_h5_leave(const struct ctt_h5_quiet *q, int rc)
{
    H5Eset_auto2(H5E_DEFAULT, q->func, q->data);
    pthread_mutex_unlock(&lock);
    return rc;
}

struct reason {
    char text[200];
    int  memory;
};

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *reason)
{
    struct reason *r = reason;

    if (n == 0 && e->desc)
        snprintf(r->text, sizeof(r->text), "%s", e->desc);
    r->memory |= e->maj_num == H5E_RESOURCE && e->min_num == H5E_NOSPACE;
    return 0;
}

int ctt_h5_failed(const char *path, const char *name)
{
    struct reason r = { .text = "no reason given" };

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &r);
    return ctt_error(r.memory ? CTT_ENOMEM : CTT_EFORMAT, "%s: %s: HDF5: %s",
                     path, name, r.text);
}

void ctt_h5_stay_open(void)
{
    H5dont_atexit();
}

/* ---- the end of a file ---- */

void ctt_h5_end_of(uint32_t crc, char end[CTT_H5_END])
{
    char text[CTT_H5_END + 1];

    snprintf(text, sizeof(text), CTT_MODEL_MAGIC "%08" PRIx32 "\n", crc);
    memcpy(end, text, CTT_H5_END);
}

void ctt_h5_end(const uint8_t *p, int64_t n, char end[CTT_H5_END])
{
    ctt_h5_end_of(ctt_crc32(0, p, 1, n), end);
}

/* The kind of a file that is no HDF5, in words. */
static const char *other_kind(const uint8_t *p)
{
    static const struct { int at; const char *sign, *word; } kinds[] = {
        { 4, "ftyp", "a video; the model comes first" },
        { 0, "\x1a\x45\xdf\xa3", "a video; the model comes first" },
        { 0, "RIFF", "a video; the model comes first" },
        { 1, "PNG", "a picture; the model comes first" },
        { 0, "\xff\xd8\xff", "a picture; the model comes first" },
    };
    int text = 1;

    for (int i = 0; i < 8; i++)
        text &= (p[i] >= ' ' && p[i] < 0x7f) || p[i] == '\n';
    if (text)
        return "a text; a model text is trained first, by convtt-train";
    for (size_t i = 0; i < CTT_LEN(kinds); i++)
        if (memcmp(p + kinds[i].at, kinds[i].sign, strlen(kinds[i].sign)) == 0)
            return kinds[i].word;
    return "no HDF5 signature";
}

static int check_sign(const char *path, const uint8_t *p)
{
    static const uint8_t sign[] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a,
                                    '\n' };
    int rc = 0;

    CTT_CHECK(memcmp(p, sign, sizeof(sign)) == 0, CTT_EFORMAT,
              "%s: not a model file (%s)", path, other_kind(p));
out:
    return rc;
}

/* end: the last n bytes of the file. */
static int check_end(const char *path, const uint8_t *end, int64_t n)
{
    enum ctt_kind kind = ctt_kind_of(end, n);
    int rc = 0;

    CTT_CHECK(kind == CTT_KIND_MODEL || kind == CTT_KIND_OTHER, CTT_EFORMAT,
              "%s: %s, not a model", path, ctt_kind_word(kind));
    CTT_CHECK(kind == CTT_KIND_MODEL, CTT_EFORMAT,
              "%s: no whole model of convtt: cut short, changed, or made by "
              "another program (models of others: convtt-info --import)", path);
out:
    return rc;
}

/* Checks a file before HDF5 sees it. */
static int check_image(const char *path, const uint8_t *p, int64_t size)
{
    char end[CTT_H5_END];
    int rc = 0;

    CTT_CHECK(size > 0, CTT_EFORMAT, "%s: the file is empty", path);
    CTT_CHECK(size > CTT_H5_END, CTT_EFORMAT, "%s: not a model file", path);
    CTT_TRY(check_sign(path, p));
    CTT_TRY(check_end(path, p, size));
    size -= CTT_H5_END;
    ctt_h5_end(p, size, end);
    CTT_CHECK(memcmp(p + size, end, CTT_H5_END) == 0, CTT_EFORMAT,
              "%s: damaged (CRC-32)", path);
out:
    return rc;
}

/* ---- files on disk ---- */

/* Looks at both ends of a file before its size in memory is requested. */
int ctt_h5_check_ends(const char *path, int fd, int64_t size)
{
    uint8_t ends[2 * CTT_PACK_END] = { 0 };
    int64_t n = size < CTT_PACK_END ? size : CTT_PACK_END;
    int rc = 0;

    CTT_TRY(ctt_file_read_at(path, fd, 0, ends, n));
    if (size <= CTT_PACK_END)
        return check_image(path, ends, size);
    CTT_TRY(ctt_file_read_at(path, fd, size - n, ends + n, n));
    CTT_TRY(check_sign(path, ends));
    CTT_TRY(check_end(path, ends + n, n));
out:
    return rc;
}

/* The whole file; the caller frees *out. */
static int read_file(const char *path, uint8_t **out, int64_t *size)
{
    uint8_t *p = NULL;
    int rc = 0, fd = -1;

    CTT_TRY(ctt_file_open(path, &fd, size));
    CTT_TRY(ctt_h5_check_ends(path, fd, *size));
    p = ctt_calloc_full((size_t)*size, 1);
    if (!p)
        CTT_TRY(ctt_error(CTT_ENOMEM, "%s: %s", path, ctt_errmsg()));
    CTT_TRY(ctt_file_read_at(path, fd, 0, p, *size));
    *out = p;
    p = NULL;
out:
    ctt_free(p);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- open files ---- */

/* The caller may let f own the image. */
static int new_file(const char *path, uint8_t *image, int64_t bytes,
                    int64_t room, int objects, struct ctt_h5 **out)
{
    struct ctt_h5 *f = ctt_calloc(1, sizeof(*f));
    struct ctt_h5_quiet q;
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->file = -1;
    f->image = image;
    f->bytes = bytes;
    f->room = room;
    f->objects = objects;
    f->path = ctt_strdup(path);
    CTT_TRY(f->path ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_h5_enter(&q, objects));
    CTT_TRY(ctt_h5_leave(&q, bytes ? ctt_h5_image_open(f) :
                                     ctt_h5_image_make(f)));
    *out = f;
    f = NULL;
out:
    ctt_h5_close(&f);
    return rc;
}

int ctt_h5_open_image(const char *path, const uint8_t *p, int64_t size,
                      struct ctt_h5 **out)
{
    int rc = 0;

    CTT_TRY(check_image(path, p, size));
    size -= CTT_H5_END;
    CTT_TRY(new_file(path, (uint8_t *)(uintptr_t)p, size, size, 0, out));
out:
    return rc;
}

int ctt_h5_open(const char *path, struct ctt_h5 **out)
{
    uint8_t *p = NULL;
    int64_t size = 0;
    int rc = 0;

    CTT_TRY(read_file(path, &p, &size));
    CTT_TRY(ctt_h5_open_image(path, p, size, out));
    (*out)->owns = 1;
    p = NULL;
out:
    ctt_free(p);
    return rc;
}

int ctt_h5_new(const char *path, int64_t bytes, int objects,
               struct ctt_h5 **out)
{
    int64_t room = bytes + (int64_t)objects * OBJECT + SLACK;
    uint8_t *p = ctt_calloc((size_t)room, 1);
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(new_file(path, p, 0, room, objects, out));
    (*out)->owns = 1;
    p = NULL;
out:
    ctt_free(p);
    return rc;
}

/* Keeps a file that HDF5 could not close, as HDF5 uses the image again when the
 * program ends. */
static void keep_stuck(struct ctt_h5 *f)
{
    static struct ctt_h5 *kept;

    f->next = kept;
    kept = f;
}

void ctt_h5_close(struct ctt_h5 **f)
{
    struct ctt_h5_quiet q;

    if (!*f)
        return;
    ctt_h5_enter_anyway(&q);
    if ((*f)->file > 0 && H5Fclose((*f)->file) < 0)
        (*f)->stuck = 1;
    if ((*f)->stuck)
        keep_stuck(*f);
    else if ((*f)->id > 0)
        H5FDunregister((*f)->id);
    ctt_h5_leave(&q, 0);
    if (!(*f)->stuck) {
        if ((*f)->owns)
            ctt_free((*f)->image);
        if ((*f)->crc)
            close((*f)->fd);
        ctt_free((*f)->crc);
        ctt_free((*f)->block);
        ctt_free((*f)->path);
        ctt_free(*f);
    }
    *f = NULL;
}

void ctt_h5_expect(struct ctt_h5 *f, int objects)
{
    f->objects = objects;
}

const char *ctt_h5_path(const struct ctt_h5 *f)
{
    return f->path;
}

int64_t ctt_h5_bytes(const struct ctt_h5 *f)
{
    return f->bytes + CTT_H5_END;
}

/* ---- completing a new file ---- */

/* The superblock (version 2) says at 28 where the file ends. */
static int64_t end_of(const struct ctt_h5 *f)
{
    const uint8_t *p = f->image;
    uint64_t end = 0;

    for (int i = 0; i < 8; i++)
        end |= (uint64_t)p[28 + i] << 8 * i;
    return end > 0 && end <= (uint64_t)f->room - CTT_H5_END ? (int64_t)end : -1;
}

static int close_file(struct ctt_h5 *f)
{
    hid_t file = f->file;
    int rc = 0;

    f->file = -1;
    f->stuck = 1;
    CTT_H5(f, "file", H5Fclose(file));
    f->stuck = 0;
out:
    return rc;
}

int ctt_h5_image(struct ctt_h5 *f, uint8_t **out, int64_t *size)
{
    struct ctt_h5_quiet q;
    int64_t n;
    int rc = 0;

    CTT_TRY(ctt_h5_enter(&q, f->objects));
    CTT_TRY(ctt_h5_leave(&q, close_file(f)));
    n = end_of(f);
    CTT_CHECK(n > 0, CTT_EIO, "%s: HDF5 made no file image", f->path);
    ctt_h5_end(f->image, n, (char *)f->image + n);
    *size = n + CTT_H5_END;
    *out = f->image;
    f->image = NULL;
out:
    return rc;
}
