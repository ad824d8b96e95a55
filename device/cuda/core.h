/* SPDX-License-Identifier: Apache-2.0
 * core.h: lanes, memory, uploads and recorded graphs: shared by the files of
 * the device itself. */
#ifndef CTT_CORE_H
#define CTT_CORE_H

#include "device/cuda/cuda.h"

/* Uploads alternate between two buffers of CTT_HALF floats: the host fills one
 * while the other is copied.  CTT_PINS: most ranges of memory that the program
 * may lock. */
enum { CTT_HALF = 1 << 20, CTT_PINS = 16 };
struct ctt_half {
    float      *host, *dev;
    cudaEvent_t done;         /* the last copy from or to it */
};

struct ctt_core {
    struct ctt_half half[2];
    int             turn;     /* the half to use next */
    struct { const char *p; int64_t bytes; } pin[CTT_PINS];

    /* The prefetched stretch: ahead: its copy on the GPU (room for `room`
     * floats) of the program's `count` floats from `from` on, `left` of which
     * have not been put yet; taken: the last read of the copy; shots: the
     * bytes that the copy was made of (room for shots_room). */
    float       *ahead;
    int64_t      room, count, left;
    const float *from;
    cudaEvent_t  taken;
    void        *shots;
    int64_t      shots_room;

    cudaStream_t aside;       /* of values that are offloaded and fetched */
    cudaEvent_t  asked;       /* work before the next copy on `aside` */

    double *sum, *host_sum;   /* a result of ctt_cuda_constrain() */
    int64_t moved;            /* times that scratch moved or plans were freed,
                                 which invalidates recorded graphs */
    struct ctt_nccl *nccl;    /* of nccl.c; NULL: unused */
    struct ctt_lt *lt;        /* of lt.c; NULL: not looked for yet */
};

/* Files call downwards only: open.c; conv.c; blas.c, cores.c, dnn.c, own.c,
 * flat.c, nccl.c, replay.c, transfer.c, two.c, whole.c; sparse.c; blas_plan.c,
 * dnn_choose.c, lt.c, packed.c; dnn_time.c, dnn_offer.c; dnn_scene.c;
 * dnn_plan.c; dnn_graph.c; upload.c; lane.c; memory.c; error.c. */

/* memory.c: blocks of the GPU's memory, as in struct ctt_dev_memory. malloc:
 * not cleared; a failed call sets the message only. */
int     ctt_cuda_malloc(const char *what, int64_t bytes, void **out);
int     ctt_cuda_alloc(struct ctt_dev *d, const char *what, int64_t bytes,
                       void **out);
void    ctt_cuda_free(struct ctt_dev *d, void *p);
int64_t ctt_cuda_free_bytes(const struct ctt_dev *d);
int64_t ctt_cuda_all_bytes(const struct ctt_dev *d);
int     ctt_cuda_fill(struct ctt_dev *d, void *p, int byte, int64_t bytes);

/* lane.c */
int  ctt_lane_open(struct ctt_lane *l);
void ctt_lane_close(struct ctt_lane *l);
void ctt_cuda_set_lane(struct ctt_dev *d, int lane);
int  ctt_cuda_wait(struct ctt_dev *d, int lane, int other);
/* Lane 0 waits for all other lanes; during a recording, only for those that
 * take part in it. */
int  ctt_cuda_join(struct ctt_cuda *u);
/* Waits for the work of this device only: a wait for the whole GPU would break
 * the recording of another thread.  Sets no message. */
cudaError_t ctt_cuda_idle(struct ctt_cuda *u);
int  ctt_cuda_sync(struct ctt_dev *d);

/* upload.c */
int  ctt_upload_open(struct ctt_core *k);
void ctt_upload_close(struct ctt_core *k);
int  ctt_cuda_upload(struct ctt_dev *d, const void *from, void *to,
                     int64_t bytes);
int  ctt_cuda_copy(struct ctt_dev *d, enum ctt_direction way, const void *from,
                   void *to, int64_t bytes);
int  ctt_cuda_put(struct ctt_dev *d, const float *from,
                  const struct ctt_tensor *to);
int  ctt_cuda_get(struct ctt_dev *d, const struct ctt_tensor *from, float *to);
int  ctt_cuda_pin(struct ctt_dev *d, void *p, int64_t bytes);
void ctt_cuda_unpin(struct ctt_dev *d, void *p);
int  ctt_cuda_prefetch(struct ctt_dev *d, const float *from, int64_t n);
int  ctt_cuda_render(struct ctt_dev *d, const struct ctt_shots *s, float *x);

/* transfer.c */
int  ctt_transfer_open(struct ctt_core *k);
void ctt_transfer_close(struct ctt_core *k);
int  ctt_cuda_transfer(struct ctt_dev *d, enum ctt_direction way,
                       const void *from, void *to, int64_t bytes,
                       void **place);
int  ctt_cuda_transfer_follow(struct ctt_dev *d, void *place);
int  ctt_cuda_transfer_wait(struct ctt_dev *d, void *place);
void ctt_cuda_transfer_drop(struct ctt_dev *d, void *place);

/* flat.c */
int  ctt_cuda_round8(struct ctt_dev *d, const float *x, int64_t rows,
                     int64_t each, float *y);
int  ctt_cuda_cast(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                   void *to, int64_t n);
int  ctt_cuda_sum(struct ctt_dev *d, enum ctt_dtype type, const void *from,
                  void *to, int64_t n);
int  ctt_cuda_constrain(struct ctt_dev *d, const struct ctt_flat *f,
                        double *square_sum);
int  ctt_cuda_update(struct ctt_dev *d, const struct ctt_flat *f,
                     const struct ctt_rule *rule);
int  ctt_cuda_average(struct ctt_dev *d, const float *w, float share,
                      float *average, int64_t n);
int  ctt_cuda_group_sums(struct ctt_dev *d, const struct ctt_tensor *x,
                         int64_t groups, double *sums);
int  ctt_cuda_group_fill(struct ctt_dev *d, const float *value, int64_t groups,
                         const struct ctt_tensor *y);

/* replay.c */
int  ctt_cuda_replay(struct ctt_dev *d, void **place);
int  ctt_cuda_recorded(struct ctt_dev *d, void **place, int rc);
void ctt_cuda_drop(struct ctt_dev *d, void *place);

/* nccl.c, if it is built in */
extern const struct ctt_dev_peers ctt_cuda_peers;

/* whole.c: convs of bytes; sparse.c, two.c, if they are there: pruned ones of
 * those of blas.c: convs that are one matrix product; dnn.c: all others. */
extern const struct ctt_conv_provider ctt_conv_whole, ctt_conv_cusparse,
                                      ctt_conv_cusparselt, ctt_conv_cublaslt,
                                      ctt_conv_cudnn;

/* conv.c: opens these providers and sets the kernels of conv and deconv. */
int  ctt_cuda_conv_open(struct ctt_dev *d);

#endif
