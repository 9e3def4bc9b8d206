/* SPDX-License-Identifier: Apache-2.0 */
#include "team/mail.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"

#define MESSAGE_MAX (64 << 10)
#define SECONDS 30

const char *team_mail_check(const char *address)
{
    const char *at = strchr(address, '@');
    size_t n = strlen(address);
    if (!at || at == address || !at[1] || strchr(at + 1, '@') || n > 254)
        return "an address is written name@host";
    if (address[0] == '-')
        return "an address does not begin with '-'";
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)address[i]) &&
            !strchr("@.!#$%&*+-/=?^_{|}~", address[i]))
            return "an address holds letters, digits and a few signs, no blanks";
    return NULL;
}

/* Headers must stay one line each, whatever a job is called. */
static void put_header(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, "%s: ", name);
    for (const char *c = value; *c && c - value < 200; c++)
        buf_putc(b, *c >= ' ' && *c < 127 ? *c : '?');
    buf_puts(b, "\n");
}

static enum rc run_mailer(const char *command, const struct buf *text, struct err *err)
{
    struct str rest = str_c(command), word;
    VEC(const char *) argv = {0};
    struct proc_output out = {0};
    while (str_split(&rest, ' ', &word))
        if (word.n)
            VEC_PUSH(&argv, mem_strndup(word.p, word.n));
    size_t n = argv.n;
    VEC_PUSH(&argv, NULL);
    struct proc_spec spec = {.argv = argv.at, .cwd = "/"};
    struct proc_limits limits = {.seconds = SECONDS,
                                 .max_bytes = 4096,
                                 .input = buf_str(text),
                                 .n_input = text->n};
    enum rc rc = proc_capture(&spec, &limits, &out, err);
    if (rc) {
        err_wrap(err, rc, "mail");
        if (err)
            err->code = E5305;
    } else if (out.exit.code != 0) {
        char words[PROC_WORDS_SIZE];
        proc_exit_words(out.exit, words);
        rc = err_coded(err, RC_IO, E5305, "mail: '%s': %s: %.300s", argv.at[0], words,
                       out.n_err ? out.err : out.out);
    }
    if (rc == RC_NOTFOUND)
        rc = RC_IO; /* it may be installed later */
    proc_output_release(&out);
    for (size_t i = 0; i < n; i++)
        mem_free((char *)(uintptr_t)argv.at[i]);
    VEC_RELEASE(&argv);
    return rc;
}

enum rc team_mail_send(const char *command, const struct team_mail_message *m,
                       struct err *err)
{
    const char *wrong = team_mail_check(m->to);
    struct buf b;
    if (wrong)
        return err_coded(err, RC_INVAL, E5305, "mail '%.100s': %s", m->to, wrong);
    if (!command || !*command || strspn(command, " ") == strlen(command))
        return err_coded(err, RC_INVAL, E5305, "mail: no command for mail is set");
    buf_init(&b, MESSAGE_MAX);
    put_header(&b, "To", m->to);
    put_header(&b, "Subject", m->subject);
    char *id = mem_printf("<%s@trainyard>", m->key);
    put_header(&b, "Message-ID", id);
    mem_free(id);
    put_header(&b, "Content-Type", "text/plain; charset=utf-8");
    buf_printf(&b, "\n%s\n", m->text);
    enum rc rc = buf_check(&b, err);
    if (!rc)
        rc = run_mailer(command, &b, err);
    buf_release(&b);
    return rc;
}
