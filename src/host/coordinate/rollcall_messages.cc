#include "host/coordinate/rollcall_messages.h"

#include <nlohmann/json.hpp>

#include "base/frame.h"
#include "job/spec_fields.h"

namespace muster::coordinate {
namespace {

using job::invalid_message;
using job::object_from;

constexpr std::int64_t wait_ms_max = 1000LL * 60 * 60 * 24 * 30;

/// A string field; `fallback` if it is missing or not a string.
std::string text_at(const Json& json, const char* name, const std::string& fallback = {}) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return fallback;
  return found->get<std::string>();
}

Result<int> version_in(const char* message, const Json& json) {
  const auto found = json.find("version");
  if (found == json.end() || !found->is_number_integer())
    return invalid_message(message, "missing version");
  const std::int64_t number = found->get<std::int64_t>();
  if (number < 1 || number > 1000000)
    return invalid_message(message, "the version is out of range");
  return static_cast<int>(number);
}

}  // namespace

std::string encode(const Join& join) {
  return to_text({{"version", join.version}, {"muster", join.muster}, {"host", join.host}});
}

std::string encode(const Welcome& welcome) {
  return to_text({{"version", welcome.version},
                  {"muster", welcome.muster},
                  {"wait_ms", welcome.wait.count()}});
}

std::string encode(const Refuse& refuse) {
  return to_text({{"why", refuse.why}, {"retry", refuse.retry}});
}

Result<Join> join_from(std::string_view payload) {
  const Json json = TRY(object_from("join", payload, join_bytes_max));
  Join join;
  join.version = TRY(version_in("join", json));
  join.muster = text_at(json, "muster", "of unknown version");
  if (join.version != wire_version) return join;
  join.host = text_at(json, "host");
  if (join.host.empty()) return invalid_message("join", "missing host");
  return join;
}

Result<Welcome> welcome_from(std::string_view payload) {
  const Json json = TRY(object_from("welcome", payload, frame_payload_bytes_max));
  Welcome welcome;
  welcome.version = TRY(version_in("welcome", json));
  welcome.muster = text_at(json, "muster", "of unknown version");
  if (welcome.version != wire_version) return welcome;
  const auto wait = json.find("wait_ms");
  if (wait == json.end() || !wait->is_number_integer())
    return invalid_message("welcome", "missing wait_ms");
  const std::int64_t number = wait->get<std::int64_t>();
  if (number < 0 || number > wait_ms_max)
    return invalid_message("welcome", "wait_ms is out of range");
  welcome.wait = std::chrono::milliseconds(number);
  return welcome;
}

Result<Refuse> refuse_from(std::string_view payload) {
  const Json json = TRY(object_from("refuse", payload, frame_payload_bytes_max));
  Refuse refuse;
  refuse.why = text_at(json, "why");
  if (refuse.why.empty()) return invalid_message("refuse", "missing reason");
  const auto retry = json.find("retry");
  refuse.retry = retry != json.end() && retry->is_boolean() && retry->get<bool>();
  return refuse;
}

std::string identity_of(const std::string& job, const std::string& host) {
  return job + "/" + host;
}

std::string host_in(const std::string& identity, const std::string& job) {
  const std::string prefix = job + "/";
  return identity.starts_with(prefix) ? identity.substr(prefix.size()) : std::string();
}

std::string spell(Duration duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  if (ms >= 120000 && ms % 60000 == 0) return std::to_string(ms / 60000) + " min";
  if (ms >= 10000 || ms % 1000 == 0) return std::to_string(ms / 1000) + " s";
  return std::to_string(ms) + " ms";
}

}  // namespace muster::coordinate
