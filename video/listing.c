/* SPDX-License-Identifier: Apache-2.0
 * listing.c: lists of clips: adding a clip, freeing a list. */
#include "video/listing.h"
#include "video/disk.h"

int ctt_listing_add(struct ctt_listing *s, const char *dir, const char *file,
                   int label)
{
    struct ctt_list *l = s->list;
    struct ctt_item *more, *item;
    int rc = 0;

    more = ctt_grown(l->item, &l->room, l->count, sizeof(*more));
    CTT_TRY(more ? 0 : CTT_ENOMEM);
    l->item = more;
    item = &l->item[l->count++];    /* from here on ctt_list_free frees it */
    *item = (struct ctt_item){ .label = label };
    item->path = ctt_path_join(dir, file);
    CTT_TRY(item->path ? 0 : CTT_ENOMEM);
    item->id = ctt_strdup(ctt_path_base(item->path));
    CTT_TRY(item->id ? 0 : CTT_ENOMEM);
out:
    return rc;
}

void ctt_list_free(struct ctt_list **l)
{
    if (!*l)
        return;
    for (int i = 0; i < (*l)->count; i++) {
        ctt_free((*l)->item[i].path);
        ctt_free((*l)->item[i].id);
    }
    for (int i = 0; i < (*l)->labels; i++)
        ctt_free((*l)->label[i]);
    ctt_free((*l)->item);
    ctt_free((*l)->label);
    ctt_free(*l);
    *l = NULL;
}
