#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aws/s3client/stream_upload.h"
#include "os/packing/tar.h"

namespace muster::s3client {

/// Bytes to be packed, in memory that another program can read as a file; used again and again,
/// since new pages cost as much as packing does.
class PackBuffer {
 public:
  /// Error: `system`.
  static Result<PackBuffer> make(std::size_t capacity);
  PackBuffer(PackBuffer&& other) noexcept
      : blob_(std::move(other.blob_)), space_(std::exchange(other.space_, {})), cut_(other.cut_) {}
  PackBuffer& operator=(PackBuffer&&) = delete;
  ~PackBuffer();

  std::span<char> space() const { return space_; }
  /// The first `bytes` of the space count.
  void fill(std::size_t bytes) {
    CHECK_THAT(bytes <= space_.size(), "what counts of a buffer is in it");
    blob_.bytes = bytes;
  }
  std::string_view view() const { return {space_.data(), blob_.bytes}; }
  /// The bytes of view() as a file of exactly that length, at its start. Error: `system`.
  Result<int> file();
  /// False once file() has cut it.
  bool usable() const { return !cut_; }
  /// The descriptor, at its start, to be written; what is written counts after taken(), which
  /// fails if it is more than there is space.
  Result<int> begin();
  Result<void> taken();
  /// The bytes to be sent; `owner` keeps this buffer. Error: `system`.
  Result<Blob> blob(std::shared_ptr<void> owner) const;

 private:
  PackBuffer() = default;
  Blob blob_;
  std::span<char> space_;
  bool cut_ = false;
};

/// Compresses the first buffer as gzip: a file of one or more members. The second buffer has room
/// for it (gzip_bytes_max()). Several threads call it at once, each with its own buffers; may
/// block.
using Gzip = std::function<Result<void>(PackBuffer& bytes, PackBuffer& packed)>;

/// libdeflate's fastest level, in members of 1 MiB. What hardly gets smaller (the numbers of a
/// model do so by a tenth at most) is stored as it is: 50 times faster.
Result<void> gzip_members(PackBuffer& bytes, PackBuffer& packed);
std::size_t gzip_bytes_max(std::size_t bytes);
/// Whether packing would save less than a tenth, by samples.
bool is_dense(std::string_view bytes);

struct ArchiveOptions {
  Gzip gzip = gzip_members;
  int threads = 2;                        ///< How many read and pack.
  std::uint64_t chunk_bytes = 16u << 20;  ///< How much of the tar archive a thread takes in a turn.
  std::string spill{};  ///< The folder whose disk takes parts that are too large for memory.
};

struct Archived {
  std::uint64_t entries = 0;
  std::uint64_t tar_bytes = 0;
  std::uint64_t bytes = 0;  ///< Size of the object.
};

/// How long the parts of an archive are at least, so that S3 takes their number. Pure.
std::uint64_t archive_part_bytes(std::uint64_t tar_bytes);

/// Stores the archive, packed, as the object `to`; nothing of it touches a disk below 156 GiB.
/// Memory: about 3 * threads + 3 chunks, and at most 64 MiB of parts. Errors: of the files (with
/// the path), of the packing, of the upload (with the URL); then no object is made.
loop::Task<Result<Archived>> upload_archive(std::shared_ptr<S3State> state, packing::TarPlan plan,
                                            s3wire::S3Url to, ArchiveOptions options);

}  // namespace muster::s3client
