/* SPDX-License-Identifier: Apache-2.0
 * nccl.cc: the simulated NCCL: messages between the simulated GPUs of several
 * processes.  As strict as the library: a message waits until it is taken, a
 * group's messages wait together, nothing of it runs before its stream comes to
 * it, and where a rank is gone the others wait for ever, but for what
 * ncclCommGetAsyncError() says.  A hang or wrong numbers in the library is an
 * error here. */
#include "tests/sim/inside.h"
#include "tests/sim/dlfcn.h"
#include "tests/sim/nccl_wire.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <unistd.h>

struct ctt_sim_ncclComm_t {
    int                       rank;
    std::vector<ctt_sim_wire> wires;
    ncclResult_t              state = ncclSuccess;
    bool                      aborted = false;
};
using comm = ctt_sim_ncclComm_t;

struct message {
    bool           is_send;
    char          *p;
    size_t         bytes;
    int            peer;
    ncclComm_t     comm;
    cudaStream_t   stream;
    bool           begun, done;
};

static std::map<ncclComm_t, std::shared_ptr<comm>> comms;
static std::string last_error;

/* The group of this thread. */
static thread_local int depth;
static thread_local ncclResult_t broken;
static thread_local std::vector<message> group;

/* ---- the library ---- */

static long fail_at = -1;    /* -1: not read from the environment yet */

static const char *library_kind()
{
    const char *what = getenv("CTT_SIM_NCCL");

    return what ? what : "";
}

/* Counts a call; whether it is the one that fails. */
static bool planned()
{
    if (fail_at < 0)
        fail_at = atol(library_kind());
    return fail_at > 0 && --fail_at == 0;
}

bool ctt_sim_nccl_waits()
{
    return fail_at > 0;
}

static ncclResult_t fail_with(ncclResult_t r, const std::string &why)
{
    last_error = why;
    return r;
}

static ncclResult_t as_planned()
{
    return fail_with(ncclInternalError, "as planned");
}

#define NCCL_ENTER()                                                    \
    CTT_SIM_ENTER(as_planned());                                        \
    if (planned())                                                      \
        return as_planned()

#define ROW(name) { #name, reinterpret_cast<void *>(name) }
static const struct { const char *name; void *at; } functions[] = {
    ROW(ncclGetVersion), ROW(ncclGetErrorString), ROW(ncclGetLastError),
    ROW(ncclGetUniqueId), ROW(ncclCommInitRank), ROW(ncclCommGetAsyncError),
    ROW(ncclCommAbort), ROW(ncclGroupStart), ROW(ncclGroupEnd), ROW(ncclSend),
    ROW(ncclRecv),
};

void *ctt_sim_dlopen(const char *name, int)
{
    if (!strncmp(name, "libnvrtc.so.", 12))
        return (void *)functions;
    if (!strcmp(name, ctt_sim_sparse_name))
        return ctt_sim_sparse();
    if (!strcmp(name, ctt_sim_lt_name))
        return ctt_sim_lt();
    if (strcmp(name, "libnccl.so.2") || !strcmp(library_kind(), "none"))
        return NULL;
    return (void *)functions;
}

void *ctt_sim_dlsym(void *so, const char *name)
{
    if (so == ctt_sim_lt())
        return ctt_sim_lt_function(name);
    if (so != (const void *)functions)
        return ctt_sim_sparse_function(name);
    for (auto &f : functions)
        if (!strcmp(f.name, name))
            return strcmp(library_kind(), "old") || strcmp(name, "ncclSend") ?
                f.at
                                                                      : NULL;
    return NULL;
}

const char *ctt_sim_dlerror()
{
    return "libnccl.so.2: cannot open shared object file: No such file or "
           "directory";
}

ncclResult_t ncclGetVersion(int *version)
{
    NCCL_ENTER();
    *version = 22809;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t r)
{
    static const char *const words[] = {
        "no error", "unhandled cuda error", "unhandled system error",
        "internal error", "invalid argument", "invalid usage",
        "remote process exited or there was a network error",
        "NCCL operation in progress",
    };

    return r >= 0 && r <= ncclInProgress ? words[r] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t)
{
    return last_error.c_str();
}

/* ---- communicators ---- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    NCCL_ENTER();
    std::random_device r;

    memset(id, 0, sizeof(*id));
    snprintf(id->internal, sizeof(id->internal), "ctt-nccl-%08x%08x%08x", r(),
             r(), r());
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id,
                              int rank)
{
    NCCL_ENTER();
    struct cudaDeviceProp prop;
    std::shared_ptr<comm> c = std::make_shared<comm>();
    std::string why;

    if (!out || ranks < 1 || rank < 0 || rank >= ranks || depth ||
        strncmp(id.internal, "ctt-nccl-", 9) ||
        cudaGetDeviceProperties(&prop, ctt_sim_device()))
        return fail_with(ncclInvalidArgument, "ncclCommInitRank");
    c->rank = rank;
    c->wires = ctt_sim_connect(id.internal, rank, ranks, prop.pciBusID, why);
    if (!why.empty())
        return fail_with(ncclInvalidUsage, why);
    comms[c.get()] = c;
    ctt_sim_count(CTT_SIM_COMMUNICATOR, 1);
    *out = c.get();
    return ncclSuccess;
}

/* Asked again and again, so it is no call that may be the K-th. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
    ctt_sim_entry entry(false);

    if (!comms.count(c))
        return fail_with(ncclInvalidArgument, "no communicator");
    *error = c->state;
    return ncclSuccess;
}

/* Pending messages end as they are. */
ncclResult_t ncclCommAbort(ncclComm_t c)
{
    ctt_sim_entry entry(false);

    if (!comms.count(c))
        return fail_with(ncclInvalidArgument, "no communicator");
    c->aborted = true;
    for (auto &w : c->wires)
        if (w.fd >= 0)
            close(w.fd);
    comms.erase(c);
    ctt_sim_count(CTT_SIM_COMMUNICATOR, -1);
    return ncclSuccess;
}

/* ---- the work of a group ---- */

using messages = std::shared_ptr<std::vector<message>>;

/* True if the message is done, even if its sender is gone by now. */
static bool try_one(comm &c, message &m)
{
    ctt_sim_wire &w = c.wires[(size_t)m.peer];

    if (m.is_send && !m.begun)
        ctt_sim_put(w, m.p, m.bytes);
    m.begun = true;
    if (m.is_send && w.taken) {
        w.taken--;
        m.done = true;
    } else if (!m.is_send && !w.arrived.empty()) {
        std::string got = ctt_sim_take(w);

        if (got.size() != m.bytes)
            ctt_sim_die("NCCL: rank %d sends %zu bytes, rank %d takes %zu",
                        m.peer, got.size(), c.rank, m.bytes);
        memcpy(m.p, got.data(), got.size());
        m.p[0] ^= (char)!strcmp(library_kind(), "wrong");
        m.done = true;
    }
    return m.done;
}

static void wait_a_little(double &idle)
{
    using namespace std::chrono;
    auto begin = steady_clock::now();

    std::this_thread::sleep_for(microseconds(200));
    idle += duration<double>(steady_clock::now() - begin).count();
}

/* True if all messages are done.  If an awaited rank is gone, the state becomes
 * an error, and the wait continues. */
static bool try_all(comm &c, std::vector<message> &all, double &idle)
{
    bool whole = true, any = false;
    int waits = -1;

    if (c.aborted)
        return true;
    for (auto &w : c.wires)
        any |= ctt_sim_pump(w);
    for (auto &m : all) {
        if (m.done)
            continue;
        any |= try_one(c, m);
        whole &= m.done;
        waits = m.done ? waits : m.peer;
        if (!m.done && c.wires[(size_t)m.peer].gone)
            c.state = fail_with(ncclRemoteError, "rank " +
                                std::to_string(m.peer) + " has gone");
    }
    for (auto &w : c.wires)
        ctt_sim_pump(w);
    idle = any ? 0 : idle;
    if (!whole && !any)
        wait_a_little(idle);
    if (!whole && idle > ctt_sim_patience())
        ctt_sim_die("NCCL: rank %d waits for rank %d for ever", c.rank, waits);
    return whole;
}

/* ---- groups ---- */

static bool overlap(const message &a, const message &b)
{
    return a.p < b.p + b.bytes && b.p < a.p + a.bytes;
}

/* Refuses groups that NCCL does not check but that give wrong numbers, and a
 * message to oneself without a receive. */
static ncclResult_t check_messages(const std::vector<message> &all)
{
    size_t to_self = 0, from_self = 0;

    for (size_t i = 0; i < all.size(); i++) {
        const message &m = all[i];

        if (m.comm != all[0].comm || m.stream != all[0].stream)
            return fail_with(ncclInvalidUsage, "one group on two streams");
        to_self += m.is_send && m.peer == m.comm->rank;
        from_self += !m.is_send && m.peer == m.comm->rank;
        for (size_t k = 0; k < i; k++)
            if ((!m.is_send || !all[k].is_send) && overlap(m, all[k]))
                return fail_with(ncclInvalidArgument, "messages overlap");
    }
    if (to_self != from_self)
        return fail_with(ncclInvalidUsage, "Trying to send to self without a "
                         "matching recv");
    return ncclSuccess;
}

static ncclResult_t launch(std::vector<message> all)
{
    messages m = std::make_shared<std::vector<message>>(all);
    auto idle = std::make_shared<double>(0);
    std::shared_ptr<ctt_sim_cudaStream_t> s;
    std::shared_ptr<comm> c;
    ncclResult_t r = check_messages(all);

    if (r || all.empty())
        return r;
    s = ctt_sim_stream(all[0].stream);
    c = comms[all[0].comm];
    ctt_sim_queue(*s, { nullptr, {},
                        [=]() { return try_all(*c, *m, *idle); } });
    return ncclSuccess;
}

ncclResult_t ncclGroupStart()
{
    NCCL_ENTER();
    depth++;
    return ncclSuccess;
}

/* After a call of the group has failed nothing of it is done. */
static ncclResult_t end_group(bool refused)
{
    std::vector<message> all;
    ncclResult_t r = broken;

    if (!depth)
        return fail_with(ncclInvalidUsage, "ncclGroupEnd without a start");
    if (--depth)
        return ncclSuccess;
    all.swap(group);
    broken = ncclSuccess;
    return refused ? as_planned() : r ? r : launch(all);
}

ncclResult_t ncclGroupEnd()
{
    ctt_sim_entry entry;

    return end_group(planned() || entry.refused);
}

static ncclResult_t check_one(const message &m)
{
    std::shared_ptr<ctt_sim_cudaStream_t> s = ctt_sim_stream(m.stream);

    if (!comms.count(m.comm) || m.comm->state || !s || s->capture)
        return fail_with(ncclInvalidArgument, "no communicator or stream");
    if (m.peer < 0 || (size_t)m.peer >= m.comm->wires.size())
        return fail_with(ncclInvalidArgument, "no rank " +
                         std::to_string(m.peer));
    if (!ctt_sim_is_device(m.p, m.bytes))
        return fail_with(ncclInvalidArgument, "not memory of a device");
    return ncclSuccess;
}

static ncclResult_t queue_message(bool is_send, void *p, size_t count,
                                  ncclDataType_t type, int peer, ncclComm_t c,
                                  cudaStream_t s)
{
    message m = { is_send, (char *)p, count * (type == ncclFloat ? 4 : 1), peer,
                  c, s, false, false };
    ctt_sim_entry entry;
    ncclResult_t r = planned() || entry.refused ? as_planned() : check_one(m);

    if (r || depth) {
        broken = r ? r : broken;
        group.push_back(m);
        return r;
    }
    return launch({ m });
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t c, cudaStream_t s)
{
    return queue_message(true, (void *)from, count, type, peer, c, s);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t c, cudaStream_t s)
{
    return queue_message(false, to, count, type, peer, c, s);
}
