/* SPDX-License-Identifier: Apache-2.0 */
#include "job/place.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/fs.h"
#include "base/mem.h"

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";

char *job_place_dir(const struct job_place *p, const char *id)
{
    return mem_printf("%s/jobs/%s", p->dir, id);
}

char *job_place_file(const struct job_place *p, const char *id, const char *name)
{
    return mem_printf("%s/jobs/%s/%s", p->dir, id, name);
}

char *job_place_log(const struct job_place *p, const char *id, int64_t worker,
                    int64_t attempt)
{
    if (worker == JOB_LOG_PREPARE)
        return mem_printf("%s/jobs/%s/logs/prepare.%jd.log", p->dir, id,
                          (intmax_t)attempt);
    return mem_printf("%s/jobs/%s/logs/worker-%jd.%jd.log", p->dir, id, (intmax_t)worker,
                      (intmax_t)attempt);
}

static char *own_objects(const struct job_place *p, const char *owner)
{
    return mem_printf("%s/users/%s/objects", p->dir, owner);
}

char *job_place_objects(const struct job_place *p)
{
    return p->served ? own_objects(p, p->owner) : fs_join(p->dir, "objects");
}

char *job_place_snapshot(const struct job_place *p, const char *owner, const char *id)
{
    char *own = own_objects(p, owner), *list = mem_printf("%s/%.2s/%s", own, id, id + 2);
    bool mine = p->served || fs_exists(list);
    mem_free(list);
    if (mine)
        return own;
    mem_free(own);
    return fs_join(p->dir, "objects");
}

bool job_id_ok(const char *id)
{
    if (strncmp(id, "jb-", 3) != 0 || strlen(id) != 15)
        return false;
    return strspn(id + 3, alphabet) == 12;
}

enum rc job_id_new(char out[JOB_ID_SIZE], struct err *err)
{
    unsigned char bytes[12];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return err_sys(err, errno, "cannot get random numbers");
    memcpy(out, "jb-", 3);
    for (size_t i = 0; i < sizeof(bytes); i++)
        out[3 + i] = alphabet[bytes[i] % 36];
    out[15] = '\0';
    return RC_OK;
}
