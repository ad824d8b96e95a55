/* SPDX-License-Identifier: Apache-2.0
 * test_device.c: what a device promises besides the kernels' results: blame,
 * profile, stamps, memory that runs out; and what the kernels do at the edges
 * of their inputs. */
#include "tests/lib/check.h"
#include "tests/lib/rig.h"
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum { ALL = RIG_DIN | RIG_DW };

static const struct ctt_case conv = {
    "c=16 h=6 w=6", "c=32 h=6 w=6",
    "conv y in=a plus=b out=32 kernel=3 pad=1", 0
};

static struct ctt_dev *open_dev(const char *name)
{
    struct ctt_dev *d = NULL;

    CHECK_OK(ctt_dev_open(name, 2, &d));
    return d;
}

static void test_open(void)
{
    struct ctt_dev *d = NULL;

    CU_ASSERT_EQUAL(ctt_dev_open("abacus", 1, &d), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "abacus") != NULL);
    CU_ASSERT(!ctt_dev_has("abacus", CTT_DEV_THREADS));
    CU_ASSERT(!ctt_dev_has(NULL, CTT_DEV_THREADS));
    CU_ASSERT_EQUAL(ctt_dev_open("ref", -1, &d), CTT_EINVAL);
    CU_ASSERT_PTR_NULL(d);
    for (int k = 0; ctt_check_hosts[k]; k++) {
        CHECK_OK(ctt_dev_open(ctt_check_hosts[k], 0, &d));
        CU_ASSERT(ctt_dev_threads(d) >= 1);
        CU_ASSERT(ctt_dev_shared(d));
        CU_ASSERT(!ctt_dev_has(ctt_check_hosts[k], CTT_DEV_OWN_MEMORY));
        CU_ASSERT(ctt_dev_has(ctt_check_hosts[k], CTT_DEV_THREADS));
        ctt_dev_close(&d);
        CU_ASSERT_PTR_NULL(d);
    }
    ctt_dev_close(&d);
}

/* The formulas against the library's in double. */
static void test_formulas(void)
{
    double worst[5] = { 0 };

    for (int i = -40000; i <= 40000; i++) {
        float x = (float)i * 0.002f;
        double e[5] = {
            fabs((double)ctt_exp(x) / exp((double)x) - 1),
            fabs((double)ctt_sigmoid(x) - 1 / (1 + exp(-(double)x))),
            fabs((double)ctt_tanh(x) - tanh((double)x)),
            fabs((double)ctt_normal(x, ctt_exp(-0.5f * x * x)) -
                 (1 + erf((double)x / sqrt(2))) / 2),
            fabs((double)ctt_log(ctt_exp(x)) - log((double)ctt_exp(x))) /
                (1 + fabs((double)x)),
        };
        for (int k = 0; k < 5; k++)
            worst[k] = e[k] > worst[k] ? e[k] : worst[k];
    }
    for (int k = 0; k < 5; k++)
        CU_ASSERT(worst[k] < (k == 3 ? 2.5e-7 : 2e-7));
    CU_ASSERT(ctt_hsigmoid(-3) == 0 && ctt_hsigmoid(3) == 1 &&
              ctt_hsigmoid(0) == 0.5f && ctt_hswish(6) == 6);
    CU_ASSERT(isnan(ctt_hswish(NAN)) && isnan(ctt_silu(NAN)) &&
              isnan(ctt_gelu(NAN)) && isnan(ctt_leaky(NAN, 0.1f)));
    CU_ASSERT(isnan(ctt_exp(NAN)) && isnan(ctt_sigmoid(NAN)) &&
              isnan(ctt_tanh(NAN)) && isnan(ctt_relu(NAN)));
    CU_ASSERT(ctt_sigmoid(1000) == 1 && ctt_sigmoid(-1000) < 1e-37f);
    CU_ASSERT(ctt_tanh(1000) == 1 && ctt_tanh(-1000) == -1);
}

/* An LSTM has the same bits with every instruction set, whole registers or not,
 * whatever its gates are; which NaN it is may differ. */
static int same_bits(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    for (int64_t i = 0; i < ctt_volume(a); i++) {
        float x = ((float *)a->data)[i], y = ((float *)b->data)[i];
        if (memcmp(&x, &y, sizeof(x)) != 0 && !(isnan(x) && isnan(y)))
            return 0;
    }
    return 1;
}

static void gates_of(const struct ctt_isa *isa, const char *z, const char *c)
{
    static const float odd[] = { 0, -0.0f, 1e-30f, -1e-30f, 0.625f, -0.62f, 44,
                                 -90, 87, 1000, -1000, INFINITY, -INFINITY,
                                 NAN };
    const struct ctt_case lstm = { z, c, "lstm y in=a,b", 0 };
    struct ctt_dev *d = open_dev("cpu");
    struct ctt_rig r, want;

    ctt_rig_open(&r, &lstm, 7, 0, 0);
    ctt_rig_open(&want, &lstm, 7, 0, 0);
    for (int k = 0; k < 2; k++) {
        float *x = r.call.in[k].data;
        for (int64_t i = 0; i < ctt_volume(&r.call.in[k]); i++)
            x[i] = i % 3 == k ? odd[i / 3 % (int)CTT_LEN(odd)] : x[i] * 4;
    }
    ctt_rig_take(&want, &r);
    CHECK_OK(isa->kernels[0][CTT_FWD][CTT_OP_LSTM](d, &r.call));
    CHECK_OK(ctt_isa_plain()->kernels[0][CTT_FWD][CTT_OP_LSTM](d, &want.call));
    CU_ASSERT(same_bits(&r.call.out, &want.call.out));
    CU_ASSERT(same_bits(&r.call.also, &want.call.also));
    ctt_rig_close(&r, d);
    ctt_rig_close(&want, d);
    ctt_dev_close(&d);
}

static void test_gates(void)
{
    for (const struct ctt_isa *isa = ctt_isas; isa->name; isa++)
        if (isa->supported()) {
            gates_of(isa, "c=256 h=5", "c=64 h=5");
            gates_of(isa, "c=292 h=5", "c=73 h=5");
            gates_of(isa, "c=20 h=5", "c=5 h=5");
        }
}

/* A planted NaN is found where it first shows, and the node is named. */
static void test_blame(void)
{
    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        struct ctt_rig r;
        ctt_rig_open(&r, &conv, 2, ALL, 0);
        ctt_dev_blame(d, 1);
        CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(d, &r.call, CTT_BWD));
        ((float *)r.call.dout.data)[77] = INFINITY;
        CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_BWD), CTT_ENAN);
        CU_ASSERT(strncmp(ctt_errmsg(), "y: ", 3) == 0);
        ((float *)r.call.in[0].data)[99] = NAN;
        CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENAN);
        CU_ASSERT(strncmp(ctt_errmsg(), "y: ", 3) == 0);
        ctt_dev_blame(d, 0);
        CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
        ctt_rig_close(&r, d);
        ctt_dev_close(&d);
    }
}

/* A call that sees more shapes than it keeps plans for. */
static void test_many_shapes(void)
{
    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        struct ctt_dev *ref = open_dev("ref");
        struct ctt_rig a, b;
        ctt_rig_open(&a, &conv, 20, ALL, 0);
        ctt_rig_open(&b, &conv, 20, ALL, 0);
        for (int i = 0; i < 40; i++) {
            struct ctt_call x = a.call, y = b.call;
            x.in[0].n = x.in[1].n = x.out.n = 1 + i * 7 % 20;
            y.in[0].n = y.in[1].n = y.out.n = x.out.n;
            CHECK_OK(ctt_dev_run(d, &x, CTT_FWD));
            CHECK_OK(ctt_dev_run(ref, &y, CTT_FWD));
            CU_ASSERT(ctt_rig_close_to(&x.out, &y.out, 1e-4, "out", &conv));
        }
        ctt_rig_close(&a, d);
        ctt_rig_close(&b, ref);
        ctt_dev_close(&d);
        ctt_dev_close(&ref);
    }
}

static void test_profile(void)
{
    struct ctt_profile sum[3][CTT_PASSES] = { { { 0 } } };
    struct ctt_dev *d = open_dev("ref");
    struct ctt_rig r;

    ctt_rig_open(&r, &conv, 2, ALL, 0);
    CU_ASSERT_EQUAL_FATAL(r.g->count, 3);
    ctt_dev_profile(d, r.g, sum);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_BWD));
    ctt_dev_profile(d, NULL, NULL);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_BWD));
    CU_ASSERT_EQUAL(sum[2][CTT_FWD].calls, 2);
    CU_ASSERT_EQUAL(sum[2][CTT_BWD].calls, 1);
    CU_ASSERT(sum[2][CTT_FWD].seconds > 0);
    CU_ASSERT_EQUAL(sum[0][CTT_FWD].calls, 0);
    ctt_rig_close(&r, d);
    ctt_dev_close(&d);
}

static void test_no_kernel(void)
{
    struct ctt_node n = { .op = CTT_OP_INPUT, .name = "x" };
    struct ctt_call c = { .node = &n };
    struct ctt_dev *d = open_dev("ref");

    CU_ASSERT_EQUAL(ctt_dev_run(d, &c, CTT_FWD), CTT_EUNSUP);
    CU_ASSERT(strstr(ctt_errmsg(), "x: ") != NULL);
    ctt_dev_close(&d);
}

/* New weights count once the stamp says so; new shapes may share a cache. */
static void test_stamp(void)
{
    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        struct ctt_dev *ref = open_dev("ref");
        struct ctt_rig a, b;
        ctt_rig_open(&a, &conv, 3, ALL, 0);
        ctt_rig_open(&b, &conv, 3, ALL, 0);
        for (int i = 0; i < 3; i++) {
            struct ctt_call *pair[] = { &a.call, &b.call };
            for (int j = 0; j < 2; j++) {
                struct ctt_call *c = pair[j];
                c->stamp++;
                ((float *)c->w[0].t.data)[5] += 10;
                c->in[0].n = c->in[1].n = c->out.n = 3 - i;
                CHECK_OK(ctt_dev_run(j ? ref : d, c, CTT_FWD));
            }
            CU_ASSERT(ctt_rig_close_to(&a.call.out, &b.call.out, 1e-4, "out",
                                       &conv));
        }
        ctt_rig_close(&a, d);
        ctt_rig_close(&b, ref);
        ctt_dev_close(&d);
        ctt_dev_close(&ref);
    }
}

/* Rows of weight 0 count nothing, whatever stands in them; a class that does
 * not exist is an error. */
static void test_targets(void)
{
    static const struct ctt_case xent = {
        "c=4 w=3", "c=2 w=3", "loss y in=a,b kind=xent", 0
    };
    struct ctt_dev *d = open_dev("ref");
    struct ctt_rig r;
    float *z, *t, *y, *dz;

    ctt_rig_open(&r, &xent, 1, ALL, 0);
    z = r.call.in[0].data;
    t = r.call.in[1].data;
    y = r.call.out.data;
    dz = r.call.din[0].data;
    t[1] = 0;
    t[0] = -7;
    z[0] = NAN;
    z[1] = INFINITY;
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_BWD));
    CU_ASSERT(y[0] == 0 && y[1] > 0);
    for (int j = 0; j < 4; j++)
        CU_ASSERT(dz[j] == 0 && dz[4 + j] != 0);
    t[1] = 1;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_EINVAL);
    t[0] = 4;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_BWD), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "no class 4 among 4") != NULL);
    ctt_rig_close(&r, d);
    ctt_dev_close(&d);
}

/* Batch statistics: results are normal, running ones follow, and far from
 * zero nothing cancels. */
static void test_norm(void)
{
    static const struct ctt_case norm = {
        "c=3 h=8 w=8", NULL, "norm y in=a kind=batch momentum=0.25", 0
    };
    struct ctt_dev *d = open_dev("ref");
    struct ctt_rig r;
    float *x, *y, *mean, *var, old;

    ctt_rig_open(&r, &norm, 4, ALL | RIG_TRAIN, 0);
    x = r.call.in[0].data;
    y = r.call.out.data;
    mean = r.call.w[2].t.data;
    var = r.call.w[3].t.data;
    for (int i = 0; i < 256; i++) {
        x[i * 3] = i % 2 ? 5003.0f : 4997.0f;
        for (int k = 0; k < 2; k++)    /* y = x normalised */
            ((float *)r.call.w[k].t.data)[0] = k ? 0 : 1;
    }
    old = var[0];
    mean[0] = 0;
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    CU_ASSERT(fabsf(y[0] + 1) < 1e-4f && fabsf(y[3] - 1) < 1e-4f);
    CU_ASSERT(fabsf(mean[0] - 1250) < 0.01f);
    CU_ASSERT(fabsf(var[0] - (0.75f * old + 0.25f * 9)) < 1e-3f);
    old = mean[0];
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_BWD));
    r.call.train = 0;
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    CU_ASSERT(mean[0] == old);
    CU_ASSERT(fabsf(y[0] - (4997 - old) / sqrtf(var[0] + 1e-5f)) < 1);
    ctt_rig_close(&r, d);
    ctt_dev_close(&d);
}

/* About `rate` of the values go, the others grow, and the way back drops the
 * same ones. */
static void test_dropout(void)
{
    static const struct ctt_case drop = {
        "c=50 h=20 w=20", NULL, "dropout y in=a rate=0.25", 0
    };
    struct ctt_dev *d = open_dev("ref");
    struct ctt_rig r;
    int64_t n, zero = 0;

    ctt_rig_open(&r, &drop, 1, ALL | RIG_TRAIN, 0);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_BWD));
    n = ctt_volume(&r.call.out);
    for (int64_t i = 0; i < n; i++) {
        float x = ((float *)r.call.in[0].data)[i];
        float y = ((float *)r.call.out.data)[i];
        float g = ((float *)r.call.din[0].data)[i];
        zero += y == 0;
        CU_ASSERT((y == 0) == (g == 0));
        CU_ASSERT(y == 0 || fabsf(y - x / 0.75f) < 1e-5f);
    }
    CU_ASSERT(zero > n / 4 - n / 50 && zero < n / 4 + n / 50);
    ctt_rig_close(&r, d);
    ctt_dev_close(&d);
}

/* Every allocation may fail, and the next attempt works. */
static int walk(const char *name, long k)
{
    struct ctt_dev *d = NULL;
    struct ctt_rig r;
    int rc = 0;

    ctt_rig_open(&r, &conv, 2, ALL | RIG_VIEW | RIG_ADD, 0);
    ctt_fail_alloc(k);
    CTT_TRY(ctt_dev_open(name, 1, &d));
    CTT_TRY(ctt_dev_run(d, &r.call, CTT_FWD));
    CTT_TRY(ctt_dev_run(d, &r.call, CTT_BWD));
out:
    ctt_fail_alloc(0);
    if (d && rc < 0) {
        CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(d, &r.call, CTT_BWD));
    }
    if (!d)    /* nothing was prepared */
        CU_ASSERT_PTR_NULL_FATAL(r.cache);
    if (!d)
        CHECK_OK(ctt_dev_open(name, 1, &d));
    ctt_rig_close(&r, d);
    ctt_dev_close(&d);
    return rc;
}

static void test_memory(void)
{
    for (int i = 0; ctt_check_hosts[i]; i++) {
        long k = 1, live = ctt_live_blocks();
        int rc;
        while ((rc = walk(ctt_check_hosts[i], k)) < 0 && k < 1000) {
            CU_ASSERT_EQUAL(rc, CTT_ENOMEM);
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
            k++;
        }
        CU_ASSERT(k > 2 && k < 1000);
    }
}

static void test_sgemm(void)
{
    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        CU_ASSERT(ctt_dev_sgemm_rate(d) > 0);
        ctt_dev_close(&d);
    }
}

static CU_TestInfo tests[] = {
    { "open", test_open },
    { "formulas", test_formulas },
    { "gates", test_gates },
    { "blame", test_blame },
    { "many shapes", test_many_shapes },
    { "profile", test_profile },
    { "no kernel", test_no_kernel },
    { "stamp", test_stamp },
    { "targets", test_targets },
    { "norm", test_norm },
    { "dropout", test_dropout },
    { "memory runs out", test_memory },
    { "sgemm", test_sgemm },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "device", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    return rc ? rc : ctt_live_blocks() != 0;
}
