/* SPDX-License-Identifier: Apache-2.0
 * files.h: which paths name the same file, and model texts. */
#ifndef CTT_FILES_H
#define CTT_FILES_H

#include "net/graph.h"

/* 1 if path names a model text (NAME.net), not a model file. */
int  ctt_tool_is_net(const char *path);

/* Reads and parses the model text at path; an error names the file. */
int  ctt_tool_net(const char *path, struct ctt_graph **out);

/* 1 if both paths are given and name the same file; of files that do not exist
 * yet the folder and the name are compared. */
int  ctt_tool_same_file(const char *a, const char *b);

/* 1 if a source opened at data (a path or mnist:DIR) may read the file. */
int  ctt_tool_reads(const char *data, const char *file);

#endif
