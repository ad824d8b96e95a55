/* SPDX-License-Identifier: Apache-2.0
 * stream_tool.h: functions and structures shared by the files of convtt-infer
 * --stream. */
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

/* 1 if one of the two options was given. */
int ctt_stream_is_on(const struct ctt_stream_set *s);

/* Fails for settings that contradict each other, and for another number of
 * sources than one, or with a list any.  path: the model and the sources. */
int ctt_stream_check(const struct ctt_stream_set *s, char **path, int paths);

/* The sources, the operand behind the model or those of the list; nothing if
 * neither option is given.  Fails for a list that is wrong, and for output
 * files that cannot be written or that are read. */
int ctt_stream_sources(const struct ctt_stream_set *s, char **path,
                       struct ctt_live_list *out);

/* The settings of events for a model; CTT_EINVAL if it does not have the class
 * --background. */
int ctt_stream_events(const struct ctt_stream_set *s,
                      const struct ctt_infer *m, struct ctt_events_set *out);

/* Returns rc; in its message, if that begins with the path, is the public name
 * of that instead (ctt_live_name()): an address may have been meant for a clip
 * or a model, and have a password. */
int ctt_stream_redact(const char *path, int rc);

/* ---- wakeup.c ---- */

struct ctt_wakeup {
    pthread_mutex_t lock;
    pthread_cond_t  news;
    int             rung, made;
};

/* CTT_ENOMEM: no lock.  close: of one that is zeros, too. */
int  ctt_wakeup_open(struct ctt_wakeup *b);
void ctt_wakeup_close(struct ctt_wakeup *b);

/* Any thread rings; wait returns at once if one has since the last wait, else
 * when one does, or after a twentieth of a second. */
void ctt_wakeup_ring(struct ctt_wakeup *b);
void ctt_wakeup_wait(struct ctt_wakeup *b);

/* ---- hook.c ---- */

/* Commands at once; bytes of a text, which is the room that Linux gives a pipe
 * at once. */
enum { CTT_HOOK_ROOM = 4, CTT_HOOK_TEXT = 65536 };

struct ctt_hook;

/* Commands run by /bin/sh -c, each in a process group of its own, which is
 * killed when it ends, with what it left in the background, and when `limit`
 * seconds are over.  They inherit no file of this program; what they write to
 * standard output goes to standard error. */
int  ctt_hook_open(const char *command, double limit, struct ctt_hook **out);

/* Starts the command with the text as its standard input and the variables
 * (NAME=VALUE, NULL ends them) in its environment; nothing of them becomes part
 * of the command.  Never waits: 0 if CTT_HOOK_ROOM are running, or 4096 of all
 * hooks together; 1 if it was started; CTT_EIO if the text is too long or the
 * system refuses. */
int  ctt_hook_run(struct ctt_hook *h, const char *text, char *const *variable);

/* Takes note of commands that have ended, and kills those that ran too long,
 * without waiting for their death.  Returns how many are running. */
int  ctt_hook_look(struct ctt_hook *h);

/* Commands that failed, or were killed, until now. */
int64_t ctt_hook_failed(const struct ctt_hook *h);

/* Why one of them failed: 1 and a line of less than size bytes about the oldest
 * one that was not told; 0: there is none.  Of many at once some are only
 * counted. */
int  ctt_hook_tell(struct ctt_hook *h, char *to, size_t size);

/* Kills the commands of all hooks at once, for a handler of signals after which
 * the program ends: only such calls are made as a handler may make. */
void ctt_hook_kill_all(void);

/* Waits for those that run, `seconds` at most and no longer than their limit,
 * and kills the rest; one that a second later is not dead is left alone. */
void ctt_hook_wait(struct ctt_hook *h, double seconds);

/* Kills those that still run. */
void ctt_hook_close(struct ctt_hook **h);

/* ---- event_out.c ---- */

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

/* ---- live_watch.c ---- */

struct ctt_live;
struct ctt_watch;

/* `every` seconds a line is printed: to standard error, or with json an object
 * to standard output; 0: none.  look(arg) is called about ten times a second,
 * or NULL; it and the lines come from a thread of the watch. */
struct ctt_watch_set {
    int                    streams;
    const char *const     *name;     /* of each, the caller's */
    int                    apart;    /* each has a line, and all together */
    int64_t                bytes;    /* of one, in the model */
    double                 every;
    int                    json;
    void                 (*look)(void *arg);
    void                  *arg;
};
int  ctt_watch_open(const struct ctt_watch_set *set, struct ctt_watch **out);
void ctt_watch_close(struct ctt_watch **w);

/* What happened, from one thread: a stream was opened, whose counts are looked
 * at from now on; frames were pushed, which took so long; of a stream, a frame
 * was among them; an answer was there so long after its frame; it went through
 * a reset of --sliding; an event was told; it is over, in a state of one word
 * that stays the caller's, and its live source is not looked at any more.
 * Nothing is allocated. */
void ctt_watch_source(struct ctt_watch *w, int stream, struct ctt_live *live);
void ctt_watch_step(struct ctt_watch *w, double ms);
void ctt_watch_frame(struct ctt_watch *w, int stream);
void ctt_watch_answer(struct ctt_watch *w, int stream, double ms);
void ctt_watch_slide(struct ctt_watch *w, int stream);
void ctt_watch_event(struct ctt_watch *w, int stream);
void ctt_watch_over(struct ctt_watch *w, int stream, const char *state);

/* Frames decoded of all streams until now. */
int64_t ctt_watch_decoded(struct ctt_watch *w);

/* Ends the thread: no more lines, and no more calls of look. */
void ctt_watch_stop(struct ctt_watch *w);

/* Stops, and prints all counts and times to standard output.  missed, failed:
 * of --exec. */
int  ctt_watch_total(struct ctt_watch *w, int64_t missed, int64_t failed);

/* ---- live_places.c ---- */

struct ctt_places;

/* Places 0 to count - 1.  session: an open one, which stays the caller's: place
 * 0, and one more is opened for each other place; NULL: all are a batch. */
int  ctt_places_open(const struct ctt_infer *m, struct ctt_session *session,
                     int count, struct ctt_places **out);
void ctt_places_close(struct ctt_places **p);

/* The next frame of a place is the first of a stream; or there is none. */
int  ctt_places_reset(struct ctt_places *p, int place);
int  ctt_places_leave(struct ctt_places *p, int place);

/* A pointer for each place, NULL: it has no frame now, or no answer is wanted.
 * CTT_ENAN if an answer is not finite: of read, in a batch all others are
 * written; of decided, in a batch too, of that place alone. */
int  ctt_places_push(struct ctt_places *p, const uint8_t *const *frames);
int  ctt_places_read(struct ctt_places *p, float *const *probs);

/* 1 and what the stream of a place has decided, or 0. */
int  ctt_places_decided(const struct ctt_places *p, int place,
                        struct ctt_infer_decision *out);

/* Bytes of a place, without weights. */
int64_t ctt_places_bytes(const struct ctt_places *p);

/* ---- live_draw.c ---- */

/* What is written on a picture. */
struct ctt_drawn {
    const uint8_t *picture;       /* h x w x 3 bytes */
    int            h, w;
    int64_t        skipped;       /* frames that were left out before it */
    double         time;          /* seconds */
    const char    *event;         /* of the event that goes on, or NULL */
    char *const   *name;          /* of classes */
    const float   *probs;
    const int     *order;         /* the best classes */
    int            top;           /* how many are shown, as far as a quarter of
                                     the height has room; 0: there is no answer
                                     yet */
};

struct ctt_drawer;

/* A video of `fps` frames per second; it is as large as its first picture,
 * enlarged or reduced by a whole number to 320 to 640 pixels, and grows beside
 * path as frames come, so memory does not. */
int  ctt_drawer_open(const char *path, double fps, struct ctt_drawer **out);
int  ctt_drawer_put(struct ctt_drawer *d, const struct ctt_drawn *p);
/* Gives the file its name; there is none if no picture came. */
int  ctt_drawer_finish(struct ctt_drawer **d);
void ctt_drawer_close(struct ctt_drawer **d);    /* writes nothing */

/* ---- infer_live.c ---- */

struct ctt_infer_set;

/* Pointers stay the caller's. */
struct ctt_live_with {
    const struct ctt_infer_set   *set;
    const struct ctt_infer       *m;
    struct ctt_session           *session;    /* of the first source, and others
                                                 have such, too; NULL: they are
                                                 a batch */
    const struct ctt_input       *in;
    char *const                  *label;      /* the model's classes */
    int                           classes;
    const struct ctt_live_list *sources;
};

/* Runs until all sources have ended or failed, or until the user stops it, and
 * prints the counts.  A source of a list that fails is named in a line, the
 * others go on, and at the end that is CTT_EIO.  CTT_EINVAL: an option or a
 * source's name is wrong. */
int ctt_live_run(const struct ctt_live_with *with);

/* ---- live_one.c ---- */

/* What all sources of a run have in common. */
struct ctt_live_share {
    const struct ctt_live_with *with;
    struct ctt_event_out       *out;
    struct ctt_watch           *watch;
    struct ctt_places          *places;
    int                         apart;    /* a list's: lines name them */
};

/* Places of a source: two with --sliding, else one.  Both see all frames; one
 * is reset every half of its seconds, in turns, and the other one answers: it
 * has seen at least that half. */
struct ctt_live_past {
    int    first, places;
    int    answers, reset;    /* of them, from 0; reset: the last one */
    double half, next;        /* seconds */
};

struct ctt_live_one {
    const struct ctt_live_share *share;
    int                    number;      /* of all sources */
    const char            *name;
    struct ctt_live       *source;      /* NULL: it is over */
    struct ctt_live_past   past;
    struct ctt_events     *events;
    float                 *probs;
    int                   *order;
    int64_t                seen;        /* frames since it began anew */
    int                    answered;    /* the last one of them was */
    int                    decided;     /* since it began anew, too */
    int                    going;       /* the class of the event that was told
                                           last and goes on, or -1 */
    struct ctt_live_frame  frame;       /* the last one */
    int                    has, due;    /* it is of this turn; its answer is */
    int                    lost, lame;  /* the source has failed; the model has
                                           no finite answer */
};

/* number: of the source, from 0.  The source is opened after that, by the
 * caller. */
int  ctt_live_one_open(const struct ctt_live_share *share, int number,
                       const char *name, struct ctt_live_one *out);
void ctt_live_one_close(struct ctt_live_one *o);

/* A line for the user, which names the source. */
void ctt_live_one_say(const struct ctt_live_one *o, const char *line);

/* Before a frame is pushed: what the model remembers is forgotten if it is
 * fresh, and by --sliding.  After it: whether an answer is due. */
int  ctt_live_one_begin(struct ctt_live_one *o);
int  ctt_live_one_pushed(struct ctt_live_one *o);

/* With --decide: tells a decision that the model has made by this frame, once
 * until the stream begins anew. */
int  ctt_live_one_decide(struct ctt_live_one *o);

/* The place that answers. */
int  ctt_live_one_place(const struct ctt_live_one *o);

/* o->probs is the answer to the frame: its line, and its events. */
int  ctt_live_one_answer(struct ctt_live_one *o);

/* Events that go on end. */
int  ctt_live_one_finish(struct ctt_live_one *o);

#endif
