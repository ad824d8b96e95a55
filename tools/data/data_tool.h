/* SPDX-License-Identifier: Apache-2.0
 * data_tool.h: functions and structures shared by the files of convtt-data. */
#ifndef CTT_DATA_TOOL_H
#define CTT_DATA_TOOL_H

#include "base/limits.h"
#include "base/opt.h"
#include "base/telling.h"
#include "tools/shared/output.h"
#include "video/source.h"

/* ---- data_mnist.c ---- */

struct ctt_mnist_job {
    int         sequences, frames, digits, seed;
    const char *split;
};

/* Writes sequences of the MNIST digits at path to the pack out. */
int ctt_mnist_pack(const struct ctt_mnist_job *j, const char *path,
                   const char *out);

/* ---- data_opt.c ---- */

/* Settings of all commands; each command has options for some of them. */
struct ctt_data_cfg {
    int   clips, size, seed, workers, max_frames, strict;
    int   test;             /* synth */
    const char *out, *model, *split, *classes, *background, *actions;
    const char *backbone, *nodes;    /* features */
    float fps;
    struct ctt_mnist_job mnist;
    struct ctt_limits limits;
    struct ctt_telling telling;
};

/* Indices of ctt_data_program.commands. */
enum ctt_data_command { CTT_DATA_SYNTH, CTT_DATA_MNIST, CTT_DATA_PACK,
                        CTT_DATA_FEATURES, CTT_DATA_CHECK, CTT_DATA_LIST,
                        CTT_DATA_COMMANDS };

extern const struct ctt_program ctt_data_program;

/* ---- data_check.c ---- */

/* Small frames, as they are only decoded. */
extern const struct ctt_input ctt_check_input;

/* Decodes every clip of s in `workers` threads, prints the error of each bad
 * clip and adds their number to *bad.  sum: gets the checksum of each good
 * clip's frames; zeros before.  Fails if out of memory or stopped. */
int ctt_check_clips(const struct ctt_source *s, int workers, uint64_t *sum,
                    int *bad);

/* ---- data_text.c ---- */

/* Prints how many lines and symbols a text has, or how often each symbol
 * comes.  CTT_EINVAL: an option that text has no use for. */
int ctt_data_text(const struct ctt_data_cfg *c, const char *path, int every);

/* ---- data_pack.c ---- */

/* Packs: files of decoded clips. */
extern const struct ctt_output_kind ctt_output_pack;

/* Decodes the clips at path in c->workers threads and writes them to the pack
 * c->out in their order. */
int ctt_data_pack(const struct ctt_data_cfg *c, const char *path);

/* The same with the maps of a backbone. */
int ctt_data_features(const struct ctt_data_cfg *c, const char *path);

#endif
