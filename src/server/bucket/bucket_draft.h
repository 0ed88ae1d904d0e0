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
  /// So many bytes of the disk stay free: what would take them is refused (`closed`).
  explicit Draft(int folder, std::uint64_t free_min = 0) : folder_(folder), free_min_(free_min) {}
  Draft(Draft&& other) noexcept;
  Draft& operator=(Draft&&) = delete;
  ~Draft();

  /// Announces that so many bytes are to come: a disk that has no room for them shows now. What is
  /// kept for them grows with what has come: at most as much again, and 64 MiB. Error: `system`.
  Result<void> expect(std::uint64_t bytes);
  Result<void> add(std::string_view bytes);
  /// `bytes` of another file, from `offset` on; copied by the kernel, shared where it can.
  Result<void> add_file(int fd, std::uint64_t offset, std::uint64_t bytes);
  std::uint64_t size() const { return size_; }
  /// Writes the end.
  Result<void> seal(const ObjectRecord& record);
  /// All bytes of the sealed file, of a small one (64 KiB at most); empty: of a longer one.
  std::string_view whole() const { return whole_ ? std::string_view(buffer_) : std::string_view(); }
  /// Puts the sealed file at `name` under `place`, over what was there; makes one folder on the
  /// way. It is there through a power cut after sync() only: until then what was there before, if
  /// anything, stays in the folder for temporary files (where the file system can exchange names;
  /// else this syncs first).
  Result<void> put_at(int place, const std::string& name);
  /// The bytes and the name that put_at() gave reach the disk. With many bytes it takes a while.
  /// One sync for both: ext4, XFS and Btrfs write a file's new name with the file.
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
  bool whole_ = false;  ///< The buffer holds all of the file.
  std::uint64_t size_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t kept_ = 0;  ///< Room, from the file's begin.
};

/// The disk of `fd` takes so many bytes, and `free_min` stay free. Error: `closed`.
Result<void> check_room(int fd, std::uint64_t bytes, std::uint64_t free_min);

/// The folder in which `name` under `place` is reaches the disk.
Result<void> sync_folder_of(int place, const std::string& name);

/// True for what a power cut leaves of a file that was put in its place and never synced: no end.
bool is_torn(int folder, const std::string& name);

/// Puts a file with these bytes in its place, over what is there; nothing is synced.
Result<void> restore_file(int temporary, int place, const std::string& name,
                          std::string_view bytes);

/// Writes a small file whole or not at all.
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

/// A small file whole. Errors: `not_found`, `system`.
Result<std::string> read_small_file(int folder, const std::string& name);

/// Opens a folder under `parent`, made if missing. Error: `system`.
Result<Fd> open_folder(int parent, const std::string& name);

}  // namespace muster::bucket
