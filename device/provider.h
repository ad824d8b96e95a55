/* SPDX-License-Identifier: Apache-2.0
 * provider.h: a provider is one way to compute a conv or deconv.  A device has
 * a table of them, best first; each part of a call goes to the first row that
 * can compute it and for which it pays.  (After FFTW's table of solvers: Frigo
 * and Johnson 2005.)
 *
 * The rows of "cpu" are in device/cpu/conv/providers.c, those of "cuda" in
 * device/cuda/conv.c.  A new provider is a file and a row there. */
#ifndef CTT_PROVIDER_H
#define CTT_PROVIDER_H

#include "device/dev.h"

/* The parts of a call, each with its own choice of provider: the result of a
 * forward call; the gradient of the input in[0]; the gradient of the weights
 * w[0].  They come in this order, each computed before the next is chosen.  The
 * gradients of the bias and of the plus input are simple sums and copies of
 * dout, which the device does itself. */
enum ctt_conv_part {
    CTT_CONV_OUT, CTT_CONV_DIN, CTT_CONV_DW, CTT_CONV_PARTS
};

/* One part of a call, as given to a provider. */
struct ctt_conv_ask {
    struct ctt_dev        *dev;
    const struct ctt_call *call;
    enum ctt_conv_part     part;
    void                  *state;    /* made by the provider's open */
    void                 **own;      /* the provider's place in the call's
                                        cache, starts NULL; NULL: no cache */
    /* Set by the provider. */
    const char *why;     /* can, pays: the reason in a few words for --plan,
                            or NULL; a constant */
    const char *code;    /* run: the kernel used ("avx512"), or NULL; valid
                            until the provider is asked again */
    int         bias;    /* run, CTT_CONV_DW: 1: the gradient of the bias is
                            computed too */
};

enum { CTT_CONV_MOST = 13 };
enum { CTT_APART_ALONG = 1, CTT_APART_CHAIN = 2 };    /* pair and lstm; chain */

/* Timing of the calls with a cache that have n samples; n 0: of none.  row: the
 * fastest, -1: not known; rule: the row by rule; out: bits of rows given up;
 * runs: timings of each row, -1: the row cannot; ms: the least time of each row
 * in milliseconds, 0: none; sum: of all its times. */
struct ctt_tuned {
    int64_t n;
    int     row, rule, out;
    int     runs[CTT_CONV_MOST];
    float   ms[CTT_CONV_MOST], sum[CTT_CONV_MOST];
};
enum { CTT_TUNED = 8 };

/* Functions of tune_call.c; the module "cuda" has none.  look: the timing of a
 * call, one of memo[CTT_TUNED]; NULL: such calls are not tuned.  measure:
 * runs the call by the row whose turn it is and returns that row; own: the
 * places of the rows in the call's cache. */
struct ctt_conv_set;
struct ctt_tuner {
    int             (*lacks)(const struct ctt_conv_ask *q,
                             const struct ctt_tuned *memo);
    struct ctt_tuned *(*look)(const struct ctt_conv_set *s,
                              const struct ctt_conv_ask *q,
                              struct ctt_tuned *memo);
    int               (*measure)(const struct ctt_conv_set *s, void **own,
                                 struct ctt_conv_ask *q, int rule,
                                 struct ctt_tuned *t);
};

/* A way to compute convs.  open, close, pays, forget, sgemm may be NULL. */
struct ctt_conv_provider {
    const char *name;
    int  along;         /* 1: computes pair and lstm in the same kernel */
    int  chains;        /* 1: computes a conv with the chain before it */
    unsigned apart;     /* CTT_APART_...: ops that are faster as calls of their
                           own than fused into a conv by another provider */
    int  int8;          /* 1: takes calls of quantised values
                           (ctt_call_is_int8()).  "cpu" multiplies whole
                           numbers, "cuda" where they are bytes, otherwise
                           the floats that they stand for */
    int  reads;         /* 1: reads the weights in each call, packs none */
    int  any_threads;   /* 1: after ctt_dev_deterministic() no bit of a result
                           depends on the number of threads */
    /* For the device; state: the provider's own. */
    int  (*open)(struct ctt_dev *d, void **state);
    void (*close)(void *state);
    /* 1: the provider can compute the part, 0: it cannot, negative: an error.
     * May prepare the run. */
    int  (*can)(struct ctt_conv_ask *q);
    /* 1: the provider is faster for the part than the rows below, by a rule
     * drawn from measurements; NULL: always. */
    int  (*pays)(struct ctt_conv_ask *q);
    /* Computes the part, right after can (and pays) said 1. */
    int  (*run)(struct ctt_conv_ask *q);
    /* Frees the provider's part of a call's cache.  A provider with this
     * function is not asked for calls without a cache. */
    void (*forget)(void *own);
    /* y = a b, n x n matrices in the device's memory. */
    int  (*sgemm)(struct ctt_dev *d, void *state, int n, const float *a,
                  const float *b, float *y);
};

/* The open providers of a device.  rest: the backward kernel for gradients that
 * no provider computed: adds to dw[1] and writes din[1]. */
struct ctt_conv_set {
    struct {
        const struct ctt_conv_provider *by;
        void                           *state;
    } row[CTT_CONV_MOST];
    int          count;
    ctt_kernel  *rest;
};

/* table: NULL-terminated, best first; the last one can do everything.  An error
 * leaves the set for ctt_conv_close(). */
int  ctt_conv_open(struct ctt_conv_set *s, struct ctt_dev *d,
                   const struct ctt_conv_provider *const *table,
                   ctt_kernel *rest);
void ctt_conv_close(struct ctt_conv_set *s);

/* The kernels of conv and deconv: each part by the first row that will do. */
int  ctt_conv_fwd(struct ctt_conv_set *s, struct ctt_dev *d,
                  const struct ctt_call *c);
int  ctt_conv_bwd(struct ctt_conv_set *s, struct ctt_dev *d,
                  const struct ctt_call *c);

/* 1 if one kernel will compute the call with its pair and lstm, or with its
 * chain, or an error. */
int  ctt_conv_along(struct ctt_conv_set *s, struct ctt_dev *d,
                    const struct ctt_call *c);

/* 1 if a row accepts the part, which is then ready to run, 0, or an error.
 * own: the places in the call's cache, or NULL; by_rule: only if it also
 * pays. */
int  ctt_conv_takes(const struct ctt_conv_set *s, int row, void **own,
                    struct ctt_conv_ask *q, int by_rule);

/* 1 if a row computes a part of a call as it is, by its own types, 0, or an
 * error. */
int  ctt_conv_can(struct ctt_conv_set *s, struct ctt_dev *d,
                  const struct ctt_call *c, enum ctt_conv_part part);

/* For a provider: *q->own, allocated (size bytes, cleared) if it is not there
 * yet; NULL, with a message: out of memory. */
void *ctt_conv_own(const struct ctt_conv_ask *q, size_t size);

/* Frees a call's cache. */
void ctt_conv_forget(void *cache);

/* impl: the providers that computed the parts of the last call of that pass, as
 * "NAME:CODE+pair+lstm+chain" ("onednn:brgconv:avx512_core"), separated by
 * spaces.  why: "not NAME: reason" for each row before it, then its own
 * reason, separated by "; ".  Valid until the next query. */
const char *ctt_conv_impl(void *cache, enum ctt_pass pass);
const char *ctt_conv_why(void *cache, enum ctt_pass pass);

int  ctt_conv_sgemm(struct ctt_conv_set *s, struct ctt_dev *d, int n,
                    const float *a, const float *b, float *y);

#endif
