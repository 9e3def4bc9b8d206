/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for NVIDIA's management library in tests: GPU n is busy for 10 n percent and
 * has n MiB in use; there are four.
 */
#include <stddef.h>

struct nvml_device {
    unsigned index;
};
static struct nvml_device devices[4] = {{0}, {1}, {2}, {3}};

struct rates {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **out);
int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct rates *out);
int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct memory *out);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **out)
{
    if (index >= 4)
        return 2;
    *out = &devices[index];
    return 0;
}

int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct rates *out)
{
    *out = (struct rates){.gpu = 10 * d->index, .memory = 1};
    return 0;
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct memory *out)
{
    unsigned long long used = (unsigned long long)d->index << 20;
    *out =
        (struct memory){.total = 16ULL << 30, .free = (16ULL << 30) - used, .used = used};
    return 0;
}
