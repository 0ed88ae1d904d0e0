#include "image/kept/claim.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace muster::image {
namespace {

bool is_named(int file, const std::string& path) {
  struct stat ours {};
  struct stat named {};
  return ::fstat(file, &ours) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

}  // namespace

Result<bool> claim(int file, const std::string& path) {
  while (::flock(file, LOCK_EX) != 0)
    if (errno != EINTR) return fail_errno("cannot lock " + path);
  return is_named(file, path);
}

bool try_claim(int file, const std::string& path) {
  return ::flock(file, LOCK_EX | LOCK_NB) == 0 && is_named(file, path);
}

}  // namespace muster::image
