/* SPDX-License-Identifier: Apache-2.0
 * tree.h: the files of a folder with their contents, to restore and compare. */
#ifndef CTT_FAULT_TREE_H
#define CTT_FAULT_TREE_H

#include <stddef.h>

struct tree_file {
    char  *name;    /* below the folder */
    char  *data;
    size_t size;
};

struct tree {
    struct tree_file *file;
    int               count;
};

/* Reads a folder and its subfolders; ends the program on failure. */
void tree_read(const char *dir, struct tree *out);
void tree_free(struct tree *t);

/* NULL: there is no such file. */
const struct tree_file *tree_find(const struct tree *t, const char *name);

int tree_same(const struct tree_file *a, const struct tree_file *b);

/* Changes the files of a folder from those of `is` to those of `t`. */
void tree_restore(const char *dir, const struct tree *is,
                  const struct tree *t);

/* All of a file, with a 0 after it; "" if there is none. */
char *tree_slurp(const char *path, size_t *size);

#endif
