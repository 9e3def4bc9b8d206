/* SPDX-License-Identifier: Apache-2.0 */
/* team/mail.h - a message through the machine's own program for mail. */
#ifndef TEAM_MAIL_H
#define TEAM_MAIL_H

#include "base/err.h"

/* NULL when `address` is one that a message can be sent to, else what is wrong. */
const char *team_mail_check(const char *address);

struct team_mail_message {
    const char *to, *subject, *text;
    const char
        *key; /* becomes its Message-ID, so that a second try is the same message */
};
/* `command` is a list of words with blanks between them, run without a shell; it reads
 * the message with headers from its standard input ("/usr/sbin/sendmail -t -i").
 * RC_INVAL: no command or a bad address; any other rc: trying again may help. E5305.
 */
enum rc team_mail_send(const char *command, const struct team_mail_message *m,
                       struct err *err) MUST_CHECK;

#endif
