/* SPDX-License-Identifier: Apache-2.0
 * list_fold.c: the numbered splits of HMDB51 (Kuehne et al. 2011) and UCF101
 * (Soomro et al. 2012): "train2" and "test2" are those of split 2, "train" and
 * "test" of split 1.  Both have no clips for validation: that is "test". */
#include "video/list/list_rows.h"
#include "video/disk.h"
#include "video/list/files.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>

enum { FOLDS = 3, LIMIT = 1 << 22, NAME = 512 };

/* Takes the number off "train2"; 0 for "train" and 1 for the others in
 * *tested.  The number is 1 if there is none; -1 if this names no split. */
static int fold_of(const char *split, int *tested)
{
    size_t n = strlen(split);
    int fold = n && split[n - 1] > '0' && split[n - 1] <= '0' + FOLDS
               ? split[n - 1] - '0' : 0;
    char name[32];

    n -= fold > 0;
    if (n >= sizeof(name))
        return -1;
    memcpy(name, split, n);
    name[n] = 0;
    *tested = ctt_split_number(name) > 0;
    return ctt_split_number(name) < 0 ? -1 : fold ? fold : 1;
}

static int no_split(const struct ctt_listing *s)
{
    return ctt_error(CTT_EINVAL, "%s: no split '%s' in it (train, test; "
                     "train2: that of the second list)", s->path, s->split);
}

/* ---- HMDB51 ---- */

enum { UNUSED, TRAIN, TEST };    /* use of a clip, by its line */

/* The class in "brush_hair_test_split1.txt", and the number of the split; 0:
 * another name. */
static int class_of(const char *file, char name[NAME])
{
    const char *end = strstr(file, "_test_split");
    int fold;

    if (!end || end == file || end - file >= NAME)
        return 0;
    fold = end[11] - '0';
    if (fold < 1 || fold > FOLDS || strcmp(end + 12, ".txt") != 0)
        return 0;
    memcpy(name, file, (size_t)(end - file));
    name[end - file] = 0;
    return fold;
}

/* Adds the clips that the file at path takes for `use`, with ids class/file. */
static int read_class(struct ctt_listing *s, struct ctt_rows *rows,
                      const char *path, const char *class, int use)
{
    char *text = NULL, *at, *line, *end, name[NAME];
    int rc, number = 0, label, value, n;
    struct ctt_row *r;
    const char *id, *file;
    size_t size;

    CTT_TRY(ctt_text_read(path, LIMIT, &text, &size));
    CTT_TRY(label = ctt_names_add(&s->names, class));
    for (at = text; (line = ctt_text_line(&at, &number)) != NULL;) {
        if (!*line)
            continue;
        end = line + strlen(line);
        while (end > line && end[-1] != ' ' && end[-1] != '\t')
            end--;
        CTT_CHECK(end > line && ctt_text_number(end, &value) &&
                  value <= TEST, CTT_EFORMAT, "%s:%d: not a file and 0, 1 or "
                  "2", path, number);
        end[-1] = 0;
        n = snprintf(name, sizeof(name), "%s/%s", class, ctt_text_trim(line));
        CTT_CHECK(n < NAME && !strchr(line, '/'), CTT_EFORMAT,
                  "%s:%d: a bad file name", path, number);
        if (value != use)
            continue;
        CTT_TRY(ctt_rows_word(rows, name, &file));
        name[n - (int)strlen(ctt_path_ending(name))] = 0;
        CTT_TRY(ctt_rows_word(rows, name, &id));
        CTT_TRY(ctt_rows_add(rows, id, &r));
        r->file = file;
        r->label = s->names.name[label];
    }
    rc = 0;
out:
    ctt_free(text);
    return rc;
}

/* Reads the lists in the folder dir; returns their number, or 0. */
static int read_classes(struct ctt_listing *s, struct ctt_rows *rows,
                        const char *dir, int only)
{
    struct ctt_folder f = { 0 };
    char class[NAME], *path = NULL;
    int rc = 0, fold, tested = 0, lists = 0;

    if (ctt_disk_kind(dir) != CTT_DISK_FOLDER)
        return 0;
    CTT_TRY(ctt_folder_read(dir, &f));
    fold = fold_of(s->split, &tested);
    for (int i = 0; i < f.count; i++) {
        int here = class_of(f.name[i], class);
        lists += here > 0;
        if (!here || here != (only ? only : fold))
            continue;
        path = ctt_path_join(dir, f.name[i]);
        CTT_TRY(path ? 0 : CTT_ENOMEM);
        CTT_TRY(read_class(s, rows, path, class, tested ? TEST : TRAIN));
        ctt_free(path);
        path = NULL;
    }
    if (lists && s->names.count == 0)
        CTT_TRY(no_split(s));
    rc = lists;
out:
    ctt_folder_clear(&f);
    ctt_free(path);
    return rc;
}

/* Reads the lists in dir; the videos are below root. */
static int read_hmdb(struct ctt_listing *s, const char *dir, const char *root,
                     int only)
{
    static const struct ctt_layout layout = { .form = "HMDB51",
        .prefix = { "" }, .place = { "" }, .depth = 2, .extension = "" };
    struct ctt_rows rows = { .row = NULL };
    int rc;

    CTT_TRY(read_classes(s, &rows, dir, only));
    if (rc)
        CTT_TRY(ctt_rows_list(s, &rows, &layout, dir, root));
out:
    ctt_rows_clear(&rows);
    return rc;
}

/* s->path is the folder above the lists, that of the lists, or one of them,
 * which says the number of the split. */
int ctt_list_hmdb(struct ctt_listing *s)
{
    static const char *const sub[] = { "testTrainMulti_7030_splits",
                                       "splits", "annotations" };
    char *dir = NULL, *above = NULL, name[NAME];
    int rc = 0, only;

    if (ctt_disk_kind(s->path) == CTT_DISK_FILE) {
        only = class_of(ctt_path_base(s->path), name);
        if (!only)
            return 0;
        dir = ctt_path_dir(s->path);
    } else {
        only = 0;
        dir = ctt_strdup(s->path);
    }
    above = dir ? ctt_path_join(dir, "..") : NULL;
    CTT_TRY(above ? 0 : CTT_ENOMEM);
    CTT_TRY(read_hmdb(s, dir, above, only));
    for (size_t i = 0; i < CTT_LEN(sub) && rc == 0 && !only; i++) {
        ctt_free(dir);
        dir = ctt_path_join(s->path, sub[i]);
        CTT_TRY(dir ? 0 : CTT_ENOMEM);
        CTT_TRY(read_hmdb(s, dir, s->path, 0));
    }
out:
    ctt_free(dir);
    ctt_free(above);
    return rc;
}

/* ---- UCF101 ---- */

int ctt_list_ucf(struct ctt_listing *s)
{
    /* The folder has the name ucfTrainTestlist as published. */
    static const struct ctt_list_files files = {
        .place = { "", "*" }, .name = { "trainlist01.txt" },
    };
    char *dir = NULL, *path = NULL, *first = NULL, name[32];
    int rc, fold, tested = 0;

    CTT_TRY(ctt_list_file(&files, s->path, "", &first));
    if (!first)
        goto out;    /* not this layout */
    dir = ctt_path_dir(first);
    CTT_TRY(dir ? 0 : CTT_ENOMEM);
    fold = fold_of(s->split, &tested);
    snprintf(name, sizeof(name), "%slist0%d.txt", tested ? "test" : "train",
             fold);
    path = ctt_path_join(dir, name);
    CTT_TRY(path ? 0 : CTT_ENOMEM);
    if (fold < 0 || ctt_disk_kind(path) != CTT_DISK_FILE)
        CTT_TRY(no_split(s));
    CTT_TRY(ctt_list_text_at(s, path));
    s->list->form = "UCF101";
    rc = 1;
out:
    ctt_free(first);
    ctt_free(dir);
    ctt_free(path);
    return rc;
}
