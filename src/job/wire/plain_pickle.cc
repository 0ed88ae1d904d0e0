#include "job/wire/plain_pickle.h"

#include <algorithm>

namespace muster::job {
namespace {

// A dump of 2,000 operations with their stacks has about 200,000 values.
constexpr std::size_t nodes_max = 1'000'000;
constexpr std::size_t stack_max = 4'000'000;
constexpr std::size_t memo_max = 500'000;

enum Code : unsigned char {
  mark = '(',
  stop = '.',
  bin_float = 'G',
  bin_int = 'J',
  bin_int1 = 'K',
  bin_int2 = 'M',
  none = 'N',
  bin_unicode = 'X',
  append = 'a',
  appends = 'e',
  bin_get = 'h',
  long_bin_get = 'j',
  bin_put = 'q',
  long_bin_put = 'r',
  set_item = 's',
  tuple = 't',
  set_items = 'u',
  empty_tuple = ')',
  empty_list = ']',
  empty_dict = '}',
  proto = 0x80,
  tuple1 = 0x85,
  tuple3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long1 = 0x8a,
  short_bin_unicode = 0x8c,
  memoize = 0x94,
  frame = 0x95,
};

}  // namespace

Result<PlainPickle> PlainPickle::read(std::string_view bytes) {
  PlainPickle pickle(bytes);
  if (bytes.size() > bytes_max || !pickle.run())
    return fail(Errc::invalid_input, "expected a pickle with plain values only");
  return pickle;
}

bool PlainPickle::run() {
  while (!is_over_) {
    if (at_ >= bytes_.size() || nodes_.size() > nodes_max || stack_.size() > stack_max ||
        memo_.size() > memo_max)
      return false;
    if (!step(static_cast<unsigned char>(bytes_[at_++]))) return false;
  }
  stack_ = {};
  memo_ = {};
  return true;
}

bool PlainPickle::step(unsigned char code) {
  switch (code) {
    case proto:
      return number(1).has_value();
    case frame:
      return number(8).has_value();
    case mark:
      marks_.push_back(stack_.size());
      return marks_.size() <= stack_max;
    case stop:
      if (stack_.size() != 1 || !marks_.empty()) return false;
      root_ = stack_.back();
      is_over_ = true;
      return true;
    case none:
      return push({});
    case new_true:
    case new_false:
      return push({.kind = Kind::flag, .number = code == new_true ? 1 : 0});
    case bin_unicode:
      return push_text(4);
    case short_bin_unicode:
      return push_text(1);
    default:
      return step_number(code) || step_container(code) || step_memo(code);
  }
}

bool PlainPickle::step_number(unsigned char code) {
  const auto push_whole = [this](std::size_t byte_count, std::size_t sign_bytes) {
    const std::optional<std::uint64_t> value = number(byte_count);
    if (!value) return false;
    std::int64_t whole = static_cast<std::int64_t>(*value);
    const std::size_t unused = 64 - 8 * sign_bytes;
    if (sign_bytes > 0) whole = static_cast<std::int64_t>(*value << unused) >> unused;
    return push({.kind = Kind::whole, .number = whole});
  };
  switch (code) {
    case bin_int1:
      return push_whole(1, 0);
    case bin_int2:
      return push_whole(2, 0);
    case bin_int:
      return push_whole(4, 4);
    case long1: {
      const std::optional<std::uint64_t> length = number(1);
      if (!length || *length > 8) return false;
      return push_whole(*length, *length);
    }
    case bin_float:
      return number(8).has_value() && push({.kind = Kind::real});
    default:
      return false;
  }
}

bool PlainPickle::step_container(unsigned char code) {
  std::size_t count = 0;
  switch (code) {
    case empty_tuple:
    case empty_list:
      return push_container(Kind::list, 0);
    case empty_dict:
      return push_container(Kind::dict, 0);
    case tuple:
      return pop_mark(count) && push_container(Kind::list, count);
    case append:
      return fill(Kind::list, 1);
    case set_item:
      return fill(Kind::dict, 2);
    case appends:
      return pop_mark(count) && fill(Kind::list, count);
    case set_items:
      return pop_mark(count) && count % 2 == 0 && fill(Kind::dict, count);
    default:
      return code >= tuple1 && code <= tuple3 && push_container(Kind::list, code - tuple1 + 1u);
  }
}

bool PlainPickle::step_memo(unsigned char code) {
  if (code == memoize) return remember(memo_.size());
  const bool is_long = code == long_bin_put || code == long_bin_get;
  const bool is_put = code == bin_put || code == long_bin_put;
  if (!is_put && code != bin_get && code != long_bin_get) return false;
  const std::optional<std::uint64_t> place = number(is_long ? 4 : 1);
  if (!place) return false;
  if (is_put) return remember(*place);
  const auto known = memo_.find(*place);
  if (known == memo_.end()) return false;
  stack_.push_back(known->second);
  return true;
}

bool PlainPickle::remember(std::uint64_t number) {
  if (stack_.empty()) return false;
  memo_[number] = stack_.back();
  return true;
}

bool PlainPickle::push(Node node) {
  stack_.push_back(static_cast<std::uint32_t>(nodes_.size()));
  nodes_.push_back(node);
  return true;
}

bool PlainPickle::push_text(std::size_t length_bytes) {
  const std::optional<std::uint64_t> length = number(length_bytes);
  if (!length || *length > bytes_.size() - at_) return false;
  const Node node{.kind = Kind::text,
                  .number = static_cast<std::int64_t>(at_),
                  .extent = static_cast<std::uint32_t>(*length)};
  at_ += *length;
  return push(node);
}

/// Makes a container of the last `count` values on the stack.
bool PlainPickle::push_container(Kind kind, std::size_t count) {
  const std::size_t least = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - least < count) return false;
  const auto from = stack_.end() - static_cast<std::ptrdiff_t>(count);
  const Node node{.kind = kind, .extent = static_cast<std::uint32_t>(items_.size())};
  items_.emplace_back(from, stack_.end());
  stack_.erase(from, stack_.end());
  return push(node);
}

/// `count`: the values above the mark.
bool PlainPickle::pop_mark(std::size_t& count) {
  if (marks_.empty() || marks_.back() > stack_.size()) return false;
  count = stack_.size() - marks_.back();
  marks_.pop_back();
  return true;
}

/// Moves the last `count` values into the container below them.
bool PlainPickle::fill(Kind kind, std::size_t count) {
  const std::size_t least = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - std::min(least, stack_.size()) < count + 1) return false;
  const auto from = stack_.end() - static_cast<std::ptrdiff_t>(count);
  const Node& into = nodes_[*(from - 1)];
  if (into.kind != kind) return false;
  std::vector<std::uint32_t>& items = items_[into.extent];
  items.insert(items.end(), from, stack_.end());
  stack_.erase(from, stack_.end());
  return true;
}

/// Little-endian.
std::optional<std::uint64_t> PlainPickle::number(std::size_t byte_count) {
  if (byte_count > bytes_.size() - at_) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = byte_count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes_[at_ + i]);
  at_ += byte_count;
  return value;
}

std::optional<std::int64_t> PlainPickle::Value::whole() const {
  const Node& node = owner_->nodes_[node_];
  return node.kind == Kind::whole ? std::optional(node.number) : std::nullopt;
}

std::optional<bool> PlainPickle::Value::flag() const {
  const Node& node = owner_->nodes_[node_];
  return node.kind == Kind::flag ? std::optional(node.number != 0) : std::nullopt;
}

std::optional<std::string_view> PlainPickle::Value::text() const {
  const Node& node = owner_->nodes_[node_];
  if (node.kind != Kind::text) return std::nullopt;
  return owner_->bytes_.substr(static_cast<std::size_t>(node.number), node.extent);
}

std::size_t PlainPickle::Value::size() const {
  const Node& node = owner_->nodes_[node_];
  if (node.kind == Kind::list) return owner_->items_[node.extent].size();
  return node.kind == Kind::dict ? owner_->items_[node.extent].size() / 2 : 0;
}

PlainPickle::Value PlainPickle::Value::operator[](std::size_t i) const {
  CHECK_THAT(i < size(), "a value that is there");
  const Node& node = owner_->nodes_[node_];
  return {owner_, owner_->items_[node.extent][node.kind == Kind::dict ? 2 * i + 1 : i]};
}

PlainPickle::Value PlainPickle::Value::at(std::string_view key) const {
  const Node& node = owner_->nodes_[node_];
  if (node.kind == Kind::dict)
    for (std::size_t i = size(); i-- > 0;)
      if (Value(owner_, owner_->items_[node.extent][2 * i]).text() == key) return (*this)[i];
  return {owner_, 0};
}

}  // namespace muster::job
