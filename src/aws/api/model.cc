#include "aws/api/model.h"

#include <algorithm>

#include "aws/api/model_table.h"

namespace muster::api {

namespace {

template <class Fits>
const Service* first_service(const Fits& fits) {
  for (const Service* service : services())
    if (fits(*service)) return service;
  return nullptr;
}

}  // namespace

std::span<const Service* const> services() {
  static constexpr const Service* all[] = {
      &sagemaker_model, &logs_model, &monitoring_model, &sts_model,
      &iam_model,       &ec2_model,  &ecr_model,        &cloudformation_model,
  };
  return all;
}

const Service* find_service(std::string_view name) {
  return first_service([&](const Service& service) { return service.name == name; });
}

const Service* find_target(std::string_view target) {
  if (target.empty()) return nullptr;
  return first_service([&](const Service& service) { return service.target == target; });
}

const Operation* find_operation(const Service& service, std::string_view name) {
  const auto found = std::ranges::find(service.operations, name, &Operation::name);
  return found == service.operations.end() ? nullptr : &*found;
}

}  // namespace muster::api
