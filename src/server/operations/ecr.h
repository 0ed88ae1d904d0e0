#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/access/keyring.h"
#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "image/kept/repositories.h"
#include "net/loop/loop.h"
#include "server/registry/registry_server.h"

namespace muster::server {

/// What lists of a repository's images read from, in their orders.
struct Listing {
  image::Repository repository;
  std::map<std::string_view, std::vector<std::string>> tags{};  ///< By image.
  std::vector<std::string> ids{};  ///< "DIGEST TAG", or "DIGEST" without a tag; sorted.
};

/// The repository that was listed last: the pages of a long list are not to read all of it each.
/// Any thread.
class LastListing {
 public:
  /// None: there is no such repository. Errors: as Repositories::find().
  Result<std::shared_ptr<const Listing>> find(const image::Repositories& repositories,
                                              const std::string& name);

 private:
  std::mutex mutex_;
  std::string name_;
  std::string version_;
  std::shared_ptr<const Listing> listing_;
};

/// ECR's operations over the registry of this server: repositories, what is in them, and tokens to
/// log in by. Belongs to the main loop; what reads the store does so in a thread.
class Ecr {
 public:
  struct Options {
    api::Realm realm;
    std::function<UnixMillis()> now;
    /// "http://127.0.0.1:7700": for a client whose own word for the server cannot be used.
    std::string url;
  };
  /// All but `options` outlive this.
  Ecr(loop::Loop& loop, const access::KeyRing& keys, registry::RegistryServer& registry,
      Options options)
      : loop_(loop),
        keys_(keys),
        registry_(registry),
        options_(std::move(options)),
        last_(std::make_shared<LastListing>()) {}

  loop::Task<api::Answer> operate(api::Request request);

 private:
  loop::Loop& loop_;
  const access::KeyRing& keys_;
  registry::RegistryServer& registry_;
  Options options_;
  const std::shared_ptr<LastListing> last_;
};

/// What an operation but GetAuthorizationToken answers. `host`: "HOST:PORT", what repositoryUri
/// begins with. Blocks.
api::Answer answer_ecr(image::Store& store, LastListing& last, const api::Request& request,
                       const api::Realm& realm, const std::string& host, UnixMillis now);

/// True for "HOST" and "HOST:PORT" that can precede an image's name. Pure.
bool is_host(std::string_view host);

}  // namespace muster::server
