/* SPDX-License-Identifier: Apache-2.0
 * infer_rc.h: errors of libconvtt-infer, as errors of the programs. */
#ifndef CTT_INFER_RC_H
#define CTT_INFER_RC_H

#include "infer/infer.h"
#include "base/ctt.h"

/* Returns rc.  The library keeps its own error message; if rc is an error, the
 * message becomes that of ctt_errmsg() too. */
static inline int ctt_infer_rc(int rc)
{
    return rc < 0 ? ctt_error(rc, "%s", ctt_infer_error()) : rc;
}

#endif
