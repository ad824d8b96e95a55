/* SPDX-License-Identifier: Apache-2.0
 * data_mnist.c: convtt-data mnist: writes sequences of moving digits to a pack.
 */
#include "tools/data/data_tool.h"
#include "tools/shared/tool.h"
#include "video/video.h"

#include <stdio.h>

static void tell_sequences(int done, int all)
{
    CTT_PROGRESS(done, all, "sequence %d of %d", done, all);
}

/* Adds sequence k of the split, named seqK with leading zeros. */
static int add_one(const struct ctt_mnist_job *j, const struct ctt_mnist *m,
                   int64_t first, int k, struct ctt_frames *f,
                   struct ctt_pack *p)
{
    char id[32];
    int rc, width = snprintf(NULL, 0, "%d", j->sequences - 1);

    snprintf(id, sizeof(id), "seq%0*d", width > 4 ? width : 4, k);
    CTT_TRY(ctt_mnist_draw(m, (uint64_t)j->seed, first + k, j->digits,
                           j->frames, f->data));
    CTT_TRY(ctt_pack_add(p, id, -1, f));
out:
    return rc;
}

int ctt_mnist_pack(const struct ctt_mnist_job *j, const char *path,
                   const char *out)
{
    const struct ctt_input in = { 1, CTT_MNIST_SIDE, CTT_MNIST_SIDE, 1, 0,
        { 0 }, { 1, 1, 1 }, 1, CTT_FIT_CROP, CTT_GRAY };
    struct ctt_frames f = { NULL, j->frames, CTT_MNIST_SIDE, CTT_MNIST_SIDE, 1,
                            0 };
    struct ctt_mnist *m = NULL;
    struct ctt_pack *p = NULL;
    int64_t first;
    int rc = 0;

    ctt_tool_catch();
    CTT_TRY(ctt_mnist_first(j->split, &first));
    CTT_TRY(ctt_output_check(out, &ctt_output_pack));
    CTT_TRY(ctt_mnist_open(path, &m));
    f.data = ctt_calloc((size_t)f.count * f.h, (size_t)f.w);
    CTT_TRY(f.data ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_pack_create(out, &in, NULL, 0, &p));
    for (int k = 0; k < j->sequences; k++) {
        CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "stopped; %s is not written",
                  out);
        CTT_TRY(add_one(j, m, first, k, &f, p));
        tell_sequences(k + 1, j->sequences);
    }
    CTT_TRY(ctt_pack_finish(&p));
    ctt_tool_say("%s: %d sequences of %d frames, %d of the %d digits of %s in "
                 "each", out, j->sequences, j->frames, j->digits,
                 ctt_mnist_count(m), ctt_mnist_file(m));
out:
    ctt_pack_close(&p);
    ctt_frames_free(&f);
    ctt_mnist_close(&m);
    return rc;
}
