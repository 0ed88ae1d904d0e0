#include "host/ranks/hostname_library.h"

#include <sys/statvfs.h>

#include <string_view>

#include "base/fd.h"
#include "base/text.h"

// The library's bytes. CMake builds it first and says where it is.
__asm__(
    ".pushsection .rodata\n"
    "muster_hostname_library_begin:\n"
    ".incbin \"" MUSTER_HOSTNAME_LIBRARY
    "\"\n"
    "muster_hostname_library_end:\n"
    ".popsection\n");

extern "C" {
extern const char muster_hostname_library_begin[] __attribute__((visibility("hidden")));
extern const char muster_hostname_library_end[] __attribute__((visibility("hidden")));
}

namespace muster::ranks {
namespace {

constexpr std::size_t room_bytes = 256;  ///< For the name in the library, with its NUL.
constexpr std::string_view placeholder =
    "libmuster-hostname.so: the host's name is written over this text";

std::string library() {
  return {muster_hostname_library_begin, muster_hostname_library_end};
}

}  // namespace

Result<std::string> write_hostname_library(const std::string& folder, const std::string& host) {
  if (host.empty() || host.size() >= room_bytes || host.find('\0') != std::string::npos)
    return fail(Errc::invalid_input,
                "host name \"" + to_utf8(host) + "\": expected 1 to 255 bytes without NUL");
  if (folder.find_first_of(" \t\n:") != std::string::npos)
    return fail(Errc::invalid_input,
                "folder \"" + to_utf8(folder) +
                    "\": LD_PRELOAD does not support paths with a space or ':'");
  struct statvfs mount {};
  if (::statvfs(folder.c_str(), &mount) != 0)
    return fail_errno("cannot examine the file system of " + folder);
  if ((mount.f_flag & ST_NOEXEC) != 0)
    return fail(Errc::invalid_input,
                folder + " is mounted noexec: programs cannot load a library from this folder");
  std::string bytes = library();
  const std::size_t at = bytes.find(placeholder);
  CHECK_THAT(at != std::string::npos && at + room_bytes <= bytes.size() &&
                 bytes.find(placeholder, at + 1) == std::string::npos,
             "libmuster-hostname.so holds one place for the name");
  bytes.replace(at, room_bytes, host + std::string(room_bytes - host.size(), '\0'));
  std::string path = folder + "/libmuster-hostname.so";
  TRY(write_file(path, bytes, 0444));
  return path;
}

void add_preload(Env& env, const std::string& library) {
  if (library.empty()) return;
  std::string& list = env["LD_PRELOAD"];
  if (list == library || list.starts_with(library + ":")) return;
  list = list.empty() ? library : library + ":" + list;
}

}  // namespace muster::ranks
