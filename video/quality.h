/* SPDX-License-Identifier: Apache-2.0
 * quality.h: how near a predicted picture is to the true one. */
#ifndef CTT_QUALITY_H
#define CTT_QUALITY_H

/* mse: mean squared error a value; psnr in dB for a range of 1 (100 for equal
 * pictures); ssim with constants for data range 1 and 2 (Wang et al. 2004): 7x7
 * uniform window, sample covariance, mean over the pixels at least 3 from each
 * border, then over the channels.  Published numbers of Moving-MNIST use 2. */
struct ctt_quality { double mse, psnr, ssim, ssim2; };

/* Two pictures of h x w x c floats, the true one in 0..1; predicted values are
 * clamped to that.  Pictures under 7x7 are an error. */
int ctt_quality(const float *truth, const float *guess, int h, int w, int c,
                struct ctt_quality *out);

#endif
