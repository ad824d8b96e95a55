/* SPDX-License-Identifier: Apache-2.0
 * known.c: the table of libraries that do not survive a failed allocation. */
#include "tests/fault/known.h"
#include "tests/fault/tree.h"

#include <stdio.h>
#include <string.h>

void known_read(const char *path, struct known_list *out)
{
    size_t size;
    char *line = tree_slurp(path, &size), *end;

    for (; (end = strchr(line, '\n')) && out->count < KNOWN_MANY;
         line = end + 1) {
        *end = 0;
        if (*line && *line != '#')
            out->row[out->count++].text = line;
    }
}

/* The innermost function that is not of libc or of C++'s runtime: where the
 * program crashed, or else where the allocation failed. */
static void blamed(const struct fault_answer *a, char to[FAULT_WHERE])
{
    static const char *const passed[] = { "?", "shim.so", "libc.so",
                                          "libstdc++.so", "libgcc_s.so" };
    const char *crash = strstr(a->where, " CRASH "), *p = a->where;
    size_t n, i;

    strcpy(to, "");
    for (p = crash ? crash + strlen(" CRASH ") : p; *p && !*to;
         p += n + (p[n] == ' ')) {
        n = strcspn(p, " ");
        for (i = 0; i < sizeof(passed) / sizeof(*passed); i++)
            if (strncmp(p, passed[i], strlen(passed[i])) == 0)
                break;
        if (i == sizeof(passed) / sizeof(*passed))
            snprintf(to, FAULT_WHERE, "%.*s", (int)n, p);
    }
}

struct known *known_find(struct known_list *l, enum fault kind,
                         const struct fault_answer *a, int hides)
{
    char where[FAULT_WHERE], key[512];

    if (kind != FAULT_ALLOC && kind != FAULT_ALLOC_ON)
        return NULL;
    blamed(a, where);
    for (int i = 0; i < l->count; i++) {
        const char *text = l->row[i].text, *end = strchr(text, '|');

        snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, " \t|"), text);
        if (end && hides == (strncmp(end, "| hides", 7) == 0) &&
            strstr(hides ? a->where : where, key))
            return &l->row[i];
    }
    return NULL;
}

void known_print(const struct known_list *l)
{
    for (int i = 0; i < l->count; i++)
        if (l->row[i].times > 0)
            printf("KNOWN %d %s\n", l->row[i].times, l->row[i].text);
}
