#include "job/launch/efa.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::launch {
namespace {

constexpr std::array<std::string_view, 10> efa_instances = {
    "ml.g4dn.8xlarge",  "ml.g4dn.12xlarge",     "ml.g5.48xlarge", "ml.p3dn.24xlarge",
    "ml.p4d.24xlarge",  "ml.p4de.24xlarge",     "ml.p5.48xlarge", "ml.p5e.48xlarge",
    "ml.trn1.32xlarge", "ml.p6e-gb200.36xlarge"};
constexpr std::array<std::string_view, 6> efa_rdma_instances = {
    "ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p5.48xlarge",
    "ml.p5e.48xlarge", "ml.trn1.32xlarge", "ml.p6e-gb200.36xlarge"};

template <std::size_t count>
bool among(const std::array<std::string_view, count>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool has_efa(const std::string& instance_type) {
  return among(efa_instances, instance_type);
}

bool has_efa_rdma(const std::string& instance_type) {
  return among(efa_rdma_instances, instance_type);
}

}  // namespace muster::launch
