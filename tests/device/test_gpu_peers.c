/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_peers.c: the device "cuda" and NCCL where there is one GPU: it meets
 * itself, sends to itself, and leaves.  Skipped where NCCL is missing. */
#include "device/peers.h"
#include "tests/lib/gpu.h"

#include <stdio.h>
#include <string.h>

static int known;    /* NCCL is there */

static void test_known(void)
{
    struct ctt_peer p = { .by = "" };
    int rc = ctt_peers_know(gpu, &p);

    known = rc >= 0;
    printf("%s ", known ? p.by : ctt_errmsg());
    CU_ASSERT(known || rc == CTT_EUNSUP);
    if (known) {
        CU_ASSERT(strncmp(p.by, "NCCL 2.", 7) == 0);
        CU_ASSERT(strchr(p.place, ':') != NULL);
    }
    CU_ASSERT_EQUAL(ctt_peers_know(host, &p), CTT_EUNSUP);
    CU_ASSERT(strstr(ctt_errmsg(), "device ref") != NULL);
}

static void meet_itself(struct ctt_dev *d)
{
    struct ctt_peer p;
    char id[CTT_PEERS_ID];

    CHECK_OK(ctt_peers_know(d, &p));
    CHECK_OK(ctt_peers_id(d, id));
    CHECK_OK(ctt_peers_meet(d, id, 0, 1));
}

/* The bytes come from work that has not been waited for, and the next work
 * reads what has come. */
static void pass(int64_t n, int turn)
{
    float *x = ctt_check_floats(n, 3 + turn), *y = ctt_check_floats(n, 5);
    float *from = gpu_alloc(n * (int64_t)sizeof(float));
    float *to = gpu_alloc(n * (int64_t)sizeof(float));
    const struct ctt_tensor row = gpu_row(from, CTT_F32, n);
    int64_t bytes = n * (int64_t)sizeof(float);

    CHECK_OK(ctt_dev_put(gpu, x, &row));
    CHECK_OK(turn % 2 ? ctt_peers_tell(gpu, from, bytes, to)
                      : ctt_peers_trade(gpu, from, to, bytes));
    CHECK_OK(ctt_dev_sum(gpu, CTT_F32, from, to, n));
    gpu_read(to, CTT_F32, n, y);
    for (int64_t i = 0; i < n; i++)
        x[i] += x[i];
    CU_ASSERT(gpu_same(x, y, n));
    ctt_dev_free(gpu, (void **)&from);
    ctt_dev_free(gpu, (void **)&to);
    ctt_free(x);
    ctt_free(y);
}

static void test_pass(void)
{
    const int64_t sizes[] = { 1, 4099, gpu_quick ? 1 << 16 : 1 << 22 };
    char none = 0;

    if (!known)
        return;
    meet_itself(gpu);
    for (int turn = 0; turn < 4; turn++)
        for (size_t i = 0; i < CTT_LEN(sizes); i++)
            pass(sizes[i], turn);
    CHECK_OK(ctt_peers_tell(gpu, &none, 0, &none));
    ctt_peers_leave(gpu);
}

static void test_order_of_calls(void)
{
    char id[CTT_PEERS_ID] = { 0 }, *p = gpu_alloc(16);

    if (known) {
        ctt_peers_leave(gpu);
        CU_ASSERT_EQUAL(ctt_peers_tell(gpu, p, 8, p + 8), CTT_EINVAL);
        CU_ASSERT(strstr(ctt_errmsg(), "met no others") != NULL);
        meet_itself(gpu);
        CU_ASSERT_EQUAL(ctt_peers_meet(gpu, id, 0, 1), CTT_EINVAL);
        CHECK_OK(ctt_peers_trade(gpu, p, p + 8, 8));
        ctt_peers_leave(gpu);
        ctt_peers_leave(gpu);
    }
    ctt_dev_free(gpu, (void **)&p);
}

/* A device that is closed has left. */
static void test_close(void)
{
    struct ctt_dev *d = NULL;

    if (!known)
        return;
    for (int turn = 0; turn < 2; turn++) {
        CHECK_OK(ctt_dev_open("cuda", 0, &d));
        meet_itself(d);
        ctt_dev_close(&d);
    }
}

static CU_TestInfo tests[] = {
    { "whether NCCL is there", test_known },
    { "bytes to itself", test_pass },
    { "the order of calls", test_order_of_calls },
    { "close", test_close },
    CU_TEST_INFO_NULL
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { "gpu_peers", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    int status = gpu_main(suites, argc, argv);

    return status || known ? status : CTT_SKIP;
}
