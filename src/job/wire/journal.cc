#include "job/wire/journal.h"

#include <nlohmann/json.hpp>

#include "base/crc.h"
#include "base/json.h"
#include "base/little_endian.h"
#include "base/text.h"

namespace muster::job {
namespace {

constexpr std::size_t prefix_bytes = 8;  // Length and checksum: what the checksum does not cover.
constexpr std::size_t fixed_bytes = record_header_bytes - prefix_bytes;

constexpr std::pair<Card, const char*> card_names[] = {{Card::memory_error, "memory_error"},
                                                       {Card::broken, "broken"}};

/// A field of a payload that must be text.
Result<std::string> text_field(const Json& json, const char* name) {
  const Json::const_iterator found = json.find(name);
  if (found == json.end() || !found->is_string())
    return fail(Errc::protocol, std::string("a record lacks the string field \"") + name + "\"");
  return found->get<std::string>();
}

Result<Json> object_from(std::string_view payload) {
  Result<Json> json = parse_json(payload);
  if (!json || !json->is_object())
    return fail(Errc::protocol, "a record's payload is not an object");
  return json;
}

bool flag_field(const Json& json, const char* name) {
  const Json::const_iterator found = json.find(name);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace

void append_record(std::string& out, std::uint64_t seq, UnixMillis time, Message kind,
                   std::string_view payload) {
  CHECK_THAT(payload.size() <= frame_payload_bytes_max, "journal payload too long");
  const std::size_t start = out.size();
  append_number(out, fixed_bytes + payload.size(), 4);
  append_number(out, 0, 4);
  append_number(out, seq, 8);
  append_number(out, static_cast<std::uint64_t>(time.count()), 8);
  out += static_cast<char>(type_of(kind));
  out += payload;
  set_number(out, start + 4, crc32c(std::string_view(out).substr(start + prefix_bytes)), 4);
}

Result<std::optional<Record>> JournalReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  const std::string where = "journal at byte " + std::to_string(offset_) + ": ";
  if (rest.size() >= 4) {
    const std::uint64_t length = number_at(rest, 0, 4);
    if (length < fixed_bytes || length > fixed_bytes + frame_payload_bytes_max)
      return fail(Errc::protocol,
                  where + "invalid record length of " + std::to_string(length) + " bytes");
    if (rest.size() >= prefix_bytes + length) {
      const std::string_view body = rest.substr(prefix_bytes, length);
      if (crc32c(body) != number_at(rest, 4, 4))
        return fail(Errc::protocol, where + "wrong checksum");
      Record record;
      record.seq = number_at(body, 0, 8);
      record.time = UnixMillis(static_cast<std::int64_t>(number_at(body, 8, 8)));
      record.kind = static_cast<Message>(body[16]);
      record.payload = body.substr(fixed_bytes);
      const bool begins = record.seq == 1;  // The journal, or another attempt's part of it.
      if (record.seq == 0 || (seq_ != 0 && record.seq != seq_ + 1 && !begins))
        return fail(Errc::protocol, where + "records out of order: record " +
                                        std::to_string(record.seq) + " follows record " +
                                        std::to_string(seq_));
      seq_ = record.seq;
      at_ += prefix_bytes + length;
      offset_ += prefix_bytes + length;
      return std::optional<Record>(std::move(record));
    }
  }
  buffer_.erase(0, at_);
  at_ = 0;
  return std::optional<Record>();
}

namespace {
constexpr std::array<std::string_view, 7> phase_names = {
    "Starting", "Downloading", "Training", "Uploading", "Completed", "Failed", "Stopped"};
}

std::string_view phase_name(Phase phase) {
  return phase_names[static_cast<std::size_t>(phase)];
}

std::optional<Phase> phase_named(std::string_view name) {
  for (std::size_t i = 0; i < phase_names.size(); ++i)
    if (phase_names[i] == name) return static_cast<Phase>(i);
  return std::nullopt;
}

std::string encode(const PhaseChange& change) {
  return to_text(Json{{"phase", phase_name(change.phase)}, {"message", change.message}});
}

Result<PhaseChange> phase_from(std::string_view payload) {
  const Json json = TRY(object_from(payload));
  const std::string name = TRY(text_field(json, "phase"));
  const std::string message = TRY(text_field(json, "message"));
  const std::optional<Phase> phase = phase_named(name);
  if (!phase) return fail(Errc::protocol, "unknown phase \"" + name + "\"");
  return PhaseChange{*phase, message};
}

std::string encode(const LogLine& line) {
  return to_text(Json{{"level", line.level}, {"text", line.text}});
}

Result<LogLine> log_from(std::string_view payload) {
  const Json json = TRY(object_from(payload));
  const std::string level = TRY(text_field(json, "level"));
  const std::string text = TRY(text_field(json, "text"));
  return LogLine{level, text};
}

std::string numa_report_of(const LogLine& line) {
  constexpr std::size_t bytes_max = 1024;
  const std::string_view text = line.text;
  const bool is_report = text.starts_with(numa_report) && text.size() <= bytes_max &&
                         text.find('\n') == std::string_view::npos;
  return is_report ? to_utf8(text.substr(numa_report.size())) : "";
}

std::string encode(const HostEnd& end) {
  Verdict verdict;
  verdict.outcome = end.outcome;
  verdict.host = end.host;
  verdict.process = "host";
  Json json = to_json(verdict);
  json["out_of_memory"] = end.out_of_memory;
  json["stopped"] = end.stopped;
  if (!end.overruns.empty()) json["overruns"] = end.overruns;
  for (const auto& [card, name] : card_names)
    if (end.card == card) json["card"] = name;
  return to_text(json);
}

Result<std::optional<HostEnd>> host_end_from(std::string_view payload) {
  const Json json = TRY(object_from(payload));
  Verdict verdict = TRY(verdict_from(json));
  if (verdict.process != "host" || !json.contains("stopped")) return std::optional<HostEnd>();
  HostEnd end{verdict.host, verdict.outcome, flag_field(json, "out_of_memory"),
              flag_field(json, "stopped")};
  if (const Json::const_iterator found = json.find("overruns");
      found != json.end() && found->is_array())
    for (const Json& overrun : *found)
      if (overrun.is_string()) end.overruns.push_back(overrun.get<std::string>());
  const Json::const_iterator card = json.find("card");
  for (const auto& [each, name] : card_names)
    if (card != json.end() && *card == name) end.card = each;
  return std::optional<HostEnd>(std::move(end));
}

}  // namespace muster::job
