/* SPDX-License-Identifier: Apache-2.0
 * dnn_choose.c: chooses a plan by time and keeps the choice, or by rule. */
#include "device/cuda/dnn_choose.h"
#include "device/cuda/dnn_scene.h"
#include "device/kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Least multiplications of a convolution that is timed. */
#define LEAST_WORK 0x1p24

static int is_worth_it(const struct ctt_dev *d, const struct ctt_dnn_key *key)
{
    const struct ctt_cuda *u = d->own;

    return u->has_clock && ctt_fold_work(&key->f) >= LEAST_WORK;
}

int ctt_dnn_is_timed(const struct ctt_dev *d, const struct ctt_dnn_key *key)
{
    return !key->deterministic && is_worth_it(d, key);
}

static struct ctt_dnn_site site_of(struct ctt_dev *d)
{
    const struct cudaDeviceProp *p = &ctt_cuda_of(d)->prop;

    return (struct ctt_dnn_site){ .handle = ctt_cuda_lane(d)->dnn,
                                  .capability = 10 * p->major + p->minor };
}

enum { SAID = 400 };    /* the times as text */

/* ---- the key as text ---- */

/* For readers the sizes; every byte of the key, since it is what plans are
 * found by. */
static void print_key(struct ctt_dev *d, const struct ctt_dnn_key *k,
                      char text[CTT_KEPT_KEY])
{
    static const char *const way[] = { "forward", "gradient", "weights" };
    const struct cudaDeviceProp *p = &ctt_cuda_of(d)->prop;
    const struct ctt_fold *f = &k->f;
    const unsigned char *bytes = (const unsigned char *)k;
    int n = snprintf(text, CTT_KEPT_KEY, "plan of cuDNN %zu for %.200s %d.%d: "
                     "%s %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64
                     " %" PRId64 ">%" PRId64 " kernel %" PRId64 "x%" PRId64
                     "x%" PRId64 " %s%s%s%s%s ", cudnnGetVersion(), p->name,
                     p->major, p->minor, way[f->way], f->n, f->large[0],
                     f->large[1], f->large[2], f->ic, f->oc, f->kernel[0],
                     f->kernel[1], f->kernel[2], ctt_dtype_word(k->type),
                     k->plus ? " plus" : "", k->bias ? " bias" : "",
                     k->act ? " act" : "", k->add ? " add" : "");

    for (size_t i = 0; i < sizeof(*k) && n < CTT_KEPT_KEY; i++)
        n += snprintf(text + n, (size_t)(CTT_KEPT_KEY - n), "%02x", bytes[i]);
}

/* ---- kept plans ---- */

/* Of a sum in place, in the first line of what is kept. */
static const char right[] = "in place, ", wrong[] = "not in place, ";

/* A line with the plan's name and the times, then its text, which is empty if
 * the convolution is to be computed apart. */
static void keep_choice(struct ctt_dev *d, const struct ctt_dnn_plan *p,
                        const char *said)
{
    const struct ctt_dev_host *host = ctt_cuda_of(d)->host;
    char key[CTT_KEPT_KEY], *text = NULL, *data = NULL;
    int64_t bytes = 0;
    int n;

    if (!host || (p->exec && ctt_dnn_plan_text(p, &text, &bytes) !=
                             CUDNN_STATUS_SUCCESS))
        goto out;
    data = ctt_calloc((size_t)bytes + 512, 1);
    if (!data)
        goto out;
    n = snprintf(data, 512, "%s: %s%.400s\n", p->exec ? p->impl : "apart",
                 !p->exec || !p->key.plus || p->in_place < 0 ? ""
                 : p->in_place ? right : wrong, said);
    if (bytes)
        memcpy(data + n, text, (size_t)bytes);
    print_key(d, &p->key, key);
    host->write(key, data, n + bytes);
out:
    ctt_free(text);
    ctt_free(data);
}

/* 1 if that has found something out. */
static int try_in_place(struct ctt_dev *d, struct ctt_dnn_plan *p)
{
    if (!p->exec || !p->key.plus)
        return 0;
    p->in_place = ctt_dnn_try_in_place(d, p);
    return p->in_place >= 0;
}

/* line: the first one of the kept plan p.  A sum in place that could not be
 * tried before is tried, and the plan kept with what that has found out. */
static void read_choice(struct ctt_dev *d, const char *line,
                        struct ctt_dnn_plan *p)
{
    const char *said = line + strcspn(line, " ");

    snprintf(p->impl, sizeof(p->impl), "%.*s", (int)(said - line) - 1, line);
    said += *said == ' ';
    if (strncmp(said, right, strlen(right)) == 0)
        p->in_place = 1;
    else if (strncmp(said, wrong, strlen(wrong)) != 0 && try_in_place(d, p))
        keep_choice(d, p, said);
}

struct ctt_dnn_plan *ctt_dnn_kept(struct ctt_dev *d,
                                  const struct ctt_dnn_key *key)
{
    const struct ctt_dev_host *host = ctt_cuda_of(d)->host;
    struct ctt_dnn_site site = site_of(d);
    char name[CTT_KEPT_KEY], *data = NULL, *text;
    struct ctt_dnn_plan *p = NULL;
    int64_t size = 0;

    print_key(d, key, name);
    if (!host || !is_worth_it(d, key) || !host->read(name, &data, &size))
        return NULL;
    text = strchr(data, '\n');
    if (text) {
        *text++ = 0;
        ctt_dnn_plan_restore(&site, key, text, data + size - text, &p);
    }
    if (p)
        read_choice(d, data, p);
    cudaGetLastError();
    ctt_free(data);
    return p;
}

/* ---- the choice ---- */

static void warn_of_failure(struct ctt_dev *d)
{
    const struct ctt_dev_host *host = ctt_cuda_of(d)->host;
    const char *why = ctt_dnn_compile_failure();

    if (why && host)
        host->warn("cuDNN cannot compile kernels for a convolution with what "
                   "follows it, which takes more time: %s", why);
}

/* The chosen plan, or if it is apart one without exec. */
static int choose_by_time(struct ctt_dev *d, struct ctt_dnn_plan **offer,
                          int count, const struct ctt_dnn_plan *apart,
                          struct ctt_dnn_plan **out, char said[SAID])
{
    const struct ctt_dnn_key *key = &offer[0]->key;
    int best = ctt_dnn_time(d, key, offer, count, apart, said, SAID);
    struct ctt_dnn_plan *p;
    int rc = 0;

    if (best < count) {
        p = offer[best];
        offer[best] = NULL;
    } else {
        p = ctt_calloc(1, sizeof(*p));
        CTT_CHECK(p, CTT_ENOMEM, "device cuda: out of memory");
        p->key = *key;
    }
    *out = p;
out:
    return rc;
}

/* Clears the CUDA error that a refused engine may leave behind: the next kernel
 * launch would report it. */
int ctt_dnn_choose(struct ctt_dev *d, const struct ctt_call *c,
                   const struct ctt_dnn_key *key,
                   const struct ctt_dnn_plan *apart,
                   struct ctt_dnn_plan **out)
{
    struct ctt_dnn_plan *offer[CTT_DNN_OFFERS] = { NULL };
    struct ctt_dnn_site site = site_of(d);
    char said[SAID] = "";
    int count = 0, rc = 0;

    if (ctt_dnn_is_timed(d, key))
        CTT_CUDNN(c, ctt_dnn_offers(&site, key, CTT_DNN_OFFERS, offer,
                                    &count));
    if (count)
        CTT_TRY(choose_by_time(d, offer, count, apart, out, said));
    else
        CTT_CUDNN(c, ctt_dnn_plan_new(&site, key, out));
    if (key->deterministic && (key->plus || key->bias || key->act) &&
        (*out)->exec && is_worth_it(d, key))
        snprintf(said, SAID, "by rule");    /* kept: compiled but once */
    try_in_place(d, *out);
    if (*said)
        keep_choice(d, *out, said);
    warn_of_failure(d);
out:
    cudaGetLastError();
    for (int i = 0; i < count; i++)
        if (offer[i])
            ctt_dnn_plan_free(&offer[i]);
    return rc;
}
