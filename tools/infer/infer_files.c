/* SPDX-License-Identifier: Apache-2.0
 * infer_files.c: checks of the files that a prediction will write. */
#include "tools/infer/infer_files.h"
#include "tools/shared/files.h"
#include "tools/shared/tool.h"

enum { FILES = 4 };

static void list_files(const struct ctt_predict *c, const char *file[FILES])
{
    file[0] = c->strip;
    file[1] = c->video;
    file[2] = c->frames;
    file[3] = c->csv;
}

int ctt_predict_spares(const struct ctt_predict *c, const char *path)
{
    const char *file[FILES];

    list_files(c, file);
    return ctt_tool_spares(file, FILES, path);
}

int ctt_predict_can_write(const struct ctt_predict *c)
{
    static const enum ctt_tool_kind kind[FILES] = { CTT_TOOL_PICTURE,
        CTT_TOOL_VIDEO, CTT_TOOL_FRAMES, CTT_TOOL_TABLE };
    const char *file[FILES];
    int rc = 0;

    list_files(c, file);
    for (int i = 0; i < FILES; i++)
        if (file[i])
            CTT_TRY(ctt_tool_can_replace(file[i], kind[i]));
out:
    return rc;
}

int ctt_predict_apart(const struct ctt_predict *c)
{
    const char *file[FILES];

    list_files(c, file);
    return ctt_tool_apart(file, FILES);
}
