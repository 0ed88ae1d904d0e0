#include "engine/linked/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace muster::cluster {

Result<AppendFile> AppendFile::open(const std::string& path, std::uint64_t from) {
  AppendFile file;
  file.path_ = path;
  file.from_ = from;
  file.fd_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.fd_) return fail_errno("cannot create " + path);
  TRY(file.measure());
  return file;
}

Result<void> AppendFile::append(std::string_view bytes) {
  CHECK_THAT(fd_, "only an open file grows");
  const Result<void> written = write_all(fd_.get(), bytes);
  if (written) {
    bytes_ += bytes.size();
    return {};
  }
  TRY(measure());
  return written.error().in(path_);
}

Result<void> AppendFile::measure() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return fail_errno("cannot open " + path_);
  if (!S_ISREG(status.st_mode)) return fail(Errc::system, path_ + ": expected a regular file");
  const std::uint64_t size = static_cast<std::uint64_t>(status.st_size);
  if (size < from_) return fail(Errc::system, path_ + ": the start of the file is missing");
  bytes_ = size - from_;
  return {};
}

}  // namespace muster::cluster
