#include "host/ranks/messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::ranks {
namespace {

/// Longer is no grace; a peer's number must not overflow a Duration.
constexpr std::int64_t grace_ms_max = 1000LL * 60 * 60 * 24 * 30;

std::int64_t millis(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// The whole number `name` of an object, 0 for anything else.
std::int64_t number_in(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name) || !json[name].is_number_integer()) return 0;
  return json[name].get<std::int64_t>();
}

Duration grace_in(const Json& json) {
  return std::chrono::milliseconds(
      std::clamp<std::int64_t>(number_in(json, "grace_ms"), 0, grace_ms_max));
}

Json object_or_empty(std::string_view payload) {
  Result<Json> json = parse_json(payload);
  return json && json->is_object() ? *std::move(json) : Json::object();
}

}  // namespace

std::string signal_text(int signal, Duration grace) {
  return to_text({{"signal", signal}, {"grace_ms", millis(grace)}});
}

SignalRequest signal_from(std::string_view payload) {
  const Json json = object_or_empty(payload);
  SignalRequest request;
  const std::int64_t number = number_in(json, "signal");
  if (number > 0 && number < 65) request.signal = static_cast<int>(number);
  request.grace = grace_in(json);
  return request;
}

std::string grace_text(Duration grace) {
  return to_text({{"grace_ms", millis(grace)}});
}

Duration grace_from(std::string_view payload) {
  return grace_in(object_or_empty(payload));
}

std::string exec_text(const ExecRequest& request) {
  return to_text({{"id", request.id}, {"text", request.text}});
}

Result<ExecRequest> exec_from(std::string_view payload) {
  const Json json = object_or_empty(payload);
  if (!json.contains("text") || !json["text"].is_string())
    return fail(Errc::protocol, "an exec message has no text");
  return ExecRequest{static_cast<int>(number_in(json, "id")), json["text"].get<std::string>()};
}

std::string exec_end_text(const ExecEnd& end) {
  return to_text({{"id", end.id}, {"outcome", job::to_json(end.outcome)}});
}

Result<ExecEnd> exec_end_from(std::string_view payload) {
  const Json json = object_or_empty(payload);
  if (!json.contains("outcome")) return fail(Errc::protocol, "an exec_end message has no outcome");
  return ExecEnd{static_cast<int>(number_in(json, "id")), TRY(job::outcome_from(json["outcome"]))};
}

std::string restart_text(const job::Verdict& verdict) {
  Json json = job::to_json(verdict);
  json["restarts"] = 1;
  return to_text(json);
}

bool says_restart(std::string_view payload) {
  return number_in(object_or_empty(payload), "restarts") == 1;
}

Result<job::Verdict> verdict_from_text(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  return job::verdict_from(json);
}

}  // namespace muster::ranks
