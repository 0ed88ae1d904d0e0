#include "engine/journals.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>

namespace muster::engine {
namespace {
constexpr std::size_t read_bytes = 1u << 20;
}

Journals::Journals(std::unique_ptr<loop::Notices> notices, std::vector<File> files)
    : notices_(std::move(notices)), files_(std::move(files)), buffer_(read_bytes, '\0') {}

Result<std::unique_ptr<Journals>> Journals::open(loop::Loop& loop, std::vector<Host> hosts) {
  std::unique_ptr<loop::Notices> notices = TRY(loop::Notices::open(loop));
  std::vector<File> files;
  for (Host& host : hosts) {
    // The folder, not the file: that may come later.
    TRY(notices->add(host.folder, IN_CREATE | IN_MODIFY));
    files.push_back({std::move(host), Fd(), 0, job::JournalReader()});
  }
  return std::unique_ptr<Journals>(new Journals(std::move(notices), std::move(files)));
}

Result<Records> Journals::records(const std::string& host, std::uint64_t from) {
  for (File& file : files_)
    if (file.host.name == host) return read(file, from);
  return fail(Errc::not_found, "the job has no host " + host);
}

Result<Records> Journals::read(File& file, std::uint64_t from) {
  const std::string path = file.host.folder + "/journal";
  if (!file.fd) {
    file.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.fd && errno == ENOENT) return Records();
    if (!file.fd) return fail_errno(path);
  }
  if (from <= file.reader.seq()) {  // Given already: once more from the beginning.
    file.read_to = 0;
    file.reader = job::JournalReader();
  }
  ssize_t count = 0;
  do
    count =
        ::pread(file.fd.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(file.read_to));
  while (count < 0 && errno == EINTR);
  if (count < 0) return fail_errno(path);
  file.read_to += static_cast<std::uint64_t>(count);
  file.reader.feed(std::string_view(buffer_.data(), static_cast<std::size_t>(count)));
  Records got;
  while (true) {
    Result<std::optional<job::Record>> record = file.reader.next();
    if (!record && got.records.empty()) return record.error();
    got.more = !record || count > 0;  // An error is told when what comes before it was taken.
    if (!record || !*record) return got;
    if ((*record)->seq >= from) got.records.push_back(**std::move(record));
  }
}

}  // namespace muster::engine
