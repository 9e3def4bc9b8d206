/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI document describes every route, and nothing else. */
#include "base/mem.h"
#include "http/api.h"
#include "http/route.h"
#include "job/status.h"
#include "tap.h"

static struct doc doc;
static const struct node *root;

static const struct node *operation(const struct http_route *r)
{
    char method[8] = "";
    for (size_t i = 0; r->method[i]; i++)
        method[i] = (char)(r->method[i] | 0x20);
    return node_find(node_find(node_find(root, "paths"), r->path), method);
}

static void every_route_is_described(void)
{
    size_t n;
    const struct http_route *all = http_route_all(&n);
    for (size_t i = 0; i < n; i++) {
        const struct node *op = operation(&all[i]);
        char status[8];
        CHECK(op != NULL);
        CHECK_STR(node_get_text(op, "operationId", ""), all[i].id);
        CHECK_STR(node_get_text(op, "x-role", ""), http_role_name(all[i].role));
        snprintf(status, sizeof(status), "%u", all[i].status);
        CHECK(node_find(node_find(op, "responses"), status) != NULL);
        CHECK((node_find(op, "security") != NULL) == (all[i].role == ROLE_NONE));
    }
}

static void nothing_else_is_described(void)
{
    size_t n, described = 0;
    const struct http_route *all = http_route_all(&n);
    const struct node *paths = node_find(root, "paths");
    for (size_t i = 0; i < paths->map.n; i++)
        described += paths->map.at[i].value->map.n;
    CHECK_INT(described, n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(all[i].id, all[k].id) != 0);
}

/* Every "$ref" leads somewhere. */
static void check_refs(const struct node *n)
{
    static const char prefix[] = "#/components/schemas/";
    for (size_t i = 0; n->kind == NODE_LIST && i < n->list.n; i++)
        check_refs(n->list.at[i]);
    for (size_t i = 0; n->kind == NODE_MAP && i < n->map.n; i++) {
        const struct node *v = n->map.at[i].value;
        if (str_is(n->map.at[i].key, "$ref")) {
            CHECK(strncmp(v->text.p, prefix, sizeof(prefix) - 1) == 0);
            CHECK(node_find(node_find(node_find(root, "components"), "schemas"),
                            v->text.p + sizeof(prefix) - 1) != NULL);
        }
        check_refs(v);
    }
}

static void every_reference_leads_to_a_schema(void)
{
    check_refs(root);
}

static void a_part_of_a_path_has_its_pattern(void)
{
    size_t n;
    const struct http_route *all = http_route_all(&n);
    for (size_t i = 0; i < n; i++) {
        struct str rest = str_c(all[i].path), part;
        while (str_split(&rest, '/', &part)) {
            char name[24] = "";
            if (!part.n || part.p[0] != '{')
                continue;
            CHECK(part.n - 2 < sizeof(name));
            memcpy(name, part.p + 1, part.n - 2);
            CHECK(http_route_param_pattern(name) != NULL);
        }
    }
}

static void a_job_names_no_path_of_the_server(void)
{
    const struct node *spec =
        node_find(node_find(node_find(root, "components"), "schemas"), "JobSpec");
    const struct node *fields = node_find(spec, "properties");
    CHECK(node_find(fields, "command") != NULL);
    CHECK(node_find(fields, "secret_values") != NULL);
    CHECK(node_find(fields, "workdir") == NULL);
    CHECK(node_find(fields, "inherit") == NULL);
}

static const struct tap_case cases[] = {
    TAP(every_route_is_described),          TAP(nothing_else_is_described),
    TAP(every_reference_leads_to_a_schema), TAP(a_part_of_a_path_has_its_pattern),
    TAP(a_job_names_no_path_of_the_server),
};

int main(int argc, char **argv)
{
    char *text = api_document("1.2.3");
    root = job_json_open(text, &doc);
    int rc = root ? tap_run(cases, ARRAY_LEN(cases), argc, argv) : 1;
    if (doc.src)
        doc_release(&doc);
    mem_free(text);
    return rc;
}
