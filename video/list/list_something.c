/* SPDX-License-Identifier: Apache-2.0
 * list_something.c: clips as Something-Something V2 (Goyal et al. 2017) stores
 * them: labels.json, one JSON file per split, and a folder of numbered videos.
 * The test split has no classes; test-answers.csv beside test.json may have
 * them, in lines "id;class". */
#include "video/list/list_rows.h"
#include "base/json.h"
#include "base/limits.h"
#include "video/disk.h"
#include "video/list/files.h"

#include <stdio.h>
#include <string.h>

enum { LIMIT = 1 << 28, NAME = 1024 };

static const struct ctt_layout layout = {
    .form = "Something-Something V2", .prefix = { "" },
    .place = { "20bn-something-something-v2", "videos", "" },
    .extension = ".webm", .may_miss = 1, .unlabelled = 1,
};

static const struct ctt_list_files files = {
    .place = { "", "labels", "annotations" },
    .name = { "%s.json", "something-something-v2-%s.json" },
};

/* ---- classes ---- */

/* The class of a template: "Holding [something]" is "Holding something". */
static void plain(const char *s, char out[NAME])
{
    size_t n = 0;

    for (; *s && n + 1 < NAME; s++)
        if (*s != '[' && *s != ']')
            out[n++] = *s;
    out[n] = 0;
}

/* The names and numbers of labels.json, in its order. */
static int read_labels(struct ctt_json *j, struct ctt_names *n, int **number)
{
    char name[NAME], digits[CTT_JSON_NUMBER];
    const struct ctt_value *v;
    const char *key, *text;
    int rc, room = 0, at = 0, *more;

    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        CTT_TRY(ctt_json_value(j, &v));
        plain(key, name);
        text = ctt_json_scalar(v, digits);
        more = ctt_grown(*number, &room, n->count, sizeof(*more));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        *number = more;
        at = n->count;
        CTT_TRY(ctt_names_add(n, name));
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
static int order_labels(struct ctt_listing *s, const struct ctt_names *n,
                        const int *number, const char *path)
{
    int *of = ctt_calloc((size_t)n->count + 1, sizeof(*of));
    int rc = of ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(n->count, CTT_EFORMAT, "%s: no labels in it", path);
    for (int i = 0; i < n->count; i++) {
        CTT_CHECK(number[i] < n->count && !of[number[i]], CTT_EFORMAT,
                  "%s: class '%s' has number %d: the numbers must be 0 to %d",
                  path, n->name[i], number[i], n->count - 1);
        of[number[i]] = i + 1;
    }
    for (int i = 0; i < n->count; i++)
        CTT_TRY(ctt_names_add(&s->names, n->name[of[i] - 1]));
    rc = 0;
out:
    ctt_free(of);
    return rc;
}

static int load_labels(struct ctt_listing *s, const char *path)
{
    struct ctt_names n = { 0 };
    struct ctt_json *j = NULL;
    int *number = NULL, rc;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(read_labels(j, &n, &number));
    CTT_TRY(order_labels(s, &n, number, path));
out:
    ctt_json_close(&j);
    ctt_names_clear(&n);
    ctt_free(number);
    return rc;
}

/* The name of a class as s->names has it, or NULL. */
static const char *find_class(const struct ctt_listing *s, const char *text,
                              char name[NAME])
{
    int label;

    plain(text, name);
    label = ctt_names_find(&s->names, name);
    return label < 0 ? NULL : s->names.name[label];
}

/* ---- clips ---- */

/* The class is that of the template, else of the label, else unknown. */
static int read_clip(const struct ctt_listing *s, const struct ctt_json *j,
                     const struct ctt_value *v, struct ctt_rows *rows)
{
    const char *text = ctt_json_text(ctt_json_get(v, "template")), *id;
    char name[NAME], digits[CTT_JSON_NUMBER];
    struct ctt_row *r;
    int rc;

    text = text ? text : ctt_json_text(ctt_json_get(v, "label"));
    id = ctt_json_scalar(ctt_json_get(v, "id"), digits);
    if (!id)
        return ctt_json_error(j, "a clip without an id");
    if (!ctt_row_id_is_good(id))
        return ctt_json_error(j, "a bad id");
    CTT_TRY(ctt_rows_word(rows, id, &id));
    CTT_TRY(ctt_rows_add(rows, id, &r));
    r->label = text ? find_class(s, text, name) : NULL;
    if (text && !r->label)
        return ctt_json_error(j, "the labels have no class '%s'", name);
out:
    return rc;
}

static int read_split(const struct ctt_listing *s, const char *path,
                      struct ctt_rows *rows)
{
    const struct ctt_value *v;
    struct ctt_json *j = NULL;
    int rc;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_value(j, &v));
        CTT_TRY(read_clip(s, j, v, rows));
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    ctt_json_close(&j);
    return rc;
}

/* ---- answers ---- */

/* The class of each id of the rows, by its number; NULL: none. */
static int read_answers(const struct ctt_listing *s, const char *path,
                        char *text, const struct ctt_names *id,
                        const char **class)
{
    int rc = 0, number = 0, i;
    char name[NAME];

    for (char *line, *sep; (line = ctt_text_line(&text, &number)); ) {
        if (*line == '\0')
            continue;
        sep = strchr(line, ';');
        CTT_CHECK(sep, CTT_EFORMAT, "%s:%d: not 'id;class'", path, number);
        *sep = '\0';
        i = ctt_names_find(id, ctt_text_trim(line));
        sep = (char *)(uintptr_t)find_class(s, ctt_text_trim(sep + 1), name);
        CTT_CHECK(sep, CTT_EFORMAT, "%s:%d: the labels have no class '%s'",
                  path, number, name);
        if (i >= 0)
            class[i] = sep;
    }
out:
    return rc;
}

/* Gives rows without a class that of NAME-answers.csv beside NAME.json. */
static int add_answers(const struct ctt_listing *s, const char *split,
                       struct ctt_rows *rows)
{
    struct ctt_names ids = { 0 };
    const char **class = NULL;
    char path[4096], *text = NULL;
    size_t size;
    int rc = 0, n = (int)(strlen(split) - strlen(ctt_path_ending(split)));

    if (snprintf(path, sizeof(path), "%.*s-answers.csv", n, split) >=
        (int)sizeof(path) || ctt_disk_kind(path) != CTT_DISK_FILE)
        return 0;
    class = ctt_calloc((size_t)rows->count + 1, sizeof(*class));
    CTT_TRY(class ? 0 : CTT_ENOMEM);
    for (int i = 0; i < rows->count; i++)
        CTT_TRY(ctt_names_add(&ids, rows->row[i].id));
    CTT_TRY(ctt_text_read(path, LIMIT, &text, &size));
    CTT_TRY(read_answers(s, path, text, &ids, class));
    for (int i = 0; i < rows->count; i++) {
        struct ctt_row *r = &rows->row[i];
        if (!r->label)
            r->label = class[ctt_names_find(&ids, r->id)];
    }
    rc = 0;
out:
    ctt_names_clear(&ids);
    ctt_free(class);
    ctt_free(text);
    return rc;
}

/* ---- the files ---- */

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

/* labels.json in root, in its labels/ or annotations/, or above a folder of
 * videos; and beside it the list of the split, unless that is s->path. */
static int find_lists(const struct ctt_listing *s, const char *root,
                      char **labels, char **split)
{
    struct ctt_list_files f = files;
    char *dir = NULL;
    int rc, above;

    CTT_TRY(starts_with_file(root, &above));
    f.place[3] = above ? ".." : NULL;
    CTT_TRY(ctt_list_file(&f, root, "labels", labels));
    if (!*labels || *split)
        goto out;
    dir = ctt_path_dir(*labels);
    CTT_TRY(dir ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_list_file(&(struct ctt_list_files){ .place = { "" },
                          .name = { files.name[0], files.name[1] } }, dir,
                          s->split, split));
    CTT_CHECK(*split, CTT_EINVAL, "%s: no %s.json in it", dir, s->split);
out:
    ctt_free(dir);
    return rc;
}

int ctt_list_something(struct ctt_listing *s)
{
    int single = ctt_disk_kind(s->path) == CTT_DISK_FILE, rc = 0;
    struct ctt_rows rows = { .row = NULL };
    char *root, *labels = NULL, *split = NULL;

    if (single && strcmp(ctt_path_ending(s->path), ".json") != 0)
        return 0;
    root = single ? ctt_path_dir(s->path) : ctt_strdup(s->path);
    CTT_TRY(root ? 0 : CTT_ENOMEM);
    if (single)
        CTT_TRY((split = ctt_strdup(s->path)) ? 0 : CTT_ENOMEM);
    CTT_TRY(find_lists(s, root, &labels, &split));
    if (!labels)
        goto out;    /* not this layout */
    CTT_TRY(load_labels(s, labels));
    CTT_TRY(read_split(s, split, &rows));
    CTT_TRY(add_answers(s, split, &rows));
    CTT_TRY(ctt_rows_list(s, &rows, &layout, split, root));
out:
    ctt_rows_clear(&rows);
    ctt_free(root);
    ctt_free(labels);
    ctt_free(split);
    return rc;
}
