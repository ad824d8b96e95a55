/* SPDX-License-Identifier: Apache-2.0
 * list_json.c: clips as Something-Something V2 (Goyal et al. 2017) stores
 * them: labels.json, one JSON file per split, and a folder of numbered videos.
 */
#include "video/list/list.h"
#include "base/json.h"
#include "base/limits.h"
#include "video/disk.h"
#include "video/list/split.h"
#include "video/list/videos.h"

#include <stdio.h>
#include <string.h>

/* dir/<prefix><name>.json with the old or the new prefix; NULL: no such
 * file. */
static int find_json(const char *dir, const char *name, char **out)
{
    static const char *const form[] = { "%s/%s.json",
                                        "%s/something-something-v2-%s.json" };
    size_t room = strlen(dir) + strlen(name) + 64;
    char *path = ctt_calloc(room, 1);

    *out = NULL;
    if (!path)
        return CTT_ENOMEM;
    for (size_t i = 0; i < CTT_LEN(form) && !*out; i++) {
        snprintf(path, room, form[i], dir, name);
        if (ctt_disk_kind(path) == CTT_DISK_FILE)
            *out = path;
    }
    if (!*out)
        ctt_free(path);
    return 0;
}

/* The first entry is a file in a folder of videos, else a folder of a class. */
static int starts_with_file(const char *dir, int *yes)
{
    struct ctt_folder f = { 0 };
    char *path = NULL;
    int rc;

    *yes = 0;
    CTT_TRY(ctt_folder_read(dir, &f));
    if (f.count) {
        path = ctt_path_join(dir, f.name[0]);
        CTT_TRY(path ? 0 : CTT_ENOMEM);
        *yes = ctt_disk_kind(path) == CTT_DISK_FILE;
    }
out:
    ctt_folder_clear(&f);
    ctt_free(path);
    return rc;
}

/* Looks in root, in its labels/ and annotations/, and above a folder of videos.
 */
static int find_labels(const char *root, char **dir, char **labels)
{
    static const char *const place[] = { "", "labels", "annotations", ".." };
    int rc = 0, above;

    *dir = *labels = NULL;
    CTT_TRY(starts_with_file(root, &above));
    for (size_t i = 0; i < CTT_LEN(place) - !above && !*labels; i++) {
        ctt_free(*dir);
        *dir = *place[i] ? ctt_path_join(root, place[i]) : ctt_strdup(root);
        CTT_TRY(*dir ? 0 : CTT_ENOMEM);
        CTT_TRY(find_json(*dir, "labels", labels));
    }
out:
    return rc;
}

static int find_split(const char *dir, const char *split, char **out)
{
    const char *same[CTT_SPELLINGS];
    int rc = 0;

    *out = NULL;
    ctt_split_spellings(split, same);
    for (int i = 0; same[i] && !*out; i++)
        CTT_TRY(find_json(dir, same[i], out));
    CTT_CHECK(*out, CTT_EINVAL, "%s: no %s.json in it", dir, split);
out:
    return rc;
}

void ctt_list_plain(const char *s, char out[CTT_CLASS_NAME])
{
    size_t n = 0;

    for (; *s && n + 1 < CTT_CLASS_NAME; s++)
        if (*s != '[' && *s != ']')
            out[n++] = *s;
    out[n] = 0;
}

/* Reads the names and numbers of labels.json, in its order. */
static int read_labels(struct ctt_json *j, struct ctt_names *names,
                       int **number)
{
    char name[CTT_CLASS_NAME], digits[CTT_JSON_NUMBER];
    const struct ctt_value *v;
    const char *key, *text;
    int rc, room = 0, at = 0, *more;

    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        CTT_TRY(ctt_json_value(j, &v));
        ctt_list_plain(key, name);
        text = ctt_json_scalar(v, digits);
        more = ctt_grown(*number, &room, names->count, sizeof(*more));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        *number = more;
        at = names->count;
        CTT_TRY(ctt_names_add(names, name));
        if (rc < at)
            return ctt_json_error(j, "class '%s' is listed twice", name);
        if (at == ctt_limits()->classes)
            return ctt_json_error(j, "more than %d classes", at);
        if (!text || !ctt_text_number(text, &(*number)[at]))
            return ctt_json_error(j, "class '%s' has no number from 0 on",
                                  name);
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    return rc;
}

/* Adds the names in the order of their numbers, which must be 0, 1, 2 ... */
static int order_labels(struct ctt_listing *s, const struct ctt_names *names,
                        const int *number, const char *path)
{
    int *of = ctt_calloc((size_t)names->count + 1, sizeof(*of));
    int rc = of ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(names->count, CTT_EFORMAT, "%s: no labels in it", path);
    for (int i = 0; i < names->count; i++) {
        CTT_CHECK(number[i] < names->count && !of[number[i]], CTT_EFORMAT,
                  "%s: class '%s' has number %d: the numbers must be 0 to %d",
                  path, names->name[i], number[i], names->count - 1);
        of[number[i]] = i + 1;
    }
    for (int i = 0; i < names->count; i++)
        CTT_TRY(ctt_names_add(&s->names, names->name[of[i] - 1]));
    rc = 0;
out:
    ctt_free(of);
    return rc;
}

static int load_labels(struct ctt_listing *s, const char *path)
{
    struct ctt_names names = { 0 };
    struct ctt_json *j = NULL;
    int *number = NULL, rc;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(read_labels(j, &names, &number));
    CTT_TRY(order_labels(s, &names, number, path));
out:
    ctt_json_close(&j);
    ctt_names_clear(&names);
    ctt_free(number);
    return rc;
}

enum { ID = 64 };

/* The class is that of the template, else of the label, else unknown. */
static int class_of(const struct ctt_listing *s, const struct ctt_json *j,
                    const struct ctt_value *v, int *label)
{
    const char *name = ctt_json_text(ctt_json_get(v, "template"));
    char plain[CTT_CLASS_NAME];

    *label = -1;
    name = name ? name : ctt_json_text(ctt_json_get(v, "label"));
    if (!name)
        return 0;
    ctt_list_plain(name, plain);
    *label = ctt_names_find(&s->names, plain);
    return *label >= 0 ? 0 :
           ctt_json_error(j, "the labels have no class '%s'", plain);
}

/* The clips' paths are their ids until place_videos(). */
static int read_split(struct ctt_listing *s, struct ctt_json *j,
                      struct ctt_videos *v)
{
    const struct ctt_value *entry;
    char digits[CTT_JSON_NUMBER];
    const char *id;
    int rc, label;

    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_value(j, &entry));
        id = ctt_json_scalar(ctt_json_get(entry, "id"), digits);
        if (!id)
            return ctt_json_error(j, "a clip without an id");
        if (*id == 0 || strlen(id) >= ID || strchr(id, '/'))
            return ctt_json_error(j, "a bad id");
        CTT_TRY(class_of(s, j, entry, &label));
        CTT_TRY(ctt_listing_add(s, "", id, label));
        CTT_TRY(ctt_videos_want(v, id));
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    return rc;
}

/* Looks for the videos below root; *dir: where a missing one is expected. */
static int find_videos(struct ctt_videos *v, const char *root, char **dir)
{
    static const char *const sub[] = { "20bn-something-something-v2",
                                       "videos", "" };
    char *path = NULL;
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(sub); i++) {
        path = *sub[i] ? ctt_path_join(root, sub[i]) : ctt_strdup(root);
        CTT_TRY(path ? 0 : CTT_ENOMEM);
        if (!*dir && ctt_disk_kind(path) == CTT_DISK_FOLDER) {
            *dir = ctt_strdup(path);
            CTT_TRY(*dir ? 0 : CTT_ENOMEM);
        }
        CTT_TRY(ctt_videos_find(v, path, 0));
        ctt_free(path);
        path = NULL;
    }
out:
    ctt_free(path);
    return rc;
}

static int place_videos(struct ctt_listing *s, const struct ctt_videos *v,
                        const char *dir)
{
    char name[ID + 8];
    int rc = 0;

    for (int i = 0; i < s->list->count; i++) {
        struct ctt_item *item = &s->list->item[i];
        const char *file = ctt_videos_file(v, item->path);
        snprintf(name, sizeof(name), "%s.webm", item->path);
        CTT_TRY(ctt_listing_move(item, file ? "" : dir, file ? file : name));
    }
out:
    return rc;
}

static int load_split(struct ctt_listing *s, const char *root,
                      const char *path)
{
    struct ctt_videos v = { 0 };
    struct ctt_json *j = NULL;
    char *dir = NULL;
    int rc;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(read_split(s, j, &v));
    CTT_TRY(ctt_list_answers(s, path));
    CTT_TRY(find_videos(&v, root, &dir));
    CTT_TRY(place_videos(s, &v, dir ? dir : root));
out:
    ctt_json_close(&j);
    ctt_videos_clear(&v);
    ctt_free(dir);
    return rc;
}

int ctt_list_json(struct ctt_listing *s)
{
    int single = ctt_disk_kind(s->path) == CTT_DISK_FILE, rc = 0;
    char *root, *dir = NULL, *labels = NULL, *split = NULL;

    if (single && strcmp(ctt_path_ending(s->path), ".json") != 0)
        return 0;
    root = single ? ctt_path_dir(s->path) : ctt_strdup(s->path);
    CTT_TRY(root ? 0 : CTT_ENOMEM);
    CTT_TRY(find_labels(root, &dir, &labels));
    if (!labels)
        goto out;    /* not this layout */
    CTT_TRY(load_labels(s, labels));
    if (single)
        split = ctt_strdup(s->path);
    else
        CTT_TRY(find_split(dir, s->split, &split));
    CTT_TRY(split ? 0 : CTT_ENOMEM);
    CTT_TRY(load_split(s, root, split));
    s->list->form = "Something-Something V2";
    rc = 1;
out:
    ctt_free(root);
    ctt_free(dir);
    ctt_free(labels);
    ctt_free(split);
    return rc;
}
