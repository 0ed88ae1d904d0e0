#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/digest.h"
#include "base/fd.h"
#include "image/layers/bytes.h"

namespace muster::image {

/// A blob on its way into a store. It is there under its digest after commit() only, and then
/// whole; what is not committed leaves nothing. Blocks while it writes.
class BlobDraft {
 public:
  BlobDraft(BlobDraft&&) noexcept = default;
  BlobDraft& operator=(BlobDraft&&) = delete;
  ~BlobDraft();

  /// Hashes and writes what comes next. Errors: `protocol` beyond what the draft may hold;
  /// `system`: the disk is full.
  Result<void> append(std::string_view bytes);
  /// Bytes received so far: where an interrupted transfer continues.
  std::uint64_t bytes() const { return bytes_; }
  /// Starts from the beginning, for a source that cannot continue an interrupted transfer.
  Result<void> restart();
  /// Error: `protocol`: what came has another digest; nothing stays.
  Result<void> commit();
  /// For one of Blobs::upload(): what it is to be called is known by now.
  Result<void> commit_as(const std::string& digest);

 private:
  friend class Blobs;
  BlobDraft(std::string path, std::string part, Fd file, std::string digest,
            std::uint64_t bytes_max);

  std::string path_;
  std::string part_;  ///< Where it is written; the lock on it makes it ours.
  Fd file_;
  std::string digest_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  aws::Sha256 sum_;
};

/// Bytes by their digest, as files of a folder.
///
/// Any number of processes and threads. Blocks. Every digest that is given is_digest().
class Blobs {
 public:
  /// `folder` exists.
  explicit Blobs(std::string folder) : folder_(std::move(folder)) {}

  std::string path_of(const std::string& digest) const;
  bool has(const std::string& digest) const;
  /// Begins one of at most `bytes_max`; none if it is there. While another process or task has a
  /// draft of it this waits for its end, so that what two want comes once: never ask twice for one
  /// digest in one task.
  Result<std::optional<BlobDraft>> draft(const std::string& digest, std::uint64_t bytes_max);
  /// Starts a blob whose digest is known only at its end. If the process ends before,
  /// remove_rests() finds it.
  Result<BlobDraft> upload(std::uint64_t bytes_max);
  /// Stores bytes that are complete; does not wait for another draft of the same blob.
  Result<void> put(const std::string& digest, std::string_view bytes);
  /// One of at most document_bytes_max. Errors: `not_found`; `protocol`: it was changed on disk.
  Result<std::string> read(const std::string& digest) const;
  /// One's bytes; at their end they have had its digest, else that is a `protocol` error.
  Result<std::unique_ptr<Bytes>> open(const std::string& digest) const;
  /// The digests of all that are there.
  Result<std::vector<std::string>> list() const;
  /// What one takes on the disk.
  std::uint64_t bytes_of(const std::string& digest) const;
  void remove(const std::string& digest);
  /// Removes parts that no process is at.
  Result<void> remove_rests();

 private:
  std::string folder_;
};

}  // namespace muster::image
