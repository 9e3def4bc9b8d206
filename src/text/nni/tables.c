/* SPDX-License-Identifier: Apache-2.0 */
#include "text/nni/nni.h"

#define SCHEMA_P(n) nni_##n
#define SCHEMA_DEF(n) nni_##n##_def

/* The order of these matters. */
/* clang-format off */
#include "text/schema_as_table.h"
#include "text/nni/all.def"
#include "text/schema_end.h"

static const struct msg_def *const msgs[] = {
#define SCHEMA_LIST_MSG(n) &SCHEMA_DEF(n),
#define SCHEMA_LIST_ENUM(n)
#include "text/schema_as_list.h"
#include "text/nni/all.def"
#include "text/schema_end.h"
    NULL,
};
/* clang-format on */

static const struct enum_def *const enums[] = {NULL};

const struct schema_variant nni_services[] = {
    {"local", &nni_LocalConfig_def},
    {"remote", &nni_RemoteConfig_def},
    {"openpai", &nni_OpenpaiConfig_def},
    {"aml", &nni_AmlConfig_def},
    {"dlc", &nni_DlcConfig_def},
    {"kubeflow", &nni_KubeflowConfig_def},
    {"frameworkcontroller", &nni_FrameworkControllerConfig_def},
    {"trainyard", &nni_TrainyardConfig_def},
    {0},
};

const struct schema_family schema_family_nni = {
    .name = "nni",
    .title = "NNI experiment",
    .msgs = msgs,
    .enums = enums,
};
