/* SPDX-License-Identifier: Apache-2.0
 * offload.h: values of windows that leave the memory of the device after their
 * forward pass and come back before their backward pass: to the host's memory
 * or to a file without a name, while other windows are computed. */
#ifndef CTT_OFFLOAD_H
#define CTT_OFFLOAD_H

#include "device/memory.h"

struct ctt_offload;

/* Windows lie in `slots` places of the device's memory, of at most so many
 * bytes each, and leave for `bytes` bytes.  folder: of the file; "": the host's
 * memory. */
struct ctt_offload_spec {
    struct ctt_dev *dev;
    const char     *folder;
    int             slots;
    int64_t         each, bytes;
};

/* CTT_EIO or CTT_ENOMEM if there is no room for all of it. */
int  ctt_offload_open(const struct ctt_offload_spec *s,
                      struct ctt_offload **out);
void ctt_offload_close(struct ctt_offload **o);

/* Begins to copy what is in a slot, `bytes` bytes at mem, to offset `at` of
 * what has left; and to copy it back.  Only after ctt_offload_ready() of the
 * slot. */
int  ctt_offload_out(struct ctt_offload *o, int slot, char *mem, int64_t at,
                     int64_t bytes);
int  ctt_offload_in(struct ctt_offload *o, int slot, char *mem, int64_t at,
                    int64_t bytes);

/* Later calls of the device may read and write the slot: its last copy is over.
 * CTT_EIO if that or an earlier one failed. */
int  ctt_offload_ready(struct ctt_offload *o, int slot);

/* The same of all slots, whatever failed: their memory may be freed. */
void ctt_offload_rest(struct ctt_offload *o);

/* Seconds a byte, and of that those in which the calling thread computes, as
 * measured by copying `bytes` bytes at mem there and back; of a file with the
 * disk, and the bus before it, not with the memory that the system keeps files
 * in. */
struct ctt_offload_rate { double out, in, busy; };
int  ctt_offload_measure(struct ctt_offload *o, char *mem, int64_t bytes,
                         struct ctt_offload_rate *rate);

#endif
