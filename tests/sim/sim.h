/* SPDX-License-Identifier: Apache-2.0
 * sim.h: how tests and the environment control the simulated CUDA libraries.
 *
 * tests/sim is a simulation, on the host, of the part of the CUDA runtime, of
 * cuDNN's graph API, of cuBLASLt, cuSPARSE and NCCL that device/cuda calls.
 * Compiled against these headers device/cuda becomes a module that needs no
 * GPU, so that its pointers, strides, lifetimes and order of work are tested
 * anywhere, under sanitizers.  It is at least as strict as the libraries: work
 * runs as late as allowed, fresh memory holds NaNs, and device memory is
 * inaccessible to the program (checked now and then, since it is slow).  A
 * program that ends before it has freed everything gets exit status 70.
 *
 * CTT_SIM_ORDER   when queued work runs: late, early, now, or a seed
 *                 (enum ctt_sim_order)
 * CTT_SIM_MEMORY  bytes of device memory; 8 GiB
 * CTT_SIM_JITTER  other programs use up to so many bytes of it, each time that
 *                 free memory is asked for another number
 * CTT_SIM_FAIL    the number of the call that fails, from 1; exit status 71 if
 *                 the program makes fewer calls
 * CTT_SIM_NCCL    the number of NCCL's call that fails, in the same way; or
 *                 which library there is: "none", "old": without messages,
 *                 "wrong": with messages that arrive damaged
 * CTT_SIM_NCCL_WAIT  seconds after which ranks that wait for each other are an
 *                 error: 60
 * CTT_SIM_SPARSE  "none": there is no cuSPARSE and no cuSPARSELt; "old": the
 *                 latter is of another version
 * CTT_SIM_GUARD   device memory is made inaccessible after every so many pieces
 *                 of work: 16; 0: never
 * CTT_SIM_TALLY   part of a kernel's name: what runs between its first two runs
 *                 is counted, and not computed; then the program prints it and
 *                 ends; to be used with CTT_SIM_GUARD=0
 * CTT_SIM_DNN     which engines cuDNN has: "plain": none for fused graphs,
 *                 "fallback": only those of its fallback mode, "none": none,
 *                 "uncompiled": it cannot compile fused graphs, "hasty": those
 *                 of fused graphs clear the result before they read what is
 *                 added
 * CTT_SIM_FUSED   most fused plans that may be made: on a GPU each is compiled,
 *                 for up to two seconds
 * CTT_SIM_CAPABILITY  the GPUs' compute capability: 80; with 90 there is an
 *                 engine for it
 * CTT_SIM_CLOCK   "WHAT=MS,...": time that work takes, by which alone events
 *                 are timed; WHAT: "kernel", "engN", of engine N
 *                 (enum ctt_sim_engine), "fusedN", of a fused plan of it,
 *                 "addN", of one that adds to its old result.  Unset: the GPU
 *                 says that it has no clock */
#ifndef CTT_SIM_H
#define CTT_SIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tests find these in the module, whose other names are hidden. */
#pragma GCC visibility push(default)

/* Work of a stream runs only when something waits for it (late); when anything
 * is waited for, other streams' work first (early); at once (now).  A number
 * from 16 on is a seed: streams take turns at random.  A GPU may choose any of
 * these. */
enum ctt_sim_order {
    CTT_SIM_LATE, CTT_SIM_EARLY, CTT_SIM_NOW, CTT_SIM_SEEDS = 16
};
void ctt_sim_order(int order);

/* Sets the bytes of device memory; at least those in use. */
void ctt_sim_memory(int64_t bytes);

/* The k-th call from now on that can fail does; 0: none. */
void ctt_sim_fail(long k);

/* How many objects are not freed or destroyed yet: device memory, locked
 * memory, streams, events, graphs, handles, descriptors. */
long ctt_sim_live(void);

/* Prints one line per kind of these to stderr. */
void ctt_sim_show_live(void);

/* So far: calls that can fail, kernels run (also by graphs), graphs launched,
 * and bytes in use. */
struct ctt_sim_sums { int64_t calls, kernels, graphs, bytes; };
struct ctt_sim_sums ctt_sim_counts(void);

/* Runs so far of kernels whose parameters have these types, as in "core", or of
 * products of warps, as in "mma.tf32". */
int64_t ctt_sim_runs(const char *types);

/* Like CTT_SIM_GUARD; closes (or, with 0, opens) the memory at once. */
void ctt_sim_guard(int often);

/* Like CTT_SIM_DNN; NULL or "": all engines. */
void ctt_sim_dnn(const char *what);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
