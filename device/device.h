/* SPDX-License-Identifier: Apache-2.0
 * device.h: what a machine can do.  A kernel is one function for one op on one
 * device; a table holds one kernel an op and pass; kernels are called in one
 * place, ctt_dev_run(). */
#ifndef CTT_DEVICE_H
#define CTT_DEVICE_H

#include "net/graph.h"
#include "net/weight.h"

/* Who wants the clip part: the answer after step `step` of sample `sample`. */
struct ctt_ask { int sample, step; };

/* What the kernel of a conv does besides, forward, so that its result need not
 * be written and read again; NULL node: nothing.  pair: another conv of the
 * same window, stride, padding and result whose sum (and bias, w[1].data not
 * NULL) is added too; the conv's own plus input, which would be the pair's
 * result, has no data then.  lstm: the result are gates; old is the old cell
 * state, h and c the new states (c.data NULL: not wanted), and the result
 * itself is written only if keep, otherwise it may hold anything.  Backward
 * never has either.  Kernels get what they said they take (along() of
 * device/dev.h); what they do not ctt_dev_run() makes calls of their own, each
 * with its own row of the profile. */
struct ctt_also_conv {
    const struct ctt_node *node;
    struct ctt_tensor      in;
    struct ctt_weight      w[2];
    void                 **cache;
};
struct ctt_also_lstm {
    const struct ctt_node *node;
    struct ctt_tensor      old, h, c;
    int                    keep;
};

/* Numbers that change from batch to batch, in the device's memory, so that work
 * which is replayed (device/memory.h) sees those of the day: the key of a call
 * is ctt_call_key(*key, node, which ? *which : at), the asks of a window are
 * ask.  key NULL: there are none, the call's own hold. */
struct ctt_live {
    const uint64_t       *key;
    uint64_t              node, at;
    const int32_t        *which;
    const struct ctt_ask *ask;
};

/* What a kernel gets.  A NULL data pointer means absent or not wanted.
 *
 * Forward writes out (and also).  Backward reads dout (and dalso), and for
 * each din[k] with data: adds to it if bit k of add is set, else writes all of
 * it; it always ADDS to dw.  A call may want only din, or only dw.  dout may be
 * changed by backward.  out and in[0] (dout and din[0]) of an act or dropout
 * may be the same memory; then add is 0.  So may out and the plus input of a
 * conv (dout and din[1]; then there is nothing to do for din[1]).
 *
 * A mix whose in[1] has no data gives in[0].
 *
 * Values and their gradients may be of 16 bits, each tensor of its own type;
 * sums are made in floats.  A weight is of 16 bits only where it is the kernel
 * of a conv or deconv whose result is; dw is always floats.  in[k] and din[k]
 * have one type, and so have out and dout.  Any other form of a weight
 * (weight.h) and any other type is refused: no kernel reads it yet.
 *
 * A window's in[0] holds the values of all steps: data points at step 0 and
 * step s lies `stride` numbers from it; steps before `oldest` (<= 0) read as
 * zero (forward) or take no gradient; a window always adds to its din. */
struct ctt_call {
    const struct ctt_node *node;
    struct ctt_tensor in[CTT_MAX_IN], out, also;
    struct ctt_weight w[CTT_MAX_W];
    struct ctt_tensor din[CTT_MAX_IN], dout, dalso, dw[CTT_MAX_W];
    unsigned  add;
    int       act;      /* conv, deconv, norm, add: an act applied to out
                           forward: ctt_act_kind + 1, or 0 */
    int       train;    /* batch statistics and dropout, or not */
    uint64_t  key;      /* of counter-based randomness: seed, step, node */
    struct ctt_live live;
    uint64_t  stamp;    /* changes when the weights do: packed weights are
                           remade then */
    const struct ctt_ask *ask;    /* window: out.n of them, in host memory */
    struct ctt_also_conv  pair;   /* conv, forward: added to its result */
    struct ctt_also_lstm  lstm;   /* conv, forward: applied to its result */
    int64_t   stride;
    int       oldest;
    void    **cache;    /* this call's own place for what the device prepares;
                           starts NULL, freed by ctt_dev_forget() */
};

enum ctt_pass { CTT_FWD, CTT_BWD, CTT_PASSES };

struct ctt_dev;
typedef int ctt_kernel(struct ctt_dev *d, const struct ctt_call *c);

/* The names of the devices, best first, NULL-terminated: "cpu" (oneDNN and our
 * own kernels), "cuda" (a GPU) and "ref" (plain C). */
extern const char *const ctt_dev_names[];

/* name: one of them; threads: 0 for all processors. */
int  ctt_dev_open(const char *name, int threads, struct ctt_dev **out);
void ctt_dev_close(struct ctt_dev **d);
int  ctt_dev_threads(const struct ctt_dev *d);

/* On: results do not depend on the number of threads, by a bit.  Which kernel
 * does what is a fixed rule in any case, and the same call with the same
 * threads gives the same bits; on "cpu" without this, sums of gradients over
 * pixels are cut into as many parts as there are threads, and oneDNN's kernels
 * promise nothing, so with it our own do what Winograd does not. */
void ctt_dev_deterministic(struct ctt_dev *d, int on);

/* "cuda": how many nodes that do not need each other may run side by side. */
void ctt_dev_streams(struct ctt_dev *d, int streams);

int  ctt_dev_run(struct ctt_dev *d, const struct ctt_call *c,
                 enum ctt_pass pass);
void ctt_dev_forget(struct ctt_dev *d, void **cache);

/* Hooks in ctt_dev_run.  blame: while on, each forward result (backward: each
 * gradient written) is searched for NaN and Inf and the run fails with
 * CTT_ENAN naming the first node.  profile: seconds and calls by node index
 * and pass are summed; NULL turns it off. */
struct ctt_profile { double seconds; int64_t calls; };
void ctt_dev_blame(struct ctt_dev *d, int on);
void ctt_dev_profile(struct ctt_dev *d, const struct ctt_graph *g,
                     struct ctt_profile (*sum)[CTT_PASSES]);

/* 1 if the kernels of the node read weight k in this form, which is not one of
 * plain floats, so that it need not be decoded (net/weight.h). */
int  ctt_dev_takes(const struct ctt_dev *d, const struct ctt_node *n, int k,
                   const struct ctt_weight *w);

/* What a conv's last call of this pass with this cache ran on, as provider:code
 * ("onednn:brgconv:avx512_core"), on the way back that of the input's gradient
 * and that of the weights'; "plain" where there is no choice.  And why ("not
 * winograd: the stride is not 1"), or "" where there is nothing to say.  For
 * --plan and tests; valid until asked again. */
const char *ctt_dev_impl(const struct ctt_dev *d, void *cache,
                         enum ctt_pass pass);
const char *ctt_dev_why(const struct ctt_dev *d, void *cache,
                        enum ctt_pass pass);

/* Sgemm rate of this device in GFLOP/s, 1024^3, best of a few: the ceiling
 * that the benchmarks state their share of. */
double ctt_dev_sgemm_rate(struct ctt_dev *d);

#endif
