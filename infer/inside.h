/* SPDX-License-Identifier: Apache-2.0
 * inside.h: what a session runs, for our own programs; it is not installed. */
#ifndef CTT_INSIDE_H
#define CTT_INSIDE_H

#include "infer/infer.h"
#include "run/run.h"

/* The run of a session, valid until the session is closed: its graph is that of
 * the simplified model, and its caches say which kernels computed it. */
struct ctt_run *ctt_session_run(const struct ctt_session *s);

/* The threads that its latest frames were shared by: fewer than it may have
 * where more did not pay. */
int ctt_session_threads(struct ctt_session *s);

#endif
