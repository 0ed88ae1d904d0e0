#include "host/calls/intermediate.h"

#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <set>

#include "aws/s3client/s3_client.h"
#include "base/fd.h"
#include "host/calls/file_snapshot.h"
#include "net/loop/tasks.h"
#include "net/loop/tree_watch.h"
#include "net/loop/wait.h"

namespace muster::calls {
namespace {

constexpr const char* copies_folder = ".tmp.sagemaker_s3_sync";
constexpr int failures_told_max = 10;

struct Copy {
  std::string path;
  std::string relative;
};

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

/// Another process handles the folder.
bool is_taken(const Intermediate::Options& options) {
  return ::access(options.folder.c_str(), F_OK) == 0;
}

std::string plural(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " file" : " files");
}

}  // namespace

struct Intermediate::State {
  State(loop::Loop& on, std::shared_ptr<s3client::ObjectStore> to, const Log& with, Options given)
      : loop(on),
        store(std::move(to)),
        log(with),
        options(std::move(given)),
        changed(on),
        tasks(on) {}

  std::string path_of(const std::string& relative) const {
    return relative.empty() ? options.folder : options.folder + "/" + relative;
  }
  std::size_t left() const { return to_copy.size() + (copying.empty() ? 0 : 1) + to_upload.size(); }

  void watch_folder(const std::string& relative);
  void scan(const std::string& relative);
  void enqueue(const std::string& relative);
  void enqueue_if_new(const std::string& relative);
  void tell(const std::string& line);

  loop::Task<void> copying_files();
  loop::Task<void> uploading_files();

  loop::Loop& loop;
  std::shared_ptr<s3client::ObjectStore> store;
  const Log log;
  const Options options;
  s3wire::S3Url start;
  std::unique_ptr<loop::TreeWatch> watch;
  std::map<std::string, Stamp> known;  ///< Files as they were last copied; by relative path.
  std::deque<std::string> to_copy;
  std::set<std::string> queued;  ///< The content of `to_copy`, for lookups.
  std::string copying;           ///< The copy that is being made; empty: none.
  std::deque<Copy> to_upload;    ///< The first is under way.
  bool blind = false;            ///< A folder could not be watched; finish() finds its files.
  std::uint64_t copies = 0;
  int failures = 0;
  loop::Event changed;
  loop::Tasks tasks;
};

void Intermediate::State::tell(const std::string& line) {
  if (++failures <= failures_told_max) log.warning("intermediate output: " + line);
}

void Intermediate::State::watch_folder(const std::string& relative) {
  const Result<void> added = watch->add(path_of(relative), relative);
  if (added || blind) return;
  blind = true;
  tell(added.error().text + ": its files will be uploaded when the job ends");
}

/// Watches a folder and its subfolders, and queues the files that are already there.
void Intermediate::State::scan(const std::string& relative) {
  std::vector<std::string> todo{relative};
  while (!todo.empty()) {
    const std::string folder = std::move(todo.back());
    todo.pop_back();
    if (folder == copies_folder) continue;
    watch_folder(folder);  // First, so that no change is missed in between.
    for (const FolderEntry& entry : entries_of(path_of(folder))) {
      const std::string inner = joined(folder, entry.name);
      if (entry.is_folder)
        todo.push_back(inner);
      else
        enqueue_if_new(inner);
    }
  }
}

void Intermediate::State::enqueue_if_new(const std::string& relative) {
  const std::optional<Stamp> stamp = stamp_of(path_of(relative));
  const auto at = known.find(relative);
  if (stamp && (at == known.end() || at->second != *stamp)) enqueue(relative);
}

void Intermediate::State::enqueue(const std::string& relative) {
  if (relative == copies_folder || !queued.insert(relative).second) return;
  to_copy.push_back(relative);
  changed.notify();
}

loop::Task<void> Intermediate::State::copying_files() {
  while (true) {
    if (to_copy.empty() || to_upload.size() >= options.copies_max) {
      co_await changed.wait();
      continue;
    }
    const std::string relative = to_copy.front();
    to_copy.pop_front();
    queued.erase(relative);
    copying = path_of(copies_folder) + "/" + std::to_string(++copies) + ".copy";
    Result<Stamp> copied = co_await snapshot(loop, path_of(relative), copying);
    if (copied) {
      known[relative] = *copied;
      to_upload.push_back({copying, relative});
    } else if (copied.error().code != Errc::not_found &&  // Deleted meanwhile.
               copied.error().code != Errc::invalid_input) {
      tell(copied.error().text);
    }
    copying.clear();
    changed.notify();
  }
}

loop::Task<void> Intermediate::State::uploading_files() {
  while (true) {
    if (to_upload.empty()) {
      co_await changed.wait();
      continue;
    }
    const Copy copy = to_upload.front();
    const s3wire::S3Url to{start.bucket,
                           intermediate_key(start.key, options.job_name, copy.relative)};
    Result<void> sent = co_await store->upload(copy.path, to);
    ::unlink(copy.path.c_str());
    to_upload.pop_front();
    if (!sent) tell(sent.error().text);
    changed.notify();
  }
}

Intermediate::Intermediate(std::unique_ptr<State> state) : state_(std::move(state)) {}

Intermediate::~Intermediate() {
  state_->tasks.end();
  if (!state_->copying.empty()) ::unlink(state_->copying.c_str());
  for (const Copy& copy : state_->to_upload) ::unlink(copy.path.c_str());
}

Result<std::unique_ptr<Intermediate>> Intermediate::start(loop::Loop& loop, const Env& env,
                                                          const Log& log, Options options) {
  // Opened only when needed: a job without S3 has no credentials either.
  std::shared_ptr<s3client::ObjectStore> store;
  if (options.s3_output.starts_with("s3://") && !is_taken(options))
    store = TRY(s3client::S3Client::open(loop, env, log));
  return start(loop, std::move(store), log, std::move(options));
}

Result<std::unique_ptr<Intermediate>> Intermediate::start(
    loop::Loop& loop, std::shared_ptr<s3client::ObjectStore> store, const Log& log,
    Options options) {
  if (options.s3_output.empty() || is_taken(options)) return std::unique_ptr<Intermediate>();
  TRY(make_folders(options.folder + "/" + copies_folder));
  const std::string scheme = options.s3_output.substr(0, options.s3_output.find("://"));
  if (scheme == "file") return std::unique_ptr<Intermediate>();
  if (scheme != "s3")
    return fail(Errc::invalid_input,
                "Expecting 's3' scheme, got: " + scheme + " in " + options.s3_output);
  auto state = std::make_unique<State>(loop, std::move(store), log, std::move(options));
  state->start = TRY(s3wire::parse_s3_prefix(state->options.s3_output));
  loop::TreeWatch::Tell tell;
  tell.written = [at = state.get()](const std::string& file) { at->enqueue(file); };
  tell.appeared = [at = state.get()](const std::string& folder) { at->scan(folder); };
  state->watch = TRY(loop::TreeWatch::open(loop, std::move(tell)));
  state->scan("");
  state->tasks.start(state->copying_files());
  state->tasks.start(state->uploading_files());
  return std::unique_ptr<Intermediate>(new Intermediate(std::move(state)));
}

loop::Task<void> Intermediate::finish(TimePoint deadline) {
  State& s = *state_;
  CHECK_THAT(s.watch != nullptr, "finish() is called once");
  s.watch->take();
  s.scan("");  // Finds links and files without an event.
  bool in_time = true;
  while (in_time && s.left() > 0) in_time = co_await s.changed.wait_until(deadline);
  s.watch.reset();
  s.tasks.end();
  if (s.left() > 0) s.log.warning("intermediate output: not uploaded in time: " + plural(s.left()));
  if (s.failures > failures_told_max)
    s.log.warning("intermediate output: failed uploads in total: " +
                  plural(static_cast<std::size_t>(s.failures)));
}

std::string intermediate_key(const std::string& start, const std::string& job_name,
                             const std::string& relative) {
  std::string key = start.substr(std::min(start.find_first_not_of('/'), start.size()));
  for (const std::string& part : {job_name, std::string("output/intermediate"), relative}) {
    if (!key.empty() && !key.ends_with('/')) key += '/';
    key += part;
  }
  return key;
}

}  // namespace muster::calls
