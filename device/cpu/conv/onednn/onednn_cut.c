/* SPDX-License-Identifier: Apache-2.0
 * onednn_cut.c: into which shares a convolution is cut, by its shape. */
#include "device/cpu/conv/onednn/onednn_cut.h"

/* WORK: least multiplications of a share, to hide the cost of a call; SHARES:
 * most shares of a result.  For a gradient of weights, whose shares are added:
 * SUMS: most shares; ROOM: most floats of all shares; ROWS: least rows of a
 * share. */
enum { WORK = 1 << 19, SHARES = 32, SUMS = 8, ROOM = 1 << 24, ROWS = 64 };

static int is_line(const struct ctt_fold *f)
{
    for (int i = 0; i < 3; i++)
        if (f->kernel[i] != 1 || f->stride[i] != 1 || f->pad[i] ||
            (i < 2 && f->large[i] != 1))
            return 0;
    return f->n == 1;
}

static int64_t smaller_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct ctt_cut ctt_cut_none(const struct ctt_fold *f)
{
    int line = is_line(f);
    int64_t units = line ? f->large[2] : f->n;

    return (struct ctt_cut){ units, units, 1, line };
}

/* Shares of a sum: a power of two, so that most counts of threads get equal
 * loads. */
static int64_t sum_shares(const struct ctt_fold *f, int64_t most)
{
    int64_t rows = f->n * f->small[0] * f->small[1] * f->small[2];
    int64_t floats = f->ic / f->groups * f->oc * f->kernel[0] * f->kernel[1] *
                     f->kernel[2];
    int64_t n = 1;

    most = smaller_of(most, smaller_of(SUMS, smaller_of(rows / ROWS,
                                                        ROOM / floats)));
    while (n * 2 <= most)
        n *= 2;
    return n;
}

struct ctt_cut ctt_cut_exact(const struct ctt_fold *f)
{
    struct ctt_cut c = ctt_cut_none(f);
    int64_t most = smaller_of(c.units, (int64_t)(ctt_fold_work(f) / WORK));

    most = f->way == CTT_TO_WEIGHTS ? sum_shares(f, most) : smaller_of(most,
                                                                       SHARES);
    if (most > 1) {
        c.each = (c.units + most - 1) / most;
        c.shares = (c.units + c.each - 1) / c.each;
    }
    return c;
}

struct ctt_fold ctt_cut_fold(const struct ctt_cut *cut,
                             const struct ctt_fold *f, int64_t units)
{
    struct ctt_fold part = *f;

    if (cut->line)
        part.large[2] = part.small[2] = units;
    else
        part.n = units;
    return part;
}
