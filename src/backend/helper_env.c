/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/helper_env.h"

#include <string.h>

#include "base/mem.h"
#include "job/file.h"

static bool among(const char *variable, const char *const *names, size_t n)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == length && strncmp(variable, names[i], length) == 0)
            return true;
    return false;
}

bool backend_helper_env_is_engine(const char *variable)
{
    static const char *const names[] = {
        "PATH",        "HOME",          "XDG_RUNTIME_DIR", "LANG",
        "DOCKER_HOST", "DOCKER_CONFIG", "CONTAINERS_CONF"};
    return among(variable, names, ARRAY_LEN(names));
}

bool backend_helper_env_is_pip(const char *variable)
{
    static const char *const names[] = {"PATH",
                                        "HOME",
                                        "LANG",
                                        "TMPDIR",
                                        "LD_LIBRARY_PATH",
                                        "PYENV_ROOT",
                                        "http_proxy",
                                        "https_proxy",
                                        "no_proxy",
                                        "HTTP_PROXY",
                                        "HTTPS_PROXY",
                                        "NO_PROXY",
                                        "SSL_CERT_DIR",
                                        "SSL_CERT_FILE",
                                        "REQUESTS_CA_BUNDLE"};
    return str_starts(variable, "PIP_") || among(variable, names, ARRAY_LEN(names));
}

/* https://name:password@host/: any of the addresses in a value, blanks between them. */
static bool holds_password(const char *value)
{
    for (const char *at = strstr(value, "://"); at; at = strstr(at + 3, "://")) {
        size_t n = strcspn(at + 3, "/ \t\n");
        if (memchr(at + 3, '@', n))
            return true;
    }
    return false;
}

bool backend_helper_env_is_public_pip(const char *variable)
{
    const char *value = strchr(variable, '=');
    return value && backend_helper_env_is_pip(variable) && !holds_password(value + 1) &&
           !str_starts(variable, "PIP_CLIENT_CERT=");
}

void backend_helper_env_fill(struct job_contract_env *out, const char *const *env,
                             bool (*wanted)(const char *variable))
{
    for (; *env; env++) {
        size_t n = strcspn(*env, "=");
        if (!(*env)[n] || !wanted(*env))
            continue;
        char *name = mem_strndup(*env, n);
        job_contract_env_put(out, name, *env + n + 1);
        mem_free(name);
    }
    if (!job_contract_env_get(out, "PATH"))
        job_contract_env_put(out, "PATH", "/usr/local/bin:/usr/bin:/bin");
}

bool backend_helper_env_by_name(const char *variable)
{
    return str_starts(variable, "PAI_") && strpbrk(variable, "\r\n");
}

enum rc backend_helper_env_write(const char *path, const char *const *env,
                                 struct err *err)
{
    struct buf b;
    enum rc rc = RC_OK;
    buf_init(&b, 64 << 20);
    for (; *env && !rc; env++) {
        if (backend_helper_env_by_name(*env))
            continue;
        if (strpbrk(*env, "\r\n"))
            rc = err_coded(err, RC_INVAL, E3018,
                           "variable %.*s holds a line end, which cannot be given to a "
                           "container",
                           (int)strcspn(*env, "="), *env);
        buf_printf(&b, "%s\n", *env);
    }
    if (!rc)
        rc = buf_check(&b, err);
    if (!rc)
        rc = job_file_put(path, buf_str(&b), b.n, 0600, err);
    if (b.p)
        explicit_bzero(b.p, b.n);
    buf_release(&b);
    return rc;
}
