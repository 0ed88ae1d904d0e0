#include "job/outcome/program_end.h"

#include <re2/re2.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "job/outcome/traceback.h"

namespace muster::job {
namespace {

constexpr std::size_t error_bytes_max = 300;
constexpr std::size_t last_lines_looked_at = 3;
constexpr std::size_t own_lines_looked_at = 20;

bool has(std::string_view text, const RE2& pattern) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

std::string clipped(std::string_view line) {
  std::string text = visible_line(trim(std::string(line)));
  if (text.size() <= error_bytes_max) return text;
  text.resize(error_bytes_max);
  while (!is_utf8(text)) text.pop_back();
  return text + "...";
}

/// The lines of one writer: a stream, or those in it before which torch sets one rank.
struct Group {
  std::vector<SaidLine> lines;
  std::vector<std::size_t> places;  ///< In what all were taken from.
  std::vector<Traceback> tracebacks;
};

std::vector<Group> groups_of(const std::vector<SaidLine>& lines, int exit_code) {
  static const RE2 tag(R"(^(\[[a-z]*\d+\]:)(?: |$))");
  std::map<std::pair<bool, std::string>, Group> groups;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::string rank;
    RE2::PartialMatch(lines[at].text, tag, &rank);
    Group& group = groups[{lines[at].stream == Stream::out, rank}];
    SaidLine line = lines[at];
    line.text.erase(0, rank.empty() ? 0 : std::min(rank.size() + 1, line.text.size()));
    group.lines.push_back(std::move(line));
    group.places.push_back(at);
  }
  std::vector<Group> all;
  for (auto& [key, group] : groups) {
    group.tracebacks = tracebacks_of(group.lines, exit_code);
    all.push_back(std::move(group));
  }
  return all;
}

/// Lines that belong to a traceback that was not fatal, with the line above it.
std::vector<bool> harmless_lines(const Group& group) {
  std::vector<bool> harmless(group.lines.size(), false);
  for (const Traceback& each : group.tracebacks) {
    if (each.fatal && !each.crash) continue;
    for (std::size_t at = each.begin > 0 ? each.begin - 1 : 0; at < each.end; ++at)
      harmless[at] = true;
  }
  for (std::size_t at = 0; at < group.lines.size(); ++at) {
    const std::string& text = group.lines[at].text;
    harmless[at] = harmless[at] || is_noise(text) || text.starts_with("Exception ignored");
    // A warning's source line.
    const bool warned = at > 0 && group.lines[at - 1].text.find("Warning: ") != std::string::npos;
    harmless[at] = harmless[at] || (warned && text.starts_with("  "));
  }
  return harmless;
}

bool ended_program(const Group& group, const Traceback& traceback) {
  if (!traceback.fatal) return false;
  const std::vector<bool> harmless = harmless_lines(group);
  return std::all_of(harmless.begin() + static_cast<std::ptrdiff_t>(traceback.end), harmless.end(),
                     [](bool each) { return each; });
}

struct Choice {
  const Group* group = nullptr;
  const Traceback* traceback = nullptr;
  Blame blame = Blame::own;

  /// Who blames others least, the last of those.
  void offer(const Group& of, const Traceback& each, Blame with) {
    if (traceback != nullptr && with > blame) return;
    *this = {&of, &each, with};
  }
};

/// Along its chain: what was raised from a peer's error blames the peer as it does; what was met
/// while an own error was handled is that error's.
Choice along_chain(const Group& group, std::size_t last) {
  Choice choice;
  choice.offer(group, group.tracebacks[last], group.tracebacks[last].blame);
  for (std::size_t at = last; at > 0 && group.tracebacks[at].follows; --at) {
    const Traceback& before = group.tracebacks[at - 1];
    if (choice.blame == Blame::own && group.tracebacks[at].caused_by) choice.blame = before.blame;
    if (before.blame < choice.blame) choice = {&group, &before, before.blame};
  }
  return choice;
}

/// The exception that ended the program; of several writers' who blames others least.
Choice exception_of(const std::vector<Group>& groups, bool crashed) {
  Choice choice;
  for (const Group& group : groups) {
    for (std::size_t at = group.tracebacks.size(); at-- > 0;) {
      const Traceback& last = group.tracebacks[at];
      if (!last.fatal || (last.crash && !crashed && at > 0)) continue;
      if (!ended_program(group, last) && !(last.crash && crashed)) break;
      const Choice found = along_chain(group, at);
      if (choice.traceback == nullptr || found.blame < choice.blame) choice = found;
      break;
    }
  }
  if (choice.traceback == nullptr || choice.blame != Blame::reports_another) return choice;
  for (const Group& group : groups)
    for (const Traceback& each : group.tracebacks)
      if (each.fatal) choice.offer(group, each, each.blame);
  return choice;
}

bool is_own_error(std::string_view line) {
  const std::size_t at = line.find(": error: ");
  return at != std::string_view::npos && (line.starts_with("sm ") || line.starts_with("train:"));
}

/// "/usr/bin/python3: No module named mpi4py": what `python -m` says, without a traceback.
bool says_no_module(std::string_view line) {
  const std::size_t at = line.find(": No module named ");
  if (at == std::string_view::npos) return false;
  const std::string_view program = line.substr(0, at);
  return program.substr(program.rfind('/') + 1).starts_with("python");
}

bool is_errors(std::string_view line) {
  static const RE2 words(
      R"((?i)\b(errors?|exception|fatal|fail(ed|ure|s)?|abort(ed)?|cannot|can't|)"
      R"(could ?n[o']t|unable|not found|no such|denied|invalid|unrecognized|unknown option|)"
      R"(unexpected|missing|refused|)"
      R"(not permitted|not supported|too (many|few|large|small)|out of memory|must (be|not|have)|)"
      R"(panicked|assert(ion)?|expected|required)\b)");
  static const RE2 harmless_level(R"(\b(DEBUG|INFO|WARN|WARNING|info|debug|warning)\b)");
  return has(line, words) && !has(line, harmless_level);
}

bool is_progress(std::string_view line) {
  static const RE2 pattern(R"((?i)\b(epoch|step|iter(ation)?|batch)\b\D{0,3}\d|)"
                           R"(\b(loss|acc(uracy)?|lr|eta)\b\W{0,3}\d|it/s)");
  return has(line, pattern);
}

std::string without_box(std::string_view line) {
  constexpr std::string_view bar = "│";
  std::string text = trim(std::string(line));
  if (text.starts_with(bar)) text.erase(0, bar.size());
  if (text.ends_with(bar)) text.resize(text.size() - bar.size());
  return trim(text);
}

/// The line that a program ended with: an error's among the last ones of a stream, or what
/// sys.exit(text) writes to stderr before it ends with 1.
std::optional<std::size_t> last_word(const std::vector<Group>& groups, int exit_code) {
  std::optional<std::size_t> found;
  for (const Group& group : groups) {
    std::vector<bool> passed = harmless_lines(group);
    for (const Traceback& each : group.tracebacks)
      for (std::size_t at = each.begin; at < each.end; ++at) passed[at] = true;
    std::size_t looked = 0;
    std::size_t going_on = 0;  // Behind that line nothing ends the program by itself.
    for (const Traceback& each : group.tracebacks)
      if (!each.late) going_on = each.end;
    for (std::size_t at = group.lines.size(); at-- > 0 && looked < last_lines_looked_at;) {
      if (passed[at]) continue;
      const SaidLine& line = group.lines[at];
      const bool plain = looked == 0 && exit_code == 1 && at >= going_on &&
                         line.stream == Stream::err && !is_log_record(line.text);
      ++looked;
      if (is_progress(line.text) || !(plain || is_errors(line.text))) continue;
      if (!found || group.places[at] > *found) found = group.places[at];
      break;
    }
  }
  return found;
}

std::optional<std::size_t> own_error(const std::vector<SaidLine>& lines) {
  for (std::size_t at = lines.size(), n = 0; at-- > 0 && n < own_lines_looked_at; ++n)
    if (is_own_error(lines[at].text) || says_no_module(lines[at].text)) return at;
  return std::nullopt;
}

/// A signal that others send.
bool was_sent(const Outcome& outcome) {
  if (outcome.kind != Outcome::Kind::signaled) return false;
  const int signal = outcome.number;
  return signal == SIGTERM || signal == SIGKILL || signal == SIGINT || signal == SIGHUP;
}

}  // namespace

Ending ending_of(const std::vector<SaidLine>& lines, const Outcome* outcome) {
  const bool exited = outcome != nullptr && outcome->kind == Outcome::Kind::exited;
  const bool signaled = outcome != nullptr && outcome->kind == Outcome::Kind::signaled;
  const int code = exited ? outcome->number : -1;
  if (outcome != nullptr && !exited && !signaled) return {};
  const std::vector<Group> groups = groups_of(lines, code);
  const bool sent = outcome != nullptr && was_sent(*outcome);
  const Choice choice = exception_of(groups, signaled && !sent);
  const auto chosen = [&] {
    const Group& group = *choice.group;
    const Traceback& one = *choice.traceback;
    return Ending{clipped(one.text), choice.blame == Blame::peer, group.places[one.begin],
                  group.places[one.error], group.places[one.end - 1] + 1};
  };
  const bool found = choice.traceback != nullptr;
  if (found && choice.blame != Blame::reports_another) return chosen();
  if (signaled) return {};
  std::optional<std::size_t> word = own_error(lines);
  if (!word && found) return chosen();
  if (!word && exited && code != 0) word = last_word(groups, code);
  if (!word) return {};
  const std::string text = without_topic(without_box(lines[*word].text));
  return {clipped(text), blame_of(text) == Blame::peer, *word, *word, *word + 1};
}

std::optional<Ending> ending_in_file(std::string_view json, const Outcome& outcome) {
  if (outcome.kind != Outcome::Kind::exited || outcome.success()) return std::nullopt;
  const Result<Json> file = json.empty() ? Result<Json>(Json()) : parse_json(json);
  if (!file || !file->is_object() || !file->contains("message")) return std::nullopt;
  const Json& told = (*file)["message"];
  const Json& text = told.is_object() && told.contains("message") ? told["message"] : told;
  if (!text.is_string() || text.get_ref<const std::string&>().empty()) return std::nullopt;
  const Json::json_pointer stack("/message/extraInfo/py_callstack");
  if (file->contains(stack) && (*file)[stack].is_string()) {
    std::vector<SaidLine> lines;
    for (std::string& line : split((*file)[stack].get<std::string>(), '\n'))
      lines.push_back({Stream::err, std::move(line), 0, 0});
    Ending ending = ending_of(lines, nullptr);
    if (!ending.error.empty()) return Ending{std::move(ending.error), ending.blames_peer};
  }
  const std::string first = split(text.get<std::string>(), '\n').front();
  return Ending{clipped(first), blame_of(first) == Blame::peer};
}

}  // namespace muster::job
