/* SPDX-License-Identifier: Apache-2.0
 * module.h: how the code of a device that is a module meets the program that
 * loads it.  A module links none of our libraries: the program hands it what
 * it needs, so errors and counted allocations are the program's own.  Only
 * module.c and the host.c and open.c of a module include this. */
#ifndef CTT_MODULE_H
#define CTT_MODULE_H

#include "device/dev.h"

#include <stdarg.h>

/* Raised when a struct that both sides see changes its form. */
enum { CTT_MODULE_VERSION = 2 };

struct ctt_host {
    int         version;
    int         (*verror)(int code, const char *fmt, va_list ap);
    const char *(*errmsg)(void);
    void       *(*alloc)(size_t count, size_t size);    /* ctt_calloc */
    void        (*free)(void *p);
};

/* The one symbol a module shows: its kind, or NULL if it was built for another
 * version of the program. */
const struct ctt_dev_kind *ctt_module_kind(const struct ctt_host *host);
#define CTT_MODULE_SYMBOL "ctt_module_kind"

#endif
