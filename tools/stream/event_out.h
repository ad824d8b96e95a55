/* SPDX-License-Identifier: Apache-2.0
 * event_out.h: what becomes of events: lines on standard output, a file, and a
 * command of the user. */
#ifndef CTT_EVENT_OUT_H
#define CTT_EVENT_OUT_H

#include "infer/infer.h"
#include "base/ctt.h"

/* How a line of JSON begins, by which a file of them is known. */
#define CTT_EVENT_LINE_BEGIN "{\"event\":\""

/* Where events go; NULL: not there. */
struct ctt_event_to {
    const char *file, *command;
    double      limit;     /* seconds that the command may take */
    int         json;      /* lines on standard output are JSON */
    int         named;     /* else they begin with the stream */
};

/* An event and what a line says besides. */
struct ctt_event_line {
    const struct ctt_event *event;
    const char             *name;      /* of its class */
    const char             *stream;
    double                  wall;      /* when it was told: seconds since
                                          1970 */
};

struct ctt_event_out;

/* The file is made, or lines are appended to it, and locked: CTT_EIO if another
 * program writes it. */
int  ctt_event_out_open(const struct ctt_event_to *to,
                        struct ctt_event_out **out);

/* Prints a line, which is at once where it shall be.  CTT_EIO if the file
 * cannot be written, once: later lines are not for it; standard output is the
 * caller's to test.  A command that cannot run is a note. */
int  ctt_event_out_put(struct ctt_event_out *o, const struct ctt_event_line *l);

/* To be called now and then by any thread: takes note of commands that ended,
 * and ends those that take too long. */
void ctt_event_out_look(struct ctt_event_out *o);

/* Waits for the commands, some seconds at most, and ends the others.  missed:
 * events for which no command was run; failed: commands
 * that did not end with 0.  No other thread may look by then. */
void ctt_event_out_wait(struct ctt_event_out *o, int64_t *missed,
                        int64_t *failed);
void ctt_event_out_close(struct ctt_event_out **o);

#endif
