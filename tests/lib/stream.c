/* SPDX-License-Identifier: Apache-2.0
 * stream.c: streams of frames, and models that take them, for the tests of
 * sessions. */
#include "tests/lib/stream.h"
#include "net/file/file.h"
#include "tests/lib/clip.h"

#include <stdio.h>
#include <string.h>

/* Nothing to fuse, one answer per step. */
const char stream_plain[] = STREAM_INPUT
    "conv e in=x out=4 kernel=3 pad=1 stride=2\n"
    "act f in=e kind=relu\n"
    "convttlstm l in=f hidden=4 order=2 steps=3 rank=2\n"
    "pool q in=l kind=avg\n"
    "conv y in=q out=5\n";

/* Recurrent, then a 3-D conv. */
#define CLIP \
    "conv e in=x out=4 kernel=3 pad=1 stride=2\n" \
    "convlstm l in=e hidden=3\n" \
    "clip\n" \
    "window v in=l steps=4 every=3\n" \
    "conv q in=v out=6 kernel=2,3,3\n" \
    "act a in=q kind=relu\n" \
    "pool p in=a kind=avg\n" \
    "conv y in=p out=4\n"
const char stream_clip[] = STREAM_INPUT CLIP;
const char stream_light[] = STREAM_LIGHT CLIP;
const char stream_even[] = "input x h=8 w=6 c=3 fps=12 normalise=clip\n" CLIP;

/* All nodes that a session removes. */
const char stream_fused[] = STREAM_INPUT
    "conv e in=x out=4 kernel=3 pad=1 stride=2 bias=0\n"
    "norm n in=e kind=batch\n"
    "act f in=n kind=relu\n"
    "dropout d in=f rate=0.5\n"
    "conv g in=d out=8 kernel=3 pad=1 groups=4 bias=0\n"
    "norm gn in=g kind=batch\n"
    "act gr in=gn kind=relu6\n"
    "resblock b in=gr out=6 stride=2\n"
    "deconv u in=b out=4 kernel=2 stride=2\n"
    "norm m in=u kind=batch\n"
    "pool t in=m kind=avg\n"
    "lstm l in=t hidden=5\n"
    "norm o in=l kind=batch\n"          /* not folded: no conv before it */
    "conv y in=o out=3\n";

/* Every conv reads bytes, of whatever made or passed them on. */
const char stream_int8[] = STREAM_INPUT
    "quant xq in=x scale=0.02 zero=100\n"
    "conv e in=xq out=4 kernel=3 pad=1\n"
    "act f in=e kind=relu\n"
    "quant fq in=f scale=0.04 zero=0\n"
    "pool p in=fq kind=max kernel=2\n"
    "state p2 of=p delay=2\n"
    "concat k in=p,p2\n"
    "conv j in=k plus=k out=8\n"
    "quant jq in=j scale=0.05 zero=90\n"
    "halo jh in=jq up=1 down=1\n"
    "conv zx in=jh out=12 kernel=3 pad=0,0,1\n"
    "state h1 of=hq like=zx c=3\n"
    "slice s in=h1 from=1 to=3\n"
    "conv zs in=s plus=zx out=12 bias=0\n"
    "conv z in=h1 plus=zs out=12 kernel=3 pad=1 bias=0\n"
    "state c1 of=c like=z c=3\n"
    "lstm h in=z,c1\n"
    "cell c in=h\n"
    "quant hq in=h scale=0.0078125 zero=128\n"
    "slice zi in=z from=0 to=3\n"
    "add b in=h,zi bias=1\n"
    "quant bq in=b scale=0.01 zero=130\n"
    "upsample u in=bq by=2\n"
    "clip\n"
    "window v in=u steps=4 every=3\n"
    "conv q in=v out=6 kernel=2,3,3 pad=0,1,1\n"
    "act a in=q kind=tanh\n"
    "quant aq in=a scale=0.0078125 zero=128\n"
    "window w in=hq steps=2\n"
    "reshape r in=w d=1 h=1 w=1 c=72\n"
    "quant rq in=r scale=0.0078125 zero=128\n"
    "pool g in=aq kind=avg\n"
    "quant gq in=g scale=0.0078125 zero=128\n"
    "concat all in=gq,rq\n"
    "conv y in=all out=4\n";

/* The answer is the next frame. */
const char stream_ahead[] = STREAM_INPUT
    "convttlstm l in=x hidden=4 kernel=3 order=2 steps=3 rank=2\n"
    "conv o in=l out=3\n"
    "act y in=o kind=sigmoid\n";

/* A predictor with cells on a smaller image. */
const char stream_coarse[] = STREAM_INPUT
    "conv e in=x out=4 kernel=3 pad=1\n"
    "pool p in=e kind=avg kernel=2\n"
    "convlstm l in=p hidden=4 kernel=3\n"
    "upsample u in=l by=2\n"
    "conv o in=x plus=u out=4 kernel=3 pad=1\n"
    "act f in=o kind=tanh\n"
    "collect k in=f of=channels pass=backward all=4\n"
    "total t in=k\n"
    "conv y in=t out=3\n";

/* A predictor whose frame is a slice of wider pixels. */
const char stream_part[] = STREAM_INPUT
    "convlstm l in=x hidden=4 kernel=3\n"
    "conv o in=l out=5\n"
    "slice y in=o from=1 to=4\n";

/* Activations, windows with gaps, a squeeze and excitation, softmax. */
const char stream_words[] = STREAM_INPUT
    "conv e in=x out=4 kernel=3 stride=2 after=1\n"
    "act f in=e kind=hswish\n"
    "conv d in=f out=4 kernel=3 pad=2 dilation=2 groups=4\n"
    "act g in=d kind=silu\n"
    "pool q in=g kind=avg\n"
    "conv s in=q out=4\n"
    "act t in=s kind=hsigmoid\n"
    "mul m in=g,t\n"
    "lrn n in=m size=3 alpha=0.5\n"
    "pool p in=n kind=max kernel=2 after=1\n"
    "conv a in=p out=6\n"
    "act b in=a kind=gelu\n"
    "softmax o in=b over=positions\n"
    "mul r in=b,o\n"
    "convlstm l in=r hidden=3\n"
    "act k in=l kind=leaky slope=0.3\n"
    "softmax u in=k over=channels\n"
    "pool v in=u kind=avg\n"
    "conv y in=v out=5\n";

/* Attention over memories, which predicts the next frame. */
const char stream_recall[] = STREAM_INPUT
    "patch p in=x by=2\n"
    "state q of=p\n"
    "concat r in=q,p\n"
    "patch v in=r by=2,1,1 back=1\n"
    "e3dlstm l in=v hidden=3 kernel=2,3,3 steps=3 memory=m\n"
    "e3dlstm m in=l hidden=3 kernel=2,3,3 steps=2 memory=l\n"
    "conv o in=m out=12 kernel=2,1,1\n"
    "patch y in=o by=2 back=1\n";

uint8_t stream_bytes[LONG * FRAME];
float stream_floats[LONG * FRAME];

static void fill_frames(void)
{
    static const float mean[] = { 0.4f, 0.5f, 0.6f };
    static const float std[] = { 0.25f, 0.3f, 0.2f };

    ctt_check_fill(stream_floats, LONG * FRAME, 5);
    for (int64_t i = 0; i < LONG * FRAME; i++) {
        stream_bytes[i] = (uint8_t)(127.5f + 127 * stream_floats[i]);
        stream_floats[i] = ((float)stream_bytes[i] / 255 - mean[i % C]) /
                           std[i % C];
    }
}

static void stream_weights(const struct ctt_graph *g, float *w)
{
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];
            float *p = w + n->at[k];
            ctt_check_fill(p, ctt_volume(&n->w[k]),
                           (uint64_t)(10 * i + k + 1));
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++)
                p[j] = n->nw == 4 && k % 3 == 0 ? 1.2f + p[j] : 0.6f * p[j];
        }
}

const char *stream_model(const char *text, const char *const *label,
                         int labels)
{
    const char *path = clip_path("model.ctt");
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    stream_weights(m->g, m->w);
    if (labels)
        CHECK_OK(ctt_model_labels(m, (char *const *)label, labels));
    CHECK_OK(ctt_model_save(path, m));
    ctt_model_free(&m);
    return path;
}

int stream_answer(const struct ctt_infer *m, struct ctt_session *s,
                  float *probs)
{
    float frames[2 * FRAME];
    int rc;

    if (!ctt_infer_predicts(m))
        return ctt_session_read(s, probs);
    rc = ctt_session_predict(s, 2, frames);
    if (rc >= 0)
        memcpy(probs, frames + FRAME, MOST_CLASSES * sizeof(*probs));
    return rc;
}

int stream_feed(struct stream *a, struct ctt_session *s)
{
    int rc = 0;

    for (int i = a->from; i < LONG; i += a->chunk) {
        int n = a->chunk < LONG - i ? a->chunk : LONG - i;
        CTT_TRY(a->as_bytes
                ? ctt_session_push(s, stream_bytes + i * FRAME, n)
                : ctt_session_push_float(s, stream_floats + i * FRAME, n));
    }
    rc = stream_answer(a->m, s, a->probs);
out:
    return rc;
}

void *stream_run(void *arg)
{
    struct stream *a = arg;
    struct ctt_session *s = NULL;

    a->rc = ctt_session_open(a->m, &s);
    if (a->rc >= 0)
        a->rc = stream_feed(a, s);
    ctt_session_close(&s);
    return NULL;
}

void stream_again(const struct stream *one, int chunk, int as_bytes,
                  double tol)
{
    struct stream more = { .m = one->m, .chunk = chunk,
                           .as_bytes = as_bytes };

    stream_run(&more);
    CHECK_OK(more.rc);
    if (tol > 0)
        CHECK_CLOSE(more.probs, one->probs, MOST_CLASSES, tol);
    else
        CU_ASSERT(memcmp(more.probs, one->probs, sizeof(one->probs)) == 0);
}

struct ctt_infer *stream_open(const char *text, const char *device)
{
    struct ctt_infer *m = NULL;

    CHECK_OK(ctt_infer_open(stream_model(text, NULL, 0), device, 1, &m));
    return m;
}

void stream_refused(int rc, int code, const char *message)
{
    CU_ASSERT_EQUAL(rc, code);
    if (!strstr(ctt_infer_error(), message))
        printf("\n    '%s', expected '%s'", ctt_infer_error(), message);
    CU_ASSERT(strstr(ctt_infer_error(), message) != NULL);
}

int stream_main(CU_SuiteInfo *suites)
{
    int status;

    fill_frames();
    status = ctt_check_main(suites);
    clip_clean();
    return status;
}
