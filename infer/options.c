/* SPDX-License-Identifier: Apache-2.0
 * options.c: opening a model with options, the devices that are there, the
 * version, and warnings. */
#include "infer/loaded.h"
#include "base/limits.h"
#include "base/warn.h"

/* Size of the structure in the first version; members unknown to a program are
 * 0. */
#define LEAST_SIZE                                                         \
    (offsetof(struct ctt_infer_options, memory) + sizeof(int64_t))

static int limit_memory(int64_t memory)
{
    struct ctt_limits l = *ctt_limits();

    l.memory = memory;
    return ctt_limits_set(&l);
}

static int open_with(const char *path, const struct ctt_infer_options *o,
                     struct ctt_infer **out)
{
    int rc = 0;

    CTT_CHECK(o->size >= LEAST_SIZE, CTT_EINVAL,
              "options: size is %zu, not sizeof(struct ctt_infer_options)",
              o->size);
    CTT_CHECK(o->tune || !o->tune_file, CTT_EINVAL,
              "options: tune_file, but tune is 0");
    if (o->memory)
        CTT_TRY(limit_memory(o->memory));
    CTT_TRY(ctt_infer_open(path, o->device ? o->device : "cpu", o->threads,
                           out));
    if (o->type)
        CTT_TRY(ctt_infer_multiply(*out, o->type));
    if (o->tune)
        CTT_TRY(ctt_infer_tune(*out, o->tune_file));
out:
    return rc;
}

int ctt_infer_open_with(const char *path,
                        const struct ctt_infer_options *options,
                        struct ctt_infer **out)
{
    static const struct ctt_infer_options usual = { .size = sizeof(usual) };
    struct ctt_infer *m = NULL;
    int rc = 0;

    GIVEN(path);
    GIVEN(out);
    CTT_TRY(open_with(path, options ? options : &usual, &m));
    *out = m;
    m = NULL;
out:
    ctt_infer_close(&m);
    return rc;
}

const char *ctt_infer_device(int i)
{
    int n = 0;

    while (ctt_dev_names[n])
        n++;
    return i >= 0 && i < n ? ctt_dev_names[i] : NULL;
}

const char *ctt_infer_version(void)
{
    return CTT_INFER_VERSION;
}

void ctt_infer_log(void (*say)(void *arg, const char *message), void *arg)
{
    ctt_warn_to(say, arg);
}
