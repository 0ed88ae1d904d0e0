#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::job {

/// A Python pickle of plain values: numbers, texts, lists, tuples and dicts. Reading one builds
/// such values and nothing else: a pickle that names a class or a function is refused
/// (docs/decisions/0076-flight-recorder.md).
///
/// Pure. Source of the format: CPython's Lib/pickletools.py.
class PlainPickle {
 public:
  /// A value in a pickle that lives. Reading a value as what it is not gives nothing.
  class Value {
   public:
    std::optional<std::int64_t> whole() const;
    std::optional<bool> flag() const;
    std::optional<std::string_view> text() const;
    /// The items of a list or tuple, or the keys of a dict; else 0.
    std::size_t size() const;
    /// `i` < size(): an item of a list or tuple, a value of a dict.
    Value operator[](std::size_t i) const;
    /// The value in a dict with this key; the last one, if there are several.
    Value at(std::string_view key) const;

   private:
    friend class PlainPickle;
    Value(const PlainPickle* owner, std::uint32_t node) : owner_(owner), node_(node) {}
    const PlainPickle* owner_;
    std::uint32_t node_;
  };

  /// `bytes` must outlive the result, at most `bytes_max` of them. Error: `invalid_input`.
  static constexpr std::size_t bytes_max = 16u << 20;
  static Result<PlainPickle> read(std::string_view bytes);
  Value root() const { return {this, root_}; }

 private:
  enum class Kind : std::uint8_t { none, flag, whole, real, text, list, dict };
  struct Node {
    Kind kind = Kind::none;
    std::int64_t number = 0;   ///< A text begins here in bytes_.
    std::uint32_t extent = 0;  ///< A text's bytes, or a container's place in items_.
  };
  explicit PlainPickle(std::string_view bytes) : bytes_(bytes), nodes_(1) {}

  bool run();
  bool step(unsigned char code);
  bool step_number(unsigned char code);
  bool step_container(unsigned char code);
  bool step_memo(unsigned char code);
  bool push(Node node);
  bool push_text(std::size_t length_bytes);
  bool push_container(Kind kind, std::size_t count);
  bool pop_mark(std::size_t& count);
  bool fill(Kind kind, std::size_t count);
  bool remember(std::uint64_t number);
  std::optional<std::uint64_t> number(std::size_t byte_count);

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool is_over_ = false;
  std::uint32_t root_ = 0;
  std::vector<Node> nodes_;  ///< The first one is None, for what is not there.
  std::vector<std::vector<std::uint32_t>> items_;  ///< A dict has keys and values in turn.
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;  ///< Heights of the stack.
  std::map<std::uint64_t, std::uint32_t> memo_;
};

}  // namespace muster::job
