#include "steward/checkpoint_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/fd.h"
#include "base/folder.h"
#include "base/terminal.h"
#include "base/text.h"
#include "job/journal.h"
#include "loop/tasks.h"
#include "loop/tree_watch.h"
#include "loop/wait.h"

namespace muster::steward {
namespace {

constexpr std::size_t told_max = 10;
constexpr int depth_max = 64;
constexpr std::size_t shown_max = 200;
constexpr std::chrono::minutes stored_pause{1};

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
  if (names.size() > depth_max + 1) return Fd();  // A file in the deepest folder.
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

class S3Checkpoints final : public CheckpointPlace {
 public:
  S3Checkpoints(std::shared_ptr<s3client::ObjectStore> store, s3wire::S3Url to)
      : store_(std::move(store)), to_(std::move(to)) {
    if (!to_.key.empty() && !to_.key.ends_with('/')) to_.key += '/';
  }
  loop::Task<Result<void>> store(std::string path, std::string relative,
                                 std::function<bool()>) override {
    s3wire::S3Url to{to_.bucket, to_.key + relative};
    Result<void> stored = co_await store_->upload(std::move(path), std::move(to));
    co_return stored;
  }

 private:
  std::shared_ptr<s3client::ObjectStore> store_;
  s3wire::S3Url to_;
};

}  // namespace

std::unique_ptr<CheckpointPlace> checkpoints_in_s3(std::shared_ptr<s3client::ObjectStore> store,
                                                   s3wire::S3Url to) {
  return std::make_unique<S3Checkpoints>(std::move(store), std::move(to));
}

struct CheckpointSync::State {
  State(loop::Loop& on, std::unique_ptr<CheckpointPlace> to, Options given,
        std::function<void(const std::string&)> with)
      : place(std::move(to)),
        options(std::move(given)),
        tell(std::move(with)),
        changed(on),
        tasks(on) {}

  void watch_folder(const std::string& relative);
  void scan(const std::string& relative, bool as_stored);
  void take_file(const std::string& relative, bool as_stored);
  void tell_deep(const std::string& relative);
  void note_failure(const std::string& relative, const Error& error);
  void note_stored(const std::string& relative, const Stamp& stamp);
  loop::Task<> uploading();

  const std::unique_ptr<CheckpointPlace> place;
  const Options options;
  const std::function<void(const std::string&)> tell;
  Fd root;
  std::unique_ptr<loop::TreeWatch> watch;
  std::map<std::string, Stamp> stored;  ///< What `place` has; by relative path.
  std::deque<std::string> queue;
  std::set<std::string> queued;  ///< What is in `queue`, to look up.
  std::set<std::string> going;   ///< Under way.
  std::map<std::string, std::string> failures;
  std::size_t told = 0;
  bool deep_told = false;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  TimePoint tell_stored_at = TimePoint::min();
  loop::Event changed;
  loop::Tasks tasks;
};

void CheckpointSync::State::watch_folder(const std::string& relative) {
  const Fd folder = open_below(root.get(), relative, O_PATH | O_DIRECTORY);
  if (!folder) return;
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get());
  // Where there are no more watches to be had, the end of the job finds its files.
  static_cast<void>(watch->add(path, relative));
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
    if (std::ranges::count(at, '/') >= depth_max) {
      tell_deep(at);
      continue;
    }
    // By the descriptor also the root itself: its path may be a link by now.
    const Fd folder = at.empty() ? Fd(::openat(root.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
                                 : open_below(root.get(), at, O_RDONLY | O_DIRECTORY);
    if (!folder) continue;
    for (const std::string& name : names_in(folder.get(), at).value_or({})) {
      struct stat status {};
      if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(status.st_mode)) todo.push_back(joined(at, name));
      if (S_ISREG(status.st_mode)) take_file(joined(at, name), as_stored);
    }
  }
}

void CheckpointSync::State::tell_deep(const std::string& relative) {
  if (std::exchange(deep_told, true)) return;
  tell("checkpoints: what lies deeper than " + std::to_string(depth_max) +
       " folders is not stored: " + to_utf8(relative.substr(0, shown_max)) + "...");
}

void CheckpointSync::State::note_failure(const std::string& relative, const Error& error) {
  failures[relative] = error.text;
  if (++told <= told_max) tell("checkpoint not stored: " + error.text);
}

void CheckpointSync::State::note_stored(const std::string& relative, const Stamp& stamp) {
  ++files;
  bytes += stamp.bytes;
  stored[relative] = stamp;
  failures.erase(relative);
  const TimePoint now = Clock::now();
  if (!options.tell_stored || now < tell_stored_at) return;
  tell_stored_at = now + stored_pause;
  options.tell_stored(std::string(job::checkpoint_stored) +
                      visible_line(relative.substr(0, shown_max)) + ", file " +
                      std::to_string(files) + " of this attempt");
}

loop::Task<> CheckpointSync::State::uploading() {
  while (true) {
    // One file is never under way twice: the later upload might end first.
    std::size_t next = 0;
    while (next < queue.size() && going.contains(queue[next])) ++next;
    if (next == queue.size()) {
      co_await changed.wait();
      continue;
    }
    const std::string relative = queue[next];
    queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(next));
    queued.erase(relative);
    const OpenFile file = open_file(root.get(), relative);
    if (!file.fd) continue;  // Gone meanwhile.
    going.insert(relative);
    std::string path = "/proc/self/fd/" + std::to_string(file.fd.get());
    std::function<bool()> is_current = [this, relative, stamp = file.stamp] {
      return open_file(root.get(), relative).stamp == stamp;
    };
    const Result<void> sent =
        co_await place->store(std::move(path), relative, std::move(is_current));
    going.erase(relative);
    if (sent) {
      note_stored(relative, file.stamp);
    } else if (open_file(root.get(), relative).stamp == file.stamp) {
      note_failure(relative, sent.error());
    }  // Else it changed meanwhile; its writer's end brings it here again.
    changed.notify();
  }
}

CheckpointSync::CheckpointSync(std::unique_ptr<State> state) : state_(std::move(state)) {}

CheckpointSync::~CheckpointSync() = default;

Result<std::unique_ptr<CheckpointSync>> CheckpointSync::start(
    loop::Loop& loop, std::unique_ptr<CheckpointPlace> place, Options options,
    std::function<void(const std::string& line)> tell) {
  auto state = std::make_unique<State>(loop, std::move(place), std::move(options), std::move(tell));
  const std::string& folder = state->options.folder;
  state->root = Fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!state->root) return fail_errno(folder);
  loop::TreeWatch::Tell told;
  told.written = [at = state.get()](const std::string& file) { at->take_file(file, false); };
  told.appeared = [at = state.get()](const std::string& inner) { at->scan(inner, false); };
  state->watch = TRY(loop::TreeWatch::open(loop, std::move(told)));
  state->scan("", true);
  for (int i = 0; i < state->options.uploads; ++i) state->tasks.start(state->uploading());
  return std::unique_ptr<CheckpointSync>(new CheckpointSync(std::move(state)));
}

loop::Task<Result<void>> CheckpointSync::finish() {
  State& state = *state_;
  CHECK_THAT(state.watch, "checkpoints are finished once");
  state.watch->take();
  while (!state.going.empty()) co_await state.changed.wait();
  state.failures.clear();
  state.scan("", false);  // Also what failed, and what no event told of.
  while (!state.queue.empty() || !state.going.empty()) co_await state.changed.wait();
  state.watch.reset();
  state.tasks.end();
  if (state.failures.empty()) co_return Result<void>();
  const std::size_t more = state.failures.size() - 1;
  std::string text = state.failures.begin()->second;
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
