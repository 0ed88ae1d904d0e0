#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aws/s3wire/s3_document.h"
#include "server/bucket/bucket.h"

namespace muster::bucket {

/// Multipart uploads of a bucket: a folder for each, with a file for each part. Any number of
/// threads; blocks for the disk. Uploads outlive the server. Source: docs/protocols/bucket.md.
class BucketUploads {
 public:
  /// `bucket` outlives this.
  explicit BucketUploads(Bucket& bucket) : bucket_(bucket) {}

  /// Starts an upload. `record` has the object's key, metadata, kind of checksum (without a value)
  /// and start time (`modified`). Its `id` is the owner of the upload: a name for abort_all_of(),
  /// or "". Returns the upload's id.
  Result<std::string> begin(const ObjectRecord& object, Hold* by = nullptr);
  /// None if this key has no such upload.
  Result<std::optional<ObjectRecord>> find(const std::string& id, const std::string& key) const;
  /// Seals the draft as that part; the last one with a number counts. False if the upload no longer
  /// exists.
  Result<bool> put_part(const std::string& id, int number, Draft draft, ObjectRecord& record,
                        Hold* by = nullptr);

  struct Asked {
    std::string id;
    std::string key;
    std::vector<s3wire::CompletePart> parts;
    std::optional<std::uint64_t> whole_bytes;
    std::optional<s3wire::GivenChecksum> checksum;  ///< The checksum of the whole object.
    UnixMillis now{};
    WriteCheck check;
    std::uint64_t free_min = 0;  ///< See Draft.
  };
  /// Creates the object from the parts. A repeated call returns the same result. Copies all bytes
  /// if the file system cannot share them, so do not call it on a loop.
  Result<ObjectRecord, aws::Refusal> complete(const Asked& asked);
  /// False if the upload does not exist.
  Result<bool> abort(const std::string& id, const std::string& key);
  /// Aborts the open uploads of that owner.
  Result<void> abort_all_of(const std::string& owner);

  /// Removes data of uploads that were completed more than a day ago; begin() calls it.
  void forget_done(UnixMillis now);

  /// Sorted by number.
  Result<std::vector<s3wire::PartEntry>> parts(const std::string& id) const;
  Result<std::vector<s3wire::UploadEntry>> all() const;

  /// Fills the bucket's index of uploads with those of an earlier server.
  Result<void> index();

 private:
  Result<void> remove(const std::string& id);
  Result<ObjectRecord> assemble(const Asked& asked, const ObjectRecord& upload,
                                std::vector<OpenedObject>& parts, Draft& draft) const;
  Result<std::vector<OpenedObject>, aws::Refusal> chosen(const Asked& asked) const;
  Result<ObjectRecord, aws::Refusal> finish(const Asked& asked, const ObjectRecord& upload);
  void leave_done(const std::string& id, const ObjectRecord& record);

  Bucket& bucket_;
};

/// S3's response to a failed disk; a full disk has a different one.
aws::Refusal disk_failure(const Error& error);

}  // namespace muster::bucket
