#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aws/refusal.h"
#include "base/json.h"
#include "base/result.h"
#include "job/vpc/networks.h"

namespace muster::cloudformation {

/// A stack: the result of a template with its parameters. Pure.

struct StackResource {
  std::string name;  ///< The logical one.
  std::string type;
  std::string id;                                         ///< The physical id.
  std::vector<std::pair<std::string, std::string>> tags;  ///< Key and value.
  std::string digest = {};  ///< Identifies the properties other than tags.
  /// Digest of the properties that determine its id; empty: created before stacks could be updated.
  std::string fixed = {};
};

struct StackOutput {
  std::string key;
  std::string value;
  std::string description;
  std::string export_name;
};

struct Stack {
  std::string description;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< Secret ones as "****".
  std::vector<StackResource> resources;                         ///< In the order of creation.
  std::vector<StackOutput> outputs;
  vpc::Networks networks;
};

struct StackOptions {
  std::string name;
  std::string id;  ///< The ARN.
  std::string region;
  std::string account;
  const vpc::Networks& known;                                    ///< The existing networks.
  std::function<std::string(std::string_view prefix)> fresh_id;  ///< "vpc" to "vpc-0a…".
  /// The stack to update, with its networks: resources keep their ids if their type supports the
  /// template's changes.
  const Stack* before = nullptr;
};

/// The complete stack, or a ValidationError, with CloudFormation's message if it has one.
Result<Stack, aws::Refusal> make_stack(std::string_view text,
                                       const std::map<std::string, std::string>& parameters,
                                       const StackOptions& options);

/// `old`, completed with the digests from its own template: without them, an update would replace
/// all resources. Error: the template is no longer accepted, or has secrets.
Result<Stack, aws::Refusal> with_digests(Stack old, std::string_view text, StackOptions options);

/// Converts a stack, without its networks, to the store's form and back. Error: `invalid_input`.
Json to_json(const Stack& stack);
Result<Stack> stack_from(const Json& json);

}  // namespace muster::cloudformation
