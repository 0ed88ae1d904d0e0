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

/// The sorted data from which a repository's images are listed.
struct Listing {
  image::Repository repository;
  std::map<std::string_view, std::vector<std::string>> tags{};  ///< By image.
  std::vector<std::string> ids{};  ///< "DIGEST TAG", or "DIGEST" without a tag; sorted.
};

/// The last listed repository, so that each page of a long list does not read all of it again. Any
/// thread.
class LastListing {
 public:
  /// None if the repository does not exist. Errors: as Repositories::find().
  Result<std::shared_ptr<const Listing>> find(const image::Repositories& repositories,
                                              const std::string& name);

 private:
  std::mutex mutex_;
  std::string name_;
  std::string version_;
  std::shared_ptr<const Listing> listing_;
};

/// ECR's operations on this server's registry: repositories, their content, and login tokens.
/// Belongs to the main loop; the store is read in a thread.
class Ecr {
 public:
  struct Options {
    api::Realm realm;
    std::function<UnixMillis()> now;
    /// "http://127.0.0.1:7700": used if a client's own name for the server cannot be used.
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

/// The response of any operation except GetAuthorizationToken. `host`: "HOST:PORT", the start of
/// repositoryUri. Blocks.
api::Answer answer_ecr(image::Store& store, LastListing& last, const api::Request& request,
                       const api::Realm& realm, const std::string& host, UnixMillis now);

/// True for "HOST" and "HOST:PORT" that can precede an image's name. Pure.
bool is_host(std::string_view host);

}  // namespace muster::server
