/* SPDX-License-Identifier: Apache-2.0
 * duplicates.c: warnings of clips that a data set has twice. */
#include "tools/shared/training.h"
#include "tools/shared/tool.h"

static const char *plural(int n)
{
    return n > 1 ? "s have" : " has";
}

void ctt_tool_duplicates(const char *what, const struct ctt_duplicates *r)
{
    if (r->other)
        ctt_tool_warn("%s: %d clip%s the frames of another one but another "
                      "class, such as %s", what, r->other, plural(r->other),
                      r->rivals);
    if (r->same)
        ctt_tool_warn("%s: %d clip%s the frames of another one, such as %s",
                      what, r->same, plural(r->same), r->twins);
}
