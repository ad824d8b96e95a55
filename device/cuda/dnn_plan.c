/* SPDX-License-Identifier: Apache-2.0
 * dnn_plan.c: finds an engine for a graph, and runs it. */
#include "device/cuda/dnn_graph.h"

#include <stdio.h>
#include <string.h>

#define DESC  cudnnBackendDescriptor_t
#define TRY   CTT_DNN_TRY
#define INTS  CTT_DNN_INTS
#define DESCS CTT_DNN_DESCS

/* Most workspace in bytes, unless only fallback engines are left. */
#define ROOM (INT64_C(1) << 30)

struct ctt_dnn_key ctt_dnn_key(const struct ctt_call *c, enum ctt_conv_way way,
                               enum ctt_dtype type)
{
    struct ctt_dnn_key k;

    memset(&k, 0, sizeof(k));    /* plans are found by memcmp */
    k.f = ctt_fold(c, way);
    k.type = type;
    return k;
}

enum { NOTES = CUDNN_NUMERICAL_NOTE_TYPE_COUNT };

/* 1 if the precision of an engine suffices, by its numerical notes.  On fp32
 * images, tensor cores mean TF32. */
static int allowed(const struct ctt_dnn_key *k, int64_t n,
                   const cudnnBackendNumericalNote_t *note)
{
    const int refused[NOTES] = {
        [CUDNN_NUMERICAL_NOTE_TENSOR_CORE] = k->type == CTT_F32 && !k->tf32,
        [CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS] = 1,
        [CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION] = 1,
        [CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC] = k->deterministic,
    };

    for (int64_t i = 0; i < n; i++)
        if ((unsigned)note[i] < NOTES && refused[note[i]])
            return 0;
    return 1;
}

static int on_cores(int64_t n, const cudnnBackendNumericalNote_t *note)
{
    int any = 0;

    for (int64_t i = 0; i < n; i++)
        any |= note[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    return any;
}

/* The engine of a configuration, and whether its precision suffices. */
static cudnnStatus_t examine(struct ctt_dnn_making *m, DESC config,
                             int64_t *index, int *ok)
{
    cudnnBackendNumericalNote_t note[NOTES];
    int64_t n = 0;
    DESC engine;

    TRY(ctt_dnn_create(m, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    TRY(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                 DESCS(1, &n), &engine));
    TRY(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                                 INTS(1, &n), index));
    TRY(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, NOTES, &n, note));
    *ok = allowed(m->key, n, note) && (!m->cores || on_cores(n, note));
    ctt_dnn_destroy(m, m->count - 1);
    return CUDNN_STATUS_SUCCESS;
}

/* Hands the descriptor over to the plan. */
static DESC hand_over(struct ctt_dnn_making *m, DESC d)
{
    for (int i = 0; i < m->count; i++)
        if (m->made[i] == d)
            m->made[i] = NULL;
    return d;
}

static cudnnStatus_t build(struct ctt_dnn_making *m, DESC config, int64_t most,
                           struct ctt_dnn_plan *p)
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
        { CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESCS(1, &config) },
        CTT_DNN_END }, &exec));
    TRY(cudnnBackendGetAttribute(exec, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 INTS(1, &n), &p->room));
    if (p->room > most)
        return CUDNN_STATUS_NOT_SUPPORTED;
    p->exec = hand_over(m, exec);
    p->config = hand_over(m, config);
    return CUDNN_STATUS_SUCCESS;
}

/* Tries the configurations of this heuristic mode in order. */
static cudnnStatus_t choose_config(struct ctt_dnn_making *m, DESC graph,
                                   cudnnBackendHeurMode_t mode, int64_t most,
                                   struct ctt_dnn_plan *p)
{
    const struct ctt_dnn_site *s = m->site;
    DESC heur, config[CTT_DNN_CONFIGS];
    int64_t n = 0, index = 0;
    int keep, ok;

    TRY(ctt_dnn_describe(m, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                         (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESCS(1, &graph) },
        { CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode },
        { CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
          DESCS(s->handle ? 0 : 1, &s->prop) },
        CTT_DNN_END }, &heur));
    for (int i = 0; i < CTT_DNN_CONFIGS; i++)
        TRY(ctt_dnn_create(m, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]));
    keep = m->count;
    TRY(cudnnBackendGetAttribute(heur, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 DESCS(CTT_DNN_CONFIGS, &n), config));
    for (int64_t i = 0; i < n && i < CTT_DNN_CONFIGS && !p->exec; i++) {
        TRY(examine(m, config[i], &index, &ok));
        if (ok)
            build(m, config[i], most, p);    /* else the next one */
        ctt_dnn_destroy(m, keep);
    }
    if (p->exec)
        snprintf(p->impl, sizeof(p->impl), "eng%d", (int)index);
    return CUDNN_STATUS_SUCCESS;
}

/* "Not supported" is success without a plan. */
static cudnnStatus_t accept_unsupported(cudnnStatus_t e)
{
    return CUDNN_STATUS_CATEGORY(e) == CUDNN_STATUS_NOT_SUPPORTED
               ? CUDNN_STATUS_SUCCESS : e;
}

static cudnnStatus_t search(struct ctt_dnn_making *m, DESC graph,
                            struct ctt_dnn_plan *p)
{
    int keep = m->count;
    cudnnStatus_t e;

    e = accept_unsupported(choose_config(m, graph, CUDNN_HEUR_MODE_A, ROOM, p));
    ctt_dnn_destroy(m, keep);
    if (e != CUDNN_STATUS_SUCCESS || p->exec || ctt_dnn_fused(m->key))
        return e;
    e = accept_unsupported(choose_config(m, graph, CUDNN_HEUR_MODE_FALLBACK,
                                         INT64_MAX, p));
    ctt_dnn_destroy(m, keep);
    return e;
}

/* The heuristics name slower engines first for sums of whole numbers. */
static cudnnStatus_t make_plan(struct ctt_dnn_making *m, struct ctt_dnn_plan *p)
{
    DESC graph = NULL;
    cudnnStatus_t e = ctt_dnn_graph(m, &graph);

    m->cores = m->key->type == CTT_I8;
    if (e == CUDNN_STATUS_SUCCESS && m->cores)
        e = search(m, graph, p);
    m->cores = 0;
    if (e != CUDNN_STATUS_SUCCESS || p->exec)
        return accept_unsupported(e);
    return search(m, graph, p);
}

cudnnStatus_t ctt_dnn_plan_new(const struct ctt_dnn_site *site,
                               const struct ctt_dnn_key *key,
                               struct ctt_dnn_plan **out)
{
    struct ctt_dnn_making m = { .site = site, .key = key };
    struct ctt_dnn_plan *p = ctt_calloc(1, sizeof(*p));
    cudnnStatus_t e;

    if (!p)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    p->key = *key;
    e = make_plan(&m, p);
    ctt_dnn_destroy(&m, 0);
    if (e != CUDNN_STATUS_SUCCESS)
        ctt_dnn_plan_free(&p);
    else
        *out = p;
    return e;
}

void ctt_dnn_plan_free(struct ctt_dnn_plan **p)
{
    if (*p && (*p)->exec) {
        cudnnBackendDestroyDescriptor((*p)->exec);
        cudnnBackendDestroyDescriptor((*p)->config);
    }
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
