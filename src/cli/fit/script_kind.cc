#include "cli/fit/script_kind.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace muster::cli {
namespace {

constexpr std::string_view elf =
    "\x7f"
    "ELF";
constexpr std::size_t tar_magic_at = 257;
constexpr std::size_t csv_lines_looked_at = 5;

bool is_archive(std::string_view head) {
  constexpr std::array<std::string_view, 7> magics = {"PK\x03\x04",
                                                      "PK\x05\x06",
                                                      "\x1f\x8b",
                                                      "BZh",
                                                      "\xfd"
                                                      "7zXZ",
                                                      "\x28\xb5\x2f\xfd",
                                                      "7z\xbc\xaf"};
  const bool known = std::any_of(magics.begin(), magics.end(), [head](std::string_view magic) {
    return head.starts_with(magic);
  });
  return known || (head.size() > tar_magic_at && head.substr(tar_magic_at).starts_with("ustar"));
}

/// JSON begins with a bracket and holds a string, a number or another one behind it; a line of a
/// shell's "{ echo a; }" and "[ -e x ]" does not.
bool is_json(std::string_view text) {
  if (!text.starts_with('{') && !text.starts_with('[')) return false;
  const std::size_t next = text.find_first_not_of(" \t\r\n", 1);
  if (next == std::string_view::npos) return false;
  const char second = text[next];
  if (text[0] == '{') {
    if (second == '}') return true;
    const std::size_t quote = second == '"' ? text.find('"', next + 1) : std::string_view::npos;
    const std::size_t colon =
        quote == std::string_view::npos ? quote : text.find_first_not_of(" \t\r\n", quote + 1);
    return colon != std::string_view::npos && text[colon] == ':';
  }
  if (second == '{' || second == '[') return is_json(text.substr(next));
  const std::size_t digit = second == '-' ? next + 1 : next;
  const bool number = digit < text.size() && text[digit] >= '0' && text[digit] <= '9';
  return (number || second == '"') && text.find_first_of(",]", next) != std::string_view::npos;
}

/// Lines with as many commas, or semicolons or tabs, each, and nothing that a program's line has.
bool is_table(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();  // May be cut, or is empty.
  if (lines.size() < 2) return false;
  lines.resize(std::min(lines.size(), csv_lines_looked_at));
  for (const char separator : {',', ';', '\t'}) {
    const auto of_first = std::count(lines[0].begin(), lines[0].end(), separator);
    const bool same = std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return std::count(line.begin(), line.end(), separator) == of_first &&
             line.find_first_of("()$`{}=#|&") == std::string::npos && !line.starts_with(separator);
    });
    if (of_first > 0 && same) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> no_script(std::string_view name, std::string_view head) {
  if (head.starts_with(elf) || head.starts_with("#!")) return std::nullopt;
  if (is_archive(head)) return "is an archive: unpack it, and use the script in it";
  if (head.find('\0') != std::string_view::npos)
    return "is a binary file, but not a program for this system (ELF): use a script, or build the "
           "program here";
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::string text = trim(head);
  const bool notebook = text.starts_with('{') && text.find("\"cells\"") != std::string::npos;
  if (notebook || (name.ends_with(".ipynb") && text.starts_with('{')))
    return "is a notebook: convert it to a script (jupyter nbconvert --to script)";
  if (name.ends_with(".py") || name.ends_with(".sh")) return std::nullopt;
  if (is_json(text)) return "is JSON, not a script: pass data in a channel (--input)";
  if (is_table(head)) return "is a table, not a script: pass data in a channel (--input)";
  return std::nullopt;
}

}  // namespace muster::cli
