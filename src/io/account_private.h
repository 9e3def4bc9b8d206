/* SPDX-License-Identifier: Apache-2.0 */
/* io/account_private.h - what the stores' accounts are put together from. Texts that come
 * back are the caller's, NULL when there is none.
 */
#ifndef IO_ACCOUNT_PRIVATE_H
#define IO_ACCOUNT_PRIVATE_H

#include "io/account.h"

char *account_env(const char *name);
char *account_first_env(const char *const *names); /* ends with NULL */
/* A whole file: that of the variable, else the one in the home directory. */
char *account_file(const char *variable, const char *in_home);
/* Keeps *to when it is set, else takes `v`, which it owns. */
void account_settle(char **to, char *v);
enum rc account_no_credentials(const char *store, const char *how, struct err *err);
/* Scheme and host of "https://host:port". */
enum rc account_endpoint(struct io_account *a, const char *text, const char *variable,
                         struct err *err);
/* Whether the bucket is part of the host name. */
void account_style(struct io_account *a, const char *variable, const char *file_value,
                   bool automatic);

#endif
