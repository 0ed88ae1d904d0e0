#include "server/journal_files.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::server {
namespace {

Result<void> keep_file(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0 || errno == EEXIST || errno == ENOENT) return {};
  if (errno != EXDEV) return fail_errno("cannot create " + to);
  const std::string fresh = to + ".new";
  std::error_code failed;
  std::filesystem::copy_file(from, fresh, std::filesystem::copy_options::overwrite_existing,
                             failed);
  if (failed) return fail(Errc::system, to + ": " + failed.message());
  return ::rename(fresh.c_str(), to.c_str()) == 0 ? Result<void>()
                                                  : fail_errno("cannot create " + to);
}

}  // namespace

std::string JournalFiles::kept(const std::string& job, const std::string& host) const {
  return folder_ + "/" + job + "/" + host + "/journal";
}

std::string JournalFiles::file(const std::string& job, const std::string& host) const {
  std::string path = kept(job, host);
  return ::access(path.c_str(), F_OK) == 0 ? path : engine_.journal_file(job, host);
}

Result<void> JournalFiles::keep(const std::string& job,
                                const std::vector<std::string>& hosts) const {
  for (const std::string& host : hosts) {
    TRY(make_folders(folder_ + "/" + job + "/" + host, 0700));
    TRY(keep_file(engine_.journal_file(job, host), kept(job, host)));
  }
  return {};
}

Result<void> JournalFiles::forget(const std::string& job) const {
  return remove_tree(folder_ + "/" + job);
}

}  // namespace muster::server
