/* SPDX-License-Identifier: Apache-2.0 */
/* From the options of the data commands to an open dataset: which files, which columns, how
 * a CSV file is cut and what its columns are called. Rows come in order, each once.
 */
#define LOG_AREA "data"
#include "cmd/data_input.h"

#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "data/files.h"

static bool hex_digit(char c, int *out)
{
    if (c >= '0' && c <= '9')
        *out = c - '0';
    else if (c >= 'a' && c <= 'f')
        *out = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F')
        *out = c - 'A' + 10;
    else
        return false;
    return true;
}

enum rc data_input_delimiter(const char *text, char *out, struct err *err)
{
    int hi, lo;
    if (!text)
        return RC_OK;
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        *out = '\t';
    else if (strlen(text) == 1)
        *out = text[0];
    else if (strlen(text) == 4 && str_starts(text, "\\x") && hex_digit(text[2], &hi) &&
             hex_digit(text[3], &lo) && (hi | lo))
        *out = (char)(hi << 4 | lo);
    else
        return err_coded(err, RC_INVAL, E0603,
                         "--delimiter: '%.20s' is not one character, 'tab' or \\xHH",
                         text);
    return RC_OK;
}

size_t data_input_names(const char *list, const char ***names, char **text)
{
    VEC(const char *) found = {0};
    *text = mem_strdup(list ? list : "");
    char *at = *text;
    while (list && at) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma++ = '\0';
        if (*at)
            VEC_PUSH(&found, at);
        at = comma;
    }
    *names = found.at;
    return found.n;
}

bool data_input_bare(const struct data_input *in)
{
    return in->no_header || in->names || (in->header && strcmp(in->header, "none") == 0);
}

/* The columns that --names gives, their types to be found; NULL when it is not there. */
static struct reader_field *named_fields(const char *const *names, size_t n)
{
    struct reader_field *fields = n ? mem_calloc(n, sizeof(*fields)) : NULL;
    for (size_t i = 0; i < n; i++)
        fields[i] = (struct reader_field){.name = names[i], .inferred = true};
    return fields;
}

static enum rc check_header(const struct data_input *in, struct err *err)
{
    if (in->header && strcmp(in->header, "line") == 0 && (in->no_header || in->names))
        return err_coded(err, RC_INVAL, E0603,
                         "--header line: %s says that there is none",
                         in->names ? "--names" : "--no-header");
    return RC_OK;
}

static bool type_named(struct str word, struct type *out)
{
    static const struct {
        const char *name;
        enum type_id id;
    } names[] = {{"int32", TYPE_I32}, {"int64", TYPE_I64},  {"bigint", TYPE_I64},
                 {"float", TYPE_F32}, {"double", TYPE_F64}, {"string", TYPE_STR},
                 {"text", TYPE_STR}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strlen(names[i].name) == word.n &&
            strncasecmp(word.p, names[i].name, word.n) == 0) {
            *out = type_of(names[i].id, true);
            return true;
        }
    return false;
}

/* --types id=string,price=double; *text owns the names. */
static enum rc given_types(const char *list, char **text, struct reader_conf *out,
                           struct err *err)
{
    const char **parts = NULL;
    size_t n = data_input_names(list, &parts, text);
    struct reader_field *types = mem_calloc(n + 1, sizeof(*types));
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        char *equals = strrchr(*text + (parts[i] - *text), '=');
        types[i] = (struct reader_field){.name = parts[i], .why = "as --types says"};
        if (!equals || equals == parts[i] ||
            !type_named(str_c(equals + 1), &types[i].type))
            rc = err_coded(err, RC_INVAL, E0603,
                           "--types: '%.100s' is not NAME=int32, int64, float, double or "
                           "string",
                           parts[i]);
        else
            *equals = '\0';
    }
    mem_free(parts);
    out->types = types;
    out->n_types = n;
    return rc;
}

/* Each type that was given is that of a column of text. */
static enum rc check_types(const struct dataset *d, const struct reader_conf *given,
                           struct err *err)
{
    const char *format, *path = dataset_first_file(d, &format);
    if (given->n_types && !reader_find(format)->text)
        return err_coded(err, RC_INVAL, E0603,
                         "--types: '%.200s' is %s, which tells the types of its columns",
                         path, reader_find(format)->title);
    for (size_t i = 0; i < given->n_types; i++)
        if (data_schema_find(dataset_schema(d), str_c(given->types[i].name)) < 0)
            return err_coded(err, RC_INVAL, E1204,
                             "--types: there is no column '%.100s' in '%.200s'",
                             given->types[i].name, path);
    return RC_OK;
}

enum rc data_input_open(const struct data_input *in, const char *const *paths, size_t n,
                        int64_t batch_size, const char *const *labels, size_t n_labels,
                        struct dataset **d, struct err *err)
{
    struct dataset_conf conf = {
        .batch_size = batch_size,
        .every_row = true,
        .short_batches = true,
        .threads = 1,
        .reader = {.no_header = data_input_bare(in),
                   .skip_bad = in->skip_bad,
                   .exact = in->exact,
                   .read_ahead = 2},
    };
    struct buf input;
    char *text = NULL, *given_text = NULL, *types_text = NULL;
    const char **names = NULL, **given = NULL;
    enum rc rc = check_header(in, err);
    if (!rc)
        rc = data_input_delimiter(in->delimiter, &conf.reader.delim, err);
    if (rc)
        return rc;
    buf_init(&input, CMD_TEXT_MAX);
    for (size_t i = 0; i < n; i++)
        buf_printf(&input, "%s%s", i ? "," : "", paths[i]);
    size_t n_names = data_input_names(in->columns, &names, &text);
    if (n_names) {
        conf.reader.want = names;
        conf.reader.n_want = n_names;
    }
    conf.input = buf_str(&input);
    conf.reader.n_fields = data_input_names(in->names, &given, &given_text);
    struct reader_field *fields = named_fields(given, conf.reader.n_fields);
    conf.reader.fields = fields;
    /* Labels are only looked for, not required to be complete, so none are set here. */
    rc = given_types(in->types, &types_text, &conf.reader, err);
    if (!rc)
        rc = dataset_open(&conf, d, err);
    if (!rc)
        rc = check_types(*d, &conf.reader, err);
    for (size_t i = 0; !rc && i < n_labels; i++)
        if (data_schema_find(dataset_schema(*d), str_c(labels[i])) < 0)
            rc =
                err_coded(err, RC_INVAL, E1204, "there is no column '%.100s'", labels[i]);
    if (rc && *d) {
        dataset_close(*d);
        *d = NULL;
    }
    mem_free((void *)(uintptr_t)conf.reader.types);
    mem_free(types_text);
    mem_free(fields);
    mem_free(given);
    mem_free(given_text);
    mem_free(names);
    mem_free(text);
    buf_release(&input);
    return rc;
}

void data_input_files(const char *const *paths, size_t n, struct fs_names *out)
{
    VEC(char *) all = {0};
    for (size_t i = 0; i < n; i++) {
        struct fs_names some = {0};
        if (!paths[i] || files_expand(paths[i], &some, NULL))
            continue;
        for (size_t k = 0; k < some.n; k++)
            VEC_PUSH(&all, some.at[k]);
        mem_free(some.at);
    }
    *out = (struct fs_names){.at = all.at, .n = all.n};
}

void data_input_report(const struct dataset *d)
{
    struct dataset_counts c;
    dataset_counts(d, &c);
    if (c.malformed)
        log_warn("skipped %jd malformed rows; the first: %s", (intmax_t)c.malformed,
                 dataset_first_bad(d));
}
