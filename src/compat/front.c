/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/front.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

static const struct front *const fronts[] = {
#define FRONT(name, file) &front_##name,
#define FRONT_LATER(name_, title_) &(const struct front){.name = #name_, .title = title_},
#include "compat/fronts.def"
#undef FRONT
#undef FRONT_LATER
};

const struct front *front_find(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');
    const char *name = slash ? slash + 1 : argv0;
    for (size_t i = 0; i < ARRAY_LEN(fronts); i++)
        if (strcmp(fronts[i]->name, name) == 0)
            return fronts[i];
    return NULL;
}

void front_call_release(struct front_call *c)
{
    VEC_RELEASE(&c->argv);
    VEC_RELEASE(&c->env);
    VEC_RELEASE(&c->notes);
    arena_release(&c->arena);
}

void front_word(struct front_call *c, const char *word)
{
    VEC_PUSH(&c->argv, arena_strdup(&c->arena, word));
}

void front_option(struct front_call *c, const char *flag, const char *value)
{
    VEC_PUSH(&c->argv, value ? arena_printf(&c->arena, "--%s=%s", flag, value)
                             : arena_printf(&c->arena, "--%s", flag));
}

void front_note(struct front_call *c, const char *fmt, ...)
{
    va_list ap;
    char text[ERR_MSG_SIZE];
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    VEC_PUSH(&c->notes, arena_strdup(&c->arena, text));
}

void front_env(struct front_call *c, const char *name, const char *value)
{
    struct front_var v = {.name = arena_strdup(&c->arena, name),
                          .value = arena_strdup(&c->arena, value)};
    VEC_PUSH(&c->env, v);
}
