#include "server/bucket/bucket_uploads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>

#include "aws/s3wire/s3_answer.h"
#include "base/base64.h"
#include "base/files/folder.h"
#include "base/text.h"

namespace muster::bucket {
namespace {

constexpr const char* upload_file = "upload";
constexpr const char* done_file = "done";
constexpr std::uint64_t part_bytes_min = 5u << 20;  ///< All but the last have as much: S3's limit.
constexpr std::size_t id_bytes = 16;
constexpr UnixMillis done_kept = std::chrono::hours(24);  ///< For clients that ask again.
constexpr unsigned uploads_between_sweeps = 256;

/// Ids become names of folders: nothing else may.
bool is_id(std::string_view id) {
  return id.size() == 2 * id_bytes &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string part_file(const std::string& id, int number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "/%05d", number);
  return id + text.data();
}

/// Without hidden ones, sorted.
Result<std::vector<std::string>> names_below(int parent, const std::string& name) {
  const Fd folder = muster::open_folder(parent, name);
  if (!folder) return fail_errno("cannot open " + name);
  std::vector<std::string> names = TRY(names_in(folder.get(), name));
  std::erase_if(names, [](const std::string& each) { return each.starts_with('.'); });
  return names;
}

bool is_part(const std::string& name) {
  return name.size() == 5 && name.find_first_not_of("0123456789") == std::string::npos;
}

/// "<hex>-N": MD5 of the parts' MD5s.
std::string etag_of(const std::vector<OpenedObject>& parts) {
  s3wire::Digest digest(s3wire::Checksum::md5);
  for (const OpenedObject& part : parts)
    digest.add(from_hex(part.record.etag).value_or(std::string()));
  return hex(digest.finish()) + "-" + std::to_string(parts.size());
}

/// None where the upload has none, or a part has not.
std::optional<s3wire::KeptChecksum> checksum_of(const ObjectRecord& upload,
                                                const std::vector<OpenedObject>& parts) {
  if (!upload.checksum) return std::nullopt;
  s3wire::KeptChecksum kept = *upload.checksum;
  std::vector<std::string> digests;
  for (const OpenedObject& part : parts) {
    if (!part.record.checksum || part.record.checksum->kind != kept.kind) return std::nullopt;
    digests.push_back(from_base64(part.record.checksum->text).value_or(std::string()));
  }
  if (!kept.whole) {
    kept.text = s3wire::composite(kept.kind, digests);
    return kept;
  }
  std::string whole = digests[0];
  for (std::size_t i = 1; i < parts.size(); ++i)
    whole = s3wire::combined(kept.kind, whole, digests[i], parts[i].record.size);
  kept.text = base64(whole);
  return kept;
}

bool fits(const s3wire::CompletePart& asked, const ObjectRecord& part) {
  if (asked.etag != part.etag) return false;
  if (!asked.checksum || !part.checksum || asked.checksum->kind != part.checksum->kind) return true;
  return base64(asked.checksum->value) == part.checksum->text;
}

/// A sum that is made of the parts' sums is agreed on only where each of them is named, as in S3.
Result<void, aws::Refusal> check_sums_named(const BucketUploads::Asked& asked,
                                            const ObjectRecord& upload) {
  if (!upload.checksum || upload.checksum->whole) return {};
  for (const s3wire::CompletePart& part : asked.parts)
    if (!part.checksum)
      return aws::s3_refusal(
          "InvalidRequest",
          "The upload was created using a " +
              lower_case(s3wire::checksum_name(upload.checksum->kind)) +
              " checksum. The complete request must include the checksum for each part. It was "
              "missing for part " +
              std::to_string(part.number) + " in the request.");
  return {};
}

/// False if it is another sum of the same kind.
bool is_sum_of(const s3wire::GivenChecksum& asked, const ObjectRecord& made) {
  if (!made.checksum || asked.kind != made.checksum->kind || asked.value.empty()) return true;
  const std::string& text = made.checksum->text;  // "…-3" if it is made of parts' sums.
  return base64(asked.value) == text.substr(0, text.find('-'));
}

}  // namespace

aws::Refusal disk_failure(const Error& error) {
  constexpr std::string_view full = "the disk is full";
  if (error.code == Errc::closed && error.text.starts_with(full))  // From check_room().
    return {"InsufficientStorage",
            "The server's disk is full" + error.text.substr(full.size()) + ".",
            507,
            {}};
  if (error.text.find("No space left") != std::string::npos)  // As the kernel says it.
    return {"InsufficientStorage", "The server's disk is full.", 507, {}};
  return aws::s3_refusal("InternalError");
}

void BucketUploads::forget_done(UnixMillis now) {
  const Result<std::vector<std::string>> ids = names_below(bucket_.uploads_folder(), ".");
  if (!ids) return;
  for (const std::string& id : *ids) {
    const Result<std::string> text =
        read_small_file(bucket_.uploads_folder(), id + "/" + done_file);
    const Result<ObjectRecord> record = text ? decode_record(*text) : text.error();
    if (!record || now - record->modified < done_kept) continue;
    ::unlinkat(bucket_.uploads_folder(), (id + "/" + done_file).c_str(), 0);
    ::unlinkat(bucket_.uploads_folder(), id.c_str(), AT_REMOVEDIR);
    bucket_.upload_index().forget(id);
  }
}

Result<std::string> BucketUploads::begin(const ObjectRecord& object, Hold* by) {
  static std::atomic<unsigned> begun = 0;
  if (begun++ % uploads_between_sweeps == 0) forget_done(object.modified);
  const std::string id = hex(random_bytes(id_bytes));
  const Fd folder = TRY(open_folder(bucket_.uploads_folder(), id));
  TRY(write_small(bucket_.temporary_folder(), folder.get(), upload_file, encode_record(object)));
  bucket_.upload_index().begun(id, object.key, object.id, by);
  return id;
}

Result<std::optional<ObjectRecord>> BucketUploads::find(const std::string& id,
                                                        const std::string& key) const {
  if (!is_id(id)) return std::optional<ObjectRecord>();
  const Result<std::string> text = read_small_file(bucket_.uploads_folder(), id + "/upload");
  if (!text && text.error().code == Errc::not_found) return std::optional<ObjectRecord>();
  if (!text) return text.error();
  ObjectRecord record = TRY(decode_record(*text));
  if (record.key != key) return std::optional<ObjectRecord>();
  return std::optional<ObjectRecord>(std::move(record));
}

Result<bool> BucketUploads::put_part(const std::string& id, int number, Draft draft,
                                     ObjectRecord& record, Hold* by) {
  record.size = draft.size();
  TRY(draft.seal(record));
  const Result<Fd> folder = [&]() -> Result<Fd> {
    Fd opened(::openat(bucket_.uploads_folder(), id.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return fail_errno("cannot create the upload");
    return opened;
  }();
  if (!folder) return false;
  const std::string file = part_file(id, number);
  Result<bool> put = bucket_.upload_index().put_part(id, number, record.size, by, [&] {
    return draft.put_at(folder->get(), file.substr(id.size() + 1));
  });
  if (!put && put.error().code == Errc::not_found) return false;
  if (!put || !*put) return put;
  TRY(draft.sync());
  return true;
}

/// The parts that the request names, if they may be put together.
Result<std::vector<OpenedObject>, aws::Refusal> BucketUploads::chosen(const Asked& asked) const {
  std::vector<OpenedObject> parts;
  std::uint64_t bytes = 0;
  for (const s3wire::CompletePart& one : asked.parts) {
    Result<OpenedObject> part =
        open_object_file(bucket_.uploads_folder(), part_file(asked.id, one.number), false);
    if (!part && part.error().code != Errc::not_found) return disk_failure(part.error());
    if (!part || !fits(one, part->record)) return aws::s3_refusal("InvalidPart");
    const bool last = &one == &asked.parts.back();
    if (!last && part->record.size < part_bytes_min) return aws::s3_refusal("EntityTooSmall");
    bytes += part->record.size;
    part->file.reset();  // There may be 10,000.
    parts.push_back(*std::move(part));
  }
  if (asked.whole_bytes && *asked.whole_bytes != bytes)
    return aws::s3_refusal(
        "InvalidRequest",
        "The provided 'x-amz-mp-object-size' header value does not match what was "
        "computed.");
  return parts;
}

Result<ObjectRecord> BucketUploads::assemble(const Asked& asked, const ObjectRecord& upload,
                                             std::vector<OpenedObject>& parts, Draft& draft) const {
  ObjectRecord record = upload;
  record.modified = asked.now;
  record.etag = etag_of(parts);
  record.checksum = checksum_of(upload, parts);
  std::uint64_t bytes = 0;
  for (const OpenedObject& part : parts) bytes += part.record.size;
  TRY(draft.expect(bytes));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string file = part_file(asked.id, asked.parts[i].number);
    const OpenedObject part = TRY(open_object_file(bucket_.uploads_folder(), file, false));
    if (part.record.etag != parts[i].record.etag)
      return fail(Errc::system, "a part was replaced while the upload was being completed");
    TRY(draft.add_file(part.file.get(), 0, part.record.size));
    const ObjectRecord& made = parts[i].record;
    record.parts.push_back({made.size, made.checksum ? made.checksum->text : std::string()});
  }
  return record;
}

Result<ObjectRecord, aws::Refusal> BucketUploads::finish(const Asked& asked,
                                                         const ObjectRecord& upload) {
  TRY(check_sums_named(asked, upload));
  std::vector<OpenedObject> parts = TRY(chosen(asked));
  Draft draft = bucket_.draft(asked.free_min);
  Result<ObjectRecord> record = assemble(asked, upload, parts, draft);
  if (!record) return disk_failure(record.error());
  if (asked.checksum && !is_sum_of(*asked.checksum, *record)) return aws::s3_refusal("BadDigest");
  // The object counts from the moment that the parts do not, or both would exceed a budget.
  UploadIndex& index = bucket_.upload_index();
  std::optional<UploadIndex::Parts> counted;
  const WriteCheck check = [&](const ObjectRecord* present) {
    const WriteEnd end = asked.check ? asked.check(present) : WriteEnd::done;
    if (end == WriteEnd::done) counted = index.completed(asked.id);
    return end;
  };
  const Result<WriteEnd> end = bucket_.put(std::move(draft), *record, check);
  if (counted && (!end || *end != WriteEnd::done)) index.reopened(asked.id, *counted);
  if (!end) return disk_failure(end.error());
  if (*end == WriteEnd::precondition_failed) return aws::s3_refusal("PreconditionFailed");
  if (*end == WriteEnd::no_such_key) return aws::s3_refusal("NoSuchKey");
  if (*end == WriteEnd::no_such_bucket) return aws::s3_refusal("NoSuchBucket");
  leave_done(asked.id, *record);
  return *std::move(record);
}

/// In place of the parts: the answer, for a client that did not get it and asks again.
void BucketUploads::leave_done(const std::string& id, const ObjectRecord& record) {
  const Fd folder(
      ::openat(bucket_.uploads_folder(), id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return;
  const Result<void> written =
      write_small(bucket_.temporary_folder(), folder.get(), done_file, encode_record(record));
  if (!written) return;  // Then the parts stay, and asking again makes the object again.
  ::unlinkat(folder.get(), upload_file, 0);
  const Result<std::vector<std::string>> names = names_below(bucket_.uploads_folder(), id);
  if (!names) return;
  for (const std::string& name : *names)
    if (is_part(name)) ::unlinkat(folder.get(), name.c_str(), 0);
}

Result<ObjectRecord, aws::Refusal> BucketUploads::complete(const Asked& asked) {
  if (!is_id(asked.id)) return aws::s3_refusal("NoSuchUpload");
  const std::lock_guard lock(bucket_.upload_mutex(asked.id));
  const Result<std::string> done = read_small_file(bucket_.uploads_folder(), asked.id + "/done");
  if (done) {
    Result<ObjectRecord> record = decode_record(*done);
    if (record && record->key == asked.key) return *std::move(record);
  }
  const Result<std::optional<ObjectRecord>> upload = find(asked.id, asked.key);
  if (!upload) return disk_failure(upload.error());
  if (!*upload) return aws::s3_refusal("NoSuchUpload");
  return finish(asked, **upload);
}

Result<bool> BucketUploads::abort(const std::string& id, const std::string& key) {
  const std::optional<ObjectRecord> upload = TRY(find(id, key));
  if (!upload) return false;
  TRY(remove(id));
  return true;
}

Result<void> BucketUploads::abort_all_of(const std::string& owner) {
  for (const std::string& id : bucket_.upload_index().owned_by(owner)) TRY(remove(id));
  return {};
}

Result<void> BucketUploads::remove(const std::string& id) {
  const std::lock_guard lock(bucket_.upload_mutex(id));
  const Fd folder(
      ::openat(bucket_.uploads_folder(), id.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {};             // Completed or aborted meanwhile.
  bucket_.upload_index().forget(id);  // From here on no part comes.
  ::unlinkat(folder.get(), upload_file, 0);
  for (const std::string& name : TRY(names_below(bucket_.uploads_folder(), id)))
    ::unlinkat(folder.get(), name.c_str(), 0);
  ::unlinkat(bucket_.uploads_folder(), id.c_str(), AT_REMOVEDIR);
  return {};
}

Result<void> BucketUploads::index() {
  UploadIndex& index = bucket_.upload_index();
  for (const std::string& id : TRY(names_below(bucket_.uploads_folder(), "."))) {
    Result<std::string> text = read_small_file(bucket_.uploads_folder(), id + "/" + upload_file);
    const bool is_done = !text;
    if (is_done) text = read_small_file(bucket_.uploads_folder(), id + "/" + done_file);
    const Result<ObjectRecord> record = text ? decode_record(*text) : text.error();
    if (!record) continue;  // Not begun, or damaged: no request finds it.
    index.begun(id, record->key, is_done ? "" : record->id);
    if (is_done) (void)index.completed(id);
    for (const std::string& name : TRY(names_below(bucket_.uploads_folder(), id))) {
      const std::string file = id + "/" + name;
      struct stat status {};
      if (is_done && is_part(name)) ::unlinkat(bucket_.uploads_folder(), file.c_str(), 0);
      if (is_done || !is_part(name) ||
          ::fstatat(bucket_.uploads_folder(), file.c_str(), &status, 0) != 0)
        continue;
      TRY(index.put_part(id, static_cast<int>(parse_integer(name).value_or(0)),
                         static_cast<std::uint64_t>(status.st_size), nullptr,
                         [] { return Result<void>(); }));
    }
  }
  return {};
}

Result<std::vector<s3wire::PartEntry>> BucketUploads::parts(const std::string& id) const {
  std::vector<s3wire::PartEntry> parts;
  for (const std::string& name : TRY(names_below(bucket_.uploads_folder(), id))) {
    if (!is_part(name)) continue;
    const Result<OpenedObject> part =
        open_object_file(bucket_.uploads_folder(), id + "/" + name, false);
    if (!part) continue;  // Replaced or aborted meanwhile.
    const ObjectRecord& record = part->record;
    s3wire::PartEntry entry{static_cast<int>(parse_integer(name).value_or(0)), record.etag,
                            record.size, record.modified, std::nullopt};
    if (record.checksum)
      entry.checksum = s3wire::GivenChecksum{
          record.checksum->kind, from_base64(record.checksum->text).value_or(std::string())};
    parts.push_back(std::move(entry));
  }
  return parts;
}

Result<std::vector<s3wire::UploadEntry>> BucketUploads::all() const {
  std::vector<s3wire::UploadEntry> uploads;
  for (const std::string& id : TRY(names_below(bucket_.uploads_folder(), "."))) {
    const Result<std::string> text =
        read_small_file(bucket_.uploads_folder(), id + "/" + upload_file);
    if (!text) continue;  // Done or aborted.
    const Result<ObjectRecord> record = decode_record(*text);
    if (record) uploads.push_back({record->key, id, record->modified});
  }
  return uploads;
}

}  // namespace muster::bucket
