/* SPDX-License-Identifier: Apache-2.0
 * h5_set.c: datasets and groups. */
#include "net/file/h5_in.h"

#include <string.h>

/* Bytes that fit in a dataset's header, and entries of a group that are stored
 * as a list; bytes that are compared at a time, and at least a row. */
enum { COMPACT = 1024, LISTED = 256, CHECKED = 1 << 18 };

struct type {
    int   size;
    hid_t disk, native;
};

enum { TYPES = 3 };

/* HDF5's types are only known at run time. */
static void all_types(struct type type[TYPES])
{
    type[0] = (struct type){ 1, H5T_STD_U8LE, H5T_NATIVE_UINT8 };
    type[1] = (struct type){ 4, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT };
    type[2] = (struct type){ 8, H5T_STD_I64LE, H5T_NATIVE_INT64 };
}

static int type_of(const struct ctt_h5 *f, const char *name, int size,
                   struct type *out)
{
    struct type type[TYPES];

    all_types(type);
    for (int i = 0; i < TYPES; i++) {
        if (type[i].size == size) {
            *out = type[i];
            return 0;
        }
    }
    return ctt_error(CTT_EINVAL, "%s: %s: elements of %d bytes", f->path, name,
                     size);
}

/* The size of the elements of a dataset, which are of one of these types:
 * big-endian numbers, doubles and the like are refused, not converted. */
static int find_size(struct ctt_h5 *f, const char *name, hid_t set, int *size)
{
    struct type all[TYPES];
    hid_t type = -1;
    int rc = 0, found = 0;

    all_types(all);
    CTT_H5(f, name, type = H5Dget_type(set));
    for (int i = 0; i < TYPES; i++)
        if (H5Tequal(type, all[i].disk) > 0)
            found = all[i].size;
    CTT_CHECK(found, CTT_EFORMAT, "%s: %s holds neither bytes nor 32-bit "
              "floats nor 64-bit signed integers, all little-endian", f->path,
              name);
    *size = found;
out:
    CTT_H5_SHUT(f, name, H5Tclose, type);
    return rc;
}

/* 1 if this link leads to something in this file, 0 if there is no such. */
static int has_one(struct ctt_h5 *f, const char *name)
{
    H5L_info_t info;
    int rc = 0, there;

    CTT_H5(f, name, there = H5Lexists(f->file, name, H5P_DEFAULT));
    if (!there)
        return 0;
    CTT_H5(f, name, H5Lget_info(f->file, name, &info, H5P_DEFAULT));
    rc = info.type == H5L_TYPE_HARD;
out:
    return rc;
}

/* Asks it of each part of "w/c1.w".  What was found last is not looked for
 * again: names that follow each other mostly lie in one group. */
static int has(struct ctt_h5 *f, const char *name)
{
    char part[CTT_H5_NAME];
    size_t n = 0;
    int rc = 0;

    do {
        n += strcspn(name + n, "/");
        if (n >= sizeof(part))
            return 0;
        memcpy(part, name, n);
        part[n] = '\0';
        rc = 1;
        if (strcmp(part, f->group) != 0)
            CTT_TRY(has_one(f, part));
        if (rc && name[n] == '/')
            strcpy(f->group, part);
    } while (rc && name[n++] == '/');
out:
    return rc;
}

int ctt_h5_has(struct ctt_h5 *f, const char *name)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, has(f, name));
}

/* A dataset must be stored contiguously in this file: chunks and filters could
 * need any amount of memory, and other files are not read. */
static int check_layout(struct ctt_h5 *f, const char *name, hid_t set)
{
    H5D_layout_t layout;
    hid_t dcpl = -1;
    int rc = 0;

    CTT_H5(f, name, dcpl = H5Dget_create_plist(set));
    CTT_H5(f, name, layout = H5Pget_layout(dcpl));
    CTT_CHECK((layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) &&
              H5Pget_external_count(dcpl) == 0, CTT_EFORMAT,
              "%s: %s is not stored in one piece", f->path, name);
out:
    CTT_H5_SHUT(f, name, H5Pclose, dcpl);
    return rc;
}

static int sizes(struct ctt_h5 *f, const char *name, hid_t set,
                 struct ctt_h5_shape *s)
{
    hsize_t dim[CTT_H5_RANK], count = 1;
    hid_t space = -1;
    int rc = 0, rank;

    CTT_TRY(find_size(f, name, set, &s->size));
    CTT_H5(f, name, space = H5Dget_space(set));
    rank = H5Sget_simple_extent_ndims(space);
    CTT_CHECK(rank >= 1 && rank <= CTT_H5_RANK &&
              H5Sget_simple_extent_dims(space, dim, NULL) == rank, CTT_EFORMAT,
              "%s: %s has %d dimensions", f->path, name, rank);
    s->rank = rank;
    for (int i = 0; i < rank; i++) {
        CTT_CHECK(dim[i] == 0 || count <= (hsize_t)f->bytes / dim[i],
                  CTT_EFORMAT, "%s: %s is larger than the file", f->path,
                  name);
        count *= dim[i];
        s->dim[i] = (int64_t)dim[i];
    }
    CTT_CHECK(H5Dget_storage_size(set) == count * (hsize_t)s->size,
              CTT_EFORMAT, "%s: %s is cut short", f->path, name);
out:
    CTT_H5_SHUT(f, name, H5Sclose, space);
    return rc;
}

static int open_set(struct ctt_h5 *f, const char *name, hid_t *set,
                    struct ctt_h5_shape *s)
{
    hid_t d = -1;
    int rc = 0;

    CTT_TRY(has(f, name));
    CTT_CHECK(rc, CTT_EFORMAT, "%s: no dataset '%s'", f->path, name);
    CTT_H5(f, name, d = H5Dopen2(f->file, name, H5P_DEFAULT));
    CTT_TRY(check_layout(f, name, d));
    CTT_TRY(sizes(f, name, d, s));
    *set = d;
    d = -1;
out:
    CTT_H5_SHUT(f, name, H5Dclose, d);
    return rc;
}

static int get_shape(struct ctt_h5 *f, const char *name,
                     struct ctt_h5_shape *s)
{
    struct ctt_h5_shape found = { 0 };
    hid_t set = -1;
    int rc = 0;

    CTT_TRY(open_set(f, name, &set, &found));
    *s = found;
out:
    CTT_H5_SHUT(f, name, H5Dclose, set);
    return rc;
}

int ctt_h5_shape(struct ctt_h5 *f, const char *name, struct ctt_h5_shape *s)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, get_shape(f, name, s));
}

static int same_dims(const struct ctt_h5_shape *a, const struct ctt_h5_shape *b)
{
    if (a->rank != b->rank)
        return 0;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return 0;
    return 1;
}

static int64_t points(const struct ctt_h5_shape *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

/* Opens a dataset of exactly this shape; the caller closes *set. */
static int open_as(struct ctt_h5 *f, const char *name,
                   const struct ctt_h5_shape *s, hid_t *set, struct type *t)
{
    struct ctt_h5_shape found = { 0 };
    int rc = 0;

    CTT_TRY(type_of(f, name, s->size, t));
    CTT_TRY(open_set(f, name, set, &found));
    CTT_CHECK(same_dims(s, &found), CTT_EFORMAT, "%s: %s is of another shape",
              f->path, name);
    CTT_CHECK(s->size == found.size, CTT_EFORMAT,
              "%s: %s does not hold numbers of its kind", f->path, name);
out:
    return rc;
}

static int read_set(struct ctt_h5 *f, const char *name,
                    const struct ctt_h5_shape *s, void *data)
{
    int64_t size = s->size * points(s);
    struct type t = { 0 };
    hid_t set = -1;
    int rc = 0;

    CTT_TRY(open_as(f, name, s, &set, &t));
    CTT_CHECK(size <= f->bytes - f->read, CTT_EFORMAT, "%s: the datasets up "
              "to %s are larger than the file", f->path, name);
    f->read += size;
    if (size > 0)
        CTT_H5(f, name, H5Dread(set, t.native, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                data));
out:
    CTT_H5_SHUT(f, name, H5Dclose, set);
    return rc;
}

int ctt_h5_read(struct ctt_h5 *f, const char *name,
                const struct ctt_h5_shape *s, void *data)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, read_set(f, name, s, data));
}

static int find_place(struct ctt_h5 *f, const char *name,
                      const struct ctt_h5_shape *s, int64_t *at)
{
    int64_t size = s->size * points(s);
    struct type t = { 0 };
    hid_t set = -1;
    haddr_t place;
    int rc = 0;

    CTT_TRY(open_as(f, name, s, &set, &t));
    place = H5Dget_offset(set);
    *at = 0;
    if (place == HADDR_UNDEF || size == 0)
        goto out;
    CTT_CHECK(place < (haddr_t)f->bytes &&
              size <= f->bytes - (int64_t)place, CTT_EFORMAT,
              "%s: %s ends behind the file", f->path, name);
    *at = (int64_t)place;
out:
    CTT_H5_SHUT(f, name, H5Dclose, set);
    return rc;
}

int ctt_h5_place(struct ctt_h5 *f, const char *name,
                 const struct ctt_h5_shape *s, int64_t *at)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, find_place(f, name, s, at));
}

/* Reads n rows from i on, or all if there is one dimension, to data. */
static int read_rows(struct ctt_h5 *f, const char *name, hid_t set,
                     const struct ctt_h5_shape *s, hid_t type, int64_t i,
                     int64_t n, void *data)
{
    hsize_t from[CTT_H5_RANK] = { 0 }, count[CTT_H5_RANK];
    hid_t all = -1, one = -1;
    int rc = 0;

    for (int k = 0; k < s->rank; k++)
        count[k] = (hsize_t)s->dim[k];
    if (s->rank > 1) {
        from[0] = (hsize_t)i;
        count[0] = (hsize_t)n;
    }
    CTT_H5(f, name, all = H5Dget_space(set));
    CTT_H5(f, name, H5Sselect_hyperslab(all, H5S_SELECT_SET, from, NULL,
                                        count, NULL));
    CTT_H5(f, name, one = H5Screate_simple(s->rank, count, NULL));
    CTT_H5(f, name, H5Dread(set, type, one, all, H5P_DEFAULT, data));
out:
    CTT_H5_SHUT(f, name, H5Sclose, one);
    CTT_H5_SHUT(f, name, H5Sclose, all);
    return rc;
}

/* Some rows at a time, since all of it need not fit in memory twice. */
static int check_set(struct ctt_h5 *f, const char *name,
                     const struct ctt_h5_shape *s, const void *data)
{
    int64_t rows = s->rank > 1 ? s->dim[0] : 1, size = s->size * points(s);
    int64_t row = size / (rows ? rows : 1), n = row ? CHECKED / row : 0;
    uint8_t *got = NULL;
    struct type t = { 0 };
    hid_t set = -1;
    int rc = 0;

    n = n < 1 ? 1 : n < rows ? n : rows;
    CTT_TRY(open_as(f, name, s, &set, &t));
    got = ctt_calloc((size_t)(n * row), 1);
    CTT_TRY(got ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < rows && size > 0; i += n) {
        n = n < rows - i ? n : rows - i;
        CTT_TRY(read_rows(f, name, set, s, t.native, i, n, got));
        CTT_CHECK(memcmp(got, (const uint8_t *)data + i * row,
                         (size_t)(n * row)) == 0, CTT_EIO, "%s: not written: "
                  "HDF5 changed %s", f->path, name);
    }
out:
    ctt_free(got);
    CTT_H5_SHUT(f, name, H5Dclose, set);
    return rc;
}

int ctt_h5_check(struct ctt_h5 *f, const char *name,
                 const struct ctt_h5_shape *s, const void *data)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, check_set(f, name, s, data));
}

/* A list of entries takes least space, but the time to fill it grows with the
 * square of their number. */
static int make_group(struct ctt_h5 *f, const char *name, int entries)
{
    hid_t gcpl = -1, group = -1;
    int rc = 0;

    CTT_H5(f, name, gcpl = H5Pcreate(H5P_GROUP_CREATE));
    if (entries <= LISTED)
        CTT_H5(f, name, H5Pset_link_phase_change(gcpl, LISTED, 0));
    CTT_H5(f, name, H5Pset_obj_track_times(gcpl, 0));
    group = H5Gcreate2(f->file, name, H5P_DEFAULT, gcpl, H5P_DEFAULT);
    CTT_H5(f, name, group);
out:
    CTT_H5_SHUT(f, name, H5Gclose, group);
    CTT_H5_SHUT(f, name, H5Pclose, gcpl);
    return rc;
}

int ctt_h5_group(struct ctt_h5 *f, const char *name, int entries)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, make_group(f, name, entries));
}

/* Without times, so that the same model gives the same bytes. */
static int layout_for(struct ctt_h5 *f, const char *name, int64_t size,
                      hid_t *dcpl)
{
    int rc = 0, small = size > 0 && size <= COMPACT;

    CTT_H5(f, name, *dcpl = H5Pcreate(H5P_DATASET_CREATE));
    CTT_H5(f, name, H5Pset_layout(*dcpl, small ? H5D_COMPACT
                                               : H5D_CONTIGUOUS));
    CTT_H5(f, name, H5Pset_alloc_time(*dcpl, H5D_ALLOC_TIME_EARLY));
    CTT_H5(f, name, H5Pset_fill_time(*dcpl, H5D_FILL_TIME_NEVER));
    CTT_H5(f, name, H5Pset_obj_track_times(*dcpl, 0));
    CTT_H5(f, name, H5Pset_dset_no_attrs_hint(*dcpl, 1));
out:
    return rc;
}

static int write_set(struct ctt_h5 *f, const char *name,
                     const struct ctt_h5_shape *s, const void *data)
{
    hsize_t dim[CTT_H5_RANK];
    hid_t space = -1, dcpl = -1, set = -1;
    struct type t = { 0 };
    int rc = 0;

    CTT_TRY(type_of(f, name, s->size, &t));
    for (int i = 0; i < s->rank; i++)
        dim[i] = (hsize_t)s->dim[i];
    CTT_H5(f, name, space = H5Screate_simple(s->rank, dim, NULL));
    CTT_TRY(layout_for(f, name, s->size * points(s), &dcpl));
    set = H5Dcreate2(f->file, name, t.disk, space, H5P_DEFAULT, dcpl,
                     H5P_DEFAULT);
    CTT_H5(f, name, set);
    if (points(s) > 0)
        CTT_H5(f, name, H5Dwrite(set, t.native, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                 data));
out:
    CTT_H5_SHUT(f, name, H5Dclose, set);
    CTT_H5_SHUT(f, name, H5Pclose, dcpl);
    CTT_H5_SHUT(f, name, H5Sclose, space);
    return rc;
}

int ctt_h5_write(struct ctt_h5 *f, const char *name,
                 const struct ctt_h5_shape *s, const void *data)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, write_set(f, name, s, data));
}
