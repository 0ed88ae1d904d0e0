#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "aws/s3client/multipart.h"
#include "aws/s3client/s3_call.h"
#include "aws/s3wire/checksum.h"
#include "base/base64.h"
#include "base/text.h"
#include "net/loop/wait.h"

namespace muster::s3client {
namespace {

constexpr std::size_t piece_bytes = 1u << 20;

struct Sums {
  std::string crc32;   ///< base64
  std::string sha256;  ///< hex; empty unless asked for
};

/// Reads the range once; lets others of the loop run in between.
loop::Task<Result<Sums>> sums_of(loop::Loop& loop, http::FilePart part, bool with_sha256) {
  s3wire::Digest crc32(s3wire::Checksum::crc32);
  s3wire::Digest sha256(s3wire::Checksum::sha256);
  std::string piece(piece_bytes, '\0');
  loop::Timer turn(loop);
  while (part.bytes > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(part.bytes, piece.size());
    const ssize_t count = ::pread(part.fd, piece.data(), wanted, static_cast<off_t>(part.offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) co_return fail_errno("cannot read the file");
    if (count == 0)
      co_return fail(Errc::invalid_input, "the file was truncated while it was being read");
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(count));
    crc32.add(bytes);
    if (with_sha256) sha256.add(bytes);
    part.offset += bytes.size();
    part.bytes -= bytes.size();
    co_await turn.after(Duration(0));
  }
  co_return Sums{base64(crc32.finish()), with_sha256 ? hex(sha256.finish()) : ""};
}

struct Source {
  Fd fd;
  std::uint64_t bytes = 0;
  struct timespec changed {};
};

Result<Source> open_source(const std::string& path) {
  Source source;
  source.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!source.fd) return fail_errno("cannot open " + path);
  struct stat status {};
  if (::fstat(source.fd.get(), &status) != 0) return fail_errno("cannot open " + path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::invalid_input, path + ": not a regular file");
  source.bytes = static_cast<std::uint64_t>(status.st_size);
  source.changed = status.st_ctim;
  return source;
}

/// Parts of before and after a change make an object that never was.
Result<void> check_unchanged(const Source& source) {
  struct stat status {};
  if (::fstat(source.fd.get(), &status) != 0) return fail_errno("cannot examine the file");
  if (static_cast<std::uint64_t>(status.st_size) == source.bytes &&
      status.st_ctim.tv_sec == source.changed.tv_sec &&
      status.st_ctim.tv_nsec == source.changed.tv_nsec)
    return {};
  return fail(Errc::invalid_input, "the file changed while it was being uploaded");
}

/// PUT of a range: a whole object or one part of it.
loop::Task<Result<StoredPart>> put(std::shared_ptr<S3State> state, s3wire::S3Url to,
                                   aws::Pairs query, http::FilePart part) {
  const bool hashed = signs_payloads(*state, to.bucket);
  Result<Sums> sums = co_await sums_of(state->loop, part, hashed);
  if (!sums) co_return sums.error().in(s3wire::text_of(to));
  S3Request request{.method = "PUT",
                    .url = std::move(to),
                    .query = std::move(query),
                    .headers = {{"x-amz-checksum-crc32", sums->crc32}},
                    .file = part,
                    .file_hash = sums->sha256};
  Result<S3Answer> answer = co_await s3_call(state, std::move(request));
  if (!answer) co_return answer.error();
  co_return StoredPart{answer->head.value("ETag"), sums->crc32};
}

loop::Task<Result<void>> send_parts(std::shared_ptr<S3State> state, s3wire::S3Url to,
                                    const Source& source, std::string id) {
  const std::uint64_t part_bytes =
      std::max(state->options.part_bytes, (source.bytes + parts_max - 1) / parts_max);
  std::vector<StoredPart> parts;
  for (std::uint64_t offset = 0; offset < source.bytes; offset += part_bytes) {
    const http::FilePart part{source.fd.get(), offset, std::min(part_bytes, source.bytes - offset)};
    aws::Pairs query{{"partNumber", std::to_string(parts.size() + 1)}, {"uploadId", id}};
    Result<StoredPart> stored = co_await put(state, to, std::move(query), part);
    if (!stored) co_return stored.error();
    if (stored->etag.empty())
      co_return fail(Errc::protocol,
                     s3wire::text_of(to) + ": the server returned no ETag for a part");
    parts.push_back(*std::move(stored));
  }
  Result<void> unchanged = check_unchanged(source);
  if (!unchanged) co_return unchanged.error().in(s3wire::text_of(to));
  Result<void> ended = co_await end_multipart(state, to, std::move(id), std::move(parts));
  co_return ended;
}

}  // namespace

loop::Task<Result<void>> s3_upload(std::shared_ptr<S3State> state, std::string path,
                                   s3wire::S3Url to) {
  Result<Source> source = open_source(path);
  if (!source) co_return source.error().in(s3wire::text_of(to));
  if (source->bytes <= state->options.part_bytes) {
    const http::FilePart whole{source->fd.get(), 0, source->bytes};
    aws::Pairs no_query;
    Result<StoredPart> stored = co_await put(state, to, std::move(no_query), whole);
    if (!stored) co_return stored.error();
    co_return Result<void>();
  }
  Result<std::string> id = co_await begin_multipart(state, to);
  if (!id) co_return id.error();
  Result<void> sent = co_await send_parts(state, to, *source, *id);
  if (!sent) co_await abort_multipart(state, to, *id);
  co_return sent;
}

}  // namespace muster::s3client
