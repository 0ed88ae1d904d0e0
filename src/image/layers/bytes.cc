#include "image/layers/bytes.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "aws/digest.h"
#include "base/text.h"
#include "image/layers/igzip.h"

namespace muster::image {
namespace {

constexpr std::size_t piece_bytes = 256u << 10;
constexpr std::size_t pieces_ahead = 8;
constexpr int gzip_window = 15 + 16;     ///< zlib's way to say: the largest window, gzip around it.
constexpr int zstd_window_log_max = 27;  ///< 128 MiB, zstd's own limit by default.

Error damaged(const std::string& text) {
  return fail(Errc::protocol, text);
}

class FileBytes final : public Bytes {
 public:
  explicit FileBytes(Fd file) : file_(std::move(file)), piece_(piece_bytes) {}

  Result<std::string_view> next() override {
    while (true) {
      const ssize_t got = ::read(file_.get(), piece_.data(), piece_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno("cannot read");
      return std::string_view(piece_.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  Fd file_;
  std::vector<char> piece_;
};

class CheckedBytes final : public Bytes {
 public:
  CheckedBytes(std::unique_ptr<Bytes> bytes, std::string digest)
      : bytes_(std::move(bytes)), digest_(std::move(digest)) {}

  Result<std::string_view> next() override {
    if (is_.empty()) {
      const std::string_view piece = TRY(bytes_->next());
      sum_.add(piece);
      if (!piece.empty()) return piece;
      is_ = "sha256:" + hex(aws::view_of(sum_.finish()));
    }
    // However often the end is asked for: a reader may pass over an error once.
    if (is_ != digest_) return damaged("does not match its digest " + digest_ + ", but is " + is_);
    return std::string_view();
  }

 private:
  std::unique_ptr<Bytes> bytes_;
  std::string digest_;
  aws::Sha256 sum_;
  std::string is_;  ///< At the end: the digest that they have.
};

/// Packed bytes with those that are left of the piece that came last.
class Source {
 public:
  explicit Source(std::unique_ptr<Bytes> bytes) : bytes_(std::move(bytes)) {}

  /// More of them, unless some are left; empty at the end.
  Result<std::string_view> rest() {
    if (rest_.empty() && !ended_) {
      rest_ = TRY(bytes_->next());
      ended_ = rest_.empty();
    }
    return rest_;
  }
  void take(std::size_t count) { rest_.remove_prefix(count); }
  /// Reads to the end, so that what checks the bytes sees them all.
  Result<void> drain() {
    while (!ended_) {
      rest_ = {};
      TRY(rest());
    }
    return {};
  }

 private:
  std::unique_ptr<Bytes> bytes_;
  std::string_view rest_;
  bool ended_ = false;
};

class Unpacker {
 public:
  virtual ~Unpacker() = default;
  /// Up to a piece; 0 at the end.
  virtual Result<std::size_t> fill(Source& source, std::vector<char>& piece) = 0;
};

class ByZlib final : public Unpacker {
 public:
  ByZlib() { CHECK_THAT(::inflateInit2(&stream_, gzip_window) == Z_OK, "zlib starts"); }
  ByZlib(const ByZlib&) = delete;
  ByZlib& operator=(const ByZlib&) = delete;
  ~ByZlib() override { ::inflateEnd(&stream_); }

  Result<std::size_t> fill(Source& source, std::vector<char>& piece) override {
    stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream_.avail_out = static_cast<uInt>(piece.size());
    while (stream_.avail_out > 0) {
      std::string_view in = TRY(source.rest());
      if (in.empty() && in_member_) return damaged("is truncated in the middle of its gzip data");
      // Zeros or garbage behind the last member are what tapes leave; gzip(1) passes over them.
      if (in.empty() || (!in_member_ && any_ && in[0] != '\x1f')) {
        TRY(source.drain());
        break;
      }
      in_member_ = any_ = true;
      in = in.substr(0, piece_bytes);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
      stream_.avail_in = static_cast<uInt>(in.size());
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      source.take(in.size() - stream_.avail_in);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return damaged(std::string("is damaged: gzip: ") +
                       (stream_.msg != nullptr ? stream_.msg : "wrong data"));
      if (status != Z_STREAM_END) continue;
      in_member_ = false;
      CHECK_THAT(::inflateReset(&stream_) == Z_OK, "zlib goes on");
    }
    return piece.size() - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool in_member_ = false;
  bool any_ = false;
};

class Unzstd final : public Unpacker {
 public:
  Unzstd() : stream_(::ZSTD_createDStream()) {
    CHECK_THAT(stream_ != nullptr, "zstd starts");
    static_cast<void>(::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, zstd_window_log_max));
  }
  Unzstd(const Unzstd&) = delete;
  Unzstd& operator=(const Unzstd&) = delete;
  ~Unzstd() override { ::ZSTD_freeDStream(stream_); }

  Result<std::size_t> fill(Source& source, std::vector<char>& piece) override {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    while (out.pos < out.size) {
      const std::string_view rest = TRY(source.rest());
      if (rest.empty() && !in_frame_) break;
      ZSTD_inBuffer in{rest.data(), rest.size(), 0};
      const std::size_t before = out.pos;
      const std::size_t status = ::ZSTD_decompressStream(stream_, &out, &in);
      if (::ZSTD_isError(status) != 0)
        return damaged(std::string("is damaged: zstd: ") + ::ZSTD_getErrorName(status));
      source.take(in.pos);
      in_frame_ = status != 0;
      if (rest.empty() && in_frame_ && out.pos == before)
        return damaged("is truncated in the middle of its zstd data");
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool in_frame_ = false;
};

/// All that is left of a source.
class Rest final : public Bytes {
 public:
  explicit Rest(Source& source) : source_(source) {}
  Result<std::string_view> next() override {
    const std::string_view piece = TRY(source_.rest());
    source_.take(piece.size());
    return piece;
  }

 private:
  Source& source_;
};

class UnpackedBytes final : public Bytes {
 public:
  UnpackedBytes(std::unique_ptr<Bytes> bytes, Gunzip by) : source_(std::move(bytes)), by_(by) {}

  Result<std::string_view> next() override {
    if (!begun_) TRY(begin());
    if (process_) return process_->next();
    if (!unpacker_) {
      const std::string_view piece = TRY(source_.rest());
      source_.take(piece.size());
      return piece;
    }
    const std::size_t count = TRY(unpacker_->fill(source_, piece_));
    return std::string_view(piece_.data(), count);
  }

 private:
  Result<void> begin() {
    const std::string_view start = TRY(source_.rest());
    begun_ = true;
    const bool gzip = start.starts_with("\x1f\x8b");
    if (gzip && by_ == Gunzip::igzip && start.size() >= piece_bytes)
      process_ = by_igzip(std::make_unique<Rest>(source_));
    if (process_) return {};
    if (gzip) unpacker_ = std::make_unique<ByZlib>();
    if (start.starts_with("\x28\xb5\x2f\xfd")) unpacker_ = std::make_unique<Unzstd>();
    if (unpacker_) piece_.resize(piece_bytes);
    return {};
  }

  Source source_;
  Gunzip by_;
  bool begun_ = false;
  std::unique_ptr<Bytes> process_;
  std::unique_ptr<Unpacker> unpacker_;
  std::vector<char> piece_;
};

class AheadBytes final : public Bytes {
 public:
  explicit AheadBytes(std::unique_ptr<Bytes> bytes)
      : bytes_(std::move(bytes)), thread_([this] { run(); }) {}
  ~AheadBytes() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Result<std::string_view> next() override {
    std::unique_lock lock(mutex_);
    if (!shown_.empty()) free_.push_back(std::move(shown_));
    shown_.clear();
    changed_.notify_all();
    changed_.wait(lock, [this] { return !pieces_.empty() || ended_; });
    if (!pieces_.empty()) {
      shown_ = std::move(pieces_.front());
      pieces_.pop_front();
      return std::string_view(shown_);
    }
    if (error_) return *error_;
    return std::string_view();
  }

 private:
  void run() {
    while (true) {
      const Result<std::string_view> piece = bytes_->next();
      const bool last = !piece || piece->empty();
      std::unique_lock lock(mutex_);
      if (!piece) error_ = piece.error();
      ended_ = last;
      if (last || stopped_) break;
      std::string copy;
      if (!free_.empty()) {
        copy = std::move(free_.back());
        free_.pop_back();
      }
      lock.unlock();
      copy.assign(*piece);
      lock.lock();
      pieces_.push_back(std::move(copy));
      changed_.notify_all();
      changed_.wait(lock, [this] { return pieces_.size() < pieces_ahead || stopped_; });
      if (stopped_) break;
    }
    changed_.notify_all();
  }

  std::unique_ptr<Bytes> bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  std::vector<std::string> free_;  ///< Memory that pieces were in.
  std::string shown_;
  std::optional<Error> error_;
  bool ended_ = false;
  bool stopped_ = false;
  std::thread thread_;  ///< Last: it uses the others.
};

}  // namespace

std::unique_ptr<Bytes> bytes_of(Fd file) {
  return std::make_unique<FileBytes>(std::move(file));
}

Result<std::string> digest_of_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open " + path);
  const std::unique_ptr<Bytes> bytes = bytes_of(std::move(file));
  aws::Sha256 sum;
  while (true) {
    const Result<std::string_view> piece = bytes->next();
    if (!piece) return piece.error().in(path);
    if (piece->empty()) break;
    sum.add(*piece);
  }
  return "sha256:" + hex(aws::view_of(sum.finish()));
}

std::unique_ptr<Bytes> checked(std::unique_ptr<Bytes> bytes, std::string digest) {
  return std::make_unique<CheckedBytes>(std::move(bytes), std::move(digest));
}

std::unique_ptr<Bytes> unpacked(std::unique_ptr<Bytes> bytes, Gunzip by) {
  return std::make_unique<UnpackedBytes>(std::move(bytes), by);
}

std::unique_ptr<Bytes> read_ahead(std::unique_ptr<Bytes> bytes) {
  return std::make_unique<AheadBytes>(std::move(bytes));
}

}  // namespace muster::image
