/* SPDX-License-Identifier: Apache-2.0
 * host.c: what the module has of the program, under the names that the rest of
 * it knows; and the one symbol that the program looks for. */
#include "device/cuda/core.h"
#include "device/module.h"

static struct ctt_host host;

/* The module's other names are hidden. */
__attribute__((visibility("default")))
const struct ctt_dev_kind *ctt_module_kind(const struct ctt_host *h)
{
    if (h->version != CTT_MODULE_VERSION)
        return NULL;
    host = *h;
    return &ctt_dev_cuda;
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
    host.free(p);
}
