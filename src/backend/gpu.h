/* SPDX-License-Identifier: Apache-2.0 */
/* backend/gpu.h - what GPUs are doing, by NVIDIA's management library if it is here. */
#ifndef BACKEND_GPU_H
#define BACKEND_GPU_H

#include <stdbool.h>
#include <stdint.h>

struct backend_gpus;

struct backend_gpus *backend_gpus_open(void);    /* NULL: no library, or no driver */
void backend_gpus_close(struct backend_gpus *g); /* NULL is fine */

struct backend_gpu_use {
    double percent; /* of the last moment in which it worked at all */
    int64_t bytes;  /* of its memory, by everybody */
};
/* GPU `index`, counted as nvidia-smi does (by PCI bus). False: not told. */
bool backend_gpus_use(struct backend_gpus *g, int64_t index, struct backend_gpu_use *out);

#endif
