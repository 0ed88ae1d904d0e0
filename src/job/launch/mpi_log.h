#pragma once

#include "job/launch/plan.h"
#include "job/launch/plan_inputs.h"

namespace muster::launch {

/// What the reference's log says of an MPI run before it shows the environment and mpirun's line:
/// hosts and process counts on the leading host; on the others that they take part. Pure.
/// Source: sagemaker-training 5.1.4, mpi.py.
Args mpi_log(const Inputs& inputs, const HostPlan& plan);

}  // namespace muster::launch
