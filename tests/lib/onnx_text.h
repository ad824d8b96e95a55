/* SPDX-License-Identifier: Apache-2.0
 * onnx_text.h: a file of ONNX as lines of text, read by the wire format alone.
 */
#ifndef CTT_TEST_ONNX_TEXT_H
#define CTT_TEST_ONNX_TEXT_H

#include "base/ctt.h"

/* A message, a part of a file. */
struct wire { const uint8_t *p, *end; };

/* A field of a message: its number and kind, and its value. */
struct wire_field {
    int         number, kind;
    uint64_t    value;
    struct wire bytes;    /* of kind 2 */
};

/* The next field; 0 behind the last one.  What is no message fails the test. */
int wire_next(struct wire *m, struct wire_field *f);

/* The first field of that number; value 0 and no bytes: there is none. */
struct wire_field wire_find(struct wire m, int number);

/* An initialiser: its shape, and its bytes in the file. */
struct onnx_tensor {
    char           name[80];
    int            type, rank;
    int64_t        dim[8];
    struct wire    raw;
};

/* Finds an initialiser of the graph in file[size]; 0: there is none. */
int onnx_tensor(const uint8_t *file, int64_t size, const char *name,
                struct onnx_tensor *out);

/* The value of a property; "" if there is none. */
const char *onnx_property(const uint8_t *file, int64_t size, const char *key);

/* Inputs, nodes and outputs of the graph, one a line:
 *
 *     in x 1,2,4,4
 *     Conv x a/w a/b -> a group=1 pads=1,1,1,1
 *     out y 1,3
 *
 * An unnamed constant, which is called /N, stands as its numbers in brackets,
 * and any other result called /N as that.  The text stays until the next
 * call. */
const char *onnx_text(const uint8_t *file, int64_t size);

#endif
