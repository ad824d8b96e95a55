/* SPDX-License-Identifier: Apache-2.0
 * test_renamed.c: right answers after the best renaming of the classes, against
 * all renamings. */
#include "tools/infer/infer_tool.h"
#include "base/random.h"
#include "tests/lib/check.h"

enum { CLASSES = 6 };

/* The best of all renamings of n classes, of which `used` are given away. */
static int best_of_all(int n, const int *clips, int label, unsigned used)
{
    int most = 0;

    for (int j = 0; j < n && label < n; j++) {
        int sum;

        if (used & 1u << j)
            continue;
        sum = clips[label * n + j] +
              best_of_all(n, clips, label + 1, used | 1u << j);
        most = sum > most ? sum : most;
    }
    return most;
}

static void test_best(void)
{
    for (int n = 1; n <= CLASSES; n++) {
        int clips[CLASSES * CLASSES], answer[CLASSES];

        for (uint64_t seed = 0; seed < 30; seed++) {
            int sum = 0;
            unsigned used = 0;

            for (int i = 0; i < n * n; i++)
                clips[i] = (int)(ctt_random(seed, (uint64_t)i) % 9);
            CU_ASSERT_EQUAL(ctt_renamed_best(n, clips, answer),
                            best_of_all(n, clips, 0, 0));
            for (int i = 0; i < n; i++) {
                sum += clips[i * n + answer[i]];
                used |= 1u << answer[i];
            }
            CU_ASSERT_EQUAL(sum, best_of_all(n, clips, 0, 0));
            CU_ASSERT_EQUAL(used, (1u << n) - 1);
        }
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "the best renaming", test_best }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "renamed classes", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return ctt_check_main(suites);
}
