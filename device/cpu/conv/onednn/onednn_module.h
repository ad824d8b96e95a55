/* SPDX-License-Identifier: Apache-2.0
 * onednn_module.h: oneDNN's provider as a module (base/module.h), whose content
 * is its struct ctt_conv_provider. */
#ifndef CTT_ONEDNN_MODULE_H
#define CTT_ONEDNN_MODULE_H

#include "device/dev.h"

/* Functions of the device for the module, in addition to struct ctt_host. */
struct ctt_onednn_host {
    void *(*scratch)(struct ctt_dev *d, size_t bytes);
    void  (*team_close)(struct ctt_team **t);
    int   (*used)(const struct ctt_dev *d);
    void  (*tasks)(struct ctt_dev *d, int threads, int64_t tasks, ctt_task *f,
                   void *arg);
};

#endif
