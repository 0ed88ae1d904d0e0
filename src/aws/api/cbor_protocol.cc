#include "aws/api/cbor_protocol.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::api {

namespace {

constexpr std::uint64_t endless = ~std::uint64_t{0};  ///< An indefinite length.

/// Reads RFC 8949 into Json. Our own, since a reader that recurses as deep as the bytes say can be
/// made to run out of stack. After a failure every read fails.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  bool value(Json& into, int depth) {
    const std::uint8_t head = byte();
    if (failed()) return false;
    if (depth > nesting_max) return fail("nested too deeply");
    const int major = head >> 5;
    const int minor = head & 0x1F;
    if (major == 7) return simple(minor, into);
    const bool container = major == 3 || major == 4 || major == 5;
    const std::uint64_t number = minor == 31 && container ? endless : argument(minor);
    if (failed()) return false;
    switch (major) {
      case 0:
        into = number;
        return true;
      case 1:
        if (number > static_cast<std::uint64_t>(no_max))
          return fail("a number has more than 64 bits");
        into = -1 - static_cast<std::int64_t>(number);
        return true;
      case 3:
        return text(number, into);
      case 4:
        return list(number, into, depth);
      case 5:
        return map(number, into, depth);
      case 6:
        return tagged(number, into, depth);
      default:
        return fail("no field accepts a byte string");
    }
  }

  bool at_end() const { return bytes_.empty(); }
  const std::string& error() const { return error_; }

 private:
  bool failed() const { return !error_.empty(); }

  bool fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
    return false;
  }

  std::uint8_t byte() {
    if (bytes_.empty()) {
      fail("truncated");
      return 0;
    }
    const auto first = static_cast<std::uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return first;
  }

  std::uint64_t big_endian(int bytes) {
    std::uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number = number << 8 | byte();
    return number;
  }

  std::uint64_t argument(int minor) {
    if (minor < 24) return static_cast<std::uint64_t>(minor);
    if (minor < 28) return big_endian(1 << (minor - 24));
    fail("unknown initial byte");
    return 0;
  }

  bool simple(int minor, Json& into) {
    switch (minor) {
      case 20:
      case 21:
        into = minor == 21;
        return true;
      case 22:
      case 23:
        into = nullptr;
        return true;
      case 25:
        return real(half(static_cast<std::uint16_t>(big_endian(2))), into);
      case 26:
        return real(std::bit_cast<float>(static_cast<std::uint32_t>(big_endian(4))), into);
      case 27:
        return real(std::bit_cast<double>(big_endian(8)), into);
      default:
        return fail("unknown simple value");
    }
  }

  bool real(double number, Json& into) {
    if (failed()) return false;
    if (!std::isfinite(number)) return fail("a number is not finite");
    into = number;
    return true;
  }

  static double half(std::uint16_t bits) {
    const int exponent = bits >> 10 & 0x1F;
    const int fraction = bits & 0x3FF;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31) return sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(fraction + 1024, exponent - 25);
  }

  bool chunk(std::uint64_t length, std::string& into) {
    if (length > bytes_.size()) return fail("truncated");
    into += bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return true;
  }

  bool text(std::uint64_t length, Json& into) {
    std::string whole;
    if (length != endless) {
      if (!chunk(length, whole)) return false;
    } else {
      while (!take_break()) {
        const std::uint8_t head = byte();
        if (failed()) return false;
        if (head >> 5 != 3) return fail("a text string has a chunk of another type");
        const std::uint64_t part = argument(head & 0x1F);
        if (failed() || !chunk(part, whole)) return false;
      }
    }
    if (failed()) return false;
    if (!is_utf8(whole)) return fail("text is not UTF-8");
    into = std::move(whole);
    return true;
  }

  /// True at the end of something of indefinite length, which it takes, or once all has failed.
  bool take_break() {
    if (bytes_.empty()) fail("truncated");
    if (failed()) return true;
    if (static_cast<std::uint8_t>(bytes_[0]) != 0xFF) return false;
    bytes_.remove_prefix(1);
    return true;
  }

  bool list(std::uint64_t count, Json& into, int depth) {
    into = Json::array();
    for (std::uint64_t i = 0; count == endless ? !take_break() : i < count; ++i)
      if (!value(into.emplace_back(), depth + 1)) return false;
    return !failed();
  }

  bool map(std::uint64_t count, Json& into, int depth) {
    into = Json::object();
    for (std::uint64_t i = 0; count == endless ? !take_break() : i < count; ++i) {
      Json key;
      if (!value(key, depth + 1)) return false;
      if (!key.is_string()) return fail("a key is not text");
      if (!value(into[key.get<std::string>()], depth + 1)) return false;
    }
    return !failed();
  }

  bool tagged(std::uint64_t tag, Json& into, int depth) {
    if (tag != 1) return fail("no field accepts tag " + std::to_string(tag));
    if (!value(into, depth + 1)) return false;
    return into.is_number() || fail("a time is not a number");
  }

  std::string_view bytes_;
  std::string error_;
};

class Writer {
 public:
  explicit Writer(const Service& service) : service_(service) {}

  /// `shape` may be null: then as the value is.
  void value(const Shape* shape, const Json& json) {
    if (shape != nullptr && shape->kind == Kind::timestamp && json.is_number()) {
      head(6, 1);
      real(json.get<double>());
    } else if (shape != nullptr && shape->kind == Kind::real && json.is_number()) {
      real(json.get<double>());
    } else if (json.is_object()) {
      object(shape, json);
    } else if (json.is_array()) {
      head(4, json.size());
      for (const Json& each : json) value(inner(shape, Kind::list, 0), each);
    } else if (json.is_string()) {
      text(json.get_ref<const std::string&>());
    } else {
      plain(json);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void object(const Shape* shape, const Json& json) {
    head(5, json.size());
    for (const auto& [key, each] : json.items()) {
      text(key);
      value(member(shape, key), each);
    }
  }

  const Shape* inner(const Shape* shape, Kind kind, std::uint16_t index) const {
    if (shape == nullptr || shape->kind != kind) return nullptr;
    return &service_.shapes[service_.members_of(*shape)[index].shape];
  }

  const Shape* member(const Shape* shape, std::string_view name) const {
    if (shape == nullptr || shape->kind != Kind::structure) return inner(shape, Kind::map, 1);
    for (const Member& each : service_.members_of(*shape))
      if (each.name == name) return &service_.shapes[each.shape];
    return nullptr;
  }

  void plain(const Json& json) {
    if (json.is_number_float()) return real(json.get<double>());
    if (json.is_boolean()) return put(json.get<bool>() ? 0xF5 : 0xF4);
    if (json.is_number_unsigned()) return head(0, json.get<std::uint64_t>());
    if (!json.is_number_integer()) return put(0xF6);
    const auto number = json.get<std::int64_t>();
    if (number >= 0) return head(0, static_cast<std::uint64_t>(number));
    head(1, static_cast<std::uint64_t>(-1 - number));
  }

  void text(const std::string& bytes) {
    const std::string fine = is_utf8(bytes) ? bytes : to_utf8(bytes);
    head(3, fine.size());
    out_ += fine;
  }

  void real(double number) {
    put(0xFB);
    big_endian(std::bit_cast<std::uint64_t>(number), 8);
  }

  void head(int major, std::uint64_t number) {
    const int size = number < 24            ? 0
                     : number <= 0xFF       ? 1
                     : number <= 0xFFFF     ? 2
                     : number <= 0xFFFFFFFF ? 4
                                            : 8;
    const int minor =
        size == 0 ? static_cast<int>(number) : 24 + std::countr_zero(static_cast<unsigned>(size));
    put(major << 5 | minor);
    big_endian(number, size);
  }

  void big_endian(std::uint64_t number, int bytes) {
    for (int at = bytes - 1; at >= 0; --at) put(static_cast<int>(number >> (8 * at) & 0xFF));
  }

  void put(int byte) { out_ += static_cast<char>(byte); }

  const Service& service_;
  std::string out_;
};

}  // namespace

std::string_view cbor_operation(std::string_view path) {
  constexpr std::string_view between = "/operation/";
  if (!path.starts_with("/service/")) return {};
  const std::size_t found = path.find(between);
  const std::string_view name =
      found == std::string_view::npos ? std::string_view() : path.substr(found + between.size());
  return name.find('/') == std::string_view::npos ? name : std::string_view();
}

Result<Json, aws::Refusal> read_cbor(std::string_view body) {
  if (body.empty()) return Json::object();
  Reader reader(body);
  Json json;
  std::string error;
  if (!reader.value(json, 1))
    error = reader.error();
  else if (!reader.at_end())
    error = "there is data after the end";
  else if (!json.is_object())
    error = "the body is not a JSON object";
  if (error.empty()) return json;
  return aws::Refusal{"SerializationException", "invalid or unsupported CBOR: " + error};
}

std::string write_cbor(const Service& service, const Operation& operation, const Json& output) {
  Writer writer(service);
  const bool known = operation.output != no_shape;
  writer.value(known ? &service.shapes[operation.output] : nullptr, output);
  return writer.take();
}

std::string write_cbor_refusal(const aws::Refusal& refusal) {
  static constexpr Service nothing{};
  Writer writer(nothing);
  writer.value(nullptr, {{"__type", refusal.code}, {"message", refusal.message}});
  return writer.take();
}

}  // namespace muster::api
