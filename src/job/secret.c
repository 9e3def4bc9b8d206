/* SPDX-License-Identifier: Apache-2.0 */
/* At submission a reference becomes a value, which is written to a file of the job that only
 * its owner reads; the spec keeps the reference. A supervisor reads the file back. Memory that
 * held values is cleared when it is let go.
 */
#include "job/secret.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/status.h"

struct reference {
    char name[128];
    const char *env;  /* variable, or NULL */
    const char *file; /* or a file */
};

static enum rc parse(const char *text, struct reference *r, struct err *err)
{
    size_t n = strcspn(text, "=");
    bool fine = n > 0 && n < sizeof(r->name) && (text[0] < '0' || text[0] > '9');
    *r = (struct reference){.env = NULL};
    for (size_t i = 0; fine && i < n; i++)
        fine = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
                      text[i]) != NULL;
    /* What follows '=' may be a value given by mistake: it is not shown. */
    if (!fine)
        return err_coded(err, RC_INVAL, E3008, "'%.*s' is not the name of a variable",
                         n < 60 ? (int)n : 60, text);
    memcpy(r->name, text, n);
    const char *from = text[n] == '=' ? text + n + 1 : NULL;
    if (!from)
        r->env = r->name;
    else if (str_starts(from, "env:"))
        r->env = from + strlen("env:");
    else if (str_starts(from, "file:"))
        r->file = from + strlen("file:");
    else
        return err_coded(err, RC_INVAL, E3008,
                         "secret '%s': give its name alone, %s=env:VARIABLE or "
                         "%s=file:PATH, never its value",
                         r->name, r->name, r->name);
    return RC_OK;
}

static const char *lookup(const char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static enum rc read_file(const struct reference *r, struct arena *a, const char **value,
                         struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(r->file, SECRET_BYTES_MAX, &text, &n, err);
    if (rc) {
        if (err)
            err->code = E3008;
        return err_wrap(err, rc, "secret '%s'", r->name);
    }
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    *value = arena_strndup(a, text, n);
    memset(text, 0, n);
    mem_free(text);
    return RC_OK;
}

void job_secrets_absolute(struct job_spec *s, const char *cwd)
{
    struct node *list = node_find(s->conf.doc.root, "secret");
    size_t n = !list ? 0 : list->kind == NODE_LIST ? list->list.n : 1;
    for (size_t i = 0; i < n; i++) {
        struct node **at = list->kind == NODE_LIST ? &list->list.at[i] : &list;
        const char *text = (*at)->kind == NODE_STR ? (*at)->text.p : "";
        const char *file = strstr(text, "=file:");
        if (!file || file[6] == '/' || !file[6])
            continue;
        char *path = fs_join(cwd, file + 6);
        char *full = mem_printf("%.*s=file:%s", (int)(file - text), text, path);
        (*at)->text = str_of(arena_strdup(&s->conf.doc.arena, full), strlen(full));
        mem_free(full);
        mem_free(path);
    }
}

enum rc job_secret_check(const char *name, const char *value, struct err *err)
{
    size_t n = strlen(value);
    if (n == 0 || n >= SECRET_SHORTEST)
        return RC_OK;
    return err_coded(err, RC_INVAL, E3019,
                     "secret '%.100s' has fewer than %d characters, which cannot be kept "
                     "out of logs",
                     name, SECRET_SHORTEST);
}

static enum rc capture_one(const char *text, const char *const *env, struct buf *out,
                           struct arena *a, struct err *err)
{
    struct reference r;
    const char *value = NULL;
    enum rc rc = parse(text, &r, err);
    if (!rc && r.file) /* only whether it can be used */
        rc = read_file(&r, a, &value, err);
    if (rc || r.file)
        return rc ? rc : job_secret_check(r.name, value, err);
    value = lookup(env, r.env);
    if (!value)
        return err_coded(err, RC_NOTFOUND, E3008,
                         "secret '%s': no variable '%.100s' in the environment", r.name,
                         r.env);
    rc = job_secret_check(r.name, value, err);
    buf_printf(out, "%s\"%s\": ", out->n > 1 ? ", " : "", r.name);
    buf_json_str(out, value, strlen(value));
    return rc;
}

enum rc job_secrets_capture(const struct job_spec *s, const char *const *env,
                            const char *path, struct err *err)
{
    struct arena scratch = {0};
    struct buf b;
    enum rc rc = RC_OK;
    buf_init(&b, 16 << 20);
    buf_putc(&b, '{');
    for (int64_t i = 0; i < s->s->n_secret && !rc; i++)
        rc = capture_one(s->s->secret[i], env, &b, &scratch, err);
    buf_putc(&b, '}');
    if (!rc && s->s->n_secret)
        rc = job_file_put(path, buf_str(&b), b.n, 0600, err);
    if (b.p)
        memset(b.p, 0, b.n);
    buf_release(&b);
    arena_release(&scratch);
    return rc;
}

enum rc job_secrets_read(const struct job_spec *s, const char *path,
                         struct job_secrets *out, struct err *err)
{
    struct job_secrets result = {0};
    struct doc doc = {0};
    char *text = NULL;
    size_t n = 0;
    const struct node *map = NULL;
    enum rc rc = RC_OK;
    if (!s->s->n_secret) {
        *out = result;
        return RC_OK;
    }
    if (fs_exists(path) && fs_read(path, 16 << 20, &text, &n, err) == RC_OK)
        map = job_json_open(text, &doc);
    for (int64_t i = 0; i < s->s->n_secret && !rc; i++) {
        struct reference r;
        struct job_secret one = {0};
        rc = parse(s->s->secret[i], &r, err);
        if (!rc && r.file) {
            rc = read_file(&r, &result.arena, &one.value, err);
            rc = rc ? rc : job_secret_check(r.name, one.value, err);
        } else if (!rc)
            one.value = node_get_text(map, r.name, NULL);
        if (!rc && !one.value)
            rc = err_coded(err, RC_NOTFOUND, E3008, "the value of secret '%s' is gone",
                           r.name);
        if (rc)
            break;
        one.name = arena_strdup(&result.arena, r.name);
        one.value = arena_strdup(&result.arena, one.value);
        VEC_PUSH(&result.list, one);
    }
    if (doc.src)
        doc_release(&doc);
    if (text)
        memset(text, 0, n);
    mem_free(text);
    if (rc) {
        job_secrets_release(&result);
        return rc;
    }
    *out = result;
    return RC_OK;
}

void job_secrets_release(struct job_secrets *s)
{
    for (size_t i = 0; i < s->list.n; i++)
        memset((char *)(uintptr_t)s->list.at[i].value, 0, strlen(s->list.at[i].value));
    VEC_RELEASE(&s->list);
    arena_release(&s->arena);
    *s = (struct job_secrets){0};
}
