#include "os/unwind/mappings.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace muster::unwind {
namespace {

constexpr std::size_t mappings_max = 65536;

/// Takes a number and the character behind it off the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text, int base, char behind) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || length == text.size() || *end != behind) return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

std::optional<Mapping> mapping_from(std::string_view line) {
  // 7f12a0000000-7f12a0021000 r-xp 00001000 08:01 1234    /usr/lib/libc.so.6
  const std::optional<std::uint64_t> begin = take_number(line, 16, '-');
  const std::optional<std::uint64_t> end = take_number(line, 16, ' ');
  const std::string_view rights = take_word(line);
  const std::optional<std::uint64_t> offset = take_number(line, 16, ' ');
  const std::string_view device = take_word(line);
  const std::string_view inode = take_word(line);
  Mapping mapping;
  const auto read = std::from_chars(inode.data(), inode.data() + inode.size(), mapping.inode);
  if (!begin || !end || *end <= *begin || !offset || rights.size() < 3 || read.ec != std::errc())
    return std::nullopt;
  mapping.begin = *begin;
  mapping.end = *end;
  mapping.offset = *offset;
  mapping.device = device;
  mapping.executable = rights[2] == 'x';
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  mapping.path = line;
  return mapping;
}

}  // namespace

std::vector<Mapping> mappings_in(std::string_view text) {
  std::vector<Mapping> all;
  while (!text.empty() && all.size() < mappings_max) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::optional<Mapping> mapping = mapping_from(text.substr(0, end)))
      all.push_back(*std::move(mapping));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

const Mapping* mapping_at(const std::vector<Mapping>& all, std::uint64_t address) {
  const auto behind =
      std::upper_bound(all.begin(), all.end(), address,
                       [](std::uint64_t value, const Mapping& each) { return value < each.begin; });
  if (behind == all.begin()) return nullptr;
  const Mapping& found = *(behind - 1);
  return address < found.end ? &found : nullptr;
}

const Mapping* first_of_file(const std::vector<Mapping>& all, const Mapping& mapping) {
  for (auto at = static_cast<std::size_t>(&mapping - all.data()) + 1; at-- > 0;)
    if (all[at].offset == 0 && all[at].same_file(mapping)) return &all[at];
  return nullptr;
}

}  // namespace muster::unwind
