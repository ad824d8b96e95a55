/* SPDX-License-Identifier: Apache-2.0
 * listing.c: lists of clips: adding a clip, freeing a list. */
#include "video/list/list.h"
#include "base/json.h"
#include "base/limits.h"
#include "video/disk.h"

int ctt_listing_move(struct ctt_item *item, const char *dir, const char *file)
{
    char *path = ctt_path_join(dir, file), *id = NULL;
    int rc = path ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    id = ctt_strdup(ctt_path_base(path));
    CTT_TRY(id ? 0 : CTT_ENOMEM);
    ctt_free(item->path);
    ctt_free(item->id);
    item->path = path;
    item->id = id;
    path = NULL;
out:
    ctt_free(path);
    return rc;
}

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
    CTT_TRY(ctt_listing_move(item, dir, file));
out:
    return rc;
}

int ctt_listing_part(struct ctt_listing *s, const char *dir, const char *file,
                     const struct ctt_part *part, int label)
{
    char *path = ctt_part_path(file, part);
    int rc = path ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_listing_add(s, dir, path, label));
out:
    ctt_free(path);
    return rc;
}

int ctt_listing_names(struct ctt_listing *s, struct ctt_names *found)
{
    int rc = 0, most = ctt_limits()->classes;

    CTT_CHECK(found->count <= most, CTT_EFORMAT, "%s: more than %d classes",
              s->path, most);
    ctt_sort_strings(found->name, found->count);
    for (int i = 0; i < found->count; i++)
        CTT_TRY(ctt_names_add(&s->names, found->name[i]));
    rc = 0;
out:
    return rc;
}

int ctt_list_json_open(const char *path, struct ctt_json **out)
{
    char *text;
    size_t size;
    int rc;

    CTT_TRY(ctt_text_read(path, 1 << 28, &text, &size));
    CTT_TRY(ctt_json_open(path, text, out));
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
