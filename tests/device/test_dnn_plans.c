/* SPDX-License-Identifier: Apache-2.0
 * test_dnn_plans.c: the real cuDNN has an engine for every convolution of our
 * models and of the cases of test_ops, on GPUs that need not be there: cuDNN
 * makes plans for the properties of a device as for a device.  On sm_90 none
 * has kernels of an older generation where cuDNN lists newer ones; a plan that
 * is restored from its text is the same. */
#include "tests/lib/check.h"

#ifndef CTT_WITH_CUDA
int main(void)
{
    return CTT_SKIP;
}
#else

#include "device/cuda/dnn_graph.h"
#include "tests/lib/rig.h"
#include "net/op.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 3, WAYS = 3, SEEN = 8192 };

/* What cudaGetDeviceProperties() says there, in cuDNN's words. */
#define ALIKE                                                               \
    "\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"                    \
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"    \
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,"                      \
    "\"maxThreadsPerSM\":2048,\"regsPerBlock\":65536,"                      \
    "\"maxBlockSize\":[1024,1024,64],"                                      \
    "\"maxGridSize\":[2147483647,65535,65535],\"supportCoopLaunch\":1,"     \
    "\"pciDeviceId\":0,\"isTccDriver\":0,\"cudaDeviceId\":0,"               \
    "\"driverVer\":13000,"
static const struct { const char *name; int capability; const char *json; }
gpus[] = {
    { "sm_80", 80, "{" ALIKE "\"deviceName\":\"NVIDIA A100-SXM4-80GB\","
      "\"deviceVer\":800,\"multiProcessorCount\":108,"
      "\"maxSharedMemoryPerBlockOptin\":166912,"
      "\"totalGlobalMem\":84987740160,\"smClockRateKHz\":1410000,"
      "\"memClockRateKHz\":1593000,\"l2CacheSize\":41943040}" },
    { "sm_90", 90, "{" ALIKE "\"deviceName\":\"NVIDIA H200\","
      "\"deviceVer\":900,\"multiProcessorCount\":132,"
      "\"maxSharedMemoryPerBlockOptin\":232448,"
      "\"totalGlobalMem\":150754820096,\"smClockRateKHz\":1980000,"
      "\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560}" },
};
enum { GPUS = CTT_LEN(gpus) };

static const char *const type_word[TYPES] = { "fp32", "fp16", "bf16" };
static const char *const way_word[WAYS] = { "forward", "gradient", "weights" };

static struct ctt_dnn_site site[GPUS];

/* Keys that have been tried on a GPU. */
static struct { int gpu; struct ctt_dnn_key key; } seen[SEEN];
static int tried;

/* cuDNN keeps memory to itself and unloads what it was taken by.  Whether we
 * give back what we ask of it, test_gpu shows on the simulated one. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static int open_sites(void)
{
    for (int i = 0; i < GPUS; i++) {
        const char *s = gpus[i].json;
        cudnnBackendDescriptor_t *p = &site[i].prop;

        site[i].capability = gpus[i].capability;
        if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
                                         p) ||
            cudnnBackendSetAttribute(*p,
                                     CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                     CUDNN_TYPE_CHAR, (int64_t)strlen(s), s) ||
            cudnnBackendFinalize(*p))
            return -1;
    }
    return 0;
}

static int close_sites(void)
{
    for (int i = 0; i < GPUS; i++)
        cudnnBackendDestroyDescriptor(site[i].prop);
    return 0;
}

static int is_new(int gpu, const struct ctt_dnn_key *key)
{
    for (int i = 0; i < tried; i++)
        if (seen[i].gpu == gpu &&
            memcmp(&seen[i].key, key, sizeof(*key)) == 0)
            return 0;
    CU_ASSERT_FATAL(tried < SEEN);
    seen[tried].gpu = gpu;
    memcpy(&seen[tried++].key, key, sizeof(*key));
    return 1;
}

/* 1 if cuDNN lists a configuration in this mode (that of fused engines for
 * sm_90 is FALLBACK, that of others A, where plans are not compiled) whose text
 * names what only sm_90 has: a kernel's name, or clusters of blocks. */
static int lists_newer(struct ctt_dnn_making *m, cudnnBackendDescriptor_t graph,
                       cudnnBackendHeurMode_t mode)
{
    cudnnBackendDescriptor_t heur, config[CTT_DNN_CONFIGS], exec;
    struct ctt_dnn_plan p = { .users = 0 };
    int64_t n = 0, bytes;
    int newer = 0;
    char *text;

    if (ctt_dnn_describe(m, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                         (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CTT_DNN_DESCS(1, &graph) },
        { CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode },
        { CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CTT_DNN_DESCS(1, &m->site->prop) },
        CTT_DNN_END }, &heur))
        return 0;
    for (int i = 0; i < CTT_DNN_CONFIGS; i++)
        ctt_dnn_create(m, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]);
    cudnnBackendGetAttribute(heur, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CTT_DNN_DESCS(CTT_DNN_CONFIGS, &n), config);
    for (int64_t i = 0; i < n && !newer; i++) {
        if (ctt_dnn_describe(m, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                             (struct ctt_dnn_attr[]){
            { CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
              CTT_DNN_DESCS(1, &m->site->prop) },
            { CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
              CTT_DNN_DESCS(1, &config[i]) },
            CTT_DNN_END }, &exec))
            continue;
        p.exec = exec;
        CU_ASSERT_EQUAL_FATAL(ctt_dnn_plan_text(&p, &text, &bytes), 0);
        newer = strstr(text, "_CGA_") || strstr(text, "_sm90_");
        ctt_free(text);
    }
    return newer;
}

static void expect_newest(int gpu, const struct ctt_node *n,
                          const struct ctt_dnn_plan *p)
{
    struct ctt_dnn_making m = { .site = &site[gpu], .key = &p->key };
    cudnnBackendDescriptor_t graph;
    int newer = 0;

    CU_ASSERT(p->generation <= gpus[gpu].capability);
    if (p->generation == 90 || gpus[gpu].capability < 90 ||
        p->key.type == CTT_F32)
        return;
    CU_ASSERT_EQUAL_FATAL(ctt_dnn_graph(&m, &graph), 0);
    newer = lists_newer(&m, graph, ctt_dnn_fused(&p->key)
                                   ? CUDNN_HEUR_MODE_FALLBACK
                                   : CUDNN_HEUR_MODE_A);
    ctt_dnn_destroy(&m, 0);
    if (newer)
        printf("\n    %s %s: %s in %s on %s: %s", n->text, n->name,
               way_word[p->key.f.way], type_word[p->key.type],
               gpus[gpu].name, p->impl);
    CU_ASSERT(!newer);
}

static void expect_restored(int gpu, const struct ctt_dnn_plan *p)
{
    struct ctt_dnn_plan *again = NULL;
    char *text = NULL, *other = NULL;
    int64_t bytes = 0, others = 0;

    CU_ASSERT_EQUAL_FATAL(ctt_dnn_plan_text(p, &text, &bytes), 0);
    CU_ASSERT_EQUAL_FATAL(ctt_dnn_plan_restore(&site[gpu], &p->key, text,
                                               bytes, &again), 0);
    CU_ASSERT_EQUAL_FATAL(ctt_dnn_plan_text(again, &other, &others), 0);
    CU_ASSERT(bytes == others && memcmp(text, other, (size_t)bytes) == 0);
    CU_ASSERT_EQUAL(again->room, p->room);
    ctt_dnn_plan_free(&again);
    text[bytes / 2] = '\1';
    CU_ASSERT_NOT_EQUAL(ctt_dnn_plan_restore(&site[gpu], &p->key, text, bytes,
                                             &again), 0);
    CU_ASSERT_PTR_NULL(again);
    ctt_free(text);
    ctt_free(other);
}

/* 1 for the first key of a kind and, of the others, for as many as
 * CTT_CHECK_EVERY asks; if that is a sample, for one in FEW of these. */
static int is_tried(int gpu, const struct ctt_dnn_key *key)
{
    enum { FEW = 6 };
    static char begun[GPUS][WAYS][TYPES][2][2];
    static int chosen;
    const char *every = getenv("CTT_CHECK_EVERY");
    char *kind = &begun[gpu][key->f.way][key->type][ctt_dnn_fused(key) != 0]
                       [key->deterministic != 0];
    int first = !*kind;

    *kind = 1;
    if (first || !ctt_check_tries())
        return first;
    return !every || atoi(every) <= 1 || chosen++ % FEW == 0;
}

/* There is an engine; says so if not. */
static void expect(int gpu, const struct ctt_node *n,
                   const struct ctt_dnn_key *key)
{
    struct ctt_dnn_plan *p = NULL;
    cudnnStatus_t e;

    if (!is_new(gpu, key) || !is_tried(gpu, key))
        return;
    e = ctt_dnn_plan_new(&site[gpu], key, &p);
    if (e || !p->exec)
        printf("\n    %s %s: %s in %s on %s: %s", n->text, n->name,
               way_word[key->f.way], type_word[key->type], gpus[gpu].name,
               e ? cudnnGetErrorString(e) : "no engine");
    CU_ASSERT_EQUAL_FATAL(e, CUDNN_STATUS_SUCCESS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p->exec);
    expect_newest(gpu, n, p);
    if (tried % 16 == 0 || ctt_dnn_fused(key))
        expect_restored(gpu, p);
    ctt_dnn_plan_free(&p);
}

/* The shapes of a call of the node. */
static struct ctt_call shapes(const struct ctt_graph *g,
                              const struct ctt_node *n, int samples)
{
    struct ctt_call c = { .node = n, .out = n->out };

    c.in[0] = g->node[n->in[0]].out;
    c.in[0].n = c.out.n = samples;
    c.w[0].t = n->w[0];
    return c;
}

/* Every convolution of a model, all ways, in all types, on all GPUs. */
static void try_model(const struct ctt_graph *g, int samples, int exact)
{
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        if (!ctt_is_conv(n))
            continue;
        for (int k = 0; k < TYPES * WAYS * GPUS; k++) {
            struct ctt_call c = shapes(g, n, samples);
            struct ctt_dnn_key key = ctt_dnn_key(
                &c, (enum ctt_conv_way)(k / TYPES % WAYS),
                (enum ctt_dtype)(k % TYPES));

            key.deterministic = exact;
            expect(k / TYPES / WAYS, n, &key);
            key.add = key.f.way == CTT_TO_WEIGHTS && key.type == CTT_F32;
            if (key.add)
                expect(k / TYPES / WAYS, n, &key);
        }
    }
}

static void try_models(int samples, int exact)
{
    const char *src = getenv("srcdir");
    char path[512], *text = NULL;
    struct dirent *e;
    struct ctt_graph *g;
    DIR *dir;
    int models = 0;

    snprintf(path, sizeof(path), "%s/models", src ? src : ".");
    dir = opendir(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
    while ((e = readdir(dir))) {
        if (!strstr(e->d_name, ".net"))
            continue;
        snprintf(path, sizeof(path), "%s/models/%s", src ? src : ".",
                 e->d_name);
        CHECK_OK(ctt_net_read(path, &text));
        CHECK_OK(ctt_net_parse(text, &g));
        try_model(g, samples, exact);
        ctt_graph_free(&g);
        ctt_free(text);
        models++;
    }
    closedir(dir);
    CU_ASSERT(models >= 7);
}

static void test_models(void)
{
    try_models(16, 0);
}

static void test_deterministic(void)
{
    try_models(16, 1);
}

static void test_cases(void)
{
    for (size_t i = 0; i < ctt_case_count; i++) {
        struct ctt_rig r;

        if (!strstr(ctt_cases[i].op, "conv "))
            continue;
        ctt_rig_open(&r, &ctt_cases[i], 3, 0, 0);
        try_model(r.g, 3, 0);
        ctt_rig_close(&r, NULL);
    }
}

/* ---- with what follows in the same kernel ---- */

static const struct { int plus, bias, act; } follow[] = {
    { 0, 1, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, CTT_ACT_RELU + 1 },
    { 0, 1, CTT_ACT_SIGMOID + 1 }, { 1, 1, CTT_ACT_TANH + 1 },
};

static const char *const images[][2] = {
    { "input a h=32 w=32 c=32", "conv y in=a out=128 kernel=5 pad=2" },
    { "input a h=32 w=32 c=3", "conv y in=a out=24 kernel=3 stride=2 pad=1" },
    { "input a d=8 h=12 w=12 c=16", "conv y in=a out=17 kernel=3 pad=1" },
};

static void try_follow(const struct ctt_graph *g, int which)
{
    const struct ctt_node *n = &g->node[g->count - 1];
    struct ctt_call c = shapes(g, n, 16);

    for (int gpu = 0; gpu < GPUS; gpu++) {
        struct ctt_dnn_key key = ctt_dnn_key(&c, CTT_TO_SMALL,
                                             which % 2 ? CTT_BF16 : CTT_F16);

        key.plus = follow[which].plus;
        key.bias = follow[which].bias;
        key.act = follow[which].act;
        expect(gpu, n, &key);
    }
}

static struct ctt_dnn_key ladder[64];
static int ladder_keys, newest;    /* of them with kernels for sm_90 */

static void count_newest(const struct ctt_node *n,
                         const struct ctt_dnn_key *key)
{
    struct ctt_dnn_plan *p = NULL;

    for (int i = 0; i < ladder_keys; i++)
        if (memcmp(&ladder[i], key, sizeof(*key)) == 0)
            return;
    CU_ASSERT_FATAL(ladder_keys < (int)CTT_LEN(ladder));
    memcpy(&ladder[ladder_keys++], key, sizeof(*key));
    CU_ASSERT_EQUAL_FATAL(ctt_dnn_plan_new(&site[GPUS - 1], key, &p), 0);
    newest += p->generation == 90;
    if (p->generation < 90)
        printf("\n    %s %s: %s", n->name, way_word[key->f.way], p->impl);
    CU_ASSERT(p->generation == 90 || key->f.ic == 1 || key->f.oc == 1);
    if (ctt_dnn_fused(key) && p->exec)
        expect_restored(GPUS - 1, p);
    ctt_dnn_plan_free(&p);
}

/* The convs of bench_gpu's ladder in fp16, with what training adds to them:
 * kernels for sm_90, but for convs of one channel, for which cuDNN has none. */
static void test_ladder(void)
{
    const char *src = getenv("srcdir");
    char path[512], *text = NULL;
    struct ctt_graph *g;

    snprintf(path, sizeof(path), "%s/models/mnist-convttlstm.net",
             src ? src : ".");
    CHECK_OK(ctt_net_read(path, &text));
    CHECK_OK(ctt_net_parse(text, &g));
    for (int i = 0; i < WAYS * g->count; i++) {
        const struct ctt_node *n = &g->node[i / WAYS];
        enum ctt_conv_way way = (enum ctt_conv_way)(i % WAYS);
        struct ctt_dnn_key key;
        struct ctt_call c;

        if (!ctt_is_conv(n))
            continue;
        c = shapes(g, n, 16);
        key = ctt_dnn_key(&c, way, CTT_F16);
        if (way == CTT_TO_SMALL) {
            key.plus = n->plus;
            key.bias = n->nw > 1;
        }
        count_newest(n, &key);
    }
    printf("\n    %d of %d convs have kernels for sm_90", newest,
           ladder_keys);
    CU_ASSERT(newest > 0 && ladder_keys > newest);
    ctt_graph_free(&g);
    ctt_free(text);
}

/* cuDNN compiles these, for which it must find the names of a driver. */
static void test_fused(void)
{
    for (size_t i = 0; i < CTT_LEN(images) * CTT_LEN(follow); i++) {
        size_t image = i % CTT_LEN(images), which = i / CTT_LEN(images);
        struct ctt_graph *g;

        if (image && which % 3 != image)
            continue;
        CHECK_OK(ctt_graph_new(&g));
        CHECK_OK(ctt_graph_add(g, "%s", images[image][0]));
        CHECK_OK(ctt_graph_add(g, "%s", images[image][1]));
        try_follow(g, (int)which);
        ctt_graph_free(&g);
    }
}

/* ---- whole numbers, and TF32 ---- */

/* The engine that computes the key, or "none". */
static void engine_of(int gpu, const struct ctt_dnn_key *key, char *engine)
{
    struct ctt_dnn_plan *p = NULL;

    strcpy(engine, "none");
    CU_ASSERT_EQUAL_FATAL(ctt_dnn_plan_new(&site[gpu], key, &p),
                          CUDNN_STATUS_SUCCESS);
    if (p->exec)
        strcpy(engine, p->impl);
    ctt_dnn_plan_free(&p);
}

/* "cores": eng71, the one engine on tensor cores that cuDNN 9.19 has for such
 * sums.  Sums in floats have it for all, those of 32 bits not for 3 channels.
 * */
static const struct { const char *in, *conv; int cores; } sums_of[] = {
    { "c=3 h=48 w=48", "out=24 kernel=3 stride=2 pad=1", 0 },
    { "c=8 h=32 w=32", "out=17 kernel=5 pad=2", 1 },
    { "c=24 h=32 w=32", "out=24", 1 },
    { "c=64 h=32 w=32", "out=64 kernel=3 pad=1", 1 },
    { "c=64 h=32 w=32", "out=64 kernel=3 pad=1 stride=2", 1 },
    { "c=64 h=32 w=32", "out=64 kernel=3 pad=1 groups=4", 1 },
    { "c=128 h=16 w=16", "out=128 kernel=3 pad=1", 1 },
    { "c=512", "out=10", 1 },
};

static void test_whole(void)
{
    int is_9_19 = cudnnGetVersion() / 100 == 919;

    for (size_t i = 0; i < CTT_LEN(sums_of) * GPUS * 2; i++) {
        int gpu = (int)(i % GPUS), floats = (int)(i / GPUS % 2);
        size_t k = i / GPUS / 2;
        struct ctt_dnn_key key;
        struct ctt_graph *g;
        struct ctt_call c;
        char engine[32];

        CHECK_OK(ctt_graph_new(&g));
        CHECK_OK(ctt_graph_add(g, "input a %s", sums_of[k].in));
        CHECK_OK(ctt_graph_add(g, "conv y in=a %s", sums_of[k].conv));
        c = shapes(g, &g->node[1], 8);
        key = ctt_dnn_key(&c, CTT_TO_SMALL, CTT_I8);
        key.sums = floats ? CTT_F32 : CTT_I32;
        engine_of(gpu, &key, engine);
        if (strncmp(engine, "eng71", 5) != 0)
            printf("\n    %s %s: %s to %s on %s", sums_of[k].in,
                   sums_of[k].conv, engine, floats ? "fp32" : "int32",
                   gpus[gpu].name);
        CU_ASSERT(strcmp(engine, "none") != 0);
        if (is_9_19 && (floats || sums_of[k].cores))
            CU_ASSERT(strncmp(engine, "eng71", 5) == 0);
        ctt_graph_free(&g);
    }
}

/* Allowed TF32 gives engines that are otherwise refused. */
static void test_tf32(void)
{
    for (int gpu = 0; gpu < GPUS; gpu++) {
        char plain[32], fast[32];
        struct ctt_graph *g;
        struct ctt_dnn_key key;
        struct ctt_call c;

        CHECK_OK(ctt_graph_new(&g));
        CHECK_OK(ctt_graph_add(g, "input a c=64 h=32 w=32"));
        CHECK_OK(ctt_graph_add(g, "conv y in=a out=64 kernel=3 pad=1"));
        c = shapes(g, &g->node[1], 16);
        key = ctt_dnn_key(&c, CTT_TO_SMALL, CTT_F32);
        engine_of(gpu, &key, plain);
        key.tf32 = 1;
        engine_of(gpu, &key, fast);
        printf("\n    %s: %s, with TF32 %s", gpus[gpu].name, plain, fast);
        CU_ASSERT_STRING_NOT_EQUAL(plain, fast);
        ctt_graph_free(&g);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "every convolution of the models", test_models },
        { "and deterministically", test_deterministic },
        { "every convolution of the cases", test_cases },
        { "with sums and activations in them", test_fused },
        { "sums of whole numbers", test_whole },
        { "TF32", test_tf32 },
        { "those of the ladder on sm_90", test_ladder },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "cuDNN's plans", open_sites, close_sites, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (!dlopen("tests/driver/libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
        printf("%s\n", dlerror());
        return 99;
    }
    return ctt_check_main(suites);
}
#endif
