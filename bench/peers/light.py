#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""light.py PACK FOLDER ADD GAIN: the clips of a pack of frames as a camera in
other light would have taken them: each byte v becomes 255 (ADD + GAIN v / 255),
rounded and limited to a byte.  Writes a folder of frames for each clip and
FOLDER/list.txt, from which convtt-data packs them.  Needs h5py and numpy."""
import os
import struct
import sys

import h5py
import numpy as np


def write_clip(folder, frames):
    os.makedirs(folder)
    h, w = frames.shape[1:3]
    pad = -3 * w % 4
    size = h * (3 * w + pad)
    head = struct.pack("<2sIIIIiiHHIIIIII", b"BM", 54 + size, 0, 54, 40, w, -h,
                       1, 24, 0, size, 2835, 2835, 0, 0)
    for t, frame in enumerate(frames):
        rows = frame[:, :, ::-1].reshape(h, 3 * w)
        with open(f"{folder}/{t:05d}.bmp", "wb") as out:
            out.write(head + np.pad(rows, ((0, 0), (0, pad))).tobytes())


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    pack, folder, add, gain = sys.argv[1:]
    v = np.arange(256) / 255
    table = np.clip(np.rint(255 * (float(add) + float(gain) * v)), 0, 255)
    os.makedirs(folder)
    with h5py.File(pack) as f, open(f"{folder}/list.txt", "w") as lines:
        names = bytes(f["labels"][:]).split(b"\0")
        for i, (label, _, fps, _, _) in enumerate(f["index"][:]):
            clip = f"{folder}/{i:05d}"
            write_clip(clip, table.astype(np.uint8)[f[f"clip/{i}"][:]])
            lines.write(f"{os.path.abspath(clip)}#@{fps / 2**24:g} "
                        f"{names[label].decode()}\n")


if __name__ == "__main__":
    main()
