#include "node/unclaimed.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "job/node_messages.h"

namespace muster::node {
namespace {

constexpr std::string_view prefix = "muster-";
constexpr std::size_t nonce_digits = 16;

/// The path of the folder that the job of a file has once it began; empty: the file is no such.
std::string folder_of(const std::filesystem::path& file) {
  const std::string name = file.filename();
  const std::size_t length = prefix.size() + nonce_digits;
  const bool brought = name.starts_with(prefix) && name.size() > length && name[length] == '.' &&
                       job::is_nonce(name.substr(prefix.size(), nonce_digits));
  return brought ? file.parent_path() / name.substr(0, length) : "";
}

/// By the change of its inode: sbcast gives a file the time that its source was written.
bool is_unclaimed(const std::string& file, const std::string& folder, UnixMillis before) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() || UnixMillis(status.st_ctim.tv_sec * 1000) >= before)
    return false;
  return ::lstat(folder.c_str(), &status) != 0 && errno == ENOENT;
}

}  // namespace

void remove_unclaimed(const std::string& folder, UnixMillis before) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string file = entry.path();
    const std::string job = folder_of(file);
    if (!job.empty() && is_unclaimed(file, job, before)) ::unlink(file.c_str());
  }
}

}  // namespace muster::node
