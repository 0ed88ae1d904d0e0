#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aws/retry.h"
#include "image/pull/registry_login.h"
#include "image/reference.h"
#include "net/http/client.h"

namespace muster::image {

class RegistryCalls;

/// A repository of a registry, pulled from (docs/protocols/registry.md).
///
/// Source: the OCI's distribution-spec 1.1; the distribution project's token specification.
class Registry {
 public:
  struct Options {
    Duration connect_max = std::chrono::seconds(10);
    Duration idle_max = std::chrono::seconds(30);
    /// A body that stays below this average for this time is cancelled and requested again.
    std::uint64_t bytes_a_second_min = 8u << 10;
    Duration slow_max = std::chrono::seconds(30);
    aws::RetryOptions retry{};
    std::string ca_roots{};    ///< http::find_ca_roots, or a file of one's own.
    bool plain_http = false;   ///< Speak http; without it only to this machine, if it knows no TLS.
    bool public_only = false;  ///< See http::Client::Options.
  };
  /// Called each time the registry asks for a login. None: no login exists.
  using FindLogin = std::function<loop::Task<Result<std::optional<FoundLogin>>>()>;

  /// `image` is of Transport::registry. `log` gets a warning for each try that failed.
  Registry(loop::Loop& loop, const Log& log, Options options, Reference image,
           FindLogin find_login);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  ~Registry();

  /// The bytes of a manifest or an index, by tag or digest, unchanged; at most 4 MiB. They match
  /// the digest if one was requested, or the registry sent one. Errors: `not_found`, `denied`
  /// (missing or rejected login; the certificate), `protocol` (wrong bytes, not a registry),
  /// `closed` and `timeout` after the last retry. Each starts with the image's name; none contains
  /// a secret.
  loop::Task<Result<std::string>> manifest(std::string which);

  /// The user that was sent to the registry so far, and where that login is from; empty: none was
  /// sent. Contains no secret.
  std::string login() const;

  /// Gives the blob to `take` in its order, each byte once, whatever happens on the way; success:
  /// it was `bytes` long and has the digest. Several may be under way. Errors: as manifest(), and
  /// what `take` returned, at once.
  using Take = std::function<Result<void>(std::string_view bytes)>;
  loop::Task<Result<void>> blob(std::string digest, std::uint64_t bytes, Take take);

 private:
  std::shared_ptr<RegistryCalls> calls_;
};

}  // namespace muster::image
