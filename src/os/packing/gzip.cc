#include "os/packing/gzip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace muster::packing {
namespace {

constexpr std::size_t buffer_bytes = 256u << 10;
constexpr int gzip_window = 15 + 16;  ///< zlib's way to say: the largest window, gzip around it.

}  // namespace

struct GzipReader::State {
  ~State() {
    if (started) ::inflateEnd(&stream);
  }
  Result<void> fill();
  Result<std::size_t> inflate_some();
  Result<bool> at_member();

  Fd file;
  std::uint64_t file_bytes = 0;
  std::uint64_t left = 0;  ///< What of `file_bytes` is not read yet.
  std::uint64_t bytes_out = 0;
  bool gzip = false;
  bool started = false;  ///< inflateEnd is owed.
  bool between = true;   ///< Before a member, or behind one.
  bool first = true;     ///< No member has begun.
  bool ended = false;    ///< The file has no more bytes.
  std::array<char, buffer_bytes> in;
  std::array<char, buffer_bytes> out;
  std::size_t in_at = 0;
  std::size_t in_end = 0;
  z_stream stream{};
};

GzipReader::GzipReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
GzipReader::GzipReader(GzipReader&&) noexcept = default;
GzipReader& GzipReader::operator=(GzipReader&&) noexcept = default;
GzipReader::~GzipReader() = default;

Result<GzipReader> GzipReader::open(const std::string& path) {
  // A fifo would block the open itself.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_errno("cannot open");
  if (!S_ISREG(status.st_mode)) return fail(Errc::invalid_input, "not a regular file");
  return from(std::move(file), static_cast<std::uint64_t>(status.st_size));
}

Result<GzipReader> GzipReader::from(Fd file, std::uint64_t bytes) {
  std::unique_ptr<State> state = std::make_unique<State>();
  state->file = std::move(file);
  state->file_bytes = state->left = bytes;
  TRY(state->fill());
  state->gzip = state->in_end >= 2 && std::memcmp(state->in.data(), "\x1f\x8b", 2) == 0;
  return GzipReader(std::move(state));
}

std::uint64_t GzipReader::file_bytes() const {
  return state_->file_bytes;
}
std::uint64_t GzipReader::bytes_out() const {
  return state_->bytes_out;
}

/// Reads on if nothing is left in `in`; then it is still empty only at the end.
Result<void> GzipReader::State::fill() {
  while (in_at == in_end && !ended) {
    const std::size_t most = std::min<std::uint64_t>(in.size(), left);
    const ssize_t got = ::read(file.get(), in.data(), most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read");
    in_at = 0;
    in_end = static_cast<std::size_t>(got);
    left -= in_end;
    ended = got == 0;
  }
  return {};
}

/// Between members: true if another one starts here.
Result<bool> GzipReader::State::at_member() {
  TRY(fill());
  if (in_at == in_end) return false;
  if (!first && in[in_at] != '\x1f') {  // Zeros or garbage behind the last one.
    ended = true;
    in_at = in_end;
    return false;
  }
  const int status = started ? ::inflateReset(&stream) : ::inflateInit2(&stream, gzip_window);
  CHECK_THAT(status == Z_OK, "zlib starts");
  started = true;
  first = false;
  between = false;
  return true;
}

Result<std::size_t> GzipReader::State::inflate_some() {
  TRY(fill());
  if (in_at == in_end)
    return fail(Errc::invalid_input, "the file ends in the middle of its gzip data");
  stream.next_in = reinterpret_cast<Bytef*>(in.data() + in_at);
  stream.avail_in = static_cast<uInt>(in_end - in_at);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = ::inflate(&stream, Z_NO_FLUSH);
  in_at = in_end - stream.avail_in;
  if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
    return fail(Errc::invalid_input, std::string("the archive is damaged: gzip: ") +
                                         (stream.msg != nullptr ? stream.msg : "wrong data"));
  between = status == Z_STREAM_END;
  return out.size() - stream.avail_out;
}

Result<std::string_view> GzipReader::next() {
  State& state = *state_;
  if (!state.gzip) {
    TRY(state.fill());
    const std::string_view bytes(state.in.data() + state.in_at, state.in_end - state.in_at);
    state.in_at = state.in_end;
    state.bytes_out += bytes.size();
    return bytes;
  }
  std::size_t count = 0;
  while (count == 0) {
    if (state.between) {
      const bool more = TRY(state.at_member());
      if (!more) return std::string_view();
    }
    count = TRY(state.inflate_some());
  }
  state.bytes_out += count;
  return std::string_view(state.out.data(), count);
}

}  // namespace muster::packing
