#include "cluster/chapter.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "job/journal.h"

namespace muster::cluster {
namespace {

constexpr std::size_t read_bytes = 1u << 20;

Result<Fd> open_journal(const std::string& journal) {
  Fd file(::open(journal.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno(journal);
  return file;
}

/// Reads all whole records from `from` on; damage is an end like another.
Result<job::JournalReader> read_through(int file, std::uint64_t from) {
  job::JournalReader reader(from);
  std::string buffer(read_bytes, '\0');
  for (std::uint64_t at = from;;) {
    const ssize_t count = ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(Errc::system, "it cannot be read");
    if (count == 0) return reader;
    at += static_cast<std::uint64_t>(count);
    if (!reader.skip(std::string_view(buffer.data(), static_cast<std::size_t>(count))))
      return reader;
  }
}

}  // namespace

Result<std::uint64_t> whole_until(const std::string& journal, std::uint64_t from) {
  const Fd file = TRY(open_journal(journal));
  const Result<job::JournalReader> reader = read_through(file.get(), from);
  if (!reader) return reader.error().in(journal);
  return reader->offset();
}

Result<std::uint64_t> end_chapter(const std::string& journal, std::uint64_t from,
                                  std::uint64_t whole, int attempt, UnixMillis now) {
  const Fd file = TRY(open_journal(journal));
  if (::ftruncate(file.get(), static_cast<off_t>(whole)) != 0) return fail_errno(journal);
  const Result<job::JournalReader> reader = read_through(file.get(), from);
  if (!reader) return reader.error().in(journal);
  std::string record;
  const job::LogLine line{"warning", "attempt " + std::to_string(attempt) +
                                         " is over: what follows is of attempt " +
                                         std::to_string(attempt + 1)};
  job::append_record(record, reader->seq() + 1, now, job::Message::log, job::encode(line));
  if (::lseek(file.get(), 0, SEEK_END) < 0) return fail_errno(journal);
  const Result<void> written = write_all(file.get(), record);
  if (!written) return written.error().in(journal);
  return whole + record.size();
}

}  // namespace muster::cluster
