/* SPDX-License-Identifier: Apache-2.0
 * tree.c: the files of a folder with their contents, to restore and compare. */
#include "tests/fault/tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 1024 };

static void tree_fails(const char *what)
{
    fprintf(stderr, "sweep: %s: %s\n", what, strerror(errno));
    exit(99);
}

static void *must(void *p)
{
    if (!p)
        tree_fails("memory");
    return p;
}

char *tree_slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *p = must(malloc(1));
    size_t n = 0, room = 0, got = 1;

    for (; f && got > 0; n += got) {
        if (n == room)
            p = must(realloc(p, (room = 2 * room + 4096) + 1));
        got = fread(p + n, 1, room - n, f);
    }
    if (f)
        fclose(f);
    p[n] = 0;
    *size = n;
    return p;
}

static void add_file(struct tree *t, const char *dir, const char *name)
{
    char path[LONGEST];
    struct tree_file *f;

    t->file = must(realloc(t->file, (size_t)(t->count + 1) *
                           sizeof(*t->file)));
    f = &t->file[t->count++];
    f->name = must(strdup(name));
    snprintf(path, sizeof(path), "%.500s/%.500s", dir, name);
    f->data = tree_slurp(path, &f->size);
}

static void walk_tree(struct tree *t, const char *dir, const char *below)
{
    char path[LONGEST], name[LONGEST];
    struct dirent *e;
    struct stat st;
    DIR *d;

    snprintf(path, sizeof(path), "%s/%s", dir, below);
    d = opendir(path);
    if (!d)
        tree_fails(path);
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof(name), "%.500s%s%s", below, *below ? "/" : "",
                 e->d_name);
        snprintf(path, sizeof(path), "%.500s/%.500s", dir, name);
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            walk_tree(t, dir, name);
        else
            add_file(t, dir, name);
    }
    closedir(d);
}

void tree_read(const char *dir, struct tree *out)
{
    memset(out, 0, sizeof(*out));
    walk_tree(out, dir, "");
}

void tree_free(struct tree *t)
{
    for (int i = 0; i < t->count; i++) {
        free(t->file[i].name);
        free(t->file[i].data);
    }
    free(t->file);
    memset(t, 0, sizeof(*t));
}

const struct tree_file *tree_find(const struct tree *t, const char *name)
{
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->file[i].name, name) == 0)
            return &t->file[i];
    return NULL;
}

int tree_same(const struct tree_file *a, const struct tree_file *b)
{
    return a && b && a->size == b->size &&
           memcmp(a->data, b->data, a->size) == 0;
}

void tree_restore(const char *dir, const struct tree *is,
                  const struct tree *t)
{
    char path[LONGEST];
    FILE *f;

    for (int i = 0; i < is->count; i++)
        if (!tree_find(t, is->file[i].name)) {
            snprintf(path, sizeof(path), "%s/%s", dir, is->file[i].name);
            unlink(path);
        }
    for (int i = 0; i < t->count; i++) {
        if (tree_same(tree_find(is, t->file[i].name), &t->file[i]))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, t->file[i].name);
        unlink(path);
        f = fopen(path, "wb");
        if (!f || fwrite(t->file[i].data, 1, t->file[i].size, f) !=
            t->file[i].size || fclose(f) != 0)
            tree_fails(path);
    }
}
