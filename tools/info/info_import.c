/* SPDX-License-Identifier: Apache-2.0
 * info_import.c: convtt-info --import: models of other programs. */
#include "tools/info/info_onnx.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

/* Weights for the text at path. */
static int fill_text(const struct ctt_info_cfg *cfg, const char *path,
                     struct ctt_model **m)
{
    int rc = 0;

    CTT_CHECK(ctt_tool_is_net(path), CTT_EINVAL, "%s: --import fills a model "
              "text, NAME.net", path);
    CTT_TRY(ctt_info_load(path, 0, m));
    CTT_TRY(ctt_graph_light_known((*m)->g));
    CTT_TRY(ctt_import_weights(*m, cfg->import, cfg->map));
out:
    return rc;
}

static int make_model(const struct ctt_info_cfg *cfg, const char *path,
                      struct ctt_model **m)
{
    int rc, kind;

    CTT_TRY(kind = ctt_foreign_kind(cfg->import));
    if (path)
        return fill_text(cfg, path, m);
    CTT_CHECK(kind == CTT_FOREIGN_SAFETENSORS && !cfg->map, CTT_EINVAL,
              "%s: give the model that these weights are for, NAME.net",
              cfg->import);
    CTT_TRY(ctt_import_safetensors(cfg->import, m));
out:
    return rc;
}

/* Returns 1 if the file holds a model text. */
static int holds_text(const char *path)
{
    struct ctt_graph *g = NULL;
    int is = ctt_tool_net(path, &g) >= 0;

    ctt_graph_free(&g);
    return is;
}

int ctt_info_can_save(const char *path)
{
    static const struct ctt_output_kind text = { .name = "model text",
                                                 .is = holds_text };
    int rc = ctt_output_check(path, path && ctt_tool_is_net(path) ? &text :
                              &ctt_output_model);

    if (rc >= 0)
        ctt_output_say_replaced(path);
    return rc;
}

int ctt_info_import(const struct ctt_info_cfg *cfg, const char *path)
{
    char *text = path ? ctt_strdup(path) : NULL;
    char *map = cfg->map ? ctt_strdup(cfg->map) : NULL;
    struct ctt_info_cfg with = *cfg;
    struct ctt_model *m = NULL;
    int rc, kind;

    CTT_TRY((text || !path) && (map || !cfg->map) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_tool_apart((const char *[]){ cfg->import, path, cfg->out }, 3));
    CTT_TRY(kind = ctt_foreign_kind(cfg->import));
    CTT_TRY(ctt_info_can_save(cfg->out));
    if (kind == CTT_FOREIGN_ONNX) {
        CTT_CHECK(!path && !map, CTT_EINVAL, "%s: neither safetensors nor a "
                  ".pth; ONNX takes no model and no --map: it has both",
                  cfg->import);
        CTT_TRY(ctt_info_import_onnx(cfg));
        goto out;
    }
    CTT_CHECK(cfg->out && !cfg->verify && !cfg->shapes && !cfg->answer,
              CTT_EINVAL, "%s: no ONNX file: it takes -o MODEL.h5, and neither "
              "--verify, --input-shape nor --answer", cfg->import);
    if (map)    /* in the place where path was found */
        with.map = ctt_tool_model(map);
    CTT_TRY(make_model(&with, text, &m));
    CTT_TRY(ctt_info_describe(cfg, m));
    CTT_TRY(ctt_model_save(cfg->out, m));
out:
    ctt_model_free(&m);
    ctt_free(text);
    ctt_free(map);
    return rc;
}
