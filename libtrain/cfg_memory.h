/* SPDX-License-Identifier: Apache-2.0
 * cfg_memory.h: the settings --keep, --offload, --window and --memory, and the
 * memory of a training with them. */
#ifndef CTT_CFG_MEMORY_H
#define CTT_CFG_MEMORY_H

#include "libtrain/train.h"
#include "run/back/exec.h"

struct ctt_task_kind;

/* ---- cfg_memory.c ---- */

/* Reads the four settings.  CTT_EINVAL: a bad value, or --keep=N without
 * --window. */
int  ctt_memory_parse(const struct ctt_train_cfg *cfg, struct ctt_memory *out);
/* 1 with --keep=auto. */
int  ctt_memory_auto(const struct ctt_train_cfg *cfg);

/* ---- memory_advice.c ---- */

/* Describes the chosen windows in a line.  Returns 1 if the user should see it:
 * --keep=auto chose them, not all values are stored, or a norm gets the
 * statistics of less than the clip. */
int  ctt_memory_tell(const struct ctt_train_cfg *cfg,
                     const struct ctt_memory_plan *p, char *line, size_t size);
/* After CTT_ENOMEM: writes settings that would fit into the device's memory,
 * "; would fit: --shards=4, --amp=O1", or "" if none would.
 * longest: frames of the longest clip. */
void ctt_memory_advise(const struct ctt_task_kind *task,
                       const struct ctt_graph *model,
                       const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                       int longest, char *text, size_t size);

#endif
