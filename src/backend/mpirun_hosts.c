/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/mpirun_hosts.h"

#include <stdio.h>
#include <string.h>

#include "base/fs.h"

#define FILE_MAX (1 << 20)
#define HOSTS_MAX 4096

struct at {
    const char *name;
    int64_t line;
};

/* A host is a word of mpirun's, where ',' and ':' have a meaning. */
static bool is_host(struct str word)
{
    if (word.n < 1 || word.n >= MPIRUN_HOST_SIZE || word.p[0] == '-')
        return false;
    for (size_t i = 0; i < word.n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._",
                    word.p[i]))
            return false;
    return true;
}

static enum rc take_setting(struct str word, const struct at *at, int64_t *slots,
                            struct err *err)
{
    struct str value = word, name;
    int64_t n;
    if (!str_split(&value, '=', &name) ||
        !(str_is(name, "slots") || str_is(name, "max_slots") ||
          str_is(name, "max-slots")))
        return err_set(err, RC_INVAL,
                       "'%s' line %jd: '%.*s' is not understood; behind a host there is "
                       "slots=N",
                       at->name, (intmax_t)at->line, (int)(word.n > 60 ? 60 : word.n),
                       word.p);
    if (!str_to_i64(value, &n) || n < 1 || n > MPIRUN_SLOTS_MAX)
        return err_set(err, RC_INVAL, "'%s' line %jd: '%.*s' is not from 1 to %d",
                       at->name, (intmax_t)at->line, (int)(word.n > 60 ? 60 : word.n),
                       word.p, MPIRUN_SLOTS_MAX);
    if (str_is(name, "slots"))
        *slots = n;
    return RC_OK;
}

static void add_host(struct mpirun_hosts *out, struct str name, int64_t slots)
{
    struct mpirun_host h = {.slots = slots};
    for (size_t i = 0; i < out->at.n; i++)
        if (str_is(name, out->at.at[i].name)) {
            out->at.at[i].slots += slots;
            return;
        }
    snprintf(h.name, sizeof(h.name), "%.*s", (int)name.n, name.p);
    VEC_PUSH(&out->at, h);
}

static bool next_word(struct str *rest, struct str *word)
{
    *rest = str_trim(*rest);
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\t')
        n++;
    *word = str_of(rest->p, n);
    *rest = str_of(rest->p + n, rest->n - n);
    return n > 0;
}

static enum rc take_line(struct str line, const struct at *at, struct mpirun_hosts *out,
                         struct err *err)
{
    struct str rest, host, word;
    int64_t slots = 1;
    enum rc rc = RC_OK;
    const char *comment = line.n ? memchr(line.p, '#', line.n) : NULL;
    rest = comment ? str_of(line.p, (size_t)(comment - line.p)) : line;
    if (!next_word(&rest, &host))
        return RC_OK;
    if (!is_host(host))
        return err_set(
            err, RC_INVAL, "'%s' line %jd: '%.*s' is not the name or address of a host",
            at->name, (intmax_t)at->line, (int)(host.n > 60 ? 60 : host.n), host.p);
    while (!rc && next_word(&rest, &word))
        rc = take_setting(word, at, &slots, err);
    if (!rc && out->at.n >= HOSTS_MAX)
        rc = err_set(err, RC_INVAL, "'%s' has more than %d hosts", at->name, HOSTS_MAX);
    if (!rc)
        add_host(out, host, slots);
    return rc;
}

enum rc mpirun_hosts_parse(struct str text, const char *name, struct mpirun_hosts *out,
                           struct err *err)
{
    struct at at = {.name = name};
    struct str line;
    enum rc rc = RC_OK;
    *out = (struct mpirun_hosts){0};
    while (!rc && text.n && str_split(&text, '\n', &line)) {
        at.line++;
        rc = take_line(line, &at, out, err);
    }
    if (!rc && !out->at.n)
        rc = err_set(err, RC_INVAL, "'%s' names no host", name);
    return rc;
}

enum rc mpirun_hosts_read(const char *path, struct mpirun_hosts *out, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    *out = (struct mpirun_hosts){0};
    enum rc rc = fs_read(path, FILE_MAX, &text, &n, err);
    if (!rc)
        rc = mpirun_hosts_parse(str_of(text, n), path, out, err);
    mem_free(text);
    return rc;
}

int64_t mpirun_hosts_slots(const struct mpirun_hosts *h)
{
    int64_t sum = 0;
    for (size_t i = 0; i < h->at.n; i++)
        sum += h->at.at[i].slots;
    return sum;
}

void mpirun_hosts_release(struct mpirun_hosts *h)
{
    VEC_RELEASE(&h->at);
}
