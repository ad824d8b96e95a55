/* SPDX-License-Identifier: Apache-2.0
 * failure.c: the first error of several steps that are all done, whatever
 * becomes of the others. */
#include "tools/shared/tool.h"

void ctt_failure_note(struct ctt_failure *f, int rc)
{
    if (rc >= 0 || f->rc)
        return;
    f->rc = rc;
    f->why = ctt_strdup(ctt_errmsg());
}

int ctt_failure_tell(struct ctt_failure *f)
{
    int rc = f->rc;

    if (rc)
        ctt_error(rc, "%s", f->why ? f->why : "out of memory");
    ctt_free(f->why);
    *f = (struct ctt_failure){ 0 };
    return rc;
}
