/* SPDX-License-Identifier: Apache-2.0
 * int8_put_tmpl.h: put() of struct ctt_int8_isa, after int8_tmpl.h. */

static void put(const struct ctt_int8_job *j, int64_t block, int64_t row,
                int64_t rows, const void *sums)
{
    int64_t in = block % j->blocks * BLOCK, left = j->outs - in;
    int64_t regs = (left + LANES - 1) / LANES;
    struct ending e = ending_of(j);

    puts_of[regs < REGS ? regs : REGS](&e, row, rows, block / j->blocks *
                                       j->outs + in, block * BLOCK, left,
                                       sums);
}
