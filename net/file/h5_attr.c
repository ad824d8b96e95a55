/* SPDX-License-Identifier: Apache-2.0
 * h5_attr.c: the attributes of the root: texts and numbers. */
#include "net/file/h5_in.h"

#include <string.h>

/* Opens an attribute of one element of that class; the caller closes *attr and
 * *type. */
static int open_attr(struct ctt_h5 *f, const char *name, H5T_class_t class,
                     hid_t *attr, hid_t *type)
{
    hid_t space = -1;
    int rc = 0;

    CTT_CHECK(H5Aexists(f->file, name) > 0, CTT_EFORMAT,
              "%s: no attribute '%s'", f->path, name);
    CTT_H5(f, name, *attr = H5Aopen(f->file, name, H5P_DEFAULT));
    CTT_H5(f, name, *type = H5Aget_type(*attr));
    CTT_H5(f, name, space = H5Aget_space(*attr));
    CTT_CHECK(H5Tget_class(*type) == class &&
              H5Sget_simple_extent_npoints(space) == 1, CTT_EFORMAT,
              "%s: attribute '%s' is of a wrong type", f->path, name);
out:
    CTT_H5_SHUT(f, name, H5Sclose, space);
    return rc;
}

static int get_text(struct ctt_h5 *f, const char *name, char *text)
{
    hid_t attr = -1, type = -1;
    char s[CTT_H5_TEXT + 1] = "";
    int rc = 0;

    CTT_TRY(open_attr(f, name, H5T_STRING, &attr, &type));
    CTT_CHECK(H5Tis_variable_str(type) == 0 &&
              H5Tget_size(type) < CTT_H5_TEXT, CTT_EFORMAT,
              "%s: attribute '%s' is not a text of fixed length under %d",
              f->path, name, CTT_H5_TEXT);
    CTT_H5(f, name, H5Aread(attr, type, s));
    memcpy(text, s, CTT_H5_TEXT);
out:
    CTT_H5_SHUT(f, name, H5Tclose, type);
    CTT_H5_SHUT(f, name, H5Aclose, attr);
    return rc;
}

static int get_int(struct ctt_h5 *f, const char *name, int *out)
{
    hid_t attr = -1, type = -1;
    int rc = 0, x = 0;

    CTT_TRY(open_attr(f, name, H5T_INTEGER, &attr, &type));
    CTT_H5(f, name, H5Aread(attr, H5T_NATIVE_INT, &x));
    *out = x;
out:
    CTT_H5_SHUT(f, name, H5Tclose, type);
    CTT_H5_SHUT(f, name, H5Aclose, attr);
    return rc;
}

static int put_attr(struct ctt_h5 *f, const char *name, hid_t disk,
                    hid_t type, const void *data)
{
    hid_t space = -1, attr = -1;
    int rc = 0;

    CTT_H5(f, name, space = H5Screate(H5S_SCALAR));
    attr = H5Acreate2(f->file, name, disk, space, H5P_DEFAULT, H5P_DEFAULT);
    CTT_H5(f, name, attr);
    CTT_H5(f, name, H5Awrite(attr, type, data));
out:
    CTT_H5_SHUT(f, name, H5Aclose, attr);
    CTT_H5_SHUT(f, name, H5Sclose, space);
    return rc;
}

static int put_text(struct ctt_h5 *f, const char *name, const char *text)
{
    hid_t type = -1;
    int rc = 0;

    CTT_CHECK(strlen(text) < CTT_H5_TEXT - 1, CTT_EINVAL, "%s: '%s' is long",
              f->path, name);
    CTT_H5(f, name, type = H5Tcopy(H5T_C_S1));
    CTT_H5(f, name, H5Tset_size(type, strlen(text) + 1));
    CTT_TRY(put_attr(f, name, type, type, text));
out:
    CTT_H5_SHUT(f, name, H5Tclose, type);
    return rc;
}

static int put_int(struct ctt_h5 *f, const char *name, int x)
{
    int32_t wide = x;

    return put_attr(f, name, H5T_STD_I32LE, H5T_NATIVE_INT32, &wide);
}

int ctt_h5_get_text(struct ctt_h5 *f, const char *name, char *text)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, get_text(f, name, text));
}

int ctt_h5_get_int(struct ctt_h5 *f, const char *name, int *out)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, get_int(f, name, out));
}

int ctt_h5_put_text(struct ctt_h5 *f, const char *name, const char *text)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, put_text(f, name, text));
}

int ctt_h5_put_int(struct ctt_h5 *f, const char *name, int x)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, f->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, put_int(f, name, x));
}
