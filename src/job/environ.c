/* SPDX-License-Identifier: Apache-2.0 */
#include "job/environ.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/file.h"
#include "job/status.h"

#define FILE_MAX (16 << 20)

static bool is_one_of(const char *variable, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(variable, names[i], length) == 0 && variable[length] == '=')
            return true;
    }
    return false;
}

bool job_environ_is_plain(const char *variable)
{
    static const char *const names[] = {
        "PATH",        "HOME",          "USER",
        "LOGNAME",     "SHELL",         "LANG",
        "LC_ALL",      "LC_CTYPE",      "TZ",
        "TMPDIR",      "VIRTUAL_ENV",   "CONDA_PREFIX",
        "TERM",        "PYENV_ROOT",    "LD_LIBRARY_PATH",
        "PYTHONPATH",  "CUDA_HOME",     "XDG_RUNTIME_DIR",
        "DOCKER_HOST", "DOCKER_CONFIG", "CONTAINERS_CONF",
    };
    return is_one_of(variable, names, ARRAY_LEN(names));
}

bool job_environ_is_access(const char *variable)
{
    static const char *const names[] = {
        "HOME",       "PATH",        "http_proxy",     "https_proxy",  "no_proxy",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",       "SSL_CERT_DIR", "SSL_CERT_FILE",
        "ACCESS_ID",  "ACCESS_KEY",  "CURL_CA_BUNDLE",
    };
    static const char *const prefixes[] = {
        "AWS_",          "OSS_",           "ALIBABA_CLOUD_", "ODPS_",
        "TRAINYARD_S3_", "TRAINYARD_OSS_", "TRAINYARD_HTTP_"};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (str_starts(variable, prefixes[i]))
            return true;
    return is_one_of(variable, names, ARRAY_LEN(names));
}

enum rc job_environ_write(const char *path, const char *const *env,
                          job_environ_wanted_fn *wanted, struct err *err)
{
    struct buf b;
    buf_init(&b, FILE_MAX);
    buf_putc(&b, '{');
    for (const char *const *e = env; e && *e; e++) {
        const char *value = strchr(*e, '=');
        if (!value || value == *e || (wanted && !wanted(*e)))
            continue;
        buf_puts(&b, b.n > 1 ? ", " : "");
        buf_json_str(&b, *e, (size_t)(value - *e));
        buf_puts(&b, ": ");
        buf_json_str(&b, value + 1, strlen(value + 1));
    }
    buf_putc(&b, '}');
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = job_file_put(path, buf_str(&b), b.n, 0600, err);
    if (b.p)
        memset(b.p, 0, b.n);
    buf_release(&b);
    return rc;
}

void job_environ_read(const char *path, struct job_environ_list *out)
{
    struct doc doc = {0};
    char *text = NULL;
    size_t n = 0;
    const struct node *map = NULL;
    *out = (struct job_environ_list){.list = {.n = 0}};
    if (fs_exists(path) && fs_read(path, FILE_MAX, &text, &n, NULL) == RC_OK)
        map = job_json_open(text, &doc);
    for (size_t i = 0; map && map->kind == NODE_MAP && i < map->map.n; i++)
        VEC_PUSH(&out->list, arena_printf(&out->arena, "%s=%s", map->map.at[i].key.p,
                                          map->map.at[i].value->text.p));
    VEC_RESERVE(&out->list);
    out->list.at[out->list.n] = NULL;
    if (doc.src)
        doc_release(&doc);
    if (text)
        memset(text, 0, n);
    mem_free(text);
}

const char *job_environ_get(const struct job_environ_list *l, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < l->list.n; i++)
        if (strncmp(l->list.at[i], name, n) == 0 && l->list.at[i][n] == '=')
            return l->list.at[i] + n + 1;
    return NULL;
}

void job_environ_release(struct job_environ_list *l)
{
    for (size_t i = 0; i < l->list.n; i++)
        memset((char *)(uintptr_t)l->list.at[i], 0, strlen(l->list.at[i]));
    VEC_RELEASE(&l->list);
    arena_release(&l->arena);
    *l = (struct job_environ_list){.list = {.n = 0}};
}
