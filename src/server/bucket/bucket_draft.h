#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "server/bucket/bucket_record.h"

namespace muster::bucket {

/// A file of an object that is being written: bytes, then its record. It is in a folder for
/// temporary files, under a unique name, until it is moved to its place as a complete file; if it
/// is destroyed before, it is removed. Short objects stay in memory until then. Blocks for disk
/// I/O.
class Draft {
 public:
  /// `folder` (a descriptor of a folder on the same file system as the object's place) outlives it.
  /// This many bytes of the disk must stay free; a write that would use them is refused (`closed`).
  explicit Draft(int folder, std::uint64_t free_min = 0) : folder_(folder), free_min_(free_min) {}
  Draft(Draft&& other) noexcept;
  Draft& operator=(Draft&&) = delete;
  ~Draft();

  /// Announces the number of bytes to come, so that a full disk is detected now. The reserved space
  /// grows with the received bytes: at most as many again, plus 64 MiB. Error: `system`.
  Result<void> expect(std::uint64_t bytes);
  Result<void> add(std::string_view bytes);
  /// Appends `bytes` of another file, from `offset` on. The kernel copies them, or shares blocks if
  /// it can.
  Result<void> add_file(int fd, std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t size() const { return size_; }
  /// Writes the end.
  Result<void> seal(const ObjectRecord& record);
  /// All bytes of a small sealed file (at most 64 KiB); empty for a longer one.
  std::string_view whole() const { return whole_ ? std::string_view(buffer_) : std::string_view(); }
  /// Moves the sealed file to `name` under `place`, replacing an existing file; creates one folder
  /// if needed. It survives a power failure only after sync(). Until then, a replaced file stays in
  /// the folder for temporary files, if the file system can exchange names; otherwise this syncs
  /// first.
  Result<void> put_at(int place, const std::string& name);
  /// Syncs the bytes and the name from put_at() to the disk; slow with many bytes. One sync is
  /// enough for both: ext4, XFS and Btrfs write a file's new name with the file.
  Result<void> sync();

 private:
  Result<void> begin();
  Result<void> flush(std::string_view more);
  Result<void> keep_room(std::uint64_t bytes);
  Result<void> leave_room(std::uint64_t bytes) const;

  int folder_;
  std::uint64_t free_min_;
  Fd file_;
  std::string name_;
  std::string buffer_;
  bool whole_ = false;  ///< The buffer contains the whole file.
  std::uint64_t size_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t kept_ = 0;  ///< Reserved bytes, from the start of the file.
};

/// Checks that the disk of `fd` has space for this many bytes, with `free_min` still free. Error:
/// `closed`.
Result<void> check_room(int fd, std::uint64_t bytes, std::uint64_t free_min);

/// Syncs the folder that contains `name` under `place`.
Result<void> sync_folder_of(int place, const std::string& name);

/// True for a file that lost its end in a power failure, because it was moved to its place and
/// never synced.
bool is_torn(int folder, const std::string& name);

/// Writes a file with these bytes to its place, replacing an existing one; does not sync.
Result<void> restore_file(int temporary, int place, const std::string& name,
                          std::string_view bytes);

/// Writes a small file completely or not at all.
Result<void> write_small(int temporary, int place, const std::string& name, std::string_view text);

/// The content of an object's file.
struct OpenedObject {
  ObjectRecord record;
  Fd file;            ///< The first record.size bytes are the object's.
  std::string small;  ///< All bytes of an object of at most 32 KiB; then `file` is empty.
  bool is_small = false;
};
/// Errors: `not_found`, `closed` (torn), `protocol` (damaged), `system`. `read_small`: fills
/// `small`.
Result<OpenedObject> open_object_file(int folder, const std::string& name, bool read_small);

/// Reads a small file completely. Errors: `not_found`, `system`.
Result<std::string> read_small_file(int folder, const std::string& name);

/// Opens a folder under `parent`, creating it if it is missing. Error: `system`.
Result<Fd> open_folder(int parent, const std::string& name);

}  // namespace muster::bucket
