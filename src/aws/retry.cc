#include "aws/retry.h"

#include <algorithm>

#include "base/text.h"
#include "net/loop/wait.h"

namespace muster::aws {

bool worth_another_try(int status, const std::string& code) {
  if (status == 501 || status == 505) return false;  // Not implemented stays so.
  if (status == 507) return false;                   // A full disk, for a while.
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

std::optional<Duration> retry_after(const http::Head& head) {
  const std::optional<std::int64_t> seconds = parse_integer(head.value("Retry-After"));
  if (!seconds || *seconds < 0 || *seconds > 86400) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

Tries::Tries(loop::Loop& loop, RetryOptions options, const Log& log, std::string what)
    : loop_(loop), options_(options), log_(log), what_(std::move(what)), backoff_(options.pauses) {}

loop::Task<bool> Tries::again(Error why, std::optional<Duration> wanted) {
  if (++failures_ >= options_.tries_max) co_return false;
  Duration pause = backoff_.next(random_chance());
  if (wanted) pause = std::max(pause, std::min(*wanted, options_.pauses.most));
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(pause).count();
  log_.warning(what_ + ": " + why.text + "; attempt " + std::to_string(failures_ + 1) + " of " +
               std::to_string(options_.tries_max) + " in " + std::to_string(millis) + " ms");
  loop::Timer timer(loop_);
  co_await timer.after(pause);
  co_return true;
}

void Tries::headway() {
  failures_ = 0;
  backoff_.reset();
}

Error Tries::final(const Error& error) const {
  Error last = error.in(what_);
  if (failures_ > 1) last.text += " (" + std::to_string(failures_) + " attempts)";
  return last;
}

}  // namespace muster::aws
