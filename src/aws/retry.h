#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aws/xml.h"
#include "base/backoff.h"
#include "base/log.h"
#include "base/time.h"
#include "net/http/client.h"

namespace muster::aws {

/// Whether and when a call is made again.

/// True if the server may answer better next time: 5xx, 429, and the codes for "slow down" and
/// "expired meanwhile".
bool worth_another_try(int status, const std::string& code);
/// True if the call got no complete answer, for a reason that may pass.
bool worth_another_try(const Error& error);

/// Retry-After in seconds; none for a date or nonsense.
std::optional<Duration> retry_after(const http::Head& head);
struct RetryOptions {
  int tries_max = 5;  ///< In a row without headway; >= 1.
  /// `most` caps Retry-After too.
  Backoff::Options pauses = {.first = std::chrono::milliseconds(200),
                             .most = std::chrono::seconds(20)};
};

/// Counts the tries of one call and waits between them.
class Tries {
 public:
  /// `what` begins each warning: the object's URL.
  Tries(loop::Loop& loop, RetryOptions options, const Log& log, std::string what);
  /// Waits for the next try; false after the last one. `wanted`: the server's Retry-After.
  loop::Task<bool> again(Error why, std::optional<Duration> wanted);
  /// The call made progress: failures are counted from zero again.
  void headway();
  /// The error that ends the call: `error` with what was tried, and how often.
  Error final(const Error& error) const;

 private:
  loop::Loop& loop_;
  RetryOptions options_;
  const Log& log_;
  std::string what_;
  Backoff backoff_;
  int failures_ = 0;
};

}  // namespace muster::aws
