/* SPDX-License-Identifier: Apache-2.0
 * kind.c: which program wrote a file of a model. */
#include "exchange/exchange.h"
#include "exchange/weights/tensors.h"
#include "base/newfile.h"

#include <string.h>
#include <unistd.h>

int ctt_foreign_kind(const char *path)
{
    uint8_t p[CTT_PTH_MAGIC_BYTES] = { 0 };
    int64_t size;
    int fd = -1, rc;

    CTT_TRY(ctt_file_open(path, &fd, &size));
    CTT_TRY(ctt_file_read_at(path, fd, 0, p, size < (int64_t)sizeof(p) ? size :
                             (int64_t)sizeof(p)));
    rc = CTT_FOREIGN_ONNX;
    if (memcmp(p, "PK\3\4", 4) == 0 ||
        memcmp(p, CTT_PTH_MAGIC, sizeof(p)) == 0)
        rc = CTT_FOREIGN_PTH;
    else if (p[8] == '{' && p[7] == 0 && p[6] == 0)
        rc = CTT_FOREIGN_SAFETENSORS;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}
