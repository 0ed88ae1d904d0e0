#include "cli/view/render.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dates.h"
#include "base/process/local_time.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/view/cause_view.h"
#include "cli/view/sgr.h"
#include "job/outcome/shown_words.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

/// Lines without an end are not kept back beyond this, all together.
constexpr std::size_t waiting_bytes_max = 64u << 20;
/// Where a terminal does not say.
constexpr int columns_default = 80;

constexpr std::array<const char*, 6> host_colours = {"\x1b[36m", "\x1b[33m", "\x1b[32m",
                                                     "\x1b[35m", "\x1b[34m", "\x1b[96m"};
constexpr const char* red = "\x1b[31m";
constexpr const char* bold = "\x1b[1m";
constexpr const char* plain = "\x1b[0m";

std::size_t number_of(const std::string& host) {
  return static_cast<std::size_t>(parse_integer(host.substr(host.rfind('-') + 1)).value_or(0));
}

/// A server may name a stream of its log as it likes.
std::string name_of(const std::string& host, int rank) {
  const std::string shown = visible_line(host);
  return rank < 0 ? shown : shown + " rank " + std::to_string(rank);
}

std::string indented(const std::string& text) {
  std::string all;
  for (const std::string& line : split(trim(text), '\n')) all += "    " + visible_line(line) + "\n";
  return all;
}

}  // namespace

PlainRender::PlainRender(std::string& out, RenderOptions options)
    : out_(out),
      options_(std::move(options)),
      tag_width_(name_of("algo-" + std::to_string(options_.hosts), options_.ranks - 1).size()) {}

void PlainRender::break_line() {
  if (at_ != nullptr) out_ += '\n';
  at_ = nullptr;
}

std::string PlainRender::time_text(UnixMillis time) {
  const std::string offset = options_.utc ? "UTC" : offset_text(time);
  const std::string text = options_.utc ? utc_text(time) : local_text(time);
  return std::exchange(offset_, offset) == offset ? text : text + " " + offset;
}

void PlainRender::status(const platform::StatusLine& line) {
  break_line();
  if (options_.colour) out_ += bold;
  out_ +=
      time_text(line.time) + " " + visible_line(line.status) + " - " + visible_line(line.message);
  if (options_.colour) out_ += plain;
  out_ += '\n';
}

PlainRender::Writer& PlainRender::writer(const std::string& host, int rank, job::Stream stream) {
  const auto [found, is_new] = writers_.try_emplace({host, rank, stream});
  Writer& writer = found->second;
  if (!is_new) return writer;
  std::string name = name_of(host, rank);
  name.resize(std::max(name.size(), tag_width_), ' ');
  const bool error = stream == job::Stream::err;
  if (!options_.colour) {
    writer.tag = name + (error ? " ! " : " | ");
    return writer;
  }
  writer.tag = host_colours[number_of(host) % host_colours.size()] + name;
  writer.tag += std::string(error ? " ! " : " | ") + plain;
  return writer;
}

/// Goes to where the writer's next bytes belong: on with its line, or to a new one.
void PlainRender::begin_line(Writer& writer) {
  if (!writer.open) writer.style = {};
  if (at_ == &writer && !writer.rewinds) return;
  if (at_ == &writer)
    out_ += "\r\x1b[K";
  else
    break_line();
  writer.rewinds = false;
  out_ += writer.tag;
  if (writer.open) out_ += "... ";  // Somebody else's line broke into this one.
}

void PlainRender::append(Writer& writer, std::string_view bytes) {
  if (options_.raw)
    out_ += bytes;
  else
    out_ += painted(bytes, options_.colour, writer.style);
}

/// The beginning of its line that was kept back, if any.
std::string PlainRender::take_waiting(Writer& writer) {
  waiting_bytes_ -= writer.waiting.size();
  return std::exchange(writer.waiting, {});
}

/// `text` as it fits behind a tag.
std::string PlainRender::fitting(std::string_view text) const {
  const std::size_t taken = tag_width_ + 4;
  const int columns = options_.columns ? options_.columns() : 0;
  const std::size_t most = static_cast<std::size_t>(columns > 0 ? columns : columns_default);
  TextStyle style;
  return first_of(painted(text, options_.colour, style), most > taken ? most - taken : 1);
}

void PlainRender::show_state(Writer& writer, UnixMillis time, std::string text) {
  if (text.empty()) return;
  if (options_.live && at_ == &writer) {
    static_cast<void>(writer.steps.take_held());
    writer.rewinds = true;
  } else {
    std::optional<std::string> due = writer.steps.take(std::move(text), time);
    if (!due) return;
    text = *std::move(due);
  }
  writer.open = false;
  begin_line(writer);
  if (options_.live) {
    out_ += fitting(text);
    at_ = &writer;
    writer.rewinds = true;
    return;
  }
  append(writer, text);
  out_ += '\n';
}

/// The last state, which another line follows.
void PlainRender::show_held(Writer& writer) {
  const std::string text = writer.steps.take_held();
  if (text.empty()) return;
  begin_line(writer);
  append(writer, text);
  out_ += '\n';
  at_ = nullptr;
}

void PlainRender::steps(Writer& writer, UnixMillis time, std::string_view bytes) {
  const bool shown = at_ == &writer && writer.open;  // The line begins in `out` already.
  writer.progress = true;
  if (shown && std::count(bytes.begin(), bytes.end(), '\n') == 1) {
    append(writer, job::last_step(bytes));
    writer.open = false;
    writer.rewinds = true;
    return;
  }
  const std::string all = take_waiting(writer).append(bytes);
  show_state(writer, time, std::string(job::last_step(all)));
}

void PlainRender::part(Writer& writer, UnixMillis time, std::string_view bytes) {
  if (options_.live && writer.progress && waiting_bytes_ + bytes.size() <= waiting_bytes_max) {
    writer.waiting += bytes;
    waiting_bytes_ += bytes.size();
    return show_state(writer, time, writer.waiting);
  }
  if (!options_.live && waiting_bytes_ + bytes.size() <= waiting_bytes_max) {
    writer.waiting += bytes;
    waiting_bytes_ += bytes.size();
    return;
  }
  begin_line(writer);
  append(writer, take_waiting(writer).append(bytes));
  writer.open = true;
  at_ = &writer;
}

void PlainRender::lines(const std::string& host, UnixMillis time, const job::Lines& lines) {
  Writer& from = writer(host, lines.rank, lines.stream);
  if (lines.part) return part(from, time, lines.bytes);
  if (lines.bytes.empty()) return;
  if (lines.steps) return steps(from, time, lines.bytes);
  show_held(from);
  begin_line(from);
  const std::string all = take_waiting(from).append(lines.bytes);
  std::string_view rest = all;
  from.open = false;
  at_ = nullptr;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t end = rest.find('\n');
    const std::size_t size = end == std::string_view::npos ? rest.size() : end + 1;
    if (!first) out_ += from.tag;
    append(from, rest.substr(0, size));
    rest.remove_prefix(size);
    if (end == std::string_view::npos) out_ += '\n';
  }
}

void PlainRender::log(const std::string& host, UnixMillis, const job::LogLine& line) {
  const bool loud = line.level == "error" || line.level == "warning";
  if (!loud && line.level != "note" && !options_.verbose) return;
  break_line();
  const bool coloured = options_.colour && line.level == "error";
  if (coloured) out_ += red;
  const std::string said = visible_line(line.text);
  out_ += visible_line(host) + " muster: " + (loud ? line.level + ": " : "");
  out_ += line.level == "error" ? with_topic(said) : said;
  if (coloured) out_ += plain;
  out_ += '\n';
}

void PlainRender::finish() {
  for (auto& [key, writer] : writers_) {
    if (writer.waiting.empty()) show_held(writer);
    if (writer.waiting.empty()) continue;
    begin_line(writer);
    append(writer, take_waiting(writer));
    at_ = &writer;
  }
  break_line();
}

std::string verdict_text(const platform::JobReport& report, const LastLines& last, bool colour) {
  const platform::JobEnd& end = report.end;
  if (end.status == platform::JobEnd::Status::completed) return {};
  std::string text = colour ? red : "";
  text += std::string(platform::status_name(end.status)) + ": ";
  if (end.status == platform::JobEnd::Status::timed_out)
    text += with_topic("exceeded its time limit, --timeout");
  if (end.status == platform::JobEnd::Status::waited_out)
    text += with_topic("exceeded the limit for its queue time plus run time");
  if (end.status == platform::JobEnd::Status::stopped) text += "on request";
  if (end.status == platform::JobEnd::Status::failed) text += with_topic(visible_line(end.reason));
  text += colour ? std::string(plain) + "\n" : "\n";
  const std::string last_text = last.text();
  if (end.status == platform::JobEnd::Status::timed_out && !last_text.empty())
    text += "  last lines of each rank, longest silence first:\n" + last_text;
  if (end.status != platform::JobEnd::Status::failed) return text;
  const platform::Cause cause = end.cause ? *end.cause : platform::Cause{.verdict = end.verdict};
  text += cause_lines(platform::to_json(cause));
  if (!trim(end.verdict.last_lines).empty())
    text += "  last lines:\n" + indented(job::excerpt(end.verdict));
  if (!end.verdict.command.empty())
    text += "  command: " + visible_line(end.verdict.command) + "\n";
  if (!report.results.failure_files.empty())
    text += "  failure files: " + visible_line(join(report.results.failure_files, " ")) + "\n";
  return text;
}

std::string seconds_text(std::int64_t training, std::int64_t billable, int hosts) {
  return "Training seconds: " + std::to_string(training * hosts) +
         "\nBillable seconds: " + std::to_string(billable * hosts) + " (" +
         std::to_string(billable) + " s for each of " + std::to_string(hosts) +
         (hosts == 1 ? " host" : " hosts") + ", rounded up)\n";
}

}  // namespace muster::cli
