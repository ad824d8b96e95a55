/* SPDX-License-Identifier: Apache-2.0
 * board.h: files of events that TensorBoard reads: records of protocol buffers
 * (tensorflow's event.proto and summary.proto), each with its masked CRC-32C.
 */
#ifndef CTT_BOARD_H
#define CTT_BOARD_H

#include "base/ctt.h"

struct ctt_board;

/* Makes a folder unless it is there: CTT_EIO if no file can be made in it. */
int  ctt_board_folder(const char *dir);

/* A new file events.out.tfevents.TIME.N.convtt in such a folder.  Events of
 * older files of the folder from `step` on no longer count, as that step comes
 * again: a folder is of one run.  CTT_EIO, CTT_ENOMEM. */
int  ctt_board_open(const char *dir, int64_t step, struct ctt_board **out);

/* Values of the next event: a number (left out if it is not finite); how the n
 * numbers at x are spread; a picture, the `size` bytes of a PNG of w x h pixels
 * of c colours, 1 or 3. */
void ctt_board_number(struct ctt_board *b, const char *tag, double x);
void ctt_board_spread(struct ctt_board *b, const char *tag, const float *x,
                      int64_t n);
void ctt_board_picture(struct ctt_board *b, const char *tag,
                       const uint8_t *png, int64_t size, int w, int h, int c);

/* Appends the event and brings it to the file: CTT_EIO, or an earlier
 * CTT_ENOMEM. */
int  ctt_board_write(struct ctt_board *b, int64_t step);
int  ctt_board_close(struct ctt_board **b);

#endif
