/* SPDX-License-Identifier: Apache-2.0
 * info_export.c: convtt-info --export: models for other programs. */
#include "net/init.h"
#include "tools/info/info_tool.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <string.h>

static int is_safetensors(const char *path)
{
    return ctt_output_has(path, 8, "{");
}

/* Any file of ONNX begins with its version. */
static const struct ctt_output_kind onnx = { .name = "ONNX file",
                                             .begin = "\x08" };
static const struct ctt_output_kind safetensors = {
    .name = "safetensors file", .is = is_safetensors };

static int ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n > m && strcmp(path + n - m, end) == 0;
}

/* A setting of ONNX that the other form does not have. */
static int check_settings(const struct ctt_info_cfg *cfg)
{
    int rc = 0;

    CTT_CHECK(!cfg->onnx.half && !cfg->onnx.target && !cfg->onnx.softmax,
              CTT_EINVAL, "--half, --for and --with-softmax are for ONNX, not "
              "for %s", cfg->export_to);
out:
    return rc;
}

static int write_onnx(const struct ctt_info_cfg *cfg,
                      const struct ctt_model *m)
{
    const struct ctt_graph *g = m->g;
    const struct ctt_input *in = &g->node[ctt_graph_input(g)].attr.input;
    int rc;

    CTT_TRY(ctt_output_check(cfg->export_to, &onnx));
    CTT_TRY(ctt_export_onnx(cfg->export_to, m, &cfg->onnx));
    if (in->normalise == CTT_NORMALISE_CLIP)
        ctt_tool_note("%s: normalise=clip is not in the graph: give it frames "
                      "that are normalised so", cfg->export_to);
out:
    return rc;
}

static int write_model(const struct ctt_info_cfg *cfg,
                       const struct ctt_model *m)
{
    int rc = 0;

    if (ends_in(cfg->export_to, ".onnx"))
        return write_onnx(cfg, m);
    CTT_CHECK(ends_in(cfg->export_to, ".safetensors"), CTT_EINVAL, "--export "
              "%s: must end in .onnx or .safetensors", cfg->export_to);
    CTT_TRY(check_settings(cfg));
    CTT_TRY(ctt_output_check(cfg->export_to, &safetensors));
    CTT_TRY(ctt_export_safetensors(cfg->export_to, m));
out:
    return rc;
}

int ctt_info_export(const struct ctt_info_cfg *cfg, const char *path)
{
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_tool_apart((const char *[]){ path, cfg->export_to }, 2));
    CTT_TRY(ctt_info_load(path, 0, &m));
    CTT_TRY(ctt_graph_light_known(m->g));
    if (ctt_tool_is_net(path))
        ctt_init_weights(m, 1);
    CTT_TRY(write_model(cfg, m));
    if (ctt_tool_is_net(path))
        ctt_tool_note("%s: a text has no weights: they are random", path);
out:
    ctt_model_free(&m);
    return rc;
}
