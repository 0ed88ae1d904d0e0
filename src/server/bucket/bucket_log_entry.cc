#include "server/bucket/bucket_log_entry.h"

#include "base/crc.h"
#include "base/little_endian.h"

namespace muster::bucket {
namespace {

// Length (32 bits), CRC-32C of all behind it (32), filling's number (64) and order (64), kind,
// length of the file's name (8), name, bytes. Least significant byte first.
constexpr std::size_t sum_at = 4;
constexpr std::size_t summed_from = 8;
constexpr std::size_t filling_at = 8;
constexpr std::size_t order_at = 16;
constexpr std::size_t kind_at = 24;
constexpr std::size_t name_bytes_at = 25;
constexpr std::size_t name_at = 26;

bool is_kind(char c) {
  return c == static_cast<char>(LogKind::written) || c == static_cast<char>(LogKind::removed) ||
         c == static_cast<char>(LogKind::settled);
}

/// The first entry, whole; empty if there is none.
std::string_view first_entry(std::string_view log) {
  if (log.size() < name_at) return {};
  const std::uint64_t size = number_at(log, 0, 4);
  if (size < name_at || size > log.size()) return {};
  const std::string_view entry = log.substr(0, size);
  if (number_at(entry, sum_at, 4) != crc32c(std::string_view(entry).substr(summed_from)) ||
      !is_kind(entry[kind_at]))
    return {};
  if (name_at + number_at(entry, name_bytes_at, 1) > size) return {};
  return entry;
}

}  // namespace

std::string encode_entry(const LogFilling& filling, const LogEntry& entry) {
  std::string bytes(name_at, '\0');
  bytes.reserve(name_at + entry.file.size() + entry.bytes.size());
  set_number(bytes, filling_at, filling.number, 8);
  set_number(bytes, order_at, filling.order, 8);
  bytes[kind_at] = static_cast<char>(entry.kind);
  set_number(bytes, name_bytes_at, entry.file.size(), 1);
  bytes.append(entry.file).append(entry.bytes);
  set_number(bytes, 0, bytes.size(), 4);
  set_number(bytes, sum_at, crc32c(std::string_view(bytes).substr(summed_from)), 4);
  return bytes;
}

LogRead read_entries(std::string_view log) {
  LogRead read;
  while (true) {
    const std::string_view entry = first_entry(log.substr(read.bytes));
    if (entry.empty()) return read;
    const LogFilling filling{number_at(entry, filling_at, 8), number_at(entry, order_at, 8)};
    if (read.entries.empty()) read.filling = filling;
    if (filling.number != read.filling.number) return read;
    const std::size_t name_bytes = number_at(entry, name_bytes_at, 1);
    read.entries.push_back({static_cast<LogKind>(entry[kind_at]), entry.substr(name_at, name_bytes),
                            entry.substr(name_at + name_bytes)});
    read.bytes += entry.size();
  }
}

}  // namespace muster::bucket
