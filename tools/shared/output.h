/* SPDX-License-Identifier: Apache-2.0
 * output.h: output files of the programs: kinds, checks of paths, logs. */
#ifndef CTT_TOOL_OUTPUT_H
#define CTT_TOOL_OUTPUT_H

#include "base/json.h"
#include "net/model.h"

/* ---- output.c ---- */

/* A kind of output file.  Each program defines the kinds that only it writes
 * beside the code that checks their paths. */
struct ctt_output_kind {
    const char *name;                  /* "model" */
    const char *begin;                 /* the first bytes of such a file, at
                                          most CTT_OUTPUT_BEGIN; */
    int       (*is)(const char *path); /* or, if not NULL, a test of a file:
                                          1, 0, or CTT_ENOMEM */
    int         in_place;              /* 0: a new file replaces it; 1: lines
                                          are appended, also to a device or a
                                          pipe */
};
enum { CTT_OUTPUT_BEGIN = 64 };

/* Checkpoints are model files with a training state.  Pictures and videos are
 * recognised by their format alone. */
extern const struct ctt_output_kind ctt_output_model, ctt_output_checkpoint,
    ctt_output_picture, ctt_output_video;

/* Returns 1 if the file at path is of this kind, 0 or CTT_ENOMEM. */
int ctt_output_is(const char *path, const struct ctt_output_kind *kind);

/* Returns 1 if the file has this text at an offset; for tests of a kind. */
int ctt_output_has(const char *path, int64_t at, const char *text);

/* ---- models.c ---- */

/* The operand that names a model: a name without a slash that is no file here
 * becomes the path of the installed model NAME.net, NAME.h5 or NAME, if there
 * is one; else it is returned as it is.  Call it for one operand only. */
char *ctt_tool_model(char *name);

/* The same for the manual pages. */
#define CTT_MODELS_BY_NAME \
    { "MODELS BY NAME", \
      "A MODEL without a slash that is no file here is looked for among the " \
      "models that are installed: early-convttlstm stands for " \
      "early-convttlstm.net of the folder share/convtt/models. NAME.net " \
      "comes before NAME.h5." }

/* The end of an error message, "" unless it is about such a name for which
 * there was nothing. */
const char *ctt_tool_model_hint(const char *message);

/* ---- foreign.c ---- */

/* Where path ends in .onnx, *out becomes the path of a temporary model file
 * made of it, which is gone when the program ends; else it stays as it is.
 * Call it after the limits are set, for one operand only.  CTT_EUNSUP: a node
 * cannot be imported. */
int ctt_tool_import(const char *path, char **out);

/* The model of a file, without its training state; also of one whose path ends
 * in .onnx. */
struct ctt_model;
int ctt_tool_load(const char *path, struct ctt_model **out);

/* ---- files.c ---- */

/* Returns 1 if path names a model text (NAME.net), not a model file. */
int  ctt_tool_is_net(const char *path);

/* 1 if node i is a table of the symbols that the input has. */
int  ctt_node_is_table(const struct ctt_graph *g, int i);

/* 1 if the input is read by a table of symbols: a model of text. */
int  ctt_graph_reads_symbols(const struct ctt_graph *g);

/* Reads and parses the model text at path; an error names the file. */
int  ctt_tool_net(const char *path, struct ctt_graph **out);
int  ctt_tool_net_set(const char *path, const char *set,
                      struct ctt_graph **out);

/* The same, with mean 0 and std 1 for auto; for uses that do not depend on
 * them. */
int  ctt_tool_net_plain(const char *path, struct ctt_graph **out);

/* A model of a text's graph, which it takes over also if it fails; an error
 * names the file. */
int  ctt_tool_new_model(const char *path, struct ctt_graph *g,
                        struct ctt_model **out);

/* Returns 1 if both paths are given and name the same file; folder and name are
 * compared if a file does not exist yet. */
int  ctt_tool_same_file(const char *a, const char *b);

/* Says that the output will replace a model, if one is there. */
void ctt_output_say_replaced(const char *path);

/* Finds a wrong output path before the work and changes nothing; NULL is
 * right.  CTT_EIO if the file cannot be written now, which is tried; CTT_EINVAL
 * if path is a file of another kind, so that a wrong name does not cost a clip,
 * a list or a model text. */
int  ctt_output_check(const char *path, const struct ctt_output_kind *kind);

/* The same for a checkpoint; warns if a run that does not resume will replace
 * one. */
int  ctt_output_check_checkpoint(const char *path, int resume);

/* Returns 1 if a source opened at data (a path, mnist:DIR or digits:DIR) may
 * read the file. */
int  ctt_tool_reads(const char *data, const char *file);

/* CTT_EINVAL if two of the n output files are the same (NULL: no file), or if a
 * source opened at data may read one of them. */
int  ctt_tool_apart(const char *const *made, int n);
int  ctt_tool_spares(const char *const *made, int n, const char *data);

/* ---- line_log.c ---- */

/* The subject of a log. */
struct ctt_line_log_of {
    const char *option;    /* "--sense" */
    const char *begin;     /* how the file begins */
    const char *key;       /* first line, with its end: everything that results
                              depend on */
    const char *other;     /* message for another first line, after "PATH: " */
    void       *arg;
    /* Takes each other line.  Returns 1, 0 for a damaged line, or an error. */
    int       (*line)(void *arg, const struct ctt_value *line);
};

struct ctt_line_log;

/* Opens, or creates, a log for this process alone and reads it: a line of JSON
 * per result, from which a stopped run goes on.  An incomplete last line is cut
 * off.  CTT_EINVAL: no such log, or another first line; CTT_EFORMAT, naming the
 * line: a damaged line. */
int  ctt_line_log_open(const char *path, const struct ctt_line_log_of *of,
                       struct ctt_line_log **out);
void ctt_line_log_close(struct ctt_line_log **log);

/* Adds a line, with its end; print: the object that print(f, arg) writes. */
int  ctt_line_log_add(struct ctt_line_log *log, const char *line);
int  ctt_line_log_print(struct ctt_line_log *log,
                        int (*print)(FILE *f, const void *arg),
                        const void *arg);

/* A reason as a member that needs no escapes, which older versions do not read:
 * quotes, backslashes and control characters become apostrophes. */
void ctt_log_reason(struct ctt_json_out *o, const char *name, const char *s);

#endif
