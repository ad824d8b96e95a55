/* SPDX-License-Identifier: Apache-2.0
 * dnn.h: common part of the simulated cuDNN's files: the contents of
 * descriptors, and the operations of a graph. */
#ifndef CTT_SIM_DNN_H
#define CTT_SIM_DNN_H

#include "tests/sim/cudnn.h"
#include "tests/sim/inside.h"

#ifdef __cplusplus

#include <algorithm>
#include <cstring>
#include <map>

/* A descriptor keeps copies: the descriptors it was made from may be destroyed
 * once it is finalized. */
struct ctt_sim_desc;
struct ctt_sim_value {
    int64_t                                    count;
    std::vector<char>                          bytes;
    std::vector<std::shared_ptr<ctt_sim_desc>> descs;
};

/* Channels first, as cuDNN counts: n, c, d, h, w; without depth d is 1. */
struct ctt_sim_tensor {
    int64_t uid, align;
    int     type, axes;
    bool    is_virtual;
    int64_t dim[5], step[5];
};

/* way: the descriptor type of the operation.  Convolutions: x and y are the
 * large and the small image, and one of the three is the result; the kernel has
 * the input channels of one group.  Pointwise: y
 * = mode(x, b). */
struct ctt_sim_dnn_op {
    int            way, mode;
    ctt_sim_tensor x, w, y, b;
    int64_t        stride[3], pad[3], dilation[3];
    double         alpha, beta;
    bool           has_b;

    const ctt_sim_tensor &result() const;
    int64_t groups() const { return x.dim[1] / w.dim[1]; }
};

/* Bytes of a number. */
static inline int64_t ctt_sim_dnn_size(int type)
{
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_INT32 ? 4
           : type == CUDNN_DATA_INT8 ? 1 : 2;
}

enum ctt_sim_engine {
    CTT_SIM_ROUNDS, CTT_SIM_FAILS, CTT_SIM_ANY_ORDER, CTT_SIM_GOOD,
    CTT_SIM_FALLBACK, CTT_SIM_HOPPER, CTT_SIM_TF32, CTT_SIM_ENGINES
};

struct ctt_sim_desc {
    int                          type;
    bool                         done = false;
    std::map<int, ctt_sim_value> attr;
    std::vector<ctt_sim_dnn_op>  ops;       /* of a graph or its plan */
    std::vector<int>             engines;   /* found by heuristics */
    int                          engine = -1;
    int64_t                      workspace = 0;

    bool has(int name) const { return attr.count(name) != 0; }
    const ctt_sim_desc &desc(int name) const
    {
        return *attr.at(name).descs.at(0);
    }
    template <class T> T get(int name, size_t i = 0) const
    {
        T x;
        memcpy(&x, attr.at(name).bytes.data() + i * sizeof(T), sizeof(T));
        return x;
    }
};

/* Remembers a line for cudnnGetLastErrorString(), and returns s. */
cudnnStatus_t ctt_sim_dnn_error(cudnnStatus_t s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* dnn_graph.cc: checks a descriptor when it is finalized. */
cudnnStatus_t ctt_sim_dnn_check(ctt_sim_desc &d);

/* dnn_engine.cc: the engines that can compute a graph. */
cudnnStatus_t ctt_sim_dnn_choose(ctt_sim_desc &heur);
cudnnStatus_t ctt_sim_dnn_build(ctt_sim_desc &plan);
cudnnStatus_t ctt_sim_dnn_restore(ctt_sim_desc &plan);
bool ctt_sim_engines_are(const char *word);
std::vector<char> ctt_sim_dnn_text(const ctt_sim_desc &plan);
std::vector<cudnnBackendNumericalNote_t>
ctt_sim_dnn_notes(const ctt_sim_desc &engine);

/* dnn_run.cc: runs a plan; pointers by unique id.  tf32: what is convolved is
 * rounded to it. */
void ctt_sim_dnn_run(const std::vector<ctt_sim_dnn_op> &ops,
                     const std::map<int64_t, void *> &data, bool tf32);

/* tally.cc: counts a plan. */
void ctt_sim_tally_dnn(const std::vector<ctt_sim_dnn_op> &ops);

#endif

#endif
