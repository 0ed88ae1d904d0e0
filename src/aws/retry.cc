#include "aws/retry.h"

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "loop/wait.h"

namespace muster::aws {

bool worth_another_try(int status, const std::string& code) {
  if (status == 501 || status == 505) return false;  // Not implemented stays so.
  if (status >= 500 || status == 429 || status == 408) return true;
  return code == "SlowDown" || code == "RequestTimeout" || code == "InternalError" ||
         code == "ThrottlingException" || code == "Throttling" || code == "RequestLimitExceeded" ||
         code == "ServiceUnavailable" || code == "BadDigest" || code == "XAmzContentSHA256Mismatch";
}

bool worth_another_try(const Error& error) {
  return error.code == Errc::timeout || error.code == Errc::closed ||
         error.code == Errc::protocol || error.code == Errc::system ||
         error.code == Errc::not_found;  // The name: a resolver's hiccup reads the same.
}

Duration pause_before_try(int failures, Duration first, Duration most, double chance) {
  Duration pause = std::min(first, most);
  for (int i = 0; i < failures && pause < most; ++i) pause = std::min(pause * 2, most);
  const double share = 0.5 + chance / 2;
  return Duration(static_cast<Duration::rep>(static_cast<double>(pause.count()) * share));
}

std::optional<Duration> retry_after(const http::Head& head) {
  const std::optional<std::int64_t> seconds = parse_integer(head.value("Retry-After"));
  if (!seconds || *seconds < 0 || *seconds > 86400) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

Tries::Tries(loop::Loop& loop, RetryOptions options, const Log& log, std::string what)
    : loop_(loop), options_(options), log_(log), what_(std::move(what)) {}

loop::Task<bool> Tries::again(Error why, std::optional<Duration> wanted) {
  if (++failures_ >= options_.tries_max) co_return false;
  Duration pause =
      pause_before_try(failures_ - 1, options_.pause_first, options_.pause_max, random_chance());
  if (wanted) pause = std::max(pause, std::min(*wanted, options_.pause_max));
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(pause).count();
  log_.warning(what_ + ": " + why.text + "; try " + std::to_string(failures_ + 1) + " of " +
               std::to_string(options_.tries_max) + " in " + std::to_string(millis) + " ms");
  loop::Timer timer(loop_);
  co_await timer.after(pause);
  co_return true;
}

Error Tries::final(const Error& error) const {
  Error last = error.in(what_);
  if (failures_ > 1) last.text += " (" + std::to_string(failures_) + " tries)";
  return last;
}

double random_chance() {
  const std::string bytes = random_bytes(4);
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return static_cast<double>(number) / 4294967296.0;
}

}  // namespace muster::aws
