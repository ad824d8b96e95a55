/* SPDX-License-Identifier: Apache-2.0
 * watch.c: whoever looks at the calls of all devices. */
#include "device/dev.h"

static ctt_call_watch *watch;

void ctt_dev_watch(ctt_call_watch *f)
{
    watch = f;
}

ctt_call_watch *ctt_dev_watching(void)
{
    return watch;
}

int ctt_dev_is_timed(const struct ctt_dev *d)
{
    return d->sum || watch;
}
