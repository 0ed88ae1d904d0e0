#include "aws/s3client/stream_upload.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <vector>

#include "aws/s3client/multipart.h"
#include "aws/s3client/s3_call.h"
#include "aws/s3wire/checksum.h"
#include "base/base64.h"
#include "base/text.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/loop/worker.h"

namespace muster::s3client {
namespace {

struct Sums {
  std::string crc32;   ///< base64
  std::string sha256;  ///< hex; empty unless asked for
};

/// Blocks.
Result<Sums> sums_of(const Blob& blob, bool with_sha256) {
  std::string_view bytes;
  void* at = nullptr;
  if (blob.at != nullptr) {
    bytes = {blob.at, blob.bytes};
  } else if (blob.bytes > 0) {
    at = ::mmap(nullptr, blob.bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, blob.fd.get(), 0);
    if (at == MAP_FAILED) return fail_errno("cannot map an in-memory file");
    bytes = {static_cast<const char*>(at), blob.bytes};
  }
  const std::uint32_t crc = libdeflate_crc32(0, bytes.data(), bytes.size());
  std::string big_endian;
  for (int shift = 24; shift >= 0; shift -= 8) big_endian += static_cast<char>(crc >> shift & 255);
  Sums sums{base64(big_endian), with_sha256 ? aws::sha256_hex(bytes) : ""};
  if (at != nullptr) ::munmap(at, blob.bytes);
  return sums;
}

}  // namespace

Result<Blob> make_blob(const std::string& folder) {
  Blob blob{Fd(folder.empty() ? ::memfd_create("muster-part", MFD_CLOEXEC)
                              : ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600)),
            0};
  if (!blob.fd) return fail_errno(folder.empty() ? "cannot create an in-memory file" : folder);
  return blob;
}

Result<void> append(Blob& blob, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(blob.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(blob.bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot write a part of the upload to its temporary file");
    blob.bytes += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> append(Blob& to, const Blob& from) {
  std::string piece(std::size_t{1} << 20, '\0');
  for (std::uint64_t offset = 0; offset < from.bytes;) {
    // The file may be longer than what counts of it: packers use their memory again.
    const std::size_t wanted = std::min<std::uint64_t>(piece.size(), from.bytes - offset);
    const ssize_t count = ::pread(from.fd.get(), piece.data(), wanted, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail_errno("cannot read a part of the upload from its temporary file");
    TRY(append(to, std::string_view(piece.data(), static_cast<std::size_t>(count))));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

struct StreamUpload::State {
  State(std::shared_ptr<S3State> with, s3wire::S3Url where, int most)
      : s3(std::move(with)),
        to(std::move(where)),
        connections(most),
        sent(s3->loop),
        sending(s3->loop) {}

  loop::Task<Result<StoredPart>> put(Blob blob, aws::Pairs query);
  loop::Task<> send(std::size_t number, Blob blob);
  loop::Task<Result<void>> start_part(Blob blob);

  const std::shared_ptr<S3State> s3;
  const s3wire::S3Url to;
  const int connections;
  std::optional<Blob> first;  ///< Held back: alone it is the whole object.
  std::string id;             ///< The multipart upload's, once there is one.
  std::vector<StoredPart> parts;
  std::optional<Error> failed;
  loop::Event sent;  ///< A part was, or failed.
  loop::Tasks sending;
};

loop::Task<Result<StoredPart>> StreamUpload::State::put(Blob blob, aws::Pairs query) {
  const bool hashed = signs_payloads(*s3, to.bucket);
  const auto work = [&blob, hashed] { return sums_of(blob, hashed); };
  const Result<Sums> sums = co_await loop::in_thread(s3->loop, work);
  if (!sums) co_return sums.error().in(s3wire::text_of(to));
  S3Request request{.method = "PUT",
                    .url = to,
                    .query = std::move(query),
                    .headers = {{"x-amz-checksum-crc32", sums->crc32}},
                    .file = {blob.fd.get(), 0, blob.bytes},
                    .file_hash = sums->sha256};
  Result<S3Answer> answer = co_await s3_call(s3, std::move(request));
  if (!answer) co_return answer.error();
  co_return StoredPart{answer->head.value("ETag"), sums->crc32};
}

loop::Task<> StreamUpload::State::send(std::size_t number, Blob blob) {
  aws::Pairs query{{"partNumber", std::to_string(number + 1)}, {"uploadId", id}};
  Result<StoredPart> stored = co_await put(std::move(blob), std::move(query));
  if (stored && stored->etag.empty())
    stored = fail(Errc::protocol, s3wire::text_of(to) + ": the server returned no ETag for a part");
  if (!stored && !failed) failed = stored.error();
  if (stored) parts[number] = *std::move(stored);
  sent.notify();
}

loop::Task<Result<void>> StreamUpload::State::start_part(Blob blob) {
  if (id.empty()) {
    Result<std::string> begun = co_await begin_multipart(s3, to);
    if (!begun) co_return begun.error();
    id = *std::move(begun);
  }
  while (static_cast<int>(sending.size()) >= connections && !failed) co_await sent.wait();
  if (failed) co_return *failed;
  if (parts.size() >= parts_max)
    co_return fail(Errc::invalid_input,
                   s3wire::text_of(to) +
                       ": the upload requires more than 10,000 parts, which S3 does not allow");
  parts.emplace_back();
  sending.start(send(parts.size() - 1, std::move(blob)));
  co_return Result<void>();
}

StreamUpload::StreamUpload(std::shared_ptr<S3State> state, s3wire::S3Url to, int connections)
    : state_(std::make_unique<State>(std::move(state), std::move(to), connections)) {}
StreamUpload::~StreamUpload() = default;

loop::Task<Result<void>> StreamUpload::add(Blob part) {
  State& state = *state_;
  if (state.parts.empty() && !state.first) {
    state.first = std::move(part);
    co_return Result<void>();
  }
  if (state.first) {
    Blob first = *std::move(state.first);
    state.first.reset();
    Result<void> started = co_await state.start_part(std::move(first));
    if (!started) co_return started;
  }
  Result<void> started = co_await state.start_part(std::move(part));
  co_return started;
}

loop::Task<Result<void>> StreamUpload::finish() {
  State& state = *state_;
  if (state.first) {
    Blob whole = *std::move(state.first);
    state.first.reset();
    aws::Pairs no_query;
    Result<StoredPart> stored = co_await state.put(std::move(whole), std::move(no_query));
    if (!stored) co_return stored.error();
    co_return Result<void>();
  }
  CHECK_THAT(!state.parts.empty(), "an object has a part before it is stored");
  co_await state.sending.join();
  if (state.failed) co_return *state.failed;
  Result<void> ended = co_await end_multipart(state.s3, state.to, state.id, state.parts);
  if (ended) state.id.clear();
  co_return ended;
}

loop::Task<void> StreamUpload::abort() {
  State& state = *state_;
  if (!state.failed) state.failed = fail(Errc::closed, "upload aborted");
  co_await state.sending.join();
  if (!state.id.empty()) co_await abort_multipart(state.s3, state.to, state.id);
  state.id.clear();
}

}  // namespace muster::s3client
