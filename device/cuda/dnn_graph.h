/* SPDX-License-Identifier: Apache-2.0
 * dnn_graph.h: the descriptors that a plan is made from; for dnn_plan.c. */
#ifndef CTT_DNN_GRAPH_H
#define CTT_DNN_GRAPH_H

#include "device/cuda/dnn_plan.h"

/* Heuristics give some dozens of configurations. */
enum { CTT_DNN_CONFIGS = 64, CTT_DNN_MADE = 3 * CTT_DNN_CONFIGS };

/* What is needed only while a plan is made; made: what is to be destroyed. */
struct ctt_dnn_making {
    const struct ctt_dnn_site *site;
    const struct ctt_dnn_key  *key;
    cudnnBackendDescriptor_t   made[CTT_DNN_MADE];
    int                        count;
};

/* An attribute to set; one of which there are 0 is left out. */
struct ctt_dnn_attr {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t                     count;
    const void                 *value;
};

#define CTT_DNN_END         { .count = -1 }    /* of a list of them */
#define CTT_DNN_INTS(n, p)  CUDNN_TYPE_INT64, n, p
#define CTT_DNN_DESCS(n, p) CUDNN_TYPE_BACKEND_DESCRIPTOR, n, p

#define CTT_DNN_TRY(expr)                                               \
    do {                                                                \
        cudnnStatus_t e_ = (expr);                                      \
        if (e_ != CUDNN_STATUS_SUCCESS)                                 \
            return e_;                                                  \
    } while (0)

/* A descriptor, which ctt_dnn_destroy() destroys; and one that is set and
 * finalized too. */
cudnnStatus_t ctt_dnn_create(struct ctt_dnn_making *m,
                             cudnnBackendDescriptorType_t type,
                             cudnnBackendDescriptor_t *out);
cudnnStatus_t ctt_dnn_describe(struct ctt_dnn_making *m,
                               cudnnBackendDescriptorType_t type,
                               const struct ctt_dnn_attr *a,
                               cudnnBackendDescriptor_t *out);

/* All but the first `keep` descriptors. */
void          ctt_dnn_destroy(struct ctt_dnn_making *m, int keep);

/* What the key says, as an operation graph. */
cudnnStatus_t ctt_dnn_graph(struct ctt_dnn_making *m,
                            cudnnBackendDescriptor_t *out);

/* How many operations follow the convolution. */
static inline int ctt_dnn_fused(const struct ctt_dnn_key *k)
{
    return !!k->plus + !!k->bias + !!k->act;
}

#endif
