/* SPDX-License-Identifier: Apache-2.0
 * scan.h: reads each clip of a set once. */
#ifndef CTT_SCAN_H
#define CTT_SCAN_H

#include "libtrain/data/data.h"

/* Reads each clip of the source's list once, with d->workers threads: fills
 * d->clip and d->longest, and keeps frames in memory while d->room allows.  Bad
 * clips are counted in d->skipped and reported to ev->clip; with d->strict a
 * bad clip is an error.  ev may be NULL. */
int ctt_data_scan(struct ctt_data *d, const struct ctt_events *ev);

#endif
