#include "steward/checkpoint_sync.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "loop/wait.h"

namespace muster::steward {
namespace {

constexpr std::uint32_t watched = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM;
constexpr std::size_t told_max = 10;
constexpr std::size_t depth_max = 64;

/// A regular file as it was at some time: another stamp, other bytes.
struct Stamp {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const Stamp&) const = default;
};

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

/// Opens what is below `root` without following a link anywhere on the way.
Fd open_below(int root, const std::string& relative, int flags) {
  Fd at(::fcntl(root, F_DUPFD_CLOEXEC, 3));
  std::vector<std::string> names;
  if (!relative.empty()) names = split(relative, '/');
  if (names.size() > depth_max) return Fd();
  for (std::size_t i = 0; at && i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    const int how = last ? flags : O_PATH | O_DIRECTORY;
    at = Fd(::openat(at.get(), names[i].c_str(), how | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

struct OpenFile {
  Fd fd;  ///< Empty: gone, or no regular file.
  Stamp stamp;
};
OpenFile open_file(int root, const std::string& relative) {
  OpenFile file{open_below(root, relative, O_RDONLY | O_NONBLOCK | O_NOCTTY), {}};
  struct stat status {};
  if (!file.fd || ::fstat(file.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  file.stamp = {status.st_ino, static_cast<std::uint64_t>(status.st_size),
                std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
  return file;
}

}  // namespace

struct CheckpointSync::State {
  State(loop::Loop& on, std::shared_ptr<objects::ObjectStore> to, Options given,
        std::function<void(const std::string&)> with)
      : loop(on),
        store(std::move(to)),
        options(std::move(given)),
        tell(std::move(with)),
        changed(on) {}

  void watch_folder(const std::string& relative);
  void unwatch(const std::string& relative);
  void scan(const std::string& relative, bool as_stored);
  void take_file(const std::string& relative, bool as_stored);
  void drain_events();
  void take_event(const inotify_event& event, const std::string& name);
  void note_failure(const std::string& relative, const Error& error);
  objects::S3Url url_of(const std::string& relative) const;
  static loop::Task<> watching(std::shared_ptr<State> state);
  static loop::Task<> uploading(std::shared_ptr<State> state);

  loop::Loop& loop;
  const std::shared_ptr<objects::ObjectStore> store;
  const Options options;
  const std::function<void(const std::string&)> tell;
  Fd root;
  Fd inotify;
  std::unique_ptr<loop::Watch> watch;
  std::map<int, std::string> folders;   ///< By watch descriptor; relative.
  std::map<std::string, Stamp> stored;  ///< What S3 has; by relative path.
  std::deque<std::string> queue;
  std::set<std::string> queued;  ///< The same, to look up.
  std::set<std::string> going;   ///< Under way.
  std::map<std::string, std::string> failures;
  std::size_t told = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool ended = false;
  loop::Event changed;
};

objects::S3Url CheckpointSync::State::url_of(const std::string& relative) const {
  std::string key = options.to.key;
  if (!key.empty() && !key.ends_with('/')) key += '/';
  return {options.to.bucket, key + relative};
}

void CheckpointSync::State::watch_folder(const std::string& relative) {
  const Fd folder = open_below(root.get(), relative, O_PATH | O_DIRECTORY);
  if (!folder) return;
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get());
  const int number = ::inotify_add_watch(inotify.get(), path.c_str(), watched | IN_ONLYDIR);
  // Where there are no more watches to be had, the end of the job finds its files.
  if (number >= 0) folders[number] = relative;
}

void CheckpointSync::State::unwatch(const std::string& relative) {
  for (auto at = folders.begin(); at != folders.end();) {
    const bool below = at->second == relative || at->second.starts_with(relative + "/");
    if (below) ::inotify_rm_watch(inotify.get(), at->first);
    at = below ? folders.erase(at) : std::next(at);
  }
}

void CheckpointSync::State::take_file(const std::string& relative, bool as_stored) {
  const OpenFile file = open_file(root.get(), relative);
  if (!file.fd) return;
  if (as_stored) {
    stored[relative] = file.stamp;
    return;
  }
  const auto at = stored.find(relative);
  if (at != stored.end() && at->second == file.stamp) return;
  if (!queued.insert(relative).second) return;
  queue.push_back(relative);
  changed.notify();
}

/// Watches a folder and those in it, and takes what is there already.
void CheckpointSync::State::scan(const std::string& relative, bool as_stored) {
  std::vector<std::string> todo{relative};
  while (!todo.empty()) {
    const std::string at = std::move(todo.back());
    todo.pop_back();
    watch_folder(at);  // First, so that nothing comes between.
    Fd folder = open_below(root.get(), at, O_RDONLY | O_DIRECTORY);
    // The root itself is only O_PATH.
    if (at.empty()) folder = Fd(::open(options.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) continue;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(folder.get()), ::closedir);
    if (!stream) continue;
    static_cast<void>(folder.release());
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat status {};
      const int dir = ::dirfd(stream.get());
      if (::fstatat(dir, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(status.st_mode)) todo.push_back(joined(at, name));
      if (S_ISREG(status.st_mode)) take_file(joined(at, name), as_stored);
    }
  }
}

void CheckpointSync::State::take_event(const inotify_event& event, const std::string& name) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) return scan("", false);
  if ((event.mask & IN_IGNORED) != 0) {
    folders.erase(event.wd);
    return;
  }
  const auto at = folders.find(event.wd);
  if (at == folders.end() || name.empty()) return;
  const std::string relative = joined(at->second, name);
  if ((event.mask & IN_ISDIR) == 0) {
    if ((event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) take_file(relative, false);
  } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
    scan(relative, false);
  } else if ((event.mask & IN_MOVED_FROM) != 0) {
    unwatch(relative);
  }
}

void CheckpointSync::State::drain_events() {
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

loop::Task<> CheckpointSync::State::watching(std::shared_ptr<State> state) {
  while (!state->ended) {
    const bool ready = co_await state->watch->readable();
    if (state->ended || !ready) co_return;
    state->drain_events();
  }
}

void CheckpointSync::State::note_failure(const std::string& relative, const Error& error) {
  failures[relative] = error.text;
  if (++told <= told_max) tell("checkpoint not stored: " + error.text);
}

loop::Task<> CheckpointSync::State::uploading(std::shared_ptr<State> state) {
  while (!state->ended) {
    // One file is never under way twice: the later upload might end first.
    std::size_t next = 0;
    while (next < state->queue.size() && state->going.contains(state->queue[next])) ++next;
    if (next == state->queue.size()) {
      co_await state->changed.wait();
      continue;
    }
    const std::string relative = state->queue[next];
    state->queue.erase(state->queue.begin() + static_cast<std::ptrdiff_t>(next));
    state->queued.erase(relative);
    const OpenFile file = open_file(state->root.get(), relative);
    if (!file.fd) continue;  // Gone meanwhile.
    state->going.insert(relative);
    std::string path = "/proc/self/fd/" + std::to_string(file.fd.get());
    objects::S3Url to = state->url_of(relative);
    Result<void> sent = co_await state->store->upload(std::move(path), std::move(to));
    state->going.erase(relative);
    if (state->ended) co_return;
    if (sent) {
      ++state->files;
      state->bytes += file.stamp.bytes;
      state->stored[relative] = file.stamp;
      state->failures.erase(relative);
    } else if (open_file(state->root.get(), relative).stamp == file.stamp) {
      state->note_failure(relative, sent.error());
    }  // Else it changed meanwhile; its writer's end brings it here again.
    state->changed.notify();
  }
}

CheckpointSync::CheckpointSync(std::shared_ptr<State> state) : state_(std::move(state)) {}

CheckpointSync::~CheckpointSync() {
  state_->ended = true;
  state_->watch->cancel();
  state_->changed.notify();
}

Result<std::unique_ptr<CheckpointSync>> CheckpointSync::start(
    loop::Loop& loop, std::shared_ptr<objects::ObjectStore> store, Options options,
    std::function<void(const std::string& line)> tell) {
  auto state = std::make_shared<State>(loop, std::move(store), std::move(options), std::move(tell));
  const std::string& folder = state->options.folder;
  state->root = Fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!state->root) return fail_errno(folder);
  state->inotify = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!state->inotify) return fail_errno("checkpoints: inotify");
  state->watch = std::make_unique<loop::Watch>(loop, state->inotify.get());
  state->scan("", true);
  loop.spawn(State::watching(state));
  for (int i = 0; i < state->options.uploads; ++i) loop.spawn(State::uploading(state));
  return std::unique_ptr<CheckpointSync>(new CheckpointSync(std::move(state)));
}

loop::Task<Result<void>> CheckpointSync::finish() {
  const std::shared_ptr<State> state = state_;
  state->drain_events();
  while (!state->going.empty()) co_await state->changed.wait();
  state->failures.clear();
  state->scan("", false);  // Also what failed, and what no event told of.
  while (!state->queue.empty() || !state->going.empty()) co_await state->changed.wait();
  state->ended = true;
  state->watch->cancel();
  state->changed.notify();
  if (state->failures.empty()) co_return Result<void>();
  const std::size_t more = state->failures.size() - 1;
  std::string text = state->failures.begin()->second;
  if (more > 0) text += "; and " + std::to_string(more) + " more";
  co_return fail(Errc::system, text);
}

std::uint64_t CheckpointSync::files() const {
  return state_->files;
}
std::uint64_t CheckpointSync::bytes() const {
  return state_->bytes;
}

}  // namespace muster::steward
