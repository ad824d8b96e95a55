/* SPDX-License-Identifier: Apache-2.0
 * ort.c: ONNX Runtime's C interface: a table of functions, of which the place
 * of each never changes (onnxruntime_c_api.h, version 1 on). */
#include "exchange/ort.h"
#include "base/newfile.h"
#include "exchange/write/proto.h"

#include <dlfcn.h>
#include <string.h>

enum { VERSION = 1, QUIET = 4, PLAIN = 0, FLOAT = 1, ARENA = 1, DEFAULT = 0 };

/* Places in the table. */
enum { MESSAGE = 2, CREATE_ENV = 3, CREATE_FROM_ARRAY = 8, RUN = 9,
       CREATE_OPTIONS = 10, OPTIMISE = 23, CREATE_TENSOR = 49,
       TENSOR_DATA = 51, CPU_MEMORY = 69, FREE_ENV = 92, FREE_STATUS = 93,
       FREE_MEMORY = 94, FREE_SESSION = 95, FREE_VALUE = 96,
       FREE_OPTIONS = 100 };

typedef void *status;    /* NULL: success */

struct ctt_ort {
    void  *library;
    void *const *table;
    void  *env, *options, *session, *memory;
    char  *model;
    const char *const *output;
    int    outputs;
};

#define CALL(o, at, type) ((type)(o)->table[at])

static int check(const struct ctt_ort *o, status s)
{
    int rc = 0;

    if (s) {
        rc = ctt_error(CTT_EUNSUP, "ONNX Runtime: %s",
                       CALL(o, MESSAGE, const char *(*)(status))(s));
        CALL(o, FREE_STATUS, void (*)(status))(s);
    }
    return rc;
}

static int load(const char *library, struct ctt_ort *o)
{
    const struct { void *const *(*get)(uint32_t); } *base;
    void *symbol;
    const void *(*entry)(void);
    int rc = 0;

    o->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CTT_CHECK(o->library, CTT_EUNSUP, "--verify %s: neither an .npz nor a "
              "library of ONNX Runtime: %s", library, dlerror());
    symbol = dlsym(o->library, "OrtGetApiBase");
    CTT_CHECK(symbol, CTT_EUNSUP, "--verify %s: is not ONNX Runtime", library);
    memcpy(&entry, &symbol, sizeof(entry));
    base = entry();
    o->table = base->get(VERSION);
    CTT_CHECK(o->table, CTT_EUNSUP, "--verify %s: does not know its first "
              "interface", library);
out:
    return rc;
}

/* The file and a second part of its graph, with the outputs: parts of a message
 * that stand twice are one. */
static int add_outputs(const char *path, const char *const *output, int count,
                       char **out, int64_t *size)
{
    struct ctt_proto graph = { .rc = 0 }, more = graph;
    char *text = NULL, *all;
    int rc;

    CTT_TRY(ctt_file_text(path, INT64_C(1) << 31, &text, size));
    for (int i = 0; i < count; i++) {
        struct ctt_proto v = { .rc = 0 };

        ctt_proto_text(&v, 1, output[i]);
        ctt_proto_message(&graph, 12, &v);
        ctt_proto_free(&v);
    }
    ctt_proto_message(&more, 7, &graph);
    CTT_TRY(more.rc);
    CTT_TRY((all = ctt_realloc(text, (size_t)(*size + more.n))) ? 0 :
            CTT_ENOMEM);
    text = NULL;
    memcpy(all + *size, more.p, (size_t)more.n);
    *size += more.n;
    *out = all;
out:
    ctt_proto_free(&graph);
    ctt_proto_free(&more);
    ctt_free(text);
    return rc;
}

static int open_session(struct ctt_ort *o, int64_t size)
{
    int rc;

    CTT_TRY(check(o, CALL(o, CREATE_ENV, status (*)(int, const char *,
                                                    void **))
                     (QUIET, "convtt", &o->env)));
    CTT_TRY(check(o, CALL(o, CREATE_OPTIONS, status (*)(void **))
                     (&o->options)));
    CTT_TRY(check(o, CALL(o, OPTIMISE, status (*)(void *, int))
                     (o->options, PLAIN)));
    CTT_TRY(check(o, CALL(o, CPU_MEMORY, status (*)(int, int, void **))
                     (ARENA, DEFAULT, &o->memory)));
    CTT_TRY(check(o, CALL(o, CREATE_FROM_ARRAY,
                          status (*)(void *, const void *, size_t, void *,
                                     void **))
                     (o->env, o->model, (size_t)size, o->options,
                      &o->session)));
out:
    return rc;
}

int ctt_ort_open(const char *library, const char *path,
                 const char *const *outputs, int count, struct ctt_ort **out)
{
    struct ctt_ort *o = ctt_calloc(1, sizeof(*o));
    int64_t size = 0;
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    o->output = outputs;
    o->outputs = count;
    CTT_TRY(load(library, o));
    CTT_TRY(add_outputs(path, outputs, count, &o->model, &size));
    CTT_TRY(open_session(o, size));
    *out = o;
    o = NULL;
out:
    ctt_ort_close(&o);
    return rc;
}

static void release(const struct ctt_ort *o, int at, void *what)
{
    if (what)
        CALL(o, at, void (*)(void *))(what);
}

/* The library stays: it has threads of its own. */
void ctt_ort_close(struct ctt_ort **o)
{
    if (!*o)
        return;
    release(*o, FREE_SESSION, (*o)->session);
    release(*o, FREE_MEMORY, (*o)->memory);
    release(*o, FREE_OPTIONS, (*o)->options);
    release(*o, FREE_ENV, (*o)->env);
    ctt_free((*o)->model);
    ctt_free(*o);
    *o = NULL;
}

static int make_inputs(struct ctt_ort *o, const struct ctt_ort_input *in,
                       int inputs, void **value, const char **name)
{
    int rc = 0;

    for (int i = 0; i < inputs; i++) {
        float *x;

        memcpy(&x, &in[i].x, sizeof(x));    /* it is only read */
        name[i] = in[i].name;
        CTT_TRY(check(o, CALL(o, CREATE_TENSOR,
                              status (*)(void *, void *, size_t,
                                         const int64_t *, size_t, int,
                                         void **))
                         (o->memory, x, (size_t)in[i].count * sizeof(float),
                          in[i].dim, (size_t)in[i].rank, FLOAT, &value[i])));
    }
out:
    return rc;
}

int ctt_ort_run(struct ctt_ort *o, const struct ctt_ort_input *in, int inputs,
                int (*take)(void *arg, int i, const float *x), void *arg)
{
    int all = inputs + o->outputs, rc;
    void **value = ctt_calloc((size_t)all + 1, sizeof(*value)), *x;
    const char **name = ctt_calloc((size_t)inputs + 1, sizeof(*name));

    CTT_TRY(value && name ? 0 : CTT_ENOMEM);
    CTT_TRY(make_inputs(o, in, inputs, value, name));
    CTT_TRY(check(o, CALL(o, RUN,
                          status (*)(void *, void *, const char *const *,
                                     void *const *, size_t,
                                     const char *const *, size_t, void **))
                     (o->session, NULL, name, value, (size_t)inputs,
                      o->output, (size_t)o->outputs, value + inputs)));
    for (int i = 0; i < o->outputs; i++) {
        CTT_TRY(check(o, CALL(o, TENSOR_DATA, status (*)(void *, void **))
                         (value[inputs + i], &x)));
        CTT_TRY(take(arg, i, x));
    }
out:
    for (int i = 0; value && i < all; i++)
        release(o, FREE_VALUE, value[i]);
    ctt_free(value);
    ctt_free(name);
    return rc;
}
