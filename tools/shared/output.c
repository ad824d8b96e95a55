/* SPDX-License-Identifier: Apache-2.0
 * output.c: what kind of output a file is. */
#include "tools/shared/output.h"
#include "compress/search/budget_run.h"
#include "tools/shared/svg.h"
#include "compress/compress.h"
#include "libtrain/search/search.h"
#include "net/file/file.h"
#include "net/file/h5.h"
#include "net/kind.h"
#include "base/newfile.h"
#include "tools/infer/infer_answers.h"
#include "tools/stream/event_out.h"
#include "tools/compress/explain_log.h"
#include "tools/compress/explain_say.h"
#include "tools/infer/infer_measure.h"
#include "tools/train/search_run.h"
#include "tools/compress/sensitivity_log.h"
#include "tools/compress/sensitivity_say.h"
#include "tools/train/train_folds.h"
#include "video/video.h"

#include <string.h>
#include <unistd.h>

/* The most bytes that tell a kind. */
enum { MOST = 64 };
_Static_assert(sizeof(CTT_SVG_BEGIN) <= MOST, "the longest beginning");

/* Whether the n bytes at an offset of a file are these. */
static int has_bytes(const char *path, int64_t at, const char *bytes, size_t n)
{
    char got[MOST];
    int64_t size = 0;
    int fd, is;

    if (n > sizeof(got) || ctt_file_open(path, &fd, &size) < 0)
        return 0;
    is = at + (int64_t)n <= size &&
         ctt_file_read_at(path, fd, at, got, (int64_t)n) >= 0 &&
         memcmp(got, bytes, n) == 0;
    close(fd);
    return is;
}

#define BEGINS(path, text) has_bytes(path, 0, text, sizeof(text) - 1)

/* By its end, so that a damaged model may be replaced. */
static int is_model(const char *path)
{
    return ctt_kind_at(path) == CTT_KIND_MODEL;
}

static int is_checkpoint(const char *path)
{
    struct ctt_model *m = NULL;
    int is = ctt_model_load(path, 1, &m) >= 0 && m->train;

    ctt_model_free(&m);
    return is;
}

static int is_pack(const char *path)
{
    struct ctt_pack *p = NULL;
    int is = ctt_pack_open(path, &p) >= 0;

    ctt_pack_close(&p);
    return is;
}

static int is_frames(const char *path)
{
    struct ctt_h5 *f = NULL;
    int is = ctt_h5_open(path, &f) >= 0 && ctt_h5_has(f, "prediction") > 0;

    ctt_h5_close(&f);
    return is;
}

static int is_log_csv(const char *path)
{
    return BEGINS(path, CTT_LOG_CSV_BEGIN);
}

static int is_log_json(const char *path)
{
    return BEGINS(path, CTT_LOG_JSON_BEGIN);
}

static int is_folds_csv(const char *path)
{
    return BEGINS(path, CTT_FOLDS_CSV_BEGIN);
}

static int is_folds_json(const char *path)
{
    return BEGINS(path, CTT_FOLDS_JSON_BEGIN);
}

static int is_report(const char *path)
{
    return BEGINS(path, CTT_REPORT_BEGIN);
}

static int is_sense_log(const char *path)
{
    return BEGINS(path, CTT_SENSITIVITY_LOG_BEGIN);
}

static int is_sense_csv(const char *path)
{
    return BEGINS(path, CTT_SENSITIVITY_CSV_BEGIN);
}

static int is_budget_csv(const char *path)
{
    return BEGINS(path, CTT_BUDGET_CSV_BEGIN);
}

static int is_explain_log(const char *path)
{
    return BEGINS(path, CTT_EXPLAIN_LOG_BEGIN);
}

static int is_explain_csv(const char *path)
{
    return BEGINS(path, CTT_EXPLAIN_CSV_BEGIN);
}

static int is_search_log(const char *path)
{
    return BEGINS(path, CTT_SEARCH_LOG_BEGIN);
}

static int is_search_csv(const char *path)
{
    return BEGINS(path, CTT_SEARCH_CSV_BEGIN);
}

static int is_plot(const char *path)
{
    return BEGINS(path, CTT_SVG_BEGIN);
}

static int is_table(const char *path)
{
    return BEGINS(path, CTT_MEASURE_BEGIN) || BEGINS(path, CTT_ANSWERS_BEGIN);
}

static int is_events(const char *path)
{
    return BEGINS(path, CTT_EVENT_LINE_BEGIN);
}

static int is_picture(const char *path)
{
    return BEGINS(path, "\x89PNG\r\n\x1a\n");
}

/* WebM, and MP4. */
static int is_video(const char *path)
{
    return BEGINS(path, "\x1a\x45\xdf\xa3") || has_bytes(path, 4, "ftyp", 4);
}

static const struct { const char *name; int (*is)(const char *path); }
kinds[] = {
    [CTT_TOOL_MODEL] = { "model", is_model },
    [CTT_TOOL_CHECKPOINT] = { "checkpoint", is_checkpoint },
    [CTT_TOOL_PACK] = { "pack", is_pack },
    [CTT_TOOL_LOG_CSV] = { "log of convtt-train as CSV", is_log_csv },
    [CTT_TOOL_LOG_JSON] = { "log of convtt-train as JSON", is_log_json },
    [CTT_TOOL_FOLDS_CSV] = { "results of --folds as CSV", is_folds_csv },
    [CTT_TOOL_FOLDS_JSON] = { "results of --folds as JSON", is_folds_json },
    [CTT_TOOL_REPORT] = { "report of convtt-compress", is_report },
    [CTT_TOOL_SENSITIVITY_LOG] = { "log of --sense", is_sense_log },
    [CTT_TOOL_BUDGET_CSV] = { "table of --budget as CSV", is_budget_csv },
    [CTT_TOOL_SEARCH_LOG] = { "log of --search", is_search_log },
    [CTT_TOOL_SEARCH_CSV] = { "results of --search as CSV", is_search_csv },
    [CTT_TOOL_SENSITIVITY_CSV] = { "table of --sense as CSV", is_sense_csv },
    [CTT_TOOL_EXPLAIN_LOG] = { "log of --explain", is_explain_log },
    [CTT_TOOL_EXPLAIN_CSV] = { "table of --explain as CSV", is_explain_csv },
    [CTT_TOOL_PLOT] = { "SVG picture of convtt", is_plot },
    [CTT_TOOL_TABLE] = { "table of convtt-infer", is_table },
    [CTT_TOOL_FRAMES] = { "file of predicted frames", is_frames },
    [CTT_TOOL_PICTURE] = { "PNG", is_picture },
    [CTT_TOOL_VIDEO] = { "WebM or MP4", is_video },
    [CTT_TOOL_EVENTS] = { "file of events", is_events },
};

int ctt_tool_is_kind(const char *path, enum ctt_tool_kind kind)
{
    return kinds[kind].is(path);
}

const char *ctt_tool_kind_name(enum ctt_tool_kind kind)
{
    return kinds[kind].name;
}
