/* SPDX-License-Identifier: Apache-2.0
 * strip.c: pictures inside a text file. */
#include "tools/report/page.h"
#include "video/save.h"

char *ctt_base64(const uint8_t *p, int64_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                                "uvwxyz0123456789+/";
    char *text = ctt_calloc((size_t)(n + 2) / 3 * 4 + 1, 1), *to = text;

    for (int64_t i = 0; text && i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 |
                     (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? (unsigned)p[i + 2] : 0);

        for (int k = 0; k < 4; k++)
            *to++ = i + k <= n ? digit[v >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

int ctt_page_picture(FILE *f, const char *path, const uint8_t *data, int w,
                     int h, int c, const char *words)
{
    uint8_t *png = NULL;
    char *text = NULL;
    int64_t size;
    int rc;

    CTT_TRY(ctt_png_encode(path, data, w, h, c, &png, &size));
    CTT_TRY((text = ctt_base64(png, size)) ? 0 : CTT_ENOMEM);
    fprintf(f, "<img alt=\"");
    ctt_page_text(f, words);
    fprintf(f, "\" src=\"data:image/png;base64,%s\">\n", text);
out:
    ctt_free(png);
    ctt_free(text);
    return rc;
}
