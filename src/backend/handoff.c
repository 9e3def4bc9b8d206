/* SPDX-License-Identifier: Apache-2.0 */
/* Written by the supervisor, read on a node: one word per argument, variable, secret and
 * mount, in the order in which they are used. A letter that is not known, a number that is
 * none and a mount without a place are errors, so that no half of a file starts a worker.
 */
#include "backend/handoff.h"

#include <string.h>

#include "backend/confine.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/space.h"

#define LAUNCH_MAX (64 << 20)

static void put(struct buf *b, char kind, const char *word)
{
    buf_putc(b, kind);
    buf_add(b, word, strlen(word) + 1);
}

static void put_int(struct buf *b, char kind, int64_t value)
{
    buf_printf(b, "%c%jd", kind, (intmax_t)value);
    buf_putc(b, '\0');
}

static void put_mount(struct buf *b, const char *from, const char *to, bool read_only)
{
    put(b, read_only ? 'm' : 'M', from);
    put(b, 't', to);
}

static void put_view(struct buf *b, const struct backend_job *j)
{
    struct arena a = {0};
    struct backend_view_mount tree[CONFINE_MOUNTS];
    size_t n;
    confine_mounts(j, &a, tree, &n);
    put(b, 'x', arena_printf(&a, "%s/root", j->dir));
    for (size_t i = 0; i < n; i++)
        put_mount(b, tree[i].from, tree[i].to, tree[i].read_only);
    for (size_t i = 0; i < j->mounts->list.n; i++) {
        const struct job_contract_mount *m = &j->mounts->list.at[i];
        put_mount(b, m->from, m->to, m->read_only);
    }
    arena_release(&a);
}

enum rc backend_handoff_write(const struct backend_job *j, const struct backend_launch *l,
                              struct err *err)
{
    char *path = mem_printf("%s.launch", l->w->handle);
    char *run = mem_printf("%s.shim", l->w->handle);
    struct buf b;
    buf_init(&b, LAUNCH_MAX);
    put(&b, 'r', run);
    put(&b, 'l', l->w->log);
    put(&b, 'd', l->cwd);
    put_int(&b, 'w', l->w->index);
    put_int(&b, 'n', j->attempt);
    put_int(&b, 'o', job_space_log(j->p->dir));
    put_int(&b, 'g', (int64_t)(j->spec->grace_s * 1000));
    if (!j->links)
        put_view(&b, j);
    for (const char *const *w = l->argv; *w; w++)
        put(&b, 'a', *w);
    for (const char *const *e = job_contract_env_list(l->env); *e; e++)
        put(&b, 'e', *e);
    for (const char *const *s = l->secrets; s && *s; s++)
        put(&b, 's', *s);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = job_file_put(path, b.p, b.n, 0600, err);
    buf_release(&b);
    mem_free(run);
    mem_free(path);
    return rc;
}

static bool take_word(struct backend_handoff *l, char kind, const char *word)
{
    struct backend_view_mount mount = {.from = word, .read_only = kind == 'm'};
    int64_t number = 0;
    bool is_number = strchr("wnog", kind) && str_to_i64(str_c(word), &number);
    switch (kind) {
    case 'r':
        l->run = word;
        return true;
    case 'l':
        l->log = word;
        return true;
    case 'd':
        l->cwd = word;
        return true;
    case 'x':
        l->scratch = word;
        return true;
    case 'w':
        l->worker = number;
        return is_number;
    case 'n':
        l->attempt = number;
        return is_number;
    case 'o':
        l->log_most = number;
        return is_number;
    case 'g':
        l->grace_s = (double)number / 1000;
        return is_number;
    case 'a':
        VEC_PUSH(&l->argv, word);
        return true;
    case 'e':
        VEC_PUSH(&l->env, word);
        return true;
    case 's':
        VEC_PUSH(&l->secrets, word);
        return true;
    case 'M':
    case 'm':
        VEC_PUSH(&l->mounts, mount);
        return true;
    case 't':
        if (!l->mounts.n)
            return false;
        l->mounts.at[l->mounts.n - 1].to = word;
        return true;
    default:
        return false;
    }
}

static bool take_all(struct backend_handoff *l, const char *data, size_t n)
{
    for (const char *at = data; at < data + n; at += strlen(at) + 1)
        if (!*at || !take_word(l, *at, arena_strdup(&l->arena, at + 1)))
            return false;
    for (size_t i = 0; i < l->mounts.n; i++)
        if (!l->mounts.at[i].to)
            return false;
    return l->run && l->log && l->cwd && l->argv.n;
}

enum rc backend_handoff_read(const char *handle, struct backend_handoff *out,
                             struct err *err)
{
    char *path = mem_printf("%s.launch", handle), *data = NULL;
    size_t n = 0;
    *out = (struct backend_handoff){.log_most = 0};
    enum rc rc = fs_read(path, LAUNCH_MAX, &data, &n, err);
    if (!rc && (!n || data[n - 1] || !take_all(out, data, n)))
        rc = err_set(err, RC_FORMAT, "'%s' does not tell how to start a worker", path);
    VEC_PUSH(&out->argv, NULL);
    VEC_PUSH(&out->env, NULL);
    VEC_PUSH(&out->secrets, NULL);
    mem_free(data);
    mem_free(path);
    return rc;
}

void backend_handoff_release(struct backend_handoff *l)
{
    VEC_RELEASE(&l->argv);
    VEC_RELEASE(&l->env);
    VEC_RELEASE(&l->secrets);
    VEC_RELEASE(&l->mounts);
    arena_release(&l->arena);
}
