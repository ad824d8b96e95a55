/* SPDX-License-Identifier: Apache-2.0
 * onednn_open.c: the symbol that the program loads oneDNN's module by, and the
 * functions of the device that the module borrows. */
#include "device/cpu/conv/onednn/onednn_module.h"
#include "device/cpu/conv/providers.h"
#include "base/module.h"

static struct ctt_onednn_host host;

void *ctt_dev_scratch(struct ctt_dev *d, size_t bytes)
{
    return host.scratch(d, bytes);
}

void ctt_team_close(struct ctt_team **t)
{
    host.team_close(t);
}

int ctt_dev_used(const struct ctt_dev *d)
{
    return host.used(d);
}

void ctt_dev_tasks(struct ctt_dev *d, int threads, int64_t tasks, ctt_task *f,
                   void *arg)
{
    host.tasks(d, threads, tasks, f, arg);
}

/* The module's other names are hidden. */
__attribute__((visibility("default"))) ctt_module_get ctt_module_onednn;
const void *ctt_module_onednn(const struct ctt_host *h)
{
    if (h->version != CTT_MODULE_VERSION)
        return NULL;
    ctt_host_set(h);
    host = *(const struct ctt_onednn_host *)h->more;
    return &ctt_conv_onednn;
}
