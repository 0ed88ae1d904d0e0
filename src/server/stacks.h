#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/realm.h"
#include "api/request.h"
#include "base/log.h"
#include "stacks/stack.h"
#include "store/store.h"
#include "vpc/networks.h"

namespace muster::server {

/// CloudFormation over the store, and the networks that come of it.
///
/// A stack is made whole while CreateStack is answered, or not at all: there is nothing to wait for
/// (docs/decisions/0037-stacks.md). Belongs to the store's thread.
class Stacks {
 public:
  struct Options {
    api::Realm realm;
    std::function<UnixMillis()> now;  ///< Wall clock.
    vpc::Networks networks = {};      ///< The config's.
  };
  Stacks(store::Store& store, Options options) : store_(store), options_(std::move(options)) {}

  /// Reads the store's stacks. Lines about those whose networks no longer fit the config's, which
  /// are left out. Error: the store's.
  Result<std::vector<std::string>> start();
  /// All that jobs may name, the config's and the stacks'. As things stand: it changes.
  const vpc::Networks& networks() const { return networks_; }
  /// The resources' tags, by id.
  const std::map<std::string, store::Tags>& tags() const { return tags_; }

  /// A request for `cloudformation`.
  api::Answer operate(const api::Request& request);

 private:
  struct Kept {
    store::StackRow row;
    stacks::Stack stack;  ///< Without its networks.
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

  /// The living one of that name, or any of that ARN.
  Result<Kept, aws::Refusal> named(const std::string& name);
  /// Why the stack cannot go: a job that has not ended, or another stack is in its networks.
  Result<void, aws::Refusal> check_unused(const Kept& kept);

  store::Store& store_;
  Options options_;
  std::vector<Kept> kept_;  ///< By age, deleted ones too.
  vpc::Networks networks_;
  std::map<std::string, store::Tags> tags_;
};

}  // namespace muster::server
