/* SPDX-License-Identifier: Apache-2.0
 * smpi.c: the module convtt-mpi as a part of a program for SimGrid's SMPI
 * (Degomme and others 2017), which simulates ranks and their network in one
 * process. */
#include "base/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const void *ctt_module_mpi(const struct ctt_host *host);

static char text[512];

static int verror(int code, const char *fmt, va_list ap)
{
    vsnprintf(text, sizeof(text), fmt, ap);
    return code;
}

static const char *errmsg(void)
{
    return text;
}

/* SMPI gives large blocks of all ranks the same memory if it is asked to. */
static void *alloc(size_t count, size_t size)
{
    return calloc(count, size);
}

static void release(void *p)
{
    free(p);
}

static const struct ctt_host host = { CTT_MODULE_VERSION, verror, errmsg, alloc,
                                      release, NULL };

/* Errors before the module is loaded need it, too. */
__attribute__((constructor))
static void start(void)
{
    ctt_host_set(&host);
}

int ctt_module_load(const char *name, const void *more, const void **out)
{
    (void)more;
    *out = strcmp(name, "mpi") == 0 ? ctt_module_mpi(&host) : NULL;
    return *out ? 0 : CTT_EUNSUP;
}
