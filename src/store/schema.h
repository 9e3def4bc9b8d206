/* SPDX-License-Identifier: Apache-2.0 */
/* store/schema.h - the statements behind each version of the tables, for both databases.
 * What differs between them (counting columns, triggers) is theirs to add.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#define STORE_VERSION 5

/* Version 1. */
#define SCHEMA_V1                                                                           \
    "CREATE TABLE jobs (num {serial}, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, "        \
    "name_low TEXT NOT NULL, "                                                              \
    "owner TEXT NOT NULL, token TEXT, state TEXT NOT NULL, reason TEXT NOT NULL, "          \
    "queue TEXT NOT NULL, backend TEXT NOT NULL, node TEXT NOT NULL, "                      \
    "priority BIGINT NOT NULL, attempt BIGINT NOT NULL, created BIGINT NOT NULL, "          \
    "started BIGINT NOT NULL, finished BIGINT NOT NULL, cpu_milli BIGINT NOT NULL, "        \
    "memory BIGINT NOT NULL, gpu BIGINT NOT NULL, timeout_s BIGINT NOT NULL, "              \
    "workers BIGINT NOT NULL, seq BIGINT NOT NULL, status TEXT NOT NULL)",                  \
        "CREATE UNIQUE INDEX jobs_token ON jobs (owner, token)",                            \
        "CREATE INDEX jobs_state ON jobs (state, num)",                                     \
        "CREATE INDEX jobs_owner ON jobs (owner, num)",                                     \
        "CREATE INDEX jobs_queue ON jobs (queue, num)",                                     \
        "CREATE INDEX jobs_created ON jobs (created)",                                      \
        "CREATE INDEX jobs_name ON jobs (num, name_low)",                                   \
        "CREATE TABLE specs (job TEXT PRIMARY KEY, spec TEXT NOT NULL)",                    \
        "CREATE TABLE labels (job TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "  \
        "PRIMARY KEY (job, key))",                                                          \
        "CREATE INDEX labels_value ON labels (key, value, job)",                            \
        "CREATE TABLE events (job TEXT NOT NULL, seq BIGINT NOT NULL, time BIGINT NOT "     \
        "NULL, type TEXT NOT NULL, attempt BIGINT NOT NULL, worker BIGINT NOT NULL, "       \
        "reason TEXT NOT NULL, message TEXT NOT NULL, data TEXT NOT NULL, "                 \
        "PRIMARY KEY (job, seq))",                                                          \
        "CREATE TABLE metrics (num {serial}, job TEXT NOT NULL, name TEXT NOT NULL, "       \
        "attempt BIGINT NOT NULL, worker BIGINT NOT NULL, place BIGINT NOT NULL, "          \
        "time BIGINT NOT NULL, step BIGINT NOT NULL, value DOUBLE PRECISION NOT NULL)",     \
        "CREATE UNIQUE INDEX metrics_place ON metrics (job, name, attempt, worker, place)", \
        "CREATE INDEX metrics_order ON metrics (job, num)",                                 \
        "CREATE TABLE datasets (name TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, "           \
        "type TEXT NOT NULL, uri TEXT NOT NULL, mount TEXT NOT NULL, "                      \
        "options TEXT NOT NULL, owner TEXT NOT NULL, created BIGINT NOT NULL)"

/* Version 2: a team. Jobs belong to projects; users, tokens, schedules, notifications,
 * leases and the audit log.
 */
#define SCHEMA_V2                                                                          \
    "ALTER TABLE jobs ADD COLUMN project TEXT NOT NULL DEFAULT ''",                        \
        "CREATE INDEX jobs_project ON jobs (project, num)",                                \
        "CREATE TABLE users (name TEXT PRIMARY KEY, role TEXT NOT NULL, projects TEXT "    \
        "NOT NULL, created BIGINT NOT NULL, disabled BIGINT NOT NULL)",                    \
        "CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, owner TEXT " \
        "NOT NULL, role TEXT NOT NULL, note TEXT NOT NULL, created BIGINT NOT NULL, "      \
        "expires BIGINT NOT NULL, used BIGINT NOT NULL)",                                  \
        "CREATE INDEX tokens_owner ON tokens (owner)",                                     \
        "CREATE TABLE projects (name TEXT PRIMARY KEY, cpu_milli BIGINT NOT NULL, memory " \
        "BIGINT NOT NULL, gpu BIGINT NOT NULL, running BIGINT NOT NULL, weight BIGINT "    \
        "NOT NULL, created BIGINT NOT NULL)",                                              \
        "CREATE TABLE schedules (name TEXT PRIMARY KEY, owner TEXT NOT NULL, project "     \
        "TEXT NOT NULL, cron TEXT NOT NULL, zone TEXT NOT NULL, spec TEXT NOT NULL, "      \
        "params TEXT NOT NULL, catch_up TEXT NOT NULL, paused BIGINT NOT NULL, created "   \
        "BIGINT NOT NULL, next BIGINT NOT NULL)",                                          \
        "CREATE INDEX schedules_next ON schedules (next)",                                 \
        "CREATE TABLE schedule_runs (schedule TEXT NOT NULL, planned BIGINT NOT NULL, "    \
        "fired BIGINT NOT NULL, job TEXT NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY "    \
        "(schedule, planned))",                                                            \
        "CREATE TABLE notify_rules (id TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT "  \
        "NOT NULL, target TEXT NOT NULL, condition TEXT NOT NULL, created BIGINT NOT "     \
        "NULL)",                                                                           \
        "CREATE TABLE deliveries (key TEXT PRIMARY KEY, rule TEXT NOT NULL, job TEXT NOT " \
        "NULL, payload TEXT NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL, tries "  \
        "BIGINT NOT NULL, due BIGINT NOT NULL, created BIGINT NOT NULL)",                  \
        "CREATE INDEX deliveries_due ON deliveries (state, due)",                          \
        "CREATE INDEX deliveries_rule ON deliveries (rule, created)",                      \
        "CREATE TABLE marks (name TEXT PRIMARY KEY, value BIGINT NOT NULL)",               \
        "CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until_ms "      \
        "BIGINT NOT NULL, epoch BIGINT NOT NULL)",                                         \
        "CREATE TABLE audit (num {serial}, time BIGINT NOT NULL, who TEXT NOT NULL, "      \
        "action TEXT NOT NULL, object TEXT NOT NULL, outcome TEXT NOT NULL, address TEXT " \
        "NOT NULL)",                                                                       \
        "CREATE INDEX audit_who ON audit (who, num)"

/* Version 3: what is kept for longer than jobs, and for how long. Events go with their job
 * and not otherwise: see the databases' own triggers.
 */
#define SCHEMA_V3                                                                         \
    "CREATE TABLE servers (node TEXT PRIMARY KEY, url TEXT NOT NULL, started BIGINT "     \
    "NOT NULL)",                                                                          \
        "CREATE TABLE models (name TEXT NOT NULL, version BIGINT NOT NULL, owner TEXT "   \
        "NOT NULL, project TEXT NOT NULL, job TEXT NOT NULL, channel TEXT NOT NULL, "     \
        "snapshot TEXT NOT NULL, node TEXT NOT NULL, files BIGINT NOT NULL, bytes "       \
        "BIGINT NOT NULL, lineage TEXT NOT NULL, note TEXT NOT NULL, created BIGINT NOT " \
        "NULL, PRIMARY KEY (name, version))",                                             \
        "CREATE TABLE retention (name TEXT PRIMARY KEY, age_s BIGINT NOT NULL, jobs "     \
        "BIGINT NOT NULL, bytes BIGINT NOT NULL)",                                        \
        "CREATE TABLE past_use (owner TEXT NOT NULL, project TEXT NOT NULL, started "     \
        "BIGINT NOT NULL, finished BIGINT NOT NULL, cpu_milli BIGINT NOT NULL, memory "   \
        "BIGINT NOT NULL, gpu BIGINT NOT NULL)",                                          \
        "CREATE INDEX past_use_finished ON past_use (finished)"

/* Version 4: where the files of a schedule lie, and which code experiments need. */
#define SCHEMA_V4                                                                \
    "ALTER TABLE schedules ADD COLUMN node TEXT NOT NULL DEFAULT ''",            \
        "CREATE TABLE experiments (id TEXT NOT NULL, node TEXT NOT NULL, owner " \
        "TEXT NOT NULL, snapshot TEXT NOT NULL, PRIMARY KEY (id, node))"

/* Version 5: user ids of jobs are the same at all servers. */
#define SCHEMA_V5 \
    "CREATE TABLE accounts (name TEXT PRIMARY KEY, uid BIGINT NOT NULL UNIQUE)"

#endif
