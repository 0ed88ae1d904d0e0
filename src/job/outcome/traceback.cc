#include "job/outcome/traceback.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/letters.h"
#include "base/text.h"

namespace muster::job {
namespace {

constexpr std::string_view frame_start = "  File \"";
constexpr std::string_view head_text = "Traceback (most recent call last)";
constexpr std::string_view context_text =
    "During handling of the above exception, another exception occurred";
constexpr std::string_view cause_text =
    "The above exception was the direct cause of the following exception";

bool has(std::string_view text, const RE2& pattern) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Python's own rule for a dotted name, "<locals>" of a qualified one, letters beyond ASCII.
bool is_name_byte(char byte) {
  return is_letter_or_digit(byte) || byte == '_' || byte == '.' || byte == '<' || byte == '>' ||
         static_cast<unsigned char>(byte) >= 0x80;
}

/// The line above a traceback that was not fatal.
bool introduces_harmless(std::string_view line) {
  constexpr std::array<std::string_view, 10> starts = {
      "Exception ignored",          "Error in atexit._run_exitfuncs", "--- Logging error ---",
      "Exception in thread",        "Task exception was never",       "Future exception was never",
      "Exception in callback",      "Unhandled exception in thread",  "Error in sys.excepthook",
      "Error in sys.unraisablehook"};
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view each) { return has(line, each); });
}

bool introduces_late(std::string_view line) {
  return has(line, std::string_view("Exception ignored")) ||
         has(line, std::string_view("Error in atexit"));
}

/// Stacks of other things than exceptions: a logging error's, faulthandler's.
bool introduces_stack(std::string_view line) {
  return has(line, std::string_view("Call stack:")) ||
         has(line, std::string_view("most recent call first"));
}

bool is_rich_head(std::string_view line) {
  static const RE2 pattern(R"((╭|\+)[─-]+ *Traceback \(most recent call last\))");
  return has(line, pattern);
}

/// Texts that go on below an error without being indented, from libraries that many use.
bool goes_on(std::string_view line) {
  static const RE2 pattern(
      R"(^(\s|CUDA kernel errors might|For debugging consider|Compile with `|Search for `cuda|)"
      R"(Set the environment variable HYDRA|If (this|you) |)"
      R"(\d+ validation error|Original Traceback))");
  return has(line, pattern);
}

bool is_usage(std::string_view line) {
  return line.starts_with("usage: ") || line.starts_with("Usage: ");
}

/// Finds them, one behind the other.
class Finder {
 public:
  Finder(const std::vector<SaidLine>& lines, int exit_code) : lines_(lines), code_(exit_code) {}

  std::vector<Traceback> all() {
    for (std::size_t at = 0; at < lines_.size();) at = step(at);
    return std::move(found_);
  }

 private:
  std::string_view line(std::size_t at) const {
    return at < lines_.size() ? std::string_view(lines_[at].text) : std::string_view();
  }

  std::size_t step(std::size_t at) {
    if (is_rich_head(line(at))) return rich(at);
    const std::size_t frame = line(at).find(frame_start);
    if (frame != std::string_view::npos) return python(at, frame);
    if (is_crash(at)) return crash(at);
    return at + 1;
  }

  std::size_t python(std::size_t first, std::size_t prefix_bytes) {
    const std::string_view prefix = line(first).substr(0, prefix_bytes);
    Traceback one;
    one.begin = first;
    std::size_t at = first + 1;
    while (at < lines_.size() && line(at).starts_with(prefix) &&
           line(at).substr(prefix.size()).starts_with(' '))
      ++at;
    if (first > 0 && introduces_stack(line(first - 1))) {
      while (line(at).starts_with("Message: ") || line(at).starts_with("Arguments: ")) ++at;
      if (!found_.empty() && !found_.back().fatal) found_.back().end = at;
      return at;
    }
    if (at == lines_.size() || !line(at).starts_with(prefix)) return at;
    if (!names_exception(line(at).substr(prefix.size()))) return at;
    one.error = at;
    const bool headed = first > 0 && has(line(first - 1), head_text);
    if (headed) --one.begin;
    const std::string_view start = line(first);
    const bool whole = !headed || has(start, std::string_view(", in <module>")) ||
                       has(start, std::string_view("<frozen runpy>")) ||
                       has(start, std::string_view("/runpy.py\""));
    return take(std::move(one), prefix, whole);
  }

  std::size_t rich(std::size_t head) {
    std::size_t at = head + 1;
    while (at < lines_.size() && !has(line(at), std::string_view("╰")) &&
           !line(at).starts_with("+-"))
      ++at;
    ++at;
    if (at >= lines_.size() || !names_exception(line(at))) return at;
    Traceback one;
    one.begin = head;
    one.error = at;
    return take(std::move(one), {}, true);
  }

  /// `whole`: its frames begin where a program does, not where somebody caught it.
  std::size_t take(Traceback one, std::string_view prefix, bool whole) {
    one.end = behind_message(one.error, prefix, whole);
    one.text = line(one.error).substr(prefix.size());
    for (std::size_t at = one.error + 1; at < one.end && one.text.size() < text_bytes; ++at) {
      const std::string more = trim(line(at).substr(std::min(prefix.size(), line(at).size())));
      if (has(more, head_text) || !line(at).starts_with(prefix)) break;
      if (!more.empty()) one.text += (one.text.ends_with(' ') ? "" : " ") + more;
    }
    one.blame = blame_of(one.text);
    link(one);
    found_.push_back(std::move(one));
    return found_.back().end;
  }

  /// What it says of itself in the lines above.
  void link(Traceback& one) const {
    std::size_t at = one.begin;
    std::size_t looked = 0;
    while (at > 0 && looked < intro_lines) {
      --at;
      const std::string_view above = line(at);
      if (!found_.empty() && at < found_.back().end) break;
      if (introduces_harmless(above)) one.fatal = false;
      one.late = one.late || introduces_late(above);
      one.caused_by = one.caused_by || has(above, cause_text);
      one.follows = one.follows || one.caused_by || has(above, context_text);
      if (!above.empty() && !above.starts_with("future: ") && !above.starts_with("handle: ")) break;
      ++looked;
    }
    if (!one.follows || found_.empty()) return;
    one.fatal = found_.back().fatal;
    one.late = found_.back().late;
  }

  bool ends_message(std::string_view text) const {
    return has(text, cause_text) || has(text, context_text) || introduces_harmless(text) ||
           introduces_stack(text) || is_usage(text) || is_log_record(text) ||
           has(text, frame_start) || is_rich_head(text) ||
           (has(text, head_text) && !has(text, std::string_view("Original Traceback")));
  }

  std::size_t behind_message(std::size_t error, std::string_view prefix, bool whole) const {
    const bool plain_too = whole && (code_ == 1 || code_ < 0);
    // A launcher's report of a process that failed is the last that it writes, whatever its form.
    const bool report = blame_of(line(error).substr(prefix.size())) == Blame::reports_another;
    std::size_t end = error + 1;
    for (std::size_t at = end; at < lines_.size(); ++at) {
      // The exceptions of a group stand below it, further in.
      const std::size_t mark = line(at).find_first_not_of(' ');
      const bool in_group = prefix.ends_with("| ") && mark != std::string_view::npos &&
                            (line(at)[mark] == '|' || line(at)[mark] == '+');
      if (in_group) end = at + 1;
      if (in_group) continue;
      if (!line(at).starts_with(prefix)) break;
      const std::string_view text = line(at).substr(prefix.size());
      if (text.empty()) continue;
      if (ends_message(text) || is_noise(text)) break;
      // What one write() wrote came by one read(): a message does, what is said later does not.
      const bool at_once = lines_[at].began == lines_[at - 1].ended;
      if (!goes_on(text) && !(plain_too && at_once) && !report) break;
      end = at + 1;
      if (has(text, std::string_view("Original Traceback"))) break;
    }
    return end;
  }

  bool is_crash(std::size_t at) const {
    static const RE2 pattern(
        R"(^terminate called |^libc\+\+abi: terminating|: Assertion [`'].*' failed\.?$|)"
        R"(^Fatal Python error: |^F\d{4} [\d:.]+ .*\] |^thread '.*' panicked at |^panic: )");
    return has(line(at), pattern);
  }

  std::size_t crash(std::size_t at) {
    static const RE2 type_of(R"(throwing an instance of '(.*)'|uncaught exception of type (.*))");
    Traceback one;
    one.begin = one.error = at;
    one.crash = true;
    one.text = line(at);
    one.end = at + 1;
    re2::StringPiece type, other;
    const bool typed = RE2::PartialMatch(re2::StringPiece(line(at).data(), line(at).size()),
                                         type_of, &type, &other);
    const std::string_view what = "  what():  ";
    if (typed && line(at + 1).starts_with(what)) {
      one.text = std::string(type.empty() ? other : type) + ": " +
                 std::string(line(at + 1).substr(what.size()));
      one.error = at + 1;
      one.end = at + 2;
    }
    one.blame = blame_of(one.text);
    found_.push_back(std::move(one));
    return found_.back().end;
  }

  static constexpr std::size_t text_bytes = 300;
  static constexpr std::size_t intro_lines = 3;

  const std::vector<SaidLine>& lines_;
  int code_;
  std::vector<Traceback> found_;
};

}  // namespace

bool names_exception(std::string_view line) {
  const auto end = std::find_if_not(line.begin(), line.end(), is_name_byte);
  if (end == line.begin() || (line[0] >= '0' && line[0] <= '9') || line[0] == '<') return false;
  return end == line.end() || *end == ':';
}

bool is_noise(std::string_view line) {
  static const RE2 pattern(
      R"(^\s*$|^wandb: |^\[?[WIE]\d{4} |^\[W\d* |\d+%\|.*\||warnings\.warn\(|^\S+:\d+: \w*Warn)"
      R"(ing: |resource_tracker|^During handling of the above exc|)"
      R"(^The above exception was the direct|)"
      R"(^\s*[│╭╰─╮╯|+-]*\s*$|^srun: |^\[[^\]]*:\d+\] \*\*\*|^Aborted|^Killed$|)"
      R"(sigkill_handler|exits? with return code|failed \(exitcode|Primary job +terminated)");
  return has(line, pattern);
}

bool is_log_record(std::string_view line) {
  static const RE2 pattern(R"(^\s*[\[(]?(\d{4}-\d\d-\d\d|\d\d/\d\d/\d\d|\d\d:\d\d:\d\d)|)"
                           R"(^\s*[\[(]?(DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b)");
  return has(line, pattern);
}

std::vector<Traceback> tracebacks_of(const std::vector<SaidLine>& lines, int exit_code) {
  return Finder(lines, exit_code).all();
}

}  // namespace muster::job
