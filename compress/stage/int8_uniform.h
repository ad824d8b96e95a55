/* SPDX-License-Identifier: Apache-2.0
 * int8_uniform.h: equal ranges of channels. */
#ifndef CTT_INT8_UNIFORM_H
#define CTT_INT8_UNIFORM_H

#include "compress/stage.h"

/* One step is for all channels of a tensor, so a channel of small values has
 * few of its bytes.  Where depthwise convs of take[], which will read bytes,
 * alone read the result of a conv or deconv, perhaps through a relu or pools,
 * divides each of its channels by a power of two, which makes its range (99.9%
 * of its absolute values on clips) that of the tensor's largest channel, and
 * multiplies the weights that read it (cross-layer equalisation, Nagel and
 * others 2019), in m itself: it then answers as before, to the bit, as long as
 * no number is near the smallest that floats can be.  Before a relu6 a channel
 * grows until its largest value on the clips would meet the 6; larger ones are
 * clipped there.  Writes the ratios of the largest to the smallest range before
 * and after to the rows of weights. Errors as of ctt_responses(). */
int  ctt_int8_uniform(const struct ctt_walk *k, struct ctt_model *m,
                      const char *take);

#endif
