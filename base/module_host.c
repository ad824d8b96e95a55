/* SPDX-License-Identifier: Apache-2.0
 * module_host.c: the functions that every module borrows from the program,
 * under the names that the rest of the module calls. */
#include "base/module.h"

static struct ctt_host host;

void ctt_host_set(const struct ctt_host *h)
{
    host = *h;
}

int ctt_error(int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    code = host.verror(code, fmt, ap);
    va_end(ap);
    return code;
}

const char *ctt_errmsg(void)
{
    return host.errmsg();
}

void *ctt_calloc(size_t count, size_t size)
{
    return host.alloc(count, size);
}

void ctt_free(void *p)
{
    (host.free)(p);    /* a macro in programs for SMPI */
}
