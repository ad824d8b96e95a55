/* SPDX-License-Identifier: Apache-2.0
 * open.c: the table of devices, and opening one of them by its name. */
#include "device/dev.h"
#include "device/kept.h"
#include "base/module.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name, capabilities and kind, best first; kind NULL: a module (base/module.h),
 * loaded when the device is opened. */
#define DEVICES(X) \
    X("cpu", CTT_DEV_THREADS | CTT_DEV_HALF, &ctt_dev_cpu) \
    X("cuda", CTT_DEV_OWN_MEMORY | CTT_DEV_PEERS | CTT_DEV_HALF | \
      CTT_DEV_TF32, NULL) \
    X("ref", CTT_DEV_THREADS | CTT_DEV_HALF, &ctt_dev_ref)

#define ROW(name, can, kind) { name, can, kind },
#define NAME(name, can, kind) name,
static const struct {
    const char                *name;
    unsigned                   can;     /* enum ctt_dev_capability */
    const struct ctt_dev_kind *kind;
} devices[] = { DEVICES(ROW) };

static int taken;    /* ctt_gpus_take() */

const char *const ctt_dev_names[] = { DEVICES(NAME) NULL };

const char ctt_dev_help[] = "device: the processor, a GPU, or plain C for "
                            "reference";

/* The row of that name; CTT_LEN(devices): there is none. */
static size_t find_device(const char *name)
{
    size_t i = 0;

    while (i < CTT_LEN(devices) && strcmp(devices[i].name, name) != 0)
        i++;
    return i;
}

int ctt_dev_has(const char *name, enum ctt_dev_capability what)
{
    size_t i = name ? find_device(name) : CTT_LEN(devices);

    return i < CTT_LEN(devices) && (devices[i].can & what);
}

static int find_kind(const char *name, const struct ctt_dev_kind **out)
{
    const void *what;
    size_t i = find_device(name);
    int rc = 0;

    CTT_CHECK(i < CTT_LEN(devices), CTT_EINVAL, "no device '%s' is built in",
              name);
    *out = devices[i].kind;
    if (*out)
        goto out;
    rc = ctt_module_load(name, &ctt_dev_host, &what);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "device %s: %s%s", name, ctt_errmsg(),
                          rc == CTT_EUNSUP && !strncmp(ctt_errmsg(), "no ", 3)
                          ? "; configure --with-cuda builds it where CUDA is "
                          "(INSTALL.md)" : ""));
    *out = what;
out:
    return rc;
}

int ctt_dev_open(const char *name, int threads, struct ctt_dev **out)
{
    struct ctt_dev *d = NULL;
    int rc = 0;

    CTT_CHECK(name, CTT_EINVAL, "no device is named");
    CTT_CHECK(threads >= 0 && threads <= 4096, CTT_EINVAL,
              "device %s: %d threads", name, threads);
    d = ctt_calloc(1, sizeof(*d));
    CTT_CHECK(d, CTT_ENOMEM, "device %s: out of memory", name);
    CTT_TRY(find_kind(name, &d->kind));
    d->threads = threads ? threads : omp_get_num_procs();
    d->streams = 1;
    d->number = taken;
    CTT_TRY(d->kind->open(d));
    *out = d;
    d = NULL;
out:
    ctt_dev_close(&d);
    return rc;
}

int ctt_gpus_list(const char *device, struct ctt_gpu out[CTT_GPUS])
{
    const struct ctt_dev_kind *kind = NULL;
    int rc;

    CTT_TRY(find_kind(device, &kind));
    rc = kind->list ? kind->list(out) : 0;
out:
    return rc;
}

void ctt_gpus_take(int number)
{
    taken = number;
}

const char *ctt_gpus_alone(char *text, size_t size)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");

    for (int k = 0; list && *list && k < taken; k++)
        list += strcspn(list, ",") + (strchr(list, ',') != NULL);
    if (list && *list)
        snprintf(text, size, "%.*s", (int)strcspn(list, ","), list);
    else
        snprintf(text, size, "%d", taken);
    return text;
}
