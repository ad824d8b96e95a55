/* SPDX-License-Identifier: Apache-2.0
 * ops.h: operators of ONNX as lines.  Each function translates a node; its row
 * stands in ops.c. */
#ifndef CTT_ONNX_OPS_H
#define CTT_ONNX_OPS_H

#include "exchange/onnx/lines.h"

/* Input k as a value that is computed. */
int ctt_op_live(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                struct ctt_onnx_value **out);

/* Input k as a constant; NULL if it is left out. */
int ctt_op_constant(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                    int k, const struct ctt_onnx_tensor **out);

/* Makes output k of a node a value of this shape and place. */
int ctt_op_set(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
               int rank, const int64_t *dim, struct ctt_onnx_place *p);

/* The same with the shape of v. */
int ctt_op_set_like(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                    const struct ctt_onnx_value *v, struct ctt_onnx_place *p);

/* A place as p without zeros around it: a line makes them. */
int ctt_op_solid(struct ctt_onnx *o, struct ctt_onnx_place *p,
                 struct ctt_onnx_place **out);

/* A value of axes N, C, and others (the image's): in[a] is the dimension of
 * axis a; channel[i] is the channel of ONNX that lies at i, NULL: all lie in
 * their order. */
struct ctt_op_image {
    struct ctt_onnx_place *p;
    int            rank, in[CTT_ONNX_RANK];
    const int64_t *channel;
    int64_t        size[CTT_IN_DIMS];    /* of the line, zeros included */
};

/* CTT_EUNSUP: its numbers lie in another order, so that a transpose would be
 * needed.  straight: channels in their order, by one more line if need be. */
int ctt_op_image(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                 struct ctt_op_image *out);
int ctt_op_straight(struct ctt_onnx *o, struct ctt_op_image *image);

/* The place of a result with the image's axes: channels in their order if
 * `channels` is more than 0, else those of the input; size: of the line. */
int ctt_op_image_place(struct ctt_onnx *o, const struct ctt_op_image *image,
                       int line, const int64_t size[CTT_IN_DIMS], int channels,
                       int64_t *dim, struct ctt_onnx_place **out);

/* One number for each channel of a place, of a constant that is broadcast to
 * the shape of v; CTT_EUNSUP: it differs from pixel to pixel, or by sample. */
int ctt_op_channels(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                    const struct ctt_onnx_tensor *t, double **out);

/* scale * x + shift for each channel: folded into the line that makes x, or a
 * line of its own.  NULL: 1, and 0. */
int ctt_op_affine(struct ctt_onnx *o, struct ctt_onnx_place *p,
                  const double *scale, const double *shift,
                  struct ctt_onnx_place **out);

/* The values of p, computed by a line, without what lay around them. */
int ctt_op_on(struct ctt_onnx *o, const struct ctt_onnx_place *p, int line,
              struct ctt_onnx_place **out);

/* A line with one input and the size of that. */
int ctt_op_line(struct ctt_onnx *o, const char *word,
                const struct ctt_onnx_place *p, struct ctt_onnx_place **out);

/* A depthwise conv with kernel 1, each channel times scale[c]; keys: stride=,
 * pad= and so on; NULL: none. */
int ctt_op_depthwise(struct ctt_onnx *o, int in, const double *scale,
                     const int64_t size[CTT_IN_DIMS], int *line);

/* A window that moves over an image, along d, h, w (from CTT_IN_D on).  low,
 * high: zeros before and behind, those of a Pad included. */
struct ctt_op_window {
    int64_t kernel[CTT_IN_DIMS], stride[CTT_IN_DIMS], dilation[CTT_IN_DIMS],
            low[CTT_IN_DIMS], high[CTT_IN_DIMS], out[CTT_IN_DIMS];
    int64_t tap;    /* of a kernel along d of which only this number counts, as
                       the image has no depth; then kernel[CTT_IN_D] is 1 */
};

/* shape: of the kernel, one number for each axis of the image; ceil: sizes are
 * rounded up. */
int ctt_op_window(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                  const struct ctt_op_image *image, const int64_t *shape,
                  int ceil, struct ctt_op_window *w);

/* Appends kernel=, stride=, pad= and what else differs from the default. */
int ctt_op_window_keys(struct ctt_onnx *o, int line,
                       const struct ctt_op_window *w);

/* The single number of a constant input or attribute, or `none`. */
int ctt_op_scalar(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                  const char *name, double none, double *out);

/* The rows of ops.c, by file. */
typedef int ctt_op_fn(struct ctt_onnx *o, struct ctt_onnx_node *n);
ctt_op_fn ctt_op_conv, ctt_op_deconv;
ctt_op_fn ctt_op_max_pool, ctt_op_avg_pool, ctt_op_global_avg,
    ctt_op_global_max, ctt_op_reduce_mean, ctt_op_reduce_max, ctt_op_reduce_min,
    ctt_op_reduce_sum;
ctt_op_fn ctt_op_gemm, ctt_op_matmul;
ctt_op_fn ctt_op_batch_norm, ctt_op_layer_norm, ctt_op_lrn, ctt_op_softmax;
ctt_op_fn ctt_op_act, ctt_op_clip, ctt_op_hard_sigmoid, ctt_op_leaky,
    ctt_op_prelu, ctt_op_gelu, ctt_op_abs;
ctt_op_fn ctt_op_add, ctt_op_sub, ctt_op_mul, ctt_op_div, ctt_op_neg,
    ctt_op_max, ctt_op_min;
ctt_op_fn ctt_op_concat, ctt_op_split, ctt_op_slice, ctt_op_gather;
ctt_op_fn ctt_op_same, ctt_op_cast, ctt_op_cast_like, ctt_op_dropout,
    ctt_op_reshape, ctt_op_transpose, ctt_op_expand, ctt_op_pad;
ctt_op_fn ctt_op_quantize, ctt_op_dequantize;
ctt_op_fn ctt_op_resize, ctt_op_upsample, ctt_op_depth_to_space,
    ctt_op_space_to_depth;

#endif
