#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "aws/s3client/s3_call.h"
#include "aws/s3wire/checksum.h"
#include "base/text.h"

namespace muster::s3client {
namespace {

/// Less progress does not reset the retry counter.
constexpr std::uint64_t headway_bytes = 8u << 20;

std::optional<std::uint64_t> number_of(std::string_view text) {
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

/// "bytes 5-9/10".
struct ContentRange {
  std::uint64_t first = 0;
  std::optional<std::uint64_t> total;
};
std::optional<ContentRange> range_of(const std::string& text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string::npos || slash == std::string::npos || slash < dash) return std::nullopt;
  const std::optional<std::uint64_t> first = number_of(std::string_view(text).substr(6, dash - 6));
  if (!first) return std::nullopt;
  return ContentRange{*first, number_of(std::string_view(text).substr(slash + 1))};
}

/// The checksum of the whole object that the server gave, the cheapest to check first. One of a
/// multipart object's parts ("…-3") says nothing that we could check.
std::optional<s3wire::Expected> expected_of(const http::Head& head) {
  struct Kind {
    const char* header;
    const char* name;
    s3wire::Checksum kind;
  };
  static constexpr Kind kinds[] = {
      {"x-amz-checksum-crc64nvme", "CRC64NVME", s3wire::Checksum::crc64nvme},
      {"x-amz-checksum-crc32c", "CRC32C", s3wire::Checksum::crc32c},
      {"x-amz-checksum-crc32", "CRC32", s3wire::Checksum::crc32},
      {"x-amz-checksum-sha256", "SHA256", s3wire::Checksum::sha256},
      {"x-amz-checksum-sha1", "SHA1", s3wire::Checksum::sha1},
  };
  if (head.value("x-amz-checksum-type") != "COMPOSITE")
    for (const Kind& kind : kinds) {
      const std::string value = head.value(kind.header);
      if (!value.empty() && value.find('-') == std::string::npos)
        return s3wire::Expected{kind.kind, kind.name, value};
    }
  std::string etag = head.value("ETag");
  if (etag.size() == 34 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, 32);
  const std::string encryption = head.value("x-amz-server-side-encryption");
  const bool of_plain_bytes = (encryption.empty() || encryption == "AES256") &&
                              head.value("x-amz-server-side-encryption-customer-algorithm").empty();
  if (etag.size() == 32 && from_hex(etag) && of_plain_bytes)
    return s3wire::Expected{s3wire::Checksum::md5, "MD5 (ETag)", hex(*from_hex(etag))};
  return std::nullopt;
}

/// A file beside the one that is wanted; removed unless it took that one's place.
class PartFile {
 public:
  static Result<std::unique_ptr<PartFile>> open(const std::string& path) {
    auto file = std::make_unique<PartFile>();
    file->wanted_ = path;
    file->path_ = path + ".part-" + hex(random_bytes(4));
    file->fd_ = Fd(::open(file->path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file->fd_) return fail_errno("cannot create " + path);
    return file;
  }
  PartFile() = default;
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    if (fd_ && !kept_) ::unlink(path_.c_str());
  }

  Result<void> write(std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail_errno("cannot write " + wanted_);
      offset += static_cast<std::size_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }
  Result<void> restart() {
    return ::ftruncate(fd_.get(), 0) == 0 ? Result<void>() : fail_errno("cannot resize " + wanted_);
  }
  Result<void> keep() {
    if (::rename(path_.c_str(), wanted_.c_str()) != 0)
      return fail_errno("cannot create " + wanted_);
    kept_ = true;
    return {};
  }

 private:
  std::string wanted_;
  std::string path_;
  Fd fd_;
  bool kept_ = false;
};

/// What is known and here of the object so far.
class Transfer {
 public:
  explicit Transfer(std::unique_ptr<PartFile> file) : file_(std::move(file)) {}

  std::uint64_t bytes() const { return bytes_; }
  /// Something to go on from, and a name for the object that it is of.
  bool resumable() const { return bytes_ > 0 && !etag_.empty(); }
  const std::string& etag() const { return etag_; }
  /// The file system's refusal; a retry would not help.
  const std::optional<Error>& refused() const { return refused_; }

  /// An answer to a try begins. Error: it is not what was asked for; restart() first.
  Result<void> begin(const http::Head& head);
  Result<void> take(std::string_view bytes);
  void end_of_answer() { begun_ = false; }
  Result<void> restart();
  /// Error: `protocol`: wrong length or checksum.
  Result<void> verify();
  Result<void> keep() { return file_->keep(); }

 private:
  std::unique_ptr<PartFile> file_;
  bool begun_ = false;
  std::uint64_t bytes_ = 0;
  std::string etag_;
  std::optional<std::uint64_t> total_;
  std::optional<s3wire::Expected> expected_;
  std::optional<s3wire::Digest> digest_;
  std::optional<Error> refused_;
};

Result<void> Transfer::begin(const http::Head& head) {
  if (begun_) return {};
  begun_ = true;
  if (head.status == 206) {
    const std::optional<ContentRange> range = range_of(head.value("Content-Range"));
    if (range && range->first == bytes_ && (!total_ || range->total == total_)) return {};
    return fail(Errc::protocol, "the server returned the wrong byte range");
  }
  TRY(restart());  // The whole object, whatever was here.
  begun_ = true;
  etag_ = head.value("ETag");
  total_ = number_of(head.value("Content-Length"));
  expected_ = expected_of(head);
  if (expected_) digest_.emplace(expected_->kind);
  return {};
}

Result<void> Transfer::take(std::string_view bytes) {
  const Result<void> written = file_->write(bytes_, bytes);
  if (!written) {
    refused_ = written.error();
    return *refused_;
  }
  if (digest_) digest_->add(bytes);
  bytes_ += bytes.size();
  return {};
}

Result<void> Transfer::restart() {
  begun_ = false;
  if (bytes_ > 0) {
    const Result<void> emptied = file_->restart();
    if (!emptied) {
      refused_ = emptied.error();
      return *refused_;
    }
  }
  bytes_ = 0;
  etag_.clear();
  total_.reset();
  expected_.reset();
  digest_.reset();
  return {};
}

Result<void> Transfer::verify() {
  if (total_ && *total_ != bytes_)
    return fail(Errc::protocol,
                "received " + std::to_string(bytes_) + " of " + std::to_string(*total_) + " bytes");
  if (!digest_) return {};
  const std::string got = s3wire::rendered(*expected_, digest_->finish());
  if (got == expected_->value) return {};
  return fail(Errc::protocol, "wrong checksum: " + expected_->name + " is " + got + ", expected " +
                                  expected_->value);
}

S3Request request_for(const s3wire::S3Url& from, const Transfer& transfer) {
  S3Request request{.method = "GET", .url = from};
  request.headers.emplace_back("x-amz-checksum-mode", "ENABLED");
  if (transfer.resumable()) {
    request.headers.emplace_back("Range", "bytes=" + std::to_string(transfer.bytes()) + "-");
    request.headers.emplace_back("If-Match", transfer.etag());
  }
  return request;
}

/// What came of one try.
struct Step {
  bool done = false;
  bool worth = false;  ///< Another try.
  bool anew = false;   ///< From the first byte.
  Error why{};
  std::optional<Duration> wanted{};
};

Step step_of(const Result<S3Answer>& answer, Transfer& transfer, const std::string& origin) {
  if (transfer.refused()) return {.why = *transfer.refused()};
  if (!answer)
    return {.worth = aws::worth_another_try(answer.error()),
            .anew = answer.error().code == Errc::protocol,
            .why = answer.error()};
  const int status = answer->head.status;
  if (answer->succeeded()) {
    Result<void> whole = transfer.begin(answer->head);  // An empty body has not.
    if (whole) whole = transfer.verify();
    if (whole) return {.done = true};
    return {.worth = true, .anew = true, .why = whole.error()};
  }
  if ((status == 412 || status == 416) && transfer.resumable())
    return {.worth = true,
            .anew = true,
            .why = fail(Errc::protocol, "the object changed during the download")};
  return {.worth = aws::worth_another_try(status, answer->failure.code),
          .why = s3_error(status, answer->failure, origin),
          .wanted = aws::retry_after(answer->head)};
}

}  // namespace

loop::Task<Result<void>> s3_download(std::shared_ptr<S3State> state, s3wire::S3Url from,
                                     std::string path) {
  const std::string what = s3wire::text_of(from);
  Result<std::unique_ptr<PartFile>> file = PartFile::open(path);
  if (!file) co_return file.error().in(what);
  auto transfer = std::make_shared<Transfer>(*std::move(file));
  const http::OnBody take = [transfer](const http::Head& head,
                                       std::string_view bytes) -> Result<void> {
    const Result<void> begun = transfer->begin(head);
    return begun ? transfer->take(bytes) : begun;
  };
  aws::Tries tries(state->loop, state->options.retry, state->log, what);
  while (true) {
    const std::uint64_t before = transfer->bytes();
    S3Request request = request_for(from, *transfer);
    Result<S3Answer> answer = co_await s3_once(state, std::move(request), take);
    Step step = step_of(answer, *transfer, state->credentials.origin());
    transfer->end_of_answer();
    if (step.done) break;
    if (transfer->bytes() >= before + headway_bytes && !step.anew) tries.headway();
    bool again = false;
    if (step.worth) again = co_await tries.again(step.why, step.wanted);
    if (!again) co_return tries.final(step.why);
    if (step.anew || !transfer->resumable()) {
      Result<void> emptied = transfer->restart();
      if (!emptied) co_return emptied.error().in(what);
    }
  }
  Result<void> kept = transfer->keep();
  if (!kept) co_return kept.error().in(what);
  co_return Result<void>();
}

}  // namespace muster::s3client
