/* SPDX-License-Identifier: Apache-2.0
 * watch.c: whoever looks at the calls of all devices. */
#include "device/dev.h"
#include "base/clock.h"

static ctt_call_watch *watch;

void ctt_dev_watch(ctt_call_watch *f)
{
    watch = f;
}

ctt_call_watch *ctt_dev_watching(void)
{
    return watch;
}

void ctt_dev_in_a_row(struct ctt_dev *d, int on)
{
    d->boundary = on && watch ? ctt_seconds() : 0;
}

int ctt_dev_is_timed(const struct ctt_dev *d)
{
    return d->sum || watch;
}
