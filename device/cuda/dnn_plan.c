/* SPDX-License-Identifier: Apache-2.0
 * dnn_plan.c: a plan: its key, its text, and how it runs. */
#include "device/cuda/dnn_graph.h"

#include <string.h>

#define DESC  cudnnBackendDescriptor_t
#define TRY   CTT_DNN_TRY
#define INTS  CTT_DNN_INTS
#define DESCS CTT_DNN_DESCS

struct ctt_dnn_key ctt_dnn_key(const struct ctt_call *c, enum ctt_conv_way way,
                               enum ctt_dtype type)
{
    struct ctt_dnn_key k;

    memset(&k, 0, sizeof(k));    /* plans are found by memcmp */
    k.f = ctt_fold(c, way);
    k.type = type;
    return k;
}

cudnnStatus_t ctt_dnn_plan_text(const struct ctt_dnn_plan *p, char **text,
                                int64_t *bytes)
{
    int64_t n = 0;

    *text = NULL;
    TRY(cudnnBackendGetAttribute(p->exec,
                                 CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                 CUDNN_TYPE_CHAR, 0, &n, NULL));
    *text = ctt_calloc((size_t)n + 1, 1);
    if (!*text)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *bytes = n;
    return cudnnBackendGetAttribute(
        p->exec, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
        CUDNN_TYPE_CHAR, n, &n, *text);
}

static cudnnStatus_t restore(struct ctt_dnn_making *m, const char *text,
                             int64_t bytes, struct ctt_dnn_plan *p)
{
    const struct ctt_dnn_site *s = m->site;
    int64_t n;
    DESC exec;

    TRY(ctt_dnn_describe(m, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                         (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
          s->handle ? 1 : 0, &s->handle },
        { CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
          DESCS(s->handle ? 0 : 1, &s->prop) },
        { CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
          bytes, text },
        CTT_DNN_END }, &exec));
    TRY(cudnnBackendGetAttribute(exec, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 INTS(1, &n), &p->room));
    m->made[0] = NULL;
    p->exec = exec;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t ctt_dnn_plan_restore(const struct ctt_dnn_site *site,
                                   const struct ctt_dnn_key *key,
                                   const char *text, int64_t bytes,
                                   struct ctt_dnn_plan **out)
{
    struct ctt_dnn_making m = { .site = site, .key = key };
    struct ctt_dnn_plan *p = ctt_calloc(1, sizeof(*p));
    cudnnStatus_t e = CUDNN_STATUS_SUCCESS;

    if (!p)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    p->key = *key;
    if (bytes)
        e = restore(&m, text, bytes, p);
    ctt_dnn_destroy(&m, 0);
    if (e != CUDNN_STATUS_SUCCESS)
        ctt_dnn_plan_free(&p);
    *out = p;
    return e;
}

void ctt_dnn_plan_free(struct ctt_dnn_plan **p)
{
    if (*p && (*p)->exec)
        cudnnBackendDestroyDescriptor((*p)->exec);
    if (*p && (*p)->config)
        cudnnBackendDestroyDescriptor((*p)->config);
    ctt_free(*p);
    *p = NULL;
}

cudnnStatus_t ctt_dnn_plan_run(cudnnHandle_t handle,
                               const struct ctt_dnn_plan *p,
                               void *const data[CTT_DNN_UIDS],
                               void *workspace)
{
    struct ctt_dnn_making m = { .key = &p->key };
    int64_t uid[CTT_DNN_UIDS], n = 0;
    void *at[CTT_DNN_UIDS];
    cudnnStatus_t e;
    DESC pack;

    for (int i = CTT_DNN_LARGE; i < CTT_DNN_UIDS; i++)
        if (i < CTT_DNN_PLUS || (i == CTT_DNN_PLUS && p->key.plus) ||
            (i == CTT_DNN_BIAS && p->key.bias)) {
            uid[n] = i;
            at[n++] = data[i];
        }
    e = ctt_dnn_describe(&m, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                         (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, INTS(n, uid) },
        { CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, at },
        { CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
          &workspace },
        CTT_DNN_END }, &pack);
    if (e == CUDNN_STATUS_SUCCESS)
        e = cudnnBackendExecute(handle, p->exec, pack);
    ctt_dnn_destroy(&m, 0);
    return e;
}
