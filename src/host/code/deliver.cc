#include "host/code/deliver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "base/fd.h"
#include "host/code/copy.h"
#include "net/loop/worker.h"
#include "os/packing/staging_folder.h"

namespace muster::code {
namespace {

/// The kind of file at a path, and its first bytes. A file that cannot be read has no head: opening
/// it later reports why.
std::pair<Local, std::string> seen_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {Local::missing, ""};
  if (S_ISDIR(status.st_mode)) return {Local::folder, ""};
  if (!S_ISREG(status.st_mode)) return {Local::other, ""};
  std::string head(512, '\0');
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t got = file ? ::read(file.get(), head.data(), head.size()) : 0;
  head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return {Local::file, head};
}

std::string name_of(const std::string& uri) {
  return uri.substr(uri.rfind('/') + 1);
}

Result<void> copy_staged(const std::string& uri, const std::string& code_dir, bool tree) {
  packing::Staging staging = TRY(packing::Staging::open(code_dir));
  TRY(tree ? copy_tree(uri, staging.path()) : copy_into(uri, staging.path()));
  return staging.move_in();
}

Result<void> deliver_local(const std::string& uri, const std::string& code_dir,
                           const packing::UnpackLimits& limits, DeliverReport& report) {
  switch (report.source) {
    case Source::code_folder:
      return {};
    case Source::folder:
      return copy_staged(uri, code_dir, true);
    case Source::file:
      return copy_staged(uri, code_dir, false);
    case Source::archive:
    case Source::s3_archive:
      break;
  }
  report.unpacked = TRY(packing::unpack(uri, code_dir, limits, name_of(uri)));
  return {};
}

void tell(const DeliverReport& report, const std::string& code_dir, const Log& log) {
  for (const std::string& line : report.unpacked.said) log.warning("code: " + line);
  const std::uint64_t more = report.unpacked.refused - report.unpacked.said.size();
  if (more > 0) log.warning("code: and " + std::to_string(more) + " more warnings like these");
  if (report.unpacked.files > 0)
    log.debug("code: " + std::to_string(report.unpacked.files) + " files in " + code_dir);
}

/// Decides what to do, before anything is fetched.
Result<void> prepare(const std::string& uri, const std::string& code_dir, DeliverReport& report) {
  TRY(make_folders(code_dir));
  const bool occupied = TRY(packing::is_occupied(code_dir));
  if (occupied) return {};
  const std::pair<Local, std::string> seen =
      is_s3(uri) ? std::pair<Local, std::string>() : seen_at(uri);
  report.source = TRY(source_of(uri, code_dir, seen.first, seen.second));
  report.delivered = report.source != Source::code_folder;
  return {};
}

/// A temporary folder for the archive.
struct Fetched {
  explicit Fetched(std::string path) : folder(std::move(path)) {}
  Fetched(const Fetched&) = delete;
  Fetched& operator=(const Fetched&) = delete;
  ~Fetched() {
    static_cast<void>(::unlink(file().c_str()));
    static_cast<void>(::rmdir(folder.c_str()));
  }
  std::string file() const { return folder + "/sourcedir.tar.gz"; }

  std::string folder;
};

Result<std::shared_ptr<Fetched>> place_to_fetch(const Env& env) {
  const Env::const_iterator set = env.find("TMPDIR");
  const std::string parent = set == env.end() || set->second.empty() ? "/tmp" : set->second;
  return std::make_shared<Fetched>(TRY(make_private_folder(parent, "muster-code-")));
}

}  // namespace

loop::Task<Result<DeliverReport>> deliver(loop::Loop& loop, Env env, std::string uri,
                                          std::string code_dir, const Log& log, Download download) {
  const Result<packing::UnpackLimits> limits = packing::limits_from(env);
  if (!limits) co_return limits.error();
  DeliverReport report;
  // The few file system calls here need no thread: most jobs find their code in place.
  const Result<void> prepared = prepare(uri, code_dir, report);
  if (!prepared) co_return prepared.error();
  if (!report.delivered) {
    log.debug("code: " + code_dir + " already contains the code");
    co_return report;
  }
  std::function<Result<void>()> second = [&] {
    return deliver_local(uri, code_dir, *limits, report);
  };
  std::shared_ptr<Fetched> fetched;
  if (report.source == Source::s3_archive) {
    const Result<std::shared_ptr<Fetched>> place = place_to_fetch(env);
    if (!place) co_return place.error();
    fetched = *place;
    const std::string file = fetched->file();
    const Result<void> got = co_await download(uri, file);
    if (!got) co_return got.error();
    second = [&, file]() -> Result<void> {
      report.unpacked = TRY(packing::unpack(file, code_dir, *limits, uri));
      return {};
    };
  }
  const Result<void> done = co_await loop::in_thread(loop, second);
  if (!done) co_return done.error();
  tell(report, code_dir, log);
  co_return report;
}

}  // namespace muster::code
