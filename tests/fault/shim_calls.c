/* SPDX-License-Identifier: Apache-2.0
 * shim_calls.c: failing system calls, in the preloaded library.
 *
 * A seccomp filter turns the calls into SIGSYS, as libc's internal calls
 * (stdio) cannot be replaced by preloading. */
#define _GNU_SOURCE
#include "tests/fault/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#if !defined(__x86_64__) || !defined(__GLIBC__)
#error "written for glibc on x86-64"
#endif

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

/* Error of each call that is made to fail; 0: none, since a program can do
 * nothing about a failure. */
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
    if (fault_order.kind == FAULT_STDOUT)
        return r->what == WRITE && a[0] == 1;
    if ((fault_order.kind == FAULT_SHORT || fault_order.kind == FAULT_FULL) &&
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
    atomic_store(&fault_now->hit, 1);
    fault_raw(SYS_kill, getpid(), sig);
}

static long strike(const struct row *r, const long *a)
{
    long rc;

    fault_now->call = r->name;
    switch (fault_order.kind) {
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
        atomic_store(&fault_now->hit, 1);
        return rc;
    case FAULT_ERROR:
    case FAULT_STDOUT:
        if (!errors[r->what])
            break;
        if (r->what == CLOSE)    /* Linux closes it all the same */
            raw(r->nr, a);
        atomic_store(&fault_now->hit, 1);
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
    n = atomic_fetch_add(&fault_now->calls, 1) + 1;
    if (n == fault_order.at)
        return strike(r, a);
    if (n > fault_order.at && atomic_load(&fault_now->hit) &&
        (fault_order.kind == FAULT_FULL || fault_order.kind == FAULT_STDOUT) &&
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
int fault_catch_calls(void)
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
