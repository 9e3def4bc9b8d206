/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of one user of a server, given up before they are a day old. Contents that were
 * uploaded a moment ago may be on their way to a submission, so age alone decides about them;
 * but when the job, schedule or model that named them is deleted, nobody waits for them any
 * more. Deleting therefore sets their time back (COLLECT_RELEASED), and any later use brings it
 * forward again as for all contents. A collection then finds them old, and the owner's next
 * upload that has no room starts one.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/collect_private.h"
#include "job/snapshot.h"
#include "job/storage.h"

static enum rc set_back(void *arg, const char *id, struct err *err)
{
    const struct timespec times[] = {{.tv_sec = COLLECT_RELEASED},
                                     {.tv_sec = COLLECT_RELEASED}};
    char *path = mem_printf("%s/%.2s/%s", (const char *)arg, id, id + 2);
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
    mem_free(path);
    return RC_OK;
}

void job_collect_let_go_roots(const struct job_collecting *c)
{
    for (size_t i = 0; i < c->roots.n; i++) {
        const char *key = c->roots.at[i].key;
        struct job_place own = *c->p;
        own.owner = key + COLLECT_ID + 1;
        own.served = true;
        char *objects = job_place_objects(&own), *id = mem_strndup(key, COLLECT_ID);
        enum rc rc = job_snapshot_each(objects, id, set_back, objects, NULL);
        (void)rc; /* what is not here needs no time */
        mem_free(id);
        mem_free(objects);
    }
}

void job_collect_let_go(const struct job_place *p, const char *owner,
                        const char *snapshot)
{
    struct job_collecting c = {.p = p};
    job_collect_add_root(&c, owner, snapshot);
    job_collect_let_go_roots(&c);
    job_collect_release(&c);
}

void job_collect_let_go_spec(const struct job_place *p, const char *owner,
                             const char *spec)
{
    struct job_collecting c = {.p = p};
    job_collect_add_spec(&c, owner, spec);
    job_collect_let_go_roots(&c);
    job_collect_release(&c);
}

enum rc job_collect_own(const struct job_place *p, int64_t young_s, bool dry,
                        struct job_removed *out, struct err *err)
{
    struct job_collecting c = {.p = p,
                               .owner = p->owner,
                               .oldest = (int64_t)time(NULL) - young_s,
                               .dry = dry,
                               .out = out};
    enum rc rc = job_collect_add_all(&c, err);
    if (!rc && p->artifacts)
        rc = job_collect_store_user(&c, p->owner, err);
    else if (!rc)
        job_collect_user(&c, p->owner);
    job_collect_release(&c);
    return rc;
}

enum rc job_collect_room(const struct job_place *p, int64_t bytes, int64_t most,
                         struct err *err)
{
    struct job_removed gone = {0};
    struct err why = {0};
    enum rc rc = job_storage_count(p, bytes, most, &why);
    if (rc && why.code == E5501 && bytes <= most)
        rc = job_collect_own(p, COLLECT_YOUNG_S, false, &gone, err);
    else if (rc && err)
        *err = why;
    else
        return rc;
    return rc ? rc : job_storage_count(p, bytes, most, err);
}
