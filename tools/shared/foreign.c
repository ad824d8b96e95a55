/* SPDX-License-Identifier: Apache-2.0
 * foreign.c: an ONNX file where a program takes a model. */
#include "exchange/exchange.h"
#include "exchange/import.h"
#include "net/file/file.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 1024 };

static int is_onnx(const char *path)
{
    size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".onnx") == 0;
}

static int import_model(const char *path, struct ctt_model **out)
{
    struct ctt_import_job job = { .path = path };
    struct ctt_import *m = NULL;
    struct ctt_import_fault f;
    int rc, n = 0;

    CTT_TRY(ctt_import_own_onnx(path, out));
    if (*out)
        goto out;
    CTT_TRY(ctt_import_open(&job, &m));
    while (ctt_import_fault(m, n, &f))
        n++;
    ctt_import_fault(m, 0, &f);
    CTT_CHECK(!n, CTT_EUNSUP, "%s: %d node%s cannot be imported, such as %s "
              "(%s: %s); convtt-info --import lists them", path, n, ctt_s(n),
              f.node, f.op, f.reason);
    *out = ctt_import_release(&m);
out:
    ctt_import_close(&m);
    return rc;
}

/* Saves the model in a folder of its own and keeps the file without its name,
 * so that nothing is left behind; its path from now on. */
static int keep_model(const struct ctt_model *m, char path[PATH])
{
    const char *top = getenv("TMPDIR");
    char folder[PATH - 16];
    int fd = -1, rc = 0, made = 0;

    snprintf(folder, sizeof(folder), "%s/convtt-XXXXXX", top && *top ? top :
             "/tmp");
    CTT_CHECK(mkdtemp(folder), CTT_EIO, "%s: no folder for the imported model: "
              "%s", folder, strerror(errno));
    made = 1;
    snprintf(path, PATH, "%s/model.h5", folder);
    CTT_TRY(ctt_model_save(path, m));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    CTT_CHECK(fd >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
    unlink(path);
    snprintf(path, PATH, "/proc/self/fd/%d", fd);
out:
    if (made)
        rmdir(folder);
    return rc;
}

int ctt_tool_import(const char *path, char **out)
{
    static char kept[PATH];
    struct ctt_model *m = NULL;
    int rc = 0;

    if (!is_onnx(path))
        return 0;
    CTT_TRY(import_model(path, &m));
    CTT_TRY(keep_model(m, kept));
    ctt_tool_stands_for(kept, path);
    *out = kept;
out:
    ctt_model_free(&m);
    return rc;
}

int ctt_tool_load(const char *path, struct ctt_model **out)
{
    *out = NULL;
    return is_onnx(path) ? import_model(path, out)
                         : ctt_model_load(path, 0, out);
}
