#include "steward/upload_results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "job/spec.h"
#include "loop/tasks.h"
#include "s3client/archive.h"
#include "steward/folders.h"
#include "steward/igzip.h"
#include "steward/s3_access.h"

namespace muster::steward {
namespace {

constexpr int uploads_at_a_time = 4;
constexpr int threads_max = 4;

/// One of the two things that a job leaves.
struct Part {
  const char* name;     ///< In the answer.
  const char* folder;   ///< Below a host's folder.
  const char* archive;  ///< The object's name.
  const char* prefix;   ///< Where single files go.
  bool always;          ///< Also if there is nothing.
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

/// The hosts' trees as one; `roots` gets where they stand.
Result<std::vector<packing::TreeEntry>> merged_tree(const Uploads& uploads, const Part& part,
                                                    std::vector<std::string>& roots) {
  std::vector<std::vector<packing::TreeEntry>> trees;
  for (const std::string& host : hosts_by_number(uploads.spec.instance_count)) {
    roots.push_back(uploads.job_folder + "/" + host + part.folder);
    trees.push_back(TRY(packing::walk_tree(roots.back(), roots.size() - 1)));
  }
  return packing::merge_trees(trees);
}

loop::Task<Result<Json>> pack(Uploads& uploads, Part part, std::vector<packing::TreeEntry> tree,
                              std::vector<std::string> roots) {
  const std::string url = job::s3_results(uploads.spec) + "/" + part.archive;
  Result<s3wire::S3Url> to = s3wire::parse_s3_url(url);
  if (!to) co_return to.error();
  s3client::ArchiveOptions options;
  options.gzip = find_gzip(uploads.env);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  options.threads = std::clamp(cores, 1, threads_max);
  packing::TarPlan plan(std::move(tree), std::move(roots));
  const TimePoint begun = Clock::now();
  Result<s3client::Archived> stored = co_await s3client::upload_archive(
      uploads.s3->state(), std::move(plan), *std::move(to), std::move(options));
  if (!stored) co_return stored.error();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
  co_return Json{{"url", url},
                 {"entries", stored->entries},
                 {"bytes", stored->tar_bytes},
                 {"object_bytes", stored->bytes},
                 {"ms", took.count()}};
}

/// Files that are still to go, and what came of the others.
struct Singles {
  std::vector<std::pair<std::string, s3wire::S3Url>> files;
  std::size_t next = 0;
  std::optional<Error> failed;
};

loop::Task<> upload_singles(Singles& singles, s3client::S3Client& s3) {
  while (!singles.failed && singles.next < singles.files.size()) {
    const auto file = singles.files[singles.next++];
    Result<void> sent = co_await s3.upload(file.first, file.second);
    if (!sent && !singles.failed) singles.failed = sent.error();
  }
}

loop::Task<Result<Json>> send_files(Uploads& uploads, Part part,
                                    std::vector<packing::TreeEntry> tree,
                                    std::vector<std::string> roots) {
  const std::string url = job::s3_results(uploads.spec) + "/" + part.prefix;
  Result<s3wire::S3Url> to = s3wire::parse_s3_prefix(url);
  if (!to) co_return to.error();
  Singles singles;
  std::uint64_t bytes = 0;
  for (const packing::TreeEntry& entry : tree) {
    if (entry.kind != packing::TreeEntry::Kind::file) continue;  // Links are no objects.
    bytes += entry.bytes;
    singles.files.emplace_back(roots[entry.root] + "/" + entry.path,
                               s3wire::S3Url{to->bucket, to->key + entry.path});
  }
  loop::Tasks workers(uploads.loop);
  for (int i = 0; i < uploads_at_a_time; ++i) workers.start(upload_singles(singles, *uploads.s3));
  co_await workers.join();
  if (singles.failed) co_return *singles.failed;
  co_return Json{{"url", url}, {"entries", singles.files.size()}, {"bytes", bytes}};
}

loop::Task<> run(Uploads& uploads, bool completed) {
  const bool packed = uploads.spec.packed_output;
  const Part parts[] = {{"model", "/result/model", "model.tar.gz", "model/", completed},
                        {"output", "/result/output/data", "output.tar.gz", "data/", false}};
  for (const Part& part : parts) {
    std::vector<std::string> roots;
    Result<std::vector<packing::TreeEntry>> tree = merged_tree(uploads, part, roots);
    if (!tree) uploads.failed = tree.error();
    if (!tree) break;
    if (tree->empty() && !(part.always && packed)) continue;
    Result<Json> done = fail(Errc::system, "");
    if (packed)
      done = co_await pack(uploads, part, *std::move(tree), std::move(roots));
    else
      done = co_await send_files(uploads, part, *std::move(tree), std::move(roots));
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
  // The stewards have ended: who starts us may end too, and a sweep must see that the job lives.
  const Result<Fd> living = take_lock(job_folder + "/algo-1/lock");
  const std::string mark = job_folder + "/uploaded.json";
  if (Result<std::string> before = read_file(mark)) return before;
  uploads.s3 = TRY(open_s3(uploads.loop, uploads.spec.s3, env));
  loop::Tasks tasks(uploads.loop);
  tasks.start(run(uploads, completed));
  uploads.loop.run();
  if (uploads.failed) return *uploads.failed;
  const std::string answer = to_text(uploads.done);
  TRY(write_file(mark, answer, 0600));
  return answer;
}

}  // namespace muster::steward
