/* SPDX-License-Identifier: Apache-2.0
 * dnn_scene.c: operands of a convolution, and a plan that is tried in place. */
#include "device/cuda/dnn_scene.h"
#include "base/half.h"
#include "base/random.h"

#include <string.h>

/* Numbers repeat after a prime count of them, so that no tile of a kernel meets
 * those of another one; PIECE: bytes that are compared at once. */
enum { PERIOD = 4093, PIECE = 1 << 20 };

/* ---- operands ---- */

static struct ctt_tensor dense_image(const struct ctt_dnn_key *k, int small)
{
    const struct ctt_fold *f = &k->f;
    const int64_t *s = small ? f->small : f->large;
    int64_t c = small ? f->oc : f->ic;

    return (struct ctt_tensor){ .dtype = k->type, .n = f->n, .d = s[0],
                                .h = s[1], .w = s[2], .c = c, .ld = c };
}

static struct ctt_tensor dense_kernel(const struct ctt_dnn_key *k)
{
    const struct ctt_fold *f = &k->f;
    int64_t c = f->ic / f->groups;

    return (struct ctt_tensor){ .dtype = k->type, .n = f->oc,
                                .d = f->kernel[0], .h = f->kernel[1],
                                .w = f->kernel[2], .c = c, .ld = c };
}

/* The result of each way. */
static const int result_of[] = {
    [CTT_TO_SMALL] = CTT_DNN_SMALL, [CTT_TO_LARGE] = CTT_DNN_LARGE,
    [CTT_TO_WEIGHTS] = CTT_DNN_KERNEL,
};

/* Shapes by uid; no channels: not there. */
static void shape_operands(const struct ctt_dnn_key *k,
                           struct ctt_tensor t[CTT_DNN_UIDS])
{
    int to = result_of[k->f.way];

    memset(t, 0, CTT_DNN_UIDS * sizeof(*t));
    t[CTT_DNN_LARGE] = dense_image(k, 0);
    t[CTT_DNN_SMALL] = dense_image(k, 1);
    t[CTT_DNN_KERNEL] = dense_kernel(k);
    if (k->plus || k->add)
        t[CTT_DNN_PLUS] = t[to];
    if (k->bias)
        t[CTT_DNN_BIAS] = (struct ctt_tensor){
            .dtype = CTT_F32, .n = 1, .d = 1, .h = 1, .w = 1, .c = t[to].c,
            .ld = t[to].c
        };
}

static int64_t tensor_bytes(const struct ctt_tensor *t)
{
    return ctt_volume(t) * (int64_t)ctt_dtype_size(t->dtype);
}

/* Assigns memory to the tensors and the workspace behind them; with block NULL
 * only counts its bytes. */
static int64_t lay_operands(struct ctt_dnn_scene *s,
                            struct ctt_tensor t[CTT_DNN_UIDS],
                            int64_t workspace)
{
    int64_t at = 0;

    for (int i = CTT_DNN_LARGE; i < CTT_DNN_UIDS; i++) {
        s->data[i] = s->block && t[i].c ? (char *)s->block + at : NULL;
        t[i].data = s->data[i];
        at += ctt_align(tensor_bytes(&t[i]), 256);
    }
    s->workspace = s->block ? (char *)s->block + at : NULL;
    s->result = t[result_of[s->key->f.way]];
    s->plus = t[CTT_DNN_PLUS];
    return at + workspace;
}

/* Whole numbers from -2 to 2, or with `part` 16ths of them: every sum is exact,
 * so that engines which add in another order have its bits, too. */
static int fill_operand(struct ctt_dev *d, const struct ctt_tensor *t, int part)
{
    int64_t size = (int64_t)ctt_dtype_size(t->dtype), all = ctt_volume(t), n;
    uint32_t number[PERIOD];
    int rc = 0;

    for (int i = 0; i < PERIOD; i++)
        ctt_store(number, t->dtype, i,
                  (float)((int)(ctt_random(1, (uint64_t)i) % 5) - 2) /
                  (part ? 16 : 1));
    for (int64_t at = 0; at < all; at += n) {
        n = at ? at : PERIOD;    /* what is there, as often as it fits */
        n = n < all - at ? n : all - at;
        CTT_TRY(ctt_cuda_copy(d, at ? CTT_WITHIN : CTT_TO_DEVICE,
                              at ? t->data : (void *)number,
                              (char *)t->data + at * size, n * size));
    }
out:
    return rc;
}

int ctt_dnn_scene_open(struct ctt_dev *d, const struct ctt_dnn_key *key,
                       int64_t workspace, struct ctt_dnn_scene *s)
{
    struct ctt_tensor t[CTT_DNN_UIDS];
    int good;

    memset(s, 0, sizeof(*s));
    s->key = key;
    shape_operands(key, t);
    good = cudaMalloc(&s->block, (size_t)lay_operands(s, t, workspace)) ==
           cudaSuccess;
    lay_operands(s, t, workspace);
    for (int i = CTT_DNN_LARGE; i < CTT_DNN_UIDS && good; i++)
        good = fill_operand(d, &t[i], i == CTT_DNN_KERNEL) >= 0;
    return good;
}

void ctt_dnn_scene_close(struct ctt_dnn_scene *s)
{
    cudaFree(s->block);
    cudaGetLastError();
}

/* ---- in place ---- */

/* 1 if two stretches of the GPU's memory are equal, -1 on an error. */
static int are_equal(struct ctt_dev *d, const void *a, const void *b,
                     int64_t bytes)
{
    char *host = ctt_calloc(2, PIECE);
    int64_t n;
    int rc = host ? 1 : -1;

    for (int64_t at = 0; at < bytes && rc == 1; at += n) {
        n = bytes - at < PIECE ? bytes - at : PIECE;
        if (ctt_cuda_copy(d, CTT_TO_HOST, (const char *)a + at, host, n) < 0 ||
            ctt_cuda_copy(d, CTT_TO_HOST, (const char *)b + at, host + PIECE,
                          n) < 0)
            rc = -1;
        else
            rc = memcmp(host, host + PIECE, (size_t)n) == 0;
    }
    ctt_free(host);
    return rc;
}

int ctt_dnn_try_in_place(struct ctt_dev *d, const struct ctt_dnn_plan *p)
{
    cudnnHandle_t dnn = ctt_cuda_lane(d)->dnn;
    void *data[CTT_DNN_UIDS];
    struct ctt_dnn_scene s;
    int rc = -1;

    if (ctt_dnn_scene_open(d, &p->key, p->room, &s)) {
        memcpy(data, s.data, sizeof(data));
        data[result_of[p->key.f.way]] = s.plus.data;
        if (!ctt_dnn_plan_run(dnn, p, s.data, s.workspace) &&
            !ctt_dnn_plan_run(dnn, p, data, s.workspace))
            rc = are_equal(d, s.result.data, s.plus.data,
                           tensor_bytes(&s.result));
    }
    ctt_dnn_scene_close(&s);
    return rc;
}
