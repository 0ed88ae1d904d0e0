#include "job/last_words.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"

namespace muster::job {
namespace {

constexpr std::size_t error_bytes_max = 300;
constexpr std::string_view frame_start = "  File \"";

/// Python's own rule for a dotted name, but for letters beyond ASCII.
bool is_name_byte(char byte) {
  return byte == '_' || byte == '.' || (byte >= '0' && byte <= '9') ||
         (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/// "ValueError: bad batch", "KeyboardInterrupt".
bool names_exception(std::string_view line) {
  const auto end = std::find_if_not(line.begin(), line.end(), is_name_byte);
  if (end == line.begin() || (line[0] >= '0' && line[0] <= '9')) return false;
  return end == line.end() || *end == ':';
}

/// Launchers raise these when a process of theirs failed: their text says no more than that.
bool reports_another(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  return name.ends_with("ChildFailedError") || name.ends_with("CalledProcessError");
}

bool is_own_error(std::string_view line) {
  const std::size_t at = line.find(": error: ");
  return at != std::string_view::npos && (line.starts_with("sm ") || line.starts_with("train:"));
}

/// The line behind a traceback's frames, the first of which stands at `at`. `prefix`: what torch
/// sets before each line of a rank.
std::size_t behind_frames(const std::vector<std::string>& lines, std::size_t at,
                          std::string_view prefix) {
  while (at < lines.size() && lines[at].starts_with(prefix) &&
         std::string_view(lines[at]).substr(prefix.size()).starts_with(' '))
    ++at;
  return at;
}

std::string clipped(std::string_view line) {
  std::string text = visible_line(trim(std::string(line)));
  if (text.size() <= error_bytes_max) return text;
  text.resize(error_bytes_max);
  while (!is_utf8(text)) text.pop_back();
  return text + "...";
}

/// A frame of the programs that start a script: they are the same in every traceback.
bool is_launchers(std::string_view file_line) {
  constexpr std::array<std::string_view, 4> files = {"<frozen runpy>", "/runpy.py",
                                                     "/mpi4py/run.py", "/mpi4py/__main__.py"};
  const std::string_view rest = file_line.substr(frame_start.size());
  const std::string_view file = rest.substr(0, rest.find('"'));
  return std::any_of(files.begin(), files.end(),
                     [&](std::string_view each) { return file.ends_with(each); });
}

struct Hint {
  std::string_view sign;  ///< Part of a line.
  std::string_view text;
};
constexpr std::array hints = {
    Hint{"All nodes which are allocated for this job are already filled",
         "mpirun starts no more processes than -H HOST:N says, and SM_NUM_GPUS is 0 on a host "
         "without GPUs: say -H \"$SM_CURRENT_HOST:4\", or use sm mpirun, which counts for you"},
    Hint{"There are not enough slots available in the system",
         "mpirun counts a host's slots as -H HOST:N says: name as many as -np, or use sm mpirun, "
         "which counts for you"},
    Hint{"ModuleNotFoundError: No module named",
         "name the interpreter that has it (sm fit --python), or list it in a requirements.txt "
         "beside the script; sm doctor --python PROGRAM says what an interpreter has"},
};

}  // namespace

std::string error_line(std::string_view last_lines) {
  const std::vector<std::string> lines = split(std::string(last_lines), '\n');
  std::string_view found, reported, own;
  for (std::size_t at = 0; at < lines.size();) {
    const std::string_view line = lines[at];
    const std::size_t frame = line.find(frame_start);
    if (is_own_error(line)) own = line;
    if (frame == std::string_view::npos) {
      ++at;
      continue;
    }
    const std::string_view prefix = line.substr(0, frame);
    at = behind_frames(lines, at + 1, prefix);
    if (at == lines.size() || !lines[at].starts_with(prefix)) continue;
    const std::string_view last = std::string_view(lines[at]).substr(prefix.size());
    if (names_exception(last)) (reports_another(last) ? reported : found) = last;
  }
  if (found.empty() && !own.empty()) return clipped(without_topic(std::string(own)));
  return clipped(!found.empty() ? found : reported);
}

std::string without_launcher_frames(std::string_view last_lines) {
  std::string kept;
  std::size_t at = 0;
  bool dropping = false;
  while (at < last_lines.size()) {
    const std::size_t end = std::min(last_lines.find('\n', at), last_lines.size() - 1);
    const std::string_view line = last_lines.substr(at, end + 1 - at);
    at = end + 1;
    if (line.starts_with(frame_start))
      dropping = is_launchers(line);
    else if (!line.starts_with("    "))  // Source lines and their marks belong to the frame.
      dropping = false;
    if (!dropping) kept += line;
  }
  return kept;
}

std::string hint_for(std::string_view last_lines) {
  for (const Hint& hint : hints)
    if (last_lines.find(hint.sign) != std::string_view::npos) return std::string(hint.text);
  return {};
}

}  // namespace muster::job
