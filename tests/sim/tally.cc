/* SPDX-License-Identifier: Apache-2.0
 * tally.cc: counts the work of the simulated GPU in place of doing it
 * (CTT_SIM_TALLY): what runs between the first two runs of a kernel, with the
 * bytes that blocks of kernels touched and the operations of convolutions. */
#include "tests/sim/dnn.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <unordered_set>

struct sums { int64_t runs, bytes; double flop; };
using table = std::map<std::string, sums>;

static const char *mark;
static bool known;
static int64_t bytes_now;
static table now;      /* since the mark */
static int marks;

bool ctt_sim_tally()
{
    if (!known)
        mark = getenv("CTT_SIM_TALLY");
    known = true;
    return mark && *mark;
}

/* A block reads and writes a sector once: its caches have it then. */
void ctt_sim_tally_access(const void *p, bool writes)
{
    enum { SECTOR = 32 };
    static std::unordered_set<uintptr_t> seen;
    static uint32_t kernel, block;

    if (kernel != ctt_sim_me.kernel || block != ctt_sim_me.block)
        seen.clear();
    kernel = ctt_sim_me.kernel;
    block = ctt_sim_me.block;
    if (seen.insert((uintptr_t)p / SECTOR * 2 + writes).second)
        bytes_now += SECTOR;
}

void ctt_sim_tally_add(const char *what, int64_t bytes, double flop)
{
    sums &s = now[what];

    s.runs++;
    s.bytes += bytes;
    s.flop += flop;
}

/* Multiplications and additions of a convolution, with those by padding. */
static double conv_flop(const ctt_sim_dnn_op &op)
{
    double n = 2 * (double)op.groups();

    for (int i = 0; i < 5; i++)
        n *= (double)(i == 1 ? op.y.dim[1] / op.groups() : op.y.dim[i]);
    for (int i = 1; i < 5; i++)
        n *= (double)op.w.dim[i];
    return n;
}

void ctt_sim_tally_dnn(const std::vector<ctt_sim_dnn_op> &ops)
{
    bool data = ops[0].way ==
                CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    bool out = ops[0].way ==
               CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    std::string what = out ? "conv" : data ? "conv, input's gradient"
                                           : "conv, weights' gradient";

    if (ops.size() > 1)
        what += ", fused";
    ctt_sim_tally_add(what.c_str(), 0, conv_flop(ops[0]));
}

static bool starts_with(const std::string &s, const char *with)
{
    return s.compare(0, strlen(with), with) == 0;
}

static void print_tally(const table &t)
{
    sums all = { 0, 0, 0 }, conv = all;

    for (auto &k : t) {
        const sums &s = k.second;
        fprintf(stderr, "%7lld  %10.1f MB  %10.1f GFLOP  %s\n",
                (long long)s.runs, (double)s.bytes * 1e-6, s.flop * 1e-9,
                k.first.c_str());
        all.runs += s.runs;
        all.bytes += s.bytes;
        all.flop += s.flop;
        if (starts_with(k.first, "conv"))
            conv.runs += s.runs;
    }
    fprintf(stderr, "%lld operations, %lld of them convs of cuDNN; %.2f GB "
            "read and written by the others; %.2f TFLOP\n",
            (long long)all.runs, (long long)conv.runs, (double)all.bytes * 1e-9,
            all.flop * 1e-12);
}

void ctt_sim_tally_kernel(const char *function, uint64_t blocks, uint64_t ran)
{
    std::string name = "kernel " + ctt_sim_kernel_name(function);

    ctt_sim_tally_add(name.c_str(), (int64_t)((double)bytes_now / (double)ran *
                                              (double)blocks), 0);
    bytes_now = 0;
    if (name.find(mark) == std::string::npos)
        return;
    if (marks++) {
        print_tally(now);
        fflush(NULL);
        _exit(0);
    }
    now.clear();
}

static struct at_end {
    ~at_end()
    {
        if (ctt_sim_tally())
            fprintf(stderr, "simulated GPU: no kernel '%s' ran twice\n", mark);
    }
} at_end;
