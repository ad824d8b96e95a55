/* SPDX-License-Identifier: Apache-2.0
 * teachers.c: the models that --teacher names. */
#include "tools/shared/training.h"
#include "tools/shared/output.h"

#include <string.h>

enum { PATH = 4096 };

/* Calls one with each path of the list, and its number. */
static int each(const char *paths, int (*one)(void *, const char *, int),
                void *arg)
{
    char path[PATH];
    int rc = 0, count = 0;

    for (const char *p = paths; p; p = *p ? p + 1 : NULL) {
        size_t n = strcspn(p, ",");

        CTT_CHECK(n > 0, CTT_EINVAL, "--teacher: bad value '%s' (an empty "
                  "name)", paths);
        CTT_CHECK(n < sizeof(path), CTT_EINVAL, "--teacher: name too long");
        CTT_CHECK(count < CTT_TEACHERS, CTT_EINVAL,
                  "--teacher: more than %d models", CTT_TEACHERS);
        memcpy(path, p, n);
        path[n] = '\0';
        CTT_TRY(one(arg, path, count++));
        p += n;
    }
out:
    return rc;
}

static int load_teacher(void *arg, const char *path, int k)
{
    struct ctt_teachers *t = arg;
    int rc;

    CTT_TRY(ctt_tool_load(path, &t->model[k]));
    t->list[k] = t->model[k];
out:
    return rc;
}

int ctt_teachers_load(const char *paths, struct ctt_teachers *out)
{
    memset(out, 0, sizeof(*out));
    return each(paths, load_teacher, out);
}

void ctt_teachers_free(struct ctt_teachers *t)
{
    for (int k = 0; k < CTT_TEACHERS; k++) {
        ctt_model_free(&t->model[k]);
        t->list[k] = NULL;
    }
}

struct outputs { const char *const *made; int n; };

static int spare(void *arg, const char *path, int k)
{
    const struct outputs *o = arg;

    (void)k;
    return ctt_tool_spares(o->made, o->n, path);
}

int ctt_teachers_spared(const char *paths, const char *const *made, int n)
{
    return each(paths, spare, &(struct outputs){ made, n });
}
