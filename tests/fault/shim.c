/* SPDX-License-Identifier: Apache-2.0
 * shim.c: preloaded into a program, makes one of its allocations or one of its
 * system calls fail, or kills it there (fault.h).
 *
 * System calls are caught by a seccomp filter that turns them into SIGSYS, as
 * libc's own calls, those of stdio, cannot be replaced by preloading. */
#define _GNU_SOURCE
#include "tests/fault/fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#if !defined(__x86_64__) || !defined(__GLIBC__)
#error "written for glibc on x86-64"
#endif

enum { FRAMES = 32, SKIP = 2,      /* SKIP: this file's own frames */
       STACKS = 1 << 22 };         /* of which numbers are kept */

/* Shared by the server and the copy that runs. */
struct shared {
    atomic_long allocs, calls;
    atomic_int  hit;
    const char *call;          /* name of the call that failed */
    int         frames, crash_frames;
    void       *frame[FRAMES], *crash[FRAMES];
};

static struct shared *now;
static struct fault_order order;    /* kind FAULT_NONE outside of a run */
static uint64_t *stacks;           /* shared as well */
static int armed;
static _Thread_local int inside;    /* in this file: do not count */

/* ---- allocations ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

/* The calls that ask for allocation n, as a number (FNV-1a of the addresses,
 * which are the same in each copy). */
static void keep_stack(long n)
{
    void *frame[FRAMES];
    uint64_t hash = 14695981039346656037u;
    int count;

    if (n > STACKS)
        return;
    inside = 1;
    count = backtrace(frame, FRAMES);
    for (int i = SKIP; i < count; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frame[i]) * 1099511628211u;
    stacks[n - 1] = hash;
    inside = 0;
}

static int fails(void)
{
    long n;

    if (!armed || inside)
        return 0;
    n = atomic_fetch_add(&now->allocs, 1) + 1;
    if (order.kind == FAULT_STACKS)
        keep_stack(n);
    if (order.kind == FAULT_ALLOC ? n != order.at :
        order.kind != FAULT_ALLOC_ON || n < order.at)
        return 0;
    if (n == order.at) {
        inside = 1;
        now->frames = backtrace(now->frame, FRAMES);
        atomic_store(&now->hit, 1);
        inside = 0;
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}

void *memalign(size_t align, size_t size)
{
    return fails() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
    int old = errno;
    void *q = memalign(align, size);

    errno = old;
    if (!q)
        return ENOMEM;
    *p = q;
    return 0;
}

/* ---- system calls ---- */

/* As syscall(), but returns -errno, and the filter knows its address. */
long fault_raw(long nr, ...);
extern const char fault_raw_end[];
__asm__(".text\n"
        ".globl fault_raw\n"
        ".type fault_raw, @function\n"
        "fault_raw:\n"
        "    mov %rdi, %rax\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %r10\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    syscall\n"
        ".globl fault_raw_end\n"
        "fault_raw_end:\n"
        "    ret\n"
        ".size fault_raw, . - fault_raw\n");

enum what { WRITE, SYNC, SIZE, MAKE, NAME, CLOSE, REMOVE };

/* flags: which argument has O_CREAT, or -1; fd: whether the first argument is
 * a descriptor. */
static const struct row {
    int         nr;
    const char *name;
    enum what   what;
    int         flags, fd;
} rows[] = {
    { SYS_write,     "write",     WRITE, -1, 1 },
    { SYS_pwrite64,  "pwrite",    WRITE, -1, 1 },
    { SYS_writev,    "writev",    WRITE, -1, 1 },
    { SYS_pwritev,   "pwritev",   WRITE, -1, 1 },
    { SYS_fsync,     "fsync",     SYNC,  -1, 0 },    /* of folders, too */
    { SYS_fdatasync, "fdatasync", SYNC,  -1, 0 },
    { SYS_ftruncate, "ftruncate", SIZE,  -1, 1 },
    { SYS_fallocate, "fallocate", SIZE,  -1, 1 },
    { SYS_open,      "open",      MAKE,   1, 0 },
    { SYS_openat,    "openat",    MAKE,   2, 0 },
    { SYS_creat,     "creat",     MAKE,  -1, 0 },
    { SYS_mkdir,     "mkdir",     MAKE,  -1, 0 },
    { SYS_mkdirat,   "mkdirat",   MAKE,  -1, 0 },
    { SYS_rename,    "rename",    NAME,  -1, 0 },
    { SYS_renameat,  "renameat",  NAME,  -1, 0 },
    { SYS_renameat2, "renameat2", NAME,  -1, 0 },
    { SYS_link,      "link",      NAME,  -1, 0 },
    { SYS_linkat,    "linkat",    NAME,  -1, 0 },
    { SYS_close,     "close",     CLOSE, -1, 1 },
    { SYS_unlink,    "unlink",    REMOVE, -1, 0 },
    { SYS_unlinkat,  "unlinkat",  REMOVE, -1, 0 },
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

/* What an errorless call returns when it is made to fail; 0: it is not, since a
 * program can do nothing about it. */
static const int errors[] = { [WRITE] = ENOSPC, [SYNC] = EIO, [SIZE] = ENOSPC,
    [MAKE] = ENOSPC, [NAME] = EIO, [CLOSE] = EIO, [REMOVE] = 0 };

static long raw(long nr, const long *a)
{
    return fault_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Whether fd is a file that is being written. */
static int is_output(int fd)
{
    struct stat st;
    long flags = fault_raw(SYS_fcntl, fd, F_GETFL);

    return fd > 2 && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
           fault_raw(SYS_fstat, fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int is_event(const struct row *r, const long *a)
{
    if (order.kind == FAULT_STDOUT)
        return r->what == WRITE && a[0] == 1;
    if ((order.kind == FAULT_SHORT || order.kind == FAULT_FULL) &&
        r->what != WRITE)
        return 0;
    if (r->flags >= 0 && !(a[r->flags] & O_CREAT))
        return 0;
    return !r->fd || is_output((int)a[0]);
}

/* Writes the first half; -1 if this is no write of two bytes. */
static long half(const struct row *r, const long *a)
{
    long b[6];
    struct iovec v;

    memcpy(b, a, sizeof(b));
    if (r->what != WRITE)
        return -1;
    if (r->nr == SYS_writev || r->nr == SYS_pwritev) {
        v = *(const struct iovec *)a[1];
        v.iov_len /= 2;
        b[1] = (long)&v;
        b[2] = 1;
        return v.iov_len ? raw(r->nr, b) : -1;
    }
    b[2] /= 2;
    return b[2] ? raw(r->nr, b) : -1;
}

static void send_signal(int sig)
{
    atomic_store(&now->hit, 1);
    fault_raw(SYS_kill, getpid(), sig);
}

static long strike(const struct row *r, const long *a)
{
    long rc;

    now->call = r->name;
    switch (order.kind) {
    case FAULT_KILL:
        send_signal(SIGKILL);
        break;
    case FAULT_TERM:
        send_signal(SIGTERM);
        break;
    case FAULT_KILL_AFTER:
        if (half(r, a) < 0)
            raw(r->nr, a);
        send_signal(SIGKILL);
        break;
    case FAULT_SHORT:
    case FAULT_FULL:
        rc = half(r, a);
        if (rc < 0)
            break;
        atomic_store(&now->hit, 1);
        return rc;
    case FAULT_ERROR:
    case FAULT_STDOUT:
        if (!errors[r->what])
            break;
        if (r->what == CLOSE)    /* Linux closes it all the same */
            raw(r->nr, a);
        atomic_store(&now->hit, 1);
        return -errors[r->what];
    default:
        break;
    }
    return raw(r->nr, a);
}

static long emulate(int nr, const long *a)
{
    const struct row *r = rows;
    long n;

    while (r < rows + ROWS - 1 && r->nr != nr)
        r++;
    if (!is_event(r, a))
        return raw(nr, a);
    n = atomic_fetch_add(&now->calls, 1) + 1;
    if (n == order.at)
        return strike(r, a);
    if (n > order.at && atomic_load(&now->hit) &&
        (order.kind == FAULT_FULL || order.kind == FAULT_STDOUT) &&
        errors[r->what] == ENOSPC)
        return -ENOSPC;
    return raw(nr, a);
}

static void on_call(int sig, siginfo_t *info, void *context)
{
    greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
    const long a[6] = { g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10],
                        g[REG_R8], g[REG_R9] };
    int old = errno;

    (void)sig;
    g[REG_RAX] = emulate(info->si_syscall, a);
    errno = old;
}

/* The filter: another architecture or our own address passes, the rows trap. */
static int catch_calls(void)
{
    struct sigaction act = { .sa_sigaction = on_call,
                             .sa_flags = SA_SIGINFO | SA_NODEFER };
    uint64_t own = (uint64_t)(uintptr_t)fault_raw_end;
    struct sock_filter f[ROWS + 10];
    struct sock_fprog prog = { .filter = f };
    unsigned n = 0;

#define LOAD(field) f[n++] = (struct sock_filter)BPF_STMT( \
        BPF_LD | BPF_W | BPF_ABS, (unsigned)(field))
#define EQUAL(value, yes, no) f[n++] = (struct sock_filter)BPF_JUMP( \
        BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), (yes), (no))
#define RETURN(value) f[n++] = (struct sock_filter)BPF_STMT( \
        BPF_RET | BPF_K, (unsigned)(value))
    LOAD(offsetof(struct seccomp_data, arch));
    EQUAL(AUDIT_ARCH_X86_64, 0, 4);
    LOAD(offsetof(struct seccomp_data, instruction_pointer));
    EQUAL(own & 0xffffffff, 0, 3);
    LOAD(offsetof(struct seccomp_data, instruction_pointer) + 4);
    EQUAL(own >> 32, 0, 1);
    RETURN(SECCOMP_RET_ALLOW);
    LOAD(offsetof(struct seccomp_data, nr));
    for (int i = 0; i < ROWS; i++)
        EQUAL(rows[i].nr, ROWS - i, 0);
    RETURN(SECCOMP_RET_ALLOW);
    RETURN(SECCOMP_RET_TRAP);
    prog.len = (unsigned short)n;
    if (sigaction(SIGSYS, &act, NULL) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
        return -1;
    return 0;
}

/* ---- the server ---- */

static void open_as(int fd, const char *path, int flags)
{
    int got = open(path, flags, 0666);

    if (got < 0 || dup2(got, fd) < 0)
        _exit(99);
    close(got);
}

/* Leaves where the program crashed, then lets it crash. */
static void on_crash(int sig)
{
    (void)sig;
    inside = 1;
    now->crash_frames = backtrace(now->crash, FRAMES);
    inside = 0;
}

static void catch_crashes(void)
{
    static const int signals[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL };
    struct sigaction act = { .sa_handler = on_crash,
                             .sa_flags = (int)SA_RESETHAND };

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        sigaction(signals[i], &act, NULL);
}

static int start_timer(void)
{
    struct sigevent e = { .sigev_notify = SIGEV_SIGNAL,
                          .sigev_signo = order.kind == FAULT_TERM_TIME
                                         ? SIGTERM : SIGKILL };
    struct itimerspec t = { .it_value = { order.at / 1000000,
                                          order.at % 1000000 * 1000 } };
    timer_t id;

    return timer_create(CLOCK_MONOTONIC, &e, &id) < 0 ? -1
           : timer_settime(id, 0, &t, NULL);
}

/* The copy: leaves the constructor for main(). */
static void begin(void)
{
    const struct rlimit none = { 0, 0 };
    char path[FAULT_PATH + 8];

    open_as(0, "/dev/null", O_RDONLY);
    snprintf(path, sizeof(path), "%s.out", order.dir);
    open_as(1, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    snprintf(path, sizeof(path), "%s.err", order.dir);
    open_as(2, path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    unsetenv("LD_PRELOAD");
    unsetenv(FAULT_ENV);
    setrlimit(RLIMIT_CORE, &none);
    catch_crashes();
    if (chdir(order.dir) < 0 ||
        (order.kind != FAULT_ALLOC && order.kind != FAULT_ALLOC_ON &&
         order.kind != FAULT_STACKS && catch_calls() < 0) ||
        (fault_is_timed(order.kind) && start_timer() < 0))
        _exit(99);
    armed = 1;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The frames as "LIBRARY:FUNCTION"; a program's own functions, whose names are
 * not loaded, as "PROGRAM+0xADDRESS". */
static size_t name_frames(char *to, size_t used, void *const *frame, int count)
{
    for (int i = SKIP; i < count && used < FAULT_WHERE; i++) {
        const char *space = i > SKIP ? " " : "";
        Dl_info d = { 0 };

        if (!dladdr(frame[i], &d) || !d.dli_fname)
            used += (size_t)snprintf(to + used, FAULT_WHERE - used, "%s?",
                                     space);
        else if (d.dli_sname)
            used += (size_t)snprintf(to + used, FAULT_WHERE - used, "%s%s:%s",
                                     space, base_name(d.dli_fname),
                                     d.dli_sname);
        else
            used += (size_t)snprintf(to + used, FAULT_WHERE - used,
                                     "%s%s+%#lx", space,
                                     base_name(d.dli_fname),
                                     (unsigned long)((char *)frame[i] -
                                                     (char *)d.dli_fbase));
    }
    return used < FAULT_WHERE ? used : FAULT_WHERE - 1;
}

static void name_all(char to[FAULT_WHERE])
{
    size_t used;

    if (now->call)
        used = (size_t)snprintf(to, FAULT_WHERE, "%s", now->call);
    else
        used = name_frames(to, 0, now->frame, now->frames);
    if (now->crash_frames == 0)
        return;
    used += (size_t)snprintf(to + used, FAULT_WHERE - used, " CRASH ");
    if (used < FAULT_WHERE)
        name_frames(to, used, now->crash, now->crash_frames);
}

static void write_stacks(void)
{
    long n = atomic_load(&now->allocs);
    char path[FAULT_PATH + 8];
    FILE *f;

    snprintf(path, sizeof(path), "%s.stacks", order.dir);
    f = fopen(path, "wb");
    n = n < STACKS ? n : STACKS;
    if (!f || fwrite(stacks, sizeof(*stacks), (size_t)n, f) != (size_t)n ||
        fclose(f) != 0)
        _exit(99);
}

static void answer(int fd, pid_t pid)
{
    struct fault_answer a = { 0 };

    if (write(fd, &pid, sizeof(pid)) != sizeof(pid) ||
        waitpid(pid, &a.status, 0) != pid)
        _exit(99);
    a.hit = atomic_load(&now->hit);
    a.allocs = atomic_load(&now->allocs);
    a.calls = atomic_load(&now->calls);
    name_all(a.where);
    if (order.kind == FAULT_STACKS)
        write_stacks();
    if (write(fd, &a, sizeof(a)) != sizeof(a))
        _exit(99);
}

__attribute__((constructor)) static void serve(void)
{
    const char *fds = getenv(FAULT_ENV);
    void *first[4];
    int in, out;

    if (!fds || sscanf(fds, "%d,%d", &in, &out) != 2)
        return;
    backtrace(first, 4);    /* loads what it needs */
    now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stacks = mmap(NULL, STACKS * sizeof(*stacks), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (now == MAP_FAILED || stacks == MAP_FAILED)
        _exit(99);
    while (read(in, &order, sizeof(order)) == sizeof(order)) {
        pid_t pid;

        memset(now, 0, sizeof(*now));
        pid = fork();
        if (pid == 0) {
            close(in);
            close(out);
            begin();
            return;
        }
        if (pid < 0)
            _exit(99);
        answer(out, pid);
    }
    _exit(0);
}
