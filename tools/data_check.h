/* SPDX-License-Identifier: Apache-2.0
 * data_check.h: convtt-data check: decodes every clip and names the bad ones.
 */
#ifndef CTT_DATA_CHECK_H
#define CTT_DATA_CHECK_H

#include "video/source.h"

/* Small frames: the only question is whether they decode. */
extern const struct ctt_input ctt_check_input;

/* Decodes every clip of s with some threads, prints what is wrong with each bad
 * one and adds their number to *bad.  An error is lack of memory, or that the
 * user stopped it. */
int ctt_check_clips(const struct ctt_source *s, int workers, int *bad);

#endif
