/* SPDX-License-Identifier: Apache-2.0
 * pack_write.c: writes packs: decoded clips in one HDF5 file. */
#include "net/file/h5_in.h"
#include "base/newfile.h"
#include "net/op.h"
#include "video/list/listing.h"
#include "video/pack/pack_check.h"
#include "video/pack/packfile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(CTT_PACK_END == 8 * CTT_PACK_TAIL, "the tail of a pack");

/* Bytes that HDF5 may need besides the data: per file, and per dataset. */
enum { SLACK = 1 << 18, EACH = 1 << 11, INPUT_MAX = 2048 };

struct ctt_pack_out {
    const char         *path;       /* the final name, for messages */
    struct ctt_newfile *f;
    hid_t               file;
    int64_t             size;       /* reserved on disk so far */
    int                 objects;    /* datasets so far */
};

/* Turns a failure of HDF5 into an error that names the file; used between
 * ctt_h5_enter() and ctt_h5_leave(). */
#define TRY_H5(o, expr) \
    CTT_CHECK((expr) >= 0, CTT_EIO, "%s: HDF5 cannot write it", (o)->path)

/* Closes an object unless id is negative; after the label out. */
#define SHUT_H5(o, close_it, id) \
    do { \
        if ((id) >= 0 && close_it(id) < 0 && rc >= 0) \
            rc = ctt_error(CTT_EIO, "%s: HDF5 cannot write it", (o)->path); \
    } while (0)

/* Reserves disk space for so many more bytes, because HDF5 cannot recover from
 * a full disk: it fails again at exit.  File systems that cannot reserve are
 * accepted. */
static int reserve_disk(struct ctt_pack_out *o, int64_t more)
{
    int e, rc = 0;

    do {
        e = posix_fallocate(ctt_newfile_fd(o->f), (off_t)o->size,
                            (off_t)more);
    } while (e == EINTR);
    CTT_CHECK(e == 0 || e == EOPNOTSUPP || e == EINVAL || e == ENOSYS,
              CTT_EIO, "%s: %s", o->path, strerror(e));
    o->size += more;
out:
    return rc;
}

/* ---- the file ---- */

static int make_group(struct ctt_pack_out *o, const char *name)
{
    hid_t d = H5Pcreate(H5P_GROUP_CREATE), g = -1;
    int rc = 0;

    TRY_H5(o, d);
    TRY_H5(o, H5Pset_obj_track_times(d, 0));
    TRY_H5(o, g = H5Gcreate2(o->file, name, H5P_DEFAULT, d, H5P_DEFAULT));
out:
    SHUT_H5(o, H5Gclose, g);
    SHUT_H5(o, H5Pclose, d);
    return rc;
}

/* Creates the file without time stamps, so that the same clips give the same
 * bytes. */
static int create(struct ctt_pack_out *o)
{
    hid_t a = H5Pcreate(H5P_FILE_ACCESS), c = H5Pcreate(H5P_FILE_CREATE);
    int rc = 0;

    TRY_H5(o, a);
    TRY_H5(o, c);
    TRY_H5(o, ctt_pack_access(a));
    TRY_H5(o, ctt_h5_form(a, c));
    TRY_H5(o, o->file = H5Fcreate(ctt_newfile_temp(o->f), H5F_ACC_TRUNC, c,
                                  a));
    CTT_TRY(reserve_disk(o, SLACK));
    CTT_TRY(make_group(o, "clip"));
out:
    SHUT_H5(o, H5Pclose, c);
    SHUT_H5(o, H5Pclose, a);
    return rc;
}

/* Closes the unfinished file and removes it. */
static void abandon(struct ctt_pack_out **out)
{
    struct ctt_pack_out *o = *out;
    struct ctt_h5_quiet q;

    if (!o)
        return;
    if (o->file >= 0) {
        ctt_h5_enter_anyway(&q);
        H5Fclose(o->file);
        ctt_h5_leave(&q, 0);
    }
    ctt_newfile_drop(&o->f);
    ctt_free(o);
    *out = NULL;
}

/* path: the final name of the pack, which stays as long as the result. */
static int open_out(const char *path, struct ctt_pack_out **out)
{
    struct ctt_pack_out *o = ctt_calloc(1, sizeof(*o));
    struct ctt_h5_quiet q;
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    o->file = -1;
    o->path = path;
    CTT_TRY(ctt_newfile_open(path, &o->f));
    CTT_TRY(reserve_disk(o, SLACK));
    o->size = 0;    /* H5Fcreate truncates the file */
    CTT_TRY(ctt_h5_enter(&q, o->objects));
    CTT_TRY(ctt_h5_leave(&q, create(o)));
    *out = o;
    o = NULL;
out:
    abandon(&o);
    return rc;
}

/* Writes a dataset; *at: its offset in the file. */
static int write_data(struct ctt_pack_out *o, const char *name,
                      hid_t file_type, hid_t type, int rank,
                      const hsize_t *dim, const void *data, int64_t *at)
{
    hid_t s = H5Screate_simple(rank, dim, NULL), c = -1, d = -1;
    haddr_t where = 0;
    int rc = 0;

    o->objects++;
    TRY_H5(o, s);
    TRY_H5(o, c = H5Pcreate(H5P_DATASET_CREATE));
    TRY_H5(o, H5Pset_obj_track_times(c, 0));
    TRY_H5(o, d = H5Dcreate2(o->file, name, file_type, s, H5P_DEFAULT, c,
                             H5P_DEFAULT));
    if (dim[0]) {
        TRY_H5(o, H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
        where = H5Dget_offset(d);
        TRY_H5(o, where == HADDR_UNDEF ? -1 : 0);
    }
    *at = (int64_t)where;
out:
    SHUT_H5(o, H5Dclose, d);
    SHUT_H5(o, H5Pclose, c);
    SHUT_H5(o, H5Sclose, s);
    return rc;
}

/* The same between enter and leave, as the type in the file. */
static int put_data(struct ctt_pack_out *o, const char *name, hid_t type,
                    int rank, const hsize_t *dim, const void *data, int64_t *at)
{
    struct ctt_h5_quiet q;
    int rc = ctt_h5_enter(&q, o->objects);

    return rc < 0 ? rc : ctt_h5_leave(&q, write_data(o, name, type, type, rank,
                                                     dim, data, at));
}

static int put_bytes(struct ctt_pack_out *o, const char *name, int rank,
                     const hsize_t *dim, const void *data, int64_t *at)
{
    return put_data(o, name, H5T_STD_U8LE, rank, dim, data, at);
}

void ctt_pack_close(struct ctt_pack **pack)
{
    if (*pack)
        abandon(&(*pack)->out);
    ctt_pack_free(pack);
}

/* ---- clips ---- */

int ctt_pack_create(const char *path, const struct ctt_input *in,
                    char *const *label, int labels, struct ctt_pack **out)
{
    struct ctt_pack *p = NULL;
    int rc;

    CTT_TRY(ctt_pack_new(path, &p));
    p->in = *in;
    ctt_frame_size(in, &p->w, &p->h);
    CTT_TRY(ctt_list_labels(p->list, label, labels));
    CTT_TRY(open_out(p->path, &p->out));
    *out = p;
    p = NULL;
out:
    ctt_pack_close(&p);
    return rc;
}

/* Makes room for another clip. */
static int reserve_clip(struct ctt_pack *p)
{
    struct ctt_list *l = p->list;
    void *more = ctt_grown(p->index, &p->room, l->count, sizeof(*p->index));

    if (!more)
        return CTT_ENOMEM;
    p->index = more;
    more = ctt_grown(l->item, &l->room, l->count, sizeof(*l->item));
    if (!more)
        return CTT_ENOMEM;
    l->item = more;
    return 0;
}

static int check_clip(const struct ctt_pack *p, const char *id, int label,
                      const struct ctt_frames *f)
{
    int rc = 0;

    CTT_CHECK(f->count > 0 && f->w == p->w && f->h == p->h &&
              f->c == p->in.c, CTT_EINVAL, "%s: clip '%s' of %dx%dx%d, not "
              "%dx%dx%d", p->path, id, f->w, f->h, f->c, p->w, p->h, p->in.c);
    CTT_CHECK(label >= -1 && label < p->list->labels, CTT_EINVAL,
              "%s: clip '%s' has label %d of %d", p->path, id, label,
              p->list->labels);
out:
    return rc;
}

int ctt_pack_add(struct ctt_pack *p, const char *id, int label,
                 const struct ctt_frames *f)
{
    hsize_t dim[4] = { (hsize_t)f->count, (hsize_t)f->h, (hsize_t)f->w,
                       (hsize_t)f->c };
    size_t size = (size_t)f->count * f->h * f->w * f->c;
    struct ctt_item item = { .label = label };
    struct ctt_list *l = p->list;
    char name[24];
    int64_t at, *x;
    int rc;

    CTT_TRY(check_clip(p, id, label, f));
    CTT_TRY(reserve_clip(p));
    item.path = item.id = ctt_pool_add(&l->texts, id);
    CTT_TRY(item.path ? 0 : CTT_ENOMEM);
    CTT_TRY(reserve_disk(p->out, (int64_t)size + EACH));
    snprintf(name, sizeof(name), "clip/%d", l->count);
    CTT_TRY(put_bytes(p->out, name, 4, dim, f->data, &at));
    x = p->index[l->count];
    x[CTT_PACK_LABEL] = label;
    x[CTT_PACK_FRAMES] = f->count;
    x[CTT_PACK_FPS] = llround((double)f->fps * CTT_PACK_FPS_UNIT);
    x[CTT_PACK_SUM] = (int64_t)ctt_pack_sum(0, f->data, size);
    x[CTT_PACK_AT] = at;
    x[CTT_PACK_MAP_SUM] = x[CTT_PACK_MAP_AT] = 0;
    l->item[l->count++] = item;
out:
    return rc;
}

int ctt_pack_begin_maps(struct ctt_pack *p, const struct ctt_maps *maps)
{
    struct ctt_h5_quiet q;
    int rc;

    p->maps = *maps;
    CTT_TRY(ctt_h5_enter(&q, p->out->objects));
    CTT_TRY(ctt_h5_leave(&q, make_group(p->out, "map")));
out:
    return rc;
}

int ctt_pack_add_maps(struct ctt_pack *p, const uint8_t *maps)
{
    int last = p->list->count - 1, rc;
    int64_t *x = p->index[last], at;
    hsize_t dim[2] = { (hsize_t)x[CTT_PACK_FRAMES],
                       (hsize_t)ctt_maps_size(&p->maps) };
    size_t size = 2 * (size_t)dim[0] * (size_t)dim[1];
    char name[24];

    CTT_CHECK(p->maps.count, CTT_EINVAL, "%s: has no maps", p->path);
    CTT_TRY(reserve_disk(p->out, (int64_t)size + EACH));
    snprintf(name, sizeof(name), "map/%d", last);
    CTT_TRY(put_data(p->out, name, H5T_STD_U16LE, 2, dim, maps, &at));
    x[CTT_PACK_MAP_SUM] = (int64_t)ctt_pack_sum((uint64_t)x[CTT_PACK_SUM],
                                                maps, size);
    x[CTT_PACK_MAP_AT] = at;
out:
    return rc;
}

int ctt_pack_also(struct ctt_pack *p, int label)
{
    struct ctt_list *l = p->list;
    int rc = 0;

    CTT_CHECK(label >= 0 && label < l->labels, CTT_EINVAL,
              "%s: a further label %d of %d", p->path, label, l->labels);
    CTT_TRY(ctt_list_also(l, &l->item[l->count - 1], label));
out:
    return rc;
}

/* ---- the other datasets, and the tail ---- */

/* A dataset: its bytes in the file. */
struct dataset {
    uint8_t *data;
    size_t   size;
    int64_t  at;
};

static int input_part(const struct ctt_pack *p, struct dataset *x)
{
    union ctt_attr attr = { .input = p->in };
    FILE *f = NULL;
    int rc = 0, bad;

    /* Processing of the bytes of a pack is not stored. */
    attr.input.normalise = CTT_NORMALISE_SET;
    attr.input.gamma = 1;
    x->data = ctt_calloc(INPUT_MAX, 1);
    CTT_TRY(x->data ? 0 : CTT_ENOMEM);
    f = fmemopen(x->data, INPUT_MAX, "w");
    CTT_CHECK(f, CTT_ENOMEM, "%s: %s", p->path, strerror(errno));
    ctt_opt_print(ctt_ops[CTT_OP_INPUT].attr, &attr, f);
    bad = fclose(f) != 0 || x->data[INPUT_MAX - 1] != 0;
    CTT_CHECK(!bad, CTT_EINVAL, "%s: the input's settings are too long",
              p->path);
    if (p->maps.count)
        CTT_TRY(ctt_pack_print_maps(&p->maps, (char *)x->data, INPUT_MAX));
    x->size = strlen((char *)x->data);
out:
    return rc;
}

/* All labels or all ids, concatenated. */
static int text_part(const struct ctt_list *l, int ids, struct dataset *x)
{
    int n = ids ? l->count : l->labels;
    size_t room = 0;

    for (int i = 0; i < n; i++)
        room += strlen(ids ? l->item[i].id : l->label[i]) + 1;
    x->data = ctt_calloc(room, 1);
    if (!x->data)
        return CTT_ENOMEM;
    for (int i = 0; i < n; i++) {
        const char *from = ids ? l->item[i].id : l->label[i];
        memcpy(x->data + x->size, from, strlen(from) + 1);
        x->size += strlen(from) + 1;
    }
    return 0;
}

/* Word `word` of the bits of a clip's classes. */
static uint64_t bits_of(const struct ctt_list *l, const struct ctt_item *item,
                        int word)
{
    uint64_t bits = 0;

    for (int k = 0, c; (c = ctt_item_label(l, item, k)) >= 0; k++)
        if (c / 64 == word)
            bits |= UINT64_C(1) << c % 64;
    return bits;
}

static int index_part(const struct ctt_pack *p, struct dataset *x)
{
    const struct ctt_list *l = p->list;
    int each = ctt_pack_words(&p->maps, l->several, l->labels);
    int fixed = ctt_pack_fixed(&p->maps);

    x->data = ctt_calloc((size_t)l->count, (size_t)each * 8);
    if (!x->data)
        return CTT_ENOMEM;
    for (int i = 0; i < l->count; i++)
        for (int j = 0; j < each; j++, x->size += 8)
            ctt_pack_put(x->data + x->size, j < fixed
                         ? (uint64_t)p->index[i][j]
                         : bits_of(l, &l->item[i], j - fixed));
    return 0;
}

static int write_parts(const struct ctt_pack *p, struct dataset *x)
{
    static const char *const name[] = { "input", "labels", "ids", "index" };
    hsize_t dim[2];
    int rc;

    CTT_TRY(input_part(p, &x[CTT_PACK_INPUT]));
    CTT_TRY(text_part(p->list, 0, &x[CTT_PACK_LABELS]));
    CTT_TRY(text_part(p->list, 1, &x[CTT_PACK_IDS]));
    CTT_TRY(index_part(p, &x[CTT_PACK_INDEX]));
    for (int i = 0; i < CTT_PACK_PARTS; i++) {
        CTT_TRY(reserve_disk(p->out, (int64_t)x[i].size + EACH));
        dim[0] = x[i].size;
        if (i != CTT_PACK_INDEX) {
            CTT_TRY(put_bytes(p->out, name[i], 1, dim, x[i].data, &x[i].at));
            continue;
        }
        dim[0] = (hsize_t)p->list->count;
        dim[1] = (hsize_t)ctt_pack_words(&p->maps, p->list->several,
                                         p->list->labels);
        CTT_TRY(put_data(p->out, name[i], H5T_STD_I64LE, 2, dim, x[i].data,
                         &x[i].at));
    }
out:
    return rc;
}

/* Closes the file in HDF5; *size: its length.  A file that could not be closed
 * is not closed again. */
static int close_file(struct ctt_pack_out *o, hsize_t *size)
{
    hid_t file = o->file;
    int rc = 0;

    TRY_H5(o, H5Fflush(file, H5F_SCOPE_GLOBAL));
    TRY_H5(o, H5Fget_filesize(file, size));
    o->file = -1;
    TRY_H5(o, H5Fclose(file));
out:
    return rc;
}

/* Cuts the file to the length of its HDF5 data and appends the tail. */
static int write_tail(const struct ctt_pack *p, hsize_t size,
                      const struct dataset *x)
{
    uint8_t tail[8 * CTT_PACK_TAIL] = CTT_PACK_MAGIC;
    struct ctt_pack_out *o = p->out;
    int fd = ctt_newfile_fd(o->f), rc = 0;
    uint64_t sum;

    ctt_pack_put(tail + 8, (uint64_t)(CTT_PACK_VERSION +
        (p->list->several ? CTT_PACK_SEVERAL : 0) +
        (p->maps.count ? CTT_PACK_MAPS : 0)));
    for (int i = 0; i < CTT_PACK_PARTS; i++) {
        ctt_pack_put(tail + 16 + 16 * i, (uint64_t)x[i].at);
        ctt_pack_put(tail + 24 + 16 * i, (uint64_t)x[i].size);
    }
    sum = ctt_pack_sum(0, tail, sizeof(tail) - 8);
    for (int i = 0; i < CTT_PACK_PARTS; i++)
        sum = ctt_pack_sum(sum, x[i].data, x[i].size);
    ctt_pack_put(tail + sizeof(tail) - 8, sum);
    CTT_CHECK(ftruncate(fd, (off_t)size) == 0 &&
              lseek(fd, (off_t)size, SEEK_SET) == (off_t)size, CTT_EIO,
              "%s: %s", o->path, strerror(errno));
    CTT_TRY(ctt_newfile_put(o->f, tail, sizeof(tail)));
out:
    return rc;
}

int ctt_pack_finish(struct ctt_pack **pack)
{
    struct dataset part[CTT_PACK_PARTS] = { { 0 } };
    struct ctt_pack *p = *pack;
    struct ctt_h5_quiet q;
    hsize_t size = 0;
    int rc = 0;

    CTT_CHECK(p->list->count > 0, CTT_EINVAL, "%s: no clips to pack",
              p->path);
    for (int i = 0; i < p->list->count && p->maps.count; i++)
        CTT_CHECK(p->index[i][CTT_PACK_MAP_AT], CTT_EINVAL, "%s: clip '%s' has "
                  "no maps", p->path, p->list->item[i].id);
    CTT_TRY(write_parts(p, part));
    CTT_TRY(ctt_h5_enter(&q, p->out->objects));
    CTT_TRY(ctt_h5_leave(&q, close_file(p->out, &size)));
    CTT_TRY(write_tail(p, size, part));
    CTT_TRY(ctt_pack_check(p, p->out->f));
    CTT_TRY(ctt_newfile_finish(&p->out->f));
out:
    for (int i = 0; i < CTT_PACK_PARTS; i++)
        ctt_free(part[i].data);
    ctt_pack_close(pack);
    return rc;
}
