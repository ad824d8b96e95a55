/* SPDX-License-Identifier: Apache-2.0
 * data_pack.c: convtt-data pack and features: a pack of clips, with the maps of
 * a backbone if asked. */
#include "tools/data/data_tool.h"
#include "net/code/zip.h"
#include "net/file/file.h"
#include "tools/data/data_maps.h"
#include "tools/data/packer.h"
#include "tools/shared/tool.h"
#include "video/source.h"

#include <stdio.h>
#include <string.h>

static int is_pack(const char *path)
{
    struct ctt_pack *p = NULL;
    int is = ctt_pack_open(path, &p) >= 0;

    ctt_pack_close(&p);
    return is;
}

const struct ctt_output_kind ctt_output_pack = {
    .name = "pack", .is = is_pack };

/* Settings on which a clip of the pack depends, and its maps.  Of a map the
 * members, as other bytes may stand between them; all of an input are of
 * four bytes. */
static uint32_t settings_sum(const struct ctt_packing *p)
{
    const struct ctt_input *in = &p->mapping->in;
    const struct ctt_maps *maps = &p->mapping->maps;
    const int most = p->c->max_frames;
    uint32_t sum = ctt_crc32(0, in, 1, (int64_t)sizeof(*in));

    for (int k = 0; k < maps->count; k++) {
        const struct ctt_map *m = &maps->map[k];
        const int64_t more[] = { m->d, m->h, m->w, m->c, m->crc };

        sum = ctt_crc32(sum, m->name, 1, (int64_t)strlen(m->name) + 1);
        sum = ctt_crc32(sum, more, (int)sizeof(*more), CTT_LEN(more));
    }
    return ctt_crc32(sum, &most, (int)sizeof(most), 1);
}

static int open_journal(struct ctt_packing *p)
{
    struct ctt_frames frame = { .c = p->mapping->in.c };
    int rc, clips = 0;

    ctt_frame_size(&p->mapping->in, &frame.w, &frame.h);
    CTT_TRY(ctt_journal_open(p->c->out, settings_sum(p), 2 *
        ctt_maps_size(&p->mapping->maps), &frame, &p->journal, &clips));
    if (clips < 0)
        ctt_tool_say("%s.journal is begun anew: the journal is of other "
                     "settings", p->c->out);
    if (clips > 0)
        ctt_tool_say("%s.journal has %d clip%s of a run that did not end",
                     p->c->out, clips, ctt_s(clips));
out:
    return rc;
}

/* Reads the input settings of a model file or text, and the model of a file. */
static int read_model(const char *path, struct ctt_input *in,
                      struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    int rc = 0;

    if (!ctt_tool_is_net(path)) {
        CTT_TRY(ctt_model_load(path, 0, out));
        *in = (*out)->g->node[ctt_graph_input((*out)->g)].attr.input;
        goto out;
    }
    CTT_TRY(ctt_tool_net_plain(path, &g));
    *in = g->node[ctt_graph_input(g)].attr.input;
out:
    ctt_graph_free(&g);
    return rc;
}

static int open_packed(const struct ctt_data_cfg *c, const char *path,
                      const struct ctt_model *m, const struct ctt_input *in,
                      struct ctt_source **s)
{
    const struct ctt_source_set set = { .split = c->split,
        .need_split = strcmp(c->split, "train") != 0, .strict = c->strict,
        .classes = c->classes, .fps = (double)c->fps,
        .background = c->background, .drawn_for = "convtt-data mnist",
        .label = m ? m->label : NULL, .labels = m ? m->labels : 0 };
    int rc = ctt_source_open(path, &set, in, s);

    if (rc == CTT_EINVAL && m && m->labels)
        rc = ctt_error(rc, "%s; if the clips are for another model, give a "
                       "text (convtt-info --net %s), of which only the input "
                       "line counts", ctt_errmsg(), c->model);
    return rc;
}

/* Decodes the clips into a pack; with a mapping, of which m is not, also the
 * maps. */
static int make_pack(const struct ctt_data_cfg *c, const char *path,
                     const struct ctt_model *m, const struct ctt_input *in,
                     const struct ctt_mapping *mapping)
{
    struct ctt_packing p = { .c = c, .mapping = mapping };
    const struct ctt_list *list;
    struct ctt_source *s = NULL;
    struct ctt_pack *out = NULL;
    int bad = 0, rc = 0;

    CTT_TRY(open_packed(c, path, m, in, &s));
    p.s = s;
    list = ctt_source_list(s);
    if (mapping)
        CTT_TRY(open_journal(&p));
    CTT_TRY(ctt_pack_create(c->out, in, list->label, list->labels, &out));
    if (mapping)
        CTT_TRY(ctt_pack_begin_maps(out, &mapping->maps));
    CTT_TRY(ctt_pack_clips(&p, out, &bad));
    CTT_CHECK(bad < list->count, CTT_EFORMAT, "%s: no usable clip in %d",
              path, list->count);
    CTT_TRY(ctt_pack_finish(&out));
    ctt_journal_close(&p.journal, 1);
    ctt_tool_warned();
    ctt_tool_say("%s: %d clip%s, %d bad clip%s skipped", c->out,
                 list->count - bad, ctt_s(list->count - bad), bad,
                 ctt_s(bad));
out:
    ctt_journal_close(&p.journal, 0);
    ctt_pack_close(&out);
    ctt_source_close(&s);
    return rc;
}

static int check_out(const struct ctt_data_cfg *c, const char *path)
{
    int rc = 0;

    CTT_TRY(ctt_tool_spares((const char *[]){ c->out }, 1, path));
    CTT_TRY(ctt_output_check(c->out, &ctt_output_pack));
out:
    return rc;
}

int ctt_data_pack(const struct ctt_data_cfg *c, const char *path)
{
    struct ctt_model *m = NULL;
    struct ctt_input in;
    int rc;

    ctt_tool_catch();
    CTT_TRY(check_out(c, path));
    CTT_TRY(read_model(c->model, &in, &m));
    CTT_TRY(make_pack(c, path, m, &in, NULL));
out:
    ctt_model_free(&m);
    return rc;
}

/* A file that is read must not be the journal either. */
static int check_journal(const struct ctt_data_cfg *c, const char *path)
{
    const char *const read[] = { path, c->backbone };
    size_t room = strlen(c->out) + sizeof(".journal");
    char *journal = ctt_calloc(room, 1);
    int rc = journal ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    snprintf(journal, room, "%s.journal", c->out);
    for (size_t i = 0; i < CTT_LEN(read); i++)
        CTT_TRY(ctt_tool_spares((const char *const[]){ journal }, 1, read[i]));
out:
    ctt_free(journal);
    return rc;
}

int ctt_data_features(const struct ctt_data_cfg *c, const char *path)
{
    struct ctt_mapping mapping = { .m = NULL };
    int rc;

    ctt_tool_catch();
    CTT_TRY(check_out(c, path));
    CTT_TRY(check_journal(c, path));
    CTT_TRY(ctt_mapping_open(c->backbone, c->nodes, &mapping));
    CTT_TRY(make_pack(c, path, NULL, &mapping.in, &mapping));
out:
    ctt_mapping_close(&mapping);
    return rc;
}
