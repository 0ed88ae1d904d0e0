// `sm download`

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "aws/s3client/fetch_folder.h"
#include "aws/s3client/s3_client.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/files/given_path.h"
#include "base/files/remove_tree.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/fit/places.h"
#include "cli/server_client.h"
#include "cli/view/here.h"
#include "cli/view/job_log.h"
#include "cli/view/job_view.h"
#include "command/line.h"
#include "net/loop/worker.h"
#include "os/packing/staging_folder.h"
#include "os/packing/unpack.h"

namespace muster::cli {
namespace {

/// The line as it is typed.
struct DownloadOptions {
  std::string job, folder;
  bool model = false, output = false, logs = false;
  bool json = false;
};

/// Something that a job leaves, and where it is put.
struct Part {
  const char* name;     ///< As shown to the user.
  const char* folder;   ///< Below the one that was asked for.
  const char* archive;  ///< Below the job's place in S3; null: the log.
  const char* files;    ///< Below it, too, where nothing was packed.
  bool wanted;
};

/// A folder beside the results, where they are put together. Removed when this leaves scope, and
/// when a signal ends the command.
class Unfinished {
 public:
  Unfinished(Client& client, std::string path) : client_(client), path_(std::move(path)) {
    client_.unfinished = path_;
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    client_.unfinished.clear();
    static_cast<void>(remove_tree(path_));
  }
  const std::string& path() const { return path_; }

 private:
  Client& client_;
  const std::string path_;
};

/// An archive of any size: it is the caller's own, and gzip packs no more than so tightly.
packing::UnpackLimits unpack_limits() {
  packing::UnpackLimits limits;
  limits.ratio_max = 1100;
  limits.entries_max = s3client::listed_max;
  return limits;
}

loop::Task<Result<void>> bring_archive(Client& client, s3client::S3Client& s3, s3wire::S3Url from,
                                       std::string scratch, std::string into) {
  const std::string name = s3wire::text_of(from);
  const std::string file = scratch + "/archive";
  const Result<void> came = co_await s3.download(std::move(from), file);
  if (!came) co_return came;
  const auto work = [=] { return packing::unpack(file, into, unpack_limits(), name); };
  const Result<packing::UnpackReport> unpacked = co_await loop::in_thread(client.loop, work);
  if (!unpacked) co_return unpacked.error();
  for (const std::string& line : unpacked->said) client.complain(line);
  co_return Result<void>();
}

loop::Task<Result<void>> bring_files(s3client::S3Client& s3, s3wire::S3Url from, std::string into) {
  s3client::ChannelSource source;
  source.url = std::move(from);
  s3client::FetchOptions options;
  const Result<s3client::Fetched> fetched =
      co_await s3client::fetch_channel(s3.state(), std::move(source), std::move(into), options);
  if (!fetched) co_return fetched.error();
  co_return Result<void>();
}

loop::Task<Result<void>> bring(Client& client, Json job, Part part, std::string scratch,
                               std::string into) {
  if (part.archive == nullptr) {
    JobLogOptions how;
    how.folder = std::move(into);
    std::string name = member_text(job, "TrainingJobName");
    const Result<int> written = co_await show_log(client, std::move(name), std::move(how));
    if (!written) co_return written.error();
    co_return Result<void>();
  }
  const Result<s3wire::S3Url> place = s3wire::parse_s3_prefix(output_place(job));
  if (!place) co_return place.error().in("the job's output");
  const Result<s3client::S3Client*> s3 = client.api.s3();
  if (!s3) co_return s3.error();
  const bool packed = !is_unpacked(job);
  s3wire::S3Url from{place->bucket, place->key + (packed ? part.archive : part.files)};
  if (!packed) {
    const Result<void> came = co_await bring_files(**s3, std::move(from), std::move(into));
    co_return came;
  }
  const Result<void> came =
      co_await bring_archive(client, **s3, std::move(from), std::move(scratch), std::move(into));
  co_return came;
}

/// The folder that was just made there, which the owner of the folder around it may have replaced.
Result<Fd> open_own(const std::string& path) {
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0) return fail_errno("cannot open " + path);
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return fail(Errc::denied, path + ": another user has replaced this folder");
  return folder;
}

/// Returns whether the part exists. A missing part gets no folder. `held` is the folder that
/// `folder` names; the name is not resolved again.
loop::Task<Result<bool>> put(Client& client, Json job, Part part, std::string folder,
                             const Fd& held) {
  Result<std::string> made = make_private_folder(held_path(held), ".partial-");
  if (!made) co_return made.error();
  const Unfinished unfinished(client, *std::move(made));
  const Result<Fd> own = open_own(unfinished.path());
  if (!own) co_return own.error();
  const std::string place = folder + "/" + part.folder;
  const std::string scratch = held_path(*own);
  const std::string now = scratch + "/" + part.folder;
  const Result<void> ready = make_folders(now);
  if (!ready) co_return ready.error();
  show_progress(std::string("downloading ") + part.name);
  const Result<void> came = co_await bring(client, std::move(job), part, scratch, now);
  show_progress("");
  if (!came && came.error().code == Errc::not_found) co_return false;
  if (!came) co_return came.error();
  // An empty folder of that name is taken over; anything else is an error.
  if (::renameat(own->get(), part.folder, held.get(), part.folder) != 0)
    co_return fail_errno("cannot rename " + place);
  co_return true;
}

Result<void> check_place(const std::string& path) {
  const Result<bool> occupied = packing::is_occupied(path);
  if (!occupied && occupied.error().code == Errc::not_found) return {};
  if (!occupied) return fail(Errc::invalid_input, occupied.error().text);
  if (!*occupied) return {};
  return fail(Errc::invalid_input,
              path + " already exists: choose another folder, or remove this one first");
}

/// What was asked for by name and is not there.
Error missing(const Json& job, const Part& part) {
  const std::string name = member_text(job, "TrainingJobName");
  const std::string status = member_text(job, "TrainingJobStatus");
  return fail(Errc::not_found, name + " has no " + part.name +
                                   (has_ended(job) ? "" : " yet: the job is " + to_utf8(status)));
}

loop::Task<Result<int>> download(Client& client, DownloadOptions options) {
  const Result<Json> job = co_await describe(client, options.job, ApiClient::Patience::none);
  if (!job) co_return job.error();
  const bool all = !options.model && !options.output && !options.logs;
  const Part parts[] = {
      {"model", "model", "model.tar.gz", "model/", all || options.model},
      {"output", "output", "output.tar.gz", "data/", all || options.output},
      {"log", "log", nullptr, nullptr, all || options.logs},
  };
  const std::string folder = options.folder.empty() ? options.job : options.folder;
  for (const Part& part : parts) {
    if (!part.wanted) continue;
    const Result<void> free = check_place(folder + "/" + part.folder);
    if (!free) co_return free.error();
  }
  const Result<std::string> cwd = current_folder();
  if (!cwd) co_return cwd.error();
  const Result<GivenPath> given = walk_given(absolute(folder, *cwd));
  if (!given) co_return fail(Errc::invalid_input, given.error().text);
  const Result<Fd> held = make_given_folder(*given, {});
  if (!held) co_return held.error();
  const std::string itself = "../" + std::filesystem::path(given->whole()).filename().string();
  Json told{{"TrainingJobName", options.job}};
  for (const Part& part : parts) {
    if (!part.wanted) continue;
    const std::string place = folder + "/" + part.folder;
    const Result<bool> came = co_await put(client, *job, part, folder, *held);
    const bool lacking = came && !*came && !all;
    if (!came || lacking) ::unlinkat(held->get(), itself.c_str(), AT_REMOVEDIR);  // If empty.
    if (!came) co_return came.error();
    if (lacking) co_return missing(*job, part);
    told[part.name] = *came ? Json(to_utf8(place)) : Json();
    if (!options.json)
      client.out.text() +=
          std::string(part.name) + ": " + (*came ? visible_line(place) : "none") + "\n";
  }
  if (options.json) client.out.text() += visible_json(to_text(told)) + "\n";
  co_return exit_success;
}

}  // namespace

int download_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("download"));
  DownloadOptions options;
  line.text("JOB", options.job);
  line.text("DIR", options.folder);
  line.flag("--model", options.model);
  line.flag("--output", options.output);
  line.flag("--logs", options.logs);
  line.flag("--json", options.json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  if (const std::string local = why_local(env, options.job); !local.empty())
    return end_with("sm download", fail(Errc::invalid_input, local));
  return run_client("sm download", env, [&](Client& client) { return download(client, options); });
}

}  // namespace muster::cli
