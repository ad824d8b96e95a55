/* SPDX-License-Identifier: Apache-2.0
 * test_sim.h: common part of the tests of the simulated CUDA libraries: numbers
 * in the simulated device's memory, and main(). */
#ifndef CTT_TEST_SIM_H
#define CTT_TEST_SIM_H

#ifdef __cplusplus

extern "C" {
#include "tests/lib/check.h"
}
#include "tests/sim/cuda_runtime.h"
#include "tests/sim/sim.h"

#include <string>
#include <vector>

#define CUDA(expr) CU_ASSERT_EQUAL_FATAL((expr), cudaSuccess)

inline float *device(const std::vector<float> &x)
{
    void *p;

    CUDA(cudaMalloc(&p, x.size() * sizeof(float)));
    CUDA(cudaMemcpy(p, x.data(), x.size() * sizeof(float),
                    cudaMemcpyHostToDevice));
    return (float *)p;
}

inline std::vector<float> host(const float *p, size_t n)
{
    std::vector<float> x(n);

    CUDA(cudaMemcpy(x.data(), p, n * sizeof(float), cudaMemcpyDeviceToHost));
    return x;
}

/* main() of a program with one suite of tests. */
inline int check_all(std::string name, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {
        { &name[0], NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}

#endif

#endif
