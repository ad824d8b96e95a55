/* SPDX-License-Identifier: Apache-2.0
 * onednn_cut.c: into which shares a convolution is cut, by its shape. */
#include "device/cpu/conv/onednn/onednn_cut.h"

/* Multiplications that a share should have, so that the call does not show;
 * the most shares of a result; of a gradient of weights, whose shares are
 * added: the most, the floats that all of them may have, and the rows that one
 * should add up. */
enum { WORK = 1 << 19, SHARES = 32, SUMS = 8, ROOM = 1 << 24, ROWS = 64 };

static int is_line(const struct ctt_fold *f)
{
    for (int i = 0; i < 3; i++)
        if (f->kernel[i] != 1 || f->stride[i] != 1 || f->pad[i] ||
            (i < 2 && f->large[i] != 1))
            return 0;
    return f->n == 1;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct ctt_cut ctt_cut_none(const struct ctt_fold *f)
{
    int line = is_line(f);
    int64_t units = line ? f->large[2] : f->n;

    return (struct ctt_cut){ units, units, 1, line };
}

/* The most shares of a sum: a power of two, so that most numbers of threads get
 * equal numbers of them. */
static int64_t sums_of(const struct ctt_fold *f, int64_t most)
{
    int64_t rows = f->n * f->small[0] * f->small[1] * f->small[2];
    int64_t floats = f->ic / f->groups * f->oc * f->kernel[0] * f->kernel[1] *
                     f->kernel[2];
    int64_t n = 1;

    most = least(most, least(SUMS, least(rows / ROWS, ROOM / floats)));
    while (n * 2 <= most)
        n *= 2;
    return n;
}

struct ctt_cut ctt_cut_exact(const struct ctt_fold *f)
{
    struct ctt_cut c = ctt_cut_none(f);
    int64_t most = least(c.units, (int64_t)(ctt_fold_work(f) / WORK));

    most = f->way == CTT_TO_WEIGHTS ? sums_of(f, most) : least(most, SHARES);
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
