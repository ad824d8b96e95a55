/* SPDX-License-Identifier: Apache-2.0
 * module.h: code that is loaded when it is asked for first: what brings large
 * libraries, which most runs do not need.  A module links none of our
 * libraries: the program hands it what it needs, so errors, limits and counted
 * allocations are the program's own. */
#ifndef CTT_NET_MODULE_H
#define CTT_NET_MODULE_H

#include "base/ctt.h"

#include <stdarg.h>

/* Raised when a struct that both sides see changes its form. */
enum { CTT_MODULE_VERSION = 8 };

/* more: what this kind of module needs besides, a struct that its own header
 * declares, or NULL. */
struct ctt_host {
    int         version;
    int         (*verror)(int code, const char *fmt, va_list ap);
    const char *(*errmsg)(void);
    void       *(*alloc)(size_t count, size_t size);    /* ctt_calloc */
    void        (*free)(void *p);
    const void *more;
};

/* The one symbol that the module NAME shows, ctt_module_NAME: what it is, or
 * NULL if it was built for another version of the program. */
typedef const void *ctt_module_get(const struct ctt_host *host);

/* What the module convtt-NAME.so is; it is loaded by the first call and stays,
 * as its libraries cannot be unloaded.  Searched are the folders of the
 * environment's CTT_MODULES (between colons) if it is set; else those beside
 * the program, where a file counts that is, with its folder, root's, the user's
 * or of the program's owner and that not everybody may write, and the one that
 * configure was given.  CTT_EUNSUP: it is not there, is broken or of another
 * version. */
int ctt_module_load(const char *name, const void *more, const void **out);

/* module_host.c, in a module: what the functions of net that it calls do. */
void ctt_host_set(const struct ctt_host *host);

#endif
