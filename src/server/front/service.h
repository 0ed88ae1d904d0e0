#pragma once

#include <functional>
#include <memory>

#include "aws/access/keyring.h"
#include "server/exposition.h"
#include "server/front/stepwise.h"
#include "server/jobs/runner.h"
#include "server/operations/ecr.h"
#include "server/operations/keys.h"
#include "server/operations/operations.h"
#include "server/operations/timeline_operation.h"
#include "server/web/web_server.h"

namespace muster::server {

/// Answers API calls: operations on the store, and the jobs that they start. Belongs to the main
/// loop.
class Service {
 public:
  struct Options {
    api::Realm realm;
    vpc::Networks networks;  ///< The config's.
    jobs::Runner::Options runner;
    std::string url;      ///< The server's, if a client's name for it cannot be used.
    UserKeys& user_keys;  ///< Outlives the service.
  };
  /// All but `options` outlive this.
  Service(loop::Loop& loop, engine::Engine& engine, store::Store& store, access::KeyRing& keys,
          registry::RegistryServer& registry, const Log& log, Options options);

  /// Resumes the stacks and jobs of an earlier server.
  Result<void> start();
  loop::Task<api::Answer> operate(api::Request request);
  // Queries of the web page; on the main loop.
  Result<Json> job_counts() const;           ///< By status.
  bool hangs(const std::string& job) const;  ///< Whether DescribeTrainingJob has a MusterHang.
  /// As machine_view(). A run that is on a cluster has "slurm", as Jobs::in_slurm().
  Json machine() const;
  Result<WebLog> web_log(const std::string& name);
  /// All networks that jobs can use at this moment: those of the config and of stacks.
  const vpc::Networks& networks() const { return stacks_.networks(); }
  /// The reason why this server cannot work, in a line that anyone can read; empty: it can.
  std::string trouble();
  /// Jobs by status, waiting jobs, phases and restarts, and what running hosts use. On the main
  /// loop.
  void write(Exposition& to);

 private:
  loop::Task<api::Answer> describe_stacks(const api::Request& request);
  loop::Task<api::Answer> describe_usage(const api::Request& request);
  loop::Task<api::Answer> remove(api::Request request);
  loop::Task<api::Answer> search(api::Request request);

  Stepwise stepwise_;
  const Log& log_;
  store::Store& store_;
  std::function<UnixMillis()> now_;
  Stacks stacks_;
  const server::JournalFiles journals_;
  cloudwatch::Logs logs_;
  cloudwatch::Metrics metrics_;
  jobs::Runner runner_;
  Operations operations_;
  Timelines timelines_;
  UserKeys& user_keys_;
  const api::Realm realm_;
  Ecr ecr_;
};

}  // namespace muster::server
