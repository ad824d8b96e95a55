/* SPDX-License-Identifier: Apache-2.0
 * blas_plan.c: which convs are matrix products, the plans of products, and how
 * they run. */
#include "device/cuda/blas_plan.h"

#include <string.h>

enum {
    A = CTT_BLAS_A, B = CTT_BLAS_B, C = CTT_BLAS_C, Y = CTT_BLAS_Y,
    MATRICES = CTT_BLAS_MATRICES
};
enum { WORKSPACE = 32 << 20, ALIGN = 256 };    /* bytes */

static int is_dense(const struct ctt_tensor *t)
{
    return !t->data || t->ld == t->c;
}

enum ctt_product_shape ctt_product_shape(const struct ctt_call *c)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    const int *k = c->node->attr.conv.kernel, *s = c->node->attr.conv.stride;
    const int *pad = c->node->attr.conv.pad;
    const int64_t size[3] = { x->d, x->h, x->w };
    int pixels = 1, images = c->node->op == CTT_OP_CONV;

    if (ctt_call_groups(c) > 1 || ctt_is_dilated(c->node))
        return CTT_NO_PRODUCT;
    for (int i = 0; i < 3; i++) {
        pixels = pixels && k[i] == 1 && s[i] == 1 && pad[i] == 0;
        images = images && k[i] == size[i] && pad[i] == 0;
    }
    if (pixels)
        return CTT_PRODUCT_PIXELS;
    images = images && is_dense(&c->in[0]) && is_dense(&c->din[0]) &&
             y->d * y->h * y->w == 1;
    return images ? CTT_PRODUCT_IMAGES : CTT_NO_PRODUCT;
}

struct ctt_matrix ctt_product_columns(const struct ctt_tensor *t,
                                      enum ctt_product_shape shape)
{
    int64_t cols = ctt_rows(t), c = t->c, ld = t->ld;

    if (shape == CTT_PRODUCT_IMAGES) {
        cols = t->n;
        c = ld = ctt_volume(t) / t->n;
    }
    return (struct ctt_matrix){ t->data, t->dtype, c, cols, ld };
}

/* Key of a plan, without padding, as keys are compared by memcmp. */
struct key {
    struct { int64_t rows, cols, ld; int32_t type, align; } at[MATRICES];
    int32_t trans[2], epilogue, add, tf32;
};

struct ctt_product_plan {
    struct key             key;
    cublasLtMatmulDesc_t   desc;
    cublasLtMatrixLayout_t layout[MATRICES];
    cublasLtMatmulAlgo_t   algo;
    size_t                 workspace;    /* bytes */
    int                    exists;       /* 0: cuBLASLt has no algorithm */
    struct ctt_product_plan  *next;
};

static const cudaDataType_t types[] = {
    [CTT_F32] = CUDA_R_32F, [CTT_F16] = CUDA_R_16F, [CTT_BF16] = CUDA_R_16BF,
};

static int32_t alignment(const void *p)
{
    uintptr_t at = (uintptr_t)p | ALIGN;

    return (int32_t)(at & (0 - at));
}

static struct key product_key(const struct ctt_dev *d,
                              const struct ctt_product *x)
{
    struct key k;

    memset(&k, 0, sizeof(k));
    for (int i = 0; i < MATRICES; i++) {
        const struct ctt_matrix *m = &x->at[i];
        k.at[i].rows = m->rows;
        k.at[i].cols = m->cols;
        k.at[i].ld = m->ld;
        k.at[i].type = (int32_t)m->type;
        k.at[i].align = alignment(m->p);
    }
    k.trans[A] = x->trans[A];
    k.trans[B] = x->trans[B];
    k.epilogue = x->epilogue;
    k.add = x->add;
    k.tf32 = d->tf32 && x->at[A].type == CTT_F32;
    return k;
}

static int describe_product(const struct ctt_call *c,
                            const struct ctt_product *x,
                            struct ctt_product_plan *p)
{
    static const cublasLtMatmulDescAttributes_t side[] = {
        CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB
    };
    cublasLtEpilogue_t epilogue = (cublasLtEpilogue_t)x->epilogue;
    int rc = 0;

    /* Sums in fp32; fp32 numbers are multiplied as such, unless TF32 is
     * wanted. */
    CTT_CUBLAS(c, cublasLtMatmulDescCreate(&p->desc, p->key.tf32
                                           ? CUBLAS_COMPUTE_32F_FAST_TF32
                                           : CUBLAS_COMPUTE_32F, CUDA_R_32F));
    for (int i = A; i <= B; i++) {
        cublasOperation_t op = x->trans[i] ? CUBLAS_OP_T : CUBLAS_OP_N;
        CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(p->desc, side[i], &op,
                                                     sizeof(op)));
    }
    CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(
                   p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                   sizeof(epilogue)));
    if (x->bias)
        CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(
                       p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &x->bias,
                       sizeof(x->bias)));
    for (int i = 0; i < MATRICES; i++)
        CTT_CUBLAS(c, cublasLtMatrixLayoutCreate(
                       &p->layout[i], types[x->at[i].type],
                       (uint64_t)x->at[i].rows, (uint64_t)x->at[i].cols,
                       x->at[i].ld));
out:
    return rc;
}

static int prefer(const struct ctt_call *c, const struct key *k,
                  cublasLtMatmulPreference_t *out)
{
    static const cublasLtMatmulPreferenceAttributes_t name[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
    };
    /* The parts of a divided sum must not be rounded to 16 bits. */
    uint32_t cut = k->at[Y].type == CTT_F32 ? CUBLASLT_REDUCTION_SCHEME_MASK
                                            : CUBLASLT_REDUCTION_SCHEME_NONE;
    uint64_t room = WORKSPACE;
    int rc = 0;

    CTT_CUBLAS(c, cublasLtMatmulPreferenceCreate(out));
    CTT_CUBLAS(c, cublasLtMatmulPreferenceSetAttribute(
                   *out, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                   sizeof(room)));
    CTT_CUBLAS(c, cublasLtMatmulPreferenceSetAttribute(
                   *out, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &cut,
                   sizeof(cut)));
    for (int i = 0; i < MATRICES; i++) {
        uint32_t align = (uint32_t)k->at[i].align;
        CTT_CUBLAS(c, cublasLtMatmulPreferenceSetAttribute(
                       *out, name[i], &align, sizeof(align)));
    }
out:
    return rc;
}

/* Takes the first algorithm of cuBLASLt's heuristic, if it has any. */
static int choose_algorithm(struct ctt_cuda *u, const struct ctt_call *c,
                            struct ctt_product_plan *p)
{
    cublasLtMatmulPreference_t pref = NULL;
    cublasLtMatmulHeuristicResult_t best;
    cublasStatus_t status;
    int found = 0, rc = 0;

    CTT_TRY(prefer(c, &p->key, &pref));
    status = cublasLtMatmulAlgoGetHeuristic(
        u->blas, p->desc, p->layout[A], p->layout[B], p->layout[C],
        p->layout[Y], pref, 1, &best, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
        status == CUBLAS_STATUS_INVALID_VALUE)
        goto out;
    CTT_CUBLAS(c, status);
    if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS)
        goto out;
    p->algo = best.algo;
    p->workspace = best.workspaceSize;
    p->exists = 1;
out:
    if (pref)
        cublasLtMatmulPreferenceDestroy(pref);
    return rc;
}

static void drop_plan(struct ctt_product_plan *p)
{
    for (int i = 0; p && i < MATRICES; i++)
        if (p->layout[i])
            cublasLtMatrixLayoutDestroy(p->layout[i]);
    if (p && p->desc)
        cublasLtMatmulDescDestroy(p->desc);
    ctt_free(p);
}

void ctt_product_plans_free(struct ctt_product_plans *s)
{
    while (s->first) {
        struct ctt_product_plan *p = s->first;
        s->first = p->next;
        drop_plan(p);
    }
}

int ctt_product_find(struct ctt_dev *d, const struct ctt_call *c,
                     struct ctt_product_plans *s, const struct ctt_product *x,
                     struct ctt_product_plan **out)
{
    struct key k = product_key(d, x);
    struct ctt_product_plan *p = NULL, *at = s->first;
    int rc = 0;

    while (at && memcmp(&at->key, &k, sizeof(k)) != 0)
        at = at->next;
    if (!at) {
        p = ctt_calloc(1, sizeof(*p));
        CTT_CHECK(p, CTT_ENOMEM, "%s: no memory for a plan", c->node->name);
        p->key = k;
        CTT_TRY(describe_product(c, x, p));
        CTT_TRY(choose_algorithm(ctt_cuda_of(d), c, p));
        p->next = s->first;
        s->first = at = p;
        p = NULL;
    }
    *out = at;
    rc = at->exists;
out:
    drop_plan(p);
    return rc;
}

int ctt_product_run(struct ctt_dev *d, const struct ctt_call *c,
                    const struct ctt_product *x, struct ctt_product_plan *p)
{
    float one = 1, beta = x->add ? 1 : 0;
    const struct ctt_matrix *m = x->at;
    /* Of a product in place cuBLASLt asks for one descriptor of both. */
    int c_as = m[C].p == m[Y].p ? Y : C;
    void *scratch = NULL;
    int rc = 0;

    if (p->workspace)
        CTT_TRY(ctt_cuda_scratch(d, c, p->workspace, &scratch));
    if (x->bias)
        CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(
                       p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &x->bias,
                       sizeof(x->bias)));
    CTT_CUBLAS(c, cublasLtMatmul(
                   ctt_cuda_of(d)->blas, p->desc, &one, m[A].p, p->layout[A],
                   m[B].p, p->layout[B], &beta, m[C].p, p->layout[c_as],
                   m[Y].p, p->layout[Y], &p->algo, scratch, p->workspace,
                   ctt_cuda_lane(d)->stream));
out:
    return rc;
}
