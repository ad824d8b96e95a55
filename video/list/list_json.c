/* SPDX-License-Identifier: Apache-2.0
 * list_json.c: lists of clips in JSON: an array of objects whose keys are
 * columns, as Diving48 (Li et al. 2018) and Something-Something V2 (Goyal et
 * al. 2017) have, and the names of their classes in other files. */
#include "video/list/list.h"
#include "base/json.h"
#include "base/limits.h"
#include "video/disk.h"
#include "video/list/csv.h"
#include "video/list/files.h"
#include "video/list/rows.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 1024 };

static int open_json(const char *path, struct ctt_json **out)
{
    char *text;
    size_t size;
    int rc = ctt_text_read(path, 1 << 28, &text, &size);

    return rc < 0 ? rc : ctt_json_open(path, text, out);
}

static int no_list(const char *path)
{
    return ctt_error(CTT_EFORMAT, "%s: no labels.json beside it, and not a "
                     "list like those of ActivityNet or Diving48", path);
}

/* ---- objects ---- */

/* How a form calls the members of a clip; unnamed: the error of one without an
 * id. */
struct members {
    const struct ctt_words *words;
    const char             *unnamed;
};

/* 1 if the keys of an object are columns of a list, and not those of
 * Something-Something, whose classes are in another file. */
static int is_clip(const struct ctt_value *v)
{
    const struct ctt_value *member;
    struct ctt_columns c;
    const char *key;

    ctt_columns_init(&c, &ctt_words_usual);
    for (void *at = NULL; ctt_json_each(v, &at, &key, &member);)
        ctt_columns_name(&c, key, 0);
    return ctt_columns_list(&c) && !ctt_json_get(v, "template") &&
           !ctt_json_get(v, "placeholders");
}

/* 1 if a member is an array of the labels of a clip. */
static int takes_labels(const struct members *m, const char *key,
                        const struct ctt_value *v)
{
    return m->words == &ctt_words_usual && ctt_json_kind(v) == '[' &&
           ctt_column_of(m->words, key, strlen(key)) == CTT_COLUMN_LABEL;
}

/* Gives the last row the labels in an array. */
static int add_labels(struct ctt_rows *r, struct ctt_json *j,
                      const struct ctt_value *v)
{
    char digits[CTT_JSON_NUMBER];
    int rc = 0;

    for (int i = 0; i < ctt_json_size(v); i++) {
        const char *text = ctt_json_scalar(ctt_json_at(v, i), digits);
        char *label;

        if (!text || !*text)
            return ctt_json_error(j, "a label that is no text or number");
        label = ctt_pool_add(&r->s->texts, text);
        CTT_TRY(label ? 0 : CTT_ENOMEM);
        CTT_TRY(ctt_row_tag(r, &r->row[r->count - 1], label));
    }
out:
    return rc;
}

/* Adds the row that an object is.  Values that are no texts or numbers are
 * passed over, but those of a column must not be lost. */
static int read_object(struct ctt_rows *r, struct ctt_json *j,
                       const struct members *m, const struct ctt_value *v,
                       int line)
{
    char *value[CTT_COLUMNS] = { NULL }, digits[CTT_JSON_NUMBER];
    const struct ctt_value *member, *labels = NULL;
    const char *key, *text;
    struct ctt_columns c;
    int rc, k;

    if (ctt_json_kind(v) != '{')
        return ctt_json_error(j, "expected an object");
    ctt_columns_init(&c, m->words);
    for (void *at = NULL; ctt_json_each(v, &at, &key, &member);) {
        text = ctt_json_scalar(member, digits);
        if (takes_labels(m, key, member)) {
            if (ctt_columns_name(&c, key, 0) >= 0)
                labels = member;
            continue;
        }
        if (!text && strchr("{[", ctt_json_kind(member)) &&
            ctt_column_of(m->words, key, strlen(key)) >= 0)
            return ctt_json_error(j, "the value of '%s' is no text or number",
                                  key);
        k = text ? ctt_columns_name(&c, key, 0) : -1;
        if (k < 0)
            continue;
        value[k] = ctt_pool_add(&r->s->texts, text);
        CTT_TRY(value[k] ? 0 : CTT_ENOMEM);
        labels = k == CTT_COLUMN_LABEL ? NULL : labels;
    }
    if (labels)
        value[CTT_COLUMN_LABEL] = NULL;
    CTT_TRY(ctt_columns_check(&c, r->path, line));
    CTT_TRY(ctt_rows_add(r, value, line, m->unnamed));
    if (labels)
        CTT_TRY(add_labels(r, j, labels));
out:
    return rc;
}

static int read_objects(struct ctt_rows *r, struct ctt_json *j,
                        const struct members *m)
{
    const struct ctt_value *v;
    int rc, line;

    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0) {
        line = ctt_json_line(j);
        CTT_TRY(ctt_json_value(j, &v));
        if (r->count == 0 && m->words == &ctt_words_usual && !is_clip(v))
            return no_list(r->path);
        CTT_TRY(read_object(r, j, m, v, line));
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    return rc;
}

/* ---- names of classes ---- */

/* One name: a text, or an array of the words that it consists of; 0: neither.
 */
static int name_of(const struct ctt_value *v, char out[NAME])
{
    int words = ctt_json_kind(v) == '[', n = words ? ctt_json_size(v) : 1;
    size_t used = 0;

    *out = 0;
    for (int i = 0; i < n; i++) {
        const char *word = ctt_json_text(words ? ctt_json_at(v, i) : v);
        if (!word)
            return 0;
        snprintf(out + used, NAME - used, "%s%s", used ? " " : "", word);
        used = strlen(out);
    }
    return 1;
}

/* Reads an element, which is a name and has the number i, or a member, whose
 * key is the template and whose value is the number. */
static int read_class(struct ctt_json *j, int member, int i, char name[NAME],
                      int *number)
{
    char digits[CTT_JSON_NUMBER];
    const struct ctt_value *v;
    const char *text = NULL;
    int rc = 0;

    if (member)
        CTT_TRY(ctt_json_key(j, &text));
    if (member)
        ctt_class_plain(text, name, NAME);
    CTT_TRY(ctt_json_value(j, &v));
    *number = i;
    if (!member && !name_of(v, name))
        return ctt_json_error(j, "a class that is no text");
    text = ctt_json_scalar(v, digits);
    if (member && !(text && ctt_text_number(text, number)))
        return ctt_json_error(j, "class '%s' has no number from 0 on", name);
out:
    return rc;
}

/* Reads the names in an array, or in an object, and their numbers. */
static int read_classes(struct ctt_json *j, char open, struct ctt_names *n,
                        int **number)
{
    int rc, room = 0, at, *more;
    char name[NAME];

    CTT_TRY(ctt_json_enter(j, open));
    while ((rc = ctt_json_next(j)) > 0) {
        at = n->count;
        more = ctt_grown(*number, &room, at, sizeof(*more));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        *number = more;
        CTT_TRY(read_class(j, open == '{', at, name, &more[at]));
        CTT_TRY(ctt_names_add(n, name));
        if (rc < at)
            return ctt_json_error(j, "class '%s' is listed twice", name);
        if (at == ctt_limits()->classes)
            return ctt_json_error(j, "more than %d classes", at);
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    return rc;
}

/* Adds the names in the order of their numbers, which must be 0, 1, 2 ... */
static int order_classes(const struct ctt_names *n, const int *number,
                         const char *path, struct ctt_names *out)
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
        CTT_TRY(ctt_names_add(out, n->name[of[i] - 1]));
    rc = 0;
out:
    ctt_free(of);
    return rc;
}

/* The names of classes in a file, by their numbers. */
static int load_classes(const char *path, char open, struct ctt_names *out)
{
    struct ctt_names n = { 0 };
    struct ctt_json *j = NULL;
    int *number = NULL, rc;

    CTT_TRY(open_json(path, &j));
    CTT_TRY(read_classes(j, open, &n, &number));
    CTT_TRY(order_classes(&n, number, path, out));
out:
    ctt_json_close(&j);
    ctt_names_clear(&n);
    ctt_free(number);
    return rc;
}

/* ---- Something-Something V2 ---- */

/* Classes are those of templates, or else of labels. */
static const struct ctt_words template_words = { .of = {
    [CTT_COLUMN_PATH] = { "id" }, [CTT_COLUMN_LABEL] = { "template", "label" },
} };

static const struct ctt_layout something = {
    .prefix = { "" }, .place = { "20bn-something-something-v2", "videos", "" },
    .extension = ".webm", .may_miss = 1,
};

/* labels.json beside a list, or in a folder there; NULL: there is none. */
static int find_labels(struct ctt_listing *s, const char *path, char **out)
{
    static const struct ctt_list_files files = {
        .place = { "", "labels", "annotations" },
        .name = { "%s.json", "something-something-v2-%s.json" },
    };
    char *dir;
    int rc;

    CTT_TRY(ctt_listing_dir(s, path, &dir));
    CTT_TRY(ctt_list_file(s, &files, dir, "labels", out));
out:
    return rc;
}

int ctt_list_something_is(struct ctt_listing *s, const char *path)
{
    char *labels;
    int rc = find_labels(s, path, &labels);

    return rc < 0 ? rc : labels != NULL;
}

/* Puts the name that s->names has in the place of a label, which may be a
 * template. */
static int name_class(const struct ctt_listing *s, const char *path, int line,
                      char **label)
{
    char name[NAME];
    int rc, at;

    ctt_class_plain(*label, name, NAME);
    at = ctt_names_find(&s->names, name);
    CTT_CHECK(at >= 0, CTT_EFORMAT, "%s:%d: the labels have no class '%s'",
              path, line, name);
    *label = s->names.name[at];
    rc = 0;
out:
    return rc;
}

/* Reads lines "id;class" of clips; label[i]: of the id that is names[i]. */
static int read_answers(struct ctt_listing *s, const char *path,
                        const struct ctt_names *ids, char **label)
{
    struct ctt_csv c = { .sep = ';' };
    char *field[CTT_CSV_FIELDS];
    int rc, n, i;

    CTT_TRY(ctt_listing_text(s, path, &c.at));
    while ((n = ctt_csv_next(&c, field)) != 0) {
        CTT_CHECK(n == 2, CTT_EFORMAT, "%s:%d: not 'id;class'", path, c.line);
        CTT_TRY(name_class(s, path, c.line, &field[1]));
        i = ctt_names_find(ids, field[0]);
        if (i >= 0)
            label[i] = field[1];
    }
out:
    return rc;
}

/* The test split has no classes; NAME-answers.csv beside NAME.json may have
 * them. */
static int add_answers(struct ctt_rows *r)
{
    int rc = 0, n = (int)(strlen(r->path) - strlen(ctt_path_ending(r->path)));
    struct ctt_names ids = { 0 };
    char path[4096], **label = NULL;

    if (snprintf(path, sizeof(path), "%.*s-answers.csv", n, r->path) >=
        (int)sizeof(path) || ctt_disk_kind(path) != CTT_DISK_FILE)
        return 0;
    label = ctt_calloc((size_t)r->count + 1, sizeof(*label));
    CTT_TRY(label ? 0 : CTT_ENOMEM);
    for (int i = 0; i < r->count; i++)
        CTT_TRY(ctt_names_add(&ids, r->row[i].path));
    CTT_TRY(read_answers(r->s, path, &ids, label));
    for (int i = 0; i < r->count; i++)
        if (!r->row[i].tag.text)
            r->row[i].tag.text = label[ctt_names_find(&ids, r->row[i].path)];
out:
    ctt_names_clear(&ids);
    ctt_free(label);
    return rc;
}

static int list_something(struct ctt_rows *r, struct ctt_json *j,
                          const char *labels, const char *dir)
{
    static const struct members members = { &template_words,
        "a clip without an id, or a bad id" };
    int rc;

    CTT_TRY(load_classes(labels, '{', &r->s->names));
    CTT_TRY(read_objects(r, j, &members));
    CTT_TRY(ctt_rows_choose(r, CTT_LABEL_SOME));
    for (int i = 0; i < r->count; i++) {
        struct ctt_row *row = &r->row[i];

        CTT_CHECK(ctt_id_is_good(row->path), CTT_EFORMAT, "%s:%d: a bad id",
                  r->path, row->number);
        if (row->tag.text)
            CTT_TRY(name_class(r->s, r->path, row->number, &row->tag.text));
    }
    CTT_TRY(add_answers(r));
    CTT_TRY(ctt_rows_ids(r, &something, "Something-Something V2", dir));
out:
    return rc;
}

/* ---- Diving48, and lists of anybody ---- */

/* Puts names in the place of numbers, if a vocabulary is beside the list. */
static int name_numbers(struct ctt_rows *r)
{
    struct ctt_names names = { 0 };
    struct ctt_tag *t;
    int rc, number;
    char *path;

    CTT_TRY(ctt_rows_folder(r, &path));
    CTT_TRY(ctt_listing_join(r->s, path, "Diving48_vocab.json", &path));
    if (!r->labelled || ctt_disk_kind(path) != CTT_DISK_FILE)
        goto out;
    CTT_TRY(load_classes(path, '[', &names));
    for (int i = 0; i < r->count; i++)
        for (t = &r->row[i].tag; t; t = ctt_tag_next(r, t)) {
            CTT_CHECK(ctt_text_number(t->text, &number) &&
                      number < names.count, CTT_EFORMAT, "%s:%d: no class has "
                      "number %s", r->path, r->row[i].number, t->text);
            t->text = ctt_pool_add(&r->s->texts, names.name[number]);
            CTT_TRY(t->text ? 0 : CTT_ENOMEM);
        }
    rc = 0;
out:
    ctt_names_clear(&names);
    return rc;
}

static int list_objects(struct ctt_rows *r, struct ctt_json *j)
{
    static const struct members members = { &ctt_words_usual,
                                            "no path or id" };
    char *dir;
    int rc;

    CTT_TRY(read_objects(r, j, &members));
    if (r->count == 0)
        return no_list(r->path);
    CTT_TRY(ctt_rows_choose(r, CTT_LABEL_ALL));
    CTT_TRY(name_numbers(r));
    CTT_TRY(ctt_rows_base(r, &dir));
    CTT_TRY(ctt_rows_paths(r, dir));
    r->s->list->form = "Diving48";
    rc = 1;
out:
    return rc;
}

int ctt_list_json(struct ctt_listing *s, const char *path, const char *dir)
{
    struct ctt_rows r = { .s = s, .path = path };
    struct ctt_json *j = NULL;
    char *labels;
    int rc;

    CTT_TRY(find_labels(s, path, &labels));
    CTT_TRY(open_json(path, &j));
    if (labels)
        rc = list_something(&r, j, labels, dir);
    else if (ctt_json_is(j, '{'))
        rc = ctt_rows_activity(&r, j, dir);
    else if (ctt_json_is(j, '['))
        rc = list_objects(&r, j);
    CTT_TRY(rc ? rc : no_list(path));
out:
    ctt_json_close(&j);
    ctt_rows_clear(&r);
    return rc;
}
