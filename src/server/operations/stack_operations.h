#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "base/log.h"
#include "job/vpc/networks.h"
#include "server/cloudformation/stack.h"
#include "server/store/store.h"

namespace muster::server {

/// CloudFormation's operations on the store, and the networks of the stacks.
///
/// A stack is created completely during CreateStack, or not at all, so clients need not wait
/// (docs/decisions/0037-stacks.md). The same applies to UpdateStack and ExecuteChangeSet. Belongs
/// to the store's thread.
class Stacks {
 public:
  struct Options {
    api::Realm realm;
    std::function<UnixMillis()> now;  ///< Wall clock.
    vpc::Networks networks = {};      ///< The config's.
  };
  Stacks(store::Store& store, Options options) : store_(store), options_(std::move(options)) {}

  /// Reads the store's stacks. Returns a line for each stack that is left out, because its networks
  /// conflict with the config. Error: the store's.
  Result<std::vector<std::string>> start();
  /// All networks that jobs can use at this moment: those of the config and of the stacks.
  const vpc::Networks& networks() const { return networks_; }
  /// The resources' tags, by id.
  const std::map<std::string, store::Tags>& tags() const { return tags_; }

  /// A request for `cloudformation`.
  api::Answer operate(const api::Request& request);

 private:
  struct Kept {
    store::StackRow row;
    cloudformation::Stack stack;  ///< Without its networks.
    Json request;
  };
  using Handler = api::Answer (Stacks::*)(const api::Request& request);
  api::Answer create(const api::Request& request);
  api::Answer remove(const api::Request& request);
  api::Answer describe(const api::Request& request);
  api::Answer describe_resources(const api::Request& request);
  api::Answer describe_events(const api::Request& request);
  api::Answer get_template(const api::Request& request);
  api::Answer list(const api::Request& request);
  api::Answer list_resources(const api::Request& request);
  api::Answer summarize_template(const api::Request& request);
  api::Answer validate_template(const api::Request& request);
  api::Answer update(const api::Request& request);
  api::Answer create_change_set(const api::Request& request);
  api::Answer describe_change_set(const api::Request& request);
  api::Answer execute_change_set(const api::Request& request);
  api::Answer delete_change_set(const api::Request& request);

  /// The existing stack with that name, or any stack with that ARN.
  Result<Kept, aws::Refusal> named(const std::string& name);
  /// The existing stack with that name or ARN; null if it does not exist.
  const Kept* living(const std::string& name) const;
  Result<void, aws::Refusal> check_count() const;

  /// The stack that a template and parameters would create.
  struct Plan {
    cloudformation::Stack stack;
    Json request;         ///< In the store's form.
    Json changes;         ///< DescribeChangeSet's.
    std::string failure;  ///< Why it cannot be executed; empty: it can.
  };
  /// The stack with its networks and digests. Error: it cannot be updated.
  Result<cloudformation::Stack, aws::Refusal> whole(
      const Kept& kept, const cloudformation::StackOptions& options) const;
  /// `before` may be a stack without resources, of which only the name and ARN count.
  Result<Plan, aws::Refusal> plan(const Json& input, const Kept& before);
  /// Why the networks of `before` cannot become `networks`: an unfinished job or another stack uses
  /// a removed resource, or they conflict with other networks. Empty: they can.
  Result<std::string, aws::Refusal> why_not(const Kept& before, const Json& networks);
  /// One of `ids` and its user: "training job j is in its subnet-1". Empty if none is in use.
  Result<std::string, aws::Refusal> use_of(const std::set<std::string>& ids,
                                           const std::string& arn);
  /// Replaces the stack's row with `row`.
  Result<void, aws::Refusal> put(const store::StackRow& row);
  /// The change set in the input, with its stack's name or ARN.
  Result<store::ChangeSetRow, aws::Refusal> change_set(const Json& input);

  store::Store& store_;
  Options options_;
  std::vector<Kept> kept_;  ///< By age, including deleted stacks.
  vpc::Networks networks_;
  std::map<std::string, store::Tags> tags_;
};

}  // namespace muster::server
