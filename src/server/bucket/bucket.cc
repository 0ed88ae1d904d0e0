#include "server/bucket/bucket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "aws/digest.h"
#include "base/files/folder.h"
#include "base/text.h"
#include "server/bucket/bucket_uploads.h"

namespace muster::bucket {
namespace {

constexpr const char* created_file = "created";
constexpr const char* tagged_file = "tagged";
constexpr std::string_view tags_suffix = ".tags";
constexpr std::uint64_t sync_early_bytes = 1 << 20;

/// Calls `visit` for each name in the folder, but "." and "..".
Result<void> for_each_name(int parent, const std::string& name,
                           const std::function<Result<void>(const std::string&)>& visit) {
  const Fd folder = muster::open_folder(parent, name);
  if (!folder) return fail_errno("cannot open " + name);
  for (const std::string& found : TRY(names_in(folder.get(), name))) TRY(visit(found));
  return {};
}

/// "3f/9a0c…": 128 bits of SHA-256 of the key, in 256 folders.
std::string file_of(const std::string& key) {
  const std::string digest = hex(aws::view_of(aws::sha256(key)).substr(0, 16));
  return digest.substr(0, 2) + "/" + digest.substr(2);
}

/// A torn file is an object whose write was never confirmed: it counts as missing.
bool is_nothing(const Result<OpenedObject>& object) {
  return !object && (object.error().code == Errc::not_found || object.error().code == Errc::closed);
}

std::string fresh_id() {
  return hex(random_bytes(8));
}

}  // namespace

Result<void> Bucket::create(const Fd& parent, int temporary, const std::string& name,
                            UnixMillis now) {
  const std::string draft = "bucket-" + fresh_id();
  {
    const Fd folder = TRY(open_folder(temporary, draft));
    (void)TRY(open_folder(folder.get(), "objects"));
    (void)TRY(open_folder(folder.get(), "uploads"));
    (void)TRY(open_folder(folder.get(), "temporary"));
    TRY(write_small(temporary, folder.get(), created_file, std::to_string(now.count())));
  }
  if (::renameat(temporary, draft.c_str(), parent.get(), name.c_str()) != 0)
    return fail_errno("cannot rename " + name);
  return sync_folder_of(parent.get(), name);
}

Result<std::shared_ptr<Bucket>> Bucket::open(const Fd& parent, std::string name,
                                             std::function<void(const Error&)> failed) {
  std::shared_ptr<Bucket> bucket(new Bucket(std::move(name)));
  bucket->folder_ =
      Fd(::openat(parent.get(), bucket->name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!bucket->folder_) return fail_errno(bucket->name_);
  const int folder = bucket->folder_.get();
  const std::string created = TRY(read_small_file(folder, created_file));
  bucket->created_ = UnixMillis(parse_integer(created).value_or(0));
  bucket->objects_ = TRY(open_folder(folder, "objects"));
  bucket->uploads_ = TRY(open_folder(folder, "uploads"));
  bucket->temporary_ = TRY(open_folder(folder, "temporary"));
  BucketLog::Options options;
  if (failed)
    options.failed = [tell = std::move(failed), in = bucket->name_](const Error& error) {
      tell(error.in(in));
    };
  bucket->log_ = TRY(BucketLog::open(folder, std::move(options)));
  TRY(bucket->log_->replay([&](const LogEntry& entry) { return bucket->replay(entry); }));
  TRY(bucket->recover());
  TRY(BucketUploads(*bucket).index());
  bucket->tagged_ = ::faccessat(folder, tagged_file, F_OK, 0) == 0;
  return bucket;
}

/// After a power cut a file may be what the log says, or torn, or missing.
Result<void> Bucket::replay(const LogEntry& entry) const {
  const std::string file(entry.file);
  if (entry.kind == LogKind::settled) return {};
  if (entry.kind == LogKind::removed) {
    if (::unlinkat(objects_.get(), file.c_str(), 0) != 0 && errno != ENOENT)
      return fail_errno("cannot replay the log entry for " + file);
    return {};
  }
  const Result<std::string> there = read_small_file(objects_.get(), file);
  if (there && *there == entry.bytes) return {};
  (void)TRY(open_folder(objects_.get(), file.substr(0, file.find('/'))));
  return restore_file(temporary_.get(), objects_.get(), file, entry.bytes);
}

/// Clears the folder for temporary files away. Where a power cut tore what had just taken an
/// object's place, the object that it replaced is in there, and goes back.
Result<void> Bucket::recover() {
  return for_each_name(temporary_.get(), ".", [this](const std::string& name) -> Result<void> {
    const Result<OpenedObject> left = open_object_file(temporary_.get(), name, false);
    if (left && is_torn(objects_.get(), file_of(left->record.key))) {
      const std::string file = file_of(left->record.key);
      if (::renameat(temporary_.get(), name.c_str(), objects_.get(), file.c_str()) != 0)
        return fail_errno("cannot recover " + file);
      return {};
    }
    if (::unlinkat(temporary_.get(), name.c_str(), 0) != 0)
      return fail_errno("cannot remove " + name);
    return {};
  });
}

std::mutex& Bucket::stripe(const std::string& file) const {
  return stripes_[std::hash<std::string>()(file) % stripes_max];
}

std::mutex& Bucket::upload_mutex(const std::string& upload_id) {
  return upload_mutexes_[std::hash<std::string>()(upload_id) % upload_mutexes_.size()];
}

Result<std::optional<OpenedObject>> Bucket::find(const std::string& key, bool read_small) const {
  const std::string file = file_of(key);
  Result<OpenedObject> object = open_object_file(objects_.get(), file, read_small);
  if (is_nothing(object)) return std::optional<OpenedObject>();
  if (!object) return object.error();
  if (tagged_) TRY(add_tags(*object, file));
  return std::optional<OpenedObject>(*std::move(object));
}

Result<void> Bucket::add_tags(OpenedObject& object, const std::string& file) const {
  const Result<std::string> text = read_small_file(objects_.get(), file + std::string(tags_suffix));
  if (!text && text.error().code == Errc::not_found) return {};
  if (!text) return text.error();
  KeptTags kept = TRY(decode_tags(*text));
  if (kept.id == object.record.id) object.record.metadata.tags = std::move(kept.tags);
  return {};
}

/// What `check` says, with the object's stripe held.
Result<WriteEnd> Bucket::checked(const std::string& file, const WriteCheck& check) const {
  if (retired_) return WriteEnd::no_such_bucket;
  if (!check) return WriteEnd::done;
  const Result<OpenedObject> present = open_object_file(objects_.get(), file, false);
  if (!present && !is_nothing(present)) return present.error();
  return check(present ? &present->record : nullptr);
}

Result<WriteEnd> Bucket::put(Draft draft, ObjectRecord& record, const WriteCheck& check, Hold* by) {
  record.id = fresh_id();
  record.size = draft.size();
  const Result<void> sealed = draft.seal(record);
  if (!sealed && retired_) return WriteEnd::no_such_bucket;
  if (!sealed) return sealed.error();
  if (draft.size() > sync_early_bytes) TRY(draft.sync());  // Rather before it is seen than after.
  const std::string file = file_of(record.key);
  std::optional<std::uint64_t> entry;
  {
    const std::lock_guard lock(stripe(file));
    const WriteEnd end = TRY(checked(file, check));
    if (end != WriteEnd::done) return end;
    TRY(draft.put_at(objects_.get(), file));
    index_.put(record, by);
    entry = TRY(note(draft, file));
  }
  TRY(entry ? log_->wait(*entry) : draft.sync());
  return WriteEnd::done;
}

/// The log's entry of a draft that was just put in its place, to be waited for; none: it has to be
/// synced itself. With the object's stripe held.
Result<std::optional<std::uint64_t>> Bucket::note(Draft& draft, const std::string& file) {
  if (!draft.whole().empty()) {
    const Result<std::uint64_t> entry = log_->written(file, draft.whole());
    if (entry) return std::optional<std::uint64_t>(*entry);
  }
  if (!log_->holds(file)) return std::optional<std::uint64_t>();
  TRY(draft.sync());  // Before the log says that its own bytes do not count any more.
  return log_->changed(LogKind::settled, file);
}

Result<WriteEnd> Bucket::remove(const std::string& key, const WriteCheck& check) {
  const std::string file = file_of(key);
  const std::lock_guard lock(stripe(file));
  const WriteEnd end = TRY(checked(file, check));
  if (end != WriteEnd::done) return end;
  if (::unlinkat(objects_.get(), file.c_str(), 0) != 0 && errno != ENOENT)
    return fail_errno("cannot remove the object");
  index_.remove(key);  // The object is gone, whatever becomes of the log.
  (void)TRY(log_->changed(LogKind::removed, file));
  if (tagged_) ::unlinkat(objects_.get(), (file + std::string(tags_suffix)).c_str(), 0);
  return WriteEnd::done;
}

/// From now on reads look for tags beside the object.
Result<void> Bucket::note_tagging() {
  if (tagged_) return {};
  TRY(write_small(temporary_.get(), folder_.get(), tagged_file, ""));
  tagged_ = true;
  return {};
}

Result<WriteEnd> Bucket::set_tags(const std::string& key, const aws::Pairs& tags) {
  TRY(note_tagging());
  const std::string file = file_of(key);
  const std::lock_guard lock(stripe(file));
  if (retired_) return WriteEnd::no_such_bucket;
  const Result<OpenedObject> present = open_object_file(objects_.get(), file, false);
  if (is_nothing(present)) return WriteEnd::no_such_key;
  if (!present) return present.error();
  TRY(write_small(temporary_.get(), objects_.get(), file + std::string(tags_suffix),
                  encode_tags(present->record.id, tags)));
  return WriteEnd::done;
}

Result<void> Bucket::scan(const std::function<void(const ObjectRecord&)>& found) const {
  const auto visit_folder = [&](const std::string& folder) {
    return for_each_name(objects_.get(), folder, [&](const std::string& name) -> Result<void> {
      if (name.ends_with(tags_suffix)) return {};
      const Result<OpenedObject> object =
          open_object_file(objects_.get(), folder + "/" + name, false);
      if (object) found(object->record);  // Else removed meanwhile, or damaged: reads say so.
      return {};
    });
  };
  return for_each_name(objects_.get(), ".", visit_folder);
}

Result<void> Bucket::index() {
  return index_.fill(
      [this](const std::function<void(const ObjectRecord&)>& found) { return scan(found); });
}

void Bucket::count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans) {
  const std::vector<KeySpan> each = apart(spans);
  index_.count(budget, each);
  upload_index_.count(budget, each);
}

Result<bool> Bucket::retire() {
  std::vector<std::unique_lock<std::mutex>> locks;
  for (std::mutex& mutex : stripes_) locks.emplace_back(mutex);
  bool empty = true;
  if (index_.filled()) {
    empty = index_.empty();
  } else {
    TRY(scan([&empty](const ObjectRecord&) { empty = false; }));
  }
  if (empty) retired_ = true;
  return empty;
}

}  // namespace muster::bucket
