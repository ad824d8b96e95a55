/* SPDX-License-Identifier: Apache-2.0
 * together.h: a group of parts (device/device.h) that are threads of the
 * test. */
#ifndef CTT_TEST_TOGETHER_H
#define CTT_TEST_TOGETHER_H

#include "device/device.h"

enum { TOGETHER_MOST = 4 };

/* Calls f for each part, in a thread of its own.  Returns the first error;
 * parts that wait for an ended one fail.  f must not use CUnit. */
int together_run(int parts, int (*f)(void *arg, const struct ctt_group *g),
                 void *arg);

#endif
