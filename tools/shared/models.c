/* SPDX-License-Identifier: Apache-2.0
 * models.c: installed models, which the programs find by name. */
#define _XOPEN_SOURCE 700    /* realpath() */
#include "tools/shared/output.h"
#include "base/opt.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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
 * of a checkout, where it is in build/ or, below libtool's script, in
 * build/.libs/, and as configured. */
static const char *const folders[] = {
    "../share/convtt/models", "../models", "../../models",
    CTT_PKGDATADIR "/models",
};

/* The k-th folder, or "" if the program's is unknown. */
static const char *name_folder(size_t k, char out[2 * PATH])
{
    char exe[PATH];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash;

    exe[n > 0 ? n : 0] = '\0';
    slash = strrchr(exe, '/');
    out[0] = '\0';
    if (*folders[k] == '/')
        snprintf(out, 2 * PATH, "%s", folders[k]);
    else if (slash)
        snprintf(out, 2 * PATH, "%.*s/%s", (int)(slash - exe), exe,
                 folders[k]);
    return out;
}

/* A name that is neither a file nor a model. */
static const char *lost;

char *ctt_tool_model(char *name)
{
    static char path[PATH];
    char folder[2 * PATH];

    if (!name || !*name || strchr(name, '/') || access(name, F_OK) == 0)
        return name;
    for (size_t k = 0; k < CTT_LEN(folders); k++)
        if (*name_folder(k, folder) && look_in_folder(folder, name, path))
            return path;
    lost = strchr(name, '.') ? NULL : name;
    return name;
}

/* The model of a folder that the lost name most likely means, or "". */
static void find_meant(const char *folder, char best[PATH])
{
    struct dirent **e = NULL;
    int n = scandir(folder, &e, NULL, alphasort), most = 0;

    best[0] = '\0';
    for (int i = 0; i < n; i++) {
        char name[PATH], path[PATH];
        const char *end = strrchr(e[i]->d_name, '.');

        snprintf(name, sizeof(name), "%.*s", end ? (int)(end - e[i]->d_name)
                 : 0, e[i]->d_name);
        if (end && (strcmp(end, ".net") == 0 || strcmp(end, ".h5") == 0) &&
            look_in_folder(folder, name, path) &&
            ctt_opt_meant(lost, strlen(lost), name, &most))
            snprintf(best, PATH, "%s", name);
        free(e[i]);
    }
    free(e);
}

const char *ctt_tool_model_hint(const char *message)
{
    static char hint[2 * PATH_MAX];
    size_t n = lost ? strlen(lost) : 0, k = 0;
    char folder[2 * PATH], real[PATH_MAX], best[PATH];

    if (!n || strncmp(message, lost, n) != 0 || message[n] != ':')
        return "";
    while (k + 1 < CTT_LEN(folders) && !realpath(name_folder(k, folder), real))
        k++;
    if (!realpath(name_folder(k, folder), real))
        snprintf(real, sizeof(real), "%s", folder);
    find_meant(real, best);
    snprintf(hint, sizeof(hint), ", nor a model of this name in %s%s%s%s",
             real, *best ? ": is " : ", which has one in each file", best,
             *best ? " meant?" : "");
    return hint;
}
