/* SPDX-License-Identifier: Apache-2.0
 * comm.c: opens a comm and passes its calls on. */
#include "comm/kind.h"
#include "base/module.h"

#include <stdatomic.h>
#include <string.h>

struct ctt_comm {
    const struct ctt_comm_kind *kind;
    void                       *on;
    struct ctt_comm_place       place;
    struct ctt_comm            *whole;    /* that this is a part of, or NULL */
    _Atomic int64_t             calls;    /* of it and of its parts */
};

static struct ctt_comm alone = {
    .kind = &ctt_comm_none, .place = { .ranks = 1, .nears = 1, .machines = 1 },
};

/* Kind NULL: a module (base/module.h). */
static const struct {
    const char                 *name;
    const struct ctt_comm_kind *kind;
} kinds[] = {
    { "none", &ctt_comm_none },
    { "mpi", NULL },
};

static int find_comm(const char *name, const struct ctt_launch *l,
                     const struct ctt_comm_kind **out)
{
    const void *what;
    size_t i = 0;
    int rc = 0;

    while (i < CTT_LEN(kinds) && strcmp(kinds[i].name, name) != 0)
        i++;
    CTT_CHECK(i < CTT_LEN(kinds), CTT_EINVAL, "no comm '%s'", name);
    *out = kinds[i].kind;
    if (*out)
        goto out;
    CTT_CHECK(l->name, CTT_EINVAL, "comm %s: no launcher started this process",
              name);
    rc = ctt_module_load(name, NULL, &what);
    if (rc < 0)
        return ctt_error(rc, "%s is set, as a launcher does: %s", l->name,
                         ctt_errmsg());
    *out = what;
out:
    return rc;
}

int ctt_comm_open(const char *name, struct ctt_comm **out)
{
    struct ctt_comm *c = NULL;
    struct ctt_launch l;
    int rc = 0, is_open = 0;

    CTT_TRY(ctt_launch_find(&l));
    if (strcmp(name, "auto") == 0)
        name = l.name && l.ranks != 1 ? "mpi" : "none";
    c = ctt_calloc(1, sizeof(*c));
    CTT_TRY(c ? 0 : CTT_ENOMEM);
    CTT_TRY(find_comm(name, &l, &c->kind));
    CTT_TRY(c->kind->open(&c->on, &c->place));
    is_open = 1;
    if (c->kind != &ctt_comm_none)
        CTT_TRY(ctt_launch_check(&l, &c->place));
    *out = c;
    c = NULL;
out:
    if (c && is_open)
        c->kind->close(c->on);
    ctt_free(c);
    return rc;
}

void ctt_comm_close(struct ctt_comm **c)
{
    if (*c)
        (*c)->kind->close((*c)->on);
    ctt_free(*c);
    *c = NULL;
}

static struct ctt_comm *or_alone(const struct ctt_comm *c)
{
    return c ? (struct ctt_comm *)c : &alone;
}

const struct ctt_comm_place *ctt_comm_place(const struct ctt_comm *c)
{
    return &or_alone(c)->place;
}

int ctt_comm_launched(int *rank)
{
    struct ctt_launch l;
    int rc;

    CTT_TRY(ctt_launch_find(&l));
    *rank = l.rank > 0 ? l.rank : 0;
    rc = l.name != NULL;
out:
    return rc;
}

static void count_call(struct ctt_comm *c)
{
    if (c->whole)
        c->whole->calls++;
    else
        c->calls++;
}

/* The engine's part first, which all ranks make together. */
int ctt_comm_split(struct ctt_comm *c, int colour, struct ctt_comm **out)
{
    struct ctt_comm_place place;
    void *on = NULL;
    int rc;

    c = or_alone(c);
    count_call(c);
    rc = c->kind->split(c->on, colour, &on, &place);
    count_call(c);
    CTT_TRY(rc);
    *out = ctt_calloc(1, sizeof(**out));
    if (!*out) {
        c->kind->close(on);
        return CTT_ENOMEM;
    }
    (*out)->kind = c->kind;
    (*out)->on = on;
    (*out)->place = place;
    (*out)->whole = c->whole ? c->whole : c;
out:
    return rc;
}

int ctt_comm_allgather(struct ctt_comm *c, const void *mine, int64_t n,
                       void *all)
{
    int rc;

    c = or_alone(c);
    count_call(c);
    rc = c->kind->allgather(c->on, mine, n, all);
    count_call(c);
    return rc;
}

int ctt_comm_alltoall(struct ctt_comm *c, const void *from, void *to,
                      int64_t each)
{
    int rc;

    c = or_alone(c);
    count_call(c);
    rc = c->kind->alltoall(c->on, from, to, each);
    count_call(c);
    return rc;
}

int ctt_comm_send(struct ctt_comm *c, int to, const void *p, int64_t n)
{
    int rc;

    c = or_alone(c);
    count_call(c);
    rc = c->kind->send(c->on, to, p, n);
    count_call(c);
    return rc;
}

int ctt_comm_recv(struct ctt_comm *c, int from, void *p, int64_t n)
{
    c = or_alone(c);
    return c->kind->recv(c->on, from, p, n);
}

int ctt_comm_wait(struct ctt_comm *c, int *from)
{
    int rc;

    c = or_alone(c);
    count_call(c);
    rc = c->kind->wait(c->on, from);
    count_call(c);
    return rc;
}

int64_t ctt_comm_calls(const struct ctt_comm *c)
{
    c = or_alone(c);
    return c->whole ? c->whole->calls : c->calls;
}

void ctt_comm_count(struct ctt_comm *c)
{
    count_call(or_alone(c));
}

void ctt_comm_abort(struct ctt_comm *c, int status)
{
    or_alone(c)->kind->end_all(status);
}
