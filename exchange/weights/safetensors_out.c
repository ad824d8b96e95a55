/* SPDX-License-Identifier: Apache-2.0
 * safetensors_out.c: writes the weights of a model as safetensors, in torch's
 * layout; its text and labels are metadata. */
#include "exchange/exchange.h"
#include "exchange/weights/fill.h"
#include "base/json.h"
#include "base/newfile.h"
#include "net/op.h"

#include <string.h>

enum { HEADER_ALIGN = 8 };

/* ---- the header ---- */

/* As in torch, a 2-D conv has no axis of depth: with one place in the kernel
 * and in what it reads. */
static int file_shape(const struct ctt_graph *g, const struct ctt_node *n,
                      int k, int64_t dim[5])
{
    int rank = ctt_torch_shape(n, k, dim);

    if (rank < 5 || dim[2] > 1 || g->node[n->in[0]].out.d > 1)
        return rank;
    dim[2] = dim[3];
    dim[3] = dim[4];
    return 4;
}

static void put_tensor(struct ctt_json_out *o, const struct ctt_graph *g,
                       const struct ctt_node *n, int k, int64_t at)
{
    char title[CTT_WEIGHT_NAME];
    int64_t dim[5];
    int rank = file_shape(g, n, k, dim);

    ctt_weight_title(n, k, title);
    ctt_json_begin(o, title, '{');
    ctt_json_put_text(o, "dtype", "F32");
    ctt_json_begin(o, "shape", '[');
    for (int i = 0; i < rank; i++)
        ctt_json_put_int(o, NULL, dim[i]);
    ctt_json_finish(o, ']');
    ctt_json_begin(o, "data_offsets", '[');
    ctt_json_put_int(o, NULL, at);
    ctt_json_put_int(o, NULL, at + ctt_volume(&n->w[k]) *
                     (int64_t)sizeof(float));
    ctt_json_finish(o, ']');
    ctt_json_finish(o, '}');
}

static int print_labels(FILE *f, const void *arg)
{
    const struct ctt_model *m = arg;
    struct ctt_json_out o = { f, "", 0 };

    ctt_json_begin(&o, NULL, '[');
    for (int i = 0; i < m->labels; i++)
        ctt_json_put_text(&o, NULL, m->label[i]);
    ctt_json_finish(&o, ']');
    return 0;
}

static int put_metadata(struct ctt_json_out *o, const struct ctt_model *m)
{
    char *net = ctt_net_print(m->g), *labels = NULL;
    int rc;

    CTT_TRY(net ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_text_collect("labels", print_labels, m, &labels));
    ctt_json_begin(o, "__metadata__", '{');
    ctt_json_put_text(o, "format", "pt");
    ctt_json_put_text(o, "net", net);
    if (m->labels)
        ctt_json_put_text(o, "labels", labels);
    ctt_json_finish(o, '}');
out:
    ctt_free(net);
    ctt_free(labels);
    return rc;
}

static int print_header(FILE *f, const void *arg)
{
    const struct ctt_model *m = arg;
    struct ctt_json_out o = { f, "", 0 };
    int64_t at = 0;
    int rc;

    ctt_json_begin(&o, NULL, '{');
    CTT_TRY(put_metadata(&o, m));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++) {
            put_tensor(&o, m->g, &m->g->node[i], k, at);
            at += ctt_volume(&m->g->node[i].w[k]) * (int64_t)sizeof(float);
        }
    ctt_json_finish(&o, '}');
out:
    return rc;
}

/* ---- the numbers ---- */

/* The place in the model of number i of the file: out, in, taps, of a deconv
 * in, out, taps, from out, taps, in. */
static int64_t weight_place(const struct ctt_node *n, int k, int64_t i)
{
    const struct ctt_tensor *w = &n->w[k];
    int64_t taps = w->d * w->h * w->w, tap = i % taps, j = i / taps;

    if (!ctt_is_kernel(n, k))
        return i;
    if (n->op == CTT_OP_DECONV)
        return (j % w->n * taps + tap) * w->c + j / w->n;
    return (j / w->c * taps + tap) * w->c + j % w->c;
}

static int write_weight(struct ctt_newfile *f, const struct ctt_model *m,
                        const struct ctt_node *n, int k)
{
    int64_t count = ctt_volume(&n->w[k]);
    uint8_t *byte = ctt_calloc((size_t)count, sizeof(float));
    int rc;

    CTT_TRY(byte ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < count; i++) {
        uint32_t u;

        memcpy(&u, m->w + n->at[k] + weight_place(n, k, i), sizeof(u));
        for (int b = 0; b < 4; b++)
            byte[4 * i + b] = (uint8_t)(u >> 8 * b);
    }
    CTT_TRY(ctt_newfile_write(f, byte, 4 * count));
out:
    ctt_free(byte);
    return rc;
}

/* Blanks behind the header bring the numbers to a multiple of 8 bytes. */
static int write_all(struct ctt_newfile *f, const struct ctt_model *m,
                     const char *header)
{
    static const char blanks[] = "        ";
    int64_t n = (int64_t)strlen(header), all = ctt_align(n, HEADER_ALIGN);
    uint8_t length[8];
    int rc;

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)all >> 8 * i);
    CTT_TRY(ctt_newfile_write(f, length, sizeof(length)));
    CTT_TRY(ctt_newfile_write(f, header, n));
    CTT_TRY(ctt_newfile_write(f, blanks, all - n));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++)
            CTT_TRY(write_weight(f, m, &m->g->node[i], k));
out:
    return rc;
}

int ctt_export_safetensors(const char *path, const struct ctt_model *m)
{
    struct ctt_newfile *f = NULL;
    char *header = NULL;
    int rc;

    CTT_TRY(ctt_text_collect(path, print_header, m, &header));
    CTT_TRY(ctt_newfile_open(path, &f));
    CTT_TRY(write_all(f, m, header));
    CTT_TRY(ctt_newfile_finish(&f));
out:
    ctt_newfile_drop(&f);
    ctt_free(header);
    return rc;
}
