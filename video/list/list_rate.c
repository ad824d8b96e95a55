/* SPDX-License-Identifier: Apache-2.0
 * list_rate.c: folders of pictures, which have the rate that a user states. */
#include "video/list/list.h"
#include "video/disk.h"
#include "video/pictures.h"

int ctt_list_pictures(struct ctt_listing *s)
{
    struct ctt_pictures p = { 0 };
    struct ctt_folder f = { 0 };
    int rc;

    if (s->fps <= 0)
        return 0;
    rc = ctt_pictures_find(s->path, &p);
    if (rc == CTT_EFORMAT)
        return 0;
    CTT_TRY(rc);
    CTT_TRY(ctt_folder_read(s->path, &f));
    if (p.count == 0 || p.count < f.count)
        goto out;    /* something else is there, too */
    s->list->form = "a folder of frames";
    CTT_TRY(ctt_listing_add(s, "", s->path, -1));
    rc = 1;
out:
    ctt_pictures_clear(&p);
    ctt_folder_clear(&f);
    return rc;
}

/* Gives a clip that is a folder, or a part of one, the rate. */
static int rate_clip(struct ctt_list *l, struct ctt_item *item, double fps)
{
    char *file = NULL, *path = NULL;
    struct ctt_part part;
    int rc;

    CTT_TRY(ctt_part_of(item->path, &file, &part));
    if (part.fps > 0 || ctt_disk_kind(file) != CTT_DISK_FOLDER)
        goto out;
    part.fps = fps;
    path = ctt_part_path(file, &part);
    CTT_TRY(path ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_list_name(l, item, path));
out:
    ctt_free(file);
    ctt_free(path);
    return rc;
}

int ctt_listing_rate(struct ctt_listing *s)
{
    int rc = 0;

    for (int i = 0; i < s->list->count && s->fps > 0; i++)
        CTT_TRY(rate_clip(s->list, &s->list->item[i], s->fps));
out:
    return rc;
}
