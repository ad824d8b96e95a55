/* SPDX-License-Identifier: Apache-2.0
 * list_fold.c: the numbered splits of HMDB51 (Kuehne et al. 2011) and UCF101
 * (Soomro et al. 2012): "train2" and "test2" are those of split 2, "train" and
 * "test" of split 1.  Both have no clips for validation: that is "test". */
#include "video/list/list.h"
#include "video/list/files.h"
#include "video/list/rows.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>

enum { FOLDS = 3, NAME = 512 };

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
    return ctt_error(CTT_ENOSPLIT, "%s: no split '%s' in it (train, test; "
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
static int read_class(struct ctt_rows *r, const char *path, const char *class,
                      int use)
{
    char *text, *line, *end, *id, name[NAME];
    int rc, number = 0, label, value;
    struct ctt_row *row;

    CTT_TRY(ctt_listing_text(r->s, path, &text));
    CTT_TRY(label = ctt_names_add(&r->s->names, class));
    while ((line = ctt_text_line(&text, &number)) != NULL) {
        if (!*line)
            continue;
        end = line + strlen(line);
        while (end > line && end[-1] != ' ' && end[-1] != '\t')
            end--;
        CTT_CHECK(end > line && ctt_text_number(end, &value) &&
                  value <= TEST, CTT_EFORMAT, "%s:%d: not a file and 0, 1 or "
                  "2", path, number);
        end[-1] = 0;
        CTT_CHECK(snprintf(name, NAME, "%s/%s", class, ctt_text_trim(line)) <
                  NAME && !strchr(line, '/'), CTT_EFORMAT,
                  "%s:%d: a bad file name", path, number);
        if (value != use)
            continue;
        id = ctt_pool_add(&r->s->texts, name);
        CTT_TRY(id ? ctt_rows_new(r, id, number, &row) : CTT_ENOMEM);
        row->tag.text = r->s->names.name[label];
    }
    rc = 0;
out:
    return rc;
}

/* Reads the lists of a split in the folder dir; returns their number, or 0. */
static int read_classes(struct ctt_rows *r, const char *dir, int fold, int use)
{
    struct ctt_folder f = { 0 };
    char class[NAME], *path;
    int rc, lists = 0;

    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count; i++) {
        int here = class_of(f.name[i], class);

        lists += here > 0;
        if (!here || here != fold)
            continue;
        CTT_TRY(ctt_listing_join(r->s, dir, f.name[i], &path));
        CTT_TRY(read_class(r, path, class, use));
    }
    if (lists && r->s->names.count == 0)
        CTT_TRY(no_split(r->s));
    rc = lists;
out:
    ctt_folder_clear(&f);
    return rc;
}

/* Reads the lists in a folder; the videos are below root.  only: the number of
 * the split, or 0: as s->split says. */
static int read_hmdb(struct ctt_listing *s, const char *dir, const char *root,
                     int only)
{
    static const struct ctt_layout layout = { .prefix = { "" },
        .place = { "" }, .depth = 2, .extension = "", .files = 1 };
    struct ctt_rows r = { .s = s, .path = dir };
    int rc, tested = 0, fold = fold_of(s->split, &tested);

    if (only && fold > 0 && !strpbrk(s->split, "123"))
        fold = only;
    CTT_TRY(only && fold != only ? no_split(s) : 0);
    CTT_TRY(read_classes(&r, dir, fold, tested ? TEST : TRAIN));
    s->parted = rc > 0;
    if (rc)
        CTT_TRY(ctt_rows_ids(&r, &layout, "HMDB51", root));
out:
    ctt_rows_clear(&r);
    return rc;
}

/* s->path is the folder above the lists, that of the lists, or one of them,
 * which says the number of the split. */
int ctt_list_hmdb(struct ctt_listing *s)
{
    static const char *const sub[] = { "", "testTrainMulti_7030_splits",
                                       "splits", "annotations" };
    int rc = 0, only = 0, folder = ctt_disk_kind(s->path) == CTT_DISK_FOLDER;
    char *dir, *root, *above, name[NAME];

    if (!folder && (only = class_of(ctt_path_base(s->path), name)) == 0)
        return 0;
    CTT_TRY(folder ? ctt_listing_join(s, s->path, "", &root) :
                     ctt_listing_dir(s, s->path, &root));
    CTT_TRY(ctt_listing_join(s, root, "..", &above));
    for (size_t i = 0; i < (only ? 1 : CTT_LEN(sub)) && rc == 0; i++) {
        CTT_TRY(ctt_listing_folder(s, root, sub[i], &dir));
        if (dir)
            CTT_TRY(read_hmdb(s, dir, i ? root : above, only));
    }
out:
    return rc;
}

/* ---- UCF101 ---- */

int ctt_list_ucf(struct ctt_listing *s)
{
    /* The folder has the name ucfTrainTestlist as published. */
    static const struct ctt_list_files files = {
        .place = { "", "*" }, .name = { "trainlist01.txt" },
    };
    int rc, tested = 0, fold = fold_of(s->split, &tested);
    char *dir, *path, name[32];

    CTT_TRY(ctt_list_file(s, &files, s->path, "", &path));
    if (!path)
        goto out;    /* not this layout */
    CTT_TRY(ctt_listing_dir(s, path, &dir));
    snprintf(name, sizeof(name), "%slist0%d.txt", tested ? "test" : "train",
             fold);
    CTT_TRY(ctt_listing_join(s, dir, name, &path));
    if (fold < 0 || ctt_disk_kind(path) != CTT_DISK_FILE)
        CTT_TRY(no_split(s));
    CTT_TRY(ctt_list_text(s, path, dir));
    s->list->form = "UCF101";
    s->parted = 1;
    rc = 1;
out:
    return rc;
}
