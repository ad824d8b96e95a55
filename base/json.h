/* SPDX-License-Identifier: Apache-2.0
 * json.h: JSON (RFC 8259): values read by the library jansson, and a writer.
 *
 * A short text (a line of a log) is one value:
 *     ctt_json_parse(path, line, text, &v);
 *     ctt_json_int(ctt_json_get(v, "epoch"), 1, INT_MAX, &epoch);
 *     ctt_json_free(&v);
 * A long file is read element by element, so that only one is in memory:
 *     ctt_json_open(path, text, &j);
 *     ctt_json_enter(j, '[');
 *     while ((rc = ctt_json_next(j)) > 0)
 *         CTT_TRY(ctt_json_value(j, &v));
 *     ctt_json_end(j);
 * Errors name the file and the line.  Text must be UTF-8 without \u0000; of two
 * members with the same key in one value the last counts. */
#ifndef CTT_JSON_H
#define CTT_JSON_H

#include "base/ctt.h"

#include <stdio.h>

/* ---- values ---- */

struct ctt_value;

/* The one value of a text, of which `line` is the first line. */
int  ctt_json_parse(const char *path, int line, const char *text,
                    struct ctt_value **out);
void ctt_json_free(struct ctt_value **v);

/* The first character of a value: '{', '[', '"', 't', 'f' or 'n'; '0' for any
 * number; 0 for NULL. */
char ctt_json_kind(const struct ctt_value *v);

/* A member of an object, or an element of an array; NULL: none.  Each getter
 * takes NULL as a value of the wrong kind. */
const struct ctt_value *ctt_json_get(const struct ctt_value *v,
                                     const char *name);
const struct ctt_value *ctt_json_at(const struct ctt_value *v, int i);

/* The number of members or elements. */
int  ctt_json_size(const struct ctt_value *v);

/* Goes through the members of an object in the order of the text: 1, or 0
 * behind the last one.  *at is NULL before the first. */
int  ctt_json_each(const struct ctt_value *v, void **at, const char **key,
                   const struct ctt_value **member);

/* The text of a string; NULL: v is none.  scalar: also that of a number,
 * written to room. */
enum { CTT_JSON_NUMBER = 32 };
const char *ctt_json_text(const struct ctt_value *v);
const char *ctt_json_scalar(const struct ctt_value *v,
                            char room[CTT_JSON_NUMBER]);

/* 1 if v is an integer in these bounds, or a number (null: `none`). */
int  ctt_json_int(const struct ctt_value *v, int low, int high, int *out);
int  ctt_json_int64(const struct ctt_value *v, int64_t low, int64_t *out);
int  ctt_json_real(const struct ctt_value *v, double none, double *out);

/* 1 if v is an array of exactly n numbers (null: `none`). */
int  ctt_json_reals(const struct ctt_value *v, double none, double *out,
                    int n);

/* 1 if v is a string of 8 hexadecimal digits. */
int  ctt_json_crc(const struct ctt_value *v, uint32_t *out);

int  ctt_json_equal(const struct ctt_value *a, const struct ctt_value *b);

/* ---- reading a file element by element ---- */

struct ctt_json;

/* Takes text over, also on failure. */
int  ctt_json_open(const char *path, char *text, struct ctt_json **out);
void ctt_json_close(struct ctt_json **j);

/* Sets an error (CTT_EFORMAT) with the file and the line of the last value. */
int  ctt_json_error(const struct ctt_json *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Begins an object '{' or an array '['. */
int  ctt_json_enter(struct ctt_json *j, char open);

/* 1 if another element follows, 0 if the object or array ended. */
int  ctt_json_next(struct ctt_json *j);

/* A key and its colon, and a whole value, each valid until the next one is
 * read; value: of the key before, if it is a member. */
int  ctt_json_key(struct ctt_json *j, const char **out);
int  ctt_json_value(struct ctt_json *j, const struct ctt_value **out);

/* 1 if the next value begins with that character. */
int  ctt_json_is(struct ctt_json *j, char first);

/* The line of the next value, from 1. */
int  ctt_json_line(struct ctt_json *j);

/* Fails unless nothing but white space follows. */
int  ctt_json_end(struct ctt_json *j);

/* ---- writing ---- */

/* Members and elements, separated by commas; gap: "" or " ", behind commas and
 * colons.  name: of a member; NULL: an element. */
struct ctt_json_out {
    FILE       *f;
    const char *gap;
    int         more;    /* a comma is due */
};

void ctt_json_begin(struct ctt_json_out *o, const char *name, char open);
void ctt_json_finish(struct ctt_json_out *o, char close);

/* Begins an object in a line of its own: indent is the line feed and blanks. */
void ctt_json_begin_row(struct ctt_json_out *o, const char *indent);

/* real: `digits` significant digits; fixed: `digits` decimals.  Both write null
 * for what is not finite.  word: true, false or null. */
void ctt_json_put_text(struct ctt_json_out *o, const char *name, const char *s);
void ctt_json_put_word(struct ctt_json_out *o, const char *name, const char *s);
void ctt_json_put_int(struct ctt_json_out *o, const char *name, int64_t x);
void ctt_json_put_crc(struct ctt_json_out *o, const char *name, uint32_t x);
void ctt_json_put_real(struct ctt_json_out *o, const char *name, int digits,
                       double x);
void ctt_json_put_fixed(struct ctt_json_out *o, const char *name, int digits,
                        double x);
void ctt_json_put_reals(struct ctt_json_out *o, const char *name, int digits,
                        const double *x, int n);

#endif
