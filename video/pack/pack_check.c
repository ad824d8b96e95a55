/* SPDX-License-Identifier: Apache-2.0
 * pack_check.c: reads a new pack again before it gets its name. */
#include "video/pack/pack_check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The file is locked by its own descriptor, so HDF5 must not lock it, too. */
herr_t ctt_pack_access(hid_t fapl)
{
    herr_t rc = ctt_h5_access(fapl);

    return rc < 0 ? rc : H5Pset_file_locking(fapl, 0, 1);
}

/* HDF5 finds the frames of every clip, or its maps, where the index says that
 * they are. */
static int check_places(const struct ctt_pack *p, hid_t file, const char *group,
                        enum ctt_pack_column column)
{
    char name[24] = "";
    hid_t d = -1;
    int rc = 0;

    for (int i = 0; i < p->list->count; i++) {
        haddr_t at = (haddr_t)p->index[i][column];
        snprintf(name, sizeof(name), "%s/%d", group, i);
        CTT_H5(p, name, d = H5Dopen2(file, name, H5P_DEFAULT));
        CTT_CHECK(H5Dget_offset(d) == at, CTT_EIO,
                  "%s: not written: HDF5 finds %s elsewhere", p->path, name);
        CTT_H5(p, name, H5Dclose(d));
        d = -1;
    }
out:
    CTT_H5_SHUT(p, name, H5Dclose, d);
    return rc;
}

static int check_hdf5(const struct ctt_pack *p, const struct ctt_newfile *f)
{
    hid_t fapl = -1, file = -1;
    int rc = 0;

    CTT_H5(p, "settings", fapl = H5Pcreate(H5P_FILE_ACCESS));
    CTT_H5(p, "settings", ctt_pack_access(fapl));
    CTT_H5(p, "file", file = H5Fopen(ctt_newfile_temp(f), H5F_ACC_RDONLY,
                                     fapl));
    CTT_TRY(check_places(p, file, "clip", CTT_PACK_AT));
    if (p->maps.count)
        CTT_TRY(check_places(p, file, "map", CTT_PACK_MAP_AT));
out:
    CTT_H5_SHUT(p, "file", H5Fclose, file);
    CTT_H5_SHUT(p, "settings", H5Pclose, fapl);
    return rc;
}

static int same_labels(const struct ctt_list *a, const struct ctt_item *x,
                       const struct ctt_list *b, const struct ctt_item *y)
{
    for (int k = 0;; k++) {
        int c = ctt_item_label(a, x, k);

        if (c != ctt_item_label(b, y, k) || c < 0)
            return c < 0 && ctt_item_label(b, y, k) < 0;
    }
}

static int same_texts(const struct ctt_list *a, const struct ctt_list *b)
{
    if (a->count != b->count || a->labels != b->labels)
        return 0;
    for (int i = 0; i < a->labels; i++)
        if (strcmp(a->label[i], b->label[i]) != 0)
            return 0;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->item[i].id, b->item[i].id) != 0 ||
            !same_labels(a, &a->item[i], b, &b->item[i]))
            return 0;
    return a->several == b->several;
}

static int same_maps(const struct ctt_maps *a, const struct ctt_maps *b)
{
    for (int k = 0; k < a->count && k < b->count; k++)
        if (!ctt_same_map(&a->map[k], &b->map[k]))
            return 0;
    return a->count == b->count;
}

/* Reading a clip checks its checksum, and the index has that of the frames that
 * were given. */
static int check_clips(const struct ctt_pack *p, int fd)
{
    size_t index = (size_t)p->list->count * sizeof(*p->index);
    struct ctt_pack *back = NULL;
    struct ctt_frames f;
    uint8_t *maps;
    int rc = 0;

    CTT_TRY(ctt_pack_open_fd(p->path, fd, &back));
    CTT_CHECK(same_texts(p->list, back->list) && back->w == p->w &&
              same_maps(&p->maps, &back->maps) &&
              back->h == p->h && ctt_pack_fits(back, &p->in) >= 0 &&
              memcmp(p->index, back->index, index) == 0, CTT_EIO,
              "%s: not written: it does not read back as it was", p->path);
    for (int i = 0; i < p->list->count; i++) {
        CTT_TRY(ctt_pack_read(back, i, &f));
        ctt_frames_free(&f);
        if (!p->maps.count)
            continue;
        CTT_TRY(ctt_pack_read_maps(back, i, &maps));
        ctt_free(maps);
    }
out:
    ctt_pack_free(&back);
    return rc;
}

int ctt_pack_check(const struct ctt_pack *p, const struct ctt_newfile *f)
{
    struct ctt_h5_quiet q;
    int rc = 0;

    CTT_TRY(check_clips(p, dup(ctt_newfile_fd(f))));
    CTT_TRY(ctt_h5_enter(&q, p->list->count));
    CTT_TRY(ctt_h5_leave(&q, check_hdf5(p, f)));
out:
    return rc;
}
