/* SPDX-License-Identifier: Apache-2.0
 * onnx.h: an ONNX file in memory: what its messages say, checked, and what an
 * import makes of it.  All memory is that of its arenas.
 *
 * Functions that meet what convtt's language cannot say return CTT_EUNSUP, and
 * the message of ctt_errmsg() is the reason without the name of the node; the
 * import goes on, so that it can list them all.  Every other error ends it. */
#ifndef CTT_ONNX_H
#define CTT_ONNX_H

#include "exchange/onnx/arena.h"
#include "exchange/onnx/wire.h"

enum {
    CTT_ONNX_RANK  = 8,           /* axes of a tensor */
    CTT_ONNX_OLDEST = 6,          /* versions of the operators */
    CTT_ONNX_NEWEST = 28,
};
#define CTT_ONNX_FILE_MOST (INT64_C(1) << 31)    /* bytes: less than that */
#define CTT_ONNX_COUNT_MOST (INT64_C(1) << 40)   /* elements of a tensor */

/* Types of elements, as the files number them. */
enum ctt_onnx_type {
    CTT_ONNX_FLOAT = 1, CTT_ONNX_UINT8, CTT_ONNX_INT8, CTT_ONNX_UINT16,
    CTT_ONNX_INT16, CTT_ONNX_INT32, CTT_ONNX_INT64, CTT_ONNX_STRING,
    CTT_ONNX_BOOL, CTT_ONNX_FLOAT16, CTT_ONNX_DOUBLE, CTT_ONNX_UINT32,
    CTT_ONNX_UINT64, CTT_ONNX_BFLOAT16 = 16
};

/* A constant.  data: count elements in row-major order, each lowest byte first,
 * at any address: bytes of the file, or of the arena. */
struct ctt_onnx_tensor {
    int            type, rank;    /* enum ctt_onnx_type */
    int64_t        dim[CTT_ONNX_RANK], count;
    const uint8_t *data;
};

/* An attribute: those of the values that its kind has. */
struct ctt_onnx_attr {
    const char *name;
    float       f;
    int64_t     i;
    const char *s;
    int         graph, strings;   /* 1: it is a graph; strings */
    int64_t     floats, ints;     /* how many */
    const float   *fs;
    const int64_t *is;
    const struct ctt_onnx_tensor *t;
};

struct ctt_onnx_node {
    const char *name, *op, *domain;
    int         nin, nout, attrs;
    int        *in, *out;         /* values; -1: left out */
    struct ctt_onnx_attr *attr;
    int         needed;           /* the answer depends on it */
};

/* The knowledge of a value.  NEW: nothing yet.  CONSTANT: t.  LIVE: computed
 * from the input; t has its shape, place says where its numbers lie.  LOST:
 * made by a node that cannot be imported, of unknown shape. */
enum ctt_onnx_known { CTT_ONNX_NEW, CTT_ONNX_CONSTANT, CTT_ONNX_LIVE,
                      CTT_ONNX_LOST };

struct ctt_onnx_value {
    const char *name;
    enum ctt_onnx_known known;
    struct ctt_onnx_tensor t;
    int      maker;               /* the node that makes it, or -1 */
    int      readers;             /* inputs of needed nodes, and the answer */
    int      input;               /* 1: of the graph */
    int      said;                /* 1: the file says rank and dims, which are
                                     -1 where they vary; 2: also `type` */
    int      rank, type;
    int64_t  dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *place;
    int      folds;               /* of its line when it was set: what is
                                     folded in later changes the line's value */
};

/* A node that cannot be imported. */
struct ctt_onnx_fault { const char *node, *op, *reason; };

struct ctt_onnx {
    const char            *path;
    struct ctt_arena       arena;
    struct ctt_arena       data;    /* elements of constants */
    uint8_t               *file;
    int64_t                size;
    int                    opset;
    struct ctt_onnx_node  *node;
    int                    nodes;
    struct ctt_onnx_value *value;
    int                    values, room;
    int                   *slot, slots;    /* a hash table: value + 1 */
    int                   *input, inputs;  /* values without a constant */
    int                   *output, outputs;
    struct ctt_onnx_line  *line;
    int                    lines, line_room;
    struct ctt_onnx_fault *fault;
    int                    faults, fault_room;
    int                    several; /* 1: the answer's classes do not exclude
                                       each other */
    const char            *at;      /* name of the node being imported */
};

/* read.c: reads the file at path and checks names, order and versions.  Free it
 * also after an error. */
int  ctt_onnx_read(const char *path, struct ctt_onnx *o);
void ctt_onnx_free(struct ctt_onnx *o);

/* read_tensor.c: a TensorProto; *name: its name, or NULL. */
int  ctt_onnx_read_tensor(struct ctt_onnx *o, struct ctt_wire w,
                          const char **name, struct ctt_onnx_tensor *t);

/* external.c: `count` bytes of the file `name` beside the model, which must be
 * a plain name and no link, from an offset on. */
int  ctt_onnx_external(struct ctt_onnx *o, const char *name, int64_t at,
                       int64_t count, const uint8_t **out);

/* values.c: the value of that name, which is added if it is new; negative: out
 * of memory.  find: -1: there is none. */
int  ctt_onnx_value_of(struct ctt_onnx *o, const char *name);
int  ctt_onnx_find(const struct ctt_onnx *o, const char *name);

/* check.c: each value is made once and before it is read; opsets are known;
 * nodes on which the answer depends are marked, readers are counted. */
int  ctt_onnx_check(struct ctt_onnx *o);
void ctt_onnx_mark(struct ctt_onnx *o, int answer);

/* tensor.c: bytes of an element, 0 for types that have no numbers; a new tensor
 * of that type and shape, whose product is checked; an element as a number. */
int     ctt_onnx_size(int type);
int     ctt_onnx_is_whole(int type);
int     ctt_onnx_new(struct ctt_onnx *o, int type, int rank, const int64_t *dim,
                     struct ctt_onnx_tensor *out, uint8_t **data);
int     ctt_onnx_count(const char *what, int rank, const int64_t *dim,
                       int64_t *count);
double  ctt_onnx_number(const struct ctt_onnx_tensor *t, int64_t i);
int64_t ctt_onnx_whole(const struct ctt_onnx_tensor *t, int64_t i);
void    ctt_onnx_put(int type, uint8_t *data, int64_t i, double x);
void    ctt_onnx_put_whole(int type, uint8_t *data, int64_t i, int64_t x);

/* attr.c: an attribute of a node by its name, or what stands for it.  ints:
 * NULL and *n = 0 if there is none. */
const struct ctt_onnx_attr *ctt_onnx_attr(const struct ctt_onnx_node *n,
                                          const char *name);
int64_t     ctt_onnx_int(const struct ctt_onnx_node *n, const char *name,
                         int64_t none);
float       ctt_onnx_float(const struct ctt_onnx_node *n, const char *name,
                           float none);
const char *ctt_onnx_word(const struct ctt_onnx_node *n, const char *name,
                          const char *none);
const int64_t *ctt_onnx_ints(const struct ctt_onnx_node *n, const char *name,
                             int64_t *count);

/* CTT_EUNSUP: the node has an attribute that is none of these words; NULL: no
 * word. */
int  ctt_onnx_knows(const struct ctt_onnx_node *n, const char *words);

/* An axis counted from the end if negative; CTT_EUNSUP: there is none. */
int  ctt_onnx_axis(int64_t axis, int rank, int *out);

/* Axes of an attribute `axes` or, in newer versions, of input k; a bit each;
 * `none` where neither is given. */
int  ctt_onnx_axes(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   int k, int rank, unsigned none, unsigned *out);

/* Input k of a node, or NULL if it is left out. */
static inline struct ctt_onnx_value *ctt_onnx_in(const struct ctt_onnx *o,
                                                 const struct ctt_onnx_node *n,
                                                 int k)
{
    return k < n->nin && n->in[k] >= 0 ? &o->value[n->in[k]] : NULL;
}

/* The constant of input k; NULL: it is left out or no constant. */
static inline const struct ctt_onnx_tensor *
ctt_onnx_constant(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                  int k)
{
    struct ctt_onnx_value *v = ctt_onnx_in(o, n, k);

    return v && v->known == CTT_ONNX_CONSTANT ? &v->t : NULL;
}

/* fold.c: computes a node all of whose inputs are constants, or that asks for a
 * shape only.  folds: 1 if it is such a node; foldable: 1 if it would be one
 * with constants. */
int  ctt_onnx_foldable(const struct ctt_onnx_node *n);
int  ctt_onnx_folds(const struct ctt_onnx *o, const struct ctt_onnx_node *n);
int  ctt_onnx_fold(struct ctt_onnx *o, const struct ctt_onnx_node *n);

/* pattern.c: sets of nodes that exporters write for one function become one
 * node: x * sigmoid(x), hard swish and hard sigmoid by Clip, GELU by Erf. */
int  ctt_onnx_patterns(struct ctt_onnx *o);

/* ops.c: translates a node to lines. */
int  ctt_onnx_translate(struct ctt_onnx *o, struct ctt_onnx_node *n);

/* inputs.c.  s: "NAME=1,3,224,224 ...", the shapes that --input-shape gives, or
 * NULL.  CTT_EINVAL: no such input, or another shape than that in the file. */
int ctt_onnx_set_shapes(struct ctt_onnx *o, const char *s);

/* Makes a line of each input that the answer depends on; leaves out the others.
 * CTT_EINVAL: a shape is not known; CTT_EUNSUP: one that no line says. */
int ctt_onnx_make_inputs(struct ctt_onnx *o);

#endif
