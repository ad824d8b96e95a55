/* SPDX-License-Identifier: Apache-2.0
 * gpu.c: calls kernels on tensors in the memory of a GPU, for the tests. */
#include "tests/lib/gpu.h"
#include "net/op.h"
#include "base/random.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ctt_dev *gpu, *host;
int gpu_quick;

const struct gpu_type gpu_types[GPU_TYPES] = {
    { CTT_F32, 0 }, { CTT_F16, 0x1p-10 }, { CTT_BF16, 0x1p-7 },
};

/* ---- the program ---- */

static int required(void)
{
    const char *list = getenv("CTT_REQUIRE");

    return list && strstr(list, "cuda");
}

int gpu_main(CU_SuiteInfo *suites, int argc, char **argv)
{
    int status;

    gpu_quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    if (argc > 2 || argc != 1 + gpu_quick) {
        fprintf(stderr, "usage: %s [quick]\n", argv[0]);
        return 99;
    }
    if (ctt_dev_open("ref", 0, &host) < 0)
        return 99;
    if (ctt_dev_open("cuda", 0, &gpu) < 0) {
        printf("%s: %s\n", required() ? "failed" : "skipped", ctt_errmsg());
        ctt_dev_close(&host);
        return required() ? 1 : CTT_SKIP;
    }
    status = ctt_check_main(suites);
    ctt_dev_close(&gpu);
    ctt_dev_close(&host);
    if (ctt_live_blocks() != 0)
        printf("%ld blocks of memory are not freed\n", ctt_live_blocks());
    return status ? status : ctt_live_blocks() != 0;
}

/* ---- the simulation ---- */

/* It is in the first folder of the modules, if at all. */
void *gpu_sim(const char *function)
{
    const char *folders = getenv("CTT_MODULES");
    char path[1024];
    void *so;

    snprintf(path, sizeof(path), "%.*s/convtt-cuda.so",
             (int)strcspn(folders ? folders : "", ":"), folders ? folders : "");
    so = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (so)
        dlclose(so);    /* the device keeps it */
    return so ? dlsym(so, function) : NULL;
}

int64_t gpu_sim_runs(const char *types)
{
    void *at = gpu_sim("ctt_sim_runs");
    int64_t (*f)(const char *) = NULL;

    memcpy(&f, &at, sizeof(at));    /* ISO C has no cast for it */
    return f ? f(types) : -1;
}

/* ---- memory ---- */

void *gpu_alloc(int64_t bytes)
{
    void *p = NULL;

    CHECK_OK(ctt_dev_alloc(gpu, "a test", bytes, &p));
    return p;
}

struct ctt_tensor gpu_row(void *p, enum ctt_dtype type, int64_t n)
{
    return (struct ctt_tensor){ p, type, 1, 1, 1, 1, n, n };
}

void gpu_read(const void *p, enum ctt_dtype type, int64_t n, float *to)
{
    struct ctt_tensor t = gpu_row((void *)p, type, n);

    CHECK_OK(ctt_dev_get(gpu, &t, to));
}

void gpu_write(const float *from, int64_t n, void *p)
{
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, from, p,
                          n * (int64_t)sizeof(float)));
}

int gpu_same(const float *a, const float *b, int64_t n)
{
    return memcmp(a, b, (size_t)n * sizeof(float)) == 0;
}

/* ---- a call ---- */

void gpu_round(enum ctt_dtype type, float *x, int64_t n)
{
    uint32_t one;

    for (int64_t i = 0; i < n && type != CTT_F32; i++) {
        ctt_store(&one, type, 0, x[i]);
        x[i] = ctt_load(&one, type, 0);
    }
}

/* All of a tensor's memory, the gaps between its rows included. */
static struct ctt_tensor whole_rows(const struct ctt_tensor *t)
{
    struct ctt_tensor all = *t;

    all.c = t->ld;
    return all;
}

static void round_tensor(const struct ctt_tensor *t, enum ctt_dtype type)
{
    if (t->data)
        gpu_round(type, t->data, ctt_rows(t) * t->ld);
}

static void add_part(struct gpu_call *m, struct ctt_tensor *own,
                     enum ctt_dtype type, int result, struct ctt_tensor *out)
{
    struct gpu_part *p = &m->part[m->parts];
    int64_t lead = own->ld > own->c, n = ctt_rows(own) * own->ld;
    int64_t size = ctt_dtype_size(type);

    if (!own->data)
        return;
    m->parts++;
    round_tensor(own, type);
    p->own = own;
    p->result = result;
    p->first = ctt_calloc((size_t)n, sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p->first);
    memcpy(p->first, own->data, (size_t)n * sizeof(float));
    CHECK_OK(ctt_dev_alloc(gpu, "a test", (n + lead) * size, &p->memory));
    p->at = *own;
    p->at.dtype = type;
    p->at.data = (char *)p->memory + lead * size;    /* views start anywhere */
    *out = p->at;
}

/* A window's input is the middle of a longer one. */
static void middle(const struct ctt_tensor *part, const struct ctt_tensor *all,
                   struct ctt_tensor *on)
{
    int64_t off = (const float *)part->data - (const float *)all->data;

    on->n = part->n;
    on->data = (char *)on->data + off * ctt_dtype_size(on->dtype);
}

static void add_inputs(struct gpu_call *m, enum ctt_dtype type, int wide)
{
    struct ctt_rig *r = &m->rig;

    for (int k = 0; k < r->call.node->nin; k++) {
        enum ctt_dtype t = wide & (k ? WIDE_OTHERS : WIDE_FIRST) ? CTT_F32
                                                                 : type;
        add_part(m, &r->whole.in[k], t, 0, &m->call.in[k]);
        add_part(m, &r->whole.din[k], t, 1, &m->call.din[k]);
        if (r->call.node->op != CTT_OP_WINDOW)
            continue;
        middle(&r->call.in[k], &r->whole.in[k], &m->call.in[k]);
        if (r->call.din[k].data)
            middle(&r->call.din[k], &r->whole.din[k], &m->call.din[k]);
    }
}

static void upload_weights(struct gpu_call *m, enum ctt_dtype type)
{
    struct ctt_call *c = &m->rig.call;

    for (int k = 0; k < c->node->nw; k++) {
        add_part(m, &c->w[k].t, ctt_is_kernel(c->node, k) ? type : CTT_F32, 1,
                 &m->call.w[k].t);
        add_part(m, &c->dw[k], CTT_F32, 1, &m->call.dw[k]);
    }
}

/* The inputs of a pool: multiples of 1/8, as close values would become equal by
 * rounding. */
static void keep_apart(const struct ctt_tensor *t)
{
    float *x = t->data;

    for (int64_t i = 0, k = 0; i < ctt_rows(t); i++, x += t->ld)
        for (int64_t j = 0; j < t->c; j++, k++)
            x[j] = (float)(k * 37 % 251 - 125) / 8;
}

enum { KEY = 99, AT = 5 };

/* Key, number of the call, asks. */
static void add_live(struct gpu_call *m, int live)
{
    struct numbers { uint64_t key; struct ctt_ask ask[8]; int32_t which; } l;
    struct ctt_live *to = &m->call.live;
    struct numbers *p;

    memset(&l, 0, sizeof(l));
    l.key = KEY;
    l.which = AT;
    memcpy(l.ask, m->rig.ask, sizeof(l.ask));
    CHECK_OK(ctt_dev_alloc(gpu, "a test", sizeof(l), &m->live));
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, &l, m->live, sizeof(l)));
    p = m->live;
    to->key = &p->key;
    to->node = 3;
    to->at = live == GPU_LIVE_AT ? AT : 0;
    to->which = live == GPU_LIVE_AT ? NULL : &p->which;
    to->ask = p->ask;
    m->call.key = 0;
    m->call.ask = NULL;
    m->rig.call.key = ctt_call_key(KEY, 3, AT);
}

static void poison(const struct ctt_tensor *t)
{
    float *x = t->data;

    for (int64_t i = 0; x && i < ctt_rows(t); i++, x += t->ld)
        for (int64_t j = 0; j < t->c; j++)
            x[j] = NAN;
}

void gpu_open(struct gpu_call *m, const struct ctt_case *cs, int n, int flags,
              int act, enum ctt_dtype type, int wide, int live)
{
    struct ctt_call *c = &m->rig.call;
    enum ctt_dtype out = wide & WIDE_OUT ? CTT_F32 : type;
    enum ctt_dtype also = wide & WIDE_ALSO ? CTT_F32 : type;

    memset(m, 0, sizeof(*m));
    m->type = type;
    ctt_rig_open(&m->rig, cs, n, flags, act);
    m->call = *c;
    if (c->node->op == CTT_OP_POOL && type != CTT_F32)
        keep_apart(&c->in[0]);
    add_inputs(m, type, wide);
    upload_weights(m, out);
    poison(&c->out);
    poison(&c->also);
    add_part(m, &c->out, out, 1, &m->call.out);
    add_part(m, &c->dout, out, 0, &m->call.dout);
    add_part(m, &c->also, also, 1, &m->call.also);
    add_part(m, &c->dalso, also, 0, &m->call.dalso);
    m->call.cache = &m->rig.cache;
    if (live)
        add_live(m, live);
}

void gpu_close(struct gpu_call *m)
{
    for (int i = 0; i < m->parts; i++) {
        ctt_dev_free(gpu, &m->part[i].memory);
        ctt_free(m->part[i].first);
    }
    ctt_dev_free(gpu, &m->live);
    ctt_rig_close(&m->rig, gpu);
}

void gpu_up(struct gpu_call *m)
{
    for (int i = 0; i < m->parts; i++) {
        struct ctt_tensor all = whole_rows(&m->part[i].at);
        CHECK_OK(ctt_dev_put(gpu, m->part[i].first, &all));
    }
}

void gpu_down(struct gpu_call *m)
{
    for (int i = 0; i < m->parts; i++) {
        struct ctt_tensor all = whole_rows(&m->part[i].at);
        if (m->part[i].result)
            CHECK_OK(ctt_dev_get(gpu, &all, m->part[i].own->data));
    }
}

uint64_t gpu_bits(const struct gpu_call *m)
{
    uint64_t sum = 0;

    for (int i = 0; i < m->parts; i++) {
        const struct ctt_tensor *t = m->part[i].own;
        for (int64_t j = 0; j < ctt_rows(t) * t->ld; j++) {
            uint32_t u;
            memcpy(&u, (const float *)t->data + j, sizeof(u));
            sum = ctt_splitmix(sum ^ u);
        }
    }
    return sum;
}

/* Rounds the tensors of the call only: the tensors of `whole` share their
 * memory, or the window's. */
static void take_types(const struct gpu_call *m, struct ctt_rig *want,
                       int results)
{
    for (int i = 0; i < m->parts; i++) {
        const char *own = (const char *)m->part[i].own;
        size_t off = (size_t)(own - (const char *)&m->rig);
        if (m->part[i].result == results)
            round_tensor((const struct ctt_tensor *)(const void *)
                         ((const char *)want + off), m->part[i].at.dtype);
    }
}

void gpu_expect(const struct gpu_call *m, const struct ctt_case *cs, int n,
                int flags, int act, struct ctt_rig *want)
{
    ctt_rig_open(want, cs, n, flags, act);
    want->call.key = m->rig.call.key;
    if (want->call.node->op == CTT_OP_POOL && m->type != CTT_F32)
        keep_apart(&want->call.in[0]);
    take_types(m, want, 0);
    take_types(m, want, 1);
    CHECK_OK(ctt_dev_run(host, &want->call, CTT_FWD));
    take_types(m, want, 1);
    CHECK_OK(ctt_dev_run(host, &want->call, CTT_BWD));
    take_types(m, want, 1);
}
