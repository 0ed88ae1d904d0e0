#include "cli/fit/submit_upload.h"

#include <sys/stat.h>

#include <memory>

#include "aws/s3client/archive.h"
#include "aws/s3client/s3_client.h"
#include "base/fd.h"
#include "base/files/given_path.h"
#include "base/text.h"
#include "cli/fit/places.h"
#include "net/loop/tasks.h"
#include "os/packing/listing.h"

namespace muster::cli {
namespace {

constexpr int uploads_at_once = 4;

/// Files of one channel on their way, several at a time.
struct Batch {
  s3client::S3Client* s3 = nullptr;
  packing::Root root;
  s3wire::S3Url to;  ///< The key ends in '/'.
  std::string what;  ///< For the screen.
  std::vector<std::string> files{};
  std::size_t next = 0;
  std::size_t stored = 0;
  Result<void> failed{};
};

loop::Task<> work(Batch& batch) {
  while (batch.failed && batch.next < batch.files.size()) {
    const std::string file = batch.files[batch.next++];
    s3wire::S3Url to{batch.to.bucket, batch.to.key + file};
    const Result<Fd> opened = open_given_file(batch.root.at, file);
    if (!opened) {
      batch.failed = opened.error();
      break;
    }
    const Result<void> stored = co_await batch.s3->upload(held_path(*opened), std::move(to));
    if (!stored) batch.failed = stored;
    ++batch.stored;
    show_progress("uploading " + batch.what + ": " + std::to_string(batch.stored) + " of " +
                  std::to_string(batch.files.size()) + " files");
  }
}

/// Paths of what S3 can hold: files, and links to files for what they lead to. Links of other users
/// are refused.
Result<std::vector<std::string>> files_below(const packing::Root& root) {
  std::vector<std::string> files;
  for (const packing::TreeEntry& entry : TRY(packing::walk_tree(root))) {
    if (entry.kind == packing::TreeEntry::Kind::folder) continue;
    files.push_back(entry.path);
    if (entry.kind == packing::TreeEntry::Kind::file) continue;
    const Result<GivenPath> given = find_given(root.at, entry.path);
    if (!given) return fail(Errc::invalid_input, given.error().text);
    struct stat status {};
    if (::fstat(given->held.get(), &status) != 0 || !S_ISREG(status.st_mode))
      return fail(Errc::invalid_input,
                  root.at.path + "/" + entry.path +
                      ": this link points to a folder, but S3 can store only files");
  }
  return files;
}

/// Whether a folder without files may be uploaded.
enum class Empty { allowed, refused };

loop::Task<Result<void>> upload_folder(Client& client, std::string flag, std::string folder,
                                       s3wire::S3Url to, Empty empty) {
  Batch batch;
  const Result<s3client::S3Client*> s3 = client.api.s3();
  if (!s3) co_return s3.error();
  Result<GivenPath> given = find_given(folder);
  if (!given) co_return given.error().in(flag);
  batch.root.at = *std::move(given);
  Result<std::vector<std::string>> files = files_below(batch.root);
  if (!files) co_return files.error().in(flag);
  if (files->empty() && empty == Empty::refused)
    co_return fail(Errc::invalid_input, flag + ": " + folder + ": the folder contains no files");
  batch.s3 = *s3;
  batch.to = std::move(to);
  batch.what = flag.substr(flag.find_first_not_of('-'));
  batch.files = *std::move(files);
  loop::Tasks workers(client.loop);
  for (int i = 0; i < uploads_at_once; ++i) workers.start(work(batch));
  co_await workers.join();
  show_progress("");
  co_return batch.failed;
}

/// The archive of a single file: its folder may hold anything.
Result<packing::TarPlan> plan_script(const std::string& path, const std::string& script) {
  std::vector<packing::Root> roots;
  roots.push_back({{TRY(open_given_file(path)), path}, script});
  struct stat status {};
  if (::fstat(roots[0].at.held.get(), &status) != 0) return fail_errno("cannot open " + path);
  packing::EntryList entries;
  TRY(entries.add({.path = script,
                   .mode = static_cast<unsigned>(status.st_mode & 0777),
                   .time = status.st_mtime,
                   .bytes = static_cast<std::uint64_t>(status.st_size)}));
  return packing::TarPlan::make(std::move(entries), std::move(roots));
}

Result<packing::TarPlan> plan_code(const SubmitFiles& files) {
  if (!files.whole) return plan_script(files.folder + "/" + files.script, files.script);
  packing::EntryList entries;
  std::vector<packing::Root> roots;
  roots.push_back({TRY(find_given(files.folder))});
  TRY(packing::walk_trees(
      roots, [&entries](const packing::TreeEntry& entry) { return entries.add(entry); }));
  return packing::TarPlan::make(std::move(entries), std::move(roots));
}

loop::Task<Result<void>> upload_code(Client& client, SubmitFiles files, s3wire::S3Url to) {
  const Result<s3client::S3Client*> s3 = client.api.s3();
  if (!s3) co_return s3.error();
  Result<packing::TarPlan> plan = plan_code(files);
  if (!plan) co_return plan.error();
  show_progress("uploading code: " + std::to_string(plan->entries()) + " entries");
  s3client::ArchiveOptions options;
  const Result<s3client::Archived> stored = co_await s3client::upload_archive(
      (*s3)->state(), *std::move(plan), std::move(to), std::move(options));
  show_progress("");
  if (!stored) co_return stored.error();
  co_return Result<void>();
}

}  // namespace

Result<SubmitFiles> find_files(const SubmitOptions& options, const std::string& cwd) {
  SubmitFiles files;
  files.script = options.script;
  if (!options.script.empty() && !is_s3(options.source_folder)) {
    FitOptions wanted;
    wanted.script = options.script;
    wanted.source_folder = options.source_folder;
    const Places places = TRY(find_places(wanted, cwd));
    files.folder = places.source_folder;
    files.script = places.script;
    files.whole = !options.source_folder.empty();
  }
  for (const auto& [name, place] : options.inputs) {
    std::string found = place;
    if (!is_s3(place)) found = TRY(real_folder("--input " + name, absolute(place, cwd)));
    files.inputs.emplace_back(name, std::move(found));
  }
  if (!options.checkpoints.empty() && !is_s3(options.checkpoints))
    files.checkpoints = TRY(real_folder("--checkpoints", absolute(options.checkpoints, cwd)));
  return files;
}

SubmitPlaces places_for(const SubmitOptions& options, const SubmitFiles& files,
                        const std::string& bucket) {
  const std::string own = "s3://" + bucket + "/";
  SubmitPlaces places;
  places.script = files.script;
  places.code = files.folder.empty() ? options.source_folder
                                     : own + options.name + "/source/sourcedir.tar.gz";
  places.output = options.output.empty() ? own : options.output;
  places.checkpoints =
      files.checkpoints.empty() ? options.checkpoints : own + options.name + "/checkpoints";
  for (const auto& [name, place] : files.inputs)
    places.inputs.emplace_back(name,
                               is_s3(place) ? place : own + options.name + "/input/" + name + "/");
  return places;
}

loop::Task<Result<void>> upload(Client& client, SubmitFiles files, SubmitPlaces places) {
  if (!files.folder.empty()) {
    Result<s3wire::S3Url> to = s3wire::parse_s3_url(places.code);
    if (!to) co_return to.error();
    const Result<void> stored = co_await upload_code(client, files, *std::move(to));
    if (!stored) co_return stored.error();
  }
  for (std::size_t i = 0; i < files.inputs.size(); ++i) {
    const auto& [name, place] = files.inputs[i];
    if (is_s3(place)) continue;
    Result<s3wire::S3Url> to = s3wire::parse_s3_prefix(places.inputs[i].second);
    if (!to) co_return to.error();
    const Result<void> stored =
        co_await upload_folder(client, "--input " + name, place, *std::move(to), Empty::refused);
    if (!stored) co_return stored.error();
  }
  if (files.checkpoints.empty()) co_return Result<void>();
  Result<s3wire::S3Url> to = s3wire::parse_s3_prefix(places.checkpoints + "/");
  if (!to) co_return to.error();
  const Result<void> stored = co_await upload_folder(client, "--checkpoints", files.checkpoints,
                                                     *std::move(to), Empty::allowed);
  co_return stored;
}

}  // namespace muster::cli
