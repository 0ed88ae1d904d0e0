#include "os/packing/gunzip.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/fd.h"

namespace muster::packing {
namespace {

constexpr std::size_t buffer_bytes = 256u << 10;
constexpr int gzip_window = 15 + 16;  ///< zlib's way to say: the largest window, gzip around it.

struct Unpacking {
  ~Unpacking() {
    if (started) ::inflateEnd(&stream);
  }
  z_stream stream{};
  bool started = false;
  std::array<char, buffer_bytes> in;
  std::array<char, buffer_bytes> out;
};

Result<std::size_t> read_some(const Fd& file, std::array<char, buffer_bytes>& into) {
  while (true) {
    const ssize_t count = ::read(file.get(), into.data(), into.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot read");
    return static_cast<std::size_t>(count);
  }
}

}  // namespace

Result<void> gunzip_file(const std::string& from, const std::string& to) {
  const Fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!source) return fail_errno("cannot open " + from);
  const Fd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!target) return fail_errno("cannot create " + to);
  const auto work = std::make_unique<Unpacking>();
  z_stream& stream = work->stream;
  CHECK_THAT(::inflateInit2(&stream, gzip_window) == Z_OK, "zlib starts");
  work->started = true;
  bool in_member = false;
  bool any = false;
  bool more_out = false;  ///< The output was filled to its end: zlib may hold more.
  while (true) {
    if (stream.avail_in == 0 && !more_out) {
      const std::size_t count = TRY(read_some(source, work->in));
      if (count == 0) break;
      stream.next_in = reinterpret_cast<Bytef*>(work->in.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    // Zeros or garbage behind a member are what tapes leave; gzip passes over them too.
    if (!in_member && any && *stream.next_in != 0x1f) return {};
    in_member = true;
    stream.next_out = reinterpret_cast<Bytef*>(work->out.data());
    stream.avail_out = static_cast<uInt>(work->out.size());
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      return fail(Errc::invalid_input, "not gzip data, or the data is corrupt");
    TRY(write_all(target.get(), {work->out.data(), work->out.size() - stream.avail_out}));
    any = true;
    more_out = stream.avail_out == 0 && status != Z_STREAM_END;
    if (status != Z_STREAM_END) continue;
    in_member = false;
    CHECK_THAT(::inflateReset(&stream) == Z_OK, "zlib goes on");
  }
  if (in_member || !any) return fail(Errc::invalid_input, "the gzip data is truncated");
  return {};
}

}  // namespace muster::packing
