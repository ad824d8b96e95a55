/* SPDX-License-Identifier: Apache-2.0
 * digits.c: data sets of idx files (digits.h): finds the files, cuts a split
 * out of them and makes frames of its pictures. */
#include "video/synth/digits.h"
#include "video/disk.h"
#include "video/synth/idx.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>

enum { HELD_OUT = 12,    /* one of so many training pictures is for validation,
                            those at the end */
       VALUES = 256 };   /* of a label */

struct ctt_digits {
    struct ctt_idx image, label;    /* of the split */
    int            first;           /* number of its first picture in the
                                       file */
    unsigned char  known[VALUES];   /* 1: a class */
};

/* ---- the files ---- */

/* Kinds of files, by the end of the name without .gz. */
enum file { TRAIN, TEST };
enum { ENDINGS = 4 };
static const struct { enum file of; enum ctt_idx_kind kind;
                      const char *ending[ENDINGS + 1]; } names[] = {
    { TRAIN, CTT_IDX_IMAGES, { "train-images-idx3-ubyte",
      "train-images.idx3-ubyte" } },
    { TRAIN, CTT_IDX_LABELS, { "train-labels-idx1-ubyte",
      "train-labels.idx1-ubyte" } },
    { TEST, CTT_IDX_IMAGES, { "t10k-images-idx3-ubyte",
      "t10k-images.idx3-ubyte", "test-images-idx3-ubyte",
      "test-images.idx3-ubyte" } },
    { TEST, CTT_IDX_LABELS, { "t10k-labels-idx1-ubyte",
      "t10k-labels.idx1-ubyte", "test-labels-idx1-ubyte",
      "test-labels.idx1-ubyte" } },
};

struct files {
    struct ctt_folder in;
    const char *dir;
    const char *set;       /* the prefix to look for; NULL: any */
    size_t      prefix;    /* bytes of the prefix found */
    char       *path[2][2];    /* by file and kind; NULL: not there */
};

/* The length of s if it is followed by `with` and maybe .gz, or -1. */
static long before(const char *s, const char *with)
{
    size_t n = strlen(s), m = strlen(with);
    size_t zip = n > 3 && strcmp(s + n - 3, ".gz") == 0 ? 3 : 0;

    n -= zip;
    return n >= m && strncmp(s + n - m, with, m) == 0 ? (long)(n - m) : -1;
}

/* 1 if the prefix of n bytes is the one to look for, with or without its
 * hyphen. */
static int is_wanted(const struct files *f, const char *name, size_t n)
{
    size_t m = f->set ? strlen(f->set) : 0;

    return !f->set || (m <= n && n <= m + 1 && strncmp(name, f->set, m) == 0 &&
                       (n == m || name[m] == '-'));
}

/* Takes an entry of the folder if it is one of the files; the first of two
 * spellings stays. */
static int take_entry(struct files *f, const char *name, const char **first)
{
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(names); i++)
        for (int k = 0; names[i].ending[k]; k++) {
            long n = before(name, names[i].ending[k]);
            char **path = &f->path[names[i].of][names[i].kind];

            if (n < 0 || !is_wanted(f, name, (size_t)n))
                continue;
            *first = *first ? *first : name;
            f->prefix = *first == name ? (size_t)n : f->prefix;
            CTT_CHECK(f->prefix == (size_t)n && strncmp(*first, name,
                      (size_t)n) == 0, CTT_EINVAL, "%s: has several sets of "
                      "idx files, such as %s and %s; name one: digits:%s/%.*s",
                      f->dir, *first, name, f->dir, (int)n, name);
            if (!*path)
                *path = ctt_path_join(f->dir, name);
            return *path ? 0 : CTT_ENOMEM;
        }
out:
    return rc;
}

static int find_files(struct files *f)
{
    const char *first = NULL;
    int rc;

    CTT_TRY(ctt_folder_read(f->dir, &f->in));
    for (int i = 0; i < f->in.count; i++)
        CTT_TRY(take_entry(f, f->in.name[i], &first));
    CTT_CHECK(first, CTT_EIO, "%s: no idx files in it%s%s (such as "
              "train-images-idx3-ubyte.gz)", f->dir, f->set ? " that begin "
              "with " : "", f->set ? f->set : "");
out:
    return rc;
}

static void clear_files(struct files *f)
{
    ctt_folder_clear(&f->in);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            ctt_free(f->path[i][k]);
}

/* ---- a split ---- */

static int read_labels(const struct files *f, enum file of,
                       struct ctt_digits *d)
{
    int rc = 0;

    CTT_CHECK(f->path[of][CTT_IDX_LABELS], CTT_EIO, "%s: no %s-labels-idx1-"
              "ubyte(.gz) in it", f->dir, of == TRAIN ? "train" : "t10k");
    ctt_idx_close(&d->label);
    CTT_TRY(ctt_idx_open(f->path[of][CTT_IDX_LABELS], CTT_IDX_LABELS, 0,
                         &d->label));
out:
    return rc;
}

/* The classes of the training labels, whatever the split, if the files have
 * them. */
static int find_classes(const struct files *f, enum file of,
                        struct ctt_digits *d)
{
    int rc;

    CTT_TRY(read_labels(f, f->path[TRAIN][CTT_IDX_LABELS] ? TRAIN : of, d));
    for (int i = 0; i < d->label.count; i++)
        d->known[d->label.data[i]] = 1;
out:
    return rc;
}

static int keep_split(struct ctt_idx *x, int first, int count)
{
    size_t size = (size_t)x->h * (size_t)x->w;
    uint8_t *less;

    memmove(x->data, x->data + (size_t)first * size, (size_t)count * size);
    x->count = x->room = count;
    less = ctt_realloc(x->data, (size_t)count * size);
    if (!less)
        return CTT_ENOMEM;
    x->data = less;
    return 0;
}

static int read_split(const struct files *f, int part, const char *split,
                      struct ctt_digits *d)
{
    enum file of = part == 2 ? TEST : TRAIN;
    int rc = 0, count, held;

    CTT_CHECK(f->path[of][CTT_IDX_IMAGES], CTT_ENOSPLIT, "%s: no split '%s': "
              "no %s-images-idx3-ubyte(.gz) in it", f->dir, split,
              of == TRAIN ? "train" : "t10k");
    CTT_TRY(find_classes(f, of, d));
    if (of == TEST)
        CTT_TRY(read_labels(f, of, d));
    CTT_TRY(ctt_idx_open(f->path[of][CTT_IDX_IMAGES], CTT_IDX_IMAGES, 0,
                         &d->image));
    count = d->image.count;
    CTT_CHECK(d->label.count == count, CTT_EFORMAT, "%s: has %d labels for "
              "%d images", d->label.file, d->label.count, count);
    held = of == TRAIN ? count / HELD_OUT : 0;
    CTT_CHECK(part != 1 || held, CTT_ENOSPLIT, "%s: no split '%s': %d images "
              "are too few for it", d->image.file, split, count);
    d->first = part == 1 ? count - held : 0;
    count = part == 1 ? held : count - held;
    CTT_TRY(keep_split(&d->image, d->first, count));
    CTT_TRY(keep_split(&d->label, d->first, count));
out:
    return rc;
}

int ctt_digits_open(const char *path, const char *split,
                    struct ctt_digits **out)
{
    struct ctt_digits *d = ctt_calloc(1, sizeof(*d));
    int folder = ctt_disk_kind(path) == CTT_DISK_FOLDER;
    char *dir = folder ? ctt_strdup(path) : ctt_path_dir(path);
    struct files f = { .dir = dir, .set = folder ? NULL : ctt_path_base(path) };
    const char *name = split ? split : "validation";
    int part = ctt_split_number(name), rc = 0;

    CTT_TRY(d && dir ? 0 : CTT_ENOMEM);
    CTT_CHECK(part >= 0, CTT_ENOSPLIT, "%s: no split '%s' (train, validation "
              "or test)", path, name);
    CTT_CHECK(ctt_disk_kind(dir) == CTT_DISK_FOLDER, CTT_EIO,
              "%s: no such folder", dir);
    CTT_TRY(find_files(&f));
    CTT_TRY(read_split(&f, part, name, d));
    *out = d;
    d = NULL;
out:
    clear_files(&f);
    ctt_free(dir);
    ctt_digits_close(&d);
    return rc;
}

void ctt_digits_close(struct ctt_digits **d)
{
    if (!*d)
        return;
    ctt_idx_close(&(*d)->image);
    ctt_idx_close(&(*d)->label);
    ctt_free(*d);
    *d = NULL;
}

void ctt_digits_size(const struct ctt_digits *d, int *w, int *h)
{
    *w = d->image.w;
    *h = d->image.h;
}

/* ---- clips ---- */

/* Numbers the classes; value[v]: the class of label v, or -1. */
static int list_classes(const struct ctt_digits *d, struct ctt_listing *s,
                        int value[VALUES])
{
    char name[16];
    int rc = 0;

    s->numeric = 1;
    for (int v = 0; v < VALUES; v++) {
        value[v] = -1;
        if (!d->known[v])
            continue;
        snprintf(name, sizeof(name), "%d", v);
        CTT_TRY(value[v] = ctt_names_add(&s->names, name));
    }
    rc = 0;
out:
    return rc;
}

int ctt_digits_list(const struct ctt_digits *d, struct ctt_listing *s)
{
    size_t room = strlen(d->image.file) + 16;
    char *path = ctt_calloc(room, 1);
    int rc = path ? 0 : CTT_ENOMEM, value[VALUES];

    CTT_TRY(rc);
    s->list->form = "idx files";
    CTT_TRY(list_classes(d, s, value));
    for (int i = 0; i < d->image.count; i++) {
        int v = d->label.data[i];

        snprintf(path, room, "%s#%d", d->image.file, d->first + i);
        CTT_CHECK(value[v] >= 0, CTT_EFORMAT, "%s: label %d of picture %d is "
                  "none of the training labels", d->label.file, v,
                  d->first + i);
        CTT_TRY(ctt_listing_add(s, "", path, value[v]));
        s->list->item[i].row = i;
    }
out:
    ctt_free(path);
    return rc;
}

int ctt_digits_fits(const struct ctt_digits *d, const char *path,
                    const struct ctt_input *in)
{
    int rc = 0;

    CTT_CHECK(in->c == 1 && in->h >= d->image.h && in->w >= d->image.w,
              CTT_EINVAL, "%s: has pictures of %dx%dx1, the model wants "
              "%dx%dx%d", path, d->image.w, d->image.h, in->w, in->h, in->c);
out:
    return rc;
}

int ctt_digits_frames(const struct ctt_digits *d, const struct ctt_item *item,
                      const struct ctt_input *in, struct ctt_frames *out)
{
    struct ctt_frames f = { .count = 1, .c = 1, .fps = in->fps };
    size_t w = (size_t)d->image.w, h = (size_t)d->image.h;
    const uint8_t *from = d->image.data + (size_t)item->row * w * h;
    uint8_t *to;

    ctt_frame_size(in, &f.w, &f.h);
    f.data = ctt_calloc((size_t)f.h, (size_t)f.w);
    if (!f.data)
        return CTT_ENOMEM;
    to = f.data + (size_t)(f.h - d->image.h) / 2 * (size_t)f.w +
         (size_t)(f.w - d->image.w) / 2;
    for (size_t y = 0; y < h; y++, from += w, to += f.w)
        memcpy(to, from, w);
    *out = f;
    return 0;
}
