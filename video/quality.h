/* SPDX-License-Identifier: Apache-2.0
 * quality.h: how near a predicted picture is to the true one. */
#ifndef CTT_QUALITY_H
#define CTT_QUALITY_H

#include <stdint.h>

/* mse: mean squared error a value; psnr in dB for a range of 1, at most 100, as
 * of equal pictures; ssim with constants for data range 1 and 2 (Wang et al.
 * 2004): 7x7 uniform window, sample covariance, mean over the pixels at least 3
 * from each border, then over the channels.  Published numbers of Moving-MNIST
 * use 2. */
struct ctt_quality { double mse, psnr, ssim, ssim2; };

enum { CTT_QUALITY_SIDE = 7 };    /* the least width and height */

/* A value brought into 0..1; what is no number stays so. */
static inline float ctt_unit(float v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

/* The mse alone, for any sizes; the values of guess are brought into 0..1. */
double ctt_mean_square(const float *truth, const float *guess, int64_t n);

/* Two pictures of h x w x c floats, the true one in 0..1; predicted values are
 * brought into that. */
int ctt_quality(const float *truth, const float *guess, int h, int w, int c,
                struct ctt_quality *out);

#endif
