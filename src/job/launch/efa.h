#pragma once

#include <string>

namespace muster::launch {

// Instance types with an Elastic Fabric Adapter that NCCL may use. Pure.
// Source of both lists: sagemaker-training 5.1.4, __init__.py.

bool has_efa(const std::string& instance_type);
/// The instance type's adapter can also read and write GPU memory directly.
bool has_efa_rdma(const std::string& instance_type);

}  // namespace muster::launch
