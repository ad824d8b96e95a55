/* SPDX-License-Identifier: Apache-2.0
 * inside.h: internals of a session for our own programs; not installed. */
#ifndef CTT_INSIDE_H
#define CTT_INSIDE_H

#include "infer/infer.h"
#include "run/run.h"

/* The run of a session, valid until the session is closed: its graph is that of
 * the simplified model, and its caches say which kernels computed it. */
struct ctt_run *ctt_session_run(const struct ctt_session *s);

/* Threads of the latest frames: fewer than allowed if more were not faster. */
int ctt_session_threads(struct ctt_session *s);

#endif
