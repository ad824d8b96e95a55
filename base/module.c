/* SPDX-License-Identifier: Apache-2.0
 * module.c: finds and loads modules. */
#define _XOPEN_SOURCE 700    /* realpath */
#include "base/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int verror(int code, const char *fmt, va_list ap)
{
    char text[512];

    vsnprintf(text, sizeof(text), fmt, ap);
    return ctt_error(code, "%s", text);
}

static struct {
    char        name[16];
    const void *what;
} loaded[8];    /* the last stays empty */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A program of a build folder has, in a folder at most UP above its own, this
 * file, which the build writes and which holds the path of that folder. */
enum { UP = 4, PATH = 512 };
#define BUILD_FILE "/.libs/convtt-build"

struct search {
    const char *name;
    uid_t       owner;         /* of the program */
    char        path[PATH];    /* of the module */
    char        seen[PATH];    /* folders without it */
};

/* 1 if the file is in folder[n] + more; else that is noted. */
static int look_in_folder(struct search *s, const char *folder, int n,
                          const char *more)
{
    size_t used = strlen(s->seen);

    snprintf(s->path, sizeof(s->path), "%.*s%s/convtt-%s.so", n, folder, more,
             s->name);
    if (access(s->path, R_OK) == 0)
        return 1;
    snprintf(s->seen + used, sizeof(s->seen) - used, "%s%.*s%s",
             used ? ", " : "", n, folder, more);
    return 0;
}

static int look_in_list(struct search *s, const char *list)
{
    int found = 0, n;

    for (; !found && *list; list += n + (list[n] == ':')) {
        n = (int)strcspn(list, ":");
        found = n > 0 && look_in_folder(s, list, n, "");
    }
    return found;
}

/* 1 if nobody but root, the user and the owner of the program can change it. */
static int is_theirs(const struct search *s, const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !(st.st_mode & S_IWOTH) &&
           (st.st_uid == 0 || st.st_uid == s->owner || st.st_uid == geteuid());
}

/* The file without links on its way, and its folder.  Sets s->path to it. */
static int is_trusted(struct search *s)
{
    char *real = realpath(s->path, NULL), *slash;
    int is = 0;

    slash = real ? strrchr(real, '/') : NULL;
    if (slash && (size_t)snprintf(s->path, sizeof(s->path), "%s", real) <
        sizeof(s->path)) {
        is = is_theirs(s, real);
        *slash = 0;
        is = is && is_theirs(s, *real ? real : "/");
    }
    free(real);
    return is;
}

/* Notes one that is there but does not count. */
static int pass(struct search *s)
{
    size_t used = strlen(s->seen);

    snprintf(s->seen + used, sizeof(s->seen) - used, "%s%s (others may write "
             "there)", used ? ", " : "", s->path);
    return 0;
}

/* The folder of the program, without a link on its way; "": unknown. */
static void program_folder(struct search *s, char folder[PATH])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH - 1);
    struct stat st;
    char *slash;

    folder[n > 0 ? n : 0] = 0;
    slash = strrchr(folder, '/');
    folder[slash ? slash - folder : 0] = 0;
    s->owner = stat("/proc/self/exe", &st) == 0 ? st.st_uid : 0;
}

/* 1 if the first n bytes of folder are a build folder, which says so itself. */
static int is_build_folder(struct search *s, const char *folder, int n)
{
    char path[PATH], text[PATH] = "";
    FILE *f = NULL;
    size_t got;

    if (snprintf(path, sizeof(path), "%.*s" BUILD_FILE, n, folder) <
        (int)sizeof(path) && is_theirs(s, path))
        f = fopen(path, "r");
    if (!f)
        return 0;
    got = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    return got == (size_t)n + 1 && text[n] == '\n' &&
           memcmp(text, folder, (size_t)n) == 0;
}

/* The build folder that the program is part of. */
static int look_in_build(struct search *s, const char *folder)
{
    int n = (int)strlen(folder);

    for (int up = 0; up <= UP && n > 0; up++) {
        if (is_build_folder(s, folder, n))
            return look_in_folder(s, folder, n, "/.libs") &&
                   (is_trusted(s) || pass(s));
        while (n > 0 && folder[--n] != '/')
            ;
    }
    return 0;
}

/* The configured folder comes before the one of a moved installation. */
static int look_installed(struct search *s, const char *folder)
{
    if (look_in_folder(s, CTT_PKGLIBDIR, (int)strlen(CTT_PKGLIBDIR), ""))
        return 1;
    return *folder && look_in_folder(s, folder, (int)strlen(folder),
                                     "/../lib/convtt") &&
           (is_trusted(s) || pass(s));
}

static int find_module(struct search *s)
{
    int is_user = getuid() == geteuid() && getgid() == getegid();
    const char *asked = is_user ? getenv("CTT_MODULES") : NULL;
    char folder[PATH];
    int rc = 0;

    program_folder(s, folder);
    CTT_CHECK(asked && *asked ? look_in_list(s, asked) :
              look_in_build(s, folder) || look_installed(s, folder),
              CTT_EUNSUP, "no convtt-%s.so in %s", s->name, s->seen);
out:
    return rc;
}

/* The code of a module that does not load: CTT_ELACK where the process lacks
 * descriptors or memory for it, which only the loader's text says. */
static int load_code(const char *text)
{
    const char *const lacks[] = { strerror(EMFILE), strerror(ENFILE),
                                  strerror(ENOMEM), "failed to map segment" };

    for (size_t i = 0; i < CTT_LEN(lacks); i++)
        if (strstr(text, lacks[i]))
            return CTT_ELACK;
    return CTT_EUNSUP;
}

/* A handle that is not a symbol of ours is closed; one that is stays. */
static int open_module(const char *name, const struct ctt_host *host,
                       const void **out)
{
    struct search s = { .name = name };
    char symbol[32];
    ctt_module_get *get;
    const void *what;
    const char *why;
    void *so = NULL, *at;
    int rc = 0;

    CTT_TRY(find_module(&s));
    snprintf(symbol, sizeof(symbol), "ctt_module_%s", name);
    so = dlopen(s.path, RTLD_NOW | RTLD_LOCAL);
    why = so ? "" : dlerror();
    rc = so ? 0 : load_code(why);
    CTT_CHECK(so, rc, "%s%s", why, rc == CTT_ELACK ? "; the process may have "
              "too little memory or too few files: ulimit -v, -n" : "");
    at = dlsym(so, symbol);
    CTT_CHECK(at, CTT_EUNSUP, "%s", dlerror());
    memcpy(&get, &at, sizeof(get));    /* ISO C has no cast for it */
    what = get(host);
    CTT_CHECK(what, CTT_EUNSUP, "%s is of another version", s.path);
    *out = what;
    so = NULL;
out:
    if (so)
        dlclose(so);
    return rc;
}

int ctt_module_load(const char *name, const void *more, const void **out)
{
    const struct ctt_host host = { CTT_MODULE_VERSION, verror, ctt_errmsg,
                                   ctt_calloc, ctt_free, more };
    size_t i = 0;
    int rc = 0;

    pthread_mutex_lock(&lock);
    while (loaded[i].what && strcmp(loaded[i].name, name) != 0)
        i++;
    if (!loaded[i].what) {
        CTT_CHECK(i + 1 < CTT_LEN(loaded), CTT_EINVAL, "too many modules");
        CTT_TRY(open_module(name, &host, &loaded[i].what));
        snprintf(loaded[i].name, sizeof(loaded[i].name), "%s", name);
    }
    *out = loaded[i].what;
out:
    pthread_mutex_unlock(&lock);
    return rc;
}
