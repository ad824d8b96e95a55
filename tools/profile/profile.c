/* SPDX-License-Identifier: Apache-2.0
 * profile.c: --profile: begins to record, and ends with file and table. */
#include "tools/profile/profile.h"
#include "base/newfile.h"
#include "base/span.h"
#include "tools/shared/tool.h"

#include <string.h>

/* 10 MB: some hundred steps of a training.  The table has all. */
enum { SPANS = 1 << 18 };

/* Where copies are measured: as large as what the nodes touch. */
static const int64_t copy_least = 1 << 16, copy_most = INT64_C(1) << 28;

const struct ctt_output_kind ctt_output_trace = {
    .name = "trace of --profile", .begin = "{\"displayTimeUnit\":\"ms\"," };
const struct ctt_output_kind ctt_output_times = {
    .name = "table of --profile", .begin = "node,op,pass,shape,type," };

static int is_csv(const char *path)
{
    size_t n = strlen(path);

    return n >= 4 && strcmp(path + n - 4, ".csv") == 0;
}

int ctt_profile_check(const char *path)
{
    return !path ? 0 : ctt_output_check(path, is_csv(path) ? &ctt_output_times
                                                           : &ctt_output_trace);
}

int ctt_profile_open(const char *path)
{
    int rc = 0;

    if (!path)
        return 0;
    CTT_TRY(ctt_spans_open(SPANS));
    CTT_TRY(ctt_node_times_open());
out:
    if (rc < 0)
        ctt_spans_close();
    return rc;
}

/* Bytes of a call of each node: about what one frame or window touches. */
static int64_t touched(const struct ctt_profile_said *p)
{
    double all = 0;

    for (int i = 0; i < p->rows; i++)
        all += p->row[i].bytes / (double)p->row[i].calls;
    return all < (double)copy_least ? copy_least :
           all > (double)copy_most ? copy_most : (int64_t)all & ~INT64_C(127);
}

static int has_ints(const struct ctt_profile_said *p)
{
    for (int i = 0; i < p->rows; i++)
        if (strcmp(p->row[i].type, "int8") == 0)
            return 1;
    return 0;
}

static int write_profile(const char *path, struct ctt_profile_said *p,
                         int threads, int say)
{
    int rc;

    CTT_TRY(ctt_ceiling_measure(p->device, threads, has_ints(p), touched(p),
                                &p->ceiling));
    CTT_TRY(ctt_file_print(path, is_csv(path) ? ctt_profile_csv
                                              : ctt_profile_trace, p));
    if (say)
        CTT_TRY(ctt_profile_say(p));
out:
    return rc;
}

int ctt_profile_end(const char *path, const char *device, int threads, int say,
                    int rc)
{
    struct ctt_profile_said p = { .device = device };
    struct ctt_node_row *row = NULL;

    if (!path)
        return rc;
    ctt_spans_stop();
    ctt_dev_watch(NULL);
    CTT_TRY(rc);
    CTT_TRY(ctt_node_times_rows(&row, &p.rows));
    p.row = row;
    CTT_TRY(write_profile(path, &p, threads, say));
out:
    ctt_free(row);
    ctt_node_times_close();
    ctt_spans_close();
    return rc;
}
