/* SPDX-License-Identifier: Apache-2.0 */
/* The library comes with the driver, so it is loaded at run time; the declarations are
 * those of its documentation, as far as they are needed.
 */
#include "backend/gpu.h"

#include <dlfcn.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

typedef struct nvml_device *device;
struct rates {
    unsigned gpu, memory; /* percent */
};
struct memory {
    unsigned long long total, free, used;
};

struct backend_gpus {
    void *lib;
    int (*init)(void), (*shutdown)(void);
    int (*by_index)(unsigned, device *);
    int (*rates)(device, struct rates *);
    int (*memory)(device, struct memory *);
};

/* A pointer to a function out of one to data, which C does not let one cast. */
static bool find(void *lib, const char *name, void *out)
{
    void *symbol = dlsym(lib, name);
    memcpy(out, &symbol, sizeof(symbol));
    return symbol != NULL;
}

struct backend_gpus *backend_gpus_open(void)
{
    struct backend_gpus *g = mem_calloc(1, sizeof(*g));
    g->lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (g->lib && find(g->lib, "nvmlInit_v2", &g->init) &&
        find(g->lib, "nvmlShutdown", &g->shutdown) &&
        find(g->lib, "nvmlDeviceGetHandleByIndex_v2", &g->by_index) &&
        find(g->lib, "nvmlDeviceGetUtilizationRates", &g->rates) &&
        find(g->lib, "nvmlDeviceGetMemoryInfo", &g->memory) && g->init() == 0)
        return g;
    if (g->lib)
        dlclose(g->lib);
    mem_free(g);
    return NULL;
}

void backend_gpus_close(struct backend_gpus *g)
{
    if (!g)
        return;
    g->shutdown();
    dlclose(g->lib);
    mem_free(g);
}

bool backend_gpus_use(struct backend_gpus *g, int64_t index, struct backend_gpu_use *out)
{
    device d = NULL;
    struct rates r = {0};
    struct memory m = {0};
    if (index < 0 || index > UINT16_MAX || g->by_index((unsigned)index, &d) != 0 ||
        g->rates(d, &r) != 0 || g->memory(d, &m) != 0)
        return false;
    *out = (struct backend_gpu_use){.percent = r.gpu, .bytes = (int64_t)m.used};
    return true;
}
