#include "container/bundle/root_view.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace muster::container {
namespace {

constexpr std::int64_t people_from = 1000;  // Debian, Red Hat: UID_MIN of login.defs.
constexpr std::int64_t nobody = 65534;

/// Paths at which a host has its own file systems.
constexpr std::string_view own_folders[] = {"/tmp", "/run", "/var/run", "/dev/shm"};
/// Folders that are never shown as a whole, because they contain homes, secrets, data of other
/// daemons or the kernel's files.
constexpr std::string_view closed_folders[] = {"/boot", "/dev",  "/etc",  "/home",   "/media",
                                               "/mnt",  "/proc", "/root", "/run",    "/srv",
                                               "/sys",  "/tmp",  "/var",  "/var/lib"};
/// Folders with the kernel's files, of which nothing is shown.
constexpr std::string_view kernel_folders[] = {"/proc", "/sys", "/dev"};

/// Settings that programs and libraries need and that contain no secrets. A name that ends in '*'
/// matches all names with this prefix.
constexpr std::string_view etc_names[] = {
    // The C library, the loader and the shells.
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone", "locale.alias",
    "locale.conf", "nsswitch.conf", "host.conf", "gai.conf", "protocols", "services", "rpc",
    "networks", "ethertypes", "profile", "profile.d", "bash.bashrc", "bashrc", "inputrc", "shells",
    "terminfo", "alternatives", "mime.types", "magic", "magic.mime",
    // The distribution.
    "os-release", "lsb-release", "debian_version", "redhat-release", "system-release",
    "centos-release", "alpine-release", "SuSE-release",
    // Roots of trust, without keys.
    "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf",
    "pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "crypto-policies",
    // Programming languages.
    "python*", "perl", "java-*", "R", "julia", "fonts", "ImageMagick-*",
    // MPI, networks of clusters, accelerators.
    "openmpi*", "pmix*", "prte*", "mpich*", "mvapich*", "ucx*", "libibverbs.d", "libnl", "libnl-3",
    "hwloc", "dat.conf", "OpenCL", "vulkan", "glvnd", "egl", "nvidia", "ati", "rocm*"};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_in_any(const std::string& path, const auto& folders) {
  return std::any_of(std::begin(folders), std::end(folders),
                     [&path](std::string_view folder) { return is_in(path, folder); });
}

bool is_too_wide(const std::string& path, const std::vector<std::string>& homes) {
  const auto holds = [&path](std::string_view closed) { return is_in(closed, path); };
  if (path == "/") return true;
  if (std::find(program_folders.begin(), program_folders.end(), path.substr(1)) !=
      program_folders.end())
    return false;
  return std::any_of(std::begin(closed_folders), std::end(closed_folders), holds) ||
         std::any_of(homes.begin(), homes.end(), holds);
}

/// True if the view of `folder` contains `path`, because there is no mount in between.
bool shows(const std::string& folder, const std::string& path,
           const std::vector<std::string>& mount_points) {
  return is_in(path, folder) &&
         std::none_of(mount_points.begin(), mount_points.end(), [&](const std::string& point) {
           return point != folder && is_in(path, point) && is_in(point, folder);
         });
}

/// `paths` without those that are contained in the view of another one.
std::vector<std::string> apart(std::vector<std::string> paths,
                               const std::vector<std::string>& mount_points) {
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<std::string> kept;
  for (const std::string& path : paths)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const std::string& folder) { return shows(folder, path, mount_points); }))
      kept.push_back(path);
  return kept;
}

/// The fields of a line of passwd(5) or group(5), with the number parsed; none for a malformed
/// line.
struct Account {
  std::vector<std::string> fields;
  std::int64_t number = 0;
};
std::optional<Account> account_in(const std::string& line) {
  Account account{split(line, ':')};
  if (account.fields.size() < 4) return std::nullopt;
  const std::optional<std::int64_t> number = parse_integer(account.fields[2]);
  if (!number) return std::nullopt;
  account.number = *number;
  return account;
}

}  // namespace

const std::vector<std::string> program_folders = {"usr",   "opt",   "bin",    "sbin", "lib",
                                                  "lib32", "lib64", "libx32", "nix",  "gnu"};

bool is_in(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.size() > folder.size() && path.substr(0, folder.size()) == folder &&
          (folder == "/" || path[folder.size()] == '/'));
}

std::vector<std::string> outermost(std::vector<std::string> paths) {
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> kept;
  for (const std::string& path : paths)
    if (!is_in_any(path, kept)) kept.push_back(path);
  return kept;
}

RootView root_view(const std::vector<std::string>& wanted, const std::vector<std::string>& programs,
                   const std::vector<std::string>& homes,
                   const std::vector<std::string>& muster_folders,
                   const std::vector<std::string>& mount_points) {
  std::vector<std::string> shown, trees, beside, binds, masks;
  const auto show = [&](const std::string& path, std::vector<std::string>& to) {
    if (is_too_wide(path, homes) || is_in_any(path, muster_folders)) return;
    if (is_in_any(path, kernel_folders) && !is_in_any(path, own_folders)) return;
    shown.push_back(path);
    (is_in_any(path, own_folders) ? binds : to).push_back(path);
  };
  for (const std::string& path : wanted) show(path, trees);
  for (const std::string& path : programs) show(path, beside);
  const auto holds_wanted = [&shown](const std::string& folder) {
    return std::any_of(shown.begin(), shown.end(),
                       [&folder](const std::string& path) { return is_in(path, folder); });
  };
  for (const std::string& home : homes)
    if (is_in_any(home, shown) && !holds_wanted(home)) masks.push_back(home);
  for (const std::string& folder : muster_folders)
    if (is_in_any(folder, shown)) masks.push_back(folder);
  trees = apart(std::move(trees), mount_points);
  std::erase_if(beside, [&](const std::string& path) {
    return std::any_of(trees.begin(), trees.end(),
                       [&](const std::string& tree) { return shows(tree, path, mount_points); });
  });
  return {trees, apart(std::move(beside), mount_points), outermost(std::move(binds)),
          outermost(std::move(masks))};
}

bool is_shown_in_etc(std::string_view name) {
  return std::any_of(std::begin(etc_names), std::end(etc_names),
                     [name](std::string_view pattern) { return matches(name, pattern); });
}

bool is_partly_shown_in_etc(std::string_view name) {
  return std::any_of(std::begin(etc_names), std::end(etc_names), [name](std::string_view pattern) {
    return pattern.size() > name.size() && pattern.starts_with(name) && pattern[name.size()] == '/';
  });
}

std::string system_accounts(std::string_view file) {
  std::string kept;
  for (const std::string& line : split(file, '\n')) {
    const std::optional<Account> account = account_in(line);
    if (account && (account->number < people_from || account->number == nobody))
      kept += line + "\n";
  }
  return kept;
}

std::vector<std::string> homes_in(std::string_view passwd) {
  std::vector<std::string> homes;
  for (const std::string& line : split(passwd, '\n')) {
    const std::optional<Account> account = account_in(line);
    if (!account || account->fields.size() < 6 || account->number == nobody) continue;
    const std::string& home = account->fields[5];
    const bool person = account->number == 0 || account->number >= people_from;
    if (person && home.size() > 1 && home[0] == '/') homes.push_back(home);
  }
  return homes;
}

std::vector<std::string> program_places(const std::string& folder,
                                        const std::vector<std::string>& homes) {
  std::vector<std::string> places{folder};
  const std::size_t slash = folder.rfind('/');
  const std::string prefix = folder.substr(0, slash);
  const std::string_view name = std::string_view(folder).substr(slash + 1);
  if ((name != "bin" && name != "sbin") || prefix.empty() || is_in_any(folder, homes))
    return places;
  for (const char* beside : {"bin", "sbin", "lib", "lib64", "libexec", "share", "etc", "include"})
    if (name != beside) places.push_back(prefix + "/" + beside);
  return places;
}

std::vector<std::string> inside(const std::vector<std::string>& folders, const std::string& from,
                                const std::string& to) {
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    if (is_in(from, folder)) found.push_back(to);
    if (is_in(folder, from) && folder != from) found.push_back(to + folder.substr(from.size()));
  }
  return outermost(std::move(found));
}

}  // namespace muster::container
