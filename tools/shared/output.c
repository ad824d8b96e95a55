/* SPDX-License-Identifier: Apache-2.0
 * output.c: kinds of output files that several programs write, and how a file
 * of a kind is recognised. */
#include "tools/shared/output.h"
#include "base/newfile.h"
#include "net/file/file.h"
#include "net/kind.h"

#include <string.h>
#include <unistd.h>

int ctt_output_has(const char *path, int64_t at, const char *text)
{
    char got[CTT_OUTPUT_BEGIN];
    size_t n = strlen(text);
    int64_t size = 0;
    int fd, is;

    if (n > sizeof(got) || ctt_file_open(path, &fd, &size) < 0)
        return 0;
    is = at + (int64_t)n <= size &&
         ctt_file_read_at(path, fd, at, got, (int64_t)n) >= 0 &&
         memcmp(got, text, n) == 0;
    close(fd);
    return is;
}

int ctt_output_is(const char *path, const struct ctt_output_kind *kind)
{
    return kind->is ? kind->is(path) : ctt_output_has(path, 0, kind->begin);
}

static int is_checkpoint(const char *path)
{
    struct ctt_model *m = NULL;
    int rc = ctt_model_load(path, 1, &m), is = rc >= 0 && m->train;

    ctt_model_free(&m);
    return rc == CTT_ENOMEM ? rc : is;
}

/* By its end, so that a damaged model may be replaced. */
static int is_model(const char *path)
{
    int checkpoint;

    if (ctt_kind_at(path) != CTT_KIND_MODEL)
        return 0;
    checkpoint = is_checkpoint(path);
    return checkpoint < 0 ? checkpoint : !checkpoint;
}

/* WebM, and MP4. */
static int is_video(const char *path)
{
    return ctt_output_has(path, 0, "\x1a\x45\xdf\xa3") ||
           ctt_output_has(path, 4, "ftyp");
}

const struct ctt_output_kind ctt_output_model = {
    .name = "model", .is = is_model };
const struct ctt_output_kind ctt_output_checkpoint = {
    .name = "checkpoint", .is = is_checkpoint };
const struct ctt_output_kind ctt_output_picture = {
    .name = "PNG", .begin = "\x89PNG\r\n\x1a\n" };
const struct ctt_output_kind ctt_output_video = {
    .name = "WebM or MP4", .is = is_video };
