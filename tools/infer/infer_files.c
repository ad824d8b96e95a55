/* SPDX-License-Identifier: Apache-2.0
 * infer_files.c: checks of the files that a prediction will write. */
#include "tools/infer/infer_decide.h"
#include "tools/infer/infer_predict.h"
#include "net/file/h5.h"

static int is_frames(const char *path)
{
    struct ctt_h5 *f = NULL;
    int is = ctt_h5_open(path, &f) >= 0 && ctt_h5_has(f, "prediction") > 0;

    ctt_h5_close(&f);
    return is;
}

static int is_table(const char *path)
{
    return ctt_output_has(path, 0, CTT_MEASURE_BEGIN) ||
           ctt_output_has(path, 0, CTT_ANSWERS_BEGIN);
}

static const struct ctt_output_kind frames_kind = {
    .name = "file of predicted frames", .is = is_frames };
const struct ctt_output_kind ctt_output_table = {
    .name = "table of convtt-infer", .is = is_table };

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
    const struct ctt_output_kind *const kind[FILES] = { &ctt_output_picture,
        &ctt_output_video, &frames_kind, &ctt_output_table };
    const char *file[FILES];
    int rc = 0;

    list_files(c, file);
    for (int i = 0; i < FILES; i++)
        CTT_TRY(ctt_output_check(file[i], kind[i]));
out:
    return rc;
}

int ctt_predict_apart(const struct ctt_predict *c)
{
    const char *file[FILES];

    list_files(c, file);
    return ctt_tool_apart(file, FILES);
}
