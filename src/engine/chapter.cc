#include "engine/chapter.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "job/wire/journal.h"

namespace muster::engine {
namespace {

constexpr std::size_t read_bytes = 1u << 20;

std::string journal_in(const std::string& job_folder, const std::string& host) {
  return job_folder + "/" + host + "/journal";
}

Result<Fd> open_journal(const std::string& journal) {
  Fd file(::open(journal.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("cannot create " + journal);
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
  if (::ftruncate(file.get(), static_cast<off_t>(whole)) != 0)
    return fail_errno("cannot resize " + journal);
  const Result<job::JournalReader> reader = read_through(file.get(), from);
  if (!reader) return reader.error().in(journal);
  std::string record;
  const job::LogLine line{"warning", "attempt " + std::to_string(attempt) +
                                         " ended; the lines below belong to attempt " +
                                         std::to_string(attempt + 1)};
  job::append_record(record, reader->seq() + 1, now, job::Message::log, job::encode(line));
  if (::lseek(file.get(), 0, SEEK_END) < 0) return fail_errno("cannot seek in " + journal);
  const Result<void> written = write_all(file.get(), record);
  if (!written) return written.error().in(journal);
  return whole + record.size();
}

Result<Chapters> whole_until(const std::string& job_folder, const std::vector<std::string>& hosts,
                             const Chapters& begun, Chapters known) {
  for (const std::string& host : hosts)
    if (!known.contains(host))
      known[host] = TRY(whole_until(journal_in(job_folder, host), chapter_of(begun, host)));
  return known;
}

Result<Chapters> end_chapters(const std::string& job_folder, const std::vector<std::string>& hosts,
                              const Chapters& begun, const Chapters& whole, int attempt,
                              UnixMillis now) {
  Chapters next;
  for (const std::string& host : hosts)
    next[host] = TRY(end_chapter(journal_in(job_folder, host), chapter_of(begun, host),
                                 chapter_of(whole, host), attempt, now));
  return next;
}

Result<void> set_aside(const std::string& job_folder, const std::vector<std::string>& hosts,
                       int attempt) {
  const std::string aside = job_folder + "/attempt-" + std::to_string(attempt);
  for (const std::string& host : hosts) {
    TRY(make_folders(aside + "/" + host, 0700));
    for (const char* name : {"/result", "/result.tar.partial"}) {
      const std::string from = job_folder + "/" + host + name;
      const std::string to = aside + "/" + host + name;
      if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
        return fail_errno("cannot rename " + from);
    }
  }
  return {};
}

}  // namespace muster::engine
