/* SPDX-License-Identifier: Apache-2.0
 * int8_depthwise_tmpl.h: how depthwise convs are laid out for int8_tmpl.h: each
 * pixel has, of each channel, the UNIT values that begin there. */

static void plan(struct ctt_int8_job *j)
{
    j->groups = 1;
    j->ins = j->outs = j->c->out.c;
    j->pixel = UNIT * ctt_align(j->ins, REGS * LANES);
    j->apart = UNIT * REGS * LANES;
}
