/* SPDX-License-Identifier: Apache-2.0
 * png.c: writes a picture as a file. */
#include "base/newfile.h"
#include "video/save.h"

int ctt_save_png(const char *path, const uint8_t *data, int w, int h, int c)
{
    uint8_t *png = NULL;
    int64_t size = 0;
    int rc;

    CTT_TRY(ctt_png_encode(path, data, w, h, c, &png, &size));
    CTT_TRY(ctt_file_replace(path, png, size));
out:
    ctt_free(png);
    return rc;
}
