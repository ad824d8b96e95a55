/* SPDX-License-Identifier: Apache-2.0
 * module.c: loads the code of a device that is a module, when it is opened. */
#include "device/module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int verror(int code, const char *fmt, va_list ap)
{
    char text[512];

    vsnprintf(text, sizeof(text), fmt, ap);
    return ctt_error(code, "%s", text);
}

static const struct ctt_host host = {
    CTT_MODULE_VERSION, verror, ctt_errmsg, ctt_calloc, ctt_free,
};

/* Of one device: a module is never unloaded, as its libraries cannot be. */
static struct {
    char                       name[16];
    const struct ctt_dev_kind *kind;
} loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where the module is searched, from the folder of the program: for one in the
 * build folder, an installed one and a test. */
static const char *const beside[] = { "", "/.libs", "/../lib/convtt",
                                      "/../.libs" };

/* "path" if there is a file; else it is noted among those looked for. */
static int look(const char *folder, const char *more, const char *name,
                char *path, size_t size, char *seen, size_t room)
{
    size_t used = strlen(seen);

    snprintf(path, size, "%s%s/convtt-%s.so", folder, more, name);
    if (access(path, R_OK) == 0)
        return 1;
    snprintf(seen + used, room - used, "%s%s%s", used ? ", " : "", folder,
             more);
    return 0;
}

static int find(const char *name, char *path, size_t size)
{
    const char *asked = getenv("CTT_MODULES");
    char folder[256] = "", seen[360] = "", *slash;
    ssize_t n;
    int found = 0, rc = 0;

    if (asked && *asked) {
        found = look(asked, "", name, path, size, seen, sizeof(seen));
    } else {
        n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
        folder[n > 0 ? n : 0] = 0;
        slash = strrchr(folder, '/');
        if (slash)
            *slash = 0;
        for (size_t i = 0; slash && !found && i < CTT_LEN(beside); i++)
            found = look(folder, beside[i], name, path, size, seen,
                         sizeof(seen));
        found = found || look(CTT_PKGLIBDIR, "", name, path, size, seen,
                              sizeof(seen));
    }
    CTT_CHECK(found, CTT_EUNSUP, "device %s: no convtt-%s.so in %s", name,
              name, seen);
out:
    return rc;
}

static int load(const char *name, const struct ctt_dev_kind **out)
{
    const struct ctt_dev_kind *(*get)(const struct ctt_host *), *kind;
    char path[512];
    void *so = NULL;
    int rc = 0;

    CTT_TRY(find(name, path, sizeof(path)));
    so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CTT_CHECK(so, CTT_EUNSUP, "device %s: %s", name, dlerror());
    get = (const struct ctt_dev_kind *(*)(const struct ctt_host *))
        dlsym(so, CTT_MODULE_SYMBOL);
    CTT_CHECK(get, CTT_EUNSUP, "device %s: %s", name, dlerror());
    kind = get(&host);
    CTT_CHECK(kind, CTT_EUNSUP, "device %s: %s is of another version", name,
              path);
    *out = kind;
    so = NULL;
out:
    if (so)
        dlclose(so);
    return rc;
}

int ctt_dev_module(const char *name, const struct ctt_dev_kind **out)
{
    int rc = 0;

    pthread_mutex_lock(&lock);
    if (strcmp(loaded.name, name) != 0) {
        CTT_TRY(load(name, &loaded.kind));
        snprintf(loaded.name, sizeof(loaded.name), "%s", name);
    }
    *out = loaded.kind;
out:
    pthread_mutex_unlock(&lock);
    return rc;
}
