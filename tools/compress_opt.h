/* SPDX-License-Identifier: Apache-2.0
 * compress_opt.h: the manual page of convtt-compress. */
#ifndef CTT_COMPRESS_OPT_H
#define CTT_COMPRESS_OPT_H

#include "net/opt.h"

/* Without its table of options. */
extern const struct ctt_program ctt_compress_program;

#endif
