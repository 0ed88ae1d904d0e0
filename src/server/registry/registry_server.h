#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "aws/access/keyring.h"
#include "image/kept/store.h"
#include "net/http/server.h"
#include "server/registry/uploads.h"

namespace muster::registry {

/// A registry of images over a store: authentication, permissions and responses. Source:
/// docs/protocols/registry.md, "The server's registry"; docs/decisions/0033-registry.md.
///
/// Any number of threads: each exchange stays on its own loop. Short disk I/O happens there; work
/// that may take long (waiting for locks, syncs) runs on a separate thread.
class RegistryServer {
 public:
  struct Options {
    /// Opens this machine's store: called at the first use, and again until it succeeds.
    std::function<Result<image::Store>()> open_store;
    std::function<UnixMillis()> now;  ///< Wall clock; any thread.
    Uploads::Limits uploads{};
    std::uint64_t blob_bytes_max = 52ull << 30;  ///< As in AWS.
    std::size_t entries_max = 10'000;  ///< Tags, manifests and blobs of a repository, each.
  };
  /// `keys` outlives the server and its exchanges.
  RegistryServer(const access::KeyRing& keys, Options options)
      : keys_(keys), options_(std::move(options)), uploads_(options_.uploads) {}

  /// Handles requests for which is_registry_path() is true.
  loop::Task<void> answer(http::Exchange& exchange);
  /// Any thread; blocks. Error: as open_store().
  Result<std::shared_ptr<image::Store>> store();
  /// Ends uploads that are no longer continued.
  void forget_idle(TimePoint now) { uploads_.forget_idle(now); }

 private:
  const access::KeyRing& keys_;
  const Options options_;
  Uploads uploads_;
  std::mutex mutex_;
  std::shared_ptr<image::Store> store_;
};

}  // namespace muster::registry
