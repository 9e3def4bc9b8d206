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
    struct cron c;
    struct zone *z = NULL;
    int64_t next;
    if (cron_parse(text, &c, NULL) || zone_open("UTC", &z, NULL))
        return;
    if (cron_next(&c, z, 1700000000, &next)) {
        struct civil at = civil_of(next);
        if (next <= 1700000000 || !cron_fits(&c, &at))
            abort();
    }
    zone_close(z);
}

static void try_zone(struct str text)
{
    struct zone_rule r;
    if (!zone_rule_parse(text, &r))
        return;
    for (int64_t t = 1700000000; t < 1800000000; t += 9000000) {
        struct zone_span s = zone_rule_at(&r, t);
        if (s.from > t || s.to <= t)
            abort();
    }
}

static void try_dates(struct str text)
{
    struct dates d = {
        .at = {.year = 2024, .month = 3, .day = 1, .hour = 2, .minute = 30}};
    struct buf b;
    buf_init(&b, 1 << 20);
    dates_expand(&d, text, &b);
    buf_release(&b);
}

static void try_rule(const char *text)
{
    struct store_rule row = {.id = "r", .owner = "o", .condition = text};
    struct rule r;
    if (rule_open(&row, &r, NULL))
        return;
    if (r.on == RULE_LOG)
        rule_wants_line(&r, str_c("some line of a log: 12.5"));
    rule_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 4096)
        return 0;
    char *text = mem_strndup((const char *)data, n);
    struct net_allow *a = NULL;
    struct schedule_policy p;
    try_cron(text);
    try_zone(str_of(text, n));
    try_dates(str_of(text, n));
    try_rule(text);
    if (net_allow_open(text, &a, NULL) == RC_OK) {
        net_allow_host(a, text);
        net_allow_close(a);
    }
    if (schedule_policy_parse(text, &p, NULL) == RC_OK && p.limit < 1)
        abort();
    mem_free(text);
    return 0;
}
