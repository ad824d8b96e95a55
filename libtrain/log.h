/* SPDX-License-Identifier: Apache-2.0
 * log.h: a row an epoch, as CSV and as a JSON object a line. */
#ifndef CTT_LOG_H
#define CTT_LOG_H

#include "libtrain/train.h"

struct ctt_log;

/* more: add to what is there.  The paths are the settings', or NULL. */
int ctt_log_open(const struct ctt_train_cfg *cfg, int more,
                 struct ctt_log **out);
int ctt_log_row(struct ctt_log *l, const struct ctt_epoch *e);
int ctt_log_close(struct ctt_log **l);

#endif
