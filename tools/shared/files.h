/* SPDX-License-Identifier: Apache-2.0
 * files.h: which paths name the same file or can be written; model texts. */
#ifndef CTT_FILES_H
#define CTT_FILES_H

#include "net/graph.h"
#include "tools/shared/output.h"

/* 1 if path names a model text (NAME.net), not a model file. */
int  ctt_tool_is_net(const char *path);

/* Reads and parses the model text at path; an error names the file. */
int  ctt_tool_net(const char *path, struct ctt_graph **out);

/* The same for a use to which mean and std do not matter: where the text says
 * auto they are 0 and 1. */
int  ctt_tool_net_plain(const char *path, struct ctt_graph **out);

/* 1 if both paths are given and name the same file; of files that do not exist
 * yet the folder and the name are compared. */
int  ctt_tool_same_file(const char *a, const char *b);

/* Finds a wrong output path before the work instead of after it; nothing is
 * changed.  CTT_EIO unless a new file could replace path now, which is tried;
 * CTT_EINVAL if a file that is there already is of another kind, so that a
 * wrong name does not cost a clip, a list or a model text. */
int  ctt_tool_can_replace(const char *path, enum ctt_tool_kind kind);

/* The same for a checkpoint; if a run that does not resume will replace one, it
 * warns. */
int  ctt_tool_can_checkpoint(const char *path, int resume);

/* The same for a file that is written in place, such as a log, which may be a
 * device or a pipe of the user's shell. */
int  ctt_tool_can_append(const char *path, enum ctt_tool_kind kind);

/* 1 if a source opened at data (a path, mnist:DIR or digits:DIR) may read the
 * file. */
int  ctt_tool_reads(const char *data, const char *file);

/* Outputs; NULL is none.  CTT_EINVAL if two of them are the same file, or if a
 * source opened at data may read one. */
int  ctt_tool_apart(const char *const *made, int n);
int  ctt_tool_spares(const char *const *made, int n, const char *data);

#endif
