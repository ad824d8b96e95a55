/* SPDX-License-Identifier: Apache-2.0
 * int8_depthwise_tmpl.h: layout of depthwise convs for int8_tmpl.h: each pixel
 * has, for each channel, the UNIT values that begin there. */

static void one_group_plan(struct ctt_int8_job *j)
{
    j->groups = 1;
    j->ins = j->outs = j->c->out.c;
    j->pixel = UNIT * ctt_align(j->ins, REGS * LANES);
    j->apart = UNIT * REGS * LANES;
}
