#include "platform/places/job_record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "job/limits.h"
#include "job/wire/message.h"
#include "net/loop/worker.h"
#include "net/sockets/receive_until.h"
#include "platform/job_name.h"
#include "platform/places/job_description.h"

namespace muster::places {
namespace {

constexpr std::chrono::seconds stacks_max{20};  ///< Stewards give up earlier.
constexpr std::chrono::seconds usage_max{20};   ///< Engines give up earlier.

constexpr const char* made_prefix = ".new-";
constexpr const char* gone_prefix = ".gone-";
constexpr std::string_view journal_end = ".journal";
/// A half made record of a carrier that was killed is older than this.
constexpr std::chrono::hours half_made_for{1};

std::string records_folder(const std::string& state) {
  return state + "/records";
}

std::string description_file(const std::string& record) {
  return record + "/description.json";
}

/// True while a process holds the record's lock.
bool is_held(const std::string& record) {
  const Fd lock(::open((record + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  return lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

UnixMillis changed_at(const struct stat& status) {
  return UnixMillis(std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1000000);
}

std::uint64_t log_bytes(const std::string& record) {
  std::uint64_t bytes = 0;
  for (const std::string& name : names_in(record).value_or({}))
    if (name.ends_with(journal_end))
      if (const auto status = status_of(record + "/" + name))
        bytes += static_cast<std::uint64_t>(status->st_size);
  return bytes;
}

/// When anything of it was last written, lines of its hosts too.
UnixMillis last_change(const std::string& record) {
  UnixMillis last{0};
  for (const std::string& name : names_in(record).value_or({}))
    if (const auto status = status_of(record + "/" + name))
      last = std::max(last, changed_at(*status));
  return last;
}

/// Under another name first, so that readers never see half a record.
Result<void> remove_record(const std::string& records, const std::string& name) {
  const std::string going = records + "/" + gone_prefix + hex(random_bytes(4));
  const std::string path = records + "/" + name;
  if (::rename(path.c_str(), going.c_str()) != 0) return fail_errno("cannot rename " + path);
  return remove_tree(going);
}

void remove_half_made(const std::string& records, const std::string& name) {
  const std::string path = records + "/" + name;
  const auto status = status_of(path);
  if (!status || changed_at(*status) + half_made_for > wall_time() || is_held(path)) return;
  static_cast<void>(remove_tree(path));
}

void prune(const std::string& records) {
  std::vector<RecordSize> sizes;
  for (const std::string& name : names_in(records).value_or({})) {
    const std::string path = records + "/" + name;
    if (name.starts_with('.')) {
      remove_half_made(records, name);
    } else if (const auto status = status_of(description_file(path)); status && !is_held(path)) {
      sizes.push_back({name, changed_at(*status), log_bytes(path)});
    }
  }
  for (const std::string& name : beyond(std::move(sizes), RecordLimits()))
    static_cast<void>(remove_record(records, name));
}

FoundJob found(const std::string& name, const std::string& folder, Json description) {
  FoundJob job{name, folder, std::move(description), is_held(folder)};
  if (job.living || has_ended(job.description)) return job;
  // The end may have been written between the two looks.
  const Result<std::string> text = read_file(description_file(folder));
  const Result<Json> again = text ? parse_json(*text) : text.error();
  if (again && again->is_object()) job.description = *again;
  if (!has_ended(job.description)) add_loss(job.description, last_change(folder));
  return job;
}

}  // namespace

JobRecord::JobRecord(loop::Loop& loop, std::string path, Fd lock, Json description,
                     CarrierCalls calls)
    : path_(std::move(path)),
      lock_(std::move(lock)),
      description_(std::move(description)),
      calls_(std::move(calls)),
      tasks_(loop) {}

JobRecord::~JobRecord() {
  ::unlink((path_ + "/control.sock").c_str());
  if (!published_) static_cast<void>(remove_tree(path_));
}

Result<std::unique_ptr<JobRecord>> JobRecord::prepare(loop::Loop& loop, const std::string& state,
                                                      Json description, CarrierCalls calls) {
  const std::string records = records_folder(state);
  TRY(make_folders(records, 0700));
  prune(records);
  const std::string path = TRY(make_private_folder(records, made_prefix));
  Fd lock(::open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::unique_ptr<JobRecord> record(
      new JobRecord(loop, path, std::move(lock), std::move(description), std::move(calls)));
  if (!record->lock_ || ::flock(record->lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail_errno("cannot lock " + path + "/lock");
  record->listener_ = TRY(loop::UnixListener::open(loop, path + "/control.sock"));
  record->tasks_.start(record->accept_all());
  return record;
}

Result<void> JobRecord::publish(const std::string& name) {
  TRY(write());
  const std::string records = path_.substr(0, path_.rfind('/'));
  const std::string path = records + "/" + name;
  if (status_of(path)) TRY(remove_record(records, name));
  if (::rename(path_.c_str(), path.c_str()) != 0) return fail_errno("cannot create " + path);
  path_ = path;
  published_ = true;
  return {};
}

Result<void> JobRecord::write() const {
  return write_file(description_file(path_), to_text(description_), 0600);
}

void JobRecord::take(const platform::StatusLine& line) {
  add_status(description_, line);
  if (published_) static_cast<void>(write());
}

void JobRecord::take(const std::optional<platform::Standstill>& what) {
  Json before = description_;
  add_standstill(description_, what);
  if (published_ && before != description_) static_cast<void>(write());
}

void JobRecord::keep_journal(const std::string& host, const std::string& journal_file) {
  const std::string kept = path_ + "/" + host + std::string(journal_end);
  // Not there yet, or kept already; or never (a state folder over two file systems): then `sm logs`
  // lacks lines of this host.
  if (published_ && ::link(journal_file.c_str(), kept.c_str()) != 0) return;
}

void JobRecord::end(const platform::JobReport& report, int exit_code, const Json& metrics) {
  add_end(description_, report, exit_code);
  if (!metrics.is_null()) description_["FinalMetricDataList"] = metrics;
  if (!published_) return;
  if (log_bytes(path_) > RecordLimits().log_bytes_max) {
    for (const std::string& name : names_in(path_).value_or({}))
      if (name.ends_with(journal_end)) ::unlink((path_ + "/" + name).c_str());
    description_["MusterLogDropped"] = true;
  }
  static_cast<void>(write());
}

loop::Task<> JobRecord::accept_all() {
  while (true) {
    Result<std::unique_ptr<loop::UnixChannel>> peer = co_await listener_->accept();
    if (!peer) co_return;
    tasks_.start(serve(*std::move(peer)));
  }
}

loop::Task<> JobRecord::serve(std::unique_ptr<loop::UnixChannel> peer) {
  while (true) {
    const Result<Frame> frame = co_await peer->receive();
    if (!frame) co_return;
    if (frame->type == job::type_of(job::Message::stacks)) {
      co_await tell_stacks(*peer, job::calls_from(frame->payload));
      continue;
    }
    if (frame->type == job::type_of(job::Message::usage)) {
      co_await tell_usage(*peer);
      continue;
    }
    if (frame->type != job::type_of(job::Message::signal)) continue;
    const bool kills = calls_.stop();
    peer->post(frame->type, to_text(Json{{"kills", kills}}));  // Taken.
    const Result<void> sent = co_await peer->flushed();
    if (!sent) co_return;
  }
}

/// How many hosts, then a frame for each.
loop::Task<> JobRecord::tell_stacks(loop::UnixChannel& peer, job::Calls calls) {
  const platform::Requests::Look look = calls_.look ? calls_.look() : nullptr;
  std::vector<job::HostStacks> hosts;
  if (look) hosts = co_await look(calls);
  peer.post(job::type_of(job::Message::stacks), to_text(Json{{"hosts", hosts.size()}}));
  for (const job::HostStacks& host : hosts)
    peer.post(job::type_of(job::Message::stacks), job::encode(host));
  static_cast<void>(co_await peer.flushed());
}

/// As tell_stacks().
loop::Task<> JobRecord::tell_usage(loop::UnixChannel& peer) {
  platform::UsageWatch* const usage = calls_.usage ? calls_.usage() : nullptr;
  std::vector<job::HostUsage> hosts;
  if (usage != nullptr) hosts = co_await usage->look(platform::usage_age_max);
  peer.post(job::type_of(job::Message::usage), to_text(Json{{"hosts", hosts.size()}}));
  for (const job::HostUsage& host : hosts)
    peer.post(job::type_of(job::Message::usage), to_text(job::to_json(host)));
  static_cast<void>(co_await peer.flushed());
}

Result<FoundJob> find_job(const std::string& state, const std::string& name) {
  const bool good = platform::check_job_name(name).has_value();
  const std::string folder = records_folder(state) + "/" + name;
  const Result<std::string> text =
      good ? read_file(description_file(folder)) : fail(Errc::not_found, "");
  if (!text && text.error().code == Errc::denied)
    return fail(Errc::denied, "the jobs of this machine belong to root; use sudo");
  if (!text) return fail(Errc::not_found, "there is no job " + to_utf8(name) + " on this machine");
  Result<Json> json = parse_json(*text);
  if (!json || !json->is_object())
    return fail(Errc::not_found,
                folder + ": the job's record is damaged; remove it with sm clean --all");
  return found(name, folder, *std::move(json));
}

Result<FoundJob> find_again(const std::string& state, const FoundJob& job) {
  FoundJob now = TRY(find_job(state, job.name));
  const auto created = [](const FoundJob& one) {
    return one.description.value("CreationTime", Json());
  };
  if (created(now) != created(job))
    return fail(Errc::not_found, job.name + " has ended, and a later job has the same name");
  return now;
}

Result<std::vector<FoundJob>> find_jobs(const std::string& state) {
  std::vector<FoundJob> jobs;
  const std::string records = records_folder(state);
  const Result<std::vector<std::string>> names = names_in(records);
  if (!names && names.error().code == Errc::denied)
    return fail(Errc::denied, "the jobs of this machine belong to root; use sudo");
  if (!names) return jobs;
  for (const std::string& name : *names) {
    Result<FoundJob> job = find_job(state, name);
    if (job) jobs.push_back(*std::move(job));
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const FoundJob& a, const FoundJob& b) {
    return a.description.value("CreationTime", 0.0) > b.description.value("CreationTime", 0.0);
  });
  return jobs;
}

loop::Task<Result<bool>> ask_to_stop(loop::Loop& loop, FoundJob job) {
  Result<std::unique_ptr<loop::UnixChannel>> carrier =
      loop::unix_connect(loop, job.folder + "/control.sock");
  if (!carrier) co_return fail(Errc::closed, job.name + " has just ended");
  (*carrier)->post(job::type_of(job::Message::signal), to_text(Json{{"signal", SIGTERM}}));
  const Result<Frame> taken = co_await (*carrier)->receive();
  if (!taken) co_return fail(Errc::closed, job.name + " has just ended");
  const Result<Json> answer = parse_json(taken->payload);
  const bool is_object = answer && answer->is_object();
  co_return is_object && answer->value("kills", Json()) == Json(true);
}

namespace {

/// Asks the carrier for all hosts: the answers' payloads, one for each.
loop::Task<Result<std::vector<std::string>>> ask_carrier(loop::Loop& loop, FoundJob job,
                                                         job::Message type, std::string payload,
                                                         Duration most) {
  Result<std::unique_ptr<loop::UnixChannel>> carrier =
      loop::unix_connect(loop, job.folder + "/control.sock");
  if (!carrier) co_return fail(Errc::closed, job.name + " has just ended");
  (*carrier)->post(job::type_of(type), payload);
  const TimePoint deadline = Clock::now() + most;
  const Result<Frame> first = co_await loop::receive_until(loop, **carrier, deadline);
  if (!first) co_return first.error().in(job.name);
  const Result<Json> head = parse_json(first->payload);
  const Json count = head && head->is_object() ? head->value("hosts", Json()) : Json();
  if (!count.is_number_unsigned())
    co_return fail(Errc::protocol, job.name + ": expected an object {hosts}");
  std::vector<std::string> hosts;
  while (hosts.size() < count.get<std::size_t>()) {
    Result<Frame> frame = co_await loop::receive_until(loop, **carrier, deadline);
    if (!frame) co_return frame.error().in(job.name);
    hosts.push_back(std::move(frame->payload));
  }
  co_return hosts;
}

}  // namespace

loop::Task<Result<std::vector<job::HostStacks>>> ask_for_stacks(loop::Loop& loop, FoundJob job,
                                                                job::Calls calls) {
  const Result<std::vector<std::string>> told =
      co_await ask_carrier(loop, job, job::Message::stacks, job::encode(calls), stacks_max);
  if (!told) co_return told.error();
  std::vector<job::HostStacks> hosts;
  for (const std::string& each : *told) {
    Result<job::HostStacks> host = job::host_stacks_from(each);
    if (!host) co_return host.error();
    hosts.push_back(*std::move(host));
  }
  if (hosts.empty()) co_return fail(Errc::closed, job.name + ": the job has no running hosts");
  co_return hosts;
}

loop::Task<Result<std::vector<job::HostUsage>>> ask_for_usage(loop::Loop& loop, FoundJob job) {
  const Result<std::vector<std::string>> told =
      co_await ask_carrier(loop, job, job::Message::usage, "{}", usage_max);
  if (!told) co_return told.error();
  std::vector<job::HostUsage> hosts;
  for (const std::string& each : *told) {
    Result<job::HostUsage> host = job::host_usage_from(each);
    if (!host) co_return host.error();
    hosts.push_back(*std::move(host));
  }
  co_return hosts;
}

loop::Task<Result<void>> wait_for_end(loop::Loop& loop, FoundJob job) {
  Result<std::unique_ptr<loop::UnixChannel>> carrier =
      loop::unix_connect(loop, job.folder + "/control.sock");
  while (carrier) {
    const Result<Frame> frame = co_await (*carrier)->receive();
    if (!frame) break;
  }
  // The last moments of a process, in which it drops what it holds.
  const auto work = [path = job.folder + "/lock"]() -> Result<void> {
    const Fd lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!lock) return {};  // Gone with its record: it has ended.
    while (::flock(lock.get(), LOCK_SH) != 0)
      if (errno != EINTR) return fail_errno("cannot lock " + path);
    return {};
  };
  co_return co_await loop::in_thread(loop, work);
}

Result<void> forget_job(const FoundJob& job) {
  if (is_held(job.folder))
    return fail(Errc::invalid_input,
                job.name + " is running; run sm stop --wait " + job.name + ", then delete the job");
  return remove_record(job.folder.substr(0, job.folder.rfind('/')), job.name);
}

Result<std::vector<std::string>> forget_ended(const std::string& state) {
  std::vector<std::string> forgotten;
  const std::string records = records_folder(state);
  for (const std::string& name : names_in(records).value_or({})) {
    if (name.starts_with('.')) {
      remove_half_made(records, name);
      continue;
    }
    if (is_held(records + "/" + name)) continue;
    TRY(remove_record(records, name));
    forgotten.push_back(name);
  }
  return forgotten;
}

std::vector<std::string> beyond(std::vector<RecordSize> records, const RecordLimits& limits) {
  std::stable_sort(records.begin(), records.end(),
                   [](const RecordSize& a, const RecordSize& b) { return a.time > b.time; });
  std::vector<std::string> going;
  std::size_t jobs = 0;
  std::uint64_t bytes = 0;
  for (const RecordSize& record : records) {
    bytes += record.log_bytes;
    if (++jobs > limits.jobs_max || bytes > limits.log_bytes_max) going.push_back(record.name);
  }
  return going;
}

}  // namespace muster::places
