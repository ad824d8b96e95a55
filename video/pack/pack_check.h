/* SPDX-License-Identifier: Apache-2.0
 * pack_check.h: reading a new pack again before it gets its name. */
#ifndef CTT_PACK_CHECK_H
#define CTT_PACK_CHECK_H

#include "net/file/h5_in.h"
#include "base/newfile.h"
#include "video/pack/packfile.h"

/* How HDF5 opens the file of a pack on disk; negative if it fails. */
herr_t ctt_pack_access(hid_t fapl);

/* CTT_EIO unless f, closed by HDF5, holds p: our reader and HDF5 find the same
 * index, texts and places of clips in it, and each clip has its checksum. */
int    ctt_pack_check(const struct ctt_pack *p, const struct ctt_newfile *f);

#endif
