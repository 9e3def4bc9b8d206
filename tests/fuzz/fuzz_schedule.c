/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, dates, rules of zones, lists of hosts and conditions: all that people write for
 * schedules and notifications. What a line promises must hold.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "team/cron.h"
#include "team/dates.h"
#include "team/net_allow.h"
#include "team/rule.h"
#include "team/schedule.h"
#include "team/zone_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void try_cron(const char *text)
{
    struct team_cron c;
    struct team_zone *z = NULL;
    int64_t next;
    if (team_cron_parse(text, &c, NULL) || team_zone_open("UTC", &z, NULL))
        return;
    if (team_cron_next(&c, z, 1700000000, &next)) {
        struct team_civil at = team_civil_of(next);
        if (next <= 1700000000 || !team_cron_fits(&c, &at))
            abort();
    }
    team_zone_close(z);
}

static void try_zone(struct str text)
{
    struct team_zone_rule r;
    if (!team_zone_rule_parse(text, &r))
        return;
    for (int64_t t = 1700000000; t < 1800000000; t += 9000000) {
        struct team_zone_span s = team_zone_rule_at(&r, t);
        if (s.from > t || s.to <= t)
            abort();
    }
}

static void try_dates(struct str text)
{
    struct team_dates d = {
        .at = {.year = 2024, .month = 3, .day = 1, .hour = 2, .minute = 30}};
    struct buf b;
    buf_init(&b, 1 << 20);
    team_dates_expand(&d, text, &b);
    buf_release(&b);
}

static void try_rule(const char *text)
{
    struct store_rule row = {.id = "r", .owner = "o", .condition = text};
    struct team_rule r;
    if (team_rule_open(&row, &r, NULL))
        return;
    if (r.on == RULE_LOG)
        team_rule_wants_line(&r, str_c("some line of a log: 12.5"));
    team_rule_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 4096)
        return 0;
    char *text = mem_strndup((const char *)data, n);
    struct team_net_allow *a = NULL;
    struct team_schedule_policy p;
    try_cron(text);
    try_zone(str_of(text, n));
    try_dates(str_of(text, n));
    try_rule(text);
    if (team_net_allow_open(text, &a, NULL) == RC_OK) {
        team_net_allow_host(a, text);
        team_net_allow_close(a);
    }
    if (team_schedule_policy_parse(text, &p, NULL) == RC_OK && p.limit < 1)
        abort();
    mem_free(text);
    return 0;
}
