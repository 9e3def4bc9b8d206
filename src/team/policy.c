/* SPDX-License-Identifier: Apache-2.0 */
/* Rules are asked one after the other, in the order of the file's reference page; the first
 * that a job breaks is named in the message, so that a user knows what to change and whom to
 * ask. A role that the file does not name is not restricted.
 */
#include "team/policy.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/snapshot.h"
#include "store/users.h"
#include "text/conf.h"
#include "text/policy/policy.h"

struct team_policy {
    struct conf conf;
    const struct policy_Policy *rules; /* borrowed from conf */
    struct job_gate gate;
};

static enum rc first_problem(const char *path, const struct diags *d, enum rc rc,
                             struct err *err)
{
    uint32_t line = 0, column = 0;
    for (size_t i = 0; i < d->list.n; i++) {
        const struct diag *g = &d->list.at[i];
        if (g->severity != DIAG_ERROR)
            continue;
        if (g->at.src)
            source_locate(g->at.src, g->at.off, &line, &column);
        return err_coded(err, rc, g->code, "%.200s:%u:%u: %.300s", path, line, column,
                         g->msg);
    }
    return rc;
}

struct request {
    const char *role;
    const struct policy_PolicyRole *rules;
    const struct job_spec *spec;
};

static enum rc breaks(const struct request *q, const char *rule, const char *text,
                      struct err *err)
{
    return err_coded(err, RC_INVAL, E5010, "%s.%s: %s", q->role, rule, text);
}

static bool matches(const char *text, const char *const *patterns, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (fnmatch(patterns[i], text, 0) == 0)
            return true;
    return n == 0;
}

static enum rc check_image(const struct request *q, struct err *err)
{
    const struct policy_PolicyRole *r = q->rules;
    const struct jobspec_JobSpec *s = q->spec->s;
    char text[300];
    if (r->require_image && !s->has_image)
        return breaks(q, "require_image", "the job needs an image", err);
    if (!s->has_image || matches(s->image, r->images, r->n_images))
        return RC_OK;
    snprintf(text, sizeof(text),
             "the image '%.100s' is none of those allowed, such as '%.100s'", s->image,
             r->images[0]);
    return breaks(q, "images", text, err);
}

static enum rc check_dataset(const struct request *q, struct str name, struct err *err)
{
    char own[256], text[300];
    if (name.n == 0)
        return RC_OK; /* none can be meant, which is said later */
    snprintf(own, sizeof(own), "%.*s", (int)(name.n < 200 ? name.n : 200), name.p);
    if (matches(own, q->rules->datasets, q->rules->n_datasets))
        return RC_OK;
    snprintf(text, sizeof(text), "the dataset '%.100s' is none of those allowed", own);
    return breaks(q, "datasets", text, err);
}

/* NAME of "dataset:NAME", "pai://datasets/NAME/..." and "NAME:/mount". */
static struct str dataset_name(const char *value)
{
    static const char pai[] = "pai://datasets/", plain[] = "dataset:";
    if (str_starts(value, pai)) {
        value += sizeof(pai) - 1;
        return str_of(value, strcspn(value, "/"));
    }
    if (str_starts(value, plain))
        return str_c(value + sizeof(plain) - 1);
    return str_of(value, strcspn(value, ":"));
}

static enum rc check_datasets(const struct request *q, struct err *err)
{
    const struct jobspec_JobSpec *s = q->spec->s;
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < s->n_input && !rc; i++)
        if (!str_starts(s->input[i].value, SNAPSHOT_PREFIX)) /* sent with the job */
            rc = check_dataset(q, dataset_name(s->input[i].value), err);
    for (int64_t i = 0; i < s->n_output && !rc; i++)
        rc = check_dataset(q, dataset_name(s->output[i].value), err);
    for (int64_t i = 0; i < s->n_data && !rc; i++)
        rc = check_dataset(q, dataset_name(s->data[i]), err);
    return rc;
}

static enum rc check_numbers(const struct request *q, struct err *err)
{
    const struct policy_PolicyRole *r = q->rules;
    char text[100];
    if (q->spec->s->priority > r->max_priority) {
        snprintf(text, sizeof(text), "priority %jd is above %jd",
                 (intmax_t)q->spec->s->priority, (intmax_t)r->max_priority);
        return breaks(q, "max_priority", text, err);
    }
    if (q->spec->workers > r->max_workers) {
        snprintf(text, sizeof(text), "%jd workers are more than %jd",
                 (intmax_t)q->spec->workers, (intmax_t)r->max_workers);
        return breaks(q, "max_workers", text, err);
    }
    return RC_OK;
}

static enum rc check_network(const struct request *q, struct job_isolation *x,
                             struct err *err)
{
    if (!q->rules->has_network || strcmp(q->rules->network, "none") != 0)
        return RC_OK;
    if (!x)
        return breaks(q, "network",
                      "this server does not isolate jobs, so it cannot keep "
                      "them from the network",
                      err);
    x->no_network = true;
    return RC_OK;
}

static enum rc hold_to(void *arg, const struct job_place *p, const struct job_spec *s,
                       struct job_isolation *x, struct err *err)
{
    const struct team_policy *policy = arg;
    struct store_users users = {0};
    enum rc rc = store_user_get(p->store, p->owner, &users, err);
    if (rc)
        return rc;
    bool admin = strcmp(users.at[0].role, "admin") == 0;
    store_users_release(&users);
    struct request q = {.role = admin ? "admin" : "submitter",
                        .rules = admin ? policy->rules->admin : policy->rules->submitter,
                        .spec = s};
    if (!q.rules)
        return RC_OK;
    rc = check_image(&q, err);
    if (!rc)
        rc = check_datasets(&q, err);
    if (!rc)
        rc = check_network(&q, x, err);
    return rc ? rc : check_numbers(&q, err);
}

enum rc team_policy_open(const char *path, struct team_policy **out, struct err *err)
{
    struct team_policy *p = mem_calloc(1, sizeof(*p));
    struct conf_options o = {.kind = &conf_kind_policy};
    struct diags diags = {0};
    enum rc rc = conf_open(path, &o, &p->conf, &diags, err);
    if (rc)
        rc = first_problem(path, &diags, rc, err);
    diags_release(&diags);
    if (rc) {
        team_policy_close(p);
        return rc;
    }
    p->rules = p->conf.data;
    p->gate = (struct job_gate){.check = hold_to, .arg = p};
    *out = p;
    return RC_OK;
}

void team_policy_close(struct team_policy *p)
{
    if (!p)
        return;
    conf_release(&p->conf);
    mem_free(p);
}

const struct job_gate *team_policy_gate(const struct team_policy *p)
{
    return &p->gate;
}
