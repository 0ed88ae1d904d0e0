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

  /// What is kept of the object to come: key, metadata, the kind of checksum (without a text), and
  /// when it was begun (`modified`). `id` of the record is whose upload it is: a name for
  /// abort_all_of(), or "". Gives the upload's id.
  Result<std::string> begin(const ObjectRecord& object, Hold* by = nullptr);
  /// None if there is no such upload of that key.
  Result<std::optional<ObjectRecord>> find(const std::string& id, const std::string& key) const;
  /// Seals the draft as that part; the last one of a number counts. False if there is no such
  /// upload any more.
  Result<bool> put_part(const std::string& id, int number, Draft draft, ObjectRecord& record,
                        Hold* by = nullptr);

  struct Asked {
    std::string id;
    std::string key;
    std::vector<s3wire::CompletePart> parts;
    std::optional<std::uint64_t> whole_bytes;
    std::optional<s3wire::GivenChecksum> checksum;  ///< The whole object's.
    UnixMillis now{};
    WriteCheck check;
    std::uint64_t free_min = 0;  ///< See Draft.
  };
  /// Makes the object of the parts. The same again gives the same answer. Copies all bytes where
  /// the file system cannot share them: not on a loop.
  Result<ObjectRecord, aws::Refusal> complete(const Asked& asked);
  /// False if there is no such upload.
  Result<bool> abort(const std::string& id, const std::string& key);
  /// Aborts the open uploads of that owner.
  Result<void> abort_all_of(const std::string& owner);

  /// Removes what is kept of uploads that were completed a day ago and more; begin() sees to it.
  void forget_done(UnixMillis now);

  /// Sorted by number.
  Result<std::vector<s3wire::PartEntry>> parts(const std::string& id) const;
  Result<std::vector<s3wire::UploadEntry>> all() const;

  /// Fills the bucket's index of uploads, of what an earlier server left.
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
