/* SPDX-License-Identifier: Apache-2.0
 * compare.c: compares the files left by a run of a program with the allowed
 * ones. */
#include "tests/fault/compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void complain(struct complaints *c, const char *fmt, ...)
{
    size_t n = strlen(c->text);
    va_list ap;

    c->count++;
    va_start(ap, fmt);
    if (n + 2 < sizeof(c->text)) {
        strcpy(c->text + n, n ? "; " : "");
        n = strlen(c->text);
        vsnprintf(c->text + n, sizeof(c->text) - n, fmt, ap);
    }
    va_end(ap);
}

static int listed(const struct names *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0)
            return 1;
    return 0;
}

/* The text without blanks and measured values: numbers, or that the machine was
 * busy, which a table says once more below it. */
static char *masked(const char *s)
{
    static const char note[] = "busy: ";
    char *p = malloc(strlen(s) + 1), *to = p;

    if (!p)
        exit(99);
    for (; *s; s++)
        if (strncmp(s, note, strlen(note)) == 0)
            s += strcspn(s, "\n") - (s[strcspn(s, "\n")] == 0);
        else if (strncmp(s, "busy", 4) == 0 || strncmp(s, "null", 4) == 0)
            s += 3;
        else if (!strchr("0123456789.eE+-x ", *s))
            *to++ = *s;
    *to = 0;
    return p;
}

static int masked_same(const char *a, const char *b)
{
    char *x = masked(a), *y = masked(b);
    int same = strcmp(x, y) == 0;

    free(x);
    free(y);
    return same;
}

/* Whether each line of a log is, but for its numbers, one of the new log; the
 * last may be cut short if the program did not finish. */
static int log_whole(const char *s, const char *new, int finished)
{
    char *a = masked(s), *b = masked(new), *line, *end;
    int whole = 1;

    for (line = a; *line && whole; line = end + 1) {
        end = strchr(line, '\n');
        if (!end) {
            whole = !finished;
            break;
        }
        *end = 0;
        whole = strstr(b, line) != NULL;
    }
    free(a);
    free(b);
    return whole;
}

static int file_right(const struct results *r, const struct tree_file *f,
                      int flags)
{
    const struct tree_file *old = tree_find(&r->old, f->name);
    const struct tree_file *new = tree_find(&r->new, f->name);
    int finished = flags & COMPARE_FINISHED;

    if (tree_same(f, new) || (!finished && tree_same(f, old)))
        return 1;
    if (new && listed(&r->timed, f->name))
        return masked_same(f->data, new->data);
    if (new && listed(&r->log, f->name))
        return finished && !(flags & COMPARE_RESUMED)
                   ? masked_same(f->data, new->data)
                   : log_whole(f->data, new->data, finished);
    return 0;
}

static void compare_file(const struct results *r, const struct tree_file *f,
                         int flags, struct complaints *out)
{
    const struct tree_file *old = tree_find(&r->old, f->name);

    if (!(flags & COMPARE_FINISHED) && r->checkpoint &&
        strcmp(r->checkpoint, f->name) == 0)
        return;    /* the next run tells */
    if (!old && !tree_find(&r->new, f->name)) {
        if (!(flags & COMPARE_UNKNOWN))
            complain(out, "%s is left behind", f->name);
    } else if (!file_right(r, f, flags)) {
        out->others += !tree_same(f, old);
        complain(out, "%s is %s", f->name,
                 tree_same(f, old) ? "the old one" : "neither old nor new");
    }
}

void compare_files(const struct results *r, const struct tree *is, int flags,
                   struct complaints *out)
{
    for (int i = 0; i < is->count; i++)
        compare_file(r, &is->file[i], flags, out);
    for (int i = 0; i < r->new.count; i++) {
        const char *name = r->new.file[i].name;

        if (tree_find(is, name))
            continue;
        if (flags & COMPARE_FINISHED)
            complain(out, "%s is missing", name);
        if (tree_find(&r->old, name))
            complain(out, "%s is lost", name);
    }
}

void compare_output(const struct results *r, const char *output,
                    struct complaints *out)
{
    if (r->exact ? strcmp(output, r->output) == 0
                 : masked_same(output, r->output))
        return;
    out->others++;
    complain(out, "status 0, but standard output is another");
}
