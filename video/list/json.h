/* SPDX-License-Identifier: Apache-2.0
 * json.h: reads a JSON file (RFC 8259) value by value, without a tree.
 *
 * The caller reads the values in the order of the file:
 *     ctt_json_open(path, &j);
 *     ctt_json_enter(j, '{');
 *     while ((rc = ctt_json_next(j)) > 0) {
 *         ctt_json_key(j, &key);
 *         ctt_json_skip(j);
 *     }
 *     ctt_json_end(j);
 * Errors name the file and the line. */
#ifndef CTT_JSON_H
#define CTT_JSON_H

#include "base/ctt.h"

struct ctt_json;

int  ctt_json_open(const char *path, struct ctt_json **out);
void ctt_json_close(struct ctt_json **j);

/* Sets an error (CTT_EFORMAT) with the file and the line. */
int  ctt_json_error(const struct ctt_json *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Begins an object '{' or an array '['. */
int  ctt_json_enter(struct ctt_json *j, char open);

/* 1 if another element follows, 0 if the object or array ended. */
int  ctt_json_next(struct ctt_json *j);

/* key: a key and its colon; string: a string; scalar: a string, or a number as
 * text.  UTF-8, valid until ctt_json_close() (a number: until the next
 * call). */
int  ctt_json_key(struct ctt_json *j, char **out);
int  ctt_json_string(struct ctt_json *j, char **out);
int  ctt_json_scalar(struct ctt_json *j, char **out);

/* 1 if the next value begins with that: '{', '[' or '"'. */
int  ctt_json_is(struct ctt_json *j, char first);

/* The line of the file that is being read, from 1. */
int  ctt_json_line(const struct ctt_json *j);

/* Skips any value. */
int  ctt_json_skip(struct ctt_json *j);

/* Fails unless nothing but white space follows. */
int  ctt_json_end(struct ctt_json *j);

#endif
