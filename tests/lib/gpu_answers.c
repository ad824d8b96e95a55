/* SPDX-License-Identifier: Apache-2.0
 * gpu_answers.c: models whose sessions on a GPU are tested, and what they
 * answer. */
#include "tests/lib/gpu_answers.h"
#include "net/file/file.h"
#include "net/init.h"
#include "tests/lib/clip.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- models ---- */

/* An encoder and a decoder with a skip, which predicts frames. */
const char gpu_unet[] = "input x h=16 w=16 c=3\n"
    "conv a in=x out=16 kernel=3 pad=1\nact ar in=a kind=relu\n"
    "conv b in=ar out=32 kernel=3 pad=1 stride=2\nact br in=b kind=relu\n"
    "convlstm l in=br hidden=16 kernel=3\n"
    "deconv u in=l out=16 kernel=2 stride=2\n"
    "concat k in=u,ar\n"
    "conv c in=k out=16 kernel=3 pad=1\nact cr in=c kind=relu\n"
    "conv o in=cr out=3\nact y in=o kind=sigmoid\n";

/* Depthwise convs, residuals, a squeeze and excitation. */
const char gpu_mobile[] = "input x h=16 w=16 c=3 mean=0.4 std=0.3\n"
    "conv a in=x out=16 kernel=3 stride=2 pad=1\nact ar in=a kind=relu6\n"
    "conv b in=ar out=48\nact br in=b kind=hswish\n"
    "conv d in=br out=48 kernel=5 pad=2 groups=48\nact dr in=d kind=relu6\n"
    "pool s in=dr kind=avg\nconv s1 in=s out=12\nact s2 in=s1 kind=relu\n"
    "conv s3 in=s2 out=48\nact s4 in=s3 kind=hsigmoid\nmul e in=dr,s4\n"
    "conv f in=e plus=ar out=16\n"
    "conv g in=f out=64\nnorm n in=g kind=layer\nact gr in=n kind=relu6\n"
    "pool p in=gr kind=avg\nlstm h in=p hidden=32\nconv y in=h out=6\n";

char *gpu_early;

struct ctt_model *gpu_new_model(const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_init_weights(m, 3);
    return m;
}

struct ctt_infer *gpu_open_model(struct ctt_model *model, const char *device)
{
    const char *path = clip_path("gpu.ctt");
    struct ctt_infer *m = NULL;

    CHECK_OK(ctt_model_save(path, model));
    CHECK_OK(ctt_infer_open(path, device, 1, &m));
    return m;
}

int gpu_answers(const struct ctt_infer *m, int chunk,
                float y[GPU_ANSWERS][GPU_MOST])
{
    const struct ctt_infer_input *w = ctt_infer_wants(m);
    int64_t frame = (int64_t)w->h * w->w * w->c;
    float *x = ctt_check_floats(GPU_FRAMES * frame, 7);
    struct ctt_session *s = NULL;
    int n = ctt_infer_predicts(m) ? (int)frame : ctt_infer_classes(m), some;

    CHECK_OK(ctt_session_open(m, &s));
    for (int at = 0; at < GPU_FRAMES; at += some) {
        some = (at == 0 ? 1 : at < 6 ? 6 : GPU_FRAMES) - at;
        some = some < chunk ? some : chunk;
        CHECK_OK(ctt_session_push_float(s, x + at * frame, some));
        if ((at + some) % 5 == 1)
            CHECK_OK(ctt_infer_predicts(m)
                     ? ctt_session_predict(s, 1, y[(at + some) / 5])
                     : ctt_session_read(s, y[(at + some) / 5]));
    }
    ctt_session_close(&s);
    ctt_free(x);
    return n;
}

float gpu_apart(int n, float a[GPU_ANSWERS][GPU_MOST],
                float b[GPU_ANSWERS][GPU_MOST])
{
    float most = 0;

    for (int k = 0; k < GPU_ANSWERS; k++)
        for (int i = 0; i < n; i++)
            most = fmaxf(most, fabsf(a[k][i] - b[k][i]));
    return most;
}

int gpu_answers_main(CU_SuiteInfo *suites)
{
    const char *src = getenv("srcdir");
    char path[512];
    int status;

    if (access("tests/sim/.libs/convtt-cuda.so", R_OK) != 0)
        return CTT_SKIP;
    setenv("CTT_MODULES", "tests/sim/.libs:.libs", 0);
    snprintf(path, sizeof(path), "%s/models/early-convttlstm.net",
             src ? src : ".");
    if (ctt_net_read(path, &gpu_early) < 0)
        return 99;
    status = stream_main(suites);
    ctt_free(gpu_early);
    return status;
}
