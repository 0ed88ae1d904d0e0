#include "image/pull/registry.h"

#include <algorithm>

#include "aws/digest.h"
#include "base/text.h"
#include "image/pull/registry_answer.h"
#include "image/pull/registry_ask.h"

namespace muster::image {
namespace {

constexpr std::size_t manifest_bytes_max = 4u << 20;
constexpr auto manifest_max = std::chrono::seconds(60);
/// Less progress does not reset the retry counter.
constexpr std::uint64_t headway_bytes = 1u << 20;
constexpr std::string_view manifest_types =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

std::string digest_text(const aws::Sha256Bytes& bytes) {
  return "sha256:" + hex(aws::view_of(bytes));
}

/// A blob being downloaded: the received bytes, the missing bytes, and the error for which no retry
/// helps.
class Transfer {
 public:
  Transfer(std::string digest, std::uint64_t total, Registry::Take take,
           const Registry::Options& options)
      : digest_(std::move(digest)), total_(total), take_(std::move(take)), options_(options) {}

  std::uint64_t bytes() const { return bytes_; }
  const std::optional<Error>& refused() const { return refused_; }
  /// From where the next try asks; a registry that answered badly to a range gets none.
  std::uint64_t wanted_from() const { return ranges_ ? bytes_ : 0; }
  void begin_try() { begun_ = false; }
  Result<void> take(const http::Head& head, std::string_view bytes);
  void without_ranges() { ranges_ = false; }
  /// After a 2xx was read to its end. Error: `protocol`.
  Result<void> verify();

 private:
  Result<void> begin(const http::Head& head);
  Result<void> at_pace(std::size_t bytes);
  Error refuse(Error why) {
    refused_ = why;
    return why;
  }

  const std::string digest_;
  const std::uint64_t total_;
  const Registry::Take take_;
  const Registry::Options& options_;
  aws::Sha256 hash_;
  std::uint64_t bytes_ = 0;
  std::uint64_t skip_ = 0;  ///< Bytes of this answer that came before.
  bool begun_ = false;
  bool ranges_ = true;
  TimePoint window_begin_{};
  std::uint64_t window_bytes_ = 0;
  std::optional<Error> refused_;
};

Result<void> Transfer::begin(const http::Head& head) {
  begun_ = true;
  skip_ = 0;
  window_begin_ = Clock::now();
  window_bytes_ = 0;
  if (head.status == 206) {
    if (range_begin(head.value("Content-Range"), total_) == bytes_) return {};
    ranges_ = false;
    return fail(Errc::protocol, "the registry returned the wrong byte range");
  }
  skip_ = bytes_;  // The whole blob, whatever was asked for.
  const std::string length = head.value("Content-Length");
  if (!length.empty() && length != std::to_string(total_))
    return refuse(fail(Errc::protocol, "the registry's copy has " + length +
                                           " bytes, but the manifest specifies " +
                                           std::to_string(total_)));
  return {};
}

/// A connection that is alive and brings next to nothing would hold a pull for days.
Result<void> Transfer::at_pace(std::size_t bytes) {
  window_bytes_ += bytes;
  const TimePoint now = Clock::now();
  if (now - window_begin_ < options_.slow_max) return {};
  const auto seconds = std::chrono::duration<double>(now - window_begin_).count();
  const double rate = static_cast<double>(window_bytes_) / seconds;
  if (rate < static_cast<double>(options_.bytes_a_second_min))
    return fail(Errc::timeout, "the download is too slow: only " +
                                   std::to_string(static_cast<std::uint64_t>(rate)) +
                                   " bytes per second");
  window_begin_ = now;
  window_bytes_ = 0;
  return {};
}

Result<void> Transfer::take(const http::Head& head, std::string_view bytes) {
  if (!begun_) TRY(begin(head));
  TRY(at_pace(bytes.size()));
  const std::size_t skipped = std::min<std::uint64_t>(skip_, bytes.size());
  skip_ -= skipped;
  bytes.remove_prefix(skipped);
  if (bytes.size() > total_ - bytes_)
    return refuse(fail(Errc::protocol, "received more than the " + std::to_string(total_) +
                                           " bytes that the manifest specifies"));
  hash_.add(bytes);
  bytes_ += bytes.size();
  const Result<void> taken = take_(bytes);
  return taken ? taken : refuse(taken.error());
}

Result<void> Transfer::verify() {
  if (bytes_ != total_)
    return fail(Errc::protocol, std::to_string(bytes_) +
                                    " bytes were received, but the manifest specifies " +
                                    std::to_string(total_));
  const std::string got = digest_text(hash_.finish());
  if (got == digest_) return {};
  return fail(Errc::protocol, "wrong digest: " + got);
}

/// What came of one try.
struct Step {
  bool done = false;
  bool worth = false;  ///< Another try.
  Error why{};
  std::optional<Duration> wanted{};
};

Step step_of(const RegistryCalls& calls, const Result<RegistryAnswer>& answer,
             const std::string& what) {
  if (!answer) return {.worth = aws::worth_another_try(answer.error()), .why = answer.error()};
  const int status = answer->head.status;
  if (status / 100 == 2) return {.done = true};
  const bool worth = !answer->own || aws::worth_another_try(status, "");
  return {.worth = worth,
          .why = calls.failure(*answer, what),
          .wanted = aws::retry_after(answer->head)};
}

/// Whether the manifest is what was asked for and what the registry says it is.
Result<void> check_manifest(const RegistryAnswer& answer, const std::string& which) {
  if (answer.too_long)
    return fail(Errc::protocol,
                "the manifest is larger than " + std::to_string(manifest_bytes_max >> 20) + " MiB");
  const std::string got = digest_text(aws::sha256(answer.text));
  const std::string told = answer.head.value("Docker-Content-Digest");
  const bool wrong = (is_digest(which) && got != which) || (is_digest(told) && got != told);
  if (wrong) return fail(Errc::protocol, "the manifest has the wrong digest: " + got);
  return {};
}

}  // namespace

Registry::Registry(loop::Loop& loop, const Log& log, Options options, Reference image,
                   FindLogin find_login)
    : calls_(std::make_shared<RegistryCalls>(loop, log, std::move(options), std::move(image),
                                             std::move(find_login))) {}

Registry::~Registry() = default;

std::string Registry::login() const {
  return calls_->login();
}

loop::Task<Result<std::string>> Registry::manifest(std::string which) {
  const std::shared_ptr<RegistryCalls> calls = calls_;
  const std::string what = calls->name() + (is_digest(which) ? "@" : ":") + which;
  aws::Tries tries(calls->loop(), calls->options().retry, calls->log(), what);
  while (true) {
    RegistryAsk ask;
    ask.target = calls->target("manifests/" + which);
    ask.headers.emplace_back("Accept", manifest_types);
    ask.text_max = manifest_bytes_max;
    ask.deadline = Clock::now() + manifest_max;
    Result<RegistryAnswer> answer = co_await calls->once(std::move(ask));
    const Step step = step_of(*calls, answer, "no such image");
    if (step.done) {
      const Result<void> right = check_manifest(*answer, which);
      if (!right) co_return right.error().in(what);
      co_return std::move(answer->text);
    }
    bool again = false;
    if (step.worth) again = co_await tries.again(step.why, step.wanted);
    if (!again) co_return tries.final(step.why);
  }
}

loop::Task<Result<void>> Registry::blob(std::string digest, std::uint64_t bytes, Take take) {
  const std::shared_ptr<RegistryCalls> calls = calls_;
  const std::string what = calls->name() + ": " + digest.substr(0, 19);
  const auto transfer =
      std::make_shared<Transfer>(digest, bytes, std::move(take), calls->options());
  const http::OnBody on_body = [transfer](const http::Head& head, std::string_view piece) {
    return transfer->take(head, piece);
  };
  const auto seconds = static_cast<std::int64_t>(bytes / calls->options().bytes_a_second_min);
  const Duration whole_max = manifest_max + std::chrono::seconds(seconds);
  aws::Tries tries(calls->loop(), calls->options().retry, calls->log(), what);
  while (true) {
    const std::uint64_t before = transfer->bytes();
    RegistryAsk ask;
    ask.target = calls->target("blobs/" + digest);
    if (transfer->wanted_from() > 0)
      ask.headers.emplace_back("Range", "bytes=" + std::to_string(before) + "-");
    ask.on_body = on_body;
    ask.deadline = Clock::now() + whole_max;
    transfer->begin_try();
    const Result<RegistryAnswer> answer = co_await calls->once(std::move(ask));
    if (transfer->refused()) co_return transfer->refused()->in(what);
    Step step = step_of(*calls, answer, "the registry has no such blob");
    if (step.done) {
      const Result<void> right = transfer->verify();
      if (!right) co_return right.error().in(what);
      co_return Result<void>();
    }
    if (answer && answer->head.status == 416) {
      transfer->without_ranges();
      step.worth = true;
    }
    if (transfer->bytes() >= before + headway_bytes) tries.headway();
    bool again = false;
    if (step.worth) again = co_await tries.again(step.why, step.wanted);
    if (!again) co_return tries.final(step.why);
  }
}

}  // namespace muster::image
