/* SPDX-License-Identifier: Apache-2.0
 * infer_store.c: the predicted frames of all clips, in one HDF5 file. */
#include "tools/infer_store.h"
#include "net/h5.h"
#include "net/newfile.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static size_t frame_size(const struct ctt_store *s)
{
    return (size_t)s->in->h * (size_t)s->in->w * (size_t)s->in->c;
}

/* Needs memory for true and predicted frames, and again for the file's image.
 * Checked first, because a system that overcommits memory kills the program. */
int ctt_store_open(struct ctt_store *s, int clips)
{
    size_t size = frame_size(s);
    int64_t n = (int64_t)clips * s->ahead;    /* < 2^44 */
    int64_t most = sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    double need = 4.0 * sizeof(float) * (double)n * (double)size;
    int rc = 0;

    CTT_CHECK(need <= (double)most, CTT_EINVAL, "%s: %d clips need %.0f MB, "
              "more than this machine has", s->path, clips, need * 0x1p-20);
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

int ctt_store_write(const struct ctt_store *s)
{
    const struct ctt_input *in = s->in;
    struct ctt_h5_shape shape = { .size = sizeof(float), .rank = 5,
        .dim = { s->clips, s->ahead, in->h, in->w, in->c } };
    struct ctt_h5_shape text = { .size = 1, .rank = 1 };
    int64_t n = (int64_t)s->clips * s->ahead * (int64_t)frame_size(s), size;
    uint8_t *image = NULL;
    struct ctt_h5 *f = NULL;
    char *names = NULL;
    int rc;

    CTT_TRY(join_names(s, &names, &text.dim[0]));
    CTT_TRY(ctt_h5_new(s->path, text.dim[0] +
                       n * (int64_t)sizeof(float) * (1 + s->any_truth), 3,
                       &f));
    CTT_TRY(ctt_h5_put_int(f, "seen", s->seen));
    CTT_TRY(ctt_h5_write(f, "clips", &text, names));
    CTT_TRY(ctt_h5_write(f, "prediction", &shape, s->guess));
    if (s->any_truth)
        CTT_TRY(ctt_h5_write(f, "truth", &shape, s->truth));
    CTT_TRY(ctt_h5_image(f, &image, &size));
    CTT_TRY(ctt_file_replace(s->path, image, size));
out:
    ctt_free(names);
    ctt_free(image);
    ctt_h5_close(&f);
    return rc;
}
