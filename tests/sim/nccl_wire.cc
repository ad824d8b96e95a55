/* SPDX-License-Identifier: Apache-2.0
 * nccl_wire.cc: connects the processes of the simulated NCCL by local sockets
 * whose names are no files, so that nothing is left of a process that dies. */
#include "tests/sim/nccl_wire.h"
#include "tests/sim/inside.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct hello { int rank, ranks, gpu; };
struct head { char kind; uint64_t bytes; };    /* 'd': data, 'a': an answer */

double ctt_sim_patience()
{
    const char *wait = getenv("CTT_SIM_NCCL_WAIT");

    return wait ? atof(wait) : 60;
}

static double now()
{
    auto t = std::chrono::steady_clock::now().time_since_epoch();

    return std::chrono::duration<double>(t).count();
}

/* ---- connecting ---- */

static socklen_t socket_name(const std::string &id, int rank, sockaddr_un &a)
{
    std::string name = id + "-" + std::to_string(rank);

    memset(&a, 0, sizeof(a));
    a.sun_family = AF_UNIX;
    memcpy(a.sun_path + 1, name.data(), name.size());
    return (socklen_t)(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

/* Both tell each other who they are. */
static hello greet(int fd, const hello &mine)
{
    hello theirs = { -1, 0, 0 };

    if (send(fd, &mine, sizeof(mine), MSG_NOSIGNAL) != sizeof(mine) ||
        recv(fd, &theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs))
        ctt_sim_die("NCCL: a rank has gone while they meet");
    return theirs;
}

static int socket_of(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        ctt_sim_die("NCCL: no socket: %s", strerror(errno));
    return fd;
}

/* Connects to a lower rank, which may not listen yet. */
static int connect_to(const std::string &id, int rank, double until)
{
    const timespec nap = { 0, 2000000 };
    sockaddr_un a;
    socklen_t n = socket_name(id, rank, a);
    int fd = socket_of();

    while (connect(fd, (sockaddr *)&a, n)) {
        if (now() > until)
            ctt_sim_die("NCCL: rank %d does not come", rank);
        nanosleep(&nap, NULL);
    }
    return fd;
}

static int accept_from(int listener, double until)
{
    timeval t = { (time_t)(until - now()) + 1, 0 };
    int fd;

    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
    do
        fd = accept(listener, NULL, NULL);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        ctt_sim_die("NCCL: a rank does not come");
    return fd;
}

static std::string compare_hello(const hello &mine, const hello &theirs)
{
    if (theirs.ranks != mine.ranks)
        return "ranks do not agree on their number";
    if (theirs.gpu == mine.gpu)
        return "Duplicate GPU detected : rank " + std::to_string(mine.rank) +
               " and rank " + std::to_string(theirs.rank);
    return "";
}

std::vector<ctt_sim_wire> ctt_sim_connect(const std::string &id, int rank,
                                          int ranks, int gpu, std::string &why)
{
    double until = now() + ctt_sim_patience();
    std::vector<ctt_sim_wire> wires((size_t)ranks);
    const hello mine = { rank, ranks, gpu };
    int listener = socket_of();
    sockaddr_un a;
    socklen_t n = socket_name(id, rank, a);

    why = "";
    if (bind(listener, (sockaddr *)&a, n) || listen(listener, ranks))
        ctt_sim_die("NCCL: rank %d is there twice", rank);
    for (int i = 0; i + 1 < ranks; i++) {
        int fd = i < rank ? connect_to(id, i, until)
                          : accept_from(listener, until);
        hello theirs = greet(fd, mine);
        std::string wrong = compare_hello(mine, theirs);

        if (theirs.rank >= 0 && theirs.rank < ranks)
            wires[(size_t)theirs.rank].fd = fd;
        why = why.empty() ? wrong : why;
    }
    close(listener);
    return wires;
}

/* ---- messages ---- */

static void append_bytes(ctt_sim_wire &w, char kind, const char *p,
                         size_t bytes)
{
    head h;

    memset(&h, 0, sizeof(h));
    h.kind = kind;
    h.bytes = bytes;
    w.out.append((const char *)&h, sizeof(h));
    w.out.append(p, bytes);
}

void ctt_sim_put(ctt_sim_wire &w, const char *p, size_t bytes)
{
    if (w.fd < 0)
        w.arrived.push_back(std::string(p, bytes));
    else
        append_bytes(w, 'd', p, bytes);
}

std::string ctt_sim_take(ctt_sim_wire &w)
{
    std::string message = w.arrived.front();

    w.arrived.pop_front();
    if (w.fd < 0)
        w.taken++;
    else
        append_bytes(w, 'a', "", 0);
    return message;
}

static bool flush(ctt_sim_wire &w)
{
    bool any = false;

    while (w.sent < w.out.size() && !w.gone) {
        ssize_t n = send(w.fd, w.out.data() + w.sent, w.out.size() - w.sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            return any;
        w.gone = n < 0;
        w.sent += n > 0 ? (size_t)n : 0;
        any = true;
    }
    w.out.clear();
    w.sent = 0;
    return any;
}

static bool fill_input(ctt_sim_wire &w)
{
    static char room[1 << 16];
    bool any = false;
    ssize_t n;

    while ((n = recv(w.fd, room, sizeof(room), MSG_DONTWAIT)) > 0) {
        w.in.append(room, (size_t)n);
        any = true;
    }
    if (n == 0 || (n < 0 && errno != EAGAIN))
        w.gone = true;
    return any;
}

static void sort_out(ctt_sim_wire &w)
{
    head h;

    for (;;) {
        if (w.in.size() < sizeof(h))
            return;
        memcpy(&h, w.in.data(), sizeof(h));
        if (w.in.size() < sizeof(h) + h.bytes)
            return;
        if (h.kind == 'a')
            w.taken++;
        else
            w.arrived.push_back(w.in.substr(sizeof(h), h.bytes));
        w.in.erase(0, sizeof(h) + h.bytes);
    }
}

bool ctt_sim_pump(ctt_sim_wire &w)
{
    bool any = false;

    if (w.fd < 0 || w.gone)
        return false;
    any = flush(w);
    any |= fill_input(w);
    sort_out(w);
    return any;
}
