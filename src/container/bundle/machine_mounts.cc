#include "container/bundle/machine_mounts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/files/mounts.h"
#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "base/text.h"

namespace muster::container {
namespace {

namespace fs = std::filesystem;

constexpr int links_max = 40;

/// "home = /usr/bin" of a virtual environment; empty if it is missing.
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

/// <prefix>/bin/python3 -> <prefix>; if that is not a separate folder, the program's folder.
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

/// The path without links; empty if it does not exist. The kernel resolves it in three calls, while
/// canonical() needs one for each parent folder.
std::string real_path(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return {};
  std::error_code code;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(fd.get()), code);
}

/// True for a path below a link in the machine's root folder, such as /bin/x if /bin is a link to
/// /usr/bin. Hosts have both the link and its target.
bool is_below_top_link(const fs::path& path) {
  std::error_code code;
  return fs::is_symlink("/" + (++path.begin())->string(), code);
}

/// The paths of the machine to show, under their own names and their resolved names.
class Wanted {
 public:
  void add(const std::string& path) {
    const std::string real = real_path(path);
    if (real.empty()) return;  // Does not exist: nothing to show.
    paths_.push_back(real);
    const fs::path own = fs::path(path).lexically_normal();
    if (own.string() != real && own.has_relative_path() && !is_below_top_link(own))
      paths_.push_back(own);
  }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::vector<std::string> paths_;
};

std::vector<std::string> homes(const Env& env) {
  std::vector<std::string> found{"/root"};
  const Env::const_iterator home = env.find("HOME");
  if (home != env.end() && home->second.size() > 1 && home->second[0] == '/')
    found.push_back(home->second);
  for (const std::string& told : homes_in(read_file("/etc/passwd").value_or("")))
    found.push_back(told);
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator("/home", code))
    found.push_back(entry.path());
  return outermost(std::move(found));
}

}  // namespace

std::vector<std::string> mount_points(std::string_view mountinfo) {
  std::vector<std::string> points;
  for (MountPoint& mount : mounts_of(mountinfo)) points.push_back(std::move(mount.path));
  return points;
}

bool has_mounts_inside(std::string_view folder, const std::vector<std::string>& mount_points) {
  return std::any_of(mount_points.begin(), mount_points.end(), [&](const std::string& point) {
    return point != folder && is_in(point, folder);
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

Result<Machine> read_machine(const job::HostSpec& spec, const Env& env) {
  const std::string mountinfo = TRY(read_file("/proc/self/mountinfo"));
  const std::vector<std::string> home_folders = homes(env);
  Wanted wanted, programs;
  for (const std::string& name : program_folders) wanted.add("/" + name);
  for (const std::string& folder : split(spec.spec.path, ':'))
    if (!folder.empty() && folder[0] == '/')
      for (const std::string& place : program_places(folder, home_folders)) programs.add(place);
  if (!spec.spec.python.empty())
    for (const std::string& folder : interpreter_folders(spec.spec.python)) wanted.add(folder);
  for (const std::string& path : spec.spec.read_only_binds) wanted.add(path);
  Machine machine;
  machine.program = TRY(own_program());
  machine.size = TRY(machine_size());
  machine.muster_folders = TRY(private_folders(private_folder_register_of(env)));
  std::vector<std::string> own = spec.spec.hidden;
  own.push_back(spec.state_folder);
  for (const std::string& path : own)
    if (std::string real = real_path(path); !real.empty())
      machine.muster_folders.push_back(std::move(real));
  machine.view = root_view(wanted.paths(), programs.paths(), home_folders, machine.muster_folders,
                           mount_points(mountinfo));
  struct rlimit open_files {};
  if (::getrlimit(RLIMIT_NOFILE, &open_files) == 0) machine.open_files_max = open_files.rlim_max;
  return machine;
}

}  // namespace muster::container
