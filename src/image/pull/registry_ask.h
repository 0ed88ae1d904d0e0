#pragma once

// Inside image/ only: one request to a registry, let in, sent to where it leads, and explained.

#include <memory>
#include <optional>
#include <string>

#include "image/pull/challenge.h"
#include "image/pull/registry.h"
#include "net/loop/wait.h"

namespace muster::image {

/// What is asked of the repository.
struct RegistryAsk {
  std::string target;
  http::Headers headers{};
  std::size_t text_max = 64u << 10;  ///< What a body that `on_body` does not get may have.
  TimePoint deadline = TimePoint::max();
  http::OnBody on_body{};  ///< Gets the body of a 2xx.
};

struct RegistryAnswer {
  http::Head head;
  std::string text;
  bool too_long = false;  ///< There was more of it than `text_max`.
  bool own = true;        ///< The registry's, not one's that it redirected to.
};

/// What calls to one repository share.
class RegistryCalls {
 public:
  RegistryCalls(loop::Loop& loop, const Log& log, Registry::Options options, Reference image,
                Registry::FindLogin find_login);

  /// One try. An answer of any status is a success. If the registry wants a login, or takes the
  /// one that was shown no more, it is got (once for all calls that wait for it) and shown.
  loop::Task<Result<RegistryAnswer>> once(RegistryAsk ask);
  /// `what`: what it means if it is not there, "no such image".
  Error failure(const RegistryAnswer& answer, const std::string& what) const;

  loop::Loop& loop() { return loop_; }
  const Log& log() const { return log_; }
  const Registry::Options& options() const { return options_; }
  /// See Registry::login().
  const std::string& login() const { return login_; }
  std::string name() const { return image_.registry + "/" + image_.repository; }
  std::string target(const std::string& rest) const {
    return "/v2/" + image_.repository + "/" + rest;
  }

 private:
  loop::Task<Result<void>> find_origin();
  loop::Task<Result<RegistryAnswer>> follow(RegistryAsk ask);
  loop::Task<Result<void>> renew(http::Head refused, unsigned used);
  loop::Task<Result<std::string>> header_for(http::Head refused);
  loop::Task<Result<std::string>> token_of(Challenge challenge, std::optional<Login> login);

  loop::Loop& loop_;
  const Log& log_;
  const Registry::Options options_;
  const Reference image_;
  const Registry::FindLogin find_login_;
  http::Client http_;
  std::optional<http::Origin> origin_;
  std::string authorization_;  ///< The header's value; a secret.
  std::string login_origin_;   ///< Where its login is from; empty: no login.
  std::string login_;          ///< With its user's name.
  unsigned passes_ = 0;        ///< How often it was renewed.
  bool renewing_ = false;
  loop::Event renewed_;
};

}  // namespace muster::image
