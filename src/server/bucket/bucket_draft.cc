#include "server/bucket/bucket_draft.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "server/bucket/span_budget.h"

namespace muster::bucket {
namespace {

constexpr std::size_t buffer_bytes_max = 128 << 10;
constexpr std::size_t small_bytes_max = 32 << 10;
constexpr std::size_t whole_bytes_max = 64 << 10;
constexpr std::size_t first_read_bytes = 1 << 10;
constexpr std::size_t small_file_bytes_max = 4 << 20;
constexpr std::uint64_t write_back_bytes = 16 << 20;  ///< Then the disk may begin.
constexpr std::size_t copy_bytes_max = 1 << 30;
constexpr std::uint64_t kept_bytes_max = 64 << 20;

std::string fresh_name() {
  static std::atomic<std::uint64_t> count = 0;
  static const std::string start = hex(random_bytes(6));
  return start + "-" + std::to_string(++count);
}

Result<void> write_pieces(int fd, std::string_view first, std::string_view second) {
  while (!first.empty() || !second.empty()) {
    const std::array<iovec, 2> pieces = {iovec{const_cast<char*>(first.data()), first.size()},
                                         iovec{const_cast<char*>(second.data()), second.size()}};
    const ssize_t count = ::writev(fd, pieces.data(), 2);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot write the object's file");
    const std::size_t of_first = std::min(first.size(), static_cast<std::size_t>(count));
    first.remove_prefix(of_first);
    second.remove_prefix(static_cast<std::size_t>(count) - of_first);
  }
  return {};
}

Result<void> copy_by_hand(int from, std::uint64_t offset, int to, std::uint64_t bytes) {
  std::string buffer(256 << 10, '\0');
  while (bytes > 0) {
    const std::size_t want = std::min<std::uint64_t>(bytes, buffer.size());
    const ssize_t count = ::pread(from, buffer.data(), want, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot read the object's file");
    if (count == 0) return fail(Errc::system, "the file is smaller than its recorded size");
    TRY(write_pieces(to, std::string_view(buffer).substr(0, static_cast<std::size_t>(count)), {}));
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::uint64_t>(count);
  }
  return {};
}

/// The end of a file that holds its record, when the first read of it did not hold all.
Result<std::string> read_end(int fd, std::uint64_t file_bytes, std::size_t bytes) {
  if (bytes > file_bytes)
    return fail(Errc::protocol, "the object's record is larger than the file");
  std::string end(bytes, '\0');
  const ssize_t count = ::pread(fd, end.data(), bytes, static_cast<off_t>(file_bytes - bytes));
  if (count < 0 || static_cast<std::size_t>(count) != bytes)
    return fail_errno("cannot read the object's file");
  return end;
}

Result<ObjectRecord> record_of(int fd, std::uint64_t file_bytes, std::string_view end) {
  const Result<std::size_t> tail = record_bytes(end);
  if (!tail) return fail(Errc::closed, "the file is truncated");
  const std::size_t bytes = *tail;
  std::string longer;
  if (bytes > end.size()) {
    longer = TRY(read_end(fd, file_bytes, bytes));
    end = longer;
  }
  ObjectRecord record = TRY(decode_record(end.substr(end.size() - bytes)));
  if (record.size + bytes != file_bytes)
    return fail(Errc::protocol, "the file's size does not match its record");
  return record;
}

}  // namespace

Draft::Draft(Draft&& other) noexcept
    : folder_(other.folder_),
      free_min_(other.free_min_),
      file_(std::move(other.file_)),
      name_(std::move(other.name_)),
      buffer_(std::move(other.buffer_)),
      whole_(other.whole_),
      size_(other.size_),
      written_(other.written_),
      expected_(other.expected_),
      kept_(other.kept_) {
  other.name_.clear();
}

Draft::~Draft() {
  if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);
}

Result<void> check_room(int fd, std::uint64_t bytes, std::uint64_t free_min) {
  struct statvfs disk {};
  if (::fstatvfs(fd, &disk) != 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (bytes <= free && free - bytes >= free_min) return {};
  return fail(Errc::closed,
              "the disk is full: only " + bytes_text(free) + " is free" +
                  (free_min > 0 ? ", but " + bytes_text(free_min) + " must stay free" : ""));
}

Result<void> sync_folder_of(int place, const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : name.substr(0, slash);
  const Fd opened(::openat(place, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return fail_errno("cannot sync " + folder);
  return {};
}

Result<void> Draft::begin() {
  if (file_) return {};
  std::string name = fresh_name();
  file_ = Fd(::openat(folder_, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file_) return fail_errno("cannot create a temporary file");
  name_ = std::move(name);
  return {};
}

Result<void> Draft::expect(std::uint64_t bytes) {
  if (bytes <= buffer_bytes_max) return {};
  TRY(begin());
  TRY(check_room(file_.get(), bytes, free_min_));
  expected_ = bytes;
  return {};
}

/// Before the file has `bytes`: room for them and as many again, for what was only announced would
/// take the space of others.
Result<void> Draft::keep_room(std::uint64_t bytes) {
  if (bytes <= kept_ || kept_ >= expected_) return {};
  const std::uint64_t wanted = std::min(expected_, bytes + std::min(bytes, kept_bytes_max));
  TRY(leave_room(wanted - kept_));
  const int kept = ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(kept_),
                               static_cast<off_t>(wanted - kept_));
  if (kept != 0 && errno == ENOSPC) return fail_errno("cannot reserve space for the object");
  kept_ = wanted;
  return {};
}

Result<void> Draft::leave_room(std::uint64_t bytes) const {
  return free_min_ > 0 ? check_room(file_.get(), bytes, free_min_) : Result<void>();
}

Result<void> Draft::flush(std::string_view more) {
  TRY(begin());
  const std::uint64_t after = written_ + buffer_.size() + more.size();
  TRY(keep_room(after));
  if (after > kept_) TRY(leave_room(after - written_));
  TRY(write_pieces(file_.get(), buffer_, more));
  const std::uint64_t before = written_;
  written_ = after;
  buffer_.clear();
  if (before / write_back_bytes != written_ / write_back_bytes) {
    const std::uint64_t from = before / write_back_bytes * write_back_bytes;
    ::sync_file_range(file_.get(), static_cast<off_t>(from), static_cast<off_t>(write_back_bytes),
                      SYNC_FILE_RANGE_WRITE);
  }
  return {};
}

Result<void> Draft::add(std::string_view bytes) {
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > buffer_bytes_max) return flush(bytes);
  buffer_.append(bytes);
  return {};
}

Result<void> Draft::add_file(int fd, std::uint64_t offset, std::uint64_t bytes) {
  TRY(flush({}));
  TRY(leave_room(bytes));
  size_ += bytes;
  written_ += bytes;
  auto at = static_cast<off_t>(offset);
  while (bytes > 0) {
    const std::size_t want = std::min<std::uint64_t>(bytes, copy_bytes_max);
    const ssize_t count = ::copy_file_range(fd, &at, file_.get(), nullptr, want, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == ENOSPC || errno == EIO))
      return fail_errno("cannot copy the object's file");
    if (count < 0) return copy_by_hand(fd, static_cast<std::uint64_t>(at), file_.get(), bytes);
    if (count == 0) return fail(Errc::system, "the file is smaller than its recorded size");
    bytes -= static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<void> Draft::seal(const ObjectRecord& record) {
  const std::string end = encode_record(record);
  if (!name_.empty() || buffer_.size() + end.size() > whole_bytes_max) return flush(end);
  buffer_.append(end);
  TRY(begin());
  TRY(leave_room(buffer_.size()));
  TRY(write_pieces(file_.get(), buffer_, {}));
  whole_ = true;
  return {};
}

Result<void> Draft::sync() {
  return ::fsync(file_.get()) == 0 ? Result<void>() : fail_errno("cannot sync the object's file");
}

Result<void> Draft::put_at(int place, const std::string& name) {
  CHECK_THAT(!name_.empty(), "a draft is put in its place once, after it was sealed");
  const auto rename = [&](unsigned flags) {
    return ::renameat2(folder_, name_.c_str(), place, name.c_str(), flags) == 0;
  };
  bool put = rename(RENAME_NOREPLACE);
  if (!put && errno == ENOENT && name.find('/') != std::string::npos) {
    const std::string folder = name.substr(0, name.rfind('/'));
    if (::mkdirat(place, folder.c_str(), 0700) != 0 && errno != EEXIST)
      return fail_errno("cannot create " + folder);
    TRY(sync_folder_of(place, folder));
    put = rename(RENAME_NOREPLACE);
  }
  if (put) {
    name_.clear();
    return {};
  }
  if (errno == EEXIST && rename(RENAME_EXCHANGE)) return {};  // What was there goes with us.
  if (errno != EINVAL && errno != ENOSYS) return fail_errno("cannot rename the object's file");
  TRY(sync());
  if (!rename(0)) return fail_errno("cannot rename the object's file");
  name_.clear();
  return {};
}

bool is_torn(int folder, const std::string& name) {
  const Result<OpenedObject> object = open_object_file(folder, name, false);
  return !object && object.error().code == Errc::closed;
}

Result<void> restore_file(int temporary, int place, const std::string& name,
                          std::string_view bytes) {
  const std::string draft = fresh_name();
  const Fd file(::openat(temporary, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail_errno("cannot create a temporary file");
  TRY(write_pieces(file.get(), bytes, {}));
  if (::renameat(temporary, draft.c_str(), place, name.c_str()) != 0)
    return fail_errno("cannot rename the object's file");
  return {};
}

Result<void> write_small(int temporary, int place, const std::string& name, std::string_view text) {
  const std::string draft = fresh_name();
  {
    const Fd file(
        ::openat(temporary, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return fail_errno("cannot create a temporary file");
    Result<void> written = write_pieces(file.get(), text, {});
    if (written && ::fdatasync(file.get()) != 0)
      written = fail_errno("cannot sync the object's file");
    if (written && ::renameat(temporary, draft.c_str(), place, name.c_str()) != 0)
      written = fail_errno("cannot rename the object's file");
    if (!written) {
      ::unlinkat(temporary, draft.c_str(), 0);
      return written;
    }
  }
  return sync_folder_of(place, name);
}

Result<OpenedObject> open_object_file(int folder, const std::string& name, bool read_small) {
  OpenedObject object;
  object.file = Fd(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!object.file) return fail_errno("cannot open the object");
  const int fd = object.file.get();
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail_errno("cannot open the object");
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (read_small && file_bytes < small_bytes_max) {  // One read gives all.
    object.small = TRY(read_end(fd, file_bytes, file_bytes));
    object.record = TRY(record_of(fd, file_bytes, object.small));
    object.small.resize(object.record.size);
    object.is_small = true;
    object.file.reset();
    return object;
  }
  const std::string end =
      TRY(read_end(fd, file_bytes, std::min<std::uint64_t>(file_bytes, first_read_bytes)));
  object.record = TRY(record_of(fd, file_bytes, end));
  return object;
}

Result<std::string> read_small_file(int folder, const std::string& name) {
  const Fd file(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open the file");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_errno("cannot open the file");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > small_file_bytes_max) return fail(Errc::protocol, "the file is too large");
  return read_end(file.get(), bytes, bytes);
}

Result<Fd> open_folder(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno("cannot create " + name);
  Fd folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno("cannot open " + name);
  return folder;
}

}  // namespace muster::bucket
