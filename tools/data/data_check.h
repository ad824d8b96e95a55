/* SPDX-License-Identifier: Apache-2.0
 * data_check.h: convtt-data check: decodes every clip and names the bad ones.
 */
#ifndef CTT_DATA_CHECK_H
#define CTT_DATA_CHECK_H

#include "video/source.h"

/* Small frames, because they are only decoded, not used. */
extern const struct ctt_input ctt_check_input;

/* Decodes every clip of s in `workers` threads, prints the error of each bad
 * one and adds their number to *bad.  sum: the checksum of each good clip's
 * frames; zeros before.  Fails if out of memory or stopped. */
int ctt_check_clips(const struct ctt_source *s, int workers, uint64_t *sum,
                    int *bad);

#endif
