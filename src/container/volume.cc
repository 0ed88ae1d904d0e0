#include "container/volume.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "container/tool.h"

namespace muster::container {
namespace {

/// Other processes use loop devices too. If one of them is faster, try the next device.
constexpr int attempts_max = 256;
/// The volume is not used after a crash, so the machine's disk is not flushed when a program syncs
/// its files.
constexpr const char* options = "noinit_itable,nobarrier";

/// The path of a loop device for `image`, which the kernel removes when it is no longer used.
/// `device` keeps it until it is mounted.
Result<std::string> attach(const Fd& image, Fd& device) {
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return fail_errno("cannot open /dev/loop-control");
  struct loop_config config {};
  config.fd = static_cast<__u32>(image.get());
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return fail_errno("cannot get a loop device");
    std::string path = "/dev/loop" + std::to_string(number);
    device = Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!device) return fail_errno("cannot open " + path);
    if (::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return path;
    if (errno != EBUSY) return fail_errno("cannot open " + path);
  }
  return fail(Errc::system, "no loop device is free");
}

/// No journal, no blocks reserved for root, lazily initialized tables: the volume is deleted with
/// its host, and a sparse file reads as zeros anyway.
Args make_file_system(const std::string& program, const std::string& image) {
  return {program,
          "-q",
          "-F",
          "-t",
          "ext4",
          "-m",
          "0",
          "-O",
          "^has_journal,^resize_inode",
          "-E",
          "lazy_itable_init=1,nodiscard,root_owner=0:0",
          image};
}

Result<void> mount_image(const Fd& image, const std::string& target) {
  Fd device;
  const std::string path = TRY(attach(image, device));
  if (::mount(path.c_str(), target.c_str(), "ext4", MS_NODEV | MS_NOSUID, options) != 0)
    return fail_errno("cannot mount " + path);
  return {};
}

}  // namespace

Result<std::int64_t> volume_bytes(const std::string& folder, std::int64_t asked) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0)
    return fail_errno("cannot examine the file system of " + folder);
  const auto free = static_cast<std::int64_t>(info.f_bavail * info.f_frsize);
  return std::min(asked, free);
}

Result<void> mount_volume(const std::string& image, const std::string& target, std::int64_t bytes,
                          const Env& env) {
  TRY(make_folders(target));
  const Result<std::string> program = find_tool("mke2fs", env);
  if (!program) return fail(Errc::not_found, "mke2fs is not installed (Debian package: e2fsprogs)");
  const Fd file(::open(image.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail_errno("cannot create " + image);
  Result<void> made;
  if (::ftruncate(file.get(), bytes) != 0) made = fail_errno("cannot resize " + image);
  if (made) made = run_tool(make_file_system(*program, image), "");
  if (made) made = mount_image(file, target);
  if (!made) ::unlink(image.c_str());
  return made;
}

bool is_volume_whole(int folder) {
  return ::syncfs(folder) == 0;
}

}  // namespace muster::container
