/* SPDX-License-Identifier: Apache-2.0
 * error.c: errors of CUDA, cuDNN and cuBLASLt as one line: the failed call, the
 * node with its shapes, and the text of the library. */
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

struct line {
    char   text[200];
    size_t used;
};

static void add_shape(struct line *l, const char *what,
                      const struct ctt_tensor *t)
{
    int n;

    if (!t->data || l->used >= sizeof(l->text))
        return;
    n = snprintf(l->text + l->used, sizeof(l->text) - l->used,
                 "%s%s %dx%dx%dx%dx%d", l->used ? ", " : "", what, (int)t->n,
                 (int)t->d, (int)t->h, (int)t->w, (int)t->c);
    l->used += n > 0 ? (size_t)n : 0;
}

static void describe_call(struct line *l, const struct ctt_call *c)
{
    add_shape(l, "in", &c->in[0]);
    add_shape(l, "in", &c->in[1]);
    add_shape(l, "kernel", &c->w[0].t);
    add_shape(l, "out", &c->out);
    add_shape(l, "dout", &c->dout);
}

/* what: the source text of the call; the message shows the function's name. */
static int call_error(const struct ctt_call *c, const char *what, int code,
                      const char *why)
{
    struct line l = { .used = 0 };
    int name = (int)strcspn(what, "("), first = (int)strcspn(why, "\n");

    if (!c)
        return ctt_error(code, "device cuda: %.*s: %.*s", name, what, first,
                         why);
    describe_call(&l, c);
    return ctt_error(code, "%s: %.*s (%s): %.*s", c->node->name, name, what,
                     l.text, first, why);
}

/* Clears the last error: a later check must not report it again.  (Every call
 * returns sticky errors anyway.) */
int ctt_cuda_error(const struct ctt_call *c, const char *what, cudaError_t e)
{
    cudaGetLastError();
    return call_error(c, what, e == cudaErrorMemoryAllocation ? CTT_ENOMEM :
                      CTT_EIO, cudaGetErrorString(e));
}

/* cuDNN's own text, if any, names the attribute. */
int ctt_cudnn_error(const struct ctt_call *c, const char *what,
                    cudnnStatus_t e)
{
    char more[160] = "", why[240];

    cudnnGetLastErrorString(more, sizeof(more));
    snprintf(why, sizeof(why), "%s%s%s", cudnnGetErrorString(e),
             *more ? ": " : "", more);
    return call_error(c, what, e == CUDNN_STATUS_ALLOC_FAILED ? CTT_ENOMEM :
                      CTT_EIO, why);
}

int ctt_cublas_error(const struct ctt_call *c, const char *what,
                     cublasStatus_t e)
{
    return call_error(c, what,
                      e == CUBLAS_STATUS_ALLOC_FAILED ? CTT_ENOMEM : CTT_EIO,
                      cublasLtGetStatusName(e));
}
