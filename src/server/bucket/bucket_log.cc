#include "server/bucket/bucket_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>
#include <utility>

namespace muster::bucket {
namespace {

constexpr std::array<const char*, 2> names = {"log.0", "log.1"};
constexpr std::uint64_t room_step_bytes = 4u << 20;
constexpr std::size_t cleared_bytes = 64;  ///< More than the start of an entry.

Result<std::string> all_of(int fd, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t count = ::pread(fd, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return fail_errno("cannot read the bucket's log");
    at += static_cast<std::size_t>(count);
  }
  return text;
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  const std::string bytes = random_bytes(sizeof number);
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// Two files that share one are only taken for each other: that costs an entry.
std::size_t hash_of(std::string_view file) {
  return std::hash<std::string_view>()(file);
}

}  // namespace

Result<std::unique_ptr<BucketLog>> BucketLog::open(int folder, Options options) {
  std::unique_ptr<BucketLog> log(new BucketLog(folder, std::move(options)));
  for (std::size_t i = 0; i < names.size(); ++i) {
    Half& half = log->halves_[i];
    half.file = Fd(::openat(folder, names[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    struct stat status {};
    if (!half.file || ::fstat(half.file.get(), &status) != 0) return fail_errno(names[i]);
    half.room = static_cast<std::uint64_t>(status.st_size);
  }
  log->begin(log->halves_[0]);
  return log;
}

BucketLog::~BucketLog() {
  if (settler_.joinable()) settler_.join();
}

Result<void> BucketLog::replay(const std::function<Result<void>(const LogEntry&)>& apply) {
  std::array<std::string, 2> texts;
  std::array<LogRead, 2> reads;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i] = TRY(all_of(halves_[i].file.get(), halves_[i].room));
    reads[i] = read_entries(texts[i]);
  }
  if (reads[0].entries.empty() && reads[1].entries.empty()) return {};
  if (reads[0].filling.order > reads[1].filling.order) std::swap(reads[0], reads[1]);
  std::map<std::string_view, const LogEntry*> last;
  for (const LogRead& read : reads)
    for (const LogEntry& entry : read.entries) last[entry.file] = &entry;
  for (const auto& [file, entry] : last) TRY(apply(*entry));
  if (::syncfs(folder_) != 0) return fail_errno("cannot sync the bucket after replaying its log");
  for (Half& half : halves_) TRY(empty(half));
  return {};
}

/// Error: `closed` for a disk that is full.
Result<void> BucketLog::write_at(int fd, std::string_view bytes, std::uint64_t at) const {
  while (!bytes.empty()) {
    const ssize_t count =
        options_.disk.write(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    const bool full = count < 0 && (errno == ENOSPC || errno == EDQUOT);
    if (full) return fail(Errc::closed, errno_text("cannot write the bucket's log"));
    if (count < 0) return fail_errno("cannot write the bucket's log");
    bytes.remove_prefix(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<void> BucketLog::sync_data(int fd) const {
  return options_.disk.sync(fd) == 0 ? Result<void>() : fail_errno("cannot sync the bucket's log");
}

/// The disk's first error is kept, reported, and returned from here on. The mutex is held.
Result<void> BucketLog::keep(Result<void> done) {
  if (!done && done.error().code != Errc::closed && !broken_) {
    broken_ = done.error();
    failed_ = true;
    if (options_.failed) options_.failed(*broken_);
  }
  if (broken_) return *broken_;
  return done;
}

/// Starts a filling of its own.
void BucketLog::begin(Half& half) {
  half.filling = {random_number(), ++fillings_};
  half.size = 0;
  half.files.clear();
}

/// Nothing of it counts any more, on disk neither.
Result<void> BucketLog::empty(Half& half) {
  const std::string zeros(std::min<std::uint64_t>(cleared_bytes, half.room), '\0');
  TRY(write_at(half.file.get(), zeros, 0));
  return sync_data(half.file.get());
}

/// Bytes are written beforehand, so that a sync has no metadata to write.
Result<void> BucketLog::make_room(Half& half, std::uint64_t bytes) {
  if (half.size + bytes <= half.room) return {};
  const std::string zeros(std::max(room_step_bytes, bytes), '\0');
  TRY(write_at(half.file.get(), zeros, half.room));
  if (half.room == 0 && ::fsync(folder_) != 0) return fail_errno("cannot sync the bucket's folder");
  half.room += zeros.size();
  return {};
}

Result<void> BucketLog::put(Half& half, std::string_view bytes) {
  TRY(make_room(half, bytes.size()));
  return write_at(half.file.get(), bytes, half.size);
}

/// The mutex is held.
Result<std::uint64_t> BucketLog::append(const LogEntry& entry) {
  if (broken_) return *broken_;
  Half& half = halves_[current_];
  const std::string bytes = encode_entry(half.filling, entry);
  TRY(keep(put(half, bytes)));
  half.size += bytes.size();
  half.unsynced = true;
  half.files.insert(hash_of(entry.file));
  return ++last_;
}

/// The other file takes over, if it is empty. The mutex is held.
bool BucketLog::turn() {
  Half& full = halves_[current_];
  Half& other = halves_[1 - current_];
  if (other.settling) return false;
  if (settler_.joinable()) settler_.join();  // The thread has come to its end.
  try {
    settler_ = std::thread([this, &full] { settle(full); });
  } catch (const std::system_error&) {
    return false;  // The machine starts no thread now: a limit of processes or of memory.
  }
  begin(other);
  current_ = 1 - current_;
  full.settling = true;
  return true;
}

/// Whatever the full file speaks of was in its place before it spoke of it.
void BucketLog::settle(Half& half) {
  Result<void> done =
      options_.disk.sync_all(folder_) == 0 ? Result<void>() : fail_errno("cannot sync the bucket");
  if (done) done = empty(half);
  if (!done) done = fail(Errc::system, done.error().text);  // Also a full disk's: no second try.
  const std::lock_guard lock(mutex_);
  if (!keep(std::move(done))) return;
  half.files.clear();
  half.settling = false;
}

Result<std::uint64_t> BucketLog::written(const std::string& file, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  const Half& half = halves_[current_];
  const bool full = half.size > 0 && half.size + bytes.size() > options_.bytes_max;
  if (!broken_ && full && !turn()) return fail(Errc::closed, "the bucket's log is full");
  Result<std::uint64_t> entry = append({LogKind::written, file, bytes});
  if (!entry) return fail(Errc::closed, entry.error().text);
  return entry;
}

bool BucketLog::holds(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  return holds_hash(hash_of(file));
}

/// The mutex is held.
bool BucketLog::holds_hash(std::size_t hash) const {
  return halves_[0].files.contains(hash) || halves_[1].files.contains(hash);
}

Result<std::optional<std::uint64_t>> BucketLog::changed(LogKind kind, const std::string& file) {
  const std::lock_guard lock(mutex_);
  if (!holds_hash(hash_of(file))) return std::optional<std::uint64_t>();
  return std::optional<std::uint64_t>(TRY(append({kind, file, {}})));
}

/// For all whose entries are there. One thread at a time.
void BucketLog::sync() {
  std::array<bool, 2> due{};
  std::uint64_t upto = 0;
  {
    const std::lock_guard lock(mutex_);
    upto = last_;
    for (std::size_t i = 0; i < due.size(); ++i) due[i] = std::exchange(halves_[i].unsynced, false);
  }
  Result<void> done;
  for (std::size_t i = 0; i < due.size(); ++i)
    if (due[i] && done) done = sync_data(halves_[i].file.get());
  if (done) {
    durable_ = upto;
    return;
  }
  const std::lock_guard lock(mutex_);
  (void)keep(std::move(done));
}

/// The first waiter that finds no running sync does it.
Result<void> BucketLog::wait(std::uint64_t entry) {
  while (durable_ < entry && !failed_) {
    const std::uint32_t before = syncs_;
    if (syncing_.exchange(true)) {
      if (durable_ < entry && !failed_) syncs_.wait(before);
      continue;
    }
    if (durable_ < entry && !failed_) sync();
    syncing_ = false;
    ++syncs_;
    syncs_.notify_all();
  }
  if (durable_ >= entry) return {};
  const std::lock_guard lock(mutex_);
  return *broken_;
}

}  // namespace muster::bucket
