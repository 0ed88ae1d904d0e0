#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/dates.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/view/render.h"
#include "job/outcome/rank_tag.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

/// A character that needs no escape in a JSON string.
bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

void append_escaped(std::string& out, char c) {
  out += '\\';
  if (c == '"' || c == '\\') {
    out += c;
  } else if (c == '\n') {
    out += 'n';
  } else if (c == '\r') {
    out += 'r';
  } else if (c == '\t') {
    out += 't';
  } else {
    const unsigned byte = static_cast<unsigned char>(c);
    out += "u00";
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 15];
  }
}

void append_field(std::string& out, const char* name, std::string_view text) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_string(out, text);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    std::size_t run = 0;
    while (run < text.size() && is_plain(text[run])) ++run;
    quoted += text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) break;
    append_escaped(quoted, text.front());
    text.remove_prefix(1);
  }
  quoted += '"';
  out += visible_json(quoted);
}

void JsonRender::status(const platform::StatusLine& line) {
  out_ += R"({"type":"status")";
  append_field(out_, "time", iso_date(line.time));
  append_field(out_, "status", line.status);
  append_field(out_, "message", to_utf8(line.message));
  out_ += "}\n";
}

void JsonRender::log(const std::string& host, UnixMillis time, const job::LogLine& line) {
  out_ += R"({"type":"log")";
  append_field(out_, "time", iso_date(time));
  append_field(out_, "host", host);
  append_field(out_, "level", line.level);
  append_field(out_, "text", to_utf8(line.text));
  out_ += "}\n";
}

void JsonRender::line(std::string_view text, std::string_view head, const job::Lines& of) {
  if (of.steps && text.ends_with('\r')) text.remove_suffix(1);
  out_ += head;
  const bool readable = is_utf8(text);
  if (readable) {
    append_json_string(out_, text);
  } else {
    append_json_string(out_, to_utf8(text));
    append_field(out_, "base64", base64(text));
  }
  if (of.part) out_ += ",\"part\":true";
  if (of.steps) out_ += ",\"step\":true";
  out_ += "}\n";
}

void JsonRender::lines(const std::string& host, UnixMillis time, const job::Lines& lines) {
  std::string head = R"({"type":"line")";
  append_field(head, "time", iso_date(time));
  append_field(head, "host", host);
  head += ",\"rank\":" + (lines.rank < 0 ? "null" : std::to_string(lines.rank));
  append_field(head, "stream", job::stream_name(lines.stream));
  head += ",\"text\":";
  std::string_view rest = lines.bytes;
  if (lines.part) return line(rest, head, lines);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    line(rest.substr(0, end), head, lines);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

std::string end_object(const platform::JobReport& report, const std::string& job,
                       const std::string& output, int hosts, int exit_code, const Json& metrics) {
  const platform::JobEnd& end = report.end;
  const platform::Conflicts& conflicts = report.results.conflicts;
  Json json{{"type", "end"},
            {"time", iso_date(end.last.time)},
            {"job", job},
            {"status", platform::status_name(end.status)},
            {"secondary_status", end.last.status},
            {"exit_code", exit_code},
            {"reason", end.reason},
            {"verdict", job::to_json(end.verdict)},
            {"training_seconds", end.training_time.count() * hosts},
            {"output", report.results.written ? Json(output) : Json()},
            {"failure_files", report.results.failure_files},
            {"conflicts",
             {{"count", conflicts.count},
              {"names", conflicts.names},
              {"folder", conflicts.count > 0 ? Json(output + "/conflicts") : Json()}}}};
  if (!report.trouble.empty()) json["trouble"] = report.trouble;
  const std::string_view topic = topic_name(end.reason);
  if (!topic.empty()) json["topic"] = topic;
  if (!metrics.is_null()) json["metrics"] = metrics;
  return visible_json(to_text(json)) + "\n";
}

}  // namespace muster::cli
