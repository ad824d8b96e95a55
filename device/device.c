/* SPDX-License-Identifier: Apache-2.0
 * device.c: the list of devices; opening and closing one, its settings and its
 * scratch memory. */
#include "device/dev.h"
#include "base/module.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name and kind, best first; kind NULL: a module (base/module.h),
 * loaded when the device is opened. */
#define DEVICES(X) X("cpu", &ctt_dev_cpu) X("cuda", NULL) X("ref", &ctt_dev_ref)

#define ROW(name, kind) { name, kind },
#define NAME(name, kind) name,
static const struct {
    const char                *name;
    const struct ctt_dev_kind *kind;
} devices[] = { DEVICES(ROW) };

static int taken;    /* ctt_gpus_take() */

const char *const ctt_dev_names[] = { DEVICES(NAME) NULL };

const char ctt_dev_help[] = "device: the processor, a GPU, or plain C for "
                            "reference";

static int find_kind(const char *name, const struct ctt_dev_kind **out)
{
    const void *what;
    size_t i = 0;
    int rc = 0;

    while (i < CTT_LEN(devices) && strcmp(devices[i].name, name) != 0)
        i++;
    CTT_CHECK(i < CTT_LEN(devices), CTT_EINVAL, "no device '%s' is built in",
              name);
    *out = devices[i].kind;
    if (*out)
        goto out;
    rc = ctt_module_load(name, NULL, &what);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "device %s: %s", name, ctt_errmsg()));
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

void ctt_dev_close(struct ctt_dev **d)
{
    if (!*d)
        return;
    if ((*d)->own)
        ctt_peers_leave(*d);
    if ((*d)->own && (*d)->kind->close)
        (*d)->kind->close(*d);
    ctt_team_close(&(*d)->team);
    ctt_free((*d)->scratch);
    ctt_free(*d);
    *d = NULL;
}

int ctt_dev_own_threads(struct ctt_dev *d)
{
    if (d->team || d->threads == 1 || !d->kind->memory->shared)
        return 0;
    d->used = d->threads;
    return ctt_team_open(d->threads, &d->team);
}

void ctt_dev_use(struct ctt_dev *d, int threads)
{
    d->used = threads;
}

int ctt_dev_used(const struct ctt_dev *d)
{
    int most = ctt_team_size(d->team);

    if (!d->team)
        return d->threads;
    return d->used < most ? d->used : most;
}

int ctt_dev_threads(const struct ctt_dev *d)
{
    return d->threads;
}

void ctt_dev_deterministic(struct ctt_dev *d, int on)
{
    d->deterministic = on;
}

void ctt_dev_streams(struct ctt_dev *d, int streams)
{
    d->streams = streams;
}

void *ctt_dev_scratch(struct ctt_dev *d, size_t bytes)
{
    if (bytes > d->room || !d->scratch) {
        char *p = ctt_calloc(bytes, 1);
        if (!p)
            return NULL;
        ctt_free(d->scratch);
        d->scratch = p;
        d->room = bytes;
    }
    return d->scratch;
}

void ctt_dev_forget(struct ctt_dev *d, void **cache)
{
    if (*cache && d->kind->forget)
        d->kind->forget(*cache);
    *cache = NULL;
}

const char *ctt_dev_impl(const struct ctt_dev *d, void *cache,
                         enum ctt_pass pass)
{
    return cache && d->kind->impl ? d->kind->impl(cache, pass) : "plain";
}

const char *ctt_dev_why(const struct ctt_dev *d, void *cache,
                        enum ctt_pass pass)
{
    return cache && d->kind->why ? d->kind->why(cache, pass) : "";
}
