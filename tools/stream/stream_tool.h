/* SPDX-License-Identifier: Apache-2.0
 * stream_tool.h: functions and structures of convtt-infer --stream. */
#ifndef CTT_STREAM_TOOL_H
#define CTT_STREAM_TOOL_H

#include "base/ctt.h"
#include "infer/infer.h"
#include "net/graph.h"
#include "video/live/live.h"

#include <pthread.h>

/* ---- infer_stream.c ---- */

enum ctt_reset_on { CTT_RESET_NEVER, CTT_RESET_CUT };
extern const char *const ctt_behind_words[], *const ctt_reset_words[];

struct ctt_stream_set {
    int         on, realtime, behind, reset_on, reconnects;
    const char *list;    /* of --streams, or NULL */
    const char *raw, *background, *events, *exec, *draw;
    double      timeout, reset_after, sliding;         /* seconds */
    double      enter, leave;                          /* leave 0: by enter */
    double      smooth, least, merge, stats, limit;    /* seconds */
};

/* Returns 1 with --stream or --streams. */
int ctt_stream_is_on(const struct ctt_stream_set *s);

/* Fails for contradictory settings and for a wrong number of sources: one, or
 * none with a list.  path: the model and the sources. */
int ctt_stream_check(const struct ctt_stream_set *s, char **path, int paths);

/* Returns the sources: the operand after the model, or those of the list; none
 * without the options.  Fails for a wrong list, and for output files that
 * cannot be written or are read. */
int ctt_stream_sources(const struct ctt_stream_set *s, char **path,
                       struct ctt_live_list *out);

/* Returns the settings of events for a model; CTT_EINVAL if it lacks the class
 * --background.  threshold: of its classes, or NULL; where it was calibrated
 * it takes the place of a --threshold that is not given. */
int ctt_stream_events(const struct ctt_stream_set *s,
                      const struct ctt_infer *m, const float *threshold,
                      struct ctt_events_set *out);

/* Returns rc; replaces the path at the beginning of its message by its public
 * name (ctt_live_name()), as an address given for a clip or a model may have a
 * password. */
int ctt_stream_redact(const char *path, int rc);

/* ---- wakeup.c ---- */

/* One thread waits for any of many others. */
struct ctt_wakeup {
    pthread_mutex_t lock;
    pthread_cond_t  news;
    int             rung, made;
};

/* CTT_ENOMEM: no lock.  close accepts zeros. */
int  ctt_wakeup_open(struct ctt_wakeup *b);
void ctt_wakeup_close(struct ctt_wakeup *b);

/* Any thread may call ring.  wait returns after a ring since the last wait, or
 * after a twentieth of a second. */
void ctt_wakeup_ring(struct ctt_wakeup *b);
void ctt_wakeup_wait(struct ctt_wakeup *b);

/* ---- hook.c ---- */

/* Most commands at once; most bytes of a text: a pipe of Linux holds so many.
 * */
enum { CTT_HOOK_ROOM = 4, CTT_HOOK_TEXT = 65536 };

struct ctt_hook;

/* A command of the user, run by /bin/sh -c in a process group of its own, which
 * is killed when the command ends or after `limit` seconds, background
 * processes included.  Commands inherit no open file; their standard output
 * goes to standard error. */
int  ctt_hook_open(const char *command, double limit, struct ctt_hook **out);

/* Starts the command with the text as standard input and the variables
 * (NAME=VALUE, then NULL) in its environment; neither becomes part of the
 * command line.  Returns at once: 1: started; 0: CTT_HOOK_ROOM are running, or
 * 4096 of all hooks; CTT_EIO: the text is too long or the system refuses. */
int  ctt_hook_run(struct ctt_hook *h, const char *text, char *const *variable);

/* Reaps commands that have ended and kills those beyond their limit, without
 * waiting.  Returns the number of running commands. */
int  ctt_hook_look(struct ctt_hook *h);

/* Number of commands that failed or were killed so far. */
int64_t ctt_hook_failed(const struct ctt_hook *h);

/* Returns 1 and a line (below size bytes) on the oldest failure not yet
 * returned, or 0.  Of many failures at once some are only counted. */
int  ctt_hook_tell(struct ctt_hook *h, char *to, size_t size);

/* Kills the commands of all hooks; async-signal-safe, for the handler of a
 * signal that ends the program. */
void ctt_hook_kill_all(void);

/* Waits for running commands, at most `seconds` and their limit, and kills the
 * rest; commands still alive a second later are left. */
void ctt_hook_wait(struct ctt_hook *h, double seconds);

/* Kills running commands. */
void ctt_hook_close(struct ctt_hook **h);

/* ---- event_out.c ---- */

/* First bytes of a line of JSON, and so of a file of events. */
#define CTT_EVENT_LINE_BEGIN "{\"event\":\""

/* Destinations of events; NULL: none. */
struct ctt_event_to {
    const char *file, *command;
    double      limit;     /* seconds for a command */
    int         json;      /* JSON on standard output */
    int         named;     /* without json: lines begin with the stream, in
                              so many columns; 0: they do not */
};

/* An event and the rest of its line. */
struct ctt_event_line {
    const struct ctt_event *event;
    const char             *name;      /* of its class */
    const char             *stream;
    double                  wall;      /* time of the line: seconds since
                                          1970 */
};

struct ctt_event_out;

/* Creates the file, or opens it to append lines, and locks it; CTT_EIO if
 * another program writes it. */
int  ctt_event_out_open(const struct ctt_event_to *to,
                        struct ctt_event_out **out);

/* Writes a line to all destinations, without buffering.  CTT_EIO if the file
 * cannot be written, once: later lines skip it; the caller tests standard
 * output. A command that cannot run causes a note. */
int  ctt_event_out_put(struct ctt_event_out *o, const struct ctt_event_line *l);

/* Reaps commands and ends those beyond their limit; any thread calls it from
 * time to time. */
void ctt_event_out_look(struct ctt_event_out *o);

/* Waits some seconds for the commands and ends the rest.  missed: events
 * without a command, as too many were running; failed: commands with another
 * status than 0.  No other thread may call look any more. */
void ctt_event_out_wait(struct ctt_event_out *o, int64_t *missed,
                        int64_t *failed);
void ctt_event_out_close(struct ctt_event_out **o);

/* ---- live_watch.c ---- */

struct ctt_live;
struct ctt_watch;

/* Counts and times of streams.  A thread prints a line each `every` seconds, to
 * standard error, or with json an object to standard output (0: none), and
 * calls look(arg), unless NULL, about ten times a second. */
struct ctt_watch_set {
    int                    streams;
    const char *const     *name;     /* of each stream, the caller's */
    int                    apart;    /* a line per stream and one for all */
    int64_t                bytes;    /* memory of a stream in the model */
    double                 every;
    int                    json;
    void                 (*look)(void *arg);
    void                  *arg;
};
int  ctt_watch_open(const struct ctt_watch_set *set, struct ctt_watch **out);
void ctt_watch_close(struct ctt_watch **w);

/* Counted by one thread, without allocation: a stream was opened (its source is
 * read until it is over); a step of frames took ms; a frame of a stream was in
 * the step; an answer came ms after its frame; a reset of --sliding; an event;
 * the end of a stream, with a word for its state that stays the caller's. */
void ctt_watch_source(struct ctt_watch *w, int stream, struct ctt_live *live);
void ctt_watch_step(struct ctt_watch *w, double ms);
void ctt_watch_frame(struct ctt_watch *w, int stream);
void ctt_watch_answer(struct ctt_watch *w, int stream, double ms);
void ctt_watch_slide(struct ctt_watch *w, int stream);
void ctt_watch_event(struct ctt_watch *w, int stream);
void ctt_watch_over(struct ctt_watch *w, int stream, const char *state);

/* Frames decoded of all streams so far. */
int64_t ctt_watch_decoded(struct ctt_watch *w);

/* Ends the thread: no lines and no calls of look after it. */
void ctt_watch_stop(struct ctt_watch *w);

/* Stops and prints all counts and times to standard output.  missed, failed: of
 * --exec. */
int  ctt_watch_total(struct ctt_watch *w, int64_t missed, int64_t failed);

/* ---- live_places.c ---- */

/* The states of a model for several streams: a session each, or one batch. */
struct ctt_places;

/* Places 0 to count - 1.  session: of place 0, the caller's; the other places
 * get new ones; NULL: one batch. */
int  ctt_places_open(const struct ctt_infer *m, struct ctt_session *session,
                     int count, struct ctt_places **out);
void ctt_places_close(struct ctt_places **p);

/* The next frame of a place begins a stream; or the place has no stream. */
int  ctt_places_reset(struct ctt_places *p, int place);
int  ctt_places_leave(struct ctt_places *p, int place);

/* A pointer for each place; NULL: no frame now, or no answer wanted.  CTT_ENAN
 * if an answer is not finite; read of a batch writes all others. */
int  ctt_places_push(struct ctt_places *p, const uint8_t *const *frames);
int  ctt_places_read(struct ctt_places *p, float *const *probs);

/* Returns 1 and the decision of a place's stream, or 0; CTT_ENAN is of this
 * place alone. */
int  ctt_places_decided(const struct ctt_places *p, int place,
                        struct ctt_infer_decision *out);

/* Bytes of a place, without weights. */
int64_t ctt_places_bytes(const struct ctt_places *p);

/* ---- live_draw.c ---- */

/* A picture and the text on it. */
struct ctt_drawn {
    const uint8_t *picture;       /* h x w x 3 bytes */
    int            h, w;
    int64_t        skipped;       /* frames skipped before it */
    double         time;          /* seconds */
    const char    *event;         /* class of the current event, or NULL */
    char *const   *name;          /* of classes */
    const float   *probs;
    const int     *order;         /* the best classes */
    int            top;           /* number of classes, as far as a quarter of
                                     the height has room; 0: no answer yet */
};

struct ctt_drawer;

/* A video of `fps` frames per second, in the size of its first picture, scaled
 * by a whole number to 320 to 640 pixels.  Frames go to a temporary file beside
 * path, not to memory. */
int  ctt_drawer_open(const char *path, double fps, struct ctt_drawer **out);
int  ctt_drawer_put(struct ctt_drawer *d, const struct ctt_drawn *p);
/* Gives the file its name; without pictures there is no file. */
int  ctt_drawer_finish(struct ctt_drawer **d);
void ctt_drawer_close(struct ctt_drawer **d);    /* writes nothing */

/* ---- infer_live.c ---- */

struct ctt_infer_set;

/* Pointers stay the caller's. */
struct ctt_live_with {
    const struct ctt_infer_set   *set;
    const struct ctt_infer       *m;
    struct ctt_session           *session;    /* of the first source; others get
                                                 new ones; NULL: one batch */
    const struct ctt_input       *in;
    char *const                  *label;      /* the model's classes */
    int                           classes;
    const float                  *threshold;  /* of each class of a model whose
                                                 clips have several labels;
                                                 else NULL */
    const struct ctt_live_list *sources;
    double                        clip;       /* seconds of the clips of the
                                                 training; 0: not known */
};

/* Runs until all sources have ended or failed, or the user stops the program,
 * and prints the counts.  A failed source of a list is named in a line, the
 * others go on, and the result is CTT_EIO.  CTT_EINVAL: a wrong option or name
 * of a source. */
int ctt_live_run(const struct ctt_live_with *with);

/* ---- live_one.c ---- */

/* Shared by all sources of a run. */
struct ctt_live_share {
    const struct ctt_live_with *with;
    struct ctt_event_out       *out;
    struct ctt_watch           *watch;
    struct ctt_places          *places;
    int                         apart;    /* 1: lines name the source (lists) */
    int                         width;    /* of the column of names */
};

/* Places of a source: two with --sliding, else one.  Both get all frames; every
 * half of --sliding one is reset, in turns, and the other one answers, as it
 * has seen at least that half. */
struct ctt_live_past {
    int    first, places;
    int    answers, reset;    /* the place that answers, and the last one reset,
                                 from 0 */
    double half, next;        /* seconds */
};

struct ctt_live_one {
    const struct ctt_live_share *share;
    int                    number;      /* of all sources */
    const char            *name;
    struct ctt_live       *source;      /* NULL: it is over */
    struct ctt_live_past   past;
    struct ctt_events     *events;
    struct ctt_events_set  rule;        /* of them */
    int64_t                told;        /* events */
    struct { int label; double p, enter, time; }
                           nearest;     /* the smoothed probability that came
                                           closest to its threshold */
    float                 *probs;
    int                   *order;
    int64_t                seen;        /* frames since the last restart */
    int                    answered;    /* 1: the last frame has an answer */
    int                    decided;     /* 1: since the last restart */
    int                    going;       /* class of the current event, or -1 */
    struct ctt_live_frame  frame;       /* the last one */
    int                    has, due;    /* a frame in this turn, an answer */
    int                    lost, lame;  /* the source has failed; the model has
                                           no finite answer */
};

/* number: of the source, from 0.  The caller opens the source afterwards. */
int  ctt_live_one_open(const struct ctt_live_share *share, int number,
                       const char *name, struct ctt_live_one *out);
void ctt_live_one_close(struct ctt_live_one *o);

/* Prints a line that names the source. */
void ctt_live_one_say(const struct ctt_live_one *o, const char *line);

/* begin, before a frame is pushed: resets the model if the frame begins anew,
 * and for --sliding.  pushed, after it: finds whether an answer is due. */
int  ctt_live_one_begin(struct ctt_live_one *o);
int  ctt_live_one_pushed(struct ctt_live_one *o);

/* --decide: prints a decision made by this frame, once per restart of the
 * stream. */
int  ctt_live_one_decide(struct ctt_live_one *o);

/* The place that answers. */
int  ctt_live_one_place(const struct ctt_live_one *o);

/* Prints the answer o->probs to the frame, and its events. */
int  ctt_live_one_answer(struct ctt_live_one *o);

/* Ends the current events. */
int  ctt_live_one_finish(struct ctt_live_one *o);

/* Prints why a source that has ended had no event. */
void ctt_live_one_missed(const struct ctt_live_one *o);

#endif
