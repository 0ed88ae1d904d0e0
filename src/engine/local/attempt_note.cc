#include "engine/local/attempt_note.h"

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"

namespace muster::local {
namespace {

constexpr std::size_t note_bytes_max = 1u << 16;

std::string note_file(const std::string& job_folder) {
  return job_folder + "/attempt.json";
}

}  // namespace

Result<void> write_note(const std::string& job_folder, const AttemptNote& note) {
  const Json json{{"number", note.number},
                  {"chapters", note.chapters},
                  {"tally", {{"lost", note.tally.lost}, {"idle", note.tally.idle}}}};
  return write_file(note_file(job_folder), to_text(json), 0600);
}

Result<AttemptNote> read_note(const std::string& job_folder) {
  const std::string path = note_file(job_folder);
  const Result<std::string> text = read_file(path, note_bytes_max);
  if (!text && text.error().code == Errc::not_found) return AttemptNote();
  if (!text) return text.error();
  const Result<Json> json = parse_json(*text);
  if (!json) return json.error().in(path);
  try {
    return AttemptNote{.number = json->at("number").get<int>(),
                       .chapters = json->at("chapters").get<engine::Chapters>(),
                       .tally = {json->at("tally").at("lost").get<int>(),
                                 json->at("tally").at("idle").get<int>()}};
  } catch (const Json::exception& error) {
    return fail(Errc::protocol, path + ": " + error.what());
  }
}

}  // namespace muster::local
