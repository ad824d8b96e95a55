/* SPDX-License-Identifier: Apache-2.0
 * int8_unit_tmpl.h: a unit of values for int8_tmpl.h, where all channels of a
 * register read the same: 32 bits.  The file that includes it has defined elem,
 * xvec, a register of units, and SPREAD(unit), which makes one. */

static inline int64_t unit_stride(const struct ctt_int8_job *j)
{
    (void)j;
    return sizeof(int32_t) / sizeof(elem);
}

static inline xvec load_values(const elem *x, int r)
{
    int32_t unit;

    (void)r;
    memcpy(&unit, x, sizeof(unit));
    return SPREAD(unit);
}
