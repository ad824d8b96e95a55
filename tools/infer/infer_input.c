/* SPDX-License-Identifier: Apache-2.0
 * infer_input.c: the paths that convtt-infer reads from standard input. */
#include "base/visible.h"
#include "tools/infer/infer_tool.h"

#include <stdio.h>
#include <string.h>

/* The first bytes of a container are no line of text. */
static int check_first(const char *line)
{
    int rc = 0;

    for (; *line && *line != '\n' && *line != '\r'; line++)
        CTT_CHECK((unsigned char)*line >= ' ' || *line == '\t', CTT_EINVAL,
                  "standard input: bytes, not paths, one per line; --stream - "
                  "reads a video there");
    CTT_CHECK(*line || feof(stdin), CTT_EINVAL, "standard input: a path of too "
              "many bytes, or a video, which --stream - reads");
out:
    return rc;
}

int ctt_input_paths(int (*take)(void *arg, const char *path), void *arg)
{
    char line[8192], *path;
    int rc = 0, first = 1;

    while (fgets(line, sizeof(line), stdin)) {
        size_t n = strcspn(line, "\n");
        if (first)
            CTT_TRY(check_first(line));
        CTT_CHECK(line[n] || feof(stdin), CTT_EINVAL,
                  "standard input: a path of more than %zu bytes",
                  sizeof(line) - 2);
        line[n] = '\0';
        path = line + (first ? ctt_mark_utf8(line, n) : 0);
        n = strlen(path);
        if (n && path[n - 1] == '\r')
            path[n - 1] = '\0';
        if (*path)
            CTT_TRY(take(arg, path));
        first = 0;
    }
    CTT_CHECK(!ferror(stdin), CTT_EIO, "standard input cannot be read");
out:
    return rc;
}
