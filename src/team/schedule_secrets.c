/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON file per schedule, DIR/schedules/NAME.CREATED.json, which maps names to values. It is
 * written before the row of the schedule and removed behind it, so that no row lacks its values;
 * a file without a row, of a death in between or of a deletion by another server, is swept later.
 * Buffers that held values are overwritten.
 */
#include "team/schedule_secrets.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "job/secret.h"
#include "job/status.h"

#define VALUES_MAX (16 << 20)
#define YOUNG_S 600 /* a file is there before its schedule is */

static char *values_path(const struct job_place *p, const struct store_schedule *x)
{
    return mem_printf("%s/schedules/%s.%jd.json", p->dir, x->name, (intmax_t)x->created);
}

static enum rc print_value(const char *value, struct buf *out, struct err *err)
{
    const char *eq = strchr(value, '=');
    char *name = mem_strndup(value, (size_t)(eq - value));
    enum rc rc = job_secret_check(name, eq + 1, err);
    buf_puts(out, out->n > 1 ? ", " : "");
    buf_json_str(out, name, strlen(name));
    buf_puts(out, ": ");
    buf_json_str(out, eq + 1, strlen(eq + 1));
    mem_free(name);
    return rc;
}

enum rc team_schedule_secrets_keep(const struct job_place *p,
                                   const struct store_schedule *x,
                                   const char *const *values, struct err *err)
{
    struct buf text;
    enum rc rc = RC_OK;
    if (!values || !values[0])
        return RC_OK;
    buf_init(&text, VALUES_MAX);
    buf_putc(&text, '{');
    for (size_t i = 0; values[i] && !rc; i++)
        rc = print_value(values[i], &text, err);
    buf_putc(&text, '}');
    char *dir = fs_join(p->dir, "schedules"), *path = values_path(p, x);
    if (!rc)
        rc = buf_check(&text, err);
    if (!rc)
        rc = fs_mkdirs(dir, 0700, err);
    if (!rc)
        rc = fs_write(path, buf_str(&text), text.n, 0600, err);
    mem_free(path);
    mem_free(dir);
    if (text.p)
        explicit_bzero(text.p, text.n);
    buf_release(&text);
    return rc;
}

typedef VEC(const char *) value_list;

static const char *const *take_values(const struct node *map, struct arena *a)
{
    value_list list = {0};
    for (size_t i = 0; i < map->map.n; i++)
        if (map->map.at[i].value->kind == NODE_STR)
            VEC_PUSH(&list, arena_printf(a, "%s=%s", map->map.at[i].key.p,
                                         map->map.at[i].value->text.p));
    VEC_PUSH(&list, NULL);
    const char **out = arena_alloc(a, list.n * sizeof(*out));
    memcpy(out, list.at, list.n * sizeof(*out));
    VEC_RELEASE(&list);
    return out;
}

enum rc team_schedule_secrets_read(const struct job_place *p,
                                   const struct store_schedule *x, struct arena *a,
                                   const char *const **out, struct err *err)
{
    char *path = values_path(p, x), *text = NULL;
    size_t n = 0;
    enum rc rc = RC_OK;
    *out = NULL;
    if (fs_exists(path))
        rc = fs_read(path, VALUES_MAX, &text, &n, err);
    if (!rc && text) {
        struct doc doc = {0};
        const struct node *map = job_json_open(text, &doc);
        if (map && map->kind == NODE_MAP)
            *out = take_values(map, a);
        else
            rc = err_set(err, RC_FORMAT, "%s: not JSON", path);
        if (doc.src)
            doc_release(&doc);
        explicit_bzero(text, n);
    }
    mem_free(text);
    mem_free(path);
    return rc;
}

void team_schedule_secrets_wipe(const char *const *values)
{
    for (; values && *values; values++)
        explicit_bzero((char *)(uintptr_t)*values, strlen(*values));
}

void team_schedule_secrets_forget(const struct job_place *p,
                                  const struct store_schedule *x)
{
    char *path = values_path(p, x);
    unlink(path);
    mem_free(path);
}

/* "NAME.CREATED.json" of a schedule that is there. A store that does not say keeps it. */
static bool is_wanted(const struct job_place *p, const char *file)
{
    struct store_schedules l = {0};
    const char *dot = file + strlen(file) - strlen(".json");
    int64_t created = 0;
    if (dot <= file || strcmp(dot, ".json") != 0)
        return true;
    size_t n = (size_t)(dot - file);
    while (n && file[n - 1] != '.')
        n--;
    if (!n || !str_to_i64(str_of(file + n, (size_t)(dot - file) - n), &created))
        return true;
    char *name = mem_strndup(file, n - 1);
    enum rc rc = store_schedule_get(p->store, name, &l, NULL);
    bool wanted = rc ? rc != RC_NOTFOUND : l.at[0].created == created;
    store_schedules_release(&l);
    mem_free(name);
    return wanted;
}

void team_schedule_secrets_sweep(const struct job_place *p, int64_t now)
{
    struct fs_names names = {0};
    char *dir = fs_join(p->dir, "schedules");
    if (fs_list(dir, &names, NULL))
        names = (struct fs_names){0};
    for (size_t i = 0; i < names.n; i++) {
        struct stat st;
        char *path = fs_join(dir, names.at[i]);
        if (lstat(path, &st) == 0 && st.st_mtim.tv_sec < now / CLOCK_SECOND - YOUNG_S &&
            !is_wanted(p, names.at[i]))
            unlink(path);
        mem_free(path);
    }
    fs_names_release(&names);
    mem_free(dir);
}
