#include "job/training/python_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/text.h"

namespace muster::job {
namespace {

constexpr int depth_max = 256;
/// Python refuses to convert longer decimal texts (sys.int_info.default_max_str_digits).
constexpr std::size_t integer_digits_max = 4300;

/// The code point at `at`, which moves behind it; surrogates' three bytes count as one.
std::uint32_t next_code(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const std::uint32_t first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint32_t code = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (byte(at + i) & 0x3F);
  at += length;
  return code;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PyValue> whole() {
    skip_space();
    PyValue value = TRY(this->value(0));
    skip_space();
    if (at_ != text_.size()) return expected("the end of the text");
    return value;
  }

 private:
  Error expected(const std::string& what) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? at_ : at_ - newline - 1;
    return fail(Errc::invalid_input, "line " + std::to_string(line) + ", column " +
                                         std::to_string(column + 1) + ": expected " + what);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Result<PyValue> value(int depth) {
    if (depth > depth_max) return expected("at most 256 levels of nesting");
    const char c = peek();
    if (c == '"') return PyValue::of_text(TRY(string()));
    if (c == '{') return dict(depth);
    if (c == '[') return list(depth);
    if (take("null")) return PyValue();
    if (take("true")) return PyValue::of_bool(true);
    if (take("false")) return PyValue::of_bool(false);
    if (take("NaN")) return real(std::numeric_limits<double>::quiet_NaN());
    if (take("Infinity")) return real(std::numeric_limits<double>::infinity());
    if (take("-Infinity")) return real(-std::numeric_limits<double>::infinity());
    return number();
  }

  static PyValue real(double value) {
    PyValue result;
    result.kind = PyValue::Kind::real;
    result.real = value;
    return result;
  }

  std::size_t digits(std::size_t from) const {
    while (from < text_.size() && text_[from] >= '0' && text_[from] <= '9') ++from;
    return from;
  }

  Result<PyValue> number() {
    std::size_t end = at_;
    if (end < text_.size() && text_[end] == '-') ++end;
    const std::size_t first = end;
    end = end < text_.size() && text_[end] == '0' ? end + 1 : digits(end);
    if (end == first) return expected("a JSON value");
    const std::size_t whole_end = end;
    if (end < text_.size() && text_[end] == '.' && digits(end + 1) > end + 1) end = digits(end + 1);
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (digits(exponent) > exponent) end = digits(exponent);
    }
    const std::string_view source = text_.substr(at_, end - at_);
    if (end == whole_end && end - first > integer_digits_max)
      return expected("an integer of at most 4300 digits");
    at_ = end;
    if (end != whole_end) return real(to_double(source));
    PyValue result;
    result.kind = PyValue::Kind::integer;
    result.text = source == "-0" ? "0" : std::string(source);
    return result;
  }

  /// As Python's float(): beyond the range it is infinite, below it zero.
  static double to_double(std::string_view source) {
    double value = 0;
    const auto [end, error] = std::from_chars(source.data(), source.data() + source.size(), value);
    if (error != std::errc::result_out_of_range) return value;
    // strtod distinguishes an overflow from an underflow; from_chars does not.
    return std::strtod(std::string(source).c_str(), nullptr);
  }

  Result<PyValue> list(int depth) {
    PyValue result = PyValue::new_list();
    ++at_;
    skip_space();
    if (take("]")) return result;
    while (true) {
      skip_space();
      result.items.push_back(TRY(value(depth + 1)));
      skip_space();
      if (take("]")) return result;
      if (!take(",")) return expected("',' or ']'");
    }
  }

  Result<PyValue> dict(int depth) {
    PyValue result = PyValue::new_dict();
    ++at_;
    skip_space();
    if (take("}")) return result;
    while (true) {
      skip_space();
      if (peek() != '"') return expected("a key in double quotes");
      std::string key = TRY(string());
      skip_space();
      if (!take(":")) return expected("':'");
      skip_space();
      PyValue member = TRY(value(depth + 1));
      result.set(std::move(key), std::move(member));
      skip_space();
      if (take("}")) return result;
      if (!take(",")) return expected("',' or '}'");
    }
  }

  std::optional<std::uint32_t> hex4(std::size_t from) const {
    if (from + 4 > text_.size()) return std::nullopt;
    std::uint32_t code = 0;
    const char* begin = text_.data() + from;
    const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
    if (error != std::errc() || end != begin + 4) return std::nullopt;
    return code;
  }

  /// After a backslash and 'u'; joins a surrogate pair.
  Result<void> unicode_escape(std::string& out) {
    std::optional<std::uint32_t> code = hex4(at_);
    if (!code) return expected("four hex digits");
    at_ += 4;
    if (*code >= 0xD800 && *code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      const std::optional<std::uint32_t> low = hex4(at_ + 2);
      if (low && *low >= 0xDC00 && *low < 0xE000) {
        at_ += 6;
        code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
      }
    }
    append_utf8(out, *code);
    return {};
  }

  Result<std::string> string() {
    ++at_;
    std::string out;
    while (true) {
      if (at_ >= text_.size()) return expected("a closing '\"'");
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20)
        return expected("an escape sequence instead of a raw control character");
      ++at_;
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      constexpr std::string_view names = "\"\\/bfnrt";
      constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
      const std::size_t which =
          at_ < text_.size() ? names.find(text_[at_]) : std::string_view::npos;
      if (which != std::string_view::npos) {
        out += meant[which];
        ++at_;
      } else if (peek() == 'u') {
        ++at_;
        TRY(unicode_escape(out));
      } else {
        return expected("a valid JSON escape sequence");
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void append_hex(std::string& out, std::uint32_t code, int digits) {
  constexpr std::string_view alphabet = "0123456789abcdef";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += alphabet[(code >> shift) & 15];
}

void append_escape(std::string& out, const char* prefix, std::uint32_t code, int digits) {
  out += prefix;
  append_hex(out, code, digits);
}

void dump_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t code = next_code(text, at);
    constexpr std::string_view meant = "\"\\\n\r\t\f\b";
    constexpr std::string_view names = "\"\\nrtfb";
    const std::size_t which =
        code < 0x80 ? meant.find(static_cast<char>(code)) : std::string_view::npos;
    if (which != std::string_view::npos) {
      out += '\\';
      out += names[which];
    } else if (code >= 0x20 && code < 0x7F) {
      out += static_cast<char>(code);
    } else if (code >= 0x10000) {
      append_escape(out, "\\u", 0xD800 + ((code - 0x10000) >> 10), 4);
      append_escape(out, "\\u", 0xDC00 + ((code - 0x10000) & 0x3FF), 4);
    } else {
      append_escape(out, "\\u", code, 4);
    }
  }
  out += '"';
}

/// How json.dumps is asked to write.
struct DumpForm {
  bool sorted = false;
  std::string_view between = ", ";  ///< Items.
  std::string_view colon = ": ";
  std::size_t indent = 0;  ///< Spaces a level; none means one line.
};

class Dumper {
 public:
  explicit Dumper(const DumpForm& form) : form_(form) {}

  std::string whole(const PyValue& value) {
    put(value, 0);
    return std::move(out_);
  }

 private:
  void put(const PyValue& value, std::size_t depth) {
    switch (value.kind) {
      case PyValue::Kind::null:
        out_ += "null";
        return;
      case PyValue::Kind::boolean:
        out_ += value.boolean ? "true" : "false";
        return;
      case PyValue::Kind::integer:
        out_ += value.text;
        return;
      case PyValue::Kind::real:
        if (std::isnan(value.real))
          out_ += "NaN";
        else if (std::isinf(value.real))
          out_ += value.real > 0 ? "Infinity" : "-Infinity";
        else
          out_ += python_float(value.real);
        return;
      case PyValue::Kind::text:
        return dump_string(out_, value.text);
      case PyValue::Kind::list:
        return put_list(value, depth);
      case PyValue::Kind::dict:
        return put_dict(value, depth);
    }
  }

  void line(std::size_t depth) {
    if (form_.indent > 0) out_ += "\n" + std::string(depth * form_.indent, ' ');
  }

  void separate(bool first, std::size_t depth) {
    if (!first) out_ += form_.indent > 0 ? "," : form_.between;
    line(depth);
  }

  void put_list(const PyValue& value, std::size_t depth) {
    out_ += '[';
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      separate(i == 0, depth + 1);
      put(value.items[i], depth + 1);
    }
    if (!value.items.empty()) line(depth);
    out_ += ']';
  }

  void put_dict(const PyValue& value, std::size_t depth) {
    std::vector<const PyValue::Member*> members;
    if (form_.sorted)
      members = value.sorted();
    else
      for (const PyValue::Member& member : value.members) members.push_back(&member);
    out_ += '{';
    for (const PyValue::Member* member : members) {
      separate(member == members.front(), depth + 1);
      dump_string(out_, member->first);
      out_ += form_.colon;
      put(member->second, depth + 1);
    }
    if (!members.empty()) line(depth);
    out_ += '}';
  }

  const DumpForm form_;
  std::string out_;
};

/// What str.isprintable() says no to, as far as texts in hyperparameters go: controls, formats,
/// separators, surrogates, private use. Source: Unicode 14, categories C* and Z* but the space.
bool printable(std::uint32_t code) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 24> not_printable = {{
      {0x00, 0x1F},       {0x7F, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},
      {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x1680, 0x1680},
      {0x180E, 0x180E},   {0x2000, 0x200F},   {0x2028, 0x202F},   {0x205F, 0x206F},
      {0x3000, 0x3000},   {0xD800, 0xDFFF},   {0xE000, 0xF8FF},   {0xFDD0, 0xFDEF},
      {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD},
      {0x1D173, 0x1D17A}, {0x1FFFE, 0x1FFFF}, {0xE0000, 0xE00FF}, {0xF0000, 0x10FFFF},
  }};
  return std::none_of(not_printable.begin(), not_printable.end(), [code](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

void repr_string(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t code = next_code(text, at);
    if (code == static_cast<unsigned char>(quote) || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (printable(code)) {
      append_utf8(out, code);
    } else if (code < 0x100) {
      append_escape(out, "\\x", code, 2);
    } else if (code < 0x10000) {
      append_escape(out, "\\u", code, 4);
    } else {
      append_escape(out, "\\U", code, 8);
    }
  }
  out += quote;
}

void repr(std::string& out, const PyValue& value) {
  if (value.is_text()) return repr_string(out, value.text);
  if (value.is_list()) {
    out += '[';
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) out += ", ";
      repr(out, value.items[i]);
    }
    out += ']';
    return;
  }
  if (value.is_dict()) {
    out += '{';
    for (std::size_t i = 0; i < value.members.size(); ++i) {
      if (i > 0) out += ", ";
      repr_string(out, value.members[i].first);
      out += ": ";
      repr(out, value.members[i].second);
    }
    out += '}';
    return;
  }
  out += python_str(value);
}

}  // namespace

PyValue PyValue::of_bool(bool value) {
  PyValue result;
  result.kind = Kind::boolean;
  result.boolean = value;
  return result;
}

PyValue PyValue::of_int(long long value) {
  PyValue result;
  result.kind = Kind::integer;
  result.text = std::to_string(value);
  return result;
}

PyValue PyValue::of_text(std::string value) {
  PyValue result;
  result.kind = Kind::text;
  result.text = std::move(value);
  return result;
}

PyValue PyValue::of_list(const std::vector<std::string>& texts) {
  PyValue result = new_list();
  for (const std::string& text : texts) result.items.push_back(of_text(text));
  return result;
}

PyValue PyValue::new_list() {
  PyValue result;
  result.kind = Kind::list;
  return result;
}

PyValue PyValue::new_dict() {
  PyValue result;
  result.kind = Kind::dict;
  return result;
}

bool PyValue::truthy() const {
  switch (kind) {
    case Kind::null:
      return false;
    case Kind::boolean:
      return boolean;
    case Kind::integer:
      return text != "0";
    case Kind::real:
      return real != 0;  // NaN is true.
    case Kind::text:
      return !text.empty();
    case Kind::list:
      return !items.empty();
    case Kind::dict:
      return !members.empty();
  }
  return false;
}

const PyValue* PyValue::find(std::string_view key) const {
  for (const Member& member : members)
    if (member.first == key) return &member.second;
  return nullptr;
}

void PyValue::set(std::string key, PyValue value) {
  for (Member& member : members) {
    if (member.first != key) continue;
    member.second = std::move(value);
    return;
  }
  members.push_back({std::move(key), std::move(value)});
}

std::vector<const PyValue::Member*> PyValue::sorted() const {
  std::vector<const Member*> result;
  for (const Member& member : members) result.push_back(&member);
  // UTF-8 bytes sort as their code points do.
  std::sort(result.begin(), result.end(),
            [](const Member* a, const Member* b) { return a->first < b->first; });
  return result;
}

Result<PyValue> python_loads(std::string_view text) {
  return Parser(text).whole();
}

std::string python_dumps(const PyValue& value) {
  return Dumper({.sorted = true, .between = ",", .colon = ":"}).whole(value);
}

std::string python_dumps_plain(const PyValue& value, std::size_t indent) {
  return Dumper({.indent = indent}).whole(value);
}

std::string python_str(const PyValue& value) {
  switch (value.kind) {
    case PyValue::Kind::null:
      return "None";
    case PyValue::Kind::boolean:
      return value.boolean ? "True" : "False";
    case PyValue::Kind::integer:
    case PyValue::Kind::text:
      return value.text;
    case PyValue::Kind::real:
      return python_float(value.real);
    case PyValue::Kind::list:
    case PyValue::Kind::dict: {
      std::string out;
      repr(out, value);
      return out;
    }
  }
  return {};
}

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::scientific);
  CHECK_THAT(error == std::errc(), "64 characters hold any double");
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::size_t e = text.find('e');
  const int exponent =
      static_cast<int>(parse_integer(text.substr(text[e + 1] == '+' ? e + 2 : e + 1)).value_or(0));
  std::string digits;
  for (const char c : text.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  std::string out = text[0] == '-' ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out += "." + digits.substr(1);
    const std::string power = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace muster::job
