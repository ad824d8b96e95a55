/* SPDX-License-Identifier: Apache-2.0
 * failure.h: the first error of several steps that are all done, whatever
 * becomes of the others. */
#ifndef CTT_FAILURE_H
#define CTT_FAILURE_H

#include "base/ctt.h"

/* Of zeros before the first step. */
struct ctt_failure { int rc; char *why; };

/* Keeps rc and its message if it is the first negative one. */
void ctt_failure_note(struct ctt_failure *f, int rc);

/* Returns what was kept, with its message again, or 0; frees it. */
int  ctt_failure_tell(struct ctt_failure *f);

#endif
