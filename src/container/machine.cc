#include "container/machine.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/fd.h"
#include "base/text.h"

namespace muster::container {
namespace {

namespace fs = std::filesystem;

constexpr int links_max = 40;

/// A host has file systems of its own here.
constexpr std::string_view own_folders[] = {"/tmp", "/run", "/var/run", "/dev/shm"};
/// The kernel's, which every host gets anew.
constexpr std::string_view kernel_folders[] = {"/proc", "/sys", "/dev"};
/// Programs live here; where one is a file system of its own, hosts need it as a whole.
constexpr const char* program_folders[] = {"/usr", "/opt",   "/bin", "/sbin",
                                           "/lib", "/lib64", "/etc"};

bool is_inside(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.size() > folder.size() && path.substr(0, folder.size()) == folder &&
          (folder == "/" || path[folder.size()] == '/'));
}

/// mountinfo writes space, tab, newline and backslash as \ooo.
std::string decoded(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\\' && i + 3 < word.size()) {
      const int value = (word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0');
      text += static_cast<char>(value);
      i += 3;
    } else {
      text += word[i];
    }
  }
  return text;
}

/// "home = /usr/bin" of a virtual environment; empty if there is none.
std::string venv_home(const fs::path& prefix) {
  const Result<std::string> text = read_file(prefix / "pyvenv.cfg", 65536);
  if (!text) return {};
  for (const std::string& line : split(*text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos && trim(line.substr(0, equals)) == "home")
      return trim(line.substr(equals + 1));
  }
  return {};
}

/// <prefix>/bin/python3 -> <prefix>; where that is no folder of its own, the program's folder.
fs::path prefix_of(const fs::path& program) {
  const fs::path folder = program.parent_path();
  const fs::path prefix = folder.parent_path();
  return folder.filename() == "bin" && prefix.has_relative_path() && prefix != "/tmp" &&
                 prefix != "/run"
             ? prefix
             : folder;
}

void follow(fs::path program, std::vector<std::string>& folders) {
  std::error_code code;
  for (int step = 0; step < links_max; ++step) {
    folders.push_back(prefix_of(program));
    const fs::path link = fs::read_symlink(program, code);
    if (code) break;
    program = (link.is_absolute() ? link : program.parent_path() / link).lexically_normal();
  }
  const fs::path real = fs::canonical(program, code);
  if (!code) folders.push_back(prefix_of(real));
}

/// Each path that a host would not see, by its own name and by its real one.
void add_outside(const std::string& path, const std::vector<std::string>& points,
                 std::vector<std::string>& binds) {
  std::error_code code;
  const fs::path real = fs::canonical(path, code);
  if (code) return;  // Does not exist: nothing to show.
  for (const std::string& name : {fs::path(path).lexically_normal().string(), real.string()})
    if (outside_root(name, points)) binds.push_back(name);
}

std::vector<std::string> homes(const Env& env) {
  std::set<std::string> found{"/root"};
  const Env::const_iterator home = env.find("HOME");
  if (home != env.end() && home->second.size() > 1 && home->second[0] == '/')
    found.insert(home->second);
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator("/home", code))
    found.insert(entry.path());
  return {found.begin(), found.end()};
}

}  // namespace

std::vector<std::string> mount_points(std::string_view mountinfo) {
  std::vector<std::string> points;
  for (const std::string& line : split(mountinfo, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() > 4) points.push_back(decoded(words[4]));
  }
  return points;
}

bool outside_root(std::string_view path, const std::vector<std::string>& mount_points) {
  for (const std::string_view folder : own_folders)
    if (is_inside(path, folder)) return true;
  for (const std::string_view folder : kernel_folders)
    if (is_inside(path, folder)) return false;
  return std::any_of(mount_points.begin(), mount_points.end(), [&](const std::string& point) {
    return point != "/" && is_inside(path, point);
  });
}

std::vector<std::string> outermost(std::vector<std::string> paths) {
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> kept;
  for (const std::string& path : paths)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const std::string& folder) { return is_inside(path, folder); }))
      kept.push_back(path);
  return kept;
}

bool has_mounts_inside(std::string_view folder, const std::vector<std::string>& mount_points) {
  return std::any_of(mount_points.begin(), mount_points.end(), [&](const std::string& point) {
    return point != folder && is_inside(point, folder);
  });
}

std::vector<std::string> interpreter_folders(const std::string& python) {
  std::vector<std::string> folders;
  follow(python, folders);
  for (std::size_t i = 0; i < folders.size() && folders.size() < links_max; ++i) {
    const std::string home = venv_home(folders[i]);
    if (home.empty()) continue;
    const std::string base = prefix_of(fs::path(home) / "python");
    if (std::find(folders.begin(), folders.end(), base) == folders.end())
      follow(fs::path(home) / "python3", folders);
  }
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

Result<Facts> machine_facts(const job::HostSpec& spec, const Env& env) {
  const std::string mountinfo = TRY(read_file("/proc/self/mountinfo"));
  const std::vector<std::string> points = mount_points(mountinfo);
  Facts facts;
  facts.program = TRY(own_program());
  facts.homes = homes(env);
  std::vector<std::string> binds;
  for (const char* folder : program_folders) add_outside(folder, points, binds);
  for (const std::string& folder : split(spec.spec.path, ':'))
    if (!folder.empty() && folder[0] == '/') add_outside(folder, points, binds);
  if (!spec.spec.python.empty())
    for (const std::string& folder : interpreter_folders(spec.spec.python))
      add_outside(folder, points, binds);
  for (const std::string& path : spec.spec.read_only_binds) add_outside(path, points, binds);
  facts.read_only_binds = outermost(std::move(binds));
  struct rlimit open_files {};
  if (::getrlimit(RLIMIT_NOFILE, &open_files) == 0) facts.open_files_max = open_files.rlim_max;
  return facts;
}

}  // namespace muster::container
