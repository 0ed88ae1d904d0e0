#include "engine/cluster/notes.h"

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "job/wire/node_messages.h"

namespace muster::cluster {
namespace {

using engine::Event;

constexpr std::size_t note_bytes_max = 1u << 20;
constexpr std::size_t key_bytes = 32;

std::string attempt_file(const std::string& job_folder) {
  return job_folder + "/attempt.json";
}

std::string hosts_file(const std::string& job_folder) {
  return job_folder + "/hosts.json";
}

Error damaged(const std::string& path, const std::string& what) {
  return fail(Errc::protocol, path + ": " + what);
}

/// None where there is no such file.
Result<std::optional<Json>> read_json(const std::string& path) {
  const Result<std::string> text = read_file(path, note_bytes_max);
  if (!text && text.error().code == Errc::not_found) return std::optional<Json>();
  if (!text) return text.error();
  Result<Json> json = parse_json(*text);
  if (!json || !json->is_object()) return damaged(path, "expected a JSON object");
  return std::optional<Json>(*std::move(json));
}

Json to_json(const Event& event) {
  return Json{{"kind", static_cast<int>(event.kind)},
              {"attempt", event.attempt},
              {"time", event.time.count()},
              {"text", event.text},
              {"outcome", job::to_json(event.outcome)},
              {"time_limit", event.time_limit}};
}

Result<Event> event_from(const Json& json, const HostState& state) {
  const std::int64_t kind = json.value("kind", std::int64_t{-1});
  if (kind < 0 || kind > static_cast<std::int64_t>(Event::Kind::preempted))
    return fail(Errc::protocol, "an event has an invalid kind");
  Event event{.kind = static_cast<Event::Kind>(kind),
              .host = state.name,
              .attempt = json.value("attempt", 1),
              .time = UnixMillis(json.value("time", std::int64_t{0})),
              .text = json.value("text", ""),
              .outcome = TRY(job::outcome_from(json.at("outcome"))),
              .time_limit = json.value("time_limit", false)};
  if (event.kind != Event::Kind::started) return event;
  event.node = state.node;
  event.address = state.address;
  return event;
}

}  // namespace

Result<void> write_note(const std::string& job_folder, const AttemptNote& note) {
  Json fenced = Json::array();
  for (const LinkKey& each : note.fenced)
    fenced.push_back({{"nonce", each.nonce}, {"key", hex(each.key)}, {"port", each.port}});
  const Json json{{"number", note.number},
                  {"nonce", note.nonce},
                  {"key", hex(note.key)},
                  {"port", note.port},
                  {"slurm_id", note.slurm_id},
                  {"earlier", note.earlier},
                  {"delivered", note.delivered},
                  {"excluded", note.excluded},
                  {"chapters", note.chapters},
                  {"ended", note.ended},
                  {"submitted", note.submitted},
                  {"place", note.place},
                  {"word", note.word},
                  {"spares", note.spares},
                  {"tally", {{"lost", note.tally.lost}, {"idle", note.tally.idle}}},
                  {"fenced", std::move(fenced)}};
  return write_file(attempt_file(job_folder), to_text(json), 0600);
}

Result<std::optional<AttemptNote>> read_note(const std::string& job_folder) {
  const std::string path = attempt_file(job_folder);
  const std::optional<Json> json = TRY(read_json(path));
  if (!json) return std::optional<AttemptNote>();
  try {
    AttemptNote note{.number = json->at("number").get<int>(),
                     .nonce = json->at("nonce").get<std::string>(),
                     .key = from_hex(json->at("key").get<std::string>()).value_or(""),
                     .port = json->at("port").get<std::uint16_t>(),
                     .slurm_id = json->at("slurm_id").get<std::string>(),
                     .earlier = json->value("earlier", std::vector<std::string>()),
                     .delivered = json->at("delivered").get<bool>(),
                     .submitted = json->value("submitted", ""),
                     .place = json->value("place", ""),
                     .word = json->value("word", ""),
                     .spares = json->value("spares", std::vector<std::string>()),
                     .excluded = json->at("excluded").get<std::vector<std::string>>(),
                     .chapters = json->value("chapters", engine::Chapters()),
                     .ended = json->value("ended", engine::Chapters())};
    if (json->contains("tally"))
      note.tally = {json->at("tally").at("lost").get<int>(),
                    json->at("tally").at("idle").get<int>()};
    for (const Json& each : json->value("fenced", Json::array()))
      note.fenced.push_back({each.at("nonce").get<std::string>(),
                             from_hex(each.at("key").get<std::string>()).value_or(""),
                             each.at("port").get<std::uint16_t>()});
    if (note.submitted.empty()) note.submitted = note.nonce;
    if (!job::is_nonce(note.nonce) || !job::is_nonce(note.submitted))
      return damaged(path, "nonce: expected 16 hex digits");
    if (!note.place.empty() && !job::is_nonce(note.place))
      return damaged(path, "place: expected 16 hex digits");
    if (note.key.size() != key_bytes) return damaged(path, "key: expected 64 hex digits");
    return std::optional<AttemptNote>(std::move(note));
  } catch (const Json::exception& error) {
    return damaged(path, error.what());
  }
}

Result<void> write_hosts(const std::string& job_folder, int attempt,
                         const std::vector<HostState>& states) {
  Json all{{"attempt", attempt}};
  for (const HostState& state : states) {
    Json json{{"node", state.node},
              {"address", state.address},
              {"given", state.results == HostState::Results::here}};
    if (state.started) json["started"] = to_json(*state.started);
    if (state.end) json["end"] = to_json(*state.end);
    all[state.name] = std::move(json);
  }
  return write_file(hosts_file(job_folder), to_text(all), 0600);
}

Result<std::vector<HostState>> read_hosts(const std::string& job_folder, int attempt,
                                          const std::vector<std::string>& names) {
  const std::string path = hosts_file(job_folder);
  const std::optional<Json> all = TRY(read_json(path));
  std::vector<HostState> states;
  try {
    const bool is_of_it = all && all->value("attempt", attempt) == attempt;
    for (const std::string& name : names) {
      HostState& state = states.emplace_back(HostState{.name = name});
      if (!is_of_it || !all->contains(name)) continue;
      const Json& json = all->at(name);
      state.node = json.at("node").get<std::string>();
      state.address = json.at("address").get<std::string>();
      if (json.at("given").get<bool>()) state.results = HostState::Results::here;
      if (json.contains("started")) state.started = TRY(event_from(json.at("started"), state));
      if (json.contains("end")) state.end = TRY(event_from(json.at("end"), state));
    }
    return states;
  } catch (const Json::exception& error) {
    return damaged(path, error.what());
  }
}

}  // namespace muster::cluster
