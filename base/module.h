/* SPDX-License-Identifier: Apache-2.0
 * module.h: modules: code that is loaded when it is first asked for, since it
 * needs large libraries that most runs do without.  A module links none of our
 * libraries: the program hands it their functions, so errors, limits and
 * counted allocations are the program's own. */
#ifndef CTT_NET_MODULE_H
#define CTT_NET_MODULE_H

#include "base/ctt.h"

#include <stdarg.h>

/* Raised when a struct that both sides see changes its form. */
enum { CTT_MODULE_VERSION = 12 };

/* more: further functions for this kind of module, a struct that its own header
 * declares, or NULL. */
struct ctt_host {
    int         version;
    int         (*verror)(int code, const char *fmt, va_list ap);
    const char *(*errmsg)(void);
    void       *(*alloc)(size_t count, size_t size);    /* ctt_calloc */
    void        (*free)(void *p);
    const void *more;
};

/* The one symbol that the module NAME exports, ctt_module_NAME.  Returns the
 * table of the module's kind, such as a struct ctt_dev_kind; NULL: the module
 * was built for another version of the program. */
typedef const void *ctt_module_get(const struct ctt_host *host);

/* *out: the table of the module convtt-NAME.so.  The first call loads the
 * module; it stays, as its libraries cannot be unloaded.  Searched are the
 * folders of the environment variable CTT_MODULES (between colons) if it is
 * set; else .libs of the build folder that the program is part of, which a file
 * there says with its path; the folder that configure was given; and
 * ../lib/convtt of the program's.  But for the second a file must belong, with
 * its folder, to root, the user or the program's owner, and must not be
 * writable by everybody.
 * CTT_EUNSUP: the module is missing, broken or of another version. */
int ctt_module_load(const char *name, const void *more, const void **out);

/* module_host.c, in a module: sets the functions of the program by which the
 * module reports errors and allocates. */
void ctt_host_set(const struct ctt_host *host);

#endif
