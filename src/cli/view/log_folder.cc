#include "cli/view/log_folder.h"

#include <fcntl.h>

namespace muster::cli {
namespace {

constexpr const char* all = "all";

}  // namespace

LogFolder::LogFolder(std::string folder, RenderOptions options)
    : folder_(std::move(folder)), options_(options) {
  options_.colour = false;
  options_.live = false;
  options_.raw = true;
  options_.utc = true;
  file(all);
}

LogFolder::File& LogFolder::file(const std::string& name) {
  return files_.try_emplace(name, options_).first->second;
}

void LogFolder::status(const platform::StatusLine& line) {
  file(all).render.status(line);
}

void LogFolder::lines(const std::string& host, UnixMillis time, const job::Lines& lines) {
  file(all).render.lines(host, time, lines);
  file(host).render.lines(host, time, lines);
}

void LogFolder::log(const std::string& host, UnixMillis time, const job::LogLine& line) {
  file(all).render.log(host, time, line);
  file(host).render.log(host, time, line);
}

void LogFolder::finish() {
  for (auto& [name, file] : files_) file.render.finish();
}

Result<void> LogFolder::flush() {
  for (auto& [name, file] : files_) {
    const std::string path = folder_ + "/" + name + ".log";
    if (!file.fd)
      file.fd =
          Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file.fd) return fail_errno("cannot create " + path);
    const Result<void> written = write_all(file.fd.get(), file.text);
    if (!written) return written.error().in(path);
    file.text.clear();
  }
  return {};
}

}  // namespace muster::cli
