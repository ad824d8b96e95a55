/* SPDX-License-Identifier: Apache-2.0
 * list_objects.c: clips as Diving48 (Li et al. 2018) lists them: a JSON file
 * with an array of objects, whose keys are the columns of a list; or the folder
 * of its files. */
#include "video/list/columns.h"
#include "base/json.h"
#include "video/disk.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The keys of Something-Something, whose classes are in another file. */
static int is_something(const char *key)
{
    return strcmp(key, "template") == 0 || strcmp(key, "placeholders") == 0;
}

/* 1 if the first object has keys that are columns of a list. */
static int is_list(struct ctt_json *j)
{
    const struct ctt_value *v, *member;
    struct ctt_columns c;
    int rc = 0, other = 0;
    const char *key;

    ctt_columns_init(&c);
    if (!ctt_json_is(j, '['))
        goto out;
    CTT_TRY(ctt_json_enter(j, '['));
    CTT_TRY(ctt_json_next(j));
    if (rc == 0)
        goto out;
    CTT_TRY(ctt_json_value(j, &v));
    for (void *at = NULL; ctt_json_each(v, &at, &key, &member);) {
        ctt_columns_name(&c, key, 0);
        other |= is_something(key);
    }
    rc = ctt_columns_list(&c) && !other;
out:
    return rc;
}

/* ---- its clips ---- */

enum { KEYS = 64 };

/* The texts of one object, as copies that stay. */
struct entry {
    struct ctt_columns c;
    char *key[KEYS], *value[KEYS];
    int   keys;
};

static int keep(struct ctt_names *words, const char *s, char **out)
{
    int rc = ctt_names_add(words, s);

    if (rc >= 0)
        *out = words->name[rc];
    return rc;
}

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
static int read_member(struct ctt_json *j, struct ctt_names *words,
                       struct entry *e, const char *key,
                       const struct ctt_value *v)
{
    char digits[CTT_JSON_NUMBER];
    const char *text = ctt_json_scalar(v, digits);
    int rc = 0;

    if (!text && strchr("{[", ctt_json_kind(v)) && is_column(key))
        return ctt_json_error(j, "the value of '%s' is no text or number",
                              key);
    if (!text)
        return 0;
    if (e->keys == KEYS)
        return ctt_json_error(j, "more than %d keys", KEYS);
    CTT_TRY(keep(words, text, &e->value[e->keys]));
    CTT_TRY(keep(words, key, &e->key[e->keys]));
    ctt_columns_name(&e->c, key, e->keys++);
out:
    return rc;
}

static int read_entry(struct ctt_json *j, struct ctt_names *words,
                      struct ctt_lines *t)
{
    const struct ctt_value *v, *member;
    int rc, line = ctt_json_line(j);
    struct entry e = { .keys = 0 };
    char *value[CTT_COLUMNS];
    const char *key;

    ctt_columns_init(&e.c);
    CTT_TRY(ctt_json_value(j, &v));
    if (ctt_json_kind(v) != '{')
        return ctt_json_error(j, "expected an object");
    for (void *at = NULL; ctt_json_each(v, &at, &key, &member);)
        CTT_TRY(read_member(j, words, &e, key, member));
    CTT_TRY(ctt_columns_check(&e.c, t->path, line, e.key));
    for (int k = 0; k < CTT_COLUMNS; k++)
        value[k] = e.c.place[k] < 0 ? NULL : e.value[e.c.place[k]];
    CTT_TRY(ctt_columns_add(t, value, line));
out:
    return rc;
}

static int read_entries(struct ctt_json *j, struct ctt_names *words,
                        struct ctt_lines *t)
{
    int rc;

    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0)
        CTT_TRY(read_entry(j, words, t));
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
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
    struct ctt_names words = { 0 }, classes = { 0 };
    struct ctt_lines t = { .path = path };
    struct ctt_json *j = NULL;
    int rc;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(read_entries(j, &words, &t));
    CTT_TRY(ctt_columns_choose(&t, s->split));
    CTT_TRY(name_numbers(&t, &classes));
    CTT_TRY(ctt_list_lines(s, &t, 1));
    s->list->form = "Diving48";
    rc = 1;
out:
    ctt_json_close(&j);
    ctt_lines_clear(&t);
    ctt_names_clear(&words);
    ctt_names_clear(&classes);
    return rc;
}

static int check_file(const char *path)
{
    struct ctt_json *j = NULL;
    int rc, known;

    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(known = is_list(j));
    CTT_CHECK(known, CTT_EFORMAT, "%s: no labels.json beside it, and not a "
              "list like those of ActivityNet or Diving48", path);
out:
    ctt_json_close(&j);
    return rc;
}

/* ---- the folder ---- */

/* The number of the split in "Diving48_V2_train.json", or -1: another name. */
static int split_of(const char *name)
{
    const char *end = ctt_path_ending(name), *word = strrchr(name, '_');
    char split[32];

    if (strncasecmp(name, "Diving48_", 9) != 0 || word >= end ||
        strcmp(end, ".json") != 0)
        return -1;
    snprintf(split, sizeof(split), "%.*s", (int)(end - word) - 1, word + 1);
    return ctt_split_number(split);
}

/* The list of this split in dir, or the first one if part is -1.  Those of the
 * second version, whose labels are corrected, sort before those of the
 * first. */
static int find_file(const char *dir, int part, char **out)
{
    struct ctt_folder f = { 0 };
    int rc = 0;

    if (ctt_disk_kind(dir) != CTT_DISK_FOLDER)
        return 0;
    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count && !*out; i++) {
        int number = split_of(f.name[i]);
        if (number < 0 || (part >= 0 && number != part))
            continue;
        *out = ctt_path_join(dir, f.name[i]);
        CTT_TRY(*out ? 0 : CTT_ENOMEM);
    }
out:
    ctt_folder_clear(&f);
    return rc;
}

/* The data set has no clips for validation: that is "test", unless somebody
 * made a list of some. */
static int find_split(const struct ctt_listing *s, const char *dir, char **out)
{
    int part = ctt_split_number(s->split), rc = 0;
    char *any = NULL;

    CTT_TRY(find_file(dir, -1, &any));
    if (!any)
        goto out;    /* not this layout */
    if (part >= 0)
        CTT_TRY(find_file(dir, part, out));
    if (part == 1 && !*out)
        CTT_TRY(find_file(dir, 2, out));
    CTT_CHECK(*out, CTT_EINVAL, "%s: no list Diving48_V2_%s.json in it", dir,
              s->split);
out:
    ctt_free(any);
    return rc;
}

static int find_list(const struct ctt_listing *s, char **out)
{
    char *below = ctt_path_join(s->path, "annotations");
    int rc = below ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(find_split(s, s->path, out));
    if (!*out)
        CTT_TRY(find_split(s, below, out));
out:
    ctt_free(below);
    return rc;
}

int ctt_list_objects(struct ctt_listing *s)
{
    char *path = NULL;
    int rc = 0;

    if (ctt_disk_kind(s->path) == CTT_DISK_FOLDER)
        CTT_TRY(find_list(s, &path));
    else if (strcmp(ctt_path_ending(s->path), ".json") == 0)
        CTT_TRY((path = ctt_strdup(s->path)) ? 0 : CTT_ENOMEM);
    if (!path)
        goto out;
    CTT_TRY(check_file(path));
    CTT_TRY(list_file(s, path));
out:
    ctt_free(path);
    return rc;
}
