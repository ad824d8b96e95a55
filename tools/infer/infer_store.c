/* SPDX-License-Identifier: Apache-2.0
 * infer_store.c: the predicted frames of all clips, in one HDF5 file. */
#include "tools/infer/infer_predict.h"
#include "net/file/h5.h"
#include "base/limits.h"
#include "base/newfile.h"

#include <math.h>
#include <string.h>

static size_t frame_size(const struct ctt_store *s)
{
    return (size_t)s->in->h * (size_t)s->in->w * (size_t)s->in->c;
}

/* Needs memory for true and predicted frames, and again for the file's image.
 */
int ctt_store_open(struct ctt_store *s, int clips)
{
    size_t size = frame_size(s);
    int64_t n = (int64_t)clips * s->ahead;    /* < 2^44 */
    double need = 4.0 * sizeof(float) * (double)n * (double)size;
    int rc = 0;

    CTT_TRY(ctt_memory_check(s->path, need < 0x1p62 ? (int64_t)need
                                                    : INT64_MAX));
    s->truth = ctt_calloc((size_t)n * size, sizeof(float));
    s->guess = ctt_calloc((size_t)n * size, sizeof(float));
    s->name = ctt_calloc((size_t)clips, sizeof(*s->name));
    CTT_TRY(s->truth && s->guess && s->name ? 0 : CTT_ENOMEM);
out:
    return rc;
}

void ctt_store_clear(struct ctt_store *s)
{
    ctt_free(s->truth);
    ctt_free(s->guess);
    ctt_free(s->name);
}

void ctt_store_add(struct ctt_store *s, const char *name, const float *truth,
                   int known, const float *guess)
{
    size_t size = frame_size(s), n = (size_t)s->ahead * size;
    size_t there = (size_t)(known - s->seen) * size;
    float *to = s->truth + (size_t)s->clips * n;

    memcpy(s->guess + (size_t)s->clips * n, guess, n * sizeof(float));
    memcpy(to, truth + (size_t)s->seen * size, there * sizeof(float));
    for (size_t i = there; i < n; i++)
        to[i] = NAN;
    s->name[s->clips++] = name;
    s->any_truth |= there > 0;
}

/* Concatenates the clips' names, each ended by a 0. */
static int join_names(const struct ctt_store *s, char **out, int64_t *size)
{
    size_t n = 0;
    char *text;

    for (int i = 0; i < s->clips; i++)
        n += strlen(s->name[i]) + 1;
    text = *out = ctt_calloc(n, 1);
    if (!text)
        return CTT_ENOMEM;
    for (int i = 0; i < s->clips; i++) {
        strcpy(text, s->name[i]);
        text += strlen(text) + 1;
    }
    *size = (int64_t)n;
    return 0;
}

/* The datasets of a file, and their data. */
enum { SETS = 3 };

struct sets {
    int count;
    struct {
        const char         *name;
        struct ctt_h5_shape shape;
        const void         *data;
    } set[SETS];
};

static void add_set(struct sets *y, const char *name,
                    const struct ctt_h5_shape *shape, const void *data)
{
    y->set[y->count].name = name;
    y->set[y->count].shape = *shape;
    y->set[y->count++].data = data;
}

static int make_image(const struct ctt_store *s, const struct sets *y,
                      uint8_t **image, int64_t *size)
{
    struct ctt_h5 *f = NULL;
    int64_t bytes = 0;
    int rc = 0;

    for (int i = 0; i < y->count; i++) {
        const struct ctt_h5_shape *x = &y->set[i].shape;
        int64_t n = x->size;
        for (int k = 0; k < x->rank; k++)
            n *= x->dim[k];
        bytes += n;
    }
    CTT_TRY(ctt_h5_new(s->path, bytes, y->count, &f));
    CTT_TRY(ctt_h5_put_int(f, "seen", s->seen));
    for (int i = 0; i < y->count; i++)
        CTT_TRY(ctt_h5_write(f, y->set[i].name, &y->set[i].shape,
                             y->set[i].data));
    CTT_TRY(ctt_h5_image(f, image, size));
out:
    ctt_h5_close(&f);
    return rc;
}

/* The bytes to be written are read again. */
static int check_image(const struct ctt_store *s, const struct sets *y,
                       const uint8_t *image, int64_t size)
{
    struct ctt_h5 *f = NULL;
    int rc = 0, seen;

    CTT_TRY(ctt_h5_open_image(s->path, image, size, &f));
    CTT_TRY(ctt_h5_get_int(f, "seen", &seen));
    CTT_CHECK(seen == s->seen, CTT_EIO, "%s: not written: HDF5 changed 'seen'",
              s->path);
    for (int i = 0; i < y->count; i++)
        CTT_TRY(ctt_h5_check(f, y->set[i].name, &y->set[i].shape,
                             y->set[i].data));
out:
    ctt_h5_close(&f);
    return rc;
}

int ctt_store_write(const struct ctt_store *s)
{
    const struct ctt_input *in = s->in;
    struct ctt_h5_shape shape = { .size = sizeof(float), .rank = 5,
        .dim = { s->clips, s->ahead, in->h, in->w, in->c } };
    struct ctt_h5_shape text = { .size = 1, .rank = 1 };
    struct sets y = { .count = 0 };
    uint8_t *image = NULL;
    char *names = NULL;
    int64_t size;
    int rc;

    CTT_TRY(join_names(s, &names, &text.dim[0]));
    add_set(&y, "clips", &text, names);
    add_set(&y, "prediction", &shape, s->guess);
    if (s->any_truth)
        add_set(&y, "truth", &shape, s->truth);
    CTT_TRY(make_image(s, &y, &image, &size));
    CTT_TRY(check_image(s, &y, image, size));
    CTT_TRY(ctt_file_replace(s->path, image, size));
out:
    ctt_free(names);
    ctt_free(image);
    return rc;
}
