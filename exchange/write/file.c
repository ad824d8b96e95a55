/* SPDX-License-Identifier: Apache-2.0
 * file.c: the file of an ONNX graph: small parts from memory, each weight
 * converted as its turn comes. */
#include "exchange/write/emit.h"

enum { MODEL_IR = 1, MODEL_BY = 2, MODEL_VERSION = 3, MODEL_GRAPH = 7,
       MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2, GRAPH_NAME = 2,
       GRAPH_TENSOR = 5, TENSOR_DIM = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8,
       TENSOR_RAW = 9 };

/* The largest file that protobuf reads. */
#define MOST_BYTES INT64_C(0x7fffffff)

/* All of an initialiser but its bytes. */
static void begin_tensor(struct ctt_proto *b, const struct ctt_emit_tensor *t)
{
    struct ctt_proto head = { NULL, 0, 0, 0 };

    for (int i = 0; i < t->rank; i++)
        ctt_proto_int(&head, TENSOR_DIM, t->dim[i]);
    ctt_proto_int(&head, TENSOR_TYPE, t->type);
    ctt_proto_text(&head, TENSOR_NAME, t->name.s);
    ctt_proto_head(&head, TENSOR_RAW, t->bytes);
    ctt_proto_head(b, GRAPH_TENSOR, head.n + t->bytes);
    ctt_proto_add(b, head.p, head.n);
    if (head.rc < 0)
        b->rc = head.rc;
    ctt_proto_free(&head);
}

/* The bytes of the graph, and of its largest initialiser. */
static int measure_graph(const struct ctt_emit *x, const struct ctt_proto *name,
                         int64_t *graph, int64_t *largest)
{
    struct ctt_proto b = { NULL, 0, 0, 0 };
    int rc = 0;

    *graph = x->nodes.n + name->n + x->inputs.n + x->outputs.n;
    *largest = 1;
    for (int i = 0; i < x->tensors; i++) {
        b.n = 0;
        begin_tensor(&b, &x->tensor[i]);
        *graph += b.n + x->tensor[i].bytes;
        if (x->tensor[i].bytes > *largest)
            *largest = x->tensor[i].bytes;
    }
    rc = b.rc;
    ctt_proto_free(&b);
    return rc;
}

static void begin_model(const struct ctt_emit *x, int64_t graph,
                        struct ctt_proto *b)
{
    struct ctt_proto opset = { NULL, 0, 0, 0 };

    ctt_proto_text(&opset, OPSET_DOMAIN, "");
    ctt_proto_int(&opset, OPSET_VERSION, CTT_EMIT_OPSET);
    ctt_proto_int(b, MODEL_IR, CTT_EMIT_IR);
    ctt_proto_text(b, MODEL_BY, "convtt");
    ctt_proto_text(b, MODEL_VERSION, CTT_VERSION);
    ctt_proto_message(b, MODEL_OPSET, &opset);
    ctt_proto_add(b, x->properties.p, x->properties.n);
    ctt_proto_head(b, MODEL_GRAPH, graph);
    ctt_proto_free(&opset);
}

static int write_tensors(const struct ctt_emit *x, uint8_t *bytes,
                         const struct ctt_emit_sink *to)
{
    struct ctt_proto b = { NULL, 0, 0, 0 };
    int rc = 0;

    for (int i = 0; i < x->tensors; i++) {
        const struct ctt_emit_tensor *t = &x->tensor[i];

        b.n = 0;
        begin_tensor(&b, t);
        CTT_TRY(b.rc);
        ctt_emit_tensor_bytes(x, t, bytes);
        CTT_TRY(to->put(to->arg, b.p, b.n));
        CTT_TRY(to->put(to->arg, bytes, t->bytes));
    }
out:
    ctt_proto_free(&b);
    return rc;
}

static int write_model(const struct ctt_emit *x, const struct ctt_proto *head,
                       const struct ctt_proto *name, uint8_t *bytes,
                       const struct ctt_emit_sink *to)
{
    const struct ctt_proto *before[] = { head, &x->nodes, name };
    const struct ctt_proto *behind[] = { &x->inputs, &x->outputs };
    int rc;

    for (size_t i = 0; i < CTT_LEN(before); i++)
        CTT_TRY(to->put(to->arg, before[i]->p, before[i]->n));
    CTT_TRY(write_tensors(x, bytes, to));
    for (size_t i = 0; i < CTT_LEN(behind); i++)
        CTT_TRY(to->put(to->arg, behind[i]->p, behind[i]->n));
out:
    return rc;
}

int ctt_emit_save(struct ctt_emit *x, const struct ctt_emit_sink *to)
{
    struct ctt_proto head = { NULL, 0, 0, 0 }, name = head;
    uint8_t *bytes = NULL;
    int64_t graph, largest;
    int rc = 0;

    ctt_proto_text(&name, GRAPH_NAME, "net");
    CTT_TRY(measure_graph(x, &name, &graph, &largest));
    begin_model(x, graph, &head);
    CTT_TRY(head.rc < 0 ? head.rc : name.rc);
    CTT_CHECK(graph + head.n <= MOST_BYTES, CTT_EUNSUP, "%lld bytes, but a "
              "file of ONNX has less than 2 GiB", (long long)(graph + head.n));
    bytes = ctt_calloc((size_t)largest, 1);
    CTT_TRY(bytes ? 0 : CTT_ENOMEM);
    CTT_TRY(write_model(x, &head, &name, bytes, to));
out:
    ctt_free(bytes);
    ctt_proto_free(&head);
    ctt_proto_free(&name);
    return rc;
}
