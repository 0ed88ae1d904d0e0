#include "os/unwind/demangle.h"

#include <array>
#include <optional>
#include <utility>

#include "base/letters.h"

namespace muster::unwind {
namespace {

constexpr int depth_max = 64;

constexpr std::pair<std::string_view, std::string_view> operators[] = {
    {"nw", "new"}, {"na", "new[]"}, {"dl", "delete"}, {"da", "delete[]"}, {"ng", "-"},
    {"ad", "&"},   {"de", "*"},     {"co", "~"},      {"pl", "+"},        {"mi", "-"},
    {"ml", "*"},   {"dv", "/"},     {"rm", "%"},      {"an", "&"},        {"or", "|"},
    {"eo", "^"},   {"aS", "="},     {"pL", "+="},     {"mI", "-="},       {"mL", "*="},
    {"dV", "/="},  {"rM", "%="},    {"ls", "<<"},     {"rs", ">>"},       {"eq", "=="},
    {"ne", "!="},  {"lt", "<"},     {"gt", ">"},      {"le", "<="},       {"ge", ">="},
    {"nt", "!"},   {"aa", "&&"},    {"oo", "||"},     {"pp", "++"},       {"mm", "--"},
    {"pt", "->"},  {"cl", "()"},    {"ix", "[]"},     {"ss", "<=>"},
};
constexpr std::pair<char, std::string_view> abbreviations[] = {
    {'t', "std"},          {'a', "std::allocator"}, {'b', "std::basic_string"},
    {'s', "std::string"},  {'i', "std::istream"},   {'o', "std::ostream"},
    {'d', "std::iostream"}};

/// Goes through a mangled name once. Every function that returns a bool says whether what it is
/// for stood there.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  std::optional<std::string> encoding() {
    if (takes("T")) {  // A thunk, which adjusts `this` and goes on to the function.
      if (!takes("h") && !takes("v")) return std::nullopt;
      do {
        number();
      } while (takes("_") && !left_.empty() && (is_digit(left_[0]) || left_[0] == 'n'));
    }
    return name();
  }

 private:
  struct Depth {
    explicit Depth(int& value) : count(value) { ++count; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --count; }
    int& count;
  };

  std::optional<std::string> name() {
    const Depth deeper(depth_);
    if (depth_ > depth_max) return std::nullopt;
    if (takes("Z")) return local();
    if (takes("N")) return nested();
    std::string text = takes("St") ? "std::" : "";
    if (text.empty() && peek() == 'S') {
      if (!substitution(text)) return std::nullopt;
    } else if (std::string last; !unqualified(text, last)) {
      return std::nullopt;
    }
    if (peek() == 'I' && !arguments(text)) return std::nullopt;
    return text;
  }

  /// A thing of a function: its name, and what is in it.
  std::optional<std::string> local() {
    std::optional<std::string> outer = encoding();
    if (!outer) return outer;
    while (!left_.empty() && peek() != 'E')
      if (!type()) return std::nullopt;
    if (!takes("E")) return std::nullopt;
    if (takes("s")) return *outer + "::{text}";
    if (takes("d")) {
      number();
      if (!takes("_")) return std::nullopt;
    }
    std::optional<std::string> inner = name();
    if (!inner) return inner;
    return *outer + "::" + *inner;
  }

  std::optional<std::string> nested() {
    while (takes("r") || takes("V") || takes("K")) {
    }
    if (!takes("R")) takes("O");
    std::string text, last;
    while (!left_.empty() && !takes("E")) {
      if (peek() == 'I') {
        if (!arguments(text)) return std::nullopt;
      } else if (peek() == 'S' || (peek() == 'T' && text.empty())) {
        if (!(peek() == 'S' ? substitution(text) : parameter())) return std::nullopt;
      } else {
        if (!text.empty()) text += "::";
        if (!unqualified(text, last)) return std::nullopt;
      }
    }
    return text;
  }

  /// Appends to `text` one name; `last` is the one before, which constructors have again.
  bool unqualified(std::string& text, std::string& last) {
    takes("L");
    std::string found;
    if (is_digit(peek())) {
      if (!source_name(found)) return false;
    } else if (peek() == 'C' || peek() == 'D') {
      const bool is_destructor = takes("D");
      if (!is_destructor) takes("C");
      if (left_.empty() || !is_digit(left_[0])) return false;
      left_.remove_prefix(1);
      found = (is_destructor ? "~" : "") + last;
    } else if (takes("Ul")) {
      while (!left_.empty() && peek() != 'E')
        if (!type()) return false;
      if (!takes("E") || !ordinal()) return false;
      found = "{lambda}";
    } else if (takes("Ut")) {
      if (!ordinal()) return false;
      found = "{unnamed}";
    } else if (!operator_name(found)) {
      return false;
    }
    while (takes("B")) {
      std::string tag;
      if (!source_name(tag)) return false;
    }
    text += found;
    last = found;
    return true;
  }

  bool operator_name(std::string& found) {
    if (takes("cv")) {  // A conversion: its type is not shown.
      found = "operator(cast)";
      return type();
    }
    for (const auto& [code, sign] : operators)
      if (takes(code)) {
        found = "operator" + std::string(sign[0] >= 'a' ? " " : "") + std::string(sign);
        return true;
      }
    return false;
  }

  bool source_name(std::string& found) {
    const std::size_t length = number();
    if (length == 0 || length > left_.size()) return false;
    found = left_.substr(0, length);
    if (found.starts_with("_GLOBAL__N_")) found = "{anonymous}";
    left_.remove_prefix(length);
    return true;
  }

  /// A reference to an earlier name. Only simple names are shown; others are skipped.
  bool substitution(std::string& text) {
    takes("S");
    for (const auto& [letter, meaning] : abbreviations)
      if (peek() == letter) {
        left_.remove_prefix(1);
        text += meaning;
        return true;
      }
    while (!left_.empty() && (is_digit(peek()) || (peek() >= 'A' && peek() <= 'Z')))
      left_.remove_prefix(1);
    return takes("_");
  }
  bool parameter() {
    takes("T");
    return ordinal();
  }
  /// A number that may be left out, and its end.
  bool ordinal() {
    number();
    return takes("_");
  }

  bool arguments(std::string& text) {
    text += "<…>";
    return skip_arguments();
  }
  bool skip_arguments() {
    const Depth deeper(depth_);
    if (depth_ > depth_max || (!takes("I") && !takes("J"))) return false;
    while (!left_.empty() && peek() != 'E')
      if (!(peek() == 'J' ? skip_arguments() : peek() == 'L' ? literal() : type())) return false;
    return takes("E");
  }
  bool literal() {
    takes("L");
    if (takes("_Z")) {
      if (!encoding()) return false;
      while (!left_.empty() && peek() != 'E')
        if (!type()) return false;
      return takes("E");
    }
    if (!type()) return false;
    while (!left_.empty() && peek() != 'E') left_.remove_prefix(1);
    return takes("E");
  }

  /// Passes over a type. Those that hold expressions are not known.
  bool type() {
    const Depth deeper(depth_);
    if (depth_ > depth_max || left_.empty()) return false;
    const char first = peek();
    std::string dropped;
    if (is_digit(first) || first == 'N' || first == 'Z') return name().has_value();
    if (first == 'S') {
      if (takes("St")) return unqualified(dropped, dropped) && may_have_arguments();
      return substitution(dropped) && may_have_arguments();
    }
    left_.remove_prefix(1);
    switch (first) {
      case 'r':
      case 'V':
      case 'K':
      case 'P':
      case 'R':
      case 'O':
      case 'C':
      case 'G':
        return type();
      case 'T':
        return ordinal() && may_have_arguments();
      case 'F':
        takes("Y");
        while (!left_.empty() && peek() != 'E') {
          if (takes("RE") || takes("OE")) return true;
          if (!type()) return false;
        }
        return takes("E");
      case 'A':
        number();
        return takes("_") && type();
      case 'M':
        return type() && type();
      case 'U':
        return source_name(dropped) && may_have_arguments() && type();
      case 'u':
        return source_name(dropped);
      case 'D':
        return special_type();
      default:
        return first >= 'a' && first <= 'z';
    }
  }
  bool special_type() {
    if (takes("p") || takes("o")) return type();
    if (takes("v")) {
      number();
      return takes("_") && type();
    }
    constexpr std::string_view plain = "dfheiusacn";
    if (left_.empty() || plain.find(left_[0]) == std::string_view::npos) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool may_have_arguments() { return peek() != 'I' || skip_arguments(); }

  char peek() const { return left_.empty() ? '\0' : left_[0]; }
  bool takes(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  std::size_t number() {
    takes("n");
    std::size_t value = 0;
    while (is_digit(peek())) {
      if (value < 1'000'000) value = value * 10 + static_cast<std::size_t>(peek() - '0');
      left_.remove_prefix(1);
    }
    return value;
  }

  std::string_view left_;
  int depth_ = 0;
};

}  // namespace

std::string plain_name(std::string_view mangled) {
  std::string_view whole = mangled;
  // What GCC calls parts and copies of a function: "work.constprop.0", "work.cold".
  for (const std::string_view part : {".cold", ".constprop.", ".part.", ".isra.", ".lto_priv."})
    whole = whole.substr(0, whole.find(part));
  if (!whole.starts_with("_Z")) return std::string(whole);
  return Reader(whole.substr(2)).encoding().value_or(std::string(mangled));
}

}  // namespace muster::unwind
