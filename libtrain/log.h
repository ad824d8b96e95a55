/* SPDX-License-Identifier: Apache-2.0
 * log.h: logs of training: one CSV row and one line of JSON per epoch. */
#ifndef CTT_LOG_H
#define CTT_LOG_H

#include "libtrain/train.h"

struct ctt_log;

/* Opens --log-csv and --log-json, if they are set.  done: -1 for new logs, or
 * the epochs after which a run is resumed: rows of later epochs, which are run
 * again, and a last line that was cut short are removed first.  The first row
 * of a JSON log has the settings that are not the default.  several: clips
 * have several labels.  close: CTT_EIO if a file could not be written. */
int ctt_log_open(const struct ctt_train_cfg *cfg, int several, int done,
                 struct ctt_log **out);
int ctt_log_row(struct ctt_log *l, const struct ctt_epoch *e);
int ctt_log_close(struct ctt_log **l);

#endif
