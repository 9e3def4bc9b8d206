/* SPDX-License-Identifier: Apache-2.0 */
/* With `volume=host`, which is the default, nodes have the directory of jobs at the same path,
 * and every mount is a path of the node. With a claim or NFS one volume holds the directory
 * `volume_dir` (default: that of jobs), and a mount is a path in it.
 *
 * A volume is written PVC:CLAIM[/PATH], nfs:SERVER:/PATH, secret:NAME, configmap:NAME or
 * host:/PATH; an element of `mounts` is VOLUME=/PLACE[:ro].
 */
#include "backend/pods_place.h"

#include <stdio.h>
#include <string.h>

#include "backend/pods_script.h"
#include "base/mem.h"
#include "base/vec.h"

#define YARD "yard" /* the volume of the job's directories */

struct placing {
    const struct backend_job *j;
    struct json_out *volumes, *mounts;
    struct str kind, what; /* of `volume`: "pvc", "CLAIM" */
    const char *dir;       /* what is at its top, here */
    size_t n;              /* volumes with numbers */
    struct arena a;
};

/* "pvc:claim" -> kind, rest; false: it is none that we know. */
static bool split_volume(struct str v, struct str *kind, struct str *rest)
{
    static const char *const kinds[] = {"host", "pvc", "nfs", "secret", "configmap"};
    *rest = v;
    if (!str_split(rest, ':', kind))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(*kind, kinds[i]))
            return true;
    return false;
}

static void put_slice(struct json_out *o, const char *key, struct str s)
{
    char *text = mem_strndup(s.n ? s.p : "", s.n);
    json_put_str(o, key, text);
    mem_free(text);
}

/* The source of a volume; *sub: the path in it, or empty. */
static bool put_source(struct json_out *o, struct str kind, struct str what,
                       struct str *sub)
{
    bool host = str_is(kind, "host");
    struct str path = what, first;
    *sub = str_of("", 0);
    if (!what.n || (host && what.p[0] != '/'))
        return false;
    if (!str_split(&what, str_is(kind, "nfs") ? ':' : '/', &first) || (!host && !first.n))
        return false;
    if (host) {
        json_open(o, "hostPath", '{');
        put_slice(o, "path", path);
    } else if (str_is(kind, "nfs")) {
        json_open(o, "nfs", '{');
        put_slice(o, "server", first);
        put_slice(o, "path", what);
    } else if (str_is(kind, "pvc")) {
        json_open(o, "persistentVolumeClaim", '{');
        put_slice(o, "claimName", first);
        *sub = what;
    } else {
        bool secret = str_is(kind, "secret");
        json_open(o, secret ? "secret" : "configMap", '{');
        put_slice(o, secret ? "secretName" : "name", first);
    }
    json_close(o, '}');
    return !str_is(kind, "nfs") || (what.n && what.p[0] == '/');
}

static void put_mount(struct placing *p, const char *volume, struct str to,
                      struct str sub, bool read_only)
{
    json_open(p->mounts, NULL, '{');
    json_put_str(p->mounts, "name", volume);
    put_slice(p->mounts, "mountPath", to);
    if (sub.n)
        put_slice(p->mounts, "subPath", sub);
    if (read_only)
        json_put_bool(p->mounts, "readOnly", true);
    json_close(p->mounts, '}');
}

/* The part of a path behind the volume's directory; false: it is not below it. */
static bool inside(const struct placing *p, const char *path, struct str *out)
{
    size_t n = strlen(p->dir);
    if (strncmp(path, p->dir, n) != 0 || path[n] != '/')
        return false;
    *out = str_c(path + n + 1);
    return true;
}

/* A directory or file of this machine. */
static enum rc put_path(struct placing *p, const char *from, const char *to,
                        bool read_only, struct err *err)
{
    struct str sub = {"", 0};
    if (str_is(p->kind, "host")) {
        const char *name = arena_printf(&p->a, "path-%zu", p->n++);
        json_open(p->volumes, NULL, '{');
        json_put_str(p->volumes, "name", name);
        json_open(p->volumes, "hostPath", '{');
        json_put_str(p->volumes, "path", from);
        json_close(p->volumes, '}');
        json_close(p->volumes, '}');
        put_mount(p, name, str_c(to), sub, read_only);
        return RC_OK;
    }
    if (!inside(p, from, &sub))
        return err_set(err, RC_INVAL,
                       "'%s' (%s) is not below '%s', the directory that is on the volume "
                       "%.*s:%.*s (volume_dir)",
                       from, to, p->dir, (int)p->kind.n, p->kind.p, (int)p->what.n,
                       p->what.p);
    put_mount(p, YARD, str_c(to), sub, read_only);
    return RC_OK;
}

static enum rc put_yard(struct placing *p, struct err *err)
{
    struct str sub;
    if (str_is(p->kind, "host"))
        return RC_OK;
    json_open(p->volumes, NULL, '{');
    json_put_str(p->volumes, "name", YARD);
    bool good = put_source(p->volumes, p->kind, p->what, &sub) && !sub.n;
    json_close(p->volumes, '}');
    return good ? RC_OK
                : err_set(err, RC_INVAL,
                          "'volume' of the kubernetes backend is host, pvc:CLAIM or "
                          "nfs:SERVER:/PATH, not '%s'",
                          jobspec_backend_option(p->j->spec->s, "volume"));
}

static enum rc bad_mount(struct str item, struct err *err)
{
    return err_set(err, RC_INVAL,
                   "'mounts' of the kubernetes backend: '%.*s' is not VOLUME=/PLACE[:ro] "
                   "with pvc:CLAIM[/PATH], nfs:SERVER:/PATH, secret:NAME, configmap:NAME "
                   "or host:/PATH for the volume",
                   item.n < 200 ? (int)item.n : 200, item.p);
}

static enum rc put_named(struct placing *p, struct str item, struct err *err)
{
    struct str place = item, volume, kind, what, sub;
    bool read_only = false;
    if (!str_split(&place, '=', &volume) || !split_volume(volume, &kind, &what))
        return bad_mount(item, err);
    if (place.n > 3 && memcmp(place.p + place.n - 3, ":ro", 3) == 0) {
        read_only = true;
        place.n -= 3;
    }
    if (place.n < 2 || place.p[0] != '/' || memchr(place.p, ':', place.n))
        return bad_mount(item, err);
    const char *name = arena_printf(&p->a, "path-%zu", p->n++);
    json_open(p->volumes, NULL, '{');
    json_put_str(p->volumes, "name", name);
    bool good = put_source(p->volumes, kind, what, &sub);
    json_close(p->volumes, '}');
    put_mount(p, name, place, sub, read_only);
    return good ? RC_OK : bad_mount(item, err);
}

static void put_shm(struct placing *p)
{
    const char *size = jobspec_backend_option(p->j->spec->s, "shm_size");
    int64_t bytes = 0;
    if (!size || !jobspec_bytes(str_c(size), &bytes))
        return;
    json_open(p->volumes, NULL, '{');
    json_put_str(p->volumes, "name", "shm");
    json_open(p->volumes, "emptyDir", '{');
    json_put_str(p->volumes, "medium", "Memory");
    json_put_str(p->volumes, "sizeLimit", arena_printf(&p->a, "%jd", (intmax_t)bytes));
    json_close(p->volumes, '}');
    json_close(p->volumes, '}');
    put_mount(p, "shm", str_c("/dev/shm"), str_of("", 0), false);
}

static void put_start(struct placing *p, const char *secret)
{
    json_open(p->volumes, NULL, '{');
    json_put_str(p->volumes, "name", "start");
    json_open(p->volumes, "secret", '{');
    json_put_str(p->volumes, "secretName", secret);
    json_close(p->volumes, '}');
    json_close(p->volumes, '}');
    put_mount(p, "start", str_c(PODS_START), str_of("", 0), true);
}

static enum rc put_all(struct placing *p, const char *secret, const char *ask,
                       struct err *err)
{
    const struct job_contract_mounts *m = p->j->mounts;
    struct str rest = str_c(""), item;
    const char *more = jobspec_backend_option(p->j->spec->s, "mounts");
    enum rc rc = put_yard(p, err);
    put_start(p, secret);
    put_shm(p);
    if (!rc)
        rc = put_path(p, p->j->ml, "/ml", false, err);
    if (!rc)
        rc = put_path(p, ask, PODS_ASK, true, err);
    for (size_t i = 0; m && i < m->list.n && !rc; i++)
        rc = put_path(p, m->list.at[i].from, m->list.at[i].to, m->list.at[i].read_only,
                      err);
    if (more)
        rest = str_c(more);
    while (!rc && rest.n && str_split(&rest, ',', &item))
        rc = put_named(p, item, err);
    return rc;
}

enum rc pods_place_put(const struct backend_job *j, const char *secret, const char *ask,
                       struct json_out *volumes, struct json_out *mounts, struct err *err)
{
    const char *volume = jobspec_backend_option(j->spec->s, "volume");
    const char *dir = jobspec_backend_option(j->spec->s, "volume_dir");
    struct placing p = {.j = j,
                        .volumes = volumes,
                        .mounts = mounts,
                        .kind = {"host", 4},
                        .dir = dir ? dir : j->p->dir};
    enum rc rc = RC_OK;
    if (volume && !split_volume(str_c(volume), &p.kind, &p.what))
        rc = err_set(err, RC_INVAL,
                     "'volume' of the kubernetes backend is host, pvc:CLAIM or "
                     "nfs:SERVER:/PATH, not '%s'",
                     volume);
    if (!rc)
        rc = put_all(&p, secret, ask, err);
    arena_release(&p.a);
    return rc;
}
