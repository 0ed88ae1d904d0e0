#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "aws/sign.h"
#include "job/spec.h"
#include "server/jobs/manifests.h"
#include "server/store/store.h"

namespace muster::jobs {

/// Keys of jobs: each job has its own key, which grants access to the job's places and is revoked
/// when the job ends. The store records it, the ring accepts it, and a private file passes it to
/// the job's stewards. A second key, which hosts never see, stores the job's results, because the
/// job's own key has a budget and may not write when the disk is nearly full. Belongs to the
/// store's thread.
class JobKeys {
 public:
  using FreshKey = std::function<store::AccessKey()>;
  /// `folder`: for the key files; created if missing. `store` and `ring` outlive this.
  /// `read_manifest` reads the manifests of jobs that have pinned ones. `s3_budget`: see
  /// s3_budget_of().
  JobKeys(store::Store& store, access::KeyRing& ring, std::string folder, FreshKey fresh_key,
          ReadManifest read_manifest = {}, std::optional<std::uint64_t> s3_budget = {})
      : store_(store),
        ring_(ring),
        folder_(std::move(folder)),
        fresh_key_(std::move(fresh_key)),
        read_manifest_(std::move(read_manifest)),
        s3_budget_(s3_budget) {}

  /// The job's key: its existing key if it has one, because running hosts use that, otherwise a new
  /// one. From now on it is accepted, and file() contains it. `repository`: the result of
  /// own_repository() for its image. Errors: `invalid_input` (a URL of the job, a manifest),
  /// `system`.
  Result<aws::Credentials> open(const store::Job& job, const job::Spec& spec,
                                const std::string& repository);
  /// Accepts the job's existing key; does nothing if it has none. Errors as open().
  Result<void> reopen(const store::Job& job, const job::Spec& spec, const std::string& repository);
  /// From now on the job's key is rejected.
  void revoke(const std::string& job) { ring_.revoke_owned(job); }

  /// The file has the format of ~/.aws/credentials and mode 0600.
  std::string file(const std::string& job) const { return folder_ + "/" + job; }
  /// The file of the key that stores the results, in the same format.
  std::string results_file(const std::string& job) const { return file(job) + ".results"; }
  void remove_files(const std::string& job) const;
  /// Removes what killed servers left: all files of jobs that have ended, and half-written files of
  /// others. Call it on the thread that calls open() and reopen().
  void sweep(const std::function<bool(const std::string& job)>& has_ended) const;

 private:
  Result<void> admit(const store::AccessKey& key, const job::Spec& spec,
                     const std::string& repository);
  Result<void> admit_results_key(const std::string& job, const job::Spec& spec);

  store::Store& store_;
  access::KeyRing& ring_;
  std::string folder_;
  FreshKey fresh_key_;
  ReadManifest read_manifest_;
  std::optional<std::uint64_t> s3_budget_;
};

}  // namespace muster::jobs
