/* SPDX-License-Identifier: Apache-2.0 */
#include "train/export/torchscript.h"

#include <stdio.h>
#include <string.h>

#include "base/proc.h"
#include "base/str.h"
#include "train/export/export_private.h"

#define SAID_MAX ((size_t)1 << 20)
#define LINE_SHOWN 300

/* The last line of what a program said; "nothing" without one. */
static struct str last_line(const char *said, size_t n)
{
    struct str s = str_trim(str_of(said, n));
    const char *line = s.n ? memrchr(s.p, '\n', s.n) : NULL;
    if (line)
        s = str_of(line + 1, (size_t)(s.p + s.n - line) - 1);
    if (s.n > LINE_SHOWN)
        s.n = LINE_SHOWN;
    return s.n ? s : str_c("nothing");
}

/* Runs the program with one argument; what it prints is out->out. */
static enum rc run_program(const char *python, const char *arg, struct proc_output *out,
                           struct err *err)
{
    const char *argv[] = {python, "-", arg, NULL};
    struct proc_spec spec = {.argv = argv};
    struct proc_limits limits = {.max_bytes = SAID_MAX,
                                 .input = train_torchscript_text,
                                 .n_input = strlen(train_torchscript_text)};
    enum rc rc = proc_capture(&spec, &limits, out, err);
    if (rc && err)
        err->code = E2018;
    return rc;
}

enum rc train_torchscript_probe(const char *python, struct train_torchscript *out,
                                struct err *err)
{
    struct proc_output o = {0};
    enum rc rc = run_program(python, "--probe", &o, err);
    if (!rc && o.exit.code != 0) {
        struct str said = last_line(o.err, o.n_err);
        rc = err_coded(err, RC_INVAL, E2018,
                       "--format torchscript needs a Python with torch; '%.200s' says: "
                       "%.*s. Name another with --python",
                       python, (int)said.n, said.p);
    } else if (!rc) {
        struct str version = last_line(o.out, o.n_out);
        snprintf(out->version, sizeof(out->version), "%.*s", (int)version.n, version.p);
    }
    proc_output_release(&o);
    return rc;
}

static enum rc read_answer(const struct proc_output *o, struct train_torchscript *out,
                           struct err *err)
{
    struct str said = last_line(o->out, o->n_out);
    struct doc d = {0};
    enum rc rc = train_export_parse("the scripted model", said.p, said.n, &d, err);
    const struct node *far = rc ? NULL : node_find(d.root, "difference");
    if (!rc && (!far || !node_number(far, &out->difference)))
        rc = err_set(err, RC_FORMAT, "the scripted model: no 'difference' in the answer");
    if (rc && err)
        err->code = E2019;
    doc_release(&d);
    return rc;
}

enum rc train_torchscript_write(const char *python, const char *dir,
                                struct train_torchscript *out, struct err *err)
{
    struct proc_output o = {0};
    enum rc rc = run_program(python, dir, &o, err);
    if (!rc && (o.exit.code != 0 || o.exit.signal)) {
        struct str said = last_line(o.err, o.n_err);
        char words[PROC_WORDS_SIZE];
        proc_exit_words(o.exit, words);
        rc = err_coded(err, RC_INVAL, E2019, "no scripted model (%s): %.*s", words,
                       (int)said.n, said.p);
    }
    if (!rc)
        rc = read_answer(&o, out, err);
    proc_output_release(&o);
    return rc;
}
