#include "image/pull/pull.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "image/pull/pull_signatures.h"
#include "net/loop/tasks.h"
#include "net/loop/worker.h"

namespace muster::image {
namespace {

constexpr int indexes_max = 4;  ///< In each other.

/// What an image is made of.
struct Documents {
  std::string manifest_bytes;
  std::string config_bytes;
  Manifest manifest;
  ImageConfig config;
};

/// The layers whose blobs are here; the loop reports them to the thread that unpacks.
class Arrivals {
 public:
  explicit Arrivals(std::size_t layers) : here_(layers, true) {}
  void expect(std::size_t layer) { here_[layer] = false; }
  void came(const std::vector<std::size_t>& layers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::size_t layer : layers) here_[layer] = true;
    changed_.notify_all();
  }
  /// Nothing more comes.
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  /// Blocks. What does not come any more is not waited for.
  void wait_for(std::size_t layer) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return here_[layer] || ended_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> here_;
  bool ended_ = false;
};

/// Ends the arrivals with the last of the tasks that hold it, also of those that were destroyed
/// where they waited: the thread that waits for arrivals must not outlast them.
class Bringers {
 public:
  explicit Bringers(std::shared_ptr<Arrivals> arrivals) : arrivals_(std::move(arrivals)) {}
  Bringers(const Bringers&) = delete;
  Bringers& operator=(const Bringers&) = delete;
  ~Bringers() { arrivals_->end(); }
  Arrivals& arrivals() const { return *arrivals_; }

 private:
  std::shared_ptr<Arrivals> arrivals_;
};

/// A blob that has to come, and the layers that are in it.
struct Wanted {
  Descriptor blob;
  std::vector<std::size_t> layers;
};

/// One pull under way; on the loop but for what in_thread() gets.
struct Course {
  Course(loop::Loop& on, Registry& from, std::shared_ptr<Store> into, PullOptions with)
      : loop(on), registry(from), store(std::move(into)), options(std::move(with)) {}

  void tell() const {
    if (options.on_progress) options.on_progress(progress);
  }
  void end(const Error& why) {
    if (!failure) failure = why;
    arrivals->end();
  }

  loop::Loop& loop;
  Registry& registry;
  const std::shared_ptr<Store> store;
  const PullOptions options;
  Documents documents;
  std::optional<Source> source;  ///< Known once the registry has let this pull in.
  std::shared_ptr<Budget> budget;
  std::shared_ptr<Arrivals> arrivals;
  std::vector<Wanted> wanted;
  std::size_t next = 0;
  PullProgress progress;
  std::optional<Error> failure;  ///< The first one; then nothing more is begun.
  std::optional<Image> image;
  std::vector<std::string> left_out;  ///< Written by the thread that unpacks, read after its end.
};

/// The manifest of an image, and the indexes that led to it.
struct FoundManifest {
  std::string bytes;
  std::vector<std::string> indexes;  ///< The innermost first.
};

/// The manifest of the one image that `image` means for the platform.
loop::Task<Result<FoundManifest>> find_manifest(Registry& registry, Reference image,
                                                Platform platform) {
  FoundManifest found;
  std::string which = image.digest.empty() ? image.tag : image.digest;
  for (int depth = 0; depth <= indexes_max; ++depth) {
    Result<std::string> bytes = co_await registry.manifest(which);
    if (!bytes) co_return bytes.error();
    const Result<std::variant<Manifest, Index>> read = manifest_from(*bytes);
    if (!read) co_return read.error().in(to_text(image));
    const Index* index = std::get_if<Index>(&*read);
    if (index == nullptr) {
      found.bytes = *std::move(bytes);
      co_return found;
    }
    const Result<Descriptor> chosen = choose(*index, platform);
    if (!chosen) co_return chosen.error().in(to_text(image));
    which = chosen->digest;
    found.indexes.insert(found.indexes.begin(), *std::move(bytes));
  }
  co_return fail(Errc::protocol, to_text(image) + ": image indexes are nested deeper than " +
                                     std::to_string(indexes_max));
}

loop::Task<Result<std::string>> bring_config(Registry& registry, Descriptor config) {
  if (config.bytes > document_bytes_max)
    co_return fail(Errc::protocol, "the image's configuration is larger than " +
                                       std::to_string(document_bytes_max >> 20) + " MiB");
  const auto text = std::make_shared<std::string>();
  const Registry::Take take = [text](std::string_view bytes) {
    *text += bytes;
    return Result<void>();
  };
  const Result<void> came = co_await registry.blob(config.digest, config.bytes, take);
  if (!came) co_return came.error();
  co_return std::move(*text);
}

loop::Task<Result<Documents>> find_documents(Registry& registry, std::string name,
                                             std::string manifest_bytes) {
  Documents found;
  found.manifest_bytes = std::move(manifest_bytes);
  const Result<std::variant<Manifest, Index>> read = manifest_from(found.manifest_bytes);
  found.manifest = std::get<Manifest>(*read);
  Result<std::string> text = co_await bring_config(registry, found.manifest.config);
  if (!text) co_return text.error();
  found.config_bytes = *std::move(text);
  Result<ImageConfig> config = config_from(found.config_bytes);
  if (!config) co_return config.error().in(name);
  found.config = *std::move(config);
  if (found.config.diff_ids.size() != found.manifest.layers.size())
    co_return fail(Errc::protocol,
                   name + ": the manifest and the configuration have different numbers of layers");
  co_return found;
}

/// Keeps who signed the image, where the policy wants to know, for those who run it.
loop::Task<Result<void>> satisfy(Course& course, Reference image, const FoundManifest& found) {
  if (!course.options.policy) co_return Result<void>();
  const Policy& policy = *course.options.policy;
  const Result<bool> needs = needs_signatures(policy, image);
  if (!needs) co_return needs.error();
  if (!*needs) co_return Result<void>();
  const std::string digest = digest_of(found.bytes);
  Evidence evidence{found.indexes, {}};
  Result<Evidence> brought =
      co_await bring_signatures(course.registry, policy, image, digest, std::move(evidence));
  if (!brought) co_return brought.error();
  const auto keep = [&] { return course.store->keep_evidence(digest, *brought); };
  co_return co_await loop::in_thread(course.loop, keep);
}

/// Finds the blobs that have to come, each once.
void plan(Course& course) {
  const std::vector<Descriptor>& layers = course.documents.manifest.layers;
  const std::vector<std::size_t> missing =
      course.store->missing(*course.source, course.documents.config);
  course.arrivals = std::make_shared<Arrivals>(layers.size());
  for (const std::size_t number : missing) {
    const Descriptor& blob = layers[number];
    if (course.store->has_draft(*course.source, blob.digest)) continue;
    course.arrivals->expect(number);
    const auto same = std::find_if(course.wanted.begin(), course.wanted.end(),
                                   [&](const Wanted& w) { return w.blob.digest == blob.digest; });
    if (same != course.wanted.end()) {
      same->layers.push_back(number);
      continue;
    }
    course.wanted.push_back({blob, {number}});
    course.progress.bytes_all += blob.bytes;
  }
  course.progress.layers_all = layers.size();
  course.progress.layers = layers.size() - missing.size();
}

/// Another process may have brought the layer while its blob was waited for.
bool is_still_missing(const Course& course, const Wanted& wanted) {
  const std::vector<std::size_t> missing =
      course.store->missing(*course.source, course.documents.config);
  return std::any_of(wanted.layers.begin(), wanted.layers.end(), [&](std::size_t layer) {
    return std::binary_search(missing.begin(), missing.end(), layer);
  });
}

loop::Task<Result<void>> bring(Course& course, const Wanted& wanted) {
  const Descriptor blob = wanted.blob;
  const auto begin = [&] { return course.store->draft(*course.source, blob.digest, blob.bytes); };
  Result<std::optional<BlobDraft>> draft = co_await loop::in_thread(course.loop, begin);
  if (!draft) co_return draft.error();
  if (!draft->has_value() || !is_still_missing(course, wanted)) {
    course.progress.bytes += blob.bytes;
    co_return Result<void>();
  }
  const Registry::Take take = [&course, &draft](std::string_view bytes) -> Result<void> {
    if (course.failure) return *course.failure;
    TRY(course.budget->write(bytes.size()));
    TRY((*draft)->append(bytes));
    course.progress.bytes += bytes.size();
    course.tell();
    return {};
  };
  const Result<void> came = co_await course.registry.blob(blob.digest, blob.bytes, take);
  if (!came) co_return came.error();
  const auto commit = [&draft] { return (*draft)->commit(); };
  co_return co_await loop::in_thread(course.loop, commit);
}

/// Brings blobs one by one until none is left, or something failed.
loop::Task<> work(Course& course, std::shared_ptr<Bringers> held) {
  while (!course.failure && course.next < course.wanted.size()) {
    const Wanted& wanted = course.wanted[course.next++];
    const Result<void> came = co_await bring(course, wanted);
    if (came)
      held->arrivals().came(wanted.layers);
    else
      course.end(came.error());
    course.tell();
  }
}

/// Unpacks in a thread, layer by layer as they come.
loop::Task<> add(std::shared_ptr<Course> course, std::string name) {
  AddOptions options;
  options.name_from = NameFrom::registry;
  options.limits = course->options.limits;
  options.budget = course->budget;
  Course* const own = course.get();  // Outlives the thread: this task waits for it.
  options.say = [own](const std::string& line) { own->left_out.push_back(line); };
  options.on_layer = [own, weak = std::weak_ptr<Course>(course)](std::size_t number, std::size_t) {
    own->loop.post([weak, number] {
      const std::shared_ptr<Course> alive = weak.lock();
      if (!alive) return;
      alive->progress.layers = std::max(alive->progress.layers, number);
      alive->tell();
    });
    own->arrivals->wait_for(number);
  };
  const auto run = [own, name, options] {
    const Documents& documents = own->documents;
    return own->store->add(*own->source, name, documents.manifest_bytes, documents.config_bytes,
                           options);
  };
  Result<Image> added = co_await loop::in_thread(course->loop, run);
  if (!added) co_return course->end(added.error().in(name));
  course->image = *std::move(added);
}

}  // namespace

loop::Task<Result<Pulled>> pull(loop::Loop& loop, Registry& registry, std::shared_ptr<Store> store,
                                Reference image, PullOptions options) {
  const auto course = std::make_shared<Course>(loop, registry, store, std::move(options));
  const auto hold = [store, course]() -> Result<Fd> {
    Fd held = TRY(store->hold());
    course->budget = TRY(store->budget());
    return held;
  };
  Result<Fd> held = co_await loop::in_thread(loop, hold);
  if (!held) co_return held.error();
  if (course->options.policy)  // What it rejects anyway is not even asked for.
    if (const Result<bool> needs = needs_signatures(*course->options.policy, image); !needs)
      co_return needs.error();
  Result<FoundManifest> manifest =
      co_await find_manifest(registry, image, course->options.platform);
  if (!manifest) co_return manifest.error();
  const Result<void> satisfied = co_await satisfy(*course, image, *manifest);
  if (!satisfied) co_return satisfied.error();
  Result<Documents> found =
      co_await find_documents(registry, to_text(image), std::move(manifest->bytes));
  if (!found) co_return found.error();
  course->documents = *std::move(found);
  course->source = Source::pulled(image.registry, image.repository, registry.login());
  plan(*course);
  course->tell();
  loop::Tasks tasks(loop);  // Ended from the back: who brings, then who waits for what they bring.
  tasks.start(add(course, to_text(image)));
  auto bringers = std::make_shared<Bringers>(course->arrivals);
  for (int i = 0; i < course->options.blobs_at_once; ++i) tasks.start(work(*course, bringers));
  bringers.reset();
  co_await tasks.join();
  if (course->failure) co_return *course->failure;
  held->reset();
  const auto tidy = [store] { return store->prune({}); };  // Packed layers are of no use now.
  const Result<std::optional<Pruned>> tidied = co_await loop::in_thread(loop, tidy);
  if (!tidied) co_return tidied.error();
  course->progress.layers = course->progress.layers_all;
  course->tell();
  Pulled pulled{*std::move(course->image), course->progress, std::move(course->left_out)};
  co_return pulled;
}

}  // namespace muster::image
