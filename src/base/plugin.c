/* SPDX-License-Identifier: Apache-2.0 */
#include "base/plugin.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/fs.h"
#include "base/mem.h"

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

static enum rc load(const struct plugin_wanted *w, const char *path, const void **out,
                    struct err *err)
{
    void *lib = dlopen(path, RTLD_NOW | (w->global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!lib)
        return err_coded(err, RC_NOTFOUND, w->code, "%s cannot be loaded: %s", w->what,
                         dlerror());
    const void *plugin = dlsym(lib, w->symbol);
    const char *version = plugin ? *(const char *const *)plugin : NULL;
    if (!version || strcmp(version, TY_VERSION) != 0)
        return err_coded(err, RC_UNSUPPORTED, w->code,
                         "%s: %s is of version %s, the program of %s", w->what, path,
                         version ? version : "(none)", TY_VERSION);
    *out = plugin;
    return RC_OK;
}

enum rc plugin_load(const struct plugin_wanted *w, const void **out, struct err *err)
{
    char *path = find_library(w->library);
    enum rc rc = path ? load(w, path, out, err)
                      : err_coded(err, RC_NOTFOUND, w->code,
                                  "%s needs %s, which is not beside the program or in "
                                  "../lib/trainyard",
                                  w->what, w->library);
    mem_free(path);
    return rc;
}
