/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/machine.h - what this machine and this process may use. */
#ifndef CMD_MACHINE_H
#define CMD_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "base/cpu.h"

#define MACHINE_NONE INT64_C(-1) /* no limit, or not known */

struct machine_memory {
    int64_t total, available; /* bytes */
    int64_t limit;            /* of the control groups above us, or MACHINE_NONE */
    int64_t limit_used;       /* of that limit, without what the system can take back */
    int64_t address_space;    /* that this process may still map, or MACHINE_NONE */
    int cgroup;               /* version of the one that limits: 1, 2, or 0 */
    int64_t huge_size, huge_total, huge_free; /* reserved huge pages */
    char transparent[32];                     /* "madvise", "" when unknown */
};

struct machine_limit {
    const char *key;   /* "open_files" */
    const char *label; /* "open files" */
    bool bytes;
    int64_t soft, hard; /* MACHINE_NONE: unlimited */
};
#define MACHINE_LIMITS 4

struct machine_disk {
    const char *key;          /* "cwd", "tmp" */
    char *path;               /* owned */
    int64_t available, total; /* MACHINE_NONE when it cannot be read */
};
#define MACHINE_DISKS 2

struct machine {
    struct utsname system;
    char cpu_model[CPU_MODEL_SIZE];
    int cores_online, cores_bound, cores_usable;
    struct machine_memory memory;
    struct machine_limit limits[MACHINE_LIMITS];
    struct machine_disk disks[MACHINE_DISKS];
};

/* Whatever cannot be read is left at 0, "" or MACHINE_NONE. `root` stands before /proc
 * and /sys, "" for the real ones.
 */
void machine_look(struct machine *m, const char *root);
void machine_release(struct machine *m);

#endif
