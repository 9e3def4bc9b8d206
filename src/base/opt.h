/* SPDX-License-Identifier: Apache-2.0 */
/* base/opt.h - settings: one table per struct.
 *
 *     struct dcn_conf { int64_t dim; const char *hidden; bool dry_run; };
 *     static const struct opt dcn_opts[] = {
 *         {OPT_INT(struct dcn_conf, dim, "16", 1, 4096, "embedding width")},
 *         {OPT_TEXT(struct dcn_conf, hidden, "256,128", "widths of the deep tower")},
 *         {OPT_BOOL(struct dcn_conf, dry_run, "false", "change nothing"), .letter = 'n'},
 *         {0},
 *     };
 *
 * The same table serves flags (`--dim 16`), settings by name (`dim`, from YAML or HTTP)
 * and help. The name follows from the field (`dry_run`: `--dry-run`, `--dry_run`); of a
 * field within a field, `common.threads`, it is the last part. A field of another type
 * than the row's does not compile. Defaults are texts, read like any other value.
 *
 * A conf belongs to the caller; what its texts and lists point at belongs to the conf
 * until opt_release(). Tables are constant and may be shared by threads.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum opt_kind {
    OPT_KIND_END = 0,
    OPT_KIND_HEADING, /* a line of the help, no setting */
    OPT_KIND_INT,
    OPT_KIND_NUM,
    OPT_KIND_TEXT,
    OPT_KIND_BOOL,
    OPT_KIND_LIST,
    OPT_KIND_CHOICE,
    OPT_KIND_SIZE,
    OPT_KIND_DURATION,
};

/* Every value of a flag that may be repeated, in the order given. */
struct opt_list {
    const char **at; /* owned by the conf, each text too */
    size_t n;
};

struct opt {
    enum opt_kind kind;
    const char *field;   /* as written in the row */
    size_t at;           /* offset in the conf */
    const char *preset;  /* the default; NULL: 0, false, NULL */
    const char *help;    /* lower case, no full stop; of a heading: its text */
    const char *choices; /* "text|json" */
    int64_t int_min, int_max;
    double num_min, num_max;
    /* These may be added to a row by hand: */
    const char *flag;  /* name in place of the field's (a C keyword, say) */
    const char *alias; /* further names, '|' between them */
    const char *meta;  /* what the help calls the value, "DIR" */
    char letter;       /* short form, 'n' for -n */
    bool hidden;       /* not in the help */
    bool filled; /* an empty text is refused: what a variable of a script left behind */
};

/* The field's offset; does not compile when the field has another type. */
#define OPT_AT(T, f, ctype) \
    (offsetof(T, f) + 0 * sizeof(char[_Generic(((T *)0)->f, ctype : 1, default : -1)]))
#define OPT_ROW(T, f, ctype, k, preset_, help_)                               \
    .kind = (k), .field = #f, .at = OPT_AT(T, f, ctype), .preset = (preset_), \
    .help = (help_)

/* A field int64_t within [lo, hi]. */
#define OPT_INT(T, f, preset_, lo, hi, help_) \
    OPT_ROW(T, f, int64_t, OPT_KIND_INT, preset_, help_), .int_min = (lo), .int_max = (hi)
/* A field double within [lo, hi], never NaN. */
#define OPT_NUM(T, f, preset_, lo, hi, help_) \
    OPT_ROW(T, f, double, OPT_KIND_NUM, preset_, help_), .num_min = (lo), .num_max = (hi)
/* A field const char *, any text. */
#define OPT_TEXT(T, f, preset_, help_) \
    OPT_ROW(T, f, const char *, OPT_KIND_TEXT, preset_, help_)
/* A field bool: --name, --no-name, --name=no; true, yes, on, 1 and their opposites. */
#define OPT_BOOL(T, f, preset_, help_) OPT_ROW(T, f, bool, OPT_KIND_BOOL, preset_, help_)
/* A field struct opt_list, empty at first; each value given is appended. */
#define OPT_LIST(T, f, help_) OPT_ROW(T, f, struct opt_list, OPT_KIND_LIST, NULL, help_)
/* A field const char *, one of "a|b|c". */
#define OPT_CHOICE(T, f, preset_, choices_, help_) \
    OPT_ROW(T, f, const char *, OPT_KIND_CHOICE, preset_, help_), .choices = (choices_)
/* A field int64_t in bytes within [lo, hi]: 512, 64k, 1.5g, 2GiB; factors of 1024. */
#define OPT_SIZE(T, f, preset_, lo, hi, help_)                              \
    OPT_ROW(T, f, int64_t, OPT_KIND_SIZE, preset_, help_), .int_min = (lo), \
                                                           .int_max = (hi)
/* A field double in seconds within [lo, hi]: 90, 1.5h, 250ms, 1h30m, 7d. */
#define OPT_DURATION(T, f, preset_, lo, hi, help_)                             \
    OPT_ROW(T, f, double, OPT_KIND_DURATION, preset_, help_), .num_min = (lo), \
                                                              .num_max = (hi)
#define OPT_HEADING(text) .kind = OPT_KIND_HEADING, .help = (text)

/* Fills every field named by the table; what was in `conf` before is overwritten, not
 * freed. RC_INVAL when a default does not fit its own row; `conf` may be released then
 * too.
 */
enum rc opt_defaults(const struct opt *opts, void *conf, struct err *err) MUST_CHECK;
/* Sets one by name ('-' and '_' are alike). The old value is freed, or stays on failure.
 * RC_INVAL: E0601 for an unknown name, E0603 for a refused value.
 */
enum rc opt_set(const struct opt *opts, void *conf, const char *name, const char *value,
                struct err *err) MUST_CHECK;
/* Frees texts and lists and zeroes their fields; twice is fine. */
void opt_release(const struct opt *opts, void *conf);

/* Borrowed; NULL when no row has that name. */
const struct opt *opt_find(const struct opt *opts, const char *name);
/* Its value as a text that opt_set() would read back; a list is joined with commas. */
void opt_print(const struct opt *o, const void *conf, struct buf *out);

/* What a command line holds beside options. Zero it, set the first two as wanted. */
struct opt_args {
    bool stop_at_word; /* in: the first argument that is no option ends the options */
    size_t n_dashed;   /* out: of `n`, how many stood behind a `--` */
    const char **at;   /* out: owned array of borrowed arguments */
    size_t n;
};

/* Reads `argc` arguments (without the program's name) into `conf`, which holds defaults
 * already. Takes `--name value`, `--name=value`, `--flag`, `--no-flag`, `-x`, `-x value`,
 * `-xvalue`, `-xy` for two flags; `--` ends the options; `-` alone is an argument. With
 * rest == NULL other arguments are refused. On failure *rest is empty and `conf` keeps
 * what was read before. RC_INVAL: E0601 unknown option, E0602 value missing, E0603 value
 * refused, E0604 unexpected argument.
 */
enum rc opt_parse(const struct opt *opts, void *conf, int argc, char *const *argv,
                  struct opt_args *rest, struct err *err) MUST_CHECK;
/* RC_INVAL unless between `min` and `max` arguments are there: E0605 names the first one
 * missing from `names` ("CONFIG OUTPUT"), E0604 the first one too many.
 */
enum rc opt_args_check(const struct opt_args *args, size_t min, size_t max,
                       const char *names, struct err *err) MUST_CHECK;
void opt_args_release(struct opt_args *args);

/* A table of the flags, aligned, at most 90 columns wide, with defaults and ranges. */
void opt_help(const struct opt *opts, struct buf *out);

#endif
