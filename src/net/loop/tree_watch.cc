#include "net/loop/tree_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>

#include "base/fd.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::loop {
namespace {

constexpr std::uint32_t watched =
    IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_ONLYDIR;

/// All programs of a user share the kernel's watches, so one job must not use all of them.
constexpr std::size_t folders_max = 4096;
/// Untrusted writers choose the length of the paths.
constexpr std::size_t paths_bytes_max = 4u << 20;

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

}  // namespace

struct TreeWatch::State {
  State(Loop& loop, Fd events, Tell to)
      : inotify(std::move(events)), watch(loop, inotify.get()), tell(std::move(to)), tasks(loop) {
    tasks.start(watching());
  }

  void take();
  void take_event(const inotify_event& event, const std::string& name);
  void put(int number, const std::string& folder);
  void remove(const std::string& folder);
  Task<> watching();

  const Fd inotify;
  Watch watch;
  const Tell tell;
  std::map<int, std::string> folders;  ///< By watch descriptor; relative.
  std::size_t paths_bytes = 0;         ///< The total size of the paths.
  Tasks tasks;
};

void TreeWatch::State::put(int number, const std::string& folder) {
  std::string& path = folders[number];
  paths_bytes += folder.size() - path.size();
  path = folder;
}

void TreeWatch::State::remove(const std::string& folder) {
  for (auto at = folders.begin(); at != folders.end();) {
    if (!is_below(at->second, folder)) {
      ++at;
      continue;
    }
    ::inotify_rm_watch(inotify.get(), at->first);
    paths_bytes -= at->second.size();
    at = folders.erase(at);
  }
}

void TreeWatch::State::take_event(const inotify_event& event, const std::string& name) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) return tell.appeared("");
  const auto at = folders.find(event.wd);
  if ((event.mask & IN_IGNORED) != 0) {
    if (at == folders.end()) return;
    paths_bytes -= at->second.size();
    folders.erase(at);
    return;
  }
  if (at == folders.end() || name.empty()) return;
  const std::string relative = at->second.empty() ? name : at->second + "/" + name;
  if ((event.mask & IN_ISDIR) == 0) {
    if ((event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) tell.written(relative);
  } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
    tell.appeared(relative);
  } else if ((event.mask & IN_MOVED_FROM) != 0) {
    remove(relative);
  }
}

void TreeWatch::State::take() {
  std::array<char, 64u << 10> buffer;
  while (true) {
    const ssize_t size = ::read(inotify.get(), buffer.data(), buffer.size());
    if (size <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      take_event(event, event.len > 0 ? std::string(name, ::strnlen(name, event.len)) : "");
      at += sizeof event + event.len;
    }
  }
}

Task<> TreeWatch::State::watching() {
  while (true) {
    const bool ready = co_await watch.readable();
    if (!ready) co_return;
    take();
  }
}

TreeWatch::TreeWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}

TreeWatch::~TreeWatch() = default;

Result<std::unique_ptr<TreeWatch>> TreeWatch::open(Loop& loop, Tell tell) {
  Fd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify) return fail_errno("cannot watch folders with inotify");
  auto state = std::make_unique<State>(loop, std::move(inotify), std::move(tell));
  return std::unique_ptr<TreeWatch>(new TreeWatch(std::move(state)));
}

Result<void> TreeWatch::add(const std::string& path, const std::string& relative) {
  if (state_->folders.size() >= folders_max ||
      state_->paths_bytes + relative.size() > paths_bytes_max)
    return fail(Errc::system,
                "too many folders to watch: the limits are 4096 folders and 4 MiB of paths");
  const int number = ::inotify_add_watch(state_->inotify.get(), path.c_str(), watched);
  if (number >= 0)
    state_->put(number, relative);
  else if (errno != ENOENT && errno != ENOTDIR)
    return fail_errno("cannot watch " + path);
  return {};
}

void TreeWatch::take() {
  state_->take();
}

}  // namespace muster::loop
