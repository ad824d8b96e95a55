/* SPDX-License-Identifier: Apache-2.0
 * told.h: counts the clips that a data set skips and keeps the last message. */
#ifndef CTT_TEST_TOLD_H
#define CTT_TEST_TOLD_H

#include "libtrain/train.h"

#include <stdio.h>

static int told;
static char last_told[256];

static inline void on_clip(void *arg, const char *what)
{
    (void)arg;
    told++;
    snprintf(last_told, sizeof(last_told), "%s", what);
}

#endif
