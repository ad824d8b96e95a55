/* SPDX-License-Identifier: Apache-2.0
 * json_out.c: writes JSON, member by member. */
#include "base/json.h"
#include "base/visible.h"

#include <inttypes.h>
#include <math.h>

/* The comma, and the name of a member. */
static FILE *separate(struct ctt_json_out *o, const char *name)
{
    if (o->more)
        fprintf(o->f, ",%s", o->gap);
    if (name)
        fprintf(o->f, "\"%s\":%s", name, o->gap);
    o->more = 1;
    return o->f;
}

void ctt_json_begin(struct ctt_json_out *o, const char *name, char open)
{
    fputc(open, separate(o, name));
    o->more = 0;
}

void ctt_json_begin_row(struct ctt_json_out *o, const char *indent)
{
    fprintf(o->f, "%s%s{", o->more ? "," : "", indent);
    o->more = 0;
}

void ctt_json_finish(struct ctt_json_out *o, char close)
{
    fputc(close, o->f);
    o->more = 1;
}

void ctt_json_put_text(struct ctt_json_out *o, const char *name, const char *s)
{
    ctt_json_put(separate(o, name), s);
}

void ctt_json_put_word(struct ctt_json_out *o, const char *name, const char *s)
{
    fputs(s, separate(o, name));
}

void ctt_json_put_int(struct ctt_json_out *o, const char *name, int64_t x)
{
    fprintf(separate(o, name), "%" PRId64, x);
}

void ctt_json_put_crc(struct ctt_json_out *o, const char *name, uint32_t x)
{
    fprintf(separate(o, name), "\"%08" PRIx32 "\"", x);
}

void ctt_json_put_real(struct ctt_json_out *o, const char *name, int digits,
                       double x)
{
    if (isfinite(x))
        fprintf(separate(o, name), "%.*g", digits, x);
    else
        ctt_json_put_word(o, name, "null");
}

void ctt_json_put_fixed(struct ctt_json_out *o, const char *name, int digits,
                        double x)
{
    if (isfinite(x))
        fprintf(separate(o, name), "%.*f", digits, x);
    else
        ctt_json_put_word(o, name, "null");
}

void ctt_json_put_reals(struct ctt_json_out *o, const char *name, int digits,
                        const double *x, int n)
{
    ctt_json_begin(o, name, '[');
    for (int i = 0; i < n; i++)
        ctt_json_put_real(o, NULL, digits, x[i]);
    ctt_json_finish(o, ']');
}
