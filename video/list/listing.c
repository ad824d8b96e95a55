/* SPDX-License-Identifier: Apache-2.0
 * listing.c: lists of clips: adding a clip, texts that readers keep, freeing a
 * list. */
#include "video/list/listing.h"
#include "base/limits.h"
#include "video/disk.h"

enum { TEXT_LIMIT = 1 << 28 };

int ctt_list_name(struct ctt_list *l, struct ctt_item *item, const char *path)
{
    char *text = ctt_pool_add(&l->texts, path);

    if (!text)
        return CTT_ENOMEM;
    item->path = text;
    item->id = text + (ctt_path_base(text) - text);
    return 0;
}

int ctt_list_labels(struct ctt_list *l, char *const *label, int labels)
{
    l->label = ctt_calloc((size_t)labels + 1, sizeof(*l->label));
    if (!l->label)
        return CTT_ENOMEM;
    for (l->labels = 0; l->labels < labels; l->labels++) {
        l->label[l->labels] = ctt_pool_add(&l->texts, label[l->labels]);
        if (!l->label[l->labels])
            return CTT_ENOMEM;
    }
    return 0;
}

/* The labels of the last clip that has several are at the end of l->also, in
 * rising order. */
int ctt_list_also(struct ctt_list *l, struct ctt_item *item, int label)
{
    int *more = ctt_grown(l->also, &l->also_room, l->alsos + 3, sizeof(*more));
    int at;

    if (!more)
        return CTT_ENOMEM;
    l->also = more;
    if (l->alsos == 0)
        l->also[l->alsos++] = -1;
    if (!item->also) {
        item->also = l->alsos;
        l->also[l->alsos++] = -1;
    }
    l->also[l->alsos] = -1;
    for (at = l->alsos - 1; at > item->also && l->also[at - 1] > label; at--)
        l->also[at] = l->also[at - 1];
    l->also[at] = label;
    l->alsos++;
    l->several = 1;
    return 0;
}

static int add_clip(struct ctt_list *l, const char *path, int label)
{
    struct ctt_item item = { .label = label }, *more;
    int rc;

    CTT_TRY(ctt_list_name(l, &item, path));
    more = ctt_grown(l->item, &l->room, l->count, sizeof(*more));
    CTT_TRY(more ? 0 : CTT_ENOMEM);
    l->item = more;
    l->item[l->count++] = item;
out:
    return rc;
}

void ctt_listing_clear(struct ctt_listing *s)
{
    ctt_names_clear(&s->names);
    ctt_names_clear(&s->numbers);
    ctt_pool_clear(&s->texts);
}

int ctt_listing_add(struct ctt_listing *s, const char *dir, const char *file,
                    int label)
{
    char *path = ctt_path_join(dir, file);
    int rc = path ? add_clip(s->list, path, label) : CTT_ENOMEM;

    ctt_free(path);
    return rc;
}

int ctt_listing_part(struct ctt_listing *s, const char *dir, const char *file,
                     const struct ctt_part *part, int label)
{
    char *path = ctt_part_path(file, part);
    int rc = path ? ctt_listing_add(s, dir, path, label) : CTT_ENOMEM;

    ctt_free(path);
    return rc;
}

int ctt_listing_also(struct ctt_listing *s, int label)
{
    struct ctt_list *l = s->list;

    return ctt_list_also(l, &l->item[l->count - 1], label);
}

/* ---- texts ---- */

static int keep_text(struct ctt_listing *s, char *text, char **out)
{
    *out = ctt_pool_keep(&s->texts, text);
    return *out ? 0 : CTT_ENOMEM;
}

int ctt_listing_join(struct ctt_listing *s, const char *dir, const char *name,
                     char **out)
{
    return keep_text(s, *name ? ctt_path_join(dir, name) : ctt_strdup(dir),
                     out);
}

int ctt_listing_folder(struct ctt_listing *s, const char *dir,
                       const char *name, char **out)
{
    char *path = *name ? ctt_path_join(dir, name) : ctt_strdup(dir);

    *out = NULL;
    if (!path || ctt_disk_kind(path) == CTT_DISK_FOLDER)
        return keep_text(s, path, out);
    ctt_free(path);
    return 0;
}

int ctt_listing_dir(struct ctt_listing *s, const char *path, char **out)
{
    return keep_text(s, ctt_path_dir(path), out);
}

int ctt_listing_text(struct ctt_listing *s, const char *path, char **out)
{
    char *text;
    size_t size;
    int rc = ctt_text_read(path, TEXT_LIMIT, &text, &size);

    return rc < 0 ? rc : keep_text(s, text, out);
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

void ctt_list_free(struct ctt_list **l)
{
    if (!*l)
        return;
    ctt_pool_clear(&(*l)->texts);
    ctt_free((*l)->item);
    ctt_free((*l)->also);
    ctt_free((*l)->label);
    ctt_free(*l);
    *l = NULL;
}
