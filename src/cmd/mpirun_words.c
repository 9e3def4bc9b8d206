/* SPDX-License-Identifier: Apache-2.0 */
/* Line by line: an announcement of mpirun stands between two rules of dashes and is looked
 * through for the phrases that name a process and how it ended; one without any is kept
 * as it is. Everything else is of the ranks and goes on to the user, also a line that has
 * no end yet, unless it may become a rule.
 */
#include "cmd/mpirun_words.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

#define TEXT_MAX ((size_t)1 << 20)
#define RULE 40 /* dashes that begin or end an announcement */

void mpirun_words_init(struct mpirun_words *w)
{
    *w = (struct mpirun_words){.rank = -1};
    buf_init(&w->pass, (size_t)1 << 30);
    buf_init(&w->line, TEXT_MAX);
    buf_init(&w->block, TEXT_MAX);
    buf_init(&w->other, TEXT_MAX);
}

void mpirun_words_release(struct mpirun_words *w)
{
    buf_release(&w->pass);
    buf_release(&w->line);
    buf_release(&w->block);
    buf_release(&w->other);
}

static bool is_rule(struct str line)
{
    size_t n = 0;
    while (n < line.n && line.p[n] == '-')
        n++;
    return n == line.n && n >= RULE;
}

static const char *behind(const char *text, const char *words)
{
    const char *at = strstr(text, words);
    return at ? at + strlen(words) : NULL;
}

/* The digits there, behind blanks; 0 when there are none. */
static int number_at(const char *text)
{
    int64_t n = 0;
    text += strspn(text, " ");
    if (!str_to_i64(str_of(text, strspn(text, "0123456789")), &n))
        return 0;
    return (int)n;
}

/* Up to a blank or the end of the line. */
static void take_host(struct mpirun_words *w, const char *at)
{
    size_t n = strcspn(at, " \n");
    if (n && at[n - 1] == '.')
        n--;
    snprintf(w->host, sizeof(w->host), "%.*s", (int)n, at);
}

/* "process rank 1 with PID 0 on node h exited on signal 9 (Killed)." */
static bool read_signal(struct mpirun_words *w, const char *text)
{
    const char *rank = behind(text, "noticed that process rank ");
    const char *host = behind(text, " on node ");
    const char *number = behind(text, " exited on signal ");
    if (!rank || !host || !number)
        return false;
    w->rank = number_at(rank);
    w->signal = number_at(number);
    take_host(w, host);
    return true;
}

/* "Process name: [[30895,1],1]" and "Exit code:    3". */
static bool read_code(struct mpirun_words *w, const char *text)
{
    const char *name = behind(text, "Process name: [[");
    const char *code = behind(text, "Exit code:");
    const char *rank = name ? behind(name, "],") : NULL;
    if (!rank || !code)
        return false;
    if (!w->signal) {
        w->rank = number_at(rank);
        w->code = number_at(code);
    }
    return true;
}

/* Of a daemon on another host that is no longer there. */
static bool read_lost(struct mpirun_words *w, const char *text)
{
    static const char *const words[] = {"lost communication with a remote daemon",
                                        "daemon has unexpectedly failed",
                                        "ORTE has lost communication"};
    bool lost = false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        lost = lost || strstr(text, words[i]);
    const char *host = behind(text, "Remote daemon: ");
    host = host ? behind(host, "on node ") : NULL;
    if (lost && host)
        take_host(w, host);
    w->lost = w->lost || lost;
    return lost;
}

static void read_block(struct mpirun_words *w)
{
    const char *text = buf_str(&w->block);
    bool known = read_signal(w, text) || read_code(w, text) || read_lost(w, text) ||
                 strstr(text, "a non-zero exit code. Per user-direction");
    if (!known)
        buf_add(&w->other, text, w->block.n);
    buf_clear(&w->block);
}

static void take_line(struct mpirun_words *w)
{
    struct str line = str_of(buf_str(&w->line), w->line.n ? w->line.n - 1 : 0);
    if (!w->mid_line && is_rule(line)) {
        if (w->in_block)
            read_block(w);
        w->in_block = !w->in_block;
    } else if (w->in_block) {
        buf_add(&w->block, w->line.p, w->line.n);
    } else {
        w->said = w->said || strstr(w->line.p, "error[");
        buf_add(&w->pass, w->line.p, w->line.n);
    }
    w->mid_line = false;
    buf_clear(&w->line);
}

/* A line without its end is a bottom line that is drawn over, unless it may become a rule.
 */
static void pass_begun(struct mpirun_words *w)
{
    if (w->in_block || w->line.n == 0 || (!w->mid_line && w->line.p[0] == '-'))
        return;
    w->said = w->said || strstr(w->line.p, "error[");
    buf_add(&w->pass, w->line.p, w->line.n);
    buf_clear(&w->line);
    w->mid_line = true;
}

void mpirun_words_feed(struct mpirun_words *w, const char *p, size_t n)
{
    while (n > 0) {
        const char *end = memchr(p, '\n', n);
        size_t part = end ? (size_t)(end - p) + 1 : n;
        buf_add(&w->line, p, part);
        if (end)
            take_line(w);
        p += part;
        n -= part;
    }
    pass_begun(w);
}

void mpirun_words_end(struct mpirun_words *w)
{
    if (w->in_block)
        read_block(w);
    w->in_block = false;
    buf_add(&w->pass, buf_str(&w->line), w->line.n);
    buf_clear(&w->line);
}
