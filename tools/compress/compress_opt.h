/* SPDX-License-Identifier: Apache-2.0
 * compress_opt.h: the options and the manual page of convtt-compress. */
#ifndef CTT_COMPRESS_OPT_H
#define CTT_COMPRESS_OPT_H

#include "base/opt.h"

/* All options, of the stages, of retraining and of files, as fields of struct
 * ctt_compress_cfg. */
int ctt_compress_options(struct ctt_opt tab[CTT_OPT_MAX + 1]);

/* Without its table of options. */
extern const struct ctt_program ctt_compress_program;

#endif
