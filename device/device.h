/* SPDX-License-Identifier: Apache-2.0
 * device.h: devices and their kernels.  A kernel computes one op on one device;
 * a device has a table with one kernel per op and pass; kernels are called only
 * by ctt_dev_run(). */
#ifndef CTT_DEVICE_H
#define CTT_DEVICE_H

#include "base/byte.h"
#include "net/graph.h"
#include "net/weight.h"

#include <string.h>

/* 1 if the tensor's quantised values are bytes.  (Where gradients are computed
 * they are floats.)  On a GPU bytes and `zero` are CTT_I8_LESS less, so that
 * tensor cores take them: CTT_I8. */
static inline int ctt_is_bytes(const struct ctt_tensor *t)
{
    return (t->dtype == CTT_U8 || t->dtype == CTT_I8) && t->scale > 0;
}

/* A query of the clip part: the answer after step `step` of sample `sample`. */
struct ctt_ask { int sample, step; };

/* Ops fused into a conv in the forward pass, so that its result is not written
 * and read again; node NULL: none.  pair: another conv with the same window,
 * stride, padding and result shape whose result (with its bias, unless
 * w[1].data is NULL) is added; the conv's own plus input, which would be the
 * pair's result, then has no data.  lstm: the conv's result is the gates; old
 * is the old cell state, h and c the new states (c.data NULL: not wanted), and
 * the result itself is written only if keep, otherwise undefined.  Backward
 * calls have neither.  If the kernel cannot fuse them (along() of
 * device/dev.h), ctt_dev_run() runs them as separate calls, each counted for
 * its own node in the profile.
 *
 * So is a chain: the calls of convs, the first one first, of which each reads
 * the result of the one before it and the call itself that of the last one; no
 * other call reads these results, and a kernel that computes the chain need not
 * write them.  A call with a chain has neither pair nor lstm. */
enum { CTT_CHAIN_MOST = 16 };
struct ctt_also_conv {
    const struct ctt_node *node;
    struct ctt_tensor      in;
    struct ctt_weight      w[2];
    enum ctt_dtype         mul;      /* as in the call */
    void                 **cache;
};
struct ctt_also_lstm {
    const struct ctt_node *node;
    struct ctt_tensor      old, h, c;
    int                    keep;
};

/* Values that change from batch to batch, in device memory, so that recorded
 * work (device/memory.h) reads the current ones when replayed.  The key of a
 * call is ctt_call_key(*key, node, which ? *which : at), the queries of a
 * window are ask.  key NULL: there are none; key and ask of the call are used.
 */
struct ctt_live {
    const uint64_t       *key;
    uint64_t              node, at;
    const int32_t        *which;
    const struct ctt_ask *ask;
};

/* A kernel's arguments.  A NULL data pointer means absent or not wanted.
 *
 * Forward writes out (and also).  Backward reads dout (and dalso), and for
 * each din[k] with data: adds to it if bit k of add is set, else overwrites
 * it; it ADDS to dw, but with `sets` a conv of a device that joins convs
 * overwrites dw[0].  A call may want only din, or only dw.  dout may be
 * changed by backward.  out and in[0] (dout and din[0]) of an act or dropout
 * may be the same memory; then add is 0.  So may out and the plus input of a
 * conv (dout and din[1]; then there is nothing to do for din[1]).
 *
 * Quantised values (scale > 0 in a tensor) are floats, or in forward calls
 * bytes (ctt_is_bytes()).  A conv that reads them takes its weight as whole
 * numbers (net/quant.h), whatever floats it is given.
 *
 * A mix whose in[1] has no data copies in[0].
 *
 * Values and their gradients may be 16-bit, each tensor with its own type;
 * sums are computed in fp32.  Only the kernel of a conv or deconv whose result
 * is 16-bit, or which may round to 16 bits (mul), may be a 16-bit weight; dw is
 * fp32, with `sets` also of dout's type.  in[k] and din[k] have the same type,
 * and so have out and dout.  Any other form of a weight (weight.h) and any
 * other type is refused: no kernel reads it yet.
 *
 * A window's in[0] holds the values of all steps: data points at step 0, and
 * step s is s * `stride` elements after it; where slots find theirs follows
 * from `place` (ctt_window_at()); what is nowhere reads as zero (forward) or
 * takes no gradient; a window always adds to its din. */
struct ctt_call {
    const struct ctt_node *node;
    struct ctt_tensor in[CTT_MAX_IN], out, also;
    struct ctt_weight w[CTT_MAX_W];
    struct ctt_tensor din[CTT_MAX_IN], dout, dalso, dw[CTT_MAX_W];
    unsigned  add;
    int       sets;
    enum ctt_dtype mul; /* conv, forward: 0, or a type of 16 bits: its kernel
                           may round what it multiplies to this type */
    int       act;      /* conv, deconv, norm, add: an act applied to out
                           forward: ctt_act_kind + 1, or 0 */
    int       train;    /* batch statistics and dropout, or not */
    uint64_t  key;      /* of counter-based randomness: seed, step, node */
    struct ctt_live live;
    uint64_t  stamp;    /* changes with the weights, so that packed copies are
                           made again; 0: always */
    int       once;     /* no other call of the node will read them: they are
                           made in scratch */
    const struct ctt_ask *ask;    /* window: out.n of them, in host memory */
    struct ctt_also_conv  pair;   /* conv, forward: added to its result */
    struct ctt_also_lstm  lstm;   /* conv, forward: applied to its result */
    const struct ctt_call *chain; /* conv: `links` calls before it, */
    int       links;              /* CTT_CHAIN_MOST at most */
    int64_t   stride;
    struct ctt_window_place place;
    void    **cache;    /* where the device keeps what it prepares for this
                           call; starts NULL, freed by ctt_dev_forget() */
};

/* The result of a provider of convs that must read the kernel of a call, or of
 * its pair, which is still in the model's file (net/late.h): it is called again
 * with the floats. */
enum { CTT_CONV_LACKS = -1000 };

static inline int ctt_call_lacks(const struct ctt_call *c)
{
    return (c->w[0].late && !c->w[0].t.data) ||
           (c->pair.node && c->pair.w[0].late && !c->pair.w[0].t.data)
               ? CTT_CONV_LACKS : 0;
}

/* The groups of channels that a conv convolves each alone; 1 for a deconv. */
static inline int64_t ctt_call_groups(const struct ctt_call *c)
{
    return c->in[0].c / c->w[0].t.c;
}

/* The call of its pair alone, which writes the conv's result. */
static inline struct ctt_call ctt_call_pair(const struct ctt_call *c)
{
    struct ctt_call p;

    memset(&p, 0, sizeof(p));
    p.node = c->pair.node;
    p.in[0] = c->pair.in;
    p.out = c->out;
    p.w[0] = c->pair.w[0];
    p.w[1] = c->pair.w[1];
    p.mul = c->pair.mul;
    p.stamp = c->stamp;
    p.once = c->once;
    p.cache = c->pair.cache;
    return p;
}

/* 1 if the call is a conv of quantised values, or its pair is: products and
 * sums of whole numbers. */
static inline int ctt_call_is_int8(const struct ctt_call *c)
{
    return c->node->op == CTT_OP_CONV &&
           (c->in[0].scale > 0 || (c->pair.node && c->pair.in.scale > 0));
}

enum ctt_pass { CTT_FWD, CTT_BWD, CTT_PASSES };

/* The bytes sent to the parts above and below (part - 1 and part + 1) and
 * received from them; 0 bytes: none.  Both have made room for a multiple of 64
 * bytes. */
struct ctt_swap {
    const void *to[2];
    void       *from[2];
    int64_t     sends[2], takes[2];
};

/* The processes that share a graph whose text was rewritten for them
 * (net/rewrite/split.h): this one has part `part` of `parts`.  Ops that pass
 * values (halo, collect, total) call it, all parts in the same order: tell and
 * trade are an all-gather and an all-to-all, in bytes.  An error ends the call.
 * */
struct ctt_group {
    int   part, parts;
    void *arg;
    int (*tell)(void *arg, const void *mine, int64_t n, void *all);
    int (*trade)(void *arg, const void *from, void *to, int64_t each);
    int (*swap)(void *arg, const struct ctt_swap *s);
};

/* The most parts whose sums a device keeps apart, so that their order is
 * fixed. */
enum { CTT_SUM_PARTS = 256 };

struct ctt_dev;
typedef int ctt_kernel(struct ctt_dev *d, const struct ctt_call *c);

/* The names of the devices, best first, NULL-terminated: "cpu" (oneDNN and our
 * own kernels), "cuda" (a GPU) and "ref" (plain C). */
extern const char *const ctt_dev_names[];

/* Capabilities of a device, known before it is opened.  OWN_MEMORY: memory of
 * its own, which the program cannot read or write and which has a size.  PEERS:
 * the devices of several processes can exchange bytes without the host
 * (device/peers.h).  THREADS: the process's threads compute.  HALF: inference
 * may multiply 16 bits (fp16, bf16).  TF32: and TF32, too. */
enum ctt_dev_capability { CTT_DEV_OWN_MEMORY = 1, CTT_DEV_PEERS = 2,
                          CTT_DEV_THREADS = 4, CTT_DEV_HALF = 8,
                          CTT_DEV_TF32 = 16 };

/* 1 if the device of that name has the capability; 0 also for NULL and for a
 * name that is no device's. */
int  ctt_dev_has(const char *name, enum ctt_dev_capability what);

/* The help text of the option --device of every program. */
extern const char ctt_dev_help[];

/* name: one of them; threads: 0 for all processors. */
int  ctt_dev_open(const char *name, int threads, struct ctt_dev **out);
void ctt_dev_close(struct ctt_dev **d);

/* Writes the processor, its instruction sets and the providers of "cpu", in
 * words. */
void ctt_dev_machine(char *text, size_t size);
int  ctt_dev_threads(const struct ctt_dev *d);

/* Replaces OpenMP's threads by the device's own, which take part in a loop as
 * soon as they run and are not waited for (device/team.h); as few as the system
 * starts.  For inference. */
int  ctt_dev_own_threads(struct ctt_dev *d);

/* use: from now on at most `threads` of the device's own threads share loops.
 * used: the number of threads that do. */
void ctt_dev_use(struct ctt_dev *d, int threads);
int  ctt_dev_used(const struct ctt_dev *d);

/* On: results have the same bits for any number of threads.  oneDNN computes
 * each conv in shares that follow from its shape alone, each by one thread, and
 * cuDNN uses only engines that are deterministic; a provider that promises
 * nothing (any_threads of device/provider.h) computes nothing, and none is
 * chosen by timing.  Off: the choice of kernels is still a fixed rule, but the
 * order of oneDNN's sums depends on the number of threads, and repeated calls
 * of cuDNN may differ in their last bits. */
void ctt_dev_deterministic(struct ctt_dev *d, int on);

/* On: "cuda" may round what convs of floats multiply to TF32, the 10 bits of
 * its tensor cores; sums stay floats. */
void ctt_dev_tf32(struct ctt_dev *d, int on);

/* The results of timing convs of "cpu" (device/tune.h).  open: path is the file
 * of results, written when there are new ones; NULL: the file of this machine
 * in the user's folder of caches ($XDG_CACHE_HOME/convtt or ~/.cache/convtt);
 * "": none.  A file that cannot be read or written is no error: results then
 * last until close.  CTT_EUNSUP for other devices. Several open devices may
 * share it; close it after them.  dev_tune: from now on forward calls go to the
 * providers that it names. */
struct ctt_tune;
int  ctt_tune_open(const char *device, const char *path,
                   struct ctt_tune **out);
void ctt_tune_close(struct ctt_tune **t);
void ctt_dev_tune(struct ctt_dev *d, struct ctt_tune *t);

/* The use of the results by forward calls.  USE, the first: known calls go to
 * the fastest provider, others by rule.  LOOK: nothing is computed.  MEASURE:
 * unknown calls are timed.  Returns the number of unknown calls in the mode
 * before. */
enum ctt_tuning { CTT_TUNE_USE, CTT_TUNE_LOOK, CTT_TUNE_MEASURE };
int  ctt_dev_tuning(struct ctt_dev *d, enum ctt_tuning mode);

/* begin: waits until no other device measures; 0: the device has no table.
 * end: also writes the file. */
int  ctt_dev_tune_begin(struct ctt_dev *d);
void ctt_dev_tune_end(struct ctt_dev *d);

/* The most convs that a chain may have before the conv `next`, this one among
 * them, whose result, of type `between`, `next` alone reads; behind: how many
 * the chain has behind `next`; 0: the device computes the two no faster so. */
int  ctt_dev_links(const struct ctt_dev *d, const struct ctt_node *n,
                   const struct ctt_node *next, enum ctt_dtype between,
                   int behind);

/* In training, whether the device prefers: JOINT: the conv n of the plus input
 * of the conv `next` and that as one conv of a joint input; TRAIN: n, a conv or
 * an add that `next` alone reads, in a chain before it.  between: JOINT: the
 * type of the joint input; TRAIN: that of n's result. */
enum ctt_fusion { CTT_FUSE_JOINT, CTT_FUSE_TRAIN };
int  ctt_dev_fuses(const struct ctt_dev *d, enum ctt_fusion what,
                   const struct ctt_node *n, const struct ctt_node *next,
                   enum ctt_dtype between);

/* From now on values pass between the parts of a group, which must stay as it
 * is; without one, or with one part, halo adds zeros, and collect and total
 * pass their input on.  CTT_EUNSUP: several parts need a device whose memory is
 * the program's. */
int  ctt_dev_join(struct ctt_dev *d, const struct ctt_group *group);

/* From now on batch norms in training have the statistics of the calls of all
 * parts of the group, of which only tell is called, and gradients through them;
 * otherwise as ctt_dev_join(). */
int  ctt_dev_join_norms(struct ctt_dev *d, const struct ctt_group *group);

/* x[n], in the program's memory, becomes the sum of that of all parts, in their
 * order: the same bits on each.  room: ctt_dev_total_room(d, n) floats. */
int     ctt_dev_total(struct ctt_dev *d, float *x, int64_t n, float *room);
int64_t ctt_dev_total_room(const struct ctt_dev *d, int64_t n);

/* "cuda": the most independent nodes that may run at the same time. */
void ctt_dev_streams(struct ctt_dev *d, int streams);

int  ctt_dev_run(struct ctt_dev *d, const struct ctt_call *c,
                 enum ctt_pass pass);
void ctt_dev_forget(struct ctt_dev *d, void **cache);

/* Hooks in ctt_dev_run.  blame: while on, each forward result (backward: each
 * gradient written) is searched for NaN and Inf, and ctt_dev_run() fails with
 * CTT_ENAN and a message that names the node.  profile: seconds and calls by
 * node index and pass are summed; NULL turns it off. */
struct ctt_profile { double seconds; int64_t calls; };
void ctt_dev_blame(struct ctt_dev *d, int on);
void ctt_dev_profile(struct ctt_dev *d, const struct ctt_graph *g,
                     struct ctt_profile (*sum)[CTT_PASSES]);

/* Called after each kernel of every device, whose work is then waited for, with
 * its times (ctt_seconds()); NULL: nobody.  Set it while no device computes. */
typedef void ctt_call_watch(struct ctt_dev *d, const struct ctt_call *c,
                            enum ctt_pass pass, double start, double end);
void ctt_dev_watch(ctt_call_watch *f);

/* on: from now on each forward call that is watched begins where the one before
 * ended, which spares a reading of the clock; 0: no longer. */
void ctt_dev_in_a_row(struct ctt_dev *d, int on);

/* 1 if the kernels of the node read weight k in this form, other than plain
 * floats, so that it need not be decoded (net/weight.h). */
int  ctt_dev_takes(const struct ctt_dev *d, const struct ctt_node *n, int k,
                   const struct ctt_weight *w);

/* 1 if the device has kernels of convs that multiply this type of 16 bits,
 * CTT_BY_TILES if these are many times as fast as those of floats. */
enum { CTT_BY_TILES = 2 };
int  ctt_dev_multiplies(const struct ctt_dev *d, enum ctt_dtype type);

/* impl: the code that computed a conv's last call of this pass with this cache,
 * as provider:code ("onednn:brgconv:avx512_core"); backward: one for the
 * input's gradient and one for the weights'; "plain" where there is no choice.
 * why: the reason ("not winograd: the stride is not 1"), or "".  For --plan and
 * tests; valid until the next query. */
const char *ctt_dev_impl(const struct ctt_dev *d, void *cache,
                         enum ctt_pass pass);
const char *ctt_dev_why(const struct ctt_dev *d, void *cache,
                        enum ctt_pass pass);

/* Sgemm rate of this device in GFLOP/s, 1024^3, best of a few: the benchmarks
 * state their rates as a share of it. */
double ctt_dev_sgemm_rate(struct ctt_dev *d);

/* GB/s, read and written, of a copy from one half of `bytes` bytes of the
 * device's memory to the other by all threads, best of a few; 0: no memory. */
double ctt_dev_copy_rate(struct ctt_dev *d, int64_t bytes);

#endif
