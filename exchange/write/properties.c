/* SPDX-License-Identifier: Apache-2.0
 * properties.c: how frames become the graph's input, what the answer is, and
 * what is carried from step to step, as properties of an ONNX file. */
#include "exchange/write/past.h"
#include "exchange/write/properties.h"
#include "base/json.h"
#include "base/newfile.h"

enum { DIGITS = 9 };    /* of a float, exactly */

static void put_three(struct ctt_json_out *o, const char *name, const float *v,
                      int n)
{
    double x[3] = { v[0], v[1], v[2] };

    ctt_json_put_reals(o, name, DIGITS, x, n < 3 ? n : 3);
}

static int print_input(FILE *f, const void *arg)
{
    static const char *const fits[] = { "crop", "stretch", "pad" };
    static const char *const colours[] = { "rgb", "bgr", "gray" };
    static const char *const normalise[] = { "set", "clip" };
    const struct ctt_emit *x = arg;
    const struct ctt_node *n = &x->m->g->node[ctt_graph_input(x->m->g)];
    const struct ctt_input *in = &n->attr.input;
    struct ctt_json_out o = { f, " ", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "name", n->name);
    ctt_json_put_int(&o, "width", in->w);
    ctt_json_put_int(&o, "height", in->h);
    ctt_json_put_text(&o, "colour", in->c == 1 ? "gray" : colours[in->colour]);
    ctt_json_put_text(&o, "fit", fits[in->fit]);
    ctt_json_put_real(&o, "scale", DIGITS, in->scale);
    ctt_json_put_real(&o, "fps", DIGITS, in->fps);
    ctt_json_put_text(&o, "normalise", normalise[in->normalise]);
    ctt_json_put_real(&o, "gamma", DIGITS, in->gamma > 0 ? in->gamma : 1);
    put_three(&o, "mean", in->mean, in->c);
    put_three(&o, "std", in->std, in->c);
    ctt_json_finish(&o, '}');
    return 0;
}

static int print_answer(FILE *f, const void *arg)
{
    const struct ctt_emit *x = arg;
    const struct ctt_graph *g = x->m->g;
    const struct ctt_node *n = &g->node[ctt_graph_output(g)];
    struct ctt_json_out o = { f, " ", 0 };
    int classes = ctt_rows(&n->out) == 1;

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_text(&o, "name", n->name);
    ctt_json_put_text(&o, "kind", !classes ? "frame" : x->set->softmax ?
                      "probabilities" : "logits");
    ctt_json_put_word(&o, "several", g->several ? "true" : "false");
    ctt_json_finish(&o, '}');
    return 0;
}

static int print_labels(FILE *f, const void *arg)
{
    const struct ctt_emit *x = arg;
    struct ctt_json_out o = { f, " ", 0 };

    ctt_json_begin(&o, NULL, '[');
    for (int i = 0; i < x->m->labels; i++)
        ctt_json_put_text(&o, NULL, x->m->label[i]);
    ctt_json_finish(&o, ']');
    return 0;
}

static int print_states(FILE *f, const void *arg)
{
    const struct ctt_emit *x = arg;
    struct ctt_json_out o = { f, " ", 0 };

    ctt_json_begin(&o, NULL, '{');
    for (int i = 0; i < x->m->g->count; i++)
        if (x->past[i].depth)
            ctt_json_put_text(&o, ctt_emit_pair(x, i, 0).s,
                              ctt_emit_pair(x, i, 1).s);
    ctt_json_finish(&o, '}');
    return 0;
}

static int print_export(FILE *f, const void *arg)
{
    static const char *const targets[] = {
        [CTT_EXPORT_ANY] = "any", [CTT_EXPORT_TENSORRT] = "tensorrt" };
    const struct ctt_emit *x = arg;
    struct ctt_json_out o = { f, " ", 0 };

    ctt_json_begin(&o, NULL, '{');
    ctt_json_put_word(&o, "half", x->set->half ? "true" : "false");
    ctt_json_put_text(&o, "for", targets[x->set->target]);
    ctt_json_finish(&o, '}');
    return 0;
}

static int print_net(FILE *f, const void *arg)
{
    const struct ctt_emit *x = arg;
    char *text = ctt_net_print(x->m->g);
    int rc = text ? 0 : CTT_ENOMEM;

    if (text)
        fputs(text, f);
    ctt_free(text);
    return rc;
}

int ctt_emit_properties(struct ctt_emit *x)
{
    static const struct {
        const char *key;
        int       (*print)(FILE *f, const void *arg);
    } all[] = {
        { "input", print_input }, { "answer", print_answer },
        { "labels", print_labels }, { "states", print_states },
        { "export", print_export }, { "net", print_net },
    };
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(all); i++) {
        char *text = NULL;

        CTT_TRY(ctt_text_collect(all[i].key, all[i].print, x, &text));
        ctt_emit_property(x, all[i].key, text);
        ctt_free(text);
    }
out:
    return rc;
}
