/* SPDX-License-Identifier: Apache-2.0
 * offload.h: values of windows that leave the memory of the device after their
 * forward pass and come back before their backward pass: to the host's memory
 * or to a file without a name, while other windows are computed. */
#ifndef CTT_OFFLOAD_H
#define CTT_OFFLOAD_H

#include "device/memory.h"

struct ctt_offload;

/* Windows lie in `slots` places of the device's memory, of at most `each`
 * bytes, and are copied to `bytes` bytes.  folder: of the file; "": the host's
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

/* out: begins to copy the content of a slot, `bytes` bytes at mem, to offset
 * `at` of the offloaded bytes.  in: begins to copy it back.  Only after
 * ctt_offload_ready() of the slot. */
int  ctt_offload_out(struct ctt_offload *o, int slot, char *mem, int64_t at,
                     int64_t bytes);
int  ctt_offload_in(struct ctt_offload *o, int slot, char *mem, int64_t at,
                    int64_t bytes);

/* Makes later calls of the device wait for the last copy of the slot, which
 * they may then read and write.  CTT_EIO if that copy or an earlier one failed.
 * */
int  ctt_offload_ready(struct ctt_offload *o, int slot);

/* The same for all slots, also after failures: their memory may be freed. */
void ctt_offload_rest(struct ctt_offload *o);

/* Seconds a byte, measured by copying `bytes` bytes at mem out and in; busy: of
 * these the ones in which the calling thread computes.  For a file the disk and
 * its bus are measured, not the system's cache of files. */
struct ctt_offload_rate { double out, in, busy; };
int  ctt_offload_measure(struct ctt_offload *o, char *mem, int64_t bytes,
                         struct ctt_offload_rate *rate);

#endif
