#include "job/outcome/outcome.h"

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

const char* kind_name(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::exited:
      return "exited";
    case Outcome::Kind::signaled:
      return "signaled";
    case Outcome::Kind::lost:
      return "lost";
    case Outcome::Kind::failed:
      return "failed";
  }
  return "failed";
}

/// A member of an object: the standard where it is missing, an Error where it has another type.
template <class T>
Result<T> member(const Json& json, const char* name, T standard) {
  const Json::const_iterator found = json.find(name);
  if (found == json.end()) return standard;
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    return fail(Errc::protocol, std::string("\"") + name + "\" has an unexpected type");
  }
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

std::string describe(const Outcome& outcome) {
  const std::string more = outcome.text.empty() ? "" : ": " + outcome.text;
  switch (outcome.kind) {
    case Outcome::Kind::exited:
      return "exit code " + std::to_string(outcome.number) + more;
    case Outcome::Kind::signaled:
      return "killed by " + signal_name(outcome.number) + more;
    case Outcome::Kind::lost:
      return "lost" + more;
    case Outcome::Kind::failed:
      return outcome.text;
  }
  return outcome.text;
}

std::string describe(const Verdict& verdict) {
  if (verdict.success()) return "success";
  std::string where = verdict.process;
  if (!verdict.host.empty()) {
    if (where == "host")
      where += " " + verdict.host;
    else
      where += (where.empty() ? "" : " on ") + verdict.host;
  }
  return (where.empty() ? "" : where + ": ") + describe(verdict.outcome) +
         (verdict.out_of_memory ? " (out of memory)" : "") +
         (verdict.error.empty() ? "" : ": " + verdict.error) +
         (verdict.blames_peer ? " (possibly caused by another process's failure)" : "");
}

int exit_code(const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::exited) return outcome.number;
  if (outcome.kind == Outcome::Kind::signaled) return 128 + outcome.number;
  return 1;
}

Json to_json(const Outcome& outcome) {
  Json json = {{"kind", kind_name(outcome.kind)}, {"number", outcome.number}};
  if (!outcome.text.empty()) json["text"] = outcome.text;
  return json;
}

Json to_json(const Verdict& verdict) {
  Json json = {{"outcome", to_json(verdict.outcome)}, {"host", verdict.host},
               {"process", verdict.process},          {"rank", verdict.rank},
               {"last_lines", verdict.last_lines},    {"command", verdict.command}};
  if (verdict.out_of_memory) json["out_of_memory"] = true;
  if (!verdict.error_class.empty()) json["error_class"] = verdict.error_class;
  if (!verdict.error.empty()) json["error"] = verdict.error;
  if (verdict.blames_peer) json["blames_peer"] = true;
  if (verdict.unseen) json["unseen"] = true;
  if (!verdict.failure_file.empty()) json["failure_file"] = verdict.failure_file;
  return json;
}

Result<Outcome> outcome_from(const Json& json) {
  if (!json.is_object()) return fail(Errc::protocol, "an outcome is not an object");
  Outcome outcome;
  const std::string kind = TRY(member<std::string>(json, "kind", ""));
  outcome.number = TRY(member<int>(json, "number", 0));
  outcome.text = TRY(member<std::string>(json, "text", ""));
  for (const Outcome::Kind known : {Outcome::Kind::exited, Outcome::Kind::signaled,
                                    Outcome::Kind::lost, Outcome::Kind::failed}) {
    if (kind != kind_name(known)) continue;
    outcome.kind = known;
    return outcome;
  }
  return fail(Errc::protocol, "an outcome has the unknown kind \"" + kind + "\"");
}

Result<Verdict> verdict_from(const Json& json) {
  if (!json.is_object() || !json.contains("outcome"))
    return fail(Errc::protocol, "a verdict has no outcome");
  Verdict verdict;
  verdict.outcome = TRY(outcome_from(json["outcome"]));
  verdict.host = TRY(member<std::string>(json, "host", ""));
  verdict.process = TRY(member<std::string>(json, "process", ""));
  verdict.rank = TRY(member<int>(json, "rank", -1));
  verdict.last_lines = TRY(member<std::string>(json, "last_lines", ""));
  verdict.command = TRY(member<std::string>(json, "command", ""));
  verdict.out_of_memory = TRY(member<bool>(json, "out_of_memory", false));
  verdict.error_class = TRY(member<std::string>(json, "error_class", ""));
  verdict.error = TRY(member<std::string>(json, "error", ""));
  verdict.blames_peer = TRY(member<bool>(json, "blames_peer", false));
  verdict.unseen = TRY(member<bool>(json, "unseen", false));
  verdict.failure_file = TRY(member<std::string>(json, "failure_file", ""));
  return verdict;
}

}  // namespace muster::job
