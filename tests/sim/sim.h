/* SPDX-License-Identifier: Apache-2.0
 * sim.h: what a test may ask of the simulated CUDA libraries, and what they
 * were told by the environment.
 *
 * tests/sim is a simulation, on the host, of the part of the CUDA runtime, of
 * cuDNN's graph API and of cuBLASLt that device/cuda calls.  Compiled against
 * these headers device/cuda becomes a module that needs no GPU, so that its
 * pointers, strides, lifetimes and the order of its work are tested anywhere,
 * under sanitizers.  It is as strict as the libraries and less patient: work is
 * done as late as it may be, fresh memory holds NaNs, and the program cannot
 * touch device memory (this is looked at now and then, as it takes long).  A
 * program that ends before it has freed everything does so with status 70.
 *
 * CTT_SIM_ORDER   when queued work is done (enum ctt_sim_order, or a number)
 * CTT_SIM_MEMORY  bytes of device memory; 8 GiB
 * CTT_SIM_FAIL    the call that fails, counted from 1; a program that makes
 *                 fewer of them ends with status 71
 * CTT_SIM_GUARD   after how many times of work device memory is closed to the
 *                 program: 16; 1: always; 0: never
 * CTT_SIM_DNN     which engines cuDNN has: "plain": none for fused graphs,
 *                 "fallback": those of its fallback mode, "none": none */
#ifndef CTT_SIM_H
#define CTT_SIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tests find these in the module, whose other names are hidden. */
#pragma GCC visibility push(default)

/* Work of a stream starts when something waits for it and no earlier (late);
 * when anything is waited for, but the other streams' work first (early); at
 * once, after what it waits for (now).  A number from 16 on is a seed: streams
 * take turns by chance.  All four are orders that a GPU may choose. */
enum ctt_sim_order {
    CTT_SIM_LATE, CTT_SIM_EARLY, CTT_SIM_NOW, CTT_SIM_SEEDS = 16
};
void ctt_sim_order(int order);

/* Bytes of device memory there are from now on; no less than are in use. */
void ctt_sim_memory(int64_t bytes);

/* The k-th call from now on that may fail does; 0: none. */
void ctt_sim_fail(long k);

/* Things that have been made and not yet freed or destroyed: device memory,
 * locked memory, streams, events, graphs, handles, descriptors. */
long ctt_sim_live(void);

/* One line to stderr for each kind of these. */
void ctt_sim_show_live(void);

/* So far: calls that may fail, kernels started (also by graphs), graphs
 * started, and bytes in use. */
struct ctt_sim_sums { int64_t calls, kernels, graphs, bytes; };
struct ctt_sim_sums ctt_sim_counts(void);

/* As CTT_SIM_GUARD; closes (or, 0: opens) the memory at once. */
void ctt_sim_guard(int often);

/* As CTT_SIM_DNN; NULL or "": everything. */
void ctt_sim_dnn(const char *what);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
