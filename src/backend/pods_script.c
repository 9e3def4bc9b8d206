/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/pods_script.h"

#include <string.h>

/* The first process of a container: a signal to it is for all that the worker started, and it
 * stays until they have ended. Names of pods resolve a moment behind their start, so workers
 * wait until they can see the first, a minute at most; an image without getent goes on at once. A worker that
 * is to pause, or to end at once, is told by a file.
 */
const char pods_script_run[] =
    "n=$((JOB_COMPLETION_INDEX + ${" PODS_FIRST ":-0})); unset " PODS_FIRST "\n"
    ". " PODS_START "/worker-$n\n"
    "if [ \"${WORLD_SIZE:-1}\" -gt 1 ] && command -v getent >/dev/null 2>&1; then\n"
    "    i=0; late=$(($(date +%s) + 60))\n"
    "    until getent hosts \"$MASTER_ADDR\" >/dev/null 2>&1; do\n"
    "        i=$((i + 1)); [ $i -lt 120 ] && [ \"$(date +%s)\" -lt $late ] || break\n"
    "        sleep 0.5 2>/dev/null || sleep 1 || break\n"
    "    done\n"
    "fi\n"
    "t=; trap 't=1; kill -s TERM -- -1 2>/dev/null; kill -s CONT -- -1 2>/dev/null' TERM\n"
    "\"$@\" & p=$!\n"
    "(trap - TERM; last=; while sleep 0.25 2>/dev/null || sleep 1; do\n"
    "    word=; read -r word <" PODS_ASK "/$n || continue\n"
    "    [ \"$word\" = \"$last\" ] && continue\n"
    "    last=$word\n"
    "    case $word in\n"
    "    pause) kill -s STOP -- -1 ;; resume) kill -s CONT -- -1 ;; kill) kill -s KILL -- -1 ;;\n"
    "    esac\n"
    "done) </dev/null >/dev/null 2>&1 &\n"
    "while :; do wait $p; s=$?; kill -s 0 $p 2>/dev/null || break; done\n"
    "while [ \"$t\" ] && kill -s 0 -- -1 2>/dev/null; do\n"
    "    sleep 0.1 2>/dev/null || sleep 1 || break\n"
    "done\n"
    "exit $s\n";

static void put_quoted(struct buf *out, const char *text)
{
    buf_putc(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, *text);
    buf_putc(out, '\'');
}

static bool is_shell_name(const char *variable)
{
    size_t n = strcspn(variable, "=");
    bool good = n > 0 && !(variable[0] >= '0' && variable[0] <= '9');
    for (size_t i = 0; i < n && good; i++)
        good = variable[i] == '_' || (variable[i] >= '0' && variable[i] <= '9') ||
               (variable[i] >= 'a' && variable[i] <= 'z') ||
               (variable[i] >= 'A' && variable[i] <= 'Z');
    return good;
}

void pods_script_worker(const struct backend_launch *l, struct buf *out)
{
    const char *const *env = job_contract_env_list(l->env);
    for (const char *const *e = env; *e; e++)
        if (is_shell_name(*e)) {
            buf_printf(out, "export %.*s=", (int)strcspn(*e, "="), *e);
            put_quoted(out, strchr(*e, '=') + 1);
            buf_putc(out, '\n');
        }
    buf_puts(out, "cd ");
    put_quoted(out, l->cwd);
    buf_puts(out, " || exit 126\nset --");
    bool others = false;
    for (const char *const *e = env; *e; e++)
        if (!is_shell_name(*e) && strchr(*e, '=')) {
            buf_puts(out, others ? " " : " env ");
            put_quoted(out, *e);
            others = true;
        }
    for (const char *const *w = l->argv; *w; w++) {
        buf_putc(out, ' ');
        put_quoted(out, *w);
    }
    buf_putc(out, '\n');
}
