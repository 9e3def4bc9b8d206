/* SPDX-License-Identifier: Apache-2.0 */
/* A search space from its text, and tuners on it. */
#ifndef TESTS_TUNE_SPACE_H
#define TESTS_TUNE_SPACE_H

#include <stdlib.h>

#include "tap.h"
#include "text/diag.h"
#include "text/json.h"
#include "text/nni/space.h"
#include "tune/tuner.h"

struct text {
    struct doc doc;
    struct diags diags;
};

static inline const struct node *text_open(struct text *t, const char *json)
{
    struct err err = {0};
    *t = (struct text){0};
    if (source_from("test", json, strlen(json), &t->doc.src, &err) ||
        json_parse(&t->doc, &t->diags)) {
        printf("# not JSON: %s\n", json);
        exit(1);
    }
    return t->doc.root;
}

static inline void text_close(struct text *t)
{
    diags_release(&t->diags);
    doc_release(&t->doc);
}

struct space {
    struct text text;
    struct nni_space space;
};

static inline void space_open(struct space *s, const char *json)
{
    const struct node *root = text_open(&s->text, json);
    if (nni_space_build(root, &s->text.doc.arena, &s->text.diags, &s->space)) {
        printf("# not a search space: %s\n", json);
        exit(1);
    }
}

static inline void space_close(struct space *s)
{
    text_close(&s->text);
}

static inline struct tuner *tuner_of(const struct space *s, const char *name,
                                     const struct node *args, uint64_t seed)
{
    struct tuner_conf conf = {
        .name = name, .args = args, .space = &s->space, .seed = seed};
    struct tuner *t = NULL;
    struct err err = {0};
    CHECK_INT(tuner_create(&conf, &t, &err), RC_OK);
    return t;
}

#endif
