/* SPDX-License-Identifier: Apache-2.0 */
/* backend/gpu.h - what GPUs are doing, by NVIDIA's management library if it is here. */
#ifndef BACKEND_GPU_H
#define BACKEND_GPU_H

#include <stdbool.h>
#include <stdint.h>

struct gpus;

struct gpus *gpus_open(void);    /* NULL: no library, or no driver */
void gpus_close(struct gpus *g); /* NULL is fine */

struct gpu_use {
    double percent; /* of the last moment in which it worked at all */
    int64_t bytes;  /* of its memory, by everybody */
};
/* GPU `index`, counted as nvidia-smi does (by PCI bus). False: not told. */
bool gpus_use(struct gpus *g, int64_t index, struct gpu_use *out);

#endif
