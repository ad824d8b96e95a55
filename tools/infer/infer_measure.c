/* SPDX-License-Identifier: Apache-2.0
 * infer_measure.c: quality of predicted frames, and of predictions that need no
 * model. */
#include "tools/infer/infer_predict.h"
#include "base/newfile.h"
#include "video/baseline.h"
#include "video/quality.h"

#include <stdio.h>

enum { CSV_LINE = 256 };

static size_t frame_size(const struct ctt_measure *m)
{
    return (size_t)m->in->h * (size_t)m->in->w * (size_t)m->in->c;
}

int ctt_measure_init(struct ctt_measure *m, const struct ctt_input *in,
                     int seen, int rows)
{
    *m = (struct ctt_measure){ .in = in, .seen = seen, .rows = rows,
        .able = in->h >= CTT_QUALITY_SIDE && in->w >= CTT_QUALITY_SIDE };
    m->row = ctt_calloc((size_t)rows, sizeof(*m->row));
    m->moved = ctt_calloc(frame_size(m), sizeof(float));
    return m->row && m->moved ? 0 : CTT_ENOMEM;
}

void ctt_measure_clear(struct ctt_measure *m)
{
    ctt_free(m->row);
    ctt_free(m->moved);
}

/* Measures the frame `ahead` (from 1) frames after the last observed one. */
static int measure_one(const struct ctt_measure *m, int ahead,
                       const float *last, const float *truth,
                       const float *guess, const struct ctt_motion *motion,
                       struct ctt_horizon *out)
{
    const struct ctt_input *in = m->in;
    int64_t size = (int64_t)frame_size(m);
    struct ctt_quality q;
    int rc = 0;

    CTT_TRY(ctt_quality(truth, guess, in->h, in->w, in->c, &q));
    ctt_motion_go_on(motion, ahead, m->moved);
    *out = (struct ctt_horizon){ .windows = 1, .mse = q.mse, .psnr = q.psnr,
        .ssim = q.ssim, .ssim2 = q.ssim2,
        .last = ctt_mean_square(truth, last, size),
        .linear = ctt_mean_square(truth, m->moved, size) };
out:
    return rc;
}

int ctt_measure_clip(struct ctt_measure *m, const float *truth, int known,
                     const float *guess, struct ctt_horizon *sum)
{
    const struct ctt_input *in = m->in;
    size_t size = frame_size(m);
    const float *last = truth + (size_t)(m->seen - 1) * size;
    struct ctt_motion *motion = NULL;
    int rc = 0;

    if (!m->able || known == m->seen)
        return 0;
    CTT_TRY(ctt_motion_find(m->seen > 1 ? last - size : last, last, in->h,
                            in->w, in->c, &motion));
    for (int i = 0; i < known - m->seen; i++) {
        struct ctt_horizon one;

        CTT_TRY(measure_one(m, i + 1, last, last + (size_t)(i + 1) * size,
                            guess + (size_t)i * size, motion, &one));
        ctt_horizon_add(&m->row[i], &one);
        ctt_horizon_add(sum, &one);
    }
out:
    ctt_motion_free(&motion);
    return rc;
}

int ctt_measure_csv(const struct ctt_measure *m, const char *path)
{
    size_t room = CSV_LINE * ((size_t)m->rows + 2);
    char *text = ctt_calloc(room, 1);
    int n = 0, rc = 0;

    CTT_TRY(text ? 0 : CTT_ENOMEM);
    n += snprintf(text, room, CTT_MEASURE_BEGIN "mse_x1000,psnr,ssim_range1,"
                  "ssim_range2,last_frame_mse_x1000,linear_motion_mse_x1000\n");
    for (int i = 0; i <= m->rows; i++) {
        struct ctt_horizon a = ctt_horizon_mean(m->row, m->rows, i);
        if (a.windows && i < m->rows)
            n += snprintf(text + n, room - (size_t)n, "%d", i + 1);
        else if (a.windows)
            n += snprintf(text + n, room - (size_t)n, "mean");
        if (a.windows)
            n += snprintf(text + n, room - (size_t)n,
                          ",%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", a.windows,
                          1e3 * a.mse, a.psnr, a.ssim, a.ssim2, 1e3 * a.last,
                          1e3 * a.linear);
    }
    CTT_TRY(ctt_file_replace(path, (const uint8_t *)text, n));
out:
    ctt_free(text);
    return rc;
}
