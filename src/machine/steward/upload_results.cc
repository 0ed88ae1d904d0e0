#include "machine/steward/upload_results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "aws/s3client/archive.h"
#include "base/fd.h"
#include "base/files/below.h"
#include "base/json.h"
#include "base/text.h"
#include "job/spec.h"
#include "machine/housing/folders.h"
#include "machine/steward/pack_gzip.h"
#include "machine/steward/s3_access.h"
#include "net/loop/tasks.h"

namespace muster::steward {
namespace {

constexpr int uploads_at_a_time = 4;
constexpr int threads_max = 4;
/// With so many threads, 15 of them are in memory at a time: half of what an upload may take.
constexpr std::uint64_t chunk_bytes = 8u << 20;

/// One of a job's two results.
struct Part {
  const char* name;     ///< In the returned JSON.
  const char* folder;   ///< Below a host's folder.
  const char* archive;  ///< The object's name.
  const char* prefix;   ///< The prefix of single files.
  bool always;          ///< Even without files.
};

struct Uploads {
  loop::Loop loop;
  job::Spec spec;
  std::string job_folder;
  Env env;
  std::unique_ptr<s3client::S3Client> s3;
  Json done = Json::object();
  std::optional<Error> failed;
};

/// "algo-10" comes after "algo-2" here.
std::vector<std::string> hosts_by_number(int count) {
  std::vector<std::string> hosts;
  for (int i = 1; i <= count; ++i) hosts.push_back("algo-" + std::to_string(i));
  return hosts;
}

/// The merged tree of all hosts, and their folders.
struct Tree {
  packing::EntryList entries;
  std::vector<packing::Root> roots;
};
Result<Tree> merged_tree(const Uploads& uploads, const Part& part) {
  Tree tree{packing::EntryList(uploads.job_folder), {}};
  for (const std::string& host : hosts_by_number(uploads.spec.instance_count))
    tree.roots.push_back(TRY(packing::own_root(uploads.job_folder, host + part.folder)));
  TRY(packing::walk_trees(
      tree.roots, [&tree](const packing::TreeEntry& entry) { return tree.entries.add(entry); }));
  return tree;
}

loop::Task<Result<Json>> pack(Uploads& uploads, Part part, Tree tree) {
  const std::string url = job::s3_results(uploads.spec) + "/" + part.archive;
  Result<s3wire::S3Url> to = s3wire::parse_s3_url(url);
  if (!to) co_return to.error();
  s3client::ArchiveOptions options;
  options.gzip = find_gzip(uploads.env);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  options.threads = std::clamp(cores, 1, threads_max);
  options.chunk_bytes = chunk_bytes;
  options.spill = uploads.job_folder;
  Result<packing::TarPlan> plan =
      packing::TarPlan::make(std::move(tree.entries), std::move(tree.roots));
  if (!plan) co_return plan.error();
  const TimePoint begun = Clock::now();
  Result<s3client::Archived> stored = co_await s3client::upload_archive(
      uploads.s3->state(), *std::move(plan), *std::move(to), std::move(options));
  if (!stored) co_return stored.error();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
  co_return Json{{"url", url},
                 {"entries", stored->entries},
                 {"bytes", stored->tar_bytes},
                 {"object_bytes", stored->bytes},
                 {"ms", took.count()}};
}

/// The remaining files, and the results of the others.
struct Singles {
  Singles(const Tree& of, s3wire::S3Url below) : tree(of), to(std::move(below)), next(of.entries) {}

  const Tree& tree;
  const s3wire::S3Url to;
  packing::EntryList::Cursor next;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::optional<Error> failed;
};

/// Links are not stored as objects.
Result<bool> next_file(Singles& singles, packing::TreeEntry& into) {
  while (TRY(singles.next.next(into)))
    if (into.kind == packing::TreeEntry::Kind::file) return true;
  return false;
}

loop::Task<> upload_singles(Singles& singles, s3client::S3Client& s3) {
  packing::TreeEntry entry;
  while (!singles.failed) {
    const Result<bool> found = next_file(singles, entry);
    if (!found) singles.failed = found.error();
    if (!found || !*found) co_return;
    ++singles.files;
    singles.bytes += entry.bytes;
    const packing::Root& root = singles.tree.roots[entry.root];
    const Fd file = Below(root.at.held.get()).open(entry.path, O_RDONLY | O_NONBLOCK);
    Result<void> sent;
    if (!file) sent = fail_errno("cannot open " + root.at.path + "/" + entry.path);
    s3wire::S3Url to{singles.to.bucket, singles.to.key + entry.path};
    if (file) sent = co_await s3.upload(held_path(file), std::move(to));
    if (!sent && !singles.failed) singles.failed = sent.error();
  }
}

loop::Task<Result<Json>> send_files(Uploads& uploads, Part part, Tree tree) {
  const std::string url = job::s3_results(uploads.spec) + "/" + part.prefix;
  Result<s3wire::S3Url> to = s3wire::parse_s3_prefix(url);
  if (!to) co_return to.error();
  Singles singles(tree, *std::move(to));
  loop::Tasks workers(uploads.loop);
  for (int i = 0; i < uploads_at_a_time; ++i) workers.start(upload_singles(singles, *uploads.s3));
  co_await workers.join();
  if (singles.failed) co_return *singles.failed;
  co_return Json{{"url", url}, {"entries", singles.files}, {"bytes", singles.bytes}};
}

loop::Task<> run(Uploads& uploads, bool completed) {
  const bool packed = uploads.spec.packed_output;
  const Part parts[] = {{"model", "/result/model", "model.tar.gz", "model/", completed},
                        {"output", "/result/output/data", "output.tar.gz", "data/", false}};
  for (const Part& part : parts) {
    Result<Tree> tree = merged_tree(uploads, part);
    if (!tree) uploads.failed = tree.error();
    if (!tree) break;
    if (tree->entries.size() == 0 && !(part.always && packed)) continue;
    Result<Json> done = fail(Errc::system, "");
    if (packed)
      done = co_await pack(uploads, part, *std::move(tree));
    else
      done = co_await send_files(uploads, part, *std::move(tree));
    if (!done) uploads.failed = done.error().in(std::string("upload of the ") + part.name);
    if (!done) break;
    uploads.done[part.name] = *std::move(done);
  }
  uploads.loop.stop();
}

}  // namespace

Result<std::string> upload_results(const std::string& job_folder, bool completed, const Env& env) {
  const std::string text = TRY(read_file(job_folder + "/job.json"));
  const Json json = TRY(parse_json(text));
  Uploads uploads;
  uploads.spec = TRY(job::spec_from(json));
  uploads.job_folder = job_folder;
  uploads.env = env;
  if (uploads.spec.s3_output.empty()) return std::string("{}");
  const Fd turn = TRY(wait_for_lock(job_folder + "/upload.lock"));  // One at a time.
  // The stewards have ended, and the process that started this one may end too. A sweep must see
  // that the job still runs.
  const Result<Fd> living = take_lock(job_folder + "/algo-1/lock");
  const std::string mark = job_folder + "/uploaded.json";
  if (Result<std::string> before = read_file(mark)) return before;
  job::S3Access access = uploads.spec.s3;
  if (!access.results_credentials_file.empty())
    access.credentials_file = access.results_credentials_file;
  uploads.s3 = TRY(open_s3(uploads.loop, access, env));
  loop::Tasks tasks(uploads.loop);
  tasks.start(run(uploads, completed));
  uploads.loop.run();
  if (uploads.failed && s3client::is_full(*uploads.failed))
    return to_text(Json{{"no_room", uploads.failed->text}});
  if (uploads.failed) return *uploads.failed;
  const std::string answer = to_text(uploads.done);
  // Everything is stored: a disk that is too full for the mark must not fail the job.
  static_cast<void>(write_file(mark, answer, 0600));
  return answer;
}

}  // namespace muster::steward
