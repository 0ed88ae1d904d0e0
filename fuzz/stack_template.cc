// CloudFormation's templates from text to networks: made whole, the same each time, or refused.
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "fuzz.h"
#include "job/vpc/networks.h"
#include "server/cloudformation/testing.h"

namespace muster {

namespace {

constexpr std::size_t value_bytes_max = 4096;

using Made = Result<cloudformation::Stack, aws::Refusal>;

Made made_of(std::string_view text) {
  return cloudformation::stack_made(text, {{"Zones", "2"}, {"Names", "a,b"}});
}

void check_stack(const cloudformation::Stack& stack) {
  std::set<std::string> names;
  for (const cloudformation::StackResource& each : stack.resources) {
    CHECK_THAT(names.insert(each.name).second, "a resource is made once");
    CHECK_THAT(!each.id.empty(), "what is made has an id");
  }
  for (const cloudformation::StackOutput& each : stack.outputs)
    CHECK_THAT(each.value.size() <= value_bytes_max, "an output has its limit");
  CHECK_THAT(vpc::check(stack.networks), "networks are such that jobs may name them");
  const Json kept = cloudformation::to_json(stack);
  const Result<cloudformation::Stack> again = cloudformation::stack_from(kept);
  CHECK_THAT(again && cloudformation::to_json(*again) == kept,
             "what is kept of a stack reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Made made = made_of(text);
  const Made again = made_of(text);
  CHECK_THAT(made.has_value() == again.has_value(), "a template means the same each time");
  if (!made) {
    CHECK_THAT(made.error().code == "ValidationError", "a refusal is CloudFormation's");
    CHECK_THAT(!made.error().message.empty(), "a refusal says why");
    return 0;
  }
  check_stack(*made);
  CHECK_THAT(cloudformation::to_json(*made) == cloudformation::to_json(*again),
             "a template means the same each time");
  return 0;
}

}  // namespace muster
