/* SPDX-License-Identifier: Apache-2.0
 * dnn_plan.h: a convolution prepared by cuDNN 9's graph API, through its C
 * backend descriptors.
 *
 * This lists every part of that API that we use, so that the simulation
 * (tests/sim) need provide no more.  Names are without CUDNN_BACKEND_ and
 * CUDNN_ATTR_; counts are 1 unless given; desc is
 * CUDNN_TYPE_BACKEND_DESCRIPTOR.
 *
 * TENSOR: UNIQUE_ID (int64: enum ctt_dnn_uid), DATA_TYPE (FLOAT, HALF,
 * BFLOAT16, INT8 or INT32), DIMENSIONS and STRIDES (int64, 4 or 5 of them: n,
 * c, [d,] h, w; channels last; the kernel is oc, ic of a group, [kd,] kh, kw
 * with the steps of struct ctt_fold), BYTE_ALIGNMENT (int64, 16), IS_VIRTUAL
 * (boolean).
 *
 * CONVOLUTION: SPATIAL_DIMS (int64), COMP_TYPE (FLOAT; INT32 of INT8),
 * CONV_MODE (CROSS_CORRELATION), DILATIONS (1), FILTER_STRIDES, PRE_PADDINGS
 * and POST_PADDINGS, which are equal (int64, 2 or 3).
 *
 * OPERATION_CONVOLUTION_FORWARD (CONV_DESC, X, W, Y, ALPHA, BETA),
 * _BACKWARD_DATA (BWD_DATA_: CONV_DESC, W, DX, DY, ALPHA, BETA) and
 * _BACKWARD_FILTER (BWD_FILTER_: CONV_DESC, DW, X, DY, ALPHA, BETA); ALPHA is
 * 1, BETA 0, or 1 to add to DW, doubles.
 *
 * POINTWISE: MODE (ADD, RELU_FWD, SIGMOID_FWD, TANH_FWD), MATH_PREC (FLOAT).
 * OPERATION_POINTWISE: PW_DESCRIPTOR, XDESC, YDESC and, for ADD, BDESC, which
 * for the bias has size 1 on every axis but the channels'.
 *
 * OPERATIONGRAPH: HANDLE (if there is one), OPS (desc, 1 to 4): either backward
 * filter; or forward or backward data and then, in this order, each optional,
 * ADD of PLUS, ADD of BIAS, an activation.  Tensors between two of them are
 * virtual and FLOAT.  BIAS is FLOAT, all others have the type of the key.
 *
 * ENGINEHEUR: OPERATION_GRAPH, MODE (A, FALLBACK), DEVICEPROP (desc, if there
 * is no handle); got: RESULTS (desc, up to 64, into ENGINECFGs made before).
 * ENGINECFG got: ENGINE.  ENGINE got: GLOBAL_INDEX (int64), NUMERICAL_NOTE (up
 * to 10).  EXECUTION_PLAN: ENGINE_CONFIG, and HANDLE or DEVICEPROP; got:
 * WORKSPACE_SIZE (int64), JSON_REPRESENTATION (char; set in place of
 * ENGINE_CONFIG, it restores the plan).  VARIANT_PACK: UNIQUE_IDS (int64, 3 to
 * 5) and DATA_POINTERS (void *, as many), WORKSPACE (void *).  Besides:
 * cudnnBackendCreateDescriptor, SetAttribute, GetAttribute, Finalize,
 * DestroyDescriptor, Execute; cudnnGetErrorString, cudnnGetLastErrorString.  If
 * no engine can compute it, Finalize of the graph, the heuristics or the plan
 * fails with a status of the 3000s. */
#ifndef CTT_DNN_PLAN_H
#define CTT_DNN_PLAN_H

#include "device/fold.h"

#include <cudnn.h>

/* The tensors of a graph: the two images, the kernel or its gradient, plus and
 * bias.  A forward pass writes SMALL, backward data LARGE.  Ids from VIRTUAL on
 * are intermediate results without memory. */
enum ctt_dnn_uid {
    CTT_DNN_LARGE = 1, CTT_DNN_SMALL, CTT_DNN_KERNEL, CTT_DNN_PLUS,
    CTT_DNN_BIAS, CTT_DNN_UIDS, CTT_DNN_VIRTUAL = 100
};

/* The GPU that plans are made for: an open one, or the properties of one.
 * capability: its compute capability, 90 for 9.0. */
struct ctt_dnn_site {
    cudnnHandle_t            handle;
    cudnnBackendDescriptor_t prop;      /* used if handle is NULL */
    int                      capability;
};

/* Key of a plan. f: the computed part (f.way) and the layout of the kernel;
 * type: of the images and the kernel.  plus, bias, act (ctt_act_kind + 1):
 * fused with the convolution; not with CTT_TO_WEIGHTS, which may have add: to
 * the old result.  deterministic: only engines with a fixed order of sums.
 * tf32: floats may be rounded to TF32.
 * type CTT_I8: whole numbers are summed, with CTT_TO_SMALL and nothing fused,
 * and the result has the type `sums`: CTT_I32, or CTT_F32, in which each sum
 * must fit.  Kept plans are found by its bytes: `add`, 0 for what is older than
 * it, lies where there was padding. */
struct ctt_dnn_key {
    struct ctt_fold f;
    enum ctt_dtype  type, sums;
    int             plus, bias, act, deterministic, tf32, add;
};

/* The key of a call's convolution without plus, bias and act, which the caller
 * may set. */
struct ctt_dnn_key ctt_dnn_key(const struct ctt_call *c, enum ctt_conv_way way,
                               enum ctt_dtype type);

/* A plan; exec NULL: no engine computes it, or none as fast as the plain
 * convolution with a kernel for the rest.  generation: the GPUs that its
 * kernels are written for, 80 or 90; 0: not known, older or any.  in_place: of
 * plus, 1: the result may lie over it, as was tried; 0: it must not; -1: that
 * could not be tried. */
struct ctt_dnn_plan {
    struct ctt_dnn_plan     *next;            /* list of dnn.c */
    int                      users;           /* calls that keep it */
    struct ctt_dnn_key       key;
    cudnnBackendDescriptor_t exec, config;
    int64_t                  room;            /* bytes of workspace */
    int                      engine, generation, in_place;
    char                     impl[32];        /* "eng45", "eng2:sm90" */
};

/* Most plans that are timed for one key. */
enum { CTT_DNN_OFFERS = 6 };

/* Plans of the key, at most `most` of them, in the order of cuDNN's heuristics,
 * from engines that compute in fp32 (no TF32 unless asked for, no sums in 16
 * bits), at most two of an engine.  The first is chosen by rule: on a GPU of
 * capability 9.x one with kernels for 9.0, if there is any.  Fused graphs also
 * get what the fallback mode has for tensor cores.  None is no error. */
cudnnStatus_t ctt_dnn_offers(const struct ctt_dnn_site *site,
                             const struct ctt_dnn_key *key, int most,
                             struct ctt_dnn_plan *out[], int *count);

/* The one that is chosen by rule; without exec if there is none. */
cudnnStatus_t ctt_dnn_plan_new(const struct ctt_dnn_site *site,
                               const struct ctt_dnn_key *key,
                               struct ctt_dnn_plan **out);
void          ctt_dnn_plan_free(struct ctt_dnn_plan **p);

/* The text from which cuDNN restores the plan, which the caller frees with
 * ctt_free(). */
cudnnStatus_t ctt_dnn_plan_text(const struct ctt_dnn_plan *p, char **text,
                                int64_t *bytes);

/* A plan from that text; it computes what the text says, whatever key is. */
cudnnStatus_t ctt_dnn_plan_restore(const struct ctt_dnn_site *site,
                                   const struct ctt_dnn_key *key,
                                   const char *text, int64_t bytes,
                                   struct ctt_dnn_plan **out);

/* The first failure of this process to compile a plan, or to find what cuDNN
 * compiles with, in cuDNN's words: each call after the first gets NULL. */
const char   *ctt_dnn_compile_failure(void);

/* Runs p on the handle's stream.  data: by uid, 16-byte aligned; PLUS may be
 * the result if p->in_place is 1: cuDNN does not promise it. */
cudnnStatus_t ctt_dnn_plan_run(cudnnHandle_t handle,
                               const struct ctt_dnn_plan *p,
                               void *const data[CTT_DNN_UIDS],
                               void *workspace);

/* 1 if a graph can have this activation: ctt_act_kind + 1, or 0 for none. */
int ctt_dnn_takes_act(int act);

#endif
