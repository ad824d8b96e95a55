/* SPDX-License-Identifier: Apache-2.0
 * dnn_graph.h: cuDNN descriptors and operation graphs; for dnn_plan.c. */
#ifndef CTT_DNN_GRAPH_H
#define CTT_DNN_GRAPH_H

#include "device/cuda/dnn_plan.h"

/* Most configurations per heuristic (some dozens are usual); most descriptors
 * of one plan. */
enum { CTT_DNN_CONFIGS = 64, CTT_DNN_MADE = 3 * CTT_DNN_CONFIGS };

/* State while a plan is made; made: the descriptors to destroy. */
struct ctt_dnn_making {
    const struct ctt_dnn_site *site;
    const struct ctt_dnn_key  *key;
    cudnnBackendDescriptor_t   made[CTT_DNN_MADE];
    int                        count;
    int                        cores;    /* only engines on tensor cores */
};

/* An attribute to set; left out if count is 0. */
struct ctt_dnn_attr {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t                     count;
    const void                 *value;
};

#define CTT_DNN_END         { .count = -1 }    /* ends a list */
#define CTT_DNN_INTS(n, p)  CUDNN_TYPE_INT64, n, p
#define CTT_DNN_DESCS(n, p) CUDNN_TYPE_BACKEND_DESCRIPTOR, n, p

#define CTT_DNN_TRY(expr)                                               \
    do {                                                                \
        cudnnStatus_t e_ = (expr);                                      \
        if (e_ != CUDNN_STATUS_SUCCESS)                                 \
            return e_;                                                  \
    } while (0)

/* Creates a descriptor, which ctt_dnn_destroy() destroys; describe also sets
 * its attributes and finalizes it. */
cudnnStatus_t ctt_dnn_create(struct ctt_dnn_making *m,
                             cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *out);
cudnnStatus_t ctt_dnn_describe(struct ctt_dnn_making *m,
                               cudnnBackendDescriptorType_t type,
                               const struct ctt_dnn_attr *a,
                               cudnnBackendDescriptor_t *out);

/* Destroys all but the first `keep` descriptors. */
void          ctt_dnn_destroy(struct ctt_dnn_making *m, int keep);

/* The operation graph of the key. */
cudnnStatus_t ctt_dnn_graph(struct ctt_dnn_making *m,
                            cudnnBackendDescriptor_t *out);

/* Count of operations after the convolution. */
static inline int ctt_dnn_fused(const struct ctt_dnn_key *k)
{
    return !!k->plus + !!k->bias + !!k->act;
}

#endif
