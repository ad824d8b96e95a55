/* SPDX-License-Identifier: Apache-2.0
 * test_digits.c: Moving-MNIST of the real digits, where they are there. */
#include "tests/lib/check.h"
#include "video/video.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FRAMES = 20, FRAME = CTT_MNIST_SIDE * CTT_MNIST_SIDE };

static char path[4096];

/* Two digits of about 19% ink in 784 pixels each, rarely over each other. */
static void ink(void)
{
    static uint8_t out[FRAMES * FRAME];
    struct ctt_mnist *m = NULL;
    int lit = 0;

    CHECK_OK(ctt_mnist_open(path, &m));
    CU_ASSERT_EQUAL(ctt_mnist_count(m), 60000);
    for (int i = 0; i < 200; i++) {
        CHECK_OK(ctt_mnist_draw(m, 1, i, 2, FRAMES, out));
        for (int k = 0; k < FRAMES * FRAME; k++)
            lit += out[k] > 0;
    }
    CU_ASSERT_DOUBLE_EQUAL(lit / (200.0 * FRAMES), 2 * 150, 30);
    ctt_mnist_close(&m);
}

int main(void)
{
    CU_TestInfo tests[] = { { "ink", ink }, CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = {
        { "real digits", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    const char *data = getenv("CONVTT_DATA"), *src = getenv("srcdir");

    if (data)
        snprintf(path, sizeof(path), "%s/mnist", data);
    else
        snprintf(path, sizeof(path), "%s/../shared/data/mnist",
                 src ? src : ".");
    if (access(path, R_OK) != 0) {
        printf("no %s\n", path);
        return CTT_SKIP;
    }
    return ctt_check_main(suites);
}
