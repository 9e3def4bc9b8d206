/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's launcher. A training of TorchEasyRec becomes ours, on as many ranks of as many
 * machines as were asked for (`launch`). Its other programs run in one process, on the
 * first machine. Any other script is started with Python and the variables that a launcher
 * gives to rank 0 of 1.
 */
#include <string.h>

#include "base/str.h"
#include "compat/flags.h"
#include "compat/front.h"
#include "compat/tzrec.h"

static const struct compat_flag rules[] = {
    {.name = "nnodes"},
    {.name = "nproc_per_node"},
    {.name = "node_rank"},
    {.name = "master_addr"},
    {.name = "master_port"},
    {.name = "module", .no_value = true, .letter = 'm'},
    {.name = "no_python", .no_value = true},
    {.name = "run_path", .no_value = true},
    {.name = "standalone", .no_value = true},
    {.name = "rdzv_backend"},
    {.name = "rdzv_endpoint"},
    {.name = "rdzv_id"},
    {.name = "rdzv_conf"},
    {.name = "max_restarts"},
    {.name = "monitor_interval"},
    {.name = "start_method"},
    {.name = "event_log_handler"},
    {.name = "role"},
    {.name = "log_dir"},
    {.name = "redirects", .letter = 'r'},
    {.name = "tee", .letter = 't'},
    {.name = "local_ranks_filter"},
    {.name = "duplicate_stdout_filters"},
    {.name = "duplicate_stderr_filters"},
    {.name = "local_addr"},
    {.name = "logs_specs"},
    {.name = "numa_binding"},
    {.name = "signals_to_handle"},
    {.name = "virtual_local_rank", .no_value = true},
    {.name = "help", .no_value = true, .letter = 'h'},
    {0},
};

/* As given, else from torchrun's own variable; "" counts as not given. */
static const char *value_of(const struct front_args *in, const struct compat_flags *f,
                            const char *name, const char *variable, const char *none)
{
    const char *v = compat_flags_get(f, rules, name);
    if (!v || !v[0])
        v = in->env(variable);
    return v && v[0] ? v : none;
}

/* "2", "1:4" (the first of them), "auto", "gpu", "cpu". */
static enum rc count_of(const char *name, const char *text, uint64_t *n, struct err *err)
{
    struct str rest = str_c(text), first;
    *n = 1;
    if (strcmp(text, "auto") == 0 || strcmp(text, "gpu") == 0 || strcmp(text, "cpu") == 0)
        return RC_OK;
    if (str_split(&rest, ':', &first) && str_to_u64(first, n))
        return RC_OK;
    return err_coded(err, RC_INVAL, E2205, "--%s: '%s' is not a number", name, text);
}

struct launch {
    uint64_t nodes, per_node, rank;
    bool many; /* there may be more than one machine */
};

static enum rc read_launch(const struct front_args *in, const struct compat_flags *f,
                           struct launch *l, struct err *err)
{
    enum rc rc =
        count_of("nnodes", value_of(in, f, "nnodes", "PET_NNODES", "1"), &l->nodes, err);
    if (!rc)
        rc = count_of("nproc_per_node",
                      value_of(in, f, "nproc_per_node", "PET_NPROC_PER_NODE", "1"),
                      &l->per_node, err);
    const char *nodes = value_of(in, f, "nnodes", "PET_NNODES", "1");
    l->many = l->nodes > 1 || strchr(nodes, ':');
    if (!rc)
        rc = count_of("node_rank", value_of(in, f, "node_rank", "PET_NODE_RANK", "0"),
                      &l->rank, err);
    return rc;
}

static void note_size(const struct launch *l, struct front_call *out)
{
    if (l->nodes > 1 || l->per_node > 1)
        front_note(out, "%ju x %ju processes were asked for; this runs in one",
                   (uintmax_t)l->nodes, (uintmax_t)l->per_node);
}

/* An option of torchrun that `launch` has, too, if it was given. */
static void pass_option(const struct front_args *in, const struct compat_flags *f,
                        const char *name, const char *variable, const char *flag,
                        struct front_call *out)
{
    const char *value = value_of(in, f, name, variable, NULL);
    if (value)
        front_option(out, flag, value);
}

/* Where the machines of a run meet. */
static void pass_meeting(const struct front_args *in, const struct compat_flags *f,
                         struct front_call *out)
{
    static const char *const options[][3] = {
        {"nnodes", "PET_NNODES", "nnodes"},
        {"node_rank", "PET_NODE_RANK", "node-rank"},
        {"master_addr", "PET_MASTER_ADDR", "master-addr"},
        {"master_port", "PET_MASTER_PORT", "master-port"},
        {"rdzv_id", "PET_RDZV_ID", "rdzv-id"},
        {"rdzv_endpoint", "PET_RDZV_ENDPOINT", "rdzv-endpoint"}};
    const char *backend = value_of(in, f, "rdzv_backend", "PET_RDZV_BACKEND", "static");
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        pass_option(in, f, options[i][0], options[i][1], options[i][2], out);
    if (strcmp(backend, "static") != 0 && strcmp(backend, "c10d") != 0)
        front_note(out,
                   "rdzv_backend '%s' is not needed: the machines meet at "
                   "--rdzv_endpoint or --master_addr",
                   backend);
}

/* A training: `launch` in front of the command. */
static void use_ranks(const struct front_args *in, const struct compat_flags *f,
                      const struct launch *l, struct front_call *out)
{
    const char *restarts = value_of(in, f, "max_restarts", "PET_MAX_RESTARTS", "0");
    const char *logs = value_of(in, f, "log_dir", "PET_LOG_DIR", NULL);
    if (!l->many && l->per_node <= 1 && strcmp(restarts, "0") == 0 && !logs)
        return;
    struct front_call ours = *out;
    out->argv.at = NULL;
    out->argv.n = out->argv.cap = 0;
    front_word(out, "launch");
    if (l->many)
        pass_meeting(in, f, out);
    if (strcmp(restarts, "0") != 0)
        front_option(out, "max-restarts", restarts);
    if (logs)
        front_option(out, "log-dir", logs);
    front_option(out, "nproc-per-node",
                 arena_printf(&out->arena, "%ju", (uintmax_t)l->per_node));
    for (size_t i = 0; i < ours.argv.n; i++)
        front_word(out, ours.argv.at[i]);
    VEC_RELEASE(&ours.argv);
}

static void put_variables(const struct front_args *in, const struct compat_flags *f,
                          struct front_call *out)
{
    static const char *const ranks[][2] = {{"RANK", "0"},
                                           {"LOCAL_RANK", "0"},
                                           {"GROUP_RANK", "0"},
                                           {"ROLE_RANK", "0"},
                                           {"WORLD_SIZE", "1"},
                                           {"LOCAL_WORLD_SIZE", "1"},
                                           {"GROUP_WORLD_SIZE", "1"},
                                           {"ROLE_WORLD_SIZE", "1"}};
    for (size_t i = 0; i < ARRAY_LEN(ranks); i++)
        front_env(out, ranks[i][0], ranks[i][1]);
    front_env(out, "MASTER_ADDR",
              value_of(in, f, "master_addr", "PET_MASTER_ADDR", "127.0.0.1"));
    front_env(out, "MASTER_PORT",
              value_of(in, f, "master_port", "PET_MASTER_PORT", "29500"));
}

/* A script of somebody's own. */
static void start_script(const struct front_args *in, const struct compat_flags *f,
                         struct front_call *out)
{
    out->does = FRONT_PROGRAM;
    if (!compat_flags_get(f, rules, "no_python")) {
        front_word(out, "python3");
        front_word(out, "-u");
        if (compat_flags_get(f, rules, "module"))
            front_word(out, "-m");
    }
    for (int i = f->used; i < in->argc; i++)
        front_word(out, in->argv[i]);
    put_variables(in, f, out);
}

/* What one process does, the first machine does. */
static enum rc idle(const struct launch *l, struct front_call *out)
{
    out->does = FRONT_NOTHING;
    out->argv.n = out->notes.n = 0;
    front_note(out, "node_rank %ju: node 0 does this alone; nothing to do here",
               (uintmax_t)l->rank);
    return RC_OK;
}

static enum rc launch(const struct front_args *in, const struct compat_flags *f,
                      struct front_call *out, struct err *err)
{
    struct front_args rest = {
        .argc = in->argc - f->used - 1, .argv = in->argv + f->used + 1, .env = in->env};
    struct launch l;
    enum rc rc = read_launch(in, f, &l, err);
    if (rc)
        return rc;
    if (f->used == in->argc)
        return err_coded(err, RC_INVAL, E2204, "torchrun needs a script or -m MODULE");
    for (size_t i = 0; i < f->unknown.n; i++)
        front_note(out, "'%s' is not an option of torchrun and is ignored",
                   f->unknown.at[i]);
    if (!tzrec_is_module(in->argv[f->used])) {
        if (l.rank > 0)
            return idle(&l, out);
        note_size(&l, out);
        start_script(in, f, out);
        return RC_OK;
    }
    rc = tzrec_translate(in->argv[f->used], &rest, out, err);
    if (!rc && out->argv.n && strcmp(out->argv.at[0], "train") == 0)
        use_ranks(in, f, &l, out);
    else if (!rc && l.rank > 0)
        return idle(&l, out);
    else if (!rc)
        note_size(&l, out);
    return rc;
}

static enum rc torchrun_translate(const struct front_args *in, struct front_call *out,
                                  struct err *err)
{
    struct compat_flags f = {0};
    enum rc rc = compat_flags_read(rules, in->argc, in->argv, true, &f, err);
    if (!rc && (compat_flags_get(&f, rules, "help") || in->argc == 0)) {
        out->does = FRONT_NOTHING;
        out->text =
            "usage: torchrun [torchrun's options] SCRIPT ARGS...\n"
            "       torchrun [torchrun's options] -m tzrec.train_eval ARGS...\n\n"
            "A training is started on that many ranks, other programs in one process. See "
            "docs/compat.md.\n";
    } else if (!rc) {
        rc = launch(in, &f, out, err);
    }
    compat_flags_release(&f);
    return rc;
}

const struct front front_torchrun = {
    .name = "torchrun", .title = "PyTorch's launcher", .translate = torchrun_translate};
