#include "engine/journals.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace muster::engine {
namespace {
constexpr std::size_t read_bytes = 1u << 20;
}

Journals::Journals(std::unique_ptr<loop::Notices> notices, Files files)
    : notices_(std::move(notices)), files_(std::move(files)), buffer_(read_bytes, '\0') {}

Result<std::unique_ptr<Journals>> Journals::open(loop::Loop& loop, std::vector<Host> hosts) {
  std::unique_ptr<loop::Notices> notices = TRY(loop::Notices::open(loop));
  Files files;
  for (Host& host : hosts) {
    // The folder, not the file: that may come later.
    TRY(notices->add(host.folder, IN_CREATE | IN_MODIFY));
    files.emplace(std::move(host.name), File{host.folder + "/journal", host.from, host.from,
                                             job::JournalReader(host.from)});
  }
  return std::unique_ptr<Journals>(new Journals(std::move(notices), std::move(files)));
}

Result<Records> Journals::records(const std::string& host, std::uint64_t from) {
  const Files::iterator file = files_.find(host);
  if (file != files_.end()) return read(file->second, from);
  return fail(Errc::not_found, "the job has no host " + host);
}

/// What has been written behind `file.read_to`, into the buffer.
Result<std::size_t> Journals::read_on(const File& file) {
  struct stat info {};
  if (::stat(file.path.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::size_t{0};
    return fail_errno("cannot open " + file.path);
  }
  if (static_cast<std::uint64_t>(info.st_size) <= file.read_to) return std::size_t{0};
  const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + file.path);
  ssize_t count = 0;
  do count = ::pread(fd.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(file.read_to));
  while (count < 0 && errno == EINTR);
  if (count < 0) return fail_errno("cannot read " + file.path);
  return static_cast<std::size_t>(count);
}

Result<Records> Journals::read(File& file, std::uint64_t from) {
  if (from <= file.reader.seq()) {  // Given already: once more from the beginning.
    file.read_to = file.from;
    file.reader = job::JournalReader(file.from);
  }
  const std::size_t count = TRY(read_on(file));
  file.read_to += count;
  file.reader.feed(std::string_view(buffer_.data(), count));
  Records got;
  while (true) {
    Result<std::optional<job::Record>> record = file.reader.next();
    if (!record && got.records.empty()) return record.error();
    got.more = !record || count > 0;  // An error is reported after the records before it.
    if (!record || !*record) return got;
    if ((*record)->seq >= from) got.records.push_back(**std::move(record));
  }
}

}  // namespace muster::engine
