#include "base/process/private_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/process/rootless.h"
#include "base/text.h"

namespace muster {
namespace {

bool is_there(const std::string& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0;
}

}  // namespace

std::string state_folder(const Env& env) {
  const Env::const_iterator found = env.find("MUSTER_STATE");
  if (found == env.end() || found->second.empty()) {
    const std::string own = ::geteuid() == 0 ? std::string() : user_state_folder(env);
    return own.empty() ? default_state_folder : own;
  }
  std::string path = found->second;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<std::vector<std::string>> private_folders(const std::string& register_file) {
  const Result<std::string> text = read_file(register_file);
  if (!text && text.error().code == Errc::not_found) return std::vector<std::string>();
  if (!text) return text.error();
  std::vector<std::string> folders;
  for (const std::string& line : split(*text, '\n'))
    if (!line.empty()) folders.push_back(line);
  return folders;
}

Result<void> note_private_folder(const std::string& register_file, const std::string& folder) {
  std::error_code code;
  const std::string real = std::filesystem::canonical(folder, code);
  if (code) return fail(Errc::not_found, folder + ": " + code.message());
  if (real.find('\n') != std::string::npos)
    return fail(Errc::invalid_input, folder + ": expected a path without a line break");
  TRY(make_folders(register_file.substr(0, register_file.rfind('/')), 0700));
  const Fd lock = TRY(wait_for_lock(register_file + ".lock"));
  std::vector<std::string> folders = TRY(private_folders(register_file));
  if (std::find(folders.begin(), folders.end(), real) != folders.end()) return {};
  std::string text;
  for (const std::string& each : folders)
    if (is_there(each)) text += each + "\n";
  return write_file(register_file, text + real + "\n", 0600);
}

}  // namespace muster
