#include "cli/view/own_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fields.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/exit_code_of.h"
#include "cli/view/here.h"
#include "cli/view/job_view.h"
#include "cli/view/log_folder.h"
#include "platform/places/growth.h"
#include "platform/places/job_description.h"

namespace muster::cli {
namespace {

constexpr std::size_t read_bytes = 1u << 20;
/// What a log folder's files hold back in memory, about.
constexpr std::size_t unwritten_bytes_max = 4u << 20;

std::vector<platform::StatusLine> statuses_of(const Json& job) {
  std::vector<platform::StatusLine> lines;
  const auto changes = job.find("SecondaryStatusTransitions");
  if (changes == job.end() || !changes->is_array()) return lines;
  for (const Json& change : *changes)
    lines.push_back({member_text(change, "Status"), member_text(change, "StatusMessage"),
                     member_time(change, "StartTime").value_or(UnixMillis(0))});
  return lines;
}

ssize_t read_some(int fd, std::string& buffer) {
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count >= 0 || errno != EINTR) return count;
  }
}

/// One job's log on its way from the journals to the screen.
class Shown {
 public:
  Shown(Here& here, places::FoundJob job, JobLogOptions options)
      : here_(here),
        job_(std::move(job)),
        options_(std::move(options)),
        log_(files_of(job_)),
        tail_(options_.filter.tail),
        changed_(here.loop),
        tasks_(here.loop) {}

  loop::Task<Result<int>> run();

 private:
  static OwnLog::Files files_of(const places::FoundJob& job);
  Result<void> check_host() const;
  std::unique_ptr<Render> make_render() const;
  void add_statuses();
  void add_to_tail(LogEntry entry);
  Result<void> round();
  loop::Task<> watch_growth();
  loop::Task<> watch_end();
  Result<int> end();
  void say_if_nothing() const;

  Here& here_;
  places::FoundJob job_;
  const JobLogOptions options_;
  OwnLog log_;
  LogTail tail_;
  bool first_look_ = true;
  bool shown_ = false;
  std::vector<platform::StatusLine> said_;
  std::unique_ptr<Render> render_;
  std::unique_ptr<places::Growth> growth_;
  bool stale_ = false;  ///< Something may have come since the last look.
  loop::Event changed_;
  loop::Tasks tasks_;
};

OwnLog::Files Shown::files_of(const places::FoundJob& job) {
  OwnLog::Files files;
  for (const std::string& host : job::host_names(hosts_of_job(job.description)))
    files.emplace_back(host, job.journal(host));
  return files;
}

Result<void> Shown::check_host() const {
  const std::string& host = options_.filter.host;
  const int hosts = hosts_of_job(job_.description);
  const std::vector<std::string> names = job::host_names(hosts);
  if (host.empty() || std::find(names.begin(), names.end(), host) != names.end()) return {};
  return no_such_host(job_.name, host, hosts);
}

std::unique_ptr<Render> Shown::make_render() const {
  std::string& out = here_.out.text();
  if (options_.json) return std::make_unique<JsonRender>(out);
  const int hosts = hosts_of_job(job_.description);
  return std::make_unique<PlainRender>(
      out, RenderOptions{.colour = here_.colour,
                         .live = true,
                         .raw = options_.raw,
                         .hosts = hosts,
                         .ranks = hosts * std::max(1, processes_per_host_of(job_.description))});
}

/// Statuses that were not told yet, and new messages of told ones.
void Shown::add_statuses() {
  const std::vector<platform::StatusLine> lines = statuses_of(job_.description);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i < said_.size() && said_[i].message == lines[i].message) continue;
    log_.add(lines[i]);
  }
  said_ = lines;
}

void Shown::add_to_tail(LogEntry entry) {
  const std::vector<std::string> lines = split(entry.text, '\n');
  for (const std::string& line : lines) {
    entry.text = line;
    tail_.add(entry);
  }
}

Result<void> Shown::round() {
  add_statuses();
  for (const auto& [host, file] : files_of(job_))
    if (growth_) growth_->watch(file);
  const std::function<Result<void>(LogEntry)> take = [this](LogEntry entry) -> Result<void> {
    if (!options_.filter.takes(entry)) return {};
    if (first_look_ && options_.filter.tail > 0) {
      add_to_tail(std::move(entry));
      return {};
    }
    shown_ = true;
    show_entry(*render_, entry);
    return {};
  };
  TRY(log_.read(!job_.living, take));
  for (const LogEntry& entry : tail_.take()) {
    shown_ = true;
    show_entry(*render_, entry);
  }
  first_look_ = false;
  return {};
}

loop::Task<> Shown::watch_growth() {
  while (true) {
    const bool happened = co_await growth_->happened();
    if (!happened) co_return;
    stale_ = true;
    changed_.notify();
  }
}

loop::Task<> Shown::watch_end() {
  static_cast<void>(co_await places::wait_for_end(here_.loop, job_));
  job_.living = false;
  stale_ = true;
  changed_.notify();
}

/// As a server's job's end is told.
Result<int> Shown::end() {
  render_->finish();
  const Json& job = job_.description;
  if (options_.json) {
    here_.out.text() += end_object(job);
    return exit_code_of_job(job);
  }
  const auto seconds = job.find("TrainingTimeInSeconds");
  if (seconds != job.end() && seconds->is_number_integer()) {
    const std::int64_t took = seconds->get<std::int64_t>();
    here_.out.text() += seconds_text(took, took, hosts_of_job(job));
  }
  here_.out.text() += metrics_line(job);
  const std::string place = results_of(job);
  if (!place.empty()) here_.out.text() += "Results: " + visible_line(place) + "\n";
  return exit_code_of_job(job);
}

void Shown::say_if_nothing() const {
  if (job_.description.value("MusterLogDropped", false))
    return here_.complain("the log was too large to keep here; " +
                          results_folder(job_.description) + "/log contains it");
  if (!shown_ && options_.filter.rank)
    here_.complain(job_.name + "'s log has no lines from rank " +
                   std::to_string(*options_.filter.rank));
}

loop::Task<Result<int>> Shown::run() {
  const Result<void> known = check_host();
  if (!known) co_return known.error();
  render_ = make_render();
  if (options_.follow && job_.living) {
    Result<std::unique_ptr<places::Growth>> growth = places::Growth::open(here_.loop, job_.folder);
    if (!growth) co_return growth.error();
    growth_ = *std::move(growth);
    tasks_.start(watch_growth());
    tasks_.start(watch_end());
  }
  while (true) {
    stale_ = false;
    const bool last = !job_.living;  // What was written by then is read below.
    if (Result<places::FoundJob> now = places::find_again(here_.state, job_))
      job_.description = std::move(now->description);
    const Result<void> shown = round();
    if (!shown) co_return shown.error();
    co_await here_.out.flush();
    if (!options_.follow || last) break;
    while (!stale_) co_await changed_.wait();
  }
  say_if_nothing();
  if (!options_.follow) co_return exit_success;
  const Result<int> code = end();
  co_await here_.out.flush();
  const bool colour = here_.colour && ::isatty(STDERR_FILENO) == 1;
  static_cast<void>(write_all(STDERR_FILENO, end_text(job_.description, colour)));
  co_return code;
}

}  // namespace

OwnLog::OwnLog(Files files) : statuses_(merge_.add_source()), buffer_(read_bytes, '\0') {
  for (auto& [host, path] : files)
    sources_.push_back({std::move(host), std::move(path), merge_.add_source()});
}

void OwnLog::add(const platform::StatusLine& line) {
  merge_.add(statuses_, {.kind = LogEntry::Kind::status,
                         .time = line.time,
                         .name = line.status,
                         .text = line.message});
}

Result<void> OwnLog::read_on(Source& source, bool ended) {
  if (!source.fd && !source.over) {
    source.fd = Fd(::open(source.path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!source.fd && errno != ENOENT) return fail_errno("cannot open " + source.path);
  }
  const bool readable = source.fd && !source.over;
  const ssize_t count = readable ? read_some(source.fd.get(), buffer_) : 0;
  if (count < 0) return fail_errno("cannot read " + source.path);
  const auto take = [&](const platform::HostLines& lines) {
    merge_.add(source.number, log_entry(source.host, lines));
  };
  const std::string_view piece(buffer_.data(), static_cast<std::size_t>(count));
  if (!source.over)
    source.over = !source.reader.visit(piece, [&](const job::Record& record) {
      source.lines.take(record, take);
      return true;
    });
  if (ended && (count == 0 || source.over)) source.lines.finish(take);
  if (count == 0 || source.over) merge_.dry(source.number);
  return {};
}

Result<void> OwnLog::read(bool ended, const std::function<Result<void>(LogEntry)>& take) {
  merge_.again();
  merge_.dry(statuses_);
  while (const std::optional<std::size_t> wanting = merge_.wanting()) {
    for (Source& source : sources_)
      if (source.number == *wanting) TRY(read_on(source, ended));
    while (std::optional<LogMerge::Next> next = merge_.next()) TRY(take(std::move(next->entry)));
  }
  while (std::optional<LogMerge::Next> next = merge_.next()) TRY(take(std::move(next->entry)));
  return {};
}

void show_entry(Render& render, const LogEntry& entry) {
  if (entry.kind == LogEntry::Kind::status)
    return render.status({entry.name, entry.text, entry.time});
  if (entry.kind == LogEntry::Kind::own)
    return render.log(entry.host, entry.time, {entry.name, entry.text});
  job::Lines lines;
  lines.rank = entry.rank;
  lines.stream = entry.stream;
  lines.bytes = entry.text + "\n";
  render.lines(entry.host, entry.time, lines);
}

Result<void> write_log(const OwnLog::Files& files, const std::vector<platform::StatusLine>& lines,
                       const RenderOptions& options, const std::string& folder) {
  OwnLog log(files);
  for (const platform::StatusLine& line : lines) log.add(line);
  LogFolder written(folder, options);
  std::size_t unwritten_bytes = 0;
  const std::function<Result<void>(LogEntry)> take = [&](LogEntry entry) -> Result<void> {
    show_entry(written, entry);
    unwritten_bytes += entry.text.size();
    if (unwritten_bytes < unwritten_bytes_max) return {};
    unwritten_bytes = 0;
    return written.flush();
  };
  TRY(log.read(true, take));
  written.finish();
  return written.flush();
}

loop::Task<Result<int>> show_own_log(Here& here, places::FoundJob job, JobLogOptions options) {
  Shown shown(here, std::move(job), std::move(options));
  const Result<int> code = co_await shown.run();
  co_return code;
}

}  // namespace muster::cli
