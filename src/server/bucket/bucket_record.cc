#include "server/bucket/bucket_record.h"

#include <charconv>

#include "base/little_endian.h"

namespace muster::bucket {
namespace {

constexpr std::string_view magic = "musterO1";

/// Fields are (tag, length, bytes); tags that are not known are passed over.
enum Field : char {
  field_key = 'k',
  field_id = 'i',
  field_size = 's',
  field_modified = 't',
  field_etag = 'e',
  field_header = 'h',
  field_user = 'u',
  field_tag = 'g',
  field_checksum = 'c',
  field_part = 'p',
};

void add(std::string& out, char field, std::string_view bytes) {
  out.push_back(field);
  append_number(out, bytes.size(), 4);
  out.append(bytes);
}

/// Two texts in one field.
void add(std::string& out, char field, std::string_view first, std::string_view second) {
  out.push_back(field);
  append_number(out, 4 + first.size() + second.size(), 4);
  append_number(out, first.size(), 4);
  out.append(first).append(second);
}

void add(std::string& out, char field, const aws::Pairs& pairs) {
  for (const auto& [name, value] : pairs) add(out, field, name, value);
}

/// FNV-1a: finds damage, no more.
std::uint32_t sum_of(std::string_view bytes) {
  std::uint32_t sum = 2166136261u;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619u;
  return sum;
}

std::string sealed(std::string fields) {
  const auto size = static_cast<std::uint32_t>(fields.size());
  const std::uint32_t sum = sum_of(fields);
  fields.append(magic);
  append_number(fields, size, 4);
  append_number(fields, sum, 4);
  return fields;
}

Error damaged() {
  return fail(Errc::protocol, "the record is damaged");
}

/// The fields, without the tail.
Result<std::string_view> opened(std::string_view bytes) {
  const std::size_t size = TRY(record_bytes(bytes));
  if (size != bytes.size()) return damaged();
  const std::string_view fields = bytes.substr(0, size - record_tail_bytes);
  if (number_at(bytes, bytes.size() - 4, 4) != sum_of(fields)) return damaged();
  return fields;
}

struct Read {
  char field = 0;
  std::string_view bytes;
};
Result<Read> next(std::string_view& fields) {
  if (fields.size() < 5) return damaged();
  const std::size_t size = number_at(fields, 1, 4);
  if (size > fields.size() - 5) return damaged();
  const Read read{fields[0], fields.substr(5, size)};
  fields.remove_prefix(5 + size);
  return read;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<void> add_pair(aws::Pairs& pairs, std::string_view bytes) {
  if (bytes.size() < 4 || number_at(bytes, 0, 4) > bytes.size() - 4) return damaged();
  const std::size_t size = number_at(bytes, 0, 4);
  pairs.emplace_back(bytes.substr(4, size), bytes.substr(4 + size));
  return {};
}

void read_checksum(ObjectRecord& record, std::string_view bytes) {
  if (bytes.size() < 2) return;
  s3wire::KeptChecksum kept;
  kept.kind = static_cast<s3wire::Checksum>(bytes[0] - 'a');
  kept.whole = bytes[1] == '1';
  kept.text = bytes.substr(2);
  record.checksum = std::move(kept);
}

Result<void> apply(ObjectRecord& record, const Read& read) {
  switch (read.field) {
    case field_key:
      record.key = read.bytes;
      break;
    case field_id:
      record.id = read.bytes;
      break;
    case field_size:
      record.size = number(read.bytes);
      break;
    case field_modified:
      record.modified = UnixMillis(static_cast<std::int64_t>(number(read.bytes)));
      break;
    case field_etag:
      record.etag = read.bytes;
      break;
    case field_header:
      return add_pair(record.metadata.headers, read.bytes);
    case field_user:
      return add_pair(record.metadata.user, read.bytes);
    case field_tag:
      return add_pair(record.metadata.tags, read.bytes);
    case field_checksum:
      read_checksum(record, read.bytes);
      break;
    case field_part: {
      const std::size_t space = read.bytes.find(' ');
      if (space == std::string_view::npos) return damaged();
      record.parts.push_back(
          {number(read.bytes.substr(0, space)), std::string(read.bytes.substr(space + 1))});
      break;
    }
    default:
      break;
  }
  return {};
}

}  // namespace

std::string encode_record(const ObjectRecord& record) {
  std::string out;
  out.reserve(256 + record.key.size());
  add(out, field_key, record.key);
  add(out, field_id, record.id);
  add(out, field_size, std::to_string(record.size));
  add(out, field_modified, std::to_string(record.modified.count()));
  add(out, field_etag, record.etag);
  add(out, field_header, record.metadata.headers);
  add(out, field_user, record.metadata.user);
  add(out, field_tag, record.metadata.tags);
  if (record.checksum) {
    std::string kept;
    kept.push_back(static_cast<char>('a' + static_cast<int>(record.checksum->kind)));
    kept.push_back(record.checksum->whole ? '1' : '0');
    add(out, field_checksum, kept + record.checksum->text);
  }
  for (const PartRecord& part : record.parts)
    add(out, field_part, std::to_string(part.size) + " " + part.checksum);
  return sealed(std::move(out));
}

Result<std::size_t> record_bytes(std::string_view end_of_file) {
  if (end_of_file.size() < record_tail_bytes) return damaged();
  const std::string_view tail = end_of_file.substr(end_of_file.size() - record_tail_bytes);
  if (!tail.starts_with(magic)) return damaged();
  return number_at(tail, 8, 4) + record_tail_bytes;
}

Result<ObjectRecord> decode_record(std::string_view bytes) {
  std::string_view fields = TRY(opened(bytes));
  ObjectRecord record;
  while (!fields.empty()) {
    const Read read = TRY(next(fields));
    TRY(apply(record, read));
  }
  return record;
}

std::string encode_tags(const std::string& id, const aws::Pairs& tags) {
  std::string out;
  add(out, field_id, id);
  add(out, field_tag, tags);
  return sealed(std::move(out));
}

Result<KeptTags> decode_tags(std::string_view bytes) {
  const ObjectRecord record = TRY(decode_record(bytes));
  return KeptTags{record.id, record.metadata.tags};
}

}  // namespace muster::bucket
