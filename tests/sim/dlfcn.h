/* SPDX-License-Identifier: Apache-2.0
 * dlfcn.h: replaces the system's header, so that device/cuda loads the
 * simulated NCCL, or none (CTT_SIM_NCCL). */
#ifndef CTT_SIM_DLFCN_H
#define CTT_SIM_DLFCN_H

#ifdef __cplusplus
extern "C" {
#endif

enum { RTLD_LOCAL = 0, RTLD_NOW = 2 };

void       *ctt_sim_dlopen(const char *name, int mode);
void       *ctt_sim_dlsym(void *so, const char *name);
const char *ctt_sim_dlerror(void);

#define dlopen  ctt_sim_dlopen
#define dlsym   ctt_sim_dlsym
#define dlerror ctt_sim_dlerror

#ifdef __cplusplus
}
#endif

#endif
