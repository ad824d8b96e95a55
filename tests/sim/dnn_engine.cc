/* SPDX-License-Identifier: Apache-2.0
 * dnn_engine.cc: simulated cuDNN: the engines that its heuristics return, among
 * them some that the program must not use: one that rounds its inputs, one that
 * cannot be built, one whose sums have no fixed order, and, unless TF32 is
 * allowed, one that multiplies in it. */
#include "tests/sim/dnn.h"

#include <cstdlib>
#include <string>

using desc = ctt_sim_desc;

#define FAIL(status, ...)                                               \
    return ctt_sim_dnn_error(CUDNN_STATUS_##status, __VA_ARGS__)

static std::string what;
static bool known;

void ctt_sim_dnn(const char *w)
{
    ctt_sim_entry entry(false);

    what = w ? w : "";
    known = true;
}

/* Whether CTT_SIM_DNN or ctt_sim_dnn() says this. */
bool ctt_sim_engines_are(const char *word)
{
    const char *e = known ? what.c_str() : getenv("CTT_SIM_DNN");

    return e && strstr(e, word);
}

/* The graphs that cuDNN fuses: see device/cuda/dnn_plan.h. */
static bool fusable(const std::vector<ctt_sim_dnn_op> &ops)
{
    int last = 0, stage;

    for (size_t i = 1; i < ops.size(); i++) {
        const ctt_sim_dnn_op &op = ops[i];
        if (op.way != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
            op.x.uid != ops[i - 1].result().uid || !op.x.is_virtual)
            return false;
        stage = op.mode != CUDNN_POINTWISE_ADD ? 3
                : op.b.dim[2] * op.b.dim[3] * op.b.dim[4] == 1 &&
                  op.b.dim[0] == 1 && op.b.type == CUDNN_DATA_FLOAT ? 2 : 1;
        if (stage <= last)
            return false;
        last = stage;
    }
    return ops.size() == 1 ||
           ops[0].way !=
               CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

/* Images must be channels last. */
static bool channels_last(const ctt_sim_tensor &t)
{
    return t.dim[1] == 1 || t.step[1] == 1;
}

static bool is_supported(const std::vector<ctt_sim_dnn_op> &ops)
{
    const ctt_sim_dnn_op &first = ops[0];

    if (ctt_sim_engines_are("none") || !fusable(ops) ||
        (ctt_sim_engines_are("plain") && ops.size() > 1))
        return false;
    if (first.way == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        return ops.size() == 1;
    if (first.way ==
            CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR &&
        first.w.type != first.x.type)
        return false;
    return channels_last(first.x) && channels_last(first.y);
}

cudnnStatus_t ctt_sim_dnn_choose(desc &heur)
{
    const desc &g = heur.desc(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    int mode = heur.get<int>(CUDNN_ATTR_ENGINEHEUR_MODE);

    if (g.type != CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        FAIL(BAD_PARAM_DESCRIPTOR_TYPE, "heuristics of no graph");
    if (!g.has(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) &&
        !heur.has(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP))
        FAIL(BAD_PARAM, "heuristics for no device");
    bool hopper = ctt_sim_capability() / 10 == 9;
    heur.ops = g.ops;
    if (!is_supported(g.ops))
        return CUDNN_STATUS_SUCCESS;    /* with no results */
    if (mode == CUDNN_HEUR_MODE_FALLBACK)
        heur.engines = { CTT_SIM_FALLBACK };
    if (mode == CUDNN_HEUR_MODE_FALLBACK && hopper && g.ops.size() > 1)
        heur.engines = { CTT_SIM_HOPPER };
    if (mode != CUDNN_HEUR_MODE_FALLBACK && !ctt_sim_engines_are("fallback"))
        heur.engines = { CTT_SIM_ROUNDS, CTT_SIM_FAILS, CTT_SIM_ANY_ORDER,
                         CTT_SIM_GOOD };
    if (!heur.engines.empty() && g.ops[0].x.type == CUDNN_DATA_FLOAT)
        heur.engines.insert(heur.engines.begin(), CTT_SIM_TF32);
    if (mode != CUDNN_HEUR_MODE_FALLBACK && hopper && g.ops.size() == 1)
        heur.engines.push_back(CTT_SIM_HOPPER);
    return CUDNN_STATUS_SUCCESS;
}

std::vector<cudnnBackendNumericalNote_t>
ctt_sim_dnn_notes(const desc &engine)
{
    std::vector<cudnnBackendNumericalNote_t> notes;
    bool narrow = engine.ops[0].x.type != CUDNN_DATA_FLOAT;

    if (engine.engine == CTT_SIM_ROUNDS)
        notes.push_back(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
    if (engine.engine == CTT_SIM_ANY_ORDER)
        notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
    if (narrow || engine.engine == CTT_SIM_ROUNDS ||
        engine.engine == CTT_SIM_TF32)
        notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
    return notes;
}

static const int64_t workspace[CTT_SIM_ENGINES] = { 64, 64, 5000, 0, 256,
                                                     128, 32 };

/* Each fused plan that is built is compiled. */
static cudnnStatus_t compile()
{
    static long compiled;
    const char *most = getenv("CTT_SIM_FUSED");

    if (most && ++compiled > atol(most))
        ctt_sim_die("more than %s fused plans", most);
    if (ctt_sim_engines_are("uncompiled"))
        FAIL(INTERNAL_ERROR_COMPILATION_FAILED, "a simulated compiler");
    return CUDNN_STATUS_SUCCESS;
}

/* The operations as hexadecimal digits, after what our reader looks for. */
std::vector<char> ctt_sim_dnn_text(const desc &plan)
{
    static const char *const say[] = {
        "", "TILE_CGA_M", "\"kernelName\":\"conv_sm80_0\"",
        "\"kernelName\":\"conv_sm90_0\""
    };
    bool hopper = plan.engine == CTT_SIM_HOPPER, fused = plan.ops.size() > 1;
    std::string s = "{\"engine\":{\"engineId\":" +
        std::to_string(plan.engine) + ",\"of\":\"" +
        say[2 * fused + hopper] + "\"},\"ops\":\"";
    const char *p = (const char *)plan.ops.data();

    for (size_t i = 0; i < plan.ops.size() * sizeof(plan.ops[0]); i++) {
        char two[3];
        snprintf(two, sizeof(two), "%02x", (unsigned char)p[i]);
        s += two;
    }
    s += "\"}";
    return std::vector<char>(s.begin(), s.end());
}

cudnnStatus_t ctt_sim_dnn_restore(desc &plan)
{
    const std::vector<char> &v =
        plan.attr.at(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION).bytes;
    std::string s(v.begin(), v.end());
    size_t at = s.find("\"ops\":\""), end = s.rfind('"'), from = at + 7;
    size_t id = s.find("\"engineId\":");

    if (at == std::string::npos || end < from || s.back() != '}' ||
        id == std::string::npos ||
        (end - from) % (2 * sizeof(ctt_sim_dnn_op)))
        FAIL(BAD_PARAM, "a plan's text");
    plan.ops.resize((end - from) / 2 / sizeof(ctt_sim_dnn_op));
    for (size_t i = 0; i < (end - from) / 2; i++)
        ((char *)plan.ops.data())[i] =
            (char)strtol(s.substr(from + 2 * i, 2).c_str(), NULL, 16);
    plan.engine = atoi(s.c_str() + id + 11);
    if (plan.engine < 0 || plan.engine >= CTT_SIM_ENGINES)
        FAIL(BAD_PARAM, "engine %d", plan.engine);
    plan.workspace = workspace[plan.engine];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t ctt_sim_dnn_build(desc &plan)
{
    if (plan.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION))
        return ctt_sim_dnn_restore(plan);
    if (!plan.has(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))
        FAIL(BAD_PARAM, "a plan of no configuration");
    const desc &config = plan.desc(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);

    if (config.type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
        FAIL(BAD_PARAM_DESCRIPTOR_TYPE, "a plan of no configuration");
    if (!plan.has(CUDNN_ATTR_EXECUTION_PLAN_HANDLE) &&
        !plan.has(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP))
        FAIL(BAD_PARAM, "a plan for no device");
    if (config.engine == CTT_SIM_FAILS)
        FAIL(NOT_SUPPORTED, "engine %d", config.engine);
    if (config.ops.size() > 1) {
        cudnnStatus_t s = compile();
        if (s)
            return s;
    }
    plan.ops = config.ops;
    plan.engine = config.engine;
    plan.workspace = workspace[config.engine];
    return CUDNN_STATUS_SUCCESS;
}
