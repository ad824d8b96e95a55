/* SPDX-License-Identifier: Apache-2.0
 * info_onnx.c: convtt-info --import of an ONNX file: what cannot be imported,
 * or the model and a table of it. */
#include "tools/info/info_onnx.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <string.h>

static int tell_faults(const char *path, const struct ctt_import *m)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct ctt_import_fault f;
    int i = 0, rc;

    ctt_table_row(&t, "node\toperator\treason");
    for (; ctt_import_fault(m, i, &f); i++)
        ctt_table_row(&t, "%s\t%s\t%s", f.node, f.op, f.reason);
    CTT_TRY(ctt_table_print(&t));
    rc = ctt_error(CTT_EUNSUP, "%s: %d node%s cannot be imported: see the "
                   "table; nothing was written", path, i, ctt_s(i));
out:
    return rc;
}

static void tell_import(const struct ctt_import *m)
{
    const struct ctt_model *model = ctt_import_model(m);
    struct ctt_import_about about;
    double frame, answer;
    char a[48], b[48];

    ctt_import_about(m, &about);
    ctt_graph_macs(model->g, &frame, &answer);
    ctt_tool_count((double)ctt_model_params(model), a, sizeof(a));
    ctt_tool_count(frame + answer, b, sizeof(b));
    printf("nodes           %d, of which %d compute values\n", about.nodes,
           about.needed);
    printf("lines           %d\n", model->g->count);
    printf("parameters      %s\n", a);
    printf("multiplications %s\n", b);
    printf("not imported    none\n");
    if (about.left)
        printf("answer          before the %s at the end, which convtt "
               "applies itself\n", about.left);
}

static int write_text(FILE *f, const void *text)
{
    fputs(text, f);
    return 0;
}

int ctt_info_save(const char *path, const struct ctt_model *m)
{
    char *text = NULL;
    int rc;

    if (!ctt_tool_is_net(path))
        return ctt_model_save(path, m);
    CTT_TRY((text = ctt_net_print(m->g)) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_print(path, write_text, text));
out:
    ctt_free(text);
    return rc;
}

/* A file that convtt wrote comes back as the model that it was: 1. */
static int import_own(const struct ctt_info_cfg *cfg)
{
    struct ctt_model *m = NULL;
    int rc, own;

    CTT_TRY(own = ctt_import_own_onnx(cfg->import, &m));
    if (!own)
        return 0;
    CTT_TRY(ctt_info_describe(cfg, m));
    CTT_TRY(ctt_info_save(cfg->out, m));
    ctt_tool_say("%s: an export of convtt, with all that its model remembers",
                 cfg->import);
    rc = own;
out:
    ctt_model_free(&m);
    return rc;
}

static int is_npz(const char *path)
{
    size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".npz") == 0;
}

int ctt_info_import_onnx(const struct ctt_info_cfg *cfg)
{
    struct ctt_import_job job = { cfg->import, cfg->shapes, cfg->answer };
    struct ctt_import *m = NULL;
    int rc;

    if (cfg->out && !cfg->shapes && !cfg->answer && !cfg->verify) {
        CTT_TRY(import_own(cfg));
        if (rc)
            goto out;
    }
    CTT_TRY(ctt_import_open(&job, &m));
    if (!ctt_import_model(m))
        CTT_TRY(tell_faults(cfg->import, m));
    if (cfg->verify)
        CTT_TRY((is_npz(cfg->verify) ? ctt_info_verify : ctt_info_layers)
                (cfg, m));
    CTT_TRY(ctt_info_describe(cfg, ctt_import_model(m)));
    if (cfg->out)
        CTT_TRY(ctt_info_save(cfg->out, ctt_import_model(m)));
    tell_import(m);
out:
    ctt_import_close(&m);
    return rc;
}
