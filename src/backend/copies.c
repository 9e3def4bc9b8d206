/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that lie in object stores are copied here before the first attempt; outputs are
 * sent there when the job has succeeded. See transfer.h for the process that does it.
 */
#include <stdio.h>
#include <string.h>

#include "backend/agent.h"
#include "backend/sup_private.h"
#include "backend/transfer.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/environ.h"
#include "job/file.h"
#include "job/snapshot.h"

#define TELL_NS (1 * INT64_C(1000000000))

static char *plan_path(const struct sup *s)
{
    return fs_join(s->dir, s->sending ? "send.json" : "fetch.json");
}

static void put_item(struct buf *b, const char *what, const char *name, const char *from,
                     const char *to, bool required)
{
    char *label = mem_printf("%s '%s'", what, name);
    buf_puts(b, str_ends(buf_str(b), "[") ? "" : ", ");
    buf_puts(b, "{\"name\": ");
    buf_json_str(b, label, strlen(label));
    buf_puts(b, ", \"from\": ");
    buf_json_str(b, from, strlen(from));
    buf_puts(b, ", \"to\": ");
    buf_json_str(b, to, strlen(to));
    buf_printf(b, ", \"required\": %s}", required ? "true" : "false");
    mem_free(label);
}

/* The last item gets it. */
static void put_member(struct buf *b, const char *key, const char *value)
{
    b->n--; /* the brace that closed it */
    buf_printf(b, ", \"%s\": ", key);
    buf_json_str(b, value, strlen(value));
    buf_putc(b, '}');
}

/* Where the contents of an upload lie. */
static void put_objects(const struct sup *s, const struct job_channel *c, struct buf *b)
{
    char *objects =
        job_place_snapshot(s->p, s->rec.row.owner, c->uri + strlen(SNAPSHOT_PREFIX));
    put_member(b, "objects", objects);
    mem_free(objects);
}

/* A job goes on from checkpoints that an earlier one sent to the same place. */
static void plan_fetch(const struct sup *s, struct buf *b)
{
    for (size_t i = 0; i < s->channels.list.n; i++) {
        const struct job_channel *c = &s->channels.list.at[i];
        if (!c->uri || c->is_table)
            continue;
        if (c->kind == CHANNEL_OUTPUT && strcmp(c->name, "checkpoints") == 0) {
            char *dir = fs_join(s->ml, c->mount);
            put_item(b, "output", c->name, c->uri, dir, false);
            mem_free(dir);
        } else if (c->kind != CHANNEL_OUTPUT) {
            char *dir = c->is_file ? fs_dirname(c->path) : mem_strdup(c->path);
            put_item(b, c->kind == CHANNEL_INPUT ? "input" : "dataset", c->name, c->uri,
                     dir, true);
            if (c->is_upload)
                put_objects(s, c, b);
            mem_free(dir);
        }
    }
}

/* The list of all files goes along, and last. */
static void plan_send(const struct sup *s, struct buf *b)
{
    char *list = fs_join(s->dir, "outputs.json");
    for (size_t i = 0; i < s->channels.list.n; i++) {
        const struct job_channel *c = &s->channels.list.at[i];
        if (!c->uri || c->kind != CHANNEL_OUTPUT)
            continue;
        char *to = mem_printf("%s%s", c->uri, COPIES_LIST);
        put_item(b, "output", c->name, c->mount, c->uri, false);
        put_member(b, "root", s->ml); /* which is not the job's; what is in it is */
        if (fs_exists(list))
            put_item(b, "output", c->name, list, to, false);
        mem_free(to);
    }
    mem_free(list);
}

static enum rc write_plan(const struct sup *s, struct err *err)
{
    char *path = plan_path(s), *old = mem_printf("%s.state", path);
    struct buf b;
    buf_init(&b, 16 << 20);
    buf_puts(&b, "{\"items\": [");
    if (s->sending)
        plan_send(s, &b);
    else
        plan_fetch(s, &b);
    buf_puts(&b, "]}");
    if (!s->sending)
        put_member(&b, "room", s->p->dir);
    buf_putc(&b, '\n');
    enum rc gone = fs_remove_all(old, NULL);
    (void)gone; /* of an earlier attempt, if any */
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = job_file_put(path, buf_str(&b), b.n, 0600, err);
    buf_release(&b);
    mem_free(old);
    mem_free(path);
    return rc;
}

bool copies_wanted(const struct sup *s, bool send)
{
    char *done = fs_join(s->dir, "fetched");
    bool checkpoints = false, fetched = fs_exists(done);
    mem_free(done);
    if (send)
        return job_channels_remote(&s->channels, CHANNEL_OUTPUT);
    for (size_t i = 0; i < s->channels.list.n; i++)
        checkpoints |= s->channels.list.at[i].uri &&
                       strcmp(s->channels.list.at[i].name, "checkpoints") == 0;
    return !fetched && (checkpoints || job_channels_remote(&s->channels, CHANNEL_INPUT) ||
                        job_channels_remote(&s->channels, CHANNEL_DATASET));
}

enum rc copies_start(struct sup *s, bool send, loop_child_fn *done, struct err *err)
{
    s->sending = send;
    s->copies_at = clock_mono_ns();
    char *path = plan_path(s), *self = backend_agent_program(),
         *keys = fs_join(s->dir, "access.json");
    const char *argv[] = {self, "job", "agent", "--transfer", path, NULL};
    struct job_environ_list env;
    job_environ_read(keys, &env);
    enum rc rc = write_plan(s, err);
    if (!rc)
        rc = sup_helper(s, argv, env.list.at, done, err);
    job_environ_release(&env);
    mem_free(keys);
    mem_free(self);
    mem_free(path);
    return rc;
}

static void note(struct sup *s, const struct backend_transfer_state *t)
{
    char *data = mem_printf("{\"direction\": \"%s\", \"files\": %jd, \"bytes\": %jd, "
                            "\"of_files\": %jd, \"of_bytes\": %jd}",
                            s->sending ? "out" : "in", (intmax_t)t->count.files,
                            (intmax_t)t->count.bytes, (intmax_t)t->count.of_files,
                            (intmax_t)t->count.of_bytes);
    struct job_record_note n = {.worker = -1, .data = data};
    enum rc rc = job_record_add(&s->rec, EV_Transfer, &n, NULL);
    (void)rc; /* can always follow */
    mem_free(data);
}

void copies_tick(struct sup *s)
{
    struct backend_transfer_state t;
    int64_t now = clock_mono_ns();
    if (!s->copies_at || now - s->copies_at < TELL_NS)
        return;
    s->copies_at = now;
    char *path = plan_path(s);
    if (backend_transfer_state_read(path, &t))
        note(s, &t);
    mem_free(path);
}

enum job_reason copies_end(struct sup *s, bool good, char *text, size_t size)
{
    struct backend_transfer_state t = {.kind = TRANSFER_FAILED};
    char *path = plan_path(s), *done = fs_join(s->dir, "fetched");
    bool told = backend_transfer_state_read(path, &t);
    s->copies_at = 0;
    if (good)
        note(s, &t);
    if (good && !s->sending && job_file_put(done, "", 0, 0600, NULL))
        sup_warn(s, "the inputs will be copied again at the next attempt");
    snprintf(text, size, "%.*s", (int)size - 1,
             told && t.error[0] ? t.error : "the copy ended without a word");
    mem_free(done);
    mem_free(path);
    if (good)
        return WHY_None;
    if (s->sending)
        return WHY_OutputFailed;
    return t.kind == TRANSFER_AWAY ? WHY_BackendUnavailable : WHY_InputMissing;
}
