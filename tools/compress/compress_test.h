/* SPDX-License-Identifier: Apache-2.0
 * compress_test.h: tests of a model before and after compression. */
#ifndef CTT_TOOL_COMPRESS_TEST_H
#define CTT_TOOL_COMPRESS_TEST_H

#include "compress/compress.h"
#include "libtrain/train.h"

/* After which shares of a clip: 25, 50 and 100%. */
extern const struct ctt_point ctt_compress_points[CTT_ACCURACIES];

/* Tests m on the clips of d.  base: of the model as given on the same clips, to
 * compare with; NULL: m is that model.  all, which may be NULL, gets the result
 * of m, which the caller frees. */
int ctt_compress_test(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      const struct ctt_events *ev,
                      const struct ctt_metrics *base, struct ctt_score *s,
                      struct ctt_metrics **all);

/* What the model of `is` loses against that of `was` on the same clips: the
 * mean over points, and over the clips that both have read. */
void ctt_compress_loss(const struct ctt_metrics *was,
                       const struct ctt_metrics *is, int clips,
                       struct ctt_loss *out);

#endif
