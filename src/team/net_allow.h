/* SPDX-License-Identifier: Apache-2.0 */
/* team/net_allow.h - which hosts this server may be asked to talk to.
 *
 * Who may make a rule chooses a URL, and the server stands where that person may not:
 * behind the firewall, beside a cloud's metadata service. So a host must be on the list,
 * and its address must not be one of this machine or of a private network unless the list
 * names that address or network. Names are checked when a rule is made; addresses when
 * the connection is, because a name may mean another one by then.
 *
 *     hooks.example.com          this host
 *     *.corp.example             all hosts below that domain
 *     *                          every host (with a public address)
 *     10.1.0.0/16  fd00:1::/32   also this network, private or not
 *     127.0.0.1    [::1]         also this address
 */
#ifndef TEAM_NET_ALLOW_H
#define TEAM_NET_ALLOW_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct team_net_allow;

/* `list` with commas between its entries; NULL or "": nothing is allowed. RC_INVAL
 * (E5302) names the entry that cannot be read.
 */
enum rc team_net_allow_open(const char *list, struct team_net_allow **out,
                            struct err *err) MUST_CHECK;
void team_net_allow_close(struct team_net_allow *a); /* NULL is fine */

/* Is this name, or address written as one, on the list? */
bool team_net_allow_host(const struct team_net_allow *a, const char *host);
/* May a connection to this address be made? */
bool team_net_allow_address(const struct team_net_allow *a, const struct sockaddr *addr);
/* Is it an address that anybody on the internet could mean? Not of this machine, of a
 * private network, of a link, of a group, or reserved.
 */
bool team_net_public(const struct sockaddr *addr);

#endif
