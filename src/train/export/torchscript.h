/* SPDX-License-Identifier: Apache-2.0 */
/* train/export/torchscript.h - a scripted model for TorchEasyRec's predictor, made by torch.
 *
 * The program is python/trainyard_torchscript.py, part of this binary; the Python that runs
 * it is the user's.
 */
#ifndef TRAIN_EXPORT_TORCHSCRIPT_H
#define TRAIN_EXPORT_TORCHSCRIPT_H

#include "base/err.h"

extern const char train_torchscript_text[]; /* trainyard_torchscript.py */

struct train_torchscript {
    char version[64];  /* of torch */
    double difference; /* the largest of the sample rows' scores, relative */
};

/* Can `python` import torch? Fills out->version. E2018. */
enum rc train_torchscript_probe(const char *python, struct train_torchscript *out,
                                struct err *err) MUST_CHECK;
/* Writes scripted_model.pt and model_acc.json into `dir`, which has all other files of an
 * export, loads the model again and compares it with the samples. E2018, E2019.
 */
enum rc train_torchscript_write(const char *python, const char *dir,
                                struct train_torchscript *out,
                                struct err *err) MUST_CHECK;

#endif
