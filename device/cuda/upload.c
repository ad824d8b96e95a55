/* SPDX-License-Identifier: Apache-2.0
 * upload.c: copies between the program's memory and the GPU's.  The program may
 * change its memory at once, so uploads copy it into a page-locked buffer
 * first; memory that the program has locked itself is uploaded directly. */
#include "device/cuda/core.h"
#include "device/cuda/kernels.h"
#include "base/half.h"

#include <string.h>

enum { FLOAT = sizeof(float) };

int ctt_upload_open(struct ctt_core *k)
{
    void *p;
    int rc = 0;

    for (int i = 0; i < 2; i++) {
        CTT_CUDA(NULL, cudaMallocHost(&p, CTT_HALF * FLOAT));
        k->half[i].host = p;
        CTT_TRY(ctt_cuda_malloc("upload buffer", CTT_HALF * FLOAT, &p));
        k->half[i].dev = p;
        CTT_CUDA(NULL, cudaEventCreateWithFlags(&k->half[i].done,
                                                cudaEventDisableTiming));
    }
    CTT_CUDA(NULL, cudaEventCreateWithFlags(&k->taken,
                                            cudaEventDisableTiming));
out:
    return rc;
}

void ctt_upload_close(struct ctt_core *k)
{
    for (int i = 0; i < 2; i++) {
        cudaFreeHost(k->half[i].host);
        cudaFree(k->half[i].dev);
        if (k->half[i].done)
            cudaEventDestroy(k->half[i].done);
    }
    if (k->taken)
        cudaEventDestroy(k->taken);
    for (int i = 0; i < CTT_PINS; i++)
        if (k->pin[i].p)
            cudaHostUnregister((void *)k->pin[i].p);
    cudaFree(k->ahead);
    cudaFree(k->shots);
}

/* ---- memory locked for the program ---- */

/* A refusal of the system or a full table is no error: uploads are slower
 * then. */
int ctt_cuda_pin(struct ctt_dev *d, void *p, int64_t bytes)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;
    int i = 0;

    while (i < CTT_PINS && k->pin[i].p)
        i++;
    if (i == CTT_PINS)
        return 0;
    if (cudaHostRegister(p, (size_t)bytes, cudaHostRegisterDefault) ==
        cudaSuccess) {
        k->pin[i].p = p;
        k->pin[i].bytes = bytes;
    }
    cudaGetLastError();
    return 0;
}

void ctt_cuda_unpin(struct ctt_dev *d, void *p)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;

    for (int i = 0; i < CTT_PINS; i++)
        if (k->pin[i].p == p) {
            ctt_cuda_idle(ctt_cuda_of(d));
            cudaHostUnregister(p);
            k->pin[i].p = NULL;
        }
}

static int pinned(const struct ctt_core *k, const char *p, int64_t bytes)
{
    for (int i = 0; i < CTT_PINS; i++)
        if (k->pin[i].p && p >= k->pin[i].p &&
            p + bytes <= k->pin[i].p + k->pin[i].bytes)
            return 1;
    return 0;
}

/* ---- pieces ---- */

/* The next half, once its last copy is done. */
static int next_half(struct ctt_core *k, struct ctt_half **out)
{
    struct ctt_half *h = &k->half[k->turn];
    int rc = 0;

    k->turn ^= 1;
    CTT_CUDA(NULL, cudaEventSynchronize(h->done));
    *out = h;
out:
    return rc;
}

int ctt_cuda_upload(struct ctt_dev *d, const void *from, void *to,
                    int64_t bytes)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    struct ctt_half *h = NULL;
    int64_t n;
    int rc = 0;

    if (pinned(k, from, bytes)) {
        CTT_CUDA(NULL, cudaMemcpyAsync(to, from, (size_t)bytes,
                                       cudaMemcpyHostToDevice, s));
        goto out;
    }
    for (int64_t at = 0; at < bytes; at += n) {
        n = bytes - at < CTT_HALF * FLOAT ? bytes - at : CTT_HALF * FLOAT;
        CTT_TRY(next_half(k, &h));
        memcpy(h->host, (const char *)from + at, (size_t)n);
        CTT_CUDA(NULL, cudaMemcpyAsync((char *)to + at, h->host, (size_t)n,
                                       cudaMemcpyHostToDevice, s));
        CTT_CUDA(NULL, cudaEventRecord(h->done, s));
    }
out:
    return rc;
}

static int is_dense_float(const struct ctt_tensor *t)
{
    return t->dtype == CTT_F32 && t->ld == t->c;
}

static int64_t smaller_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The part of a tensor from number `at` on that fits into a half: whole rows,
 * part of one long row, or any part of a dense tensor. */
static struct ctt_tensor part_in_half(const struct ctt_tensor *t, int64_t at)
{
    struct ctt_tensor v = *t;
    int64_t size = ctt_dtype_size(t->dtype), left = ctt_volume(t) - at;
    int64_t row = at / t->c, j = at % t->c;

    v.data = (char *)t->data + (row * t->ld + j) * size;
    v.n = v.d = v.h = v.w = 1;
    if (t->ld == t->c)
        v.c = v.ld = smaller_of(left, CTT_HALF);
    else if (t->c > CTT_HALF)
        v.c = smaller_of(t->c - j, CTT_HALF);
    else
        v.n = smaller_of(left, CTT_HALF) / t->c;
    return v;
}

/* A dense tensor of floats of the same shape. */
static struct ctt_tensor dense_like(const float *p,
                                    const struct ctt_tensor *like)
{
    struct ctt_tensor v = *like;

    v.data = (void *)p;
    v.dtype = CTT_F32;
    v.ld = v.c;
    return v;
}

/* Copies floats in the GPU's memory into a tensor. */
static int copy_into(struct ctt_dev *d, const float *from,
                     const struct ctt_tensor *to)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    int rc = 0;

    if (is_dense_float(to))
        CTT_CUDA(NULL, cudaMemcpyAsync(to->data, from,
                                       (size_t)ctt_volume(to) * FLOAT,
                                       cudaMemcpyDeviceToDevice, s));
    else
        CTT_CUDA(NULL, ctt_launch_copy(dense_like(from, to), *to, 0, s));
out:
    return rc;
}

static int put_piece(struct ctt_dev *d, const float *from,
                    const struct ctt_tensor *to)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    size_t bytes = (size_t)ctt_volume(to) * FLOAT;
    const float *source = from;
    struct ctt_half *h = NULL;
    int rc = 0;

    CTT_TRY(next_half(k, &h));
    if (!pinned(k, (const char *)from, (int64_t)bytes))
        source = memcpy(h->host, from, bytes);
    CTT_CUDA(NULL, cudaMemcpyAsync(h->dev, source, bytes,
                                   cudaMemcpyHostToDevice, s));
    CTT_TRY(copy_into(d, h->dev, to));
    CTT_CUDA(NULL, cudaEventRecord(h->done, s));
out:
    return rc;
}

static int get_piece(struct ctt_dev *d, const struct ctt_tensor *from,
                    float *to)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    struct ctt_half *h = NULL;
    int rc = 0;

    CTT_TRY(next_half(ctt_cuda_of(d)->core, &h));
    CTT_CUDA(NULL, ctt_launch_copy(*from, dense_like(h->dev, from), 0, s));
    CTT_CUDA(NULL, cudaMemcpyAsync(to, h->dev,
                                   (size_t)ctt_volume(from) * FLOAT,
                                   cudaMemcpyDeviceToHost, s));
    CTT_CUDA(NULL, cudaEventRecord(h->done, s));
out:
    return rc;
}

/* 1 if these floats were prefetched. */
static int is_ahead(const struct ctt_core *k, const float *from, int64_t n)
{
    return k->from && from >= k->from && from + n <= k->from + k->count;
}

/* Puts prefetched floats.  The range is dropped after its last float, as the
 * program may store other numbers there. */
static int put_ahead(struct ctt_dev *d, const float *from,
                     const struct ctt_tensor *to)
{
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct ctt_core *k = u->core;
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamWaitEvent(s, u->copied, 0));
    CTT_TRY(copy_into(d, k->ahead + (from - k->from), to));
    CTT_CUDA(NULL, cudaEventRecord(k->taken, s));
    k->left -= ctt_volume(to);
    if (k->left <= 0)
        k->from = NULL;
out:
    return rc;
}

int ctt_cuda_copy(struct ctt_dev *d, enum ctt_direction way, const void *from,
                  void *to, int64_t bytes)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    int rc = 0;

    if (way == CTT_TO_DEVICE)
        return ctt_cuda_upload(d, from, to, bytes);
    CTT_CUDA(NULL, cudaMemcpyAsync(to, from, (size_t)bytes,
                                   way == CTT_WITHIN ? cudaMemcpyDeviceToDevice
                                                     : cudaMemcpyDeviceToHost,
                                   s));
    if (way == CTT_TO_HOST)
        CTT_CUDA(NULL, cudaStreamSynchronize(s));
out:
    return rc;
}

int ctt_cuda_put(struct ctt_dev *d, const float *from,
                 const struct ctt_tensor *to)
{
    struct ctt_tensor t;
    int rc = 0;

    if (is_ahead(ctt_cuda_of(d)->core, from, ctt_volume(to)))
        return put_ahead(d, from, to);
    if (is_dense_float(to))
        return ctt_cuda_upload(d, from, to->data, ctt_volume(to) * FLOAT);
    for (int64_t at = 0; at < ctt_volume(to); at += ctt_volume(&t)) {
        t = part_in_half(to, at);
        CTT_TRY(put_piece(d, from + at, &t));
    }
out:
    return rc;
}

int ctt_cuda_get(struct ctt_dev *d, const struct ctt_tensor *from, float *to)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    int64_t all = is_dense_float(from) ? 0 : ctt_volume(from);
    struct ctt_tensor t;
    int rc = 0;

    if (is_dense_float(from))
        CTT_CUDA(NULL, cudaMemcpyAsync(to, from->data,
                                       (size_t)ctt_volume(from) * FLOAT,
                                       cudaMemcpyDeviceToHost, s));
    for (int64_t at = 0; at < all; at += ctt_volume(&t)) {
        t = part_in_half(from, at);
        CTT_TRY(get_piece(d, &t, to + at));
    }
    CTT_CUDA(NULL, cudaStreamSynchronize(s));
out:
    return rc;
}

/* Makes room for the longest stretch so far. */
static int grow(int64_t bytes, int64_t *room, void **out)
{
    void *p;
    int rc = 0;

    if (bytes <= *room)
        return 0;
    cudaFree(*out);
    *out = NULL;
    *room = 0;
    CTT_TRY(ctt_cuda_malloc("upload buffer", bytes, &p));
    *out = p;
    *room = bytes;
out:
    return rc;
}

static int grow_floats(struct ctt_core *k, int64_t n)
{
    void *p = k->ahead;
    int64_t room = k->room * FLOAT;
    int rc = grow(n * FLOAT, &room, &p);

    k->ahead = p;
    k->room = room / FLOAT;
    return rc;
}

/* Copies to `to`, and makes the n floats ahead of the bytes of s, unless it is
 * NULL. */
static int send_ahead(struct ctt_dev *d, const void *from, void *to,
                      int64_t bytes, const struct ctt_shots *s)
{
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct ctt_core *k = u->core;
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamWaitEvent(u->copy, k->taken, 0));
    CTT_CUDA(NULL, cudaMemcpyAsync(to, from, (size_t)bytes,
                                   cudaMemcpyHostToDevice, u->copy));
    if (s)
        CTT_CUDA(NULL, ctt_launch_render(s, k->shots, k->ahead, u->copy));
    CTT_CUDA(NULL, cudaEventRecord(u->copied, u->copy));
out:
    return rc;
}

int ctt_cuda_prefetch(struct ctt_dev *d, const float *from, int64_t n)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;
    int rc = 0;

    k->from = NULL;
    if (n == 0)
        goto out;
    CTT_TRY(grow_floats(k, n));
    CTT_TRY(send_ahead(d, from, k->ahead, n * FLOAT, NULL));
    k->from = from;
    k->count = k->left = n;
out:
    return rc;
}

/* The floats stay until others are asked for, as there are no others. */
int ctt_cuda_render(struct ctt_dev *d, const struct ctt_shots *s, float *x)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;
    int64_t n = (int64_t)s->steps * s->n * s->h * s->w * s->c;
    int rc = 0;

    k->from = NULL;
    CTT_TRY(grow_floats(k, n));
    CTT_TRY(grow(s->bytes, &k->shots_room, &k->shots));
    CTT_TRY(send_ahead(d, s->block, k->shots, s->bytes, s));
    k->from = x;
    k->count = n;
    k->left = INT64_MAX;
out:
    return rc;
}
