/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/crash.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/status.h"
#include "text/json_out.h"

#define LOG_AREA "agent"
#define FILE_NAME "crashes.json"
#define FILE_SIZE_MAX 4096
#define DELAY_NS INT64_C(1000000000)
#define HUNG_WEIGHT 2.5 /* two of them, minutes each, are enough */
#define KILL_WEIGHT 0.05

static bool among(int signal, const int *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == signal)
            return true;
    return false;
}

double backend_crash_weight(const struct backend_crash_death *d)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
                              SIGTRAP, SIGSYS, SIGXFSZ, SIGPIPE};
    static const int sent[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    int signal = d->exit.signal;
    bool inside = d->method && d->method[0];
    if (d->hung)
        return HUNG_WEIGHT;
    if (signal && among(signal, own, ARRAY_LEN(own)))
        return 1;
    if (!inside || (signal && among(signal, sent, ARRAY_LEN(sent))))
        return 0;
    return signal == SIGKILL ? KILL_WEIGHT : 1;
}

bool backend_crash_over(const struct backend_crash *c)
{
    return c->count > BACKEND_CRASH_LIMIT - 1;
}

void backend_crash_add(struct backend_crash *c, const struct backend_crash_death *d)
{
    c->exit = d->exit;
    c->at = d->at;
    c->hung = d->hung;
    snprintf(c->method, sizeof(c->method), "%s", d->method ? d->method : "");
    if (backend_crash_over(c)) {
        c->tries++;
        return;
    }
    c->count -= (double)d->lived / (double)BACKEND_CRASH_CALM_NS;
    c->count = (c->count > 0 ? c->count : 0) + backend_crash_weight(d);
}

bool backend_crash_waits(const struct backend_crash *c, int64_t now)
{
    int64_t delay = DELAY_NS << (c->count > 1 ? (int)c->count - 1 : 0);
    bool none = !c->at || c->count < 1 || backend_crash_over(c);
    return !none && now >= c->at && now - c->at < delay;
}

void backend_crash_words(const struct backend_crash *c, char out[BACKEND_CRASH_WORDS])
{
    char words[PROC_WORDS_SIZE];
    proc_exit_words(c->exit, words);
    snprintf(out, BACKEND_CRASH_WORDS, "%s%s%s%s", c->method[0] ? "in " : "", c->method,
             c->method[0] ? "(): " : "", c->hung ? "it did not return" : words);
}

void backend_crash_read(const char *dir, struct backend_crash *out)
{
    char *path = fs_join(dir, FILE_NAME), *text = NULL;
    size_t n = 0;
    struct doc doc = {0};
    *out = (struct backend_crash){.at = 0};
    if (fs_exists(path) && fs_read(path, FILE_SIZE_MAX, &text, &n, NULL) == RC_OK) {
        const struct node *map = job_json_open(text, &doc);
        out->count = node_get_num(map, "count", 0);
        out->tries = node_get_int(map, "tries", 0);
        out->exit = (struct proc_exit){.code = (int)node_get_int(map, "status", -1),
                                       .signal = (int)node_get_int(map, "signal", 0)};
        out->hung = node_get_bool(map, "hung", false);
        snprintf(out->method, sizeof(out->method), "%s",
                 node_get_text(map, "method", ""));
        out->at = node_get_int(map, "at", 0);
    }
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    mem_free(path);
}

void backend_crash_write(const char *dir, const struct backend_crash *c)
{
    struct buf b;
    struct err err = {0};
    buf_init(&b, FILE_SIZE_MAX);
    struct json_out j = {.out = &b};
    json_open(&j, NULL, '{');
    json_put_num(&j, "count", c->count);
    json_put_int(&j, "tries", c->tries);
    json_put_int(&j, "signal", c->exit.signal);
    json_put_int(&j, "status", c->exit.code);
    json_put_str(&j, "method", c->method);
    json_put_bool(&j, "hung", c->hung);
    json_put_int(&j, "at", c->at);
    json_close(&j, '}');
    buf_putc(&b, '\n');
    char *path = fs_join(dir, FILE_NAME);
    if (job_file_put(path, buf_str(&b), b.n, 0600, &err))
        log_warn("%s", err.msg);
    mem_free(path);
    buf_release(&b);
}
