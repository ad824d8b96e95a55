/* SPDX-License-Identifier: Apache-2.0
 * quality.h: similarity of a predicted picture to the true one. */
#ifndef CTT_QUALITY_H
#define CTT_QUALITY_H

#include <stdint.h>

/* mse: mean squared error per value; psnr: in dB for data range 1, at most 100,
 * that of equal pictures; ssim, ssim2: SSIM (Wang et al. 2004) with constants
 * for data range 1 and 2: 7x7 uniform window, sample covariance, mean over the
 * pixels at least 3 from each border, then over the channels.  Published
 * results for Moving-MNIST use range 2. */
struct ctt_quality { double mse, psnr, ssim, ssim2; };

enum { CTT_QUALITY_SIDE = 7 };    /* smallest width and height */

/* Clamps a value to 0..1; NaN stays NaN. */
static inline float ctt_unit(float v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

/* The mse alone, for any size; values of guess are clamped to 0..1. */
double ctt_mean_square(const float *truth, const float *guess, int64_t n);

/* Compares pictures of h x w x c floats, the true one in 0..1; predicted values
 * are clamped to 0..1.  CTT_EINVAL if too small, CTT_ENAN if a value is NaN. */
int ctt_quality(const float *truth, const float *guess, int h, int w, int c,
                struct ctt_quality *out);

#endif
