/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: looks at the machine (machine.c) and at the programs that Trainyard can use
 * (programs.c), asks the backends of jobs whether they work, then prints one report, as text or as JSON. Both are made from the same
 * struct, so they cannot disagree; a value that is not known is `null` in JSON. Nothing
 * here decides what is good enough: a missing program is listed with what needs it.
 */
#include <inttypes.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/probe.h"
#include "base/compiler.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/machine.h"
#include "cmd/programs.h"
#include "text/json_out.h"

#define PROGRAMS_MAX 32
#define BACKENDS_MAX 16

struct doctor_conf {
    bool json;
    const char *root;
};

static const struct opt opts[] = {
    {OPT_BOOL(struct doctor_conf, json, "false", "print one JSON object")},
    {OPT_TEXT(struct doctor_conf, root, "", "read /proc and /sys below this directory"),
     .hidden = true},
    {0},
};

struct report {
    struct machine machine;
    struct program_found programs[PROGRAMS_MAX];
    size_t n_programs;
    struct {
        bool failed;
        struct err err;
    } backends[BACKENDS_MAX]; /* by the order of their table */
    size_t n_backends;
};

static void put_bytes(struct buf *out, int64_t v)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double x = (double)v;
    size_t unit = 0;
    while (x >= 1024 && unit + 1 < ARRAY_LEN(units)) {
        x /= 1024;
        unit++;
    }
    bool whole = unit == 0 || x == (double)(int64_t)x;
    buf_printf(out, whole ? "%.0f %s" : "%.1f %s", x, units[unit]);
}

static void put_features(struct buf *out)
{
    for (int f = 0; f < CPU_FEATURES; f++)
        if (cpu_has((enum cpu_feature)f))
            buf_printf(out, " %s", cpu_feature_name((enum cpu_feature)f));
}

static void text_cpu(const struct machine *m, struct buf *out)
{
    buf_printf(out, "system   %s %s %s\n", m->system.sysname, m->system.release,
               m->system.machine);
    buf_printf(out, "cpu      %s\n         features", m->cpu_model);
    put_features(out);
    buf_printf(out, "\n         fastest kernels that it can run: %s\n",
               cpu_level_name(cpu_level()));
    buf_printf(out, "cores    %d usable: %d online, %d by affinity\n", m->cores_usable,
               m->cores_online, m->cores_bound);
}

static void text_memory(const struct machine_memory *m, struct buf *out)
{
    buf_puts(out, "memory   ");
    put_bytes(out, m->total);
    buf_puts(out, ", ");
    put_bytes(out, m->available);
    buf_puts(out, " available\n         ");
    if (m->limit == MACHINE_NONE) {
        buf_puts(out, "no control group limits it\n");
    } else {
        buf_puts(out, "the control group (version ");
        buf_printf(out, "%d) stops this process at ", m->cgroup);
        put_bytes(out, m->limit);
        buf_putc(out, '\n');
    }
    buf_puts(out, "huge     ");
    if (m->huge_total) {
        buf_printf(out, "%" PRId64 " of %" PRId64 " pages of ", m->huge_free,
                   m->huge_total);
        put_bytes(out, m->huge_size);
        buf_puts(out, " free");
    } else {
        buf_puts(out, "no huge pages reserved");
    }
    if (m->transparent[0])
        buf_printf(out, ", transparent ones: %s", m->transparent);
    buf_putc(out, '\n');
}

static void put_limit(struct buf *out, const struct machine_limit *l, int64_t v)
{
    if (v == MACHINE_NONE)
        buf_puts(out, "unlimited");
    else if (l->bytes)
        put_bytes(out, v);
    else
        buf_printf(out, "%" PRId64, v);
}

static void text_limits(const struct machine *m, struct buf *out)
{
    for (size_t i = 0; i < MACHINE_LIMITS; i++) {
        const struct machine_limit *l = &m->limits[i];
        buf_printf(out, "%s%-13s  ", i ? "         " : "limits   ", l->label);
        put_limit(out, l, l->soft);
        if (l->hard != l->soft) {
            buf_puts(out, " (may be raised to ");
            put_limit(out, l, l->hard);
            buf_putc(out, ')');
        }
        buf_putc(out, '\n');
    }
    for (size_t i = 0; i < MACHINE_DISKS; i++) {
        const struct machine_disk *d = &m->disks[i];
        buf_printf(out, "%s%s: ", i ? "         " : "disk     ", d->path);
        if (d->total == MACHINE_NONE) {
            buf_puts(out, "cannot be read\n");
            continue;
        }
        put_bytes(out, d->available);
        buf_puts(out, " free of ");
        put_bytes(out, d->total);
        buf_putc(out, '\n');
    }
}

static void text_programs(const struct report *r, struct buf *out)
{
    buf_puts(out, "\nprograms\n");
    for (size_t i = 0; i < r->n_programs; i++) {
        const struct program_found *f = &r->programs[i];
        buf_printf(out, "  %-10s  %-7s  ", f->program->name,
                   program_state_name(f->state));
        if (f->state == PROGRAM_OK)
            buf_printf(out, "%s, %s\n",
                       f->program->lines || !f->version ? f->said : f->version, f->path);
        else
            buf_printf(out, "%s%sneeded for %s%s\n", f->said ? f->said : "",
                       f->said ? "; " : "", f->program->needed_for,
                       f->program->planned ? " (not in this version yet)" : "");
    }
}

/* Asked in a directory of its own: what a probe notes there is for nobody. */
static void ask_backends(struct report *r)
{
    char *dir = NULL;
    if (fs_temp_dir("ty-doctor", &dir, NULL))
        return;
    for (size_t i = 0; i < BACKENDS_MAX && backend_at(i); i++) {
        enum rc rc = backend_probe_one(backend_at(i), dir, &r->backends[i].err);
        r->backends[i].failed = rc != RC_OK;
        r->n_backends++;
    }
    enum rc rc = fs_remove_all(dir, NULL);
    (void)rc; /* an empty directory is left */
    mem_free(dir);
}

static void text_backends(const struct report *r, struct buf *out)
{
    buf_puts(out, "\nbackends\n");
    for (size_t i = 0; i < r->n_backends; i++)
        if (r->backends[i].failed)
            buf_printf(out, "  %-10s  failed   %s\n", backend_at(i)->name,
                       r->backends[i].err.msg);
        else
            buf_printf(out, "  %-10s  ok\n", backend_at(i)->name);
}

static void json_backends(struct json_out *j, const struct report *r)
{
    json_open(j, "backends", '{');
    for (size_t i = 0; i < r->n_backends; i++) {
        bool failed = r->backends[i].failed;
        json_open(j, backend_at(i)->name, '{');
        json_put_str(j, "state", failed ? "failed" : "ok");
        json_put_str(j, "said", failed ? r->backends[i].err.msg : NULL);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_cpu(struct json_out *j, const struct machine *m)
{
    json_put_str(j, "version", TY_VERSION);
    json_open(j, "system", '{');
    json_put_str(j, "name", m->system.sysname);
    json_put_str(j, "release", m->system.release);
    json_put_str(j, "machine", m->system.machine);
    json_close(j, '}');
    json_open(j, "cpu", '{');
    json_put_str(j, "model", m->cpu_model);
    json_open(j, "features", '[');
    for (int f = 0; f < CPU_FEATURES; f++)
        if (cpu_has((enum cpu_feature)f))
            json_put_str(j, NULL, cpu_feature_name((enum cpu_feature)f));
    json_close(j, ']');
    json_put_str(j, "kernels", cpu_level_name(cpu_level()));
    json_put_int(j, "cores_usable", m->cores_usable);
    json_put_int(j, "cores_online", m->cores_online);
    json_put_int(j, "cores_bound", m->cores_bound);
    json_close(j, '}');
}

static void put_known(struct json_out *j, const char *key, int64_t v)
{
    if (v == MACHINE_NONE)
        json_put_null(j, key);
    else
        json_put_int(j, key, v);
}

static void json_memory(struct json_out *j, const struct machine_memory *m)
{
    json_open(j, "memory", '{');
    json_put_int(j, "total", m->total);
    json_put_int(j, "available", m->available);
    put_known(j, "cgroup_limit", m->limit);
    put_known(j, "cgroup_version", m->cgroup ? m->cgroup : MACHINE_NONE);
    json_close(j, '}');
    json_open(j, "huge_pages", '{');
    json_put_int(j, "size", m->huge_size);
    json_put_int(j, "total", m->huge_total);
    json_put_int(j, "free", m->huge_free);
    json_put_str(j, "transparent", m->transparent[0] ? m->transparent : NULL);
    json_close(j, '}');
}

static void json_limits(struct json_out *j, const struct machine *m)
{
    json_open(j, "limits", '{');
    for (size_t i = 0; i < MACHINE_LIMITS; i++) {
        json_open(j, m->limits[i].key, '{');
        put_known(j, "soft", m->limits[i].soft);
        put_known(j, "hard", m->limits[i].hard);
        json_close(j, '}');
    }
    json_close(j, '}');
    json_open(j, "disks", '{');
    for (size_t i = 0; i < MACHINE_DISKS; i++) {
        json_open(j, m->disks[i].key, '{');
        json_put_str(j, "path", m->disks[i].path);
        put_known(j, "available", m->disks[i].available);
        put_known(j, "total", m->disks[i].total);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_programs(struct json_out *j, const struct report *r)
{
    json_open(j, "programs", '{');
    for (size_t i = 0; i < r->n_programs; i++) {
        const struct program_found *f = &r->programs[i];
        json_open(j, f->program->name, '{');
        json_put_str(j, "state", program_state_name(f->state));
        json_put_str(j, "version", f->version);
        json_put_str(j, "path", f->path);
        json_put_str(j, "said", f->said);
        json_put_str(j, "needed_for", f->program->needed_for);
        json_put_bool(j, "planned", f->program->planned);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void print_json(const struct report *r, struct buf *out)
{
    struct json_out j = {.out = out};
    json_open(&j, NULL, '{');
    json_cpu(&j, &r->machine);
    json_memory(&j, &r->machine.memory);
    json_limits(&j, &r->machine);
    json_programs(&j, r);
    json_backends(&j, r);
    json_close(&j, '}');
    buf_putc(out, '\n');
}

static void print_text(const struct report *r, struct buf *out)
{
    text_cpu(&r->machine, out);
    text_memory(&r->machine.memory, out);
    text_limits(&r->machine, out);
    text_programs(r, out);
    text_backends(r, out);
}

static enum rc doctor_command(const void *conf, const struct opt_args *args,
                              struct err *err)
{
    const struct doctor_conf *c = conf;
    struct report r = {0};
    struct buf out;
    buf_init(&out, CMD_TEXT_MAX);
    machine_look(&r.machine, c->root);
    for (const struct program *p = program_table();
         p->name && r.n_programs < PROGRAMS_MAX; p++)
        program_look(p, &r.programs[r.n_programs++]);
    ask_backends(&r);
    if (c->json)
        print_json(&r, &out);
    else
        print_text(&r, &out);
    enum rc rc = cmd_print(&out, err);
    for (size_t i = 0; i < r.n_programs; i++)
        program_found_release(&r.programs[i]);
    machine_release(&r.machine);
    buf_release(&out);
    return rc;
}

static const struct cmd_example examples[] = {
    {"a report on this machine", "trainyard doctor"},
    {"to attach to a bug report", "trainyard doctor --json > doctor.json"},
    {0},
};

const struct cmd cmd_doctor = {
    .name = "doctor",
    .summary = "show what this machine provides and what is missing",
    .description =
        "Reports the CPU, memory and its limits, disk space, and the programs that "
        "Trainyard can use; for each missing program it says what needs it. Asking a "
        "program for its version times out after 5 seconds.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct doctor_conf),
    .run = doctor_command,
};
