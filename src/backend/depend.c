/* SPDX-License-Identifier: Apache-2.0 */
/* What a job waits for is in the terms of its status, which only jobs that have any are
 * parsed for. Those that it names are looked for among the live jobs of this machine first,
 * in the store only when they are not there: then they have ended, or run elsewhere.
 */
#include "backend/depend.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/state.h"
#include "job/status.h"

/* "terms" is in the status of jobs that have any, and in no text: quotes are escaped. */
static const struct node *terms_of(const struct store_job *j, struct doc *doc)
{
    *doc = (struct doc){0};
    if (!strstr(j->status, "\"terms\": {"))
        return NULL;
    return node_find(job_json_open(j->status, doc), "terms");
}

static void release(struct doc *doc)
{
    if (doc->src)
        doc_release(doc);
}

/* The state of a job; "" when it is not there any more. */
static void state_of(const struct job_place *p, const struct store_jobs *rows,
                     const char *id, char out[24])
{
    struct store_jobs one = {0};
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->at[i].id, id) == 0) {
            snprintf(out, 24, "%s", rows->at[i].state);
            return;
        }
    out[0] = '\0';
    struct err err = {0};
    enum rc rc = store_get(p->store, id, &one, &err);
    if (!rc)
        snprintf(out, 24, "%s", one.at[0].state);
    else if (rc != RC_NOTFOUND)
        snprintf(out, 24, "%s", job_state_name(JOB_Unknown)); /* asked again */
    store_jobs_release(&one);
}

static enum backend_depend_answer look_at(const char *id, const char *state, bool ok,
                                          char text[DEPEND_TEXT])
{
    enum job_state s = JOB_Unknown;
    bool known = job_state_find(state, &s);
    if (*state && (!known || !job_state_ended(s))) {
        snprintf(text, DEPEND_TEXT, "for job %s, which is %s", id, state);
        return DEPEND_WAITS;
    }
    if (!ok || s == JOB_Succeeded)
        return DEPEND_MET;
    if (*state)
        snprintf(text, DEPEND_TEXT, "job %s, which had to succeed first, is %s", id,
                 state);
    else
        snprintf(text, DEPEND_TEXT, "job %s, which had to succeed first, was deleted",
                 id);
    return DEPEND_FAILED;
}

static enum backend_depend_answer look_through(const struct job_place *p,
                                               const struct store_jobs *rows,
                                               const struct node *ids, bool ok,
                                               char text[DEPEND_TEXT])
{
    enum backend_depend_answer worst = DEPEND_NONE;
    for (size_t i = 0; ids && ids->kind == NODE_LIST && i < ids->list.n; i++) {
        char state[24], what[DEPEND_TEXT] = "";
        const char *id = ids->list.at[i]->kind == NODE_STR ? ids->list.at[i]->text.p : "";
        state_of(p, rows, id, state);
        enum backend_depend_answer a = look_at(id, state, ok, what);
        if (a > worst) {
            worst = a;
            memcpy(text, what, DEPEND_TEXT);
        }
        if (worst == DEPEND_FAILED)
            break;
    }
    return worst;
}

enum backend_depend_answer backend_depend(const struct job_place *p,
                                          const struct store_jobs *rows,
                                          const struct store_job *j,
                                          char text[DEPEND_TEXT])
{
    struct doc doc;
    char other[DEPEND_TEXT] = "";
    text[0] = '\0';
    if (strstr(j->status, "\"eligible\": true"))
        return DEPEND_NONE;
    const struct node *terms = terms_of(j, &doc);
    enum backend_depend_answer a =
        look_through(p, rows, node_find(terms, "after_ok"), true, text);
    enum backend_depend_answer b =
        a == DEPEND_FAILED
            ? DEPEND_NONE
            : look_through(p, rows, node_find(terms, "after"), false, other);
    release(&doc);
    if (b > a)
        memcpy(text, other, DEPEND_TEXT);
    return b > a ? b : a;
}

/* The array of a job that has a limit: its count; NULL: it has none. Somebody else's jobs count
 * for themselves, whatever array they say that they belong to.
 */
static int64_t *count_of(struct backend_depend_arrays *a, const struct store_job *j,
                         char id[16], int64_t *limit)
{
    struct doc doc;
    const struct node *terms = terms_of(j, &doc);
    *limit = node_get_int(terms, "array_limit", 0);
    snprintf(id, 16, "%s", node_get_text(terms, "array", ""));
    release(&doc);
    if (*limit <= 0)
        return NULL;
    char *key = mem_printf("%s %s", id, j->owner);
    struct map_entry *e = map_put(&a->counts, str_c(key));
    if (!e->value)
        e->value = mem_calloc(1, sizeof(int64_t));
    mem_free(key);
    return e->value;
}

void backend_depend_arrays_release(struct backend_depend_arrays *a)
{
    for (size_t i = 0; i < a->counts.n; i++)
        mem_free(a->counts.at[i].value);
    map_release(&a->counts);
}

void backend_depend_array_runs(struct backend_depend_arrays *a, const struct store_job *j)
{
    char id[16];
    int64_t limit, *n = count_of(a, j, id, &limit);
    if (n)
        ++*n;
}

bool backend_depend_array_room(struct backend_depend_arrays *a, const struct store_job *j,
                               char text[DEPEND_TEXT])
{
    char id[16];
    int64_t limit, *n = count_of(a, j, id, &limit);
    if (!n || *n < limit) {
        if (n)
            ++*n;
        return true;
    }
    snprintf(text, DEPEND_TEXT, "for a place: array %s runs %jd at a time", id,
             (intmax_t)limit);
    return false;
}
