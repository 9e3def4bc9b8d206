/* SPDX-License-Identifier: Apache-2.0 */
/* A process of its own, so that a hanging store cannot hold up a supervisor and its threads
 * end with it. The plan is a JSON file of the supervisor's; how far it is, and how it ended,
 * stands in another beside it, replaced as a whole each time.
 */
#include "backend/transfer.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/snapshot.h"
#include "job/space.h"
#include "job/status.h"

#define PLAN_MAX (16 << 20)
#define TELL_NS (300 * INT64_C(1000000))

struct telling {
    const char *path;
    struct job_bucket_state last;
    int64_t at; /* monotonic, of the last time */
};

static void write_state(struct telling *t, const char *rest)
{
    const struct job_bucket_state *s = &t->last;
    char *text = mem_printf("{\"files\": %jd, \"bytes\": %jd, \"of_files\": %jd, "
                            "\"of_bytes\": %jd%s}\n",
                            (intmax_t)s->files, (intmax_t)s->bytes, (intmax_t)s->of_files,
                            (intmax_t)s->of_bytes, rest);
    enum rc rc = job_file_put(t->path, text, strlen(text), 0600, NULL);
    (void)rc; /* the exit status tells as well */
    mem_free(text);
}

static void tell(void *arg, const struct job_bucket_state *s)
{
    struct telling *t = arg;
    int64_t now = clock_mono_ns();
    t->last = *s;
    if (now - t->at < TELL_NS)
        return;
    t->at = now;
    write_state(t, "");
}

static enum backend_transfer_kind kind_of(enum rc rc, const struct err *err)
{
    if (err->code == E1607)
        return TRANSFER_AWAY;
    return rc == RC_NOTFOUND ? TRANSFER_MISSING : TRANSFER_FAILED;
}

static void write_error(struct telling *t, enum rc rc, const struct err *err)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    buf_printf(&b, ", \"kind\": %d, \"error\": ", (int)kind_of(rc, err));
    buf_json_str(&b, err->msg, strlen(err->msg));
    write_state(t, buf_str(&b));
    buf_release(&b);
}

static enum rc add_item(const struct node *item, const char *room,
                        struct job_bucket_plan *first, struct job_bucket_plan *last,
                        struct err *err)
{
    const char *from = node_get_text(item, "from", ""),
               *to = node_get_text(item, "to", ""),
               *root = node_get_text(item, "root", "");
    const struct node *required = node_find(item, "required");
    enum rc rc = RC_OK;
    if (str_starts(from, SNAPSHOT_PREFIX)) {
        rc = job_snapshot_restore(node_get_text(item, "objects", ""),
                                  from + strlen(SNAPSHOT_PREFIX), to, room, err);
    } else if (job_bucket_is(from)) {
        rc = job_bucket_plan_fetch(
            first, from, to, required && required->kind == NODE_BOOL && required->flag,
            err);
    } else if (*root) {
        rc = job_bucket_plan_send(first, root, from, to, err);
    } else {
        struct job_bucket_item one = {.from = arena_strdup(&last->arena, from),
                                      .to = arena_strdup(&last->arena, to)};
        VEC_PUSH(&last->list, one);
    }
    return rc ? err_wrap(err, rc, "%s", node_get_text(item, "name", "copy")) : RC_OK;
}

/* What is fetched must leave the disk as free as it is to stay. */
static enum rc check_room(const char *room, int64_t bytes, struct err *err)
{
    struct buf why;
    enum rc rc = RC_OK;
    buf_init(&why, 1000);
    if (room && job_space_short(room, bytes, &why))
        rc = err_coded(err, RC_IO, E3108, "inputs of %jd MiB: %.400s",
                       (intmax_t)(bytes >> 20), buf_str(&why));
    buf_release(&why);
    return rc;
}

static enum rc copy_all(const struct node *items, const char *room, struct telling *t,
                        struct err *err)
{
    struct job_bucket_plan first = {.bytes = 0}, last = {.bytes = 0};
    enum rc rc = RC_OK;
    for (size_t i = 0; i < items->list.n && !rc; i++)
        rc = add_item(items->list.at[i], room, &first, &last, err);
    if (!rc && first.list.n)
        rc = check_room(room, first.bytes, err);
    if (!rc) {
        t->last = (struct job_bucket_state){.of_files = (int64_t)first.list.n,
                                            .of_bytes = first.bytes};
        write_state(t, "");
        rc = job_bucket_copy(&first, tell, t, err);
    }
    if (!rc)
        rc = job_bucket_copy(&last, NULL, NULL, err);
    job_bucket_plan_release(&first);
    job_bucket_plan_release(&last);
    return rc;
}

enum rc backend_transfer_run(const char *plan, struct err *err)
{
    struct doc doc = {0};
    char *text = NULL, *path = mem_printf("%s.state", plan);
    size_t n = 0;
    struct telling t = {.path = path};
    struct err own = {0};
    enum rc rc = fs_read(plan, PLAN_MAX, &text, &n, &own);
    const struct node *map = rc ? NULL : job_json_open(text, &doc);
    const struct node *items = node_find(map, "items");
    if (!rc && (!items || items->kind != NODE_LIST))
        rc = err_set(&own, RC_FORMAT, "'%s' is no plan", plan);
    if (!rc)
        rc = copy_all(items, node_get_text(map, "room", NULL), &t, &own);
    if (rc)
        write_error(&t, rc, &own);
    else
        write_state(&t, ", \"done\": 1");
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    mem_free(path);
    if (rc && err)
        *err = own;
    return rc;
}

bool backend_transfer_state_read(const char *plan, struct backend_transfer_state *out)
{
    struct doc doc = {0};
    char *text = NULL, *path = mem_printf("%s.state", plan);
    size_t n = 0;
    const struct node *map = NULL;
    if (fs_exists(path) && fs_read(path, PLAN_MAX, &text, &n, NULL) == RC_OK)
        map = job_json_open(text, &doc);
    if (map)
        *out = (struct backend_transfer_state){
            .count = {.files = node_get_int(map, "files", 0),
                      .bytes = node_get_int(map, "bytes", 0),
                      .of_files = node_get_int(map, "of_files", 0),
                      .of_bytes = node_get_int(map, "of_bytes", 0)},
            .kind =
                (enum backend_transfer_kind)node_get_int(map, "kind", TRANSFER_FAILED)};
    if (map)
        snprintf(out->error, sizeof(out->error), "%s", node_get_text(map, "error", ""));
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    mem_free(path);
    return map != NULL;
}
