#include "machine/steward/host_word.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "job/limits.h"
#include "job/outcome/lines.h"
#include "job/wire/mark.h"
#include "job/wire/message.h"

namespace muster::steward {
namespace {

constexpr std::size_t name_bytes_max = 256;
constexpr std::size_t error_bytes_max = 1024;
constexpr std::size_t failure_file_bytes_max =
    4096;  ///< 1,024 characters, the limit of FailureReason.
constexpr std::size_t text_bytes_max = 8u << 10;
constexpr std::size_t command_bytes_max = 64u << 10;
constexpr std::size_t record_bytes_max = 64u << 10;

void cut(std::string& text, std::size_t most) {
  if (text.size() > most) text.resize(most);
}

/// Texts at most as long as those of `train`; if there are too many last lines, the latest stay.
void bound(job::Verdict& verdict) {
  cut(verdict.outcome.text, text_bytes_max);
  cut(verdict.process, name_bytes_max);
  cut(verdict.error_class, name_bytes_max);
  cut(verdict.error, error_bytes_max);
  cut(verdict.failure_file, failure_file_bytes_max);
  cut(verdict.command, command_bytes_max);
  std::string& lines = verdict.last_lines;
  if (lines.size() > text_bytes_max) lines.erase(0, lines.size() - text_bytes_max);
}

}  // namespace

Result<std::optional<std::string>> HostWord::taken(const Frame& frame) {
  switch (static_cast<job::Message>(frame.type)) {
    case job::Message::lines:
      // Readers of the job keep state for each rank that has a line.
      if (TRY(job::lines_from(frame.payload)).rank >= job::ranks_max)
        return fail(Errc::protocol,
                    "the rank of a log line must be below " + std::to_string(job::ranks_max));
      return std::optional(frame.payload);
    case job::Message::outcome:
      return word(frame, false);
    case job::Message::verdict:
      return word(frame, true);
    case job::Message::mark:
      return mark(frame);
    case job::Message::preflight_facts:
      return health(frame);
    default:  // Phases and log lines are the steward's own; messages that a newer `train` adds are
              // ignored.
      return std::optional<std::string>();
  }
}

/// A verdict on the job may name any of its hosts: its leader knows which one failed.
Result<std::optional<std::string>> HostWord::word(const Frame& frame, bool of_the_job) {
  const Json json = TRY(parse_json(frame.payload));
  job::Verdict verdict = TRY(job::verdict_from(json));
  const bool known = of_the_job
                         ? std::find(hosts_.begin(), hosts_.end(), verdict.host) != hosts_.end()
                         : verdict.host == host_;
  if (!verdict.host.empty() && !known)
    return fail(Errc::protocol, of_the_job ? "the verdict names a host that is not in the job"
                                           : "the outcome belongs to a process on another host");
  // Readers of a journal treat the outcome of "host" as the steward's own, from the kernel.
  if (!of_the_job && verdict.process == "host")
    return fail(Errc::protocol,
                "only the host's steward may report the outcome of the host itself");
  bound(verdict);
  std::string text = to_text(job::to_json(verdict));
  if (bytes_ + text.size() > bytes_max)
    return fail(Errc::protocol,
                "the outcomes exceed the limit of " + std::to_string(bytes_max) + " bytes");
  bytes_ += text.size();
  return std::optional(std::move(text));
}

/// Only the leader sends them, one per host. The reader of the stored record treats it as
/// untrusted.
Result<std::optional<std::string>> HostWord::health(const Frame& frame) {
  const Json json = TRY(parse_json(frame.payload));
  const bool has_form = json.is_object() && json.contains("host") && json["host"].is_string() &&
                        json.contains("record") && json["record"].is_object();
  if (!has_form || frame.payload.size() > record_bytes_max)
    return fail(Errc::protocol, "the health record is malformed");
  const std::string host = json["host"].get<std::string>();
  if (host_ != hosts_.front() || std::find(hosts_.begin(), hosts_.end(), host) == hosts_.end())
    return fail(Errc::protocol,
                "only the leader may send health records, and only about the job's hosts");
  std::string text = to_text(Json{{"host", host}, {"record", json["record"]}});
  if (bytes_ + text.size() > bytes_max)
    return fail(Errc::protocol,
                "the health records exceed the limit of " + std::to_string(bytes_max) + " bytes");
  if (!health_told_.insert(host).second) return std::optional<std::string>();
  bytes_ += text.size();
  return std::optional(std::move(text));
}

/// Each is accepted once: repetitions add nothing to the journal.
Result<std::optional<std::string>> HostWord::mark(const Frame& frame) {
  const job::Moment moment = TRY(job::moment_from(frame.payload));
  if (!job::is_hosts_own(moment.mark))
    return fail(Errc::protocol, "only the host's steward may send the mark \"" +
                                    std::string(job::mark_name(moment.mark)) + "\"");
  if (!marked_.insert(moment.mark).second) return std::optional<std::string>();
  return std::optional(job::encode(job::Moment{moment.mark}));
}

}  // namespace muster::steward
