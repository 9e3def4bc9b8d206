/* SPDX-License-Identifier: Apache-2.0 */
/* compat/front.h - the command lines of other tools, turned into ours.
 *
 * A link `torchrun` to the program makes it take torchrun's command line. A front end is
 * one function that reads such a line and says what to do in place of it: a command line
 * of this program, another program to start, or a text to print. It does nothing itself,
 * so it can be tested without running anything; cmd/fronts.c does what it says.
 *
 * To add one: compat/<name>.c with `const struct front front_<name>` and its row
 * FRONT(name, file) in fronts.def.
 */
#ifndef COMPAT_FRONT_H
#define COMPAT_FRONT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

/* What a front end is given. */
struct front_args {
    int argc; /* behind the tool's name */
    char *const *argv;
    const char *(*env)(const char *name); /* the environment; NULL when not set */
};

struct front_var {
    const char *name, *value;
};

enum front_does {
    FRONT_COMMAND, /* argv is a command line of ours, without the program's name */
    FRONT_PROGRAM, /* argv is another program, to be found on PATH, and its arguments */
    FRONT_NOTHING, /* print `text` and the notes; that is all */
};

/* What to do. Texts lie in the arena or are borrowed from the arguments. */
struct front_call {
    struct arena arena;
    enum front_does does;
    VEC(const char *) argv;
    VEC(struct front_var) env; /* set before it runs */
    VEC(const char *) notes;   /* for stderr, a line each, without "note: " */
    const char *text;          /* of FRONT_NOTHING: for stdout; may be NULL */
};
void front_call_release(struct front_call *c);
/* Each adds one word, note or variable; the text is made with the arena. */
void front_word(struct front_call *c, const char *word);
void front_option(struct front_call *c, const char *flag, const char *value);
void front_note(struct front_call *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
void front_env(struct front_call *c, const char *name, const char *value);

/* Fills a zeroed *out, which the caller releases in any case. RC_INVAL: E22xx. */
typedef enum rc front_fn(const struct front_args *in, struct front_call *out,
                         struct err *err);

struct front {
    const char *name;    /* of the link */
    const char *title;   /* whose command line it is */
    front_fn *translate; /* NULL: not in this version */
};

#define FRONT(name, file) extern const struct front front_##name;
#define FRONT_LATER(name, title)
#include "compat/fronts.def"
#undef FRONT
#undef FRONT_LATER

/* By the last part of the path in argv[0]; NULL when it is no front end's name. */
const struct front *front_find(const char *argv0);

#endif
