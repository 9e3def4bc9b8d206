/* SPDX-License-Identifier: Apache-2.0 */
/* server install: a unit of systemd for the server, so that it runs again after a reboot and
 * takes up what was queued or may restart. The package's units are printed by the same code.
 *
 * KillMode=process: jobs outlive their server, as without systemd. Delegate: the server makes
 * control groups for workers below its own. Flags of the server are checked here, because
 * nobody watches when a unit fails at the next boot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/agent.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/server.h"
#include "job/file.h"

#define UNIT "trainyard.service"
#define MARK "# Made by `trainyard server install`; changes belong into a drop-in.\n"

struct install_conf {
    const char *scope, *program, *unit_dir;
    bool print, now, force;
};

static const struct opt opts[] = {
    {OPT_CHOICE(struct install_conf, scope, "auto", "auto|system|user",
                "for the machine, or for you alone; auto: by who you are")},
    {OPT_BOOL(struct install_conf, now, "false", "start it now and at every boot")},
    {OPT_BOOL(struct install_conf, print, "false", "print the unit, write nothing")},
    {OPT_BOOL(struct install_conf, force, "false",
              "replace a unit that somebody else wrote")},
    {OPT_TEXT(struct install_conf, program, NULL,
              "path of the program; default: this one"),
     .meta = "PATH"},
    {OPT_TEXT(struct install_conf, unit_dir, NULL,
              "directory of the unit; default: /etc/systemd/system, for a user "
              "~/.config/systemd/user"),
     .meta = "DIR"},
    {0},
};

static bool for_machine(const struct install_conf *c)
{
    return strcmp(c->scope, "auto") == 0 ? geteuid() == 0
                                         : strcmp(c->scope, "system") == 0;
}

/* A word of ExecStart: quoted, with what systemd would expand made plain. */
static void put_word(struct buf *out, const char *word)
{
    bool plain = *word != '\0';
    for (const char *p = word; *p; p++)
        plain &= strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "_-./:=,+@",
                        *p) != NULL;
    buf_puts(out, plain ? "" : "\"");
    for (const char *p = word; *p; p++) {
        if (*p == '%' || *p == '$')
            buf_putc(out, *p);
        if (*p == '"' || *p == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *p);
    }
    buf_puts(out, plain ? "" : "\"");
}

static void put_start(struct buf *out, const char *program, const struct opt_args *flags)
{
    buf_puts(out, "ExecStart=");
    put_word(out, program);
    buf_puts(out, " server");
    for (size_t i = 0; i < flags->n; i++) {
        buf_putc(out, ' ');
        put_word(out, flags->at[i]);
    }
    buf_puts(out, flags->n ? "\n" : " $TRAINYARD_SERVER_FLAGS\n");
}

static void put_unit(struct buf *out, const struct install_conf *c, const char *program,
                     const struct opt_args *flags)
{
    bool machine = for_machine(c);
    buf_puts(out, MARK "[Unit]\n"
                       "Description=Trainyard: training jobs, their queue and its API\n"
                       "Documentation=man:trainyard(1)\n");
    if (machine)
        buf_puts(out, "Wants=network-online.target\n"
                      "After=network-online.target local-fs.target\n");
    buf_puts(out, "\n[Service]\nType=exec\n");
    if (machine)
        buf_puts(out, "StateDirectory=trainyard\nStateDirectoryMode=0700\n"
                      "Environment=TRAINYARD_DIR=/var/lib/trainyard\n"
                      "EnvironmentFile=-/etc/default/trainyard\n");
    else
        buf_puts(out, "EnvironmentFile=-%h/.config/trainyard/server.env\n");
    put_start(out, program, flags);
    buf_puts(out, "Restart=always\nRestartSec=2\n"
                  "# Jobs go on while their server is stopped or replaced.\n"
                  "KillMode=process\nDelegate=yes\nTasksMax=infinity\n"
                  "LimitNOFILE=65536\nOOMPolicy=continue\nTimeoutStopSec=30\n\n"
                  "[Install]\n");
    buf_printf(out, "WantedBy=%s\n", machine ? "multi-user.target" : "default.target");
}

/* A unit starts in the root directory: a path that begins here would not be found. */
static enum rc check_paths(const struct opt_args *flags, struct err *err)
{
    static const char *const files[] = {"--tls-cert",   "--tls-key", "--dir",
                                        "--policy",     "--peer-ca", "--ldap-ca",
                                        "--experiments"};
    for (size_t i = 0; i < flags->n; i++)
        for (size_t k = 0; k < ARRAY_LEN(files); k++) {
            const char *word = flags->at[i];
            size_t n = strlen(files[k]);
            if (strncmp(word, files[k], n) != 0 || (word[n] && word[n] != '='))
                continue;
            const char *path = word[n]            ? word + n + 1
                               : i + 1 < flags->n ? flags->at[i + 1]
                                                  : "/";
            if (*path != '/' && strcmp(path, "none") != 0)
                return err_coded(err, RC_INVAL, E0603,
                                 "%s '%.200s': a unit needs an absolute path", files[k],
                                 path);
        }
    return RC_OK;
}

/* Flags that the server would refuse are refused now. */
static enum rc check_flags(const struct opt_args *flags, struct err *err)
{
    struct opt_args rest = {0};
    void *conf = mem_calloc(1, cmd_server.conf_size);
    enum rc rc = opt_defaults(cmd_server.opts, conf, err);
    if (!rc)
        rc = opt_parse(cmd_server.opts, conf, (int)flags->n,
                       (char *const *)(uintptr_t)flags->at, &rest, err);
    if (!rc)
        rc = opt_args_check(&rest, 0, 0, "", err);
    if (!rc)
        rc = check_paths(flags, err);
    if (!rc)
        rc = server_check(conf, err);
    opt_args_release(&rest);
    opt_release(cmd_server.opts, conf);
    mem_free(conf);
    return rc ? err_wrap(err, rc, "flags of the server") : RC_OK;
}

static char *unit_dir(const struct install_conf *c)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    if (c->unit_dir)
        return mem_strdup(c->unit_dir);
    if (for_machine(c))
        return mem_strdup("/etc/systemd/system");
    if (config && *config)
        return fs_join(config, "systemd/user");
    return fs_join(home && *home ? home : "/", ".config/systemd/user");
}

static enum rc check_old(const struct install_conf *c, const char *path, struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    if (!fs_exists(path) || c->force)
        return RC_OK;
    enum rc rc = fs_read(path, 1 << 20, &text, &n, err);
    if (!rc && !str_starts(text, MARK))
        rc = err_coded(err, RC_INVAL, E0603,
                       "'%s' was written by somebody else; --force replaces it", path);
    mem_free(text);
    return rc;
}

static enum rc systemctl(bool machine, const char *const *words, struct err *err)
{
    const char *argv[8] = {"systemctl", machine ? "--system" : "--user"};
    struct proc_limits limits = {.seconds = 60, .max_bytes = 1 << 16};
    struct proc_output got = {0};
    size_t n = 2;
    for (; *words; words++)
        argv[n++] = *words;
    struct proc_spec spec = {.argv = argv};
    enum rc rc = proc_capture(&spec, &limits, &got, err);
    if (!rc && got.exit.code != 0)
        rc = err_set(err, RC_IO, "systemctl %s: %.400s", argv[2],
                     got.err ? got.err : "failed");
    proc_output_release(&got);
    return rc;
}

static enum rc start_now(bool machine, struct err *err)
{
    static const char *const reload[] = {"daemon-reload", NULL};
    static const char *const enable[] = {"enable", "--now", UNIT, NULL};
    enum rc rc = systemctl(machine, reload, err);
    return rc ? rc : systemctl(machine, enable, err);
}

static void say_next(bool machine, const char *path, bool started)
{
    const char *who = machine ? "" : " --user";
    printf("wrote %s\n", path);
    if (!started)
        printf("start it with: systemctl%s daemon-reload && systemctl%s enable --now "
               "trainyard\n",
               who, who);
    if (!machine)
        printf("to have it run while you are logged out: loginctl enable-linger\n");
}

static enum rc write_unit(const struct install_conf *c, const struct buf *text,
                          struct err *err)
{
    char *dir = unit_dir(c), *path = fs_join(dir, UNIT);
    enum rc rc = check_old(c, path, err);
    if (!rc)
        rc = fs_mkdirs(dir, 0755, err);
    if (!rc)
        rc = job_file_put(path, text->p, text->n, 0644, err);
    if (!rc && c->now)
        rc = start_now(for_machine(c), err);
    if (!rc)
        say_next(for_machine(c), path, c->now);
    mem_free(path);
    mem_free(dir);
    return rc;
}

static enum rc server_install_command(const void *conf, const struct opt_args *args,
                                      struct err *err)
{
    const struct install_conf *c = conf;
    struct buf text;
    char *self = backend_agent_program();
    enum rc rc = check_flags(args, err);
    buf_init(&text, 1 << 16);
    if (!rc)
        put_unit(&text, c, c->program ? c->program : self, args);
    if (!rc)
        rc = c->print ? cmd_print(&text, err) : write_unit(c, &text, err);
    buf_release(&text);
    mem_free(self);
    return rc;
}

static const struct cmd_example examples[] = {
    {"for the machine, from now on", "sudo trainyard server install --now"},
    {"for you alone", "trainyard server install --scope user --now"},
    {"for a team", "sudo trainyard server install --now -- --listen 0.0.0.0:8420 "
                   "--tls-cert /etc/trainyard/c.pem --tls-key /etc/trainyard/k.pem"},
    {0},
};

const struct cmd cmd_server_install = {
    .name = "server install",
    .args = "[-- SERVER-FLAGS...]",
    .summary = "let systemd run the server, also after a reboot",
    .description =
        "Writes the unit trainyard.service. After a reboot queued jobs start, and jobs "
        "that ran start again if they have --retries left. Jobs keep running while the "
        "server is stopped or replaced. Without SERVER-FLAGS they are taken from "
        "TRAINYARD_SERVER_FLAGS in /etc/default/trainyard, for a user in "
        "~/.config/trainyard/server.env.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct install_conf),
    .max_args = CMD_ANY,
    .run = server_install_command,
};
