/* SPDX-License-Identifier: Apache-2.0
 * search_ranks.c: places for the trials of a search: child processes, or one on
 * each of several ranks.  Rank 0 decides; all ranks meet in a turn some times a
 * second and report ended trials, so a rank that stalls or is gone is noticed
 * there (--stall, the launcher). */
#include "tools/train/train_tool.h"
#include "comm/comm.h"
#include "device/device.h"
#include "base/clock.h"
#include "net/code/zip.h"
#include "tools/shared/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds between two checks of child processes, and between two turns of
 * the ranks, which wait busily for each other. */
enum { LOOK = 10, TURN = 100 };

/* The report of a rank in a turn. */
struct ctt_search_row {
    int    ended, status, stop;
    int    orders;      /* of rank 0: its orders follow */
    double seconds;
};

int ctt_search_open(struct ctt_search_run *r)
{
    const struct ctt_train_cfg *c = &r->j->cfg;
    size_t ranks;
    int rc;

    r->place = ctt_comm_place(c->wiring.comm);
    ranks = (size_t)r->place->ranks;
    r->places = ranks > 1 ? (int)ranks : c->jobs;
    r->child = ctt_calloc((size_t)r->places, sizeof(*r->child));
    r->order = ctt_calloc(ranks, sizeof(*r->order));
    r->told = ctt_calloc(ranks, sizeof(*r->order));
    r->row = ctt_calloc(ranks, sizeof(*r->row));
    rc = r->child && r->order && r->told && r->row ? 0 : CTT_ENOMEM;
    return rc;
}

void ctt_search_close(struct ctt_search_run *r)
{
    ctt_search_stop(r);
    ctt_free(r->child);
    ctt_free(r->order);
    ctt_free(r->told);
    ctt_free(r->row);
}

/* ---- the start ---- */

/* Settings come last, as their checksum covers all of a search. */
enum word { VERSION, SPACE, MODEL, CLIPS, VAL, DEVICE, PROCESSOR, SETTINGS,
            WORDS };

static const char *const names[WORDS] = {
    [VERSION] = "version of convtt", [SPACE] = "search space",
    [MODEL] = "model", [CLIPS] = "clips", [VAL] = "validation clips",
    [DEVICE] = "device", [PROCESSOR] = "processor",
    [SETTINGS] = "settings",
};

/* The report of a rank at the start; process and time name a file of rank 0. */
struct card { uint32_t word[WORDS]; long long process, time; };

static uint32_t text_sum(const char *text)
{
    return ctt_crc32_plain(0, (const uint8_t *)text, (int64_t)strlen(text));
}

static int fill_search_card(const struct ctt_search_run *r, struct card *c)
{
    char machine[512], *head = NULL;
    struct timespec now;
    int rc;

    memset(c, 0, sizeof(*c));
    CTT_TRY(ctt_search_head(r->s, &r->key, &head));
    c->word[VERSION] = text_sum(CTT_VERSION);
    c->word[SPACE] = r->key.space;
    c->word[MODEL] = r->key.model;
    c->word[CLIPS] = r->key.clips;
    c->word[VAL] = r->key.validation;
    c->word[DEVICE] = text_sum(r->j->cfg.device);
    ctt_dev_machine(machine, sizeof(machine));
    c->word[PROCESSOR] = text_sum(machine);
    c->word[SETTINGS] = text_sum(head);    /* of the above, too */
    clock_gettime(CLOCK_REALTIME, &now);
    c->process = getpid();
    c->time = now.tv_sec * 1000000000LL + now.tv_nsec;
out:
    ctt_free(head);
    return rc;
}

/* A new name, so that no network file system has cached its absence; it begins
 * like the trials' files and is removed with them. */
static int shared_name(const struct ctt_search_run *r, const struct card *c,
                       char path[CTT_SEARCH_PATH])
{
    int rc = 0;

    CTT_CHECK(snprintf(path, CTT_SEARCH_PATH, "%s/" CTT_SEARCH_STEM
                       ".rank0.%lld.%lld", r->folder, c->process, c->time) <
              CTT_SEARCH_PATH, CTT_EINVAL, "%s: name too long", r->folder);
out:
    return rc;
}

static int create(const struct ctt_search_run *r, const struct card *c)
{
    char path[CTT_SEARCH_PATH];
    int fd = -1, rc;

    CTT_TRY(shared_name(r, c, path));
    CTT_TRY(ctt_search_folder(r));
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    CTT_CHECK(fd >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Unless other files are there, the folder goes, too: a search may be refused
 * yet. */
static int remove_it(const struct ctt_search_run *r, const struct card *c)
{
    char path[CTT_SEARCH_PATH];
    int rc;

    CTT_TRY(shared_name(r, c, path));
    unlink(path);
    rmdir(r->folder);
out:
    return rc;
}

/* Trials that go on elsewhere are found there, so all have one folder: they see
 * a file that rank 0 has made. */
static int check_folder(const struct ctt_search_run *r, const struct card *c,
                        int *sees)
{
    struct ctt_comm *comm = r->j->cfg.wiring.comm;
    char path[CTT_SEARCH_PATH];
    int mine = 1, rc;

    CTT_TRY(shared_name(r, c, path));
    if (r->place->rank == 0)
        CTT_TRY(create(r, c));
    CTT_TRY(ctt_comm_allgather(comm, &mine, sizeof(mine), sees));
    mine = access(path, F_OK) == 0;
    CTT_TRY(ctt_comm_allgather(comm, &mine, sizeof(mine), sees));
    if (r->place->rank == 0)
        CTT_TRY(remove_it(r, c));
    for (int k = 1; k < r->place->ranks; k++)
        CTT_CHECK(sees[k], CTT_EINVAL, "rank %d: %s is not the folder of "
                  "rank 0: --search needs a file system that all share", k,
                  r->folder);
out:
    return rc;
}

int ctt_search_meet(struct ctt_search_run *r)
{
    size_t ranks = (size_t)r->place->ranks;
    struct card mine, *card = NULL;
    int *sees = NULL, rc = 0;

    if (ranks == 1)
        goto out;
    card = ctt_calloc(ranks, sizeof(*card));
    sees = ctt_calloc(ranks, sizeof(*sees));
    CTT_TRY(card && sees ? 0 : CTT_ENOMEM);
    CTT_TRY(fill_search_card(r, &mine));
    CTT_TRY(ctt_comm_same(r->j->cfg.wiring.comm, mine.word, names, WORDS));
    CTT_TRY(ctt_comm_allgather(r->j->cfg.wiring.comm, &mine, sizeof(mine),
                               card));
    CTT_TRY(check_folder(r, &card[0], sees));
out:
    ctt_free(card);
    ctt_free(sees);
    return rc;
}

/* ---- a turn ---- */

static void rest(int milliseconds)
{
    nanosleep(&(struct timespec){ 0, milliseconds * 1000000 }, NULL);
}

static int alone(const struct ctt_search_run *r)
{
    return r->place->ranks == 1;
}

/* Returns 1 if a child process has ended since the last call. */
static int look_here(struct ctt_search_run *r)
{
    int news = 0;

    for (int k = 0; k < r->places; k++)
        news |= ctt_search_look(&r->child[k]);
    return news;
}

/* Takes the reports of all ranks; returns 1 if another turn follows at once. */
static int hear(struct ctt_search_run *r)
{
    const struct ctt_search_row *row = r->row;
    int news = row[0].orders;

    for (int k = 0; k < r->place->ranks; k++) {
        struct ctt_search_child *child = &r->child[k];

        news |= row[k].ended;
        if (r->place->rank == 0 && k > 0 && row[k].ended) {
            child->ended = 1;
            child->status = row[k].status;
            child->seconds = row[k].seconds;
        }
    }
    return news;
}

static int stops(const struct ctt_search_run *r)
{
    int stop = 0;

    for (int k = 0; k < r->place->ranks; k++)
        stop |= r->row[k].stop;
    return stop;
}

/* Exchanges orders and executes the one for this rank. */
static int obey(struct ctt_search_run *r)
{
    struct ctt_search_order *mine = &r->order[r->place->rank];
    int rc;

    CTT_TRY(ctt_comm_alltoall(r->j->cfg.wiring.comm, r->order, r->told,
                              sizeof(*r->told)));
    memset(r->order, 0, (size_t)r->place->ranks * sizeof(*r->order));
    if (r->place->rank == 0)
        goto out;
    *mine = r->told[0];
    if (mine->what == CTT_SEARCH_TRAIN) {
        CTT_TRY(ctt_search_spawn(r, &mine->job, &r->child[r->place->rank]));
        ctt_ranks_step(++r->trained);
    }
out:
    return rc;
}

static int has_orders(const struct ctt_search_run *r)
{
    int some = 0;

    for (int k = 0; r->place->rank == 0 && k < r->place->ranks; k++)
        some |= r->order[k].what != CTT_SEARCH_NOTHING;
    return some;
}

static int stop(struct ctt_search_run *r)
{
    r->stopped = 1;
    return ctt_error(CTT_ESTOP, "stopped: the same command goes on from %s",
                     r->log_path);
}

static int turn_of_ranks(struct ctt_search_run *r)
{
    struct ctt_search_child *own = &r->child[r->place->rank];
    struct ctt_search_row mine = { .stop = ctt_tool_stop() != 0,
                                   .orders = has_orders(r) };
    int rc, news;

    mine.ended = look_here(r);
    mine.status = own->status;
    mine.seconds = own->seconds;
    CTT_TRY(ctt_comm_allgather(r->j->cfg.wiring.comm, &mine, sizeof(mine),
                               r->row));
    if (stops(r))
        return stop(r);
    news = hear(r);
    if (r->row->orders)
        CTT_TRY(obey(r));
    if (!news)
        rest(TURN);
out:
    return rc;
}

static int turn(struct ctt_search_run *r)
{
    if (!alone(r))
        return turn_of_ranks(r);
    if (ctt_tool_stop())
        return stop(r);
    if (!look_here(r))
        rest(LOOK);
    return 0;
}

/* ---- rank 0 ---- */

int ctt_search_start(struct ctt_search_run *r, const struct ctt_search_job *job)
{
    int k = 0, rc = 0;

    while (r->child[k].busy)
        k++;
    if (k == 0 || alone(r)) {
        CTT_TRY(ctt_search_spawn(r, job, &r->child[k]));
    } else {
        r->child[k] = (struct ctt_search_child){ .busy = 1, .job = *job };
        r->order[k].what = CTT_SEARCH_TRAIN;
        r->order[k].job = *job;
    }
    ctt_search_at(r->s, job->trial, job->repeat)->running = 1;
out:
    return rc;
}

int ctt_search_running(const struct ctt_search_run *r)
{
    int n = 0;

    for (int k = 0; k < r->places; k++)
        n += r->child[k].busy;
    return n;
}

static struct ctt_search_child *ended(const struct ctt_search_run *r)
{
    for (int k = 0; k < r->places; k++)
        if (r->child[k].ended)
            return &r->child[k];
    return NULL;
}

int ctt_search_wait(struct ctt_search_run *r, struct ctt_search_job *job,
                    double *seconds, char **failed)
{
    struct ctt_search_child *child;
    int rc = 0;

    while (!(child = ended(r))) {
        CTT_TRY(turn(r));
        ctt_search_progress(r);
    }
    *job = child->job;
    *seconds = child->seconds;
    child->busy = child->ended = 0;
    ctt_search_at(r->s, job->trial, job->repeat)->running = 0;
    ctt_ranks_step(++r->trained);
    rc = ctt_search_judge(r, job, child->status, failed);
out:
    return rc;
}

int ctt_search_end(struct ctt_search_run *r, const struct ctt_search_job *won,
                   int test)
{
    if (alone(r))
        return 0;
    for (int k = 1; k < r->place->ranks; k++)
        r->order[k] = (struct ctt_search_order){ CTT_SEARCH_END, *won, test };
    return turn(r);
}

/* ---- the others ---- */

int ctt_search_serve(struct ctt_search_run *r, struct ctt_search_job *won,
                     int *test)
{
    const struct ctt_search_order *mine = &r->order[r->place->rank];
    int rc = 0;

    while (mine->what != CTT_SEARCH_END)
        CTT_TRY(turn(r));
    *won = mine->job;
    *test = mine->test;
out:
    return rc;
}
