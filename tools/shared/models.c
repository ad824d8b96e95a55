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

/* The models of an installation that was moved, where the program is in bin/,
 * and of a checkout, where it is in build/ or, below libtool's script, in
 * build/.libs/. */
static const char *const beside[] = {
    "../share/convtt/models", "../models", "../../models",
};

static int look_beside_program(const char *name, char path[PATH])
{
    char exe[PATH], folder[2 * PATH];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash;

    exe[n > 0 ? n : 0] = '\0';
    slash = strrchr(exe, '/');
    if (!slash)
        return 0;
    *slash = '\0';
    for (size_t i = 0; i < CTT_LEN(beside); i++) {
        snprintf(folder, sizeof(folder), "%s/%s", exe, beside[i]);
        if (look_in_folder(folder, name, path))
            return 1;
    }
    return 0;
}

/* A name that is neither a file nor a model. */
static const char *lost;

char *ctt_tool_model(char *name)
{
    static char path[PATH];

    if (!name || !*name || strchr(name, '/') || access(name, F_OK) == 0)
        return name;
    if (look_beside_program(name, path) ||
        look_in_folder(CTT_PKGDATADIR "/models", name, path))
        return path;
    lost = strchr(name, '.') ? NULL : name;
    return name;
}

const char *ctt_tool_model_hint(const char *message)
{
    size_t n = lost ? strlen(lost) : 0;

    return n && strncmp(message, lost, n) == 0 && message[n] == ':'
           ? ", nor a model of this name in " CTT_PKGDATADIR "/models" : "";
}
