#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What doctor says about programs (fakes on PATH) and memory limits (fake /proc and /sys).
. "$(dirname "$0")/lib.sh"

# fake NAME: a program on PATH whose body is read from stdin.
fake()
{
    mkdir -p bin
    { echo '#!/bin/sh'; cat; } >"bin/$1"
    chmod +x "bin/$1"
}

doctor()
{
    mkdir -p bin
    run env PATH="$PWD/bin" "$TRAINYARD" doctor "$@"
}

# proc CGROUP-LINE: a fake /proc with 8 GiB.
proc()
{
    mkdir -p root/proc/self root/sys/fs/cgroup root/sys/kernel/mm/transparent_hugepage
    cat >root/proc/meminfo <<'END'
MemTotal:        8388608 kB
MemFree:          131072 kB
MemAvailable:    4194304 kB
HugePages_Total:      16
HugePages_Free:        4
Hugepagesize:       2048 kB
END
    echo "$1" >root/proc/self/cgroup
    echo 'always [madvise] never' >root/sys/kernel/mm/transparent_hugepage/enabled
}

missing_programs_say_what_they_are_needed_for()
{
    doctor
    status 0
    err_empty
    out_has "  sbatch      missing  needed for submitting jobs to Slurm"
    out_has "  nvidia-smi  missing  needed for training on NVIDIA GPUs"
    out_lacks "  ok "
}

backends_say_whether_they_work()
{
    doctor
    out_has "  local       ok"
    out_has "  container   failed   run a container: no podman or docker"
    doctor --json
    json 'd["backends"]["container"] == {"state": "failed", "said": "run a container: no podman or docker"}'
    json 'd["backends"]["local"] == {"state": "ok", "said": None}'
}

versions_are_found_in_what_programs_say()
{
    fake mpirun <<<'echo "mpirun (Open MPI) 4.1.4"; echo "Report bugs to x"'
    fake kubectl <<<'echo "Client Version: v1.28.2"'
    fake sbatch <<<'echo "slurm 22.05.8"'
    fake docker <<<'echo "Docker version 20.10.24+dfsg1, build 297e128" >&2'
    doctor
    out_has "  mpirun      ok       4.1.4, $PWD/bin/mpirun"
    out_has "  kubectl     ok       1.28.2, $PWD/bin/kubectl"
    out_has "  sbatch      ok       22.05.8, $PWD/bin/sbatch"
    out_has "  docker      ok       20.10.24+dfsg1, $PWD/bin/docker"
}

every_gpu_is_listed()
{
    fake nvidia-smi <<'END'
[ "$1" = --query-gpu=driver_version,name,memory.total ] || exit 9
echo "535.104.05, NVIDIA H200, 143771 MiB"
echo "535.104.05, NVIDIA H200, 143771 MiB"
END
    doctor
    out_has "  nvidia-smi  ok       535.104.05, NVIDIA H200, 143771 MiB; 535.104.05, NVIDIA H200, 143771 MiB, "
}

a_program_that_fails_is_broken_not_missing()
{
    fake sinfo <<<'echo "error: cannot find its configuration" >&2; exit 1'
    doctor --json
    status 0
    json 'd["programs"]["sinfo"]["state"] == "broken"'
    json 'd["programs"]["sinfo"]["said"] == "exit status 1: error: cannot find its configuration"'
    json 'd["programs"]["sbatch"] == {"state": "missing", "version": None, "path": None, "said": None, "needed_for": "submitting jobs to Slurm", "planned": True}'
}

json_has_everything()
{
    proc '0::/'
    doctor --json --root root
    status 0
    json 'd["system"]["name"] == "Linux" and d["version"]'
    json 'd["cpu"]["cores_usable"] >= 1 and isinstance(d["cpu"]["features"], list)'
    json 'set(d["limits"]) == {"open_files", "processes", "stack", "locked_memory"}'
    json 'd["disks"]["cwd"]["total"] > 0 and d["disks"]["tmp"]["path"]'
    json 'd["memory"] == {"total": 8 << 30, "available": 4 << 30, "cgroup_limit": None, "cgroup_version": None}'
    json 'd["huge_pages"] == {"size": 2 << 20, "total": 16, "free": 4, "transparent": "madvise"}'
}

cgroup_v2_limits_come_from_every_level()
{
    proc '0::/a/b'
    mkdir -p root/sys/fs/cgroup/a/b
    echo max >root/sys/fs/cgroup/a/b/memory.max
    echo 1073741824 >root/sys/fs/cgroup/a/memory.max
    doctor --root root
    out_has "memory   8 GiB, 4 GiB available"
    out_has "the control group (version 2) stops this process at 1 GiB"
    out_has "4 of 16 pages of 2 MiB free, transparent ones: madvise"
    echo 536870912 >root/sys/fs/cgroup/a/b/memory.max
    doctor --root root
    out_has "stops this process at 512 MiB"
}

cgroup_v1_limits_are_read_too()
{
    proc $'5:cpu,cpuacct:/x\n4:memory:/docker/1'
    mkdir -p root/sys/fs/cgroup/memory/docker/1
    echo 9223372036854771712 >root/sys/fs/cgroup/memory/memory.limit_in_bytes
    echo 2147483648 >root/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes
    doctor --root root
    out_has "the control group (version 1) stops this process at 2 GiB"
}

a_limit_above_the_memory_is_none()
{
    proc '0::/'
    echo 99999999999 >root/sys/fs/cgroup/memory.max
    doctor --root root
    out_has "no control group limits it"
}

limits_of_the_shell_are_shown()
{
    # shellcheck disable=SC2016
    run bash -c 'ulimit -Sn 300; ulimit -Hn 400; "$1" doctor' - "$TRAINYARD"
    out_has "open files     300 (may be raised to 400)"
}

nothing_to_read_is_no_crash()
{
    mkdir empty
    doctor --json --root empty
    status 0
    json 'd["memory"]["total"] == 0'
    printf 'MemTotal: 99999999999999999999999 kB\nMemAvailable\n:::\n' >meminfo
    mkdir -p odd/proc/self
    mv meminfo odd/proc/meminfo
    printf '0:\n:\n0::\n0::/../../etc\n' >odd/proc/self/cgroup
    doctor --root odd
    status 0
}

tap_cases \
    missing_programs_say_what_they_are_needed_for backends_say_whether_they_work \
    versions_are_found_in_what_programs_say \
    every_gpu_is_listed \
    a_program_that_fails_is_broken_not_missing \
    json_has_everything \
    cgroup_v2_limits_come_from_every_level \
    cgroup_v1_limits_are_read_too \
    a_limit_above_the_memory_is_none \
    limits_of_the_shell_are_shown \
    nothing_to_read_is_no_crash
