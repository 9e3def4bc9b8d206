/* SPDX-License-Identifier: Apache-2.0 */
/* A filter made by hand: the table below is all there is to it, and a library would be
 * loaded into every worker. What is refused changes the machine (mounts, modules, clock,
 * quotas), reaches around namespaces (user namespaces, handles of files, keys of the
 * kernel), or has been a way into the kernel that training does not need (bpf, perf events,
 * userfaultfd, io_uring, odd kinds of sockets). Numbers that this table has not heard of do
 * not exist for the job. Debuggers work: a job has its own processes only.
 */
#include "backend/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/compiler.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define LAST_KNOWN 450 /* set_mempolicy_home_node: what came later does not exist */
#define PROGRAM_MAX 256
#define NAMESPACES                                                              \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
     CLONE_NEWUTS | CLONE_NEWCGROUP)

#ifdef ARCH

static const int refused[] = {
    SYS_acct,
    SYS_add_key,
    SYS_adjtimex,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_init_module,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_lookup_dcookie,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_nfsservctl,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_reboot,
    SYS_request_key,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
#ifdef __x86_64__
    SYS_create_module,
    SYS_get_kernel_syms,
    SYS_ioperm,
    SYS_iopl,
    SYS_kexec_file_load,
    SYS_modify_ldt,
    SYS_query_module,
    SYS__sysctl,
    SYS_sysfs,
    SYS_uselib,
    SYS_ustat,
#endif
};

/* These have an older way to do the same, which programs then take. */
static const int absent[] = {SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter,
                             SYS_io_uring_register};

static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

struct program {
    struct sock_filter at[PROGRAM_MAX];
    unsigned short n;
};

static void add(struct program *p, struct sock_filter one)
{
    if (p->n < PROGRAM_MAX)
        p->at[p->n++] = one;
}

static void load(struct program *p, size_t offset)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void answer(struct program *p, uint32_t what)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* The next `skip` instructions are for this value alone. */
static void only_if(struct program *p, uint16_t test, uint32_t value, uint8_t skip)
{
    add(p,
        (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | BPF_K | test), value, 0, skip));
}

static void refuse(struct program *p, const int *calls, size_t n, int errnum)
{
    for (size_t i = 0; i < n; i++) {
        only_if(p, BPF_JEQ, (uint32_t)calls[i], 1);
        answer(p, SECCOMP_RET_ERRNO | (uint32_t)errnum);
    }
}

/* Low half of an argument; both processors are little-endian. */
static size_t argument(int i)
{
    return offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t);
}

static void fill_arguments(struct program *p)
{
    only_if(p, BPF_JEQ, SYS_clone, 4);
    load(p, argument(0));
    only_if(p, BPF_JSET, NAMESPACES, 1);
    answer(p, SECCOMP_RET_ERRNO | EPERM);
    answer(p, SECCOMP_RET_ALLOW);
    only_if(p, BPF_JEQ, SYS_ioctl, 6);
    load(p, argument(1));
    only_if(p, BPF_JEQ, TIOCSTI, 1); /* would type into the terminal */
    answer(p, SECCOMP_RET_ERRNO | EPERM);
    only_if(p, BPF_JEQ, TIOCLINUX, 1);
    answer(p, SECCOMP_RET_ERRNO | EPERM);
    answer(p, SECCOMP_RET_ALLOW);
    only_if(p, BPF_JEQ, SYS_socket, (uint8_t)(2 * ARRAY_LEN(families) + 2));
    load(p, argument(0));
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        only_if(p, BPF_JEQ, families[i], 1);
        answer(p, SECCOMP_RET_ALLOW);
    }
    answer(p, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
}

static void fill(struct program *p)
{
    load(p, offsetof(struct seccomp_data, arch));
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
#ifdef X32_BIT
    only_if(p, BPF_JGE, X32_BIT, 1);
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    only_if(p, BPF_JGT, LAST_KNOWN, 1);
    answer(p, SECCOMP_RET_ERRNO | ENOSYS);
    refuse(p, refused, ARRAY_LEN(refused), EPERM);
    refuse(p, absent, ARRAY_LEN(absent), ENOSYS);
    fill_arguments(p);
    answer(p, SECCOMP_RET_ALLOW);
}

int seccomp_enter(void)
{
    struct program p = {.n = 0};
    fill(&p);
    struct sock_fprog program = {.len = p.n, .filter = p.at};
    if (p.n == PROGRAM_MAX)
        return E2BIG;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? errno : 0;
}

bool seccomp_possible(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 || errno != EINVAL;
}

#else

int seccomp_enter(void)
{
    return 0;
}

bool seccomp_possible(void)
{
    return false;
}

#endif
