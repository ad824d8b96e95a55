/* SPDX-License-Identifier: Apache-2.0
 * chain.h: one weight as a chain of small convs. */
#ifndef CTT_CHAIN_H
#define CTT_CHAIN_H

#include "compress/compress.h"

/* A weight is a tensor of five modes: input channels, kernel depth, rows,
 * columns, output channels.  Core k has the modes first[k] .. first[k+1] - 1;
 * rank[k] is the size between cores k - 1 and k, and 1 at both ends. */
enum { CTT_MODES = 5 };

struct ctt_chain {
    int     dim[CTT_MODES];
    int     cores;
    int     first[CTT_MAX_CORES + 1], rank[CTT_MAX_CORES + 1];
    float  *w[CTT_MAX_CORES];    /* as conv weights: (out, kd, kh, kw, in) */
    double  error;               /* relative, in the Frobenius norm */
    int64_t params, macs;        /* of all cores; macs as ctt_node_macs */
};

/* The chain for the weight w of a conv or deconv, cut as o->form says, except
 * where a cut saves nothing.  If no chain has fewer multiplications than the
 * weight itself, it has one core without elements, and params and macs are
 * those of the last chain tried.  The caller frees *out. */
int  ctt_chain_new(const struct ctt_graph *g, int node, const float *w,
                   const struct ctt_tt *o, struct ctt_chain **out);
void ctt_chain_free(struct ctt_chain **c);

/* Kernel, stride, padding and channels of core k of the chain for node n. */
struct ctt_chain_conv {
    int     kernel[3], stride[3], pad[3];
    int64_t in, out;
};
struct ctt_chain_conv ctt_chain_core(const struct ctt_chain *c, int k,
                               const struct ctt_node *n);

/* The modes of the cores as text: "in|kh|kw|out". */
void ctt_chain_text(const struct ctt_chain *c, char *text, size_t size);

#endif
