#pragma once

#include <functional>
#include <memory>

#include "objects/keyring.h"
#include "server/operations.h"
#include "server/runner.h"

namespace muster::server {

/// Everything behind the API's door: operations over the store, and the jobs that they start.
/// Belongs to the main loop.
class Service {
 public:
  struct Options {
    Realm realm;
    Runner::Options runner;
  };
  /// All but `options` outlive this.
  Service(loop::Loop& loop, Store& store, objects::KeyRing& keys, Options options);

  /// Takes up the jobs of an earlier server.
  Result<void> start() { return runner_.start(); }
  loop::Task<Answer> operate(Call call);

 private:
  Logs logs_;
  Metrics metrics_;
  Runner runner_;
  Operations operations_;
};

}  // namespace muster::server
