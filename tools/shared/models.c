/* SPDX-License-Identifier: Apache-2.0
 * models.c: installed models, which the programs find by name. */
#include "tools/shared/output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 1024 };

static int look_in_folder(const char *folder, const char *name, char path[PATH])
{
    static const char *const ends[] = { ".net", ".h5", "" };

    for (size_t i = 0; i < CTT_LEN(ends); i++)
        if (snprintf(path, PATH, "%s/%s%s", folder, name, ends[i]) < PATH &&
            access(path, R_OK) == 0)
            return 1;
    return 0;
}

/* The models of an installation that was moved: the program is in bin/. */
static int look_beside_program(const char *name, char path[PATH])
{
    char folder[PATH];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    char *slash;

    folder[n > 0 ? n : 0] = '\0';
    slash = strrchr(folder, '/');
    if (!slash || (size_t)snprintf(slash, sizeof(folder) - (size_t)(slash -
                                   folder), "/../share/convtt/models") >=
                      sizeof(folder) - (size_t)(slash - folder))
        return 0;
    return look_in_folder(folder, name, path);
}

char *ctt_tool_model(char *name)
{
    static char path[PATH];

    if (!name || !*name || strchr(name, '/') || access(name, F_OK) == 0)
        return name;
    return look_beside_program(name, path) ||
           look_in_folder(CTT_PKGDATADIR "/models", name, path) ? path : name;
}
