/* SPDX-License-Identifier: Apache-2.0
 * dnn_offer.c: the engines that cuDNN offers for a graph, and the choice among
 * them by rule. */
#include "device/cuda/dnn_graph.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESC  cudnnBackendDescriptor_t
#define TRY   CTT_DNN_TRY
#define INTS  CTT_DNN_INTS
#define DESCS CTT_DNN_DESCS

/* Most workspace in bytes, unless only fallback engines are left. */
#define ROOM (INT64_C(1) << 30)

/* A search for plans.  wanted: the generation of kernels that is to be among
 * the plans, least: less is not taken; builds: plans that may still be built,
 * since a fused one is compiled. */
struct search {
    struct ctt_dnn_plan **plan;
    int                   count, most, wanted, least, builds;
};

enum { NOTES = CUDNN_NUMERICAL_NOTE_TYPE_COUNT, PER_ENGINE = 2 };

/* ---- compilation that fails ---- */

static struct {
    pthread_mutex_t lock;
    int             noted, told;
    char            text[320];
} failure = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void note_failure(const char *what, const char *why)
{
    pthread_mutex_lock(&failure.lock);
    if (!failure.noted)
        snprintf(failure.text, sizeof(failure.text), "%s: %.*s", what,
                 (int)strcspn(why, "\n"), why);
    failure.noted = 1;
    pthread_mutex_unlock(&failure.lock);
}

const char *ctt_dnn_compile_failure(void)
{
    int tell;

    pthread_mutex_lock(&failure.lock);
    tell = failure.noted && !failure.told;
    failure.told |= tell;
    pthread_mutex_unlock(&failure.lock);
    return tell ? failure.text : NULL;
}

/* An engine may refuse a configuration; that it cannot be compiled, as fused
 * ones are, is worth a word. */
static void note_status(const struct ctt_dnn_key *key, cudnnStatus_t e)
{
    char why[240] = "";

    if (!ctt_dnn_fused(key) ||
        e == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
        e == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
        return;
    if (CUDNN_STATUS_CATEGORY(e) == CUDNN_STATUS_NOT_SUPPORTED &&
        e != CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING)
        return;
    cudnnGetLastErrorString(why, sizeof(why));
    note_failure(cudnnGetErrorString(e), why);
}

/* Without NVRTC cuDNN is silent and offers no fused engines. */
static void note_compiler(void)
{
    char name[32];

    snprintf(name, sizeof(name), "libnvrtc.so.%d", CUDART_VERSION / 1000);
    if (!dlopen(name, RTLD_NOW | RTLD_LOCAL))
        note_failure("NVRTC cannot be loaded", name);
}

/* ---- an engine ---- */

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

/* Generation of a plan's kernels by its text: those that it carries have names
 * with "sm80"; of the others, only those for 9.0 have clusters of blocks. */
static int generation_of(const char *text)
{
    static const char word[] = "\"kernelName\":\"";
    const char *engine = strstr(text, "\"engine\""), *at = engine, *end;
    int most = 0;

    if (!engine)
        return 0;
    while ((at = strstr(at, word))) {
        at += sizeof(word) - 1;
        end = at + strcspn(at, "\"");
        for (; (at = strstr(at, "sm")) && at < end; at += 2)
            if (atoi(at + 2) > most)
                most = atoi(at + 2);
        at = end;
    }
    return most ? most : strstr(engine, "TILE_CGA") ? 90 : 0;
}

static void name_plan(struct ctt_dnn_plan *p)
{
    char *text = NULL;
    int64_t bytes;

    if (ctt_dnn_plan_text(p, &text, &bytes) == CUDNN_STATUS_SUCCESS)
        p->generation = generation_of(text);
    ctt_free(text);
    if (p->generation)
        snprintf(p->impl, sizeof(p->impl), "eng%d:sm%d", p->engine,
                 p->generation);
    else
        snprintf(p->impl, sizeof(p->impl), "eng%d", p->engine);
}

/* Hands the descriptor over to the plan. */
static DESC hand_over(struct ctt_dnn_making *m, DESC d)
{
    for (int i = 0; i < m->count; i++)
        if (m->made[i] == d)
            m->made[i] = NULL;
    return d;
}

static cudnnStatus_t build_config(struct ctt_dnn_making *m, DESC config,
                                  int64_t most, struct ctt_dnn_plan *p)
{
    const struct ctt_dnn_site *s = m->site;
    cudnnStatus_t e;
    int64_t n;
    DESC exec;

    e = ctt_dnn_describe(m, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                         (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
          s->handle ? 1 : 0, &s->handle },
        { CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
          DESCS(s->handle ? 0 : 1, &s->prop) },
        { CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESCS(1, &config) },
        CTT_DNN_END }, &exec);
    if (e != CUDNN_STATUS_SUCCESS) {
        note_status(m->key, e);
        return e;
    }
    TRY(cudnnBackendGetAttribute(exec, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 INTS(1, &n), &p->room));
    if (p->room > most)
        return CUDNN_STATUS_NOT_SUPPORTED;
    p->exec = hand_over(m, exec);
    p->config = hand_over(m, config);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- the search ---- */

static int built_of(const struct search *s, int engine)
{
    int n = 0;

    for (int i = 0; i < s->count; i++)
        n += s->plan[i]->engine == engine;
    return n;
}

static int has_wanted(const struct search *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->plan[i]->generation >= s->wanted)
            return 1;
    return 0;
}

static int is_over(const struct search *s)
{
    return !s->builds || (s->count == s->most && has_wanted(s));
}

/* Takes the plan or frees it. */
static void take_plan(struct search *s, struct ctt_dnn_plan *p)
{
    int full = s->count == s->most;

    if (p->generation < s->least ||
        (full && (has_wanted(s) || p->generation < s->wanted)))
        ctt_dnn_plan_free(&p);
    else if (full) {
        ctt_dnn_plan_free(&s->plan[s->count - 1]);
        s->plan[s->count - 1] = p;
    } else {
        s->plan[s->count++] = p;
    }
}

/* Builds the configuration if its engine will do; a refusal is no error. */
static cudnnStatus_t try_config(struct ctt_dnn_making *m, DESC config,
                                int64_t room, struct search *s)
{
    struct ctt_dnn_plan *p;
    int64_t index = 0;
    int ok;

    TRY(examine(m, config, &index, &ok));
    if (!ok || built_of(s, (int)index) >= (s->most > 1 ? PER_ENGINE : 1))
        return CUDNN_STATUS_SUCCESS;
    p = ctt_calloc(1, sizeof(*p));
    if (!p)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    p->key = *m->key;
    p->engine = (int)index;
    if (build_config(m, config, room, p) != CUDNN_STATUS_SUCCESS) {
        ctt_dnn_plan_free(&p);
        return CUDNN_STATUS_SUCCESS;
    }
    s->builds--;
    name_plan(p);
    take_plan(s, p);
    return CUDNN_STATUS_SUCCESS;
}

/* Tries the configurations of this heuristic mode in order. */
static cudnnStatus_t search_mode(struct ctt_dnn_making *m, DESC graph,
                                 cudnnBackendHeurMode_t mode, int64_t room,
                                 struct search *s)
{
    const struct ctt_dnn_site *site = m->site;
    DESC heur, config[CTT_DNN_CONFIGS];
    int64_t n = 0;
    int keep;

    TRY(ctt_dnn_describe(m, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                         (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESCS(1, &graph) },
        { CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode },
        { CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
          DESCS(site->handle ? 0 : 1, &site->prop) },
        CTT_DNN_END }, &heur));
    for (int i = 0; i < CTT_DNN_CONFIGS; i++)
        TRY(ctt_dnn_create(m, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]));
    keep = m->count;
    TRY(cudnnBackendGetAttribute(heur, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 DESCS(CTT_DNN_CONFIGS, &n), config));
    if (n == 0 && ctt_dnn_fused(m->key))
        note_compiler();
    for (int64_t i = 0; i < n && i < CTT_DNN_CONFIGS && !is_over(s); i++) {
        TRY(try_config(m, config[i], room, s));
        ctt_dnn_destroy(m, keep);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* "Not supported" is success without a plan. */
static cudnnStatus_t accept_unsupported(cudnnStatus_t e)
{
    return CUDNN_STATUS_CATEGORY(e) == CUDNN_STATUS_NOT_SUPPORTED
               ? CUDNN_STATUS_SUCCESS : e;
}

static cudnnStatus_t search_part(struct ctt_dnn_making *m, DESC graph,
                                 cudnnBackendHeurMode_t mode, int64_t room,
                                 struct search *s)
{
    int keep = m->count;
    cudnnStatus_t e = accept_unsupported(search_mode(m, graph, mode, room, s));

    ctt_dnn_destroy(m, keep);
    return e;
}

/* Each fused plan takes up to two seconds to compile; of those of the fallback
 * mode, where cuDNN lists the fused engine for 9.0, only the first. */
static cudnnStatus_t search_fused(struct ctt_dnn_making *m, DESC graph,
                                  struct search *s)
{
    if (s->wanted) {
        s->least = s->wanted;
        s->builds = 1;
        TRY(search_part(m, graph, CUDNN_HEUR_MODE_FALLBACK, ROOM, s));
    }
    s->least = 0;
    s->builds = s->most > 1 ? PER_ENGINE : 1;
    if (s->count == 0 || s->most > 1)
        TRY(search_part(m, graph, CUDNN_HEUR_MODE_A, ROOM, s));
    if (s->count || s->wanted)
        return CUDNN_STATUS_SUCCESS;
    s->least = 80;
    s->builds = 1;
    return search_part(m, graph, CUDNN_HEUR_MODE_FALLBACK, ROOM, s);
}

static cudnnStatus_t search_plain(struct ctt_dnn_making *m, DESC graph,
                                  struct search *s)
{
    int wanted = s->wanted;
    cudnnStatus_t e;

    s->builds = CTT_DNN_CONFIGS;
    TRY(search_part(m, graph, CUDNN_HEUR_MODE_A, ROOM, s));
    if (s->count)
        return CUDNN_STATUS_SUCCESS;
    s->wanted = 0;
    e = search_part(m, graph, CUDNN_HEUR_MODE_FALLBACK, INT64_MAX, s);
    s->wanted = wanted;
    return e;
}

/* The heuristics name slower engines first for sums of whole numbers. */
static cudnnStatus_t search_whole(struct ctt_dnn_making *m, DESC graph,
                                  struct search *s)
{
    m->cores = 1;
    TRY(search_plain(m, graph, s));
    m->cores = 0;
    return s->count ? CUDNN_STATUS_SUCCESS : search_plain(m, graph, s);
}

/* The first of the wanted generation comes before the others. */
static void put_wanted_first(struct search *s)
{
    struct ctt_dnn_plan *p;
    int i = 0;

    while (i < s->count && s->plan[i]->generation < s->wanted)
        i++;
    if (i == s->count)
        return;
    p = s->plan[i];
    memmove(s->plan + 1, s->plan, (size_t)i * sizeof(p));
    s->plan[0] = p;
}

cudnnStatus_t ctt_dnn_offers(const struct ctt_dnn_site *site,
                             const struct ctt_dnn_key *key, int most,
                             struct ctt_dnn_plan *out[], int *count)
{
    struct ctt_dnn_making m = { .site = site, .key = key };
    struct search s = { .plan = out, .most = most };
    cudnnStatus_t e;
    DESC graph = NULL;

    /* Kernels for 9.0 without tensor cores are not set apart. */
    if (site->capability / 10 == 9 && key->type != CTT_F32)
        s.wanted = 90;
    e = accept_unsupported(ctt_dnn_graph(&m, &graph));
    if (e == CUDNN_STATUS_SUCCESS && graph)
        e = key->type == CTT_I8 ? search_whole(&m, graph, &s)
            : ctt_dnn_fused(key) ? search_fused(&m, graph, &s)
                                 : search_plain(&m, graph, &s);
    ctt_dnn_destroy(&m, 0);
    put_wanted_first(&s);
    while (e != CUDNN_STATUS_SUCCESS && s.count)
        ctt_dnn_plan_free(&out[--s.count]);
    *count = s.count;
    return e;
}

cudnnStatus_t ctt_dnn_plan_new(const struct ctt_dnn_site *site,
                               const struct ctt_dnn_key *key,
                               struct ctt_dnn_plan **out)
{
    struct ctt_dnn_plan *p = NULL;
    int count = 0;

    TRY(ctt_dnn_offers(site, key, 1, &p, &count));
    if (!count) {
        p = ctt_calloc(1, sizeof(*p));
        if (!p)
            return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
        p->key = *key;
    }
    *out = p;
    return CUDNN_STATUS_SUCCESS;
}
