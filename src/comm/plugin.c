/* SPDX-License-Identifier: Apache-2.0 */
/* Comms that are libraries of their own, so that the program starts without what they
 * need. A library is looked for beside the program, in ../lib/trainyard of an
 * installation, and nowhere else: a name alone would let the environment choose. It stays
 * loaded, because what it brings (MPI) cannot be unloaded.
 */
#include "comm/plugin.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "comm/comm_private.h"

static const struct {
    const char *name, *library;
} plugins[] = {
#define COMM_PLUGIN(name, library) {#name, library},
#include "comm/comms.def"
};

static const char *const places[] = {"", "../lib/trainyard/"};

/* The directory of the program, with a slash; NULL when the system does not say. */
static char *program_dir(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0)
        return NULL;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    slash[1] = '\0';
    return mem_strdup(path);
}

/* The first place that has the library; to mem_free(), or NULL. */
static char *find_library(const char *library)
{
    char *dir = program_dir(), *path = NULL;
    for (size_t i = 0; dir && !path && i < ARRAY_LEN(places); i++) {
        path = mem_printf("%s%s%s", dir, places[i], library);
        if (fs_exists(path))
            break;
        mem_free(path);
        path = NULL;
    }
    mem_free(dir);
    return path;
}

static enum rc load(const char *name, const char *path, const struct comm_ops **out,
                    struct err *err)
{
    /* What MPI loads in turn finds its symbols only among the global ones. */
    void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        return err_coded(err, RC_NOTFOUND, E2504, "comm '%s' cannot be loaded: %s", name,
                         dlerror());
    const struct comm_plugin *p = dlsym(lib, COMM_PLUGIN_SYMBOL);
    if (!p || strcmp(p->version, TY_VERSION) != 0)
        return err_coded(err, RC_UNSUPPORTED, E2504,
                         "comm '%s': %s is of version %s, the program of %s", name, path,
                         p ? p->version : "(none)", TY_VERSION);
    *out = p->ops;
    return RC_OK;
}

enum rc comm_plugin_find(const char *name, const struct comm_ops **out, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(plugins); i++) {
        if (strcmp(plugins[i].name, name) != 0)
            continue;
        char *path = find_library(plugins[i].library);
        enum rc rc = path ? load(name, path, out, err)
                          : err_coded(err, RC_NOTFOUND, E2504,
                                      "comm '%s' needs %s, which is not beside the "
                                      "program or in ../lib/trainyard",
                                      name, plugins[i].library);
        mem_free(path);
        return rc;
    }
    return err_coded(err, RC_NOTFOUND, E2504, "there is no comm '%s'", name);
}
