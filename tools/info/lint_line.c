/* SPDX-License-Identifier: Apache-2.0
 * lint_line.c: the lines of a model's text that make its nodes. */
#include "tools/info/lint_inside.h"

/* The second word of a line, and its length; NULL: a comment or less. */
static const char *name_in(const char *line, size_t *n)
{
    const char *s = line + strspn(line, " \t");

    if (*s == '#')
        return NULL;
    s += strcspn(s, " \t\n");
    s += strspn(s, " \t");
    *n = strcspn(s, " \t\n#");
    return *n ? s : NULL;
}

/* The line whose second word is the first n bytes of name, and its start. */
static int find_line(const char *text, const char *name, size_t n,
                     const char **start)
{
    int line = 1;

    for (const char *s = text; s; line++) {
        size_t length;
        const char *is = name_in(s, &length);

        if (is && length == n && memcmp(is, name, n) == 0) {
            *start = s;
            return line;
        }
        s = strchr(s, '\n');
        s = s ? s + 1 : NULL;
    }
    return 0;
}

/* A cell's nodes have its name and a dot before their own. */
int ctt_lint_line(const struct lint *l, int i, const char **start)
{
    const char *name = l->m->g->node[i].name;

    for (size_t n = strlen(name); n > 0; n--) {
        int line = !name[n] || name[n] == '.'
                   ? find_line(l->text, name, n, start) : 0;

        if (line)
            return line;
    }
    *start = "";
    return 0;
}
