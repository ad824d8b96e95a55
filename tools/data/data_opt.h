/* SPDX-License-Identifier: Apache-2.0
 * data_opt.h: the commands of convtt-data, their options and the manual page.
 */
#ifndef CTT_DATA_OPT_H
#define CTT_DATA_OPT_H

#include "base/limits.h"
#include "base/opt.h"
#include "tools/data/data_mnist.h"

/* Settings of all commands; the options of each command set some of them. */
struct ctt_data_cfg {
    int   clips, size, seed, workers, max_frames, strict;
    const char *out, *model, *split, *classes, *background;
    float fps;
    struct ctt_mnist_job mnist;
    struct ctt_limits limits;
};

/* Indices of ctt_data_program.commands. */
enum ctt_data_command { CTT_DATA_SYNTH, CTT_DATA_MNIST, CTT_DATA_PACK,
                        CTT_DATA_CHECK, CTT_DATA_LIST, CTT_DATA_COMMANDS };

extern const struct ctt_program ctt_data_program;

#endif
