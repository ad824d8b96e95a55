/* SPDX-License-Identifier: Apache-2.0
 * data_check.c: convtt-data check: decodes every clip and names the bad ones.
 */
#include "tools/data/data_tool.h"
#include "tools/shared/tool.h"

#include <pthread.h>

const struct ctt_input ctt_check_input = { 1, 16, 16, 3, 0, { 0 },
    { 1, 1, 1 }, 1, CTT_FIT_STRETCH, CTT_RGB };

struct checker {
    const struct ctt_source *s;
    int             clips;
    char          **why;
    uint64_t       *sum;
    int             next, done, rc, lacks;    /* lacks: memory, of a clip */
    pthread_mutex_t lock;
};

/* The frames of clip i, and the maps that a pack has of it. */
static int check_clip(const struct checker *k, int i)
{
    struct ctt_frames f = { 0 };
    uint8_t *maps = NULL;
    int rc;

    CTT_TRY(ctt_source_frames(k->s, i, 0, 0, &f));
    k->sum[i] = ctt_frames_sum(&f);
    if (ctt_frames_whole(&f, ctt_source_list(k->s)->item[i].path) < 0)
        ctt_tool_warn("%s", ctt_errmsg());
    if (ctt_source_maps(k->s))
        CTT_TRY(ctt_source_read_maps(k->s, i, &maps));
out:
    ctt_frames_free(&f);
    ctt_free(maps);
    return rc;
}

static void *check_worker(void *arg)
{
    struct checker *k = arg;

    for (;;) {
        int i, rc;

        pthread_mutex_lock(&k->lock);
        i = k->next < k->clips && !ctt_tool_stop() ? k->next++ : -1;
        pthread_mutex_unlock(&k->lock);
        if (i < 0)
            return NULL;
        rc = check_clip(k, i);
        if (rc < 0 && rc != CTT_ENOMEM)
            k->why[i] = ctt_strdup(ctt_errmsg());
        rc = rc < 0 && !k->why[i] ? CTT_ENOMEM : rc;
        pthread_mutex_lock(&k->lock);
        k->done++;
        if (ctt_is_lack(rc) && k->rc >= 0) {
            k->rc = rc;
            k->lacks = i;
            k->next = k->clips;
        }
        CTT_PROGRESS(k->done, k->clips, "clip %d of %d", k->done, k->clips);
        pthread_mutex_unlock(&k->lock);
    }
}

/* The error of the clip for which memory or open files lacked, if any; its
 * message is in another thread. */
static int lacked(const struct checker *k)
{
    const char *why = k->rc < 0 ? k->why[k->lacks] : NULL;

    if (k->rc >= 0)
        return 0;
    return why ? ctt_error(k->rc, "%s", why) :
           ctt_error(k->rc, "%s: out of memory for its frames (--memory)",
                     ctt_source_list(k->s)->item[k->lacks].path);
}

int ctt_check_clips(const struct ctt_source *s, int workers, uint64_t *sum,
                    int *bad)
{
    struct checker k = { .s = s, .clips = ctt_source_list(s)->count,
                         .sum = sum };
    pthread_t id[256];
    int n = 0, rc = 0;

    pthread_mutex_init(&k.lock, NULL);
    k.why = ctt_calloc((size_t)k.clips + 1, sizeof(*k.why));
    CTT_TRY(k.why ? 0 : CTT_ENOMEM);
    while (n < workers &&
           pthread_create(&id[n], NULL, check_worker, &k) == 0)
        n++;
    if (n == 0)
        check_worker(&k);
    while (n > 0)
        pthread_join(id[--n], NULL);
    CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "stopped");
    CTT_TRY(lacked(&k));
    for (int i = 0; i < k.clips; i++) {
        if (!k.why[i])
            continue;
        ctt_tool_say("%s", k.why[i]);
        ++*bad;
    }
out:
    for (int i = 0; k.why && i < k.clips; i++)
        ctt_free(k.why[i]);
    ctt_free(k.why);
    pthread_mutex_destroy(&k.lock);
    return rc;
}
