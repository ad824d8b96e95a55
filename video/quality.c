/* SPDX-License-Identifier: Apache-2.0
 * quality.c: mean squared error, PSNR and SSIM of a predicted picture. */
#include "video/quality.h"
#include "base/ctt.h"

#include <math.h>

/* SIDE: of the SSIM window; STRIP: windows per row computed together from
 * running sums, which fit on the stack. */
enum { SIDE = CTT_QUALITY_SIDE, STRIP = 58, COLUMNS = STRIP + SIDE - 1 };
enum { X, Y, XX, YY, XY, SUMS };

static const double most_psnr = 100;    /* dB */

/* One channel of two pictures. */
struct pair {
    const float *truth, *guess;
    int          h, w, c;
};

double ctt_mean_square(const float *truth, const float *guess, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        double e = (double)truth[i] - (double)ctt_unit(guess[i]);
        sum += e * e;
    }
    return sum / (double)n;
}

/* Adds (sign 1) or subtracts (-1) a row, from column x on, in the column
 * sums. */
static void add_columns(const struct pair *p, int row, int x, int columns,
                        double sign, double sum[SUMS][COLUMNS])
{
    int64_t at = ((int64_t)row * p->w + x) * p->c;
    const float *truth = p->truth + at, *guess = p->guess + at;

    for (int i = 0; i < columns; i++) {
        double a = (double)truth[(int64_t)i * p->c];
        double b = (double)ctt_unit(guess[(int64_t)i * p->c]);
        sum[X][i] += sign * a;
        sum[Y][i] += sign * b;
        sum[XX][i] += sign * a * a;
        sum[YY][i] += sign * b * b;
        sum[XY][i] += sign * a * b;
    }
}

/* Adds up SSIM for ranges 1 and 2 over the windows of a row. */
static void score_row(double sum[SUMS][COLUMNS], int windows, double ssim[2])
{
    const double n = SIDE * SIDE, fair = n / (n - 1);
    const double c1 = 1e-4, c2 = 9e-4;    /* (0.01 range)^2, (0.03 range)^2 */
    double one = 0, two = 0;

    for (int i = 0; i < windows; i++) {
        double m[SUMS];
        for (int k = 0; k < SUMS; k++) {
            m[k] = 0;
            for (int j = 0; j < SIDE; j++)
                m[k] += sum[k][i + j];
            m[k] /= n;
        }
        double xy = m[X] * m[Y], squares = m[X] * m[X] + m[Y] * m[Y];
        double cov = 2 * fair * (m[XY] - xy);
        double var = fair * (m[XX] + m[YY] - squares);
        one += (2 * xy + c1) * (cov + c2) / ((squares + c1) * (var + c2));
        two += (2 * xy + 4 * c1) * (cov + 4 * c2) /
               ((squares + 4 * c1) * (var + 4 * c2));
    }
    ssim[0] += one;
    ssim[1] += two;
}

static void score_strip(const struct pair *p, int x, int windows,
                        double ssim[2])
{
    double sum[SUMS][COLUMNS] = { { 0 } };
    int columns = windows + SIDE - 1;

    for (int row = 0; row < p->h; row++) {
        add_columns(p, row, x, columns, 1, sum);
        if (row >= SIDE)
            add_columns(p, row - SIDE, x, columns, -1, sum);
        if (row >= SIDE - 1)
            score_row(sum, windows, ssim);
    }
}

int ctt_quality(const float *truth, const float *guess, int h, int w, int c,
                struct ctt_quality *out)
{
    double mse, ssim[2] = { 0, 0 }, windows;
    int rc = 0;

    CTT_CHECK(h >= SIDE && w >= SIDE && c > 0, CTT_EINVAL,
              "quality: a picture of %dx%d, SSIM needs %dx%d", w, h, SIDE,
              SIDE);
    mse = ctt_mean_square(truth, guess, (int64_t)h * w * c);
    CTT_CHECK(isfinite(mse), CTT_ENAN,
              "quality: a picture contains NaN or infinity");
    for (int k = 0; k < c; k++) {
        struct pair p = { truth + k, guess + k, h, w, c };
        for (int x = 0, most = w - SIDE + 1; x < most; x += STRIP)
            score_strip(&p, x, most - x < STRIP ? most - x : STRIP, ssim);
    }
    windows = (double)c * (h - SIDE + 1) * (w - SIDE + 1);
    *out = (struct ctt_quality){
        .mse = mse, .psnr = fmin(-10 * log10(mse), most_psnr),
        .ssim = ssim[0] / windows, .ssim2 = ssim[1] / windows };
out:
    return rc;
}
