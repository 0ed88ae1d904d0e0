#include "machine/steward/checkpoint_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "job/wire/journal.h"
#include "machine/steward/file_walk.h"
#include "net/loop/tasks.h"
#include "net/loop/tree_watch.h"
#include "net/loop/wait.h"

namespace muster::steward {
namespace {

constexpr std::size_t told_max = 10;
constexpr std::size_t shown_max = 200;
constexpr std::size_t queue_bytes_max = 1u << 20;
constexpr int walked_at_a_time = 1000;  ///< Before the loop runs other tasks.
constexpr std::chrono::minutes stored_pause{1};
constexpr std::size_t s3_key_bytes_max = 1024;  ///< Source: the S3 user guide, "Object key names".

struct OpenFile {
  Fd fd;  ///< Empty: deleted, or not a regular file.
  Stamp stamp;
};
OpenFile open_file(int root, const std::string& relative) {
  OpenFile file{open_below(root, relative, O_RDONLY | O_NONBLOCK | O_NOCTTY), {}};
  struct stat status {};
  if (!file.fd || ::fstat(file.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  file.stamp = stamp_of(status);
  return file;
}

std::uint64_t number_of(const Stamp& stamp) {
  const std::hash<std::string_view> hash;
  return hash({reinterpret_cast<const char*>(&stamp), sizeof stamp});
}

/// Files and their stamps, stored as one number each, so memory does not depend on the length of
/// names. If two files have the same number by chance, a file is stored again.
class StoredFiles {
 public:
  bool has(const std::string& path, const Stamp& stamp) const {
    const auto at = stamps_.find(number_of(path));
    return at != stamps_.end() && at->second == steward::number_of(stamp);
  }
  bool knows(const std::string& path) const { return stamps_.contains(number_of(path)); }
  std::size_t size() const { return stamps_.size(); }
  void add(const std::string& path, const Stamp& stamp) {
    stamps_[number_of(path)] = steward::number_of(stamp);
  }

 private:
  static std::uint64_t number_of(const std::string& path) { return std::hash<std::string>()(path); }
  std::unordered_map<std::uint64_t, std::uint64_t> stamps_;
};

class S3Checkpoints final : public CheckpointPlace {
 public:
  S3Checkpoints(std::shared_ptr<s3client::ObjectStore> store, s3wire::S3Url to)
      : store_(std::move(store)), to_(std::move(to)) {
    if (!to_.key.empty() && !to_.key.ends_with('/')) to_.key += '/';
  }
  std::size_t path_bytes_max() const override {
    return s3_key_bytes_max - std::min(s3_key_bytes_max, to_.key.size());
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
  bool is_wanted(const std::string& relative, const Stamp& stamp);
  void queue_file(const std::string& relative, const Stamp& stamp);
  void ask_for_pass();
  void forget_queue();
  std::optional<std::string> take_queued();
  loop::Task<std::optional<std::string>> next_of_pass();
  void tell_deep(const std::string& relative);
  void note_failure(const Error& error);
  void note_stored(const std::string& relative, const Stamp& stamp);
  loop::Task<> uploading();
  bool is_idle() const { return queue.empty() && going.empty() && !pass && !pass_wanted; }
  Result<void> within_limit() const;

  const std::unique_ptr<CheckpointPlace> place;
  const Options options;
  const std::function<void(const std::string&)> tell;
  Fd root;
  std::unique_ptr<loop::TreeWatch> watch;
  StoredFiles stored;             ///< What `place` has.
  std::deque<std::string> queue;  ///< Limited; a pass finds the files that do not fit.
  std::set<std::string> queued;   ///< The content of `queue`, for lookups.
  std::size_t queue_bytes = 0;
  std::set<std::string> going;   ///< Being stored.
  std::optional<FileWalk> pass;  ///< Walks over all files, to find those missing in `stored`.
  bool pass_wanted = false;      ///< Another pass is needed.
  std::uint64_t failures = 0;    ///< Since finish() requested the last pass.
  std::string first_failure;
  std::uint64_t left_out = 0;  ///< In the last pass: files whose paths are too long.
  std::uint64_t beyond = 0;    ///< In the last pass: files beyond the limit.
  bool beyond_told = false;
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
  // If the limit of watches is reached, the end of the job finds the folder's files.
  static_cast<void>(watch->add(path, relative));
}

/// Whether the file should be stored. Reports why it cannot be.
bool CheckpointSync::State::is_wanted(const std::string& relative, const Stamp& stamp) {
  if (stored.has(relative, stamp)) return false;
  if (relative.size() > place->path_bytes_max()) {
    ++left_out;
    if (++told <= told_max)
      tell("checkpoint skipped: a path of " + std::to_string(relative.size()) +
           " bytes exceeds the limit of " + std::to_string(place->path_bytes_max()) + ": " +
           visible_line(relative.substr(0, shown_max)) + "...");
    return false;
  }
  if (stored.size() < options.files_max || stored.knows(relative)) return true;
  ++beyond;
  if (!std::exchange(beyond_told, true))
    tell("checkpoints: there are more than " + std::to_string(options.files_max) +
         " files, which is the limit; the rest are not stored");
  return false;
}

Result<void> CheckpointSync::State::within_limit() const {
  if (beyond == 0) return {};
  return fail(Errc::invalid_input, std::to_string(stored.size() + beyond) +
                                       " files exceed the limit of " +
                                       std::to_string(options.files_max));
}

void CheckpointSync::State::queue_file(const std::string& relative, const Stamp& stamp) {
  if (queued.contains(relative) || !is_wanted(relative, stamp)) return;
  if (queue_bytes + relative.size() > queue_bytes_max) return ask_for_pass();
  queue_bytes += relative.size();
  queued.insert(relative);
  queue.push_back(relative);
  changed.notify();
}

void CheckpointSync::State::ask_for_pass() {
  pass_wanted = true;
  changed.notify();
}

void CheckpointSync::State::forget_queue() {
  queue.clear();
  queued.clear();
  queue_bytes = 0;
  pass.reset();
  pass_wanted = false;
}

/// Watches a folder and its subfolders, and queues the files that are already there.
void CheckpointSync::State::scan(const std::string& relative, bool as_stored) {
  FileWalk walk(root.get(), relative);
  while (const std::optional<FileWalk::Found> found = walk.next()) {
    if (found->is_folder)
      watch_folder(found->path);  // First, so that no change is missed in between.
    if (found->is_too_deep) tell_deep(found->path);
    if (found->is_folder) continue;
    if (as_stored && stored.size() < options.files_max)
      stored.add(found->path, found->stamp);
    else
      queue_file(found->path, found->stamp);
  }
}

void CheckpointSync::State::tell_deep(const std::string& relative) {
  if (std::exchange(deep_told, true)) return;
  tell("checkpoints: files deeper than " + std::to_string(FileWalk::depth_max) +
       " folders are not stored: " + to_utf8(relative.substr(0, shown_max)) + "...");
}

void CheckpointSync::State::note_failure(const Error& error) {
  if (++failures == 1) first_failure = error.text;
  if (++told <= told_max) tell("checkpoint not stored: " + error.text);
}

void CheckpointSync::State::note_stored(const std::string& relative, const Stamp& stamp) {
  ++files;
  bytes += stamp.bytes;
  stored.add(relative, stamp);
  const TimePoint now = Clock::now();
  if (!options.tell_stored || now < tell_stored_at) return;
  tell_stored_at = now + stored_pause;
  options.tell_stored(std::string(job::checkpoint_stored) +
                      visible_line(relative.substr(0, shown_max)) + ", file " +
                      std::to_string(files) + " of this attempt");
}

/// A file is never stored twice at the same time: the later upload might end first.
std::optional<std::string> CheckpointSync::State::take_queued() {
  std::size_t next = 0;
  while (next < queue.size() && going.contains(queue[next])) ++next;
  if (next == queue.size()) return std::nullopt;
  std::string relative = std::move(queue[next]);
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(next));
  queued.erase(relative);
  queue_bytes -= relative.size();
  return relative;
}

/// A file that changes while it is being stored is found again when its writer closes it.
loop::Task<std::optional<std::string>> CheckpointSync::State::next_of_pass() {
  loop::Timer turn(tasks.loop());
  for (int walked = 1; pass || pass_wanted; ++walked) {
    if (!pass) {
      pass.emplace(root.get(), "");
      pass_wanted = false;
      left_out = 0;
      beyond = 0;
    }
    const std::optional<FileWalk::Found> found = pass->next();
    if (!found) {
      pass.reset();
      changed.notify();
      continue;
    }
    if (found->is_folder) watch_folder(found->path);
    if (found->is_too_deep) tell_deep(found->path);
    if (!found->is_folder && !going.contains(found->path) && is_wanted(found->path, found->stamp))
      co_return found->path;
    if (walked % walked_at_a_time == 0) co_await turn.after(Duration::zero());
  }
  co_return std::nullopt;
}

loop::Task<> CheckpointSync::State::uploading() {
  while (true) {
    std::optional<std::string> next = take_queued();
    if (!next) next = co_await next_of_pass();
    if (!next) {
      co_await changed.wait();
      continue;
    }
    const std::string relative = *std::move(next);
    const OpenFile file = open_file(root.get(), relative);
    if (!file.fd) continue;  // Deleted meanwhile.
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
      note_failure(sent.error());
    }  // Otherwise it changed meanwhile, and is stored when its writer closes it.
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
  if (!state->root) return fail_errno("cannot open " + folder);
  loop::TreeWatch::Tell told;
  told.written = [at = state.get()](const std::string& path) {
    const OpenFile file = open_file(at->root.get(), path);
    if (file.fd) at->queue_file(path, file.stamp);
  };
  told.appeared = [at = state.get()](const std::string& inner) {
    if (inner.empty()) return at->ask_for_pass();
    at->scan(inner, false);
  };
  state->watch = TRY(loop::TreeWatch::open(loop, std::move(told)));
  state->scan("", true);
  TRY(state->within_limit());
  for (int i = 0; i < state->options.uploads; ++i) state->tasks.start(state->uploading());
  return std::unique_ptr<CheckpointSync>(new CheckpointSync(std::move(state)));
}

loop::Task<Result<void>> CheckpointSync::finish() {
  State& state = *state_;
  CHECK_THAT(state.watch, "checkpoints are finished once");
  state.watch->take();
  state.forget_queue();
  while (!state.going.empty()) co_await state.changed.wait();
  state.failures = 0;
  state.ask_for_pass();  // Also finds files that failed or had no event.
  while (!state.is_idle()) co_await state.changed.wait();
  state.watch.reset();
  state.tasks.end();
  if (state.left_out > 0)
    state.tell("checkpoints: " + std::to_string(state.left_out) +
               " files skipped: their paths are too long");
  if (Result<void> all = state.within_limit(); !all) co_return all.error();
  if (state.failures == 0) co_return Result<void>();
  std::string text = state.first_failure;
  if (state.failures > 1) text += "; and " + std::to_string(state.failures - 1) + " more";
  co_return fail(Errc::system, text);
}

std::uint64_t CheckpointSync::files() const {
  return state_->files;
}
std::uint64_t CheckpointSync::bytes() const {
  return state_->bytes;
}

}  // namespace muster::steward
