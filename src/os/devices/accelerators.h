#pragma once

#include "base/command.h"

namespace muster::env {

/// GPUs that this container can open: as many as its steward says (MUSTER_NUM_GPUS), for GPUs have
/// device files of any name; without a word of it /dev/nvidia0, /dev/nvidia1, ...; where there are
/// none, what `nvidia-smi --list-gpus` lists, if there is such a program (drivers without device
/// files). The reference asks the program only, which takes half a second.
int count_gpus(const Env& env);

/// Neuron cores, as `neuron-ls -j` counts them; none without that program.
int count_neurons(const Env& env);

}  // namespace muster::env
