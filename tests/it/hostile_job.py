# SPDX-License-Identifier: Apache-2.0
"""Runs inside a job of an ordinary user and tries to get at what is not its own. Arguments: the server's directory,
the victim's job, a TCP port and a process of the victim's, the port of the server. Prints one line per attack, "ok NAME" or
"GAINED NAME: what"."""
import ctypes
import errno
import glob
import os
import resource
import signal
import socket
import stat
import struct
import sys
import time

yard, victim, port, pid, server = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
libc = ctypes.CDLL(None, use_errno=True)
attacks = []


def attack(f):
    attacks.append(f)
    return f


def refused(f, *args):
    """What f gave, or None when the system refused."""
    try:
        return f(*args)
    except (OSError, ValueError, OverflowError):
        return None


def syscall(number, *args):
    ctypes.set_errno(0)  # whole words: of an int of C the upper half would be anything
    result = libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in (number, *args)))
    return None if result < 0 else f"system call {number} gave {result}"


def read(path):
    with open(path, "rb") as f:
        return f.read(200)


@attack
def read_the_admins_token():
    return refused(read, yard + "/admin.token")


@attack
def find_jobs_of_others_among_control_groups():
    names = [n for _, dirs, _ in os.walk("/sys/fs/cgroup") for n in dirs if "jb-" in n]
    return names or None


@attack
def read_the_store():
    return refused(read, yard + "/jobs.db")


@attack
def list_the_servers_directory():
    return refused(os.listdir, yard)


@attack
def read_the_victims_secrets():
    return refused(read, f"{yard}/jobs/{victim}/secrets.json")


@attack
def read_the_victims_outputs():
    return refused(read, f"{yard}/jobs/{victim}/ml/output/model/weights")


@attack
def read_the_victims_log():
    return refused(read, f"{yard}/jobs/{victim}/logs/worker-0.1.log")


@attack
def write_into_the_store():
    return refused(lambda: open(yard + "/jobs.db", "ab"))


@attack
def go_around_by_the_first_process():
    return refused(os.listdir, "/proc/1/root") or refused(os.listdir, "/proc/1/cwd") or refused(os.listdir, "/proc/1/fd")


@attack
def read_environments_of_processes():
    for path in glob.glob("/proc/[0-9]*/environ"):
        if int(path.split("/")[2]) not in (os.getpid(), os.getppid()) and refused(read, path):
            if b"hostile_job" not in (refused(read, path.replace("environ", "cmdline")) or b"hostile_job"):
                return path


@attack
def see_the_servers_processes():
    lines = [refused(read, p) or b"" for p in glob.glob("/proc/[0-9]*/cmdline")]
    return [x for x in lines if b"--listen" in x or b"alice" in x] or None


@attack
def find_keys_of_the_server():
    """In variables, in files of the job and in what processes tell of themselves."""
    words = ["YEKREVRES"[::-1].encode(), "tercestset"[::-1].encode()]
    paths = glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")
    paths += [os.path.join(root, name) for top in ("/ml", "/tmp", "/var/tmp", "/dev/shm") for root, _, names in os.walk(top) for name in names]
    for path in paths:
        text = refused(lambda path=path: open(path, "rb").read(1 << 20)) or b""
        if any(w in text for w in words):
            return path


@attack
def read_memory_of_the_first_process():
    return refused(lambda: open("/proc/1/mem", "rb"))


@attack
def trace_the_first_process():
    return None if libc.ptrace(16, 1, 0, 0) < 0 else "attached"


@attack
def trace_the_victim():
    return None if libc.ptrace(16, pid, 0, 0) < 0 else "attached"


@attack
def kill_the_first_process():
    """With it this process would be gone as well."""
    refused(os.kill, 1, signal.SIGKILL)
    refused(os.kill, 1, signal.SIGTERM)
    refused(os.kill, 1, signal.SIGSTOP)
    time.sleep(0.2)
    return None if os.path.exists("/proc/1") and b"T (" not in read("/proc/1/status") else "it is gone"


@attack
def kill_the_victim():
    return refused(lambda: (os.kill(pid, signal.SIGKILL), "sent")[1])


@attack
def kill_processes_by_number():
    """All numbers that the machine could have given out; those of this job are left alone."""
    own = {int(p) for p in os.listdir("/proc") if p.isdigit()}
    return [n for n in range(2, 4000) if n not in own and refused(lambda n=n: (os.kill(n, 0), 1)[1])] or None


@attack
def read_memory_of_the_victim():
    """That an address is wrong (EFAULT) is told only to those who may read; a process of our own may have the number."""
    if os.path.exists(f"/proc/{pid}") and os.stat(f"/proc/{pid}").st_uid == os.getuid():
        return None
    to, of = (ctypes.c_long * 2)(ctypes.addressof(ctypes.create_string_buffer(8)), 8), (ctypes.c_long * 2)(1, 8)
    got = syscall(310, pid, to, 1, of, 1, 0)
    return got or ("the address alone was refused" if ctypes.get_errno() == errno.EFAULT else None)


@attack
def become_root():
    return refused(lambda: (os.setuid(0), os.getuid())[1]) or refused(lambda: (os.setresgid(0, 0, 0), "gid")[1])


@attack
def join_groups():
    return refused(lambda: (os.setgroups([0]), "group 0")[1])


@attack
def become_another_user():
    return refused(lambda: (os.setuid(os.getuid() + 1), os.getuid())[1])


@attack
def use_set_uid_programs():
    for path in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/newgrp", "/usr/bin/chsh"):
        if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID:
            if not os.statvfs(path).f_flag & os.ST_NOSUID:
                return path + " on a file system with set-uid bits"
    with open("/proc/self/status", encoding="ascii") as f:
        return None if "NoNewPrivs:\t1" in f.read() else "new privileges are possible"


@attack
def have_capabilities():
    with open("/proc/self/status", encoding="ascii") as f:
        return [x for x in f if x.startswith("Cap") and int(x.split()[1], 16)] or None


@attack
def make_a_user_namespace():
    return syscall(272, 0x10000000)


@attack
def make_namespaces_by_clone():
    result = libc.syscall(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    return None if result < 0 else "cloned"


@attack
def mount_something():
    return None if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) < 0 else "mounted"


@attack
def uncover_the_servers_directory():
    return None if libc.umount2(yard.encode(), 2) < 0 and libc.umount2(b"/tmp", 2) < 0 else "unmounted"


@attack
def mount_by_the_new_calls():
    return syscall(430, b"tmpfs", 0) or syscall(428, -100, b"/", 1)


@attack
def change_the_root():
    return refused(lambda: (os.chroot("/tmp"), "chroot")[1])


@attack
def make_a_device():
    return refused(lambda: (os.mknod("/tmp/mem", stat.S_IFCHR | 0o666, os.makedev(1, 1)), "made")[1])


@attack
def make_a_disk():
    return refused(lambda: (os.mknod("/ml/output/disk", stat.S_IFBLK | 0o666, os.makedev(254, 0)), "made")[1])


@attack
def open_devices_of_the_machine():
    for name in ("mem", "kmem", "port", "kmsg", "vda", "sda", "nvme0n1", "loop0", "loop-control", "fuse", "kvm", "vhost-net"):
        if os.path.exists("/dev/" + name):
            return "/dev/" + name


@attack
def write_to_the_machine():
    for path in ("/etc", "/usr/bin", "/var", "/root", "/opt", "/home", "/var/spool/cron"):
        if refused(lambda path=path: (open(path + "/hostile", "w"), 1)[1]):
            return path


@attack
def change_the_own_configuration():
    return refused(lambda: open("/ml/input/config/hyperparameters.json", "w"))


@attack
def replace_the_own_configuration_by_a_link():
    return refused(lambda: (os.rename("/ml/input/config", "/ml/input/config2"), 1)[1]) or \
        refused(lambda: (os.symlink("/etc", "/ml/input/x"), 1)[1])


@attack
def link_to_files_of_others():
    return refused(lambda: (os.link("/etc/shadow", "/ml/output/model/shadow"), 1)[1])


@attack
def read_shadow():
    return refused(read, "/etc/shadow")


@attack
def change_settings_of_the_kernel():
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger"):
        if refused(lambda path=path: (open(path, "w"), 1)[1]):
            return path


@attack
def leave_the_control_group():
    for root, _, files in os.walk("/sys/fs/cgroup"):
        if "cgroup.procs" in files and os.access(root + "/cgroup.procs", os.W_OK):
            return root
        if root.count("/") > 5:
            break


@attack
def raise_limits():
    for what in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        hard = resource.getrlimit(what)[1]
        if hard == resource.RLIM_INFINITY:
            return f"limit {what} is none"
        if refused(lambda what=what, hard=hard: (resource.setrlimit(what, (hard + 1, hard + 1)), 1)[1]):
            return what


@attack
def be_spared_when_memory_is_short():
    return refused(lambda: (open("/proc/self/oom_score_adj", "w").write("-1000"), "adjusted")[1]) and \
        (read("/proc/self/oom_score_adj").startswith(b"-") or None)


@attack
def take_all_of_the_processor():
    return refused(lambda: (os.nice(-5), "nicer")[1]) or \
        refused(lambda: (os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), "real time")[1])


@attack
def reach_the_victims_port():
    return refused(lambda: (socket.create_connection(("127.0.0.1", port), 1).recv(9), "connected")[1])


@attack
def reach_the_server_by_the_loopback():
    return refused(lambda: (socket.create_connection(("127.0.0.1", server), 1), "connected")[1])


@attack
def reach_sockets_of_the_machine():
    for path in ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/systemd/private", "/run/dbus/system_bus_socket"):
        if os.path.exists(path):
            return path


@attack
def reach_abstract_sockets():
    with open("/proc/net/unix", encoding="utf-8") as f:
        return [x for x in f.read().split() if x.startswith("@")] or None


@attack
def reach_the_clouds_metadata():
    return refused(lambda: (socket.create_connection(("169.254.169.254", 80), 1), "connected")[1])


@attack
def send_raw_packets():
    return refused(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)) or \
        refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))


@attack
def use_odd_sockets():
    for family in (38, 40, 15, 30, 31, 29, 21, 44):
        if refused(socket.socket, family, socket.SOCK_SEQPACKET) or refused(socket.socket, family, socket.SOCK_DGRAM):
            return family


@attack
def type_into_a_terminal():
    master, slave = os.openpty()
    import fcntl
    return refused(lambda: (fcntl.ioctl(slave, 0x5412, b"x"), "typed")[1])


@attack
def read_keys_of_the_kernel():
    return syscall(250, 0, -3, 0) or syscall(248, b"user", b"x", b"y", 1, -3)


@attack
def load_programs_into_the_kernel():
    return syscall(321, 0, None, 0) or syscall(175, None, 0, b"") or syscall(313, 0, b"", 0)


@attack
def count_events_of_the_machine():
    attributes = struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0) + bytes(80)
    return syscall(298, attributes, -1, 0, -1, 0)


@attack
def use_calls_that_were_ways_into_the_kernel():
    return syscall(323, 0) or syscall(425, 1, bytes(120)) or syscall(304, -1, None, 0)


@attack
def change_clock_and_name():
    return syscall(164, None, None) or syscall(170, b"x", 1) or syscall(227, 0, bytes(16))


@attack
def restart_the_machine():
    return syscall(169, 0xfee1dead, 672274793, 0, None)


@attack
def share_memory_with_others():
    with open("/proc/sysvipc/shm", encoding="ascii") as f:
        rows = f.read().splitlines()[1:]
    return rows or [x for x in os.listdir("/dev/shm") if x != "own"] or None


@attack
def find_files_of_other_jobs_in_tmp():
    return [x for x in os.listdir("/tmp") + os.listdir("/var/tmp") if "alice" in x or "trainyard" in x] or None


@attack
def write_a_file_that_fills_the_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open("/tmp/large", "wb") as f:
        try:
            for _ in range(64):
                f.write(bytes(1 << 20))
                f.flush()
        except OSError as e:
            return None if e.errno in (errno.EFBIG, errno.ENOSPC) else str(e)
        finally:
            size = os.path.getsize("/tmp/large")
            os.unlink("/tmp/large")
    return f"{size} bytes"


@attack
def make_more_processes_than_allowed():
    """A bounded fork bomb: 300 at most, each of which only waits."""
    children = []
    try:
        for _ in range(300):
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
            children.append(child)
        return "300 processes"
    except OSError:
        return None
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


for a in attacks:
    gained = a()
    print(f"GAINED {a.__name__}: {str(gained)[:200]}" if gained else f"ok {a.__name__}", flush=True)
print("done", len(attacks), flush=True)
