/* SPDX-License-Identifier: Apache-2.0
 * list_objects.c: clips as Diving48 (Li et al. 2018) lists them: a JSON file
 * with an array of objects, whose keys are the columns of a list; or the folder
 * of its files. */
#include "video/list/columns.h"
#include "base/json.h"
#include "video/disk.h"
#include "video/list/files.h"

#include <stdio.h>
#include <string.h>

/* The keys of Something-Something, whose classes are in another file. */
static int is_something(const char *key)
{
    return strcmp(key, "template") == 0 || strcmp(key, "placeholders") == 0;
}

/* 1 if the keys of an object are columns of a list. */
static int is_list(const struct ctt_value *v)
{
    const struct ctt_value *member;
    struct ctt_columns c;
    int other = 0;
    const char *key;

    ctt_columns_init(&c);
    for (void *at = NULL; ctt_json_each(v, &at, &key, &member);) {
        ctt_columns_name(&c, key, 0);
        other |= is_something(key);
    }
    return ctt_columns_list(&c) && !other;
}

static int no_list(const char *path)
{
    return ctt_error(CTT_EFORMAT, "%s: no labels.json beside it, and not a "
                     "list like those of ActivityNet or Diving48", path);
}

/* ---- its clips ---- */

enum { KEYS = 64 };

/* The texts of one object, as copies that stay. */
struct entry {
    struct ctt_columns c;
    char *key[KEYS], *value[KEYS];
    int   keys;
};

/* 1 if a list has a column of that name. */
static int is_column(const char *key)
{
    struct ctt_columns c;
    int known = 0;

    ctt_columns_init(&c);
    ctt_columns_name(&c, key, 0);
    for (int k = 0; k < CTT_COLUMNS; k++)
        known |= c.place[k] >= 0;
    return known;
}

/* Takes a text or a number.  Other values are passed over, but a known column
 * must not be lost. */
static int read_member(struct ctt_json *j, struct ctt_pool *texts,
                       struct entry *e, const char *key,
                       const struct ctt_value *v)
{
    char digits[CTT_JSON_NUMBER];
    const char *text = ctt_json_scalar(v, digits);

    if (!text && strchr("{[", ctt_json_kind(v)) && is_column(key))
        return ctt_json_error(j, "the value of '%s' is no text or number",
                              key);
    if (!text)
        return 0;
    if (e->keys == KEYS)
        return ctt_json_error(j, "more than %d keys", KEYS);
    e->value[e->keys] = ctt_pool_add(texts, text);
    e->key[e->keys] = ctt_pool_add(texts, key);
    if (!e->value[e->keys] || !e->key[e->keys])
        return CTT_ENOMEM;
    ctt_columns_name(&e->c, key, e->keys++);
    return 0;
}

static int read_entry(struct ctt_json *j, struct ctt_pool *texts,
                      struct ctt_lines *t)
{
    const struct ctt_value *v, *member;
    int rc, line = ctt_json_line(j);
    struct entry e = { .keys = 0 };
    char *value[CTT_COLUMNS];
    const char *key;

    ctt_columns_init(&e.c);
    CTT_TRY(ctt_json_value(j, &v));
    if (t->count == 0 && !is_list(v))
        return no_list(t->path);
    if (ctt_json_kind(v) != '{')
        return ctt_json_error(j, "expected an object");
    for (void *at = NULL; ctt_json_each(v, &at, &key, &member);)
        CTT_TRY(read_member(j, texts, &e, key, member));
    CTT_TRY(ctt_columns_check(&e.c, t->path, line, e.key));
    for (int k = 0; k < CTT_COLUMNS; k++)
        value[k] = e.c.place[k] < 0 ? NULL : e.value[e.c.place[k]];
    CTT_TRY(ctt_columns_add(t, value, line));
out:
    return rc;
}

static int read_entries(struct ctt_json *j, struct ctt_pool *texts,
                        struct ctt_lines *t)
{
    int rc;

    if (!ctt_json_is(j, '['))
        return no_list(t->path);
    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0)
        CTT_TRY(read_entry(j, texts, t));
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
    CTT_TRY(t->count ? 0 : no_list(t->path));
out:
    return rc;
}

/* ---- the names of its classes ---- */

/* One name: a text, or an array of the words that it consists of; 0: neither.
 */
static int name_of(const struct ctt_value *v, char *out, size_t room)
{
    int words = ctt_json_kind(v) == '[', n = words ? ctt_json_size(v) : 1;
    size_t used = 0;

    *out = 0;
    for (int i = 0; i < n; i++) {
        const char *word = ctt_json_text(words ? ctt_json_at(v, i) : v);
        if (!word)
            return 0;
        snprintf(out + used, room - used, "%s%s", used ? " " : "", word);
        used = strlen(out);
    }
    return 1;
}

static int read_vocabulary(const char *path, struct ctt_names *out)
{
    const struct ctt_value *v;
    struct ctt_json *j = NULL;
    char name[256];
    int rc, n = 0;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_value(j, &v));
        if (!name_of(v, name, sizeof(name)))
            CTT_TRY(ctt_json_error(j, "a class that is no text"));
        CTT_TRY(ctt_names_add(out, name));
        if (rc < n++)
            CTT_TRY(ctt_json_error(j, "class '%s' is listed twice", name));
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    ctt_json_close(&j);
    return rc;
}

/* Puts names in the place of numbers, if a vocabulary is beside the list. */
static int name_numbers(struct ctt_lines *t, struct ctt_names *names)
{
    char *dir = ctt_path_dir(t->path), *path = NULL;
    int rc = dir ? 0 : CTT_ENOMEM, number;

    CTT_TRY(rc);
    path = ctt_path_join(dir, "Diving48_vocab.json");
    CTT_TRY(path ? 0 : CTT_ENOMEM);
    if (ctt_disk_kind(path) != CTT_DISK_FILE)
        goto out;
    CTT_TRY(read_vocabulary(path, names));
    for (int i = 0; i < t->count && t->labelled; i++) {
        struct ctt_line *l = &t->line[i];
        CTT_CHECK(ctt_text_number(l->label, &number) && number < names->count,
                  CTT_EFORMAT, "%s:%d: no class has number %s", t->path,
                  l->number, l->label);
        l->label = names->name[number];
    }
    rc = 0;
out:
    ctt_free(dir);
    ctt_free(path);
    return rc;
}

/* ---- the file ---- */

static int list_file(struct ctt_listing *s, const char *path)
{
    struct ctt_names classes = { 0 };
    struct ctt_pool texts = { NULL };
    struct ctt_lines t = { .path = path };
    struct ctt_json *j = NULL;
    int rc;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(read_entries(j, &texts, &t));
    CTT_TRY(ctt_columns_choose(&t, s->split));
    CTT_TRY(name_numbers(&t, &classes));
    CTT_TRY(ctt_list_lines(s, &t, 1));
    s->list->form = "Diving48";
    rc = 1;
out:
    ctt_json_close(&j);
    ctt_lines_clear(&t);
    ctt_pool_clear(&texts);
    ctt_names_clear(&classes);
    return rc;
}

/* A folder as it is published has a list per split, of two versions; the second
 * has corrected labels.  There are no clips for validation: that is "test",
 * unless somebody made a list of some. */
static const struct ctt_list_files files = {
    .place = { "", "annotations" },
    .name = { "Diving48_V2_%s.json", "Diving48*_%s.json" },
    .test_validates = 1,
};

int ctt_list_objects(struct ctt_listing *s)
{
    char *path = NULL;
    int rc = 0;

    if (ctt_disk_kind(s->path) == CTT_DISK_FOLDER)
        CTT_TRY(ctt_list_split_file(s, &files, &path));
    else if (strcmp(ctt_path_ending(s->path), ".json") == 0)
        CTT_TRY((path = ctt_strdup(s->path)) ? 0 : CTT_ENOMEM);
    if (!path)
        goto out;
    CTT_TRY(list_file(s, path));
out:
    ctt_free(path);
    return rc;
}
