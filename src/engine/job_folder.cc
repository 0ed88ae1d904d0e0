#include "engine/job_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "net/loop/worker.h"

namespace muster::engine {
namespace {

constexpr std::size_t key_bytes = 32;

/// The file gets its name when it is locked already: a sweep never meets it unlocked.
Result<Fd> make_locked(const std::string& folder) {
  const std::string path = folder + "/lock";
  const std::string early = path + ".early";
  Fd lock(::open(early.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return fail_errno("cannot create " + path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return fail_errno("cannot lock " + path);
  if (::rename(early.c_str(), path.c_str()) != 0) return fail_errno("cannot create " + path);
  return lock;
}

Error name_in_use(const std::string& folder, const std::string& name) {
  if (is_locked(folder))
    return fail(
        Errc::invalid_input,
        "a job named " + name + " is already running on this machine; choose another --name");
  return fail(Errc::invalid_input,
              "an earlier job named " + name + " left " + folder +
                  " behind; choose another --name, or remove this folder with `sm clean --all`");
}

}  // namespace

Result<JobFolder> JobFolder::create(const std::string& state, const std::string& name) {
  const std::string jobs = state + "/jobs";
  TRY(make_folders(jobs, 0700));
  const std::string path = jobs + "/" + name;
  // Locked before it gets its name, too.
  const std::string fresh = TRY(make_private_folder(jobs, ".new-"));
  Result<Fd> lock = make_locked(fresh);
  Result<void> made;
  if (!lock) made = lock.error();
  if (made) made = write_file(fresh + "/key", hex(random_bytes(key_bytes)) + "\n", 0600);
  if (made && ::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0)
    made = errno == EEXIST ? name_in_use(path, name) : fail_errno("cannot create " + path);
  if (made) return JobFolder(path, *std::move(lock));
  static_cast<void>(remove_tree(fresh));
  return made.error();
}

Result<JobFolder> JobFolder::take(const std::string& path) {
  Fd lock(::open((path + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock) return fail_errno("cannot open " + path + "/lock");
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return JobFolder(path, std::move(lock));
  return fail(Errc::denied, path + ": a process of the job is still running");
}

loop::Task<Result<void>> remove_beside(loop::Loop& loop, JobFolder folder) {
  const auto remove = [&folder] { return folder.remove(); };
  co_return co_await loop::in_thread(loop, remove);
}

bool is_locked(const std::string& job_folder) {
  const Fd lock(::open((job_folder + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock) return false;
  return ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::vector<std::string> JobFolder::names(const std::string& state) {
  const std::string jobs = state + "/jobs";
  std::vector<std::string> names = names_in(jobs).value_or({});
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  return names;
}

Result<void> JobFolder::remove() {
  // Under another name first: the job's own name is free at once, and readers never see half a job.
  const std::string jobs = path_.substr(0, path_.rfind('/'));
  const std::string going = jobs + "/.gone-" + hex(random_bytes(4));
  const bool renamed = ::rename(path_.c_str(), going.c_str()) == 0;
  Result<void> removed = remove_tree(renamed ? going : path_);
  lock_.reset();
  return removed;
}

Result<void> JobFolder::keep() {
  TRY(mark_kept());
  lock_.reset();
  return {};
}

Result<void> JobFolder::mark_kept() {
  return write_file(path_ + "/kept", "", 0600);
}

void JobFolder::forget_kept() {
  ::unlink((path_ + "/kept").c_str());
}

}  // namespace muster::engine
