/* SPDX-License-Identifier: Apache-2.0
 * store.h: constants and parts of the model file (doc/format.md), shared by
 * file_write.c, file_read.c, file_weights.c and index.c. */
#ifndef CTT_STORE_H
#define CTT_STORE_H

#include "net/file/file.h"

#define CTT_STORE_FORMAT "convtt"
#define CTT_STORE_DECISION "decision"
#define CTT_STORE_LEAST  "0.2"    /* the oldest convtt that reads these */

enum {
    CTT_STORE_VERSION = 2,
    CTT_STORE_NET     = 1 << 20,  /* bytes of text, at most */
    CTT_STORE_TEXT    = 1 << 24,  /* of any other one */
    CTT_STORE_LINE    = 512,      /* of a line of an index */
};

/* The most weights that a file of that size may have: a pruned weight takes
 * almost no bytes, so without a limit a small file could request all memory. */
static inline int64_t ctt_store_most(int64_t bytes)
{
    return (INT64_C(1) << 24) + 4096 * bytes;
}

/* file_check.c: loads the bytes of a file and compares them with the model that
 * was written: CTT_EIO if they differ in anything. */
int ctt_store_check(const char *path, const uint8_t *p, int64_t size,
                    const struct ctt_model *m);

/* index.c: the texts /index and /train/index. */
struct ctt_entry {
    struct ctt_stored s;
    uint32_t          crc;
};

/* The line of weight k of a node; returns its length. */
int ctt_index_print(const struct ctt_node *n, int k, const struct ctt_entry *e,
                    char line[CTT_STORE_LINE]);

/* Parses the text, which is modified; it must have one line per weight of the
 * net, in the same order.  The caller frees *out. */
int ctt_index_parse(char *text, const struct ctt_graph *g,
                    struct ctt_entry **out, int *count);

/* The same for an array of the training state, without its data.  parse reads
 * one line and moves *text after it; returns 1, or 0 at the end. */
int ctt_index_print_array(const struct ctt_array *a, uint32_t crc,
                          char line[CTT_STORE_LINE]);
int ctt_index_parse_array(char **text, struct ctt_array *a, uint32_t *crc);

/* file_weights.c: reads the weights of m, whose entries are e[count], from f.
 * *plain: 1 if they are plain datasets, which are compared with those of `like`
 * if it is given.  CTT_EFORMAT, CTT_EIO. */
struct ctt_h5;
int ctt_store_weights(struct ctt_h5 *f, struct ctt_model *m,
                      const struct ctt_model *like, const struct ctt_entry *e,
                      int count, int *plain);

/* file_late.c: decodes the bytes of one weight to floats. */
int ctt_store_decode(const char *path, const struct ctt_entry *e,
                     const uint8_t *in, const struct ctt_tensor *shape,
                     float *to);

/* The list of weights that stay in f, with room for `count`; 1 if weight k of a
 * node is to be one; the next one, whose bytes begin at `at`; plain: they are
 * its floats. */
int  ctt_store_late_begin(struct ctt_h5 *f, int count, struct ctt_model *m);
int  ctt_store_is_late(const struct ctt_model *m, const struct ctt_node *n,
                       int k);
void ctt_store_late_add(struct ctt_model *m, const struct ctt_entry *e,
                        const struct ctt_tensor *shape, int64_t at, int plain);

/* Puts the path of f before the messages of other modules. */
#define CTT_IN_FILE(f, expr)                                            \
    do {                                                                \
        rc = (expr);                                                    \
        if (rc < 0) {                                                   \
            rc = ctt_error(rc, "%s: %s", ctt_h5_path(f), ctt_errmsg()); \
            goto out;                                                   \
        }                                                               \
    } while (0)

#endif
