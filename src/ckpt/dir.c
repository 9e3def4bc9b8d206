/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint is removed under the name of an unfinished one, so that a crash half-way
 * leaves nothing that looks like a checkpoint.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ckpt/ckpt.h"
#include "ckpt/ckpt_private.h"

bool ckpt_parse_step(const char *name, int64_t *step)
{
    if (!str_starts(name, CKPT_PREFIX))
        return false;
    const char *digits = name + strlen(CKPT_PREFIX);
    /* One spelling per number: no sign, no zeros in front. */
    if (*digits < '0' || *digits > '9' || (digits[0] == '0' && digits[1]))
        return false;
    return str_to_i64(str_c(digits), step);
}

char *ckpt_dir(const char *model_dir, int64_t step)
{
    char *name = mem_printf(CKPT_PREFIX "%jd", (intmax_t)step);
    char *path = fs_join(model_dir, name);
    mem_free(name);
    return path;
}

static int by_step(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

enum rc ckpt_list(const char *model_dir, struct ckpt_list *out, struct err *err)
{
    struct fs_names names;
    VEC(int64_t) steps = {0};
    if (!fs_exists(model_dir)) {
        *out = (struct ckpt_list){0};
        return RC_OK;
    }
    enum rc rc = fs_list(model_dir, &names, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < names.n; i++) {
        int64_t step;
        char *path = fs_join(model_dir, names.at[i]);
        if (ckpt_parse_step(names.at[i], &step) && fs_is_dir(path))
            VEC_PUSH(&steps, step);
        mem_free(path);
    }
    fs_names_release(&names);
    if (steps.n)
        qsort(steps.at, steps.n, sizeof(*steps.at), by_step);
    *out = (struct ckpt_list){.steps = steps.at, .n = steps.n};
    return RC_OK;
}

void ckpt_list_release(struct ckpt_list *list)
{
    mem_free(list->steps);
    *list = (struct ckpt_list){0};
}

enum rc ckpt_latest(const char *model_dir, int64_t *step, struct err *err)
{
    struct ckpt_list list;
    enum rc rc = ckpt_list(model_dir, &list, err);
    if (rc)
        return rc;
    *step = list.n ? list.steps[list.n - 1] : -1;
    ckpt_list_release(&list);
    return RC_OK;
}

static enum rc remove_one(const char *path, struct err *err)
{
    char *temp = mem_printf("%s" CKPT_TMP, path);
    enum rc rc = fs_remove_all(temp, err); /* remains of an earlier attempt */
    if (!rc)
        rc = fs_move(path, temp, err);
    if (!rc)
        rc = fs_remove_all(temp, err);
    mem_free(temp);
    return rc;
}

enum rc ckpt_prune(const char *model_dir, int64_t keep, int64_t best, struct err *err)
{
    struct ckpt_list list;
    enum rc rc = ckpt_list(model_dir, &list, err);
    if (rc)
        return rc;
    if (keep < 1)
        keep = 1;
    for (size_t i = 0; i + (uint64_t)keep < list.n && !rc; i++) {
        if (list.steps[i] == best)
            continue;
        char *path = ckpt_dir(model_dir, list.steps[i]);
        rc = remove_one(path, err);
        mem_free(path);
    }
    ckpt_list_release(&list);
    return rc;
}
