/* SPDX-License-Identifier: Apache-2.0
 * train_opt.h: the options and the manual page of convtt-train. */
#ifndef CTT_TRAIN_OPT_H
#define CTT_TRAIN_OPT_H

#include "base/opt.h"

extern const struct ctt_program ctt_train_program;

#endif
