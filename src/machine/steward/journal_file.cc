#include "machine/steward/journal_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/time.h"

namespace muster::steward {
namespace {

constexpr off_t reserve_bytes = 256 << 10;
constexpr std::size_t pending_bytes_max = 1u << 20;
constexpr std::uint64_t scarce_bytes = 64u << 20;

std::string reserve_of(const std::string& path) {
  return path + ".reserve";
}

Result<void> make_reserve(const std::string& path) {
  const Fd reserve(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!reserve) return fail_errno("cannot create " + path);
  const int error = ::posix_fallocate(reserve.get(), 0, reserve_bytes);
  if (error == 0) return {};
  errno = error;
  return fail_errno("cannot reserve space for " + path);
}

/// If space is scarce, reserves it first, completely or not at all. Readers follow the file, and
/// would misread half a record as the start of the next one. Returns false, with errno, if no space
/// is left.
bool has_space(int fd, std::uint64_t at, std::size_t bytes) {
  struct statvfs disk {};
  if (::fstatvfs(fd, &disk) != 0 || disk.f_bavail * disk.f_bsize > scarce_bytes) return true;
  const int taken =
      ::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), static_cast<off_t>(bytes));
  return taken == 0 || errno != ENOSPC;
}

}  // namespace

Result<JournalFile> JournalFile::open(const std::string& path, std::uint64_t bytes_max,
                                      std::uint64_t from, JournalDisk disk) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail_errno("cannot create " + path);
  JournalFile journal(std::move(fd), path, std::move(disk));
  journal.bytes_max_ = bytes_max;
  TRY(journal.read_to_end(from));
  TRY(make_reserve(reserve_of(path)));
  return journal;
}

Result<void> JournalFile::read_to_end(std::uint64_t from) {
  if (::lseek(fd_.get(), 0, SEEK_END) < static_cast<off_t>(from))
    return fail(Errc::protocol, path_ + ": the journal ends before byte " + std::to_string(from) +
                                    ", where the attempt starts");
  if (::lseek(fd_.get(), static_cast<off_t>(from), SEEK_SET) < 0)
    return fail_errno("cannot seek in " + path_);
  job::JournalReader reader(from);
  std::array<char, 65536> buffer;
  bool whole = true;
  while (whole) {
    const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot read " + path_);
    if (count == 0) break;
    // Data after an invalid record cannot be read either.
    whole = reader.skip(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
  }
  written_bytes_ = reader.offset();
  written_seq_ = pending_seq_ = reader.seq();
  if (::ftruncate(fd_.get(), static_cast<off_t>(written_bytes_)) != 0)
    return fail_errno("cannot resize " + path_);
  if (::lseek(fd_.get(), 0, SEEK_END) < 0) return fail_errno("cannot seek in " + path_);
  return {};
}

void JournalFile::append(job::Message kind, std::string_view payload) {
  const bool lines = kind == job::Message::lines;
  if (lines && full_) return;
  if (lines && written_bytes_ + pending_.size() + payload.size() > bytes_max_) {
    full_ = true;
    return append(job::LogLine{"warning", "the journal has reached its limit of " +
                                              std::to_string(bytes_max_) +
                                              " bytes; lines from here on are not kept"});
  }
  job::append_record(pending_, ++pending_seq_, wall_time(), kind, payload);
  // The next flush reports its error.
  if (pending_.size() > pending_bytes_max) static_cast<void>(flush());
}

/// The disk's first error is stored, and returned from here on.
Result<void> JournalFile::keep(Result<void> done) {
  if (!done && !broken_) {
    broken_ = done.error().in(path_);
    full_ = true;
  }
  if (broken_) return *broken_;
  return done;
}

Result<void> JournalFile::put(std::string_view bytes) {
  bool fits = has_space(fd_.get(), written_bytes_, bytes.size());
  while (fits && !bytes.empty()) {
    const ssize_t count = disk_.write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    fits = count >= 0;
    if (fits) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (fits) return {};
  room_failed_ = errno == ENOSPC || errno == EDQUOT;
  return fail_errno("cannot write the journal");
}

Result<void> JournalFile::write_out() {
  const Result<void> written = put(pending_);
  if (written) {
    written_bytes_ += pending_.size();
    written_seq_ = pending_seq_;
  } else {
    // Readers never see half a record that will not be finished.
    if (::ftruncate(fd_.get(), static_cast<off_t>(written_bytes_)) == 0)
      ::lseek(fd_.get(), 0, SEEK_END);
    pending_seq_ = written_seq_;
  }
  pending_.clear();
  return keep(written);
}

Result<void> JournalFile::flush() {
  if (broken_) return *broken_;
  return pending_.empty() ? Result<void>() : write_out();
}

Result<void> JournalFile::finish() {
  ::unlink(reserve_of(path_).c_str());
  if (std::exchange(reserved_, false) && room_failed_) broken_.reset();
  static_cast<void>(write_out());  // The error is stored.
  return keep(disk_.sync(fd_.get()) == 0 ? Result<void>() : fail_errno("cannot sync the journal"));
}

}  // namespace muster::steward
