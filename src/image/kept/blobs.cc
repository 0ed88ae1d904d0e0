#include "image/kept/blobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/folder.h"
#include "base/text.h"
#include "image/kept/claim.h"
#include "image/manifest.h"
#include "image/reference.h"

namespace muster::image {
namespace {

constexpr std::string_view part_start = ".part-";
constexpr std::size_t upload_name_bytes = 16;
constexpr int upload_tries_max = 100;

std::string hex_of(const std::string& digest) {
  CHECK_THAT(is_digest(digest), "a blob's name is a digest");
  return digest.substr(digest.find(':') + 1);
}

}  // namespace

BlobDraft::BlobDraft(std::string path, std::string part, Fd file, std::string digest,
                     std::uint64_t bytes_max)
    : path_(std::move(path)),
      part_(std::move(part)),
      file_(std::move(file)),
      digest_(std::move(digest)),
      bytes_max_(bytes_max) {}

BlobDraft::~BlobDraft() {
  if (file_) ::unlink(part_.c_str());
}

Result<void> BlobDraft::append(std::string_view bytes) {
  if (bytes.size() > bytes_max_ - bytes_)
    return fail(Errc::protocol,
                digest_.empty()
                    ? "a blob can have at most " + std::to_string(bytes_max_) + " bytes"
                    : digest_ + " contains more than the " + std::to_string(bytes_max_) +
                          " bytes that its manifest specifies");
  sum_.add(bytes);
  const Result<void> written = write_all(file_.get(), bytes);
  if (!written) return written.error().in(path_);
  bytes_ += bytes.size();
  return {};
}

Result<void> BlobDraft::restart() {
  static_cast<void>(sum_.finish());
  bytes_ = 0;
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0)
    return fail_errno("cannot resize " + path_);
  return {};
}

Result<void> BlobDraft::commit() {
  const std::string is = "sha256:" + hex(aws::view_of(sum_.finish()));
  if (is != digest_)
    return fail(Errc::protocol, digest_ + ": received " + std::to_string(bytes_) +
                                    " bytes with the wrong digest " + is);
  if (::fsync(file_.get()) != 0) return fail_errno("cannot sync " + path_);
  if (::rename(part_.c_str(), path_.c_str()) != 0) return fail_errno("cannot create " + path_);
  file_.reset();
  return {};
}

Result<void> BlobDraft::commit_as(const std::string& digest) {
  CHECK_THAT(digest_.empty(), "an upload gets its digest once");
  digest_ = digest;
  path_ = path_.substr(0, path_.rfind('/') + 1) + hex_of(digest);
  return commit();
}

std::string Blobs::path_of(const std::string& digest) const {
  return folder_ + "/" + hex_of(digest);
}

bool Blobs::has(const std::string& digest) const {
  return ::access(path_of(digest).c_str(), F_OK) == 0;
}

Result<std::optional<BlobDraft>> Blobs::draft(const std::string& digest, std::uint64_t bytes_max) {
  const std::string path = path_of(digest);
  const std::string part = folder_ + "/" + std::string(part_start) + hex_of(digest);
  while (true) {
    if (has(digest)) return std::optional<BlobDraft>();
    Fd file(::open(part.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return fail_errno("cannot create " + part);
    // Another process committed it meanwhile, or gave it up and removed the name.
    const bool ours = TRY(claim(file.get(), part));
    if (!ours) continue;
    BlobDraft draft(path, part, std::move(file), digest, bytes_max);
    if (has(digest)) continue;
    TRY(draft.restart());  // A killed process left what it had.
    return std::optional<BlobDraft>(std::move(draft));
  }
}

Result<BlobDraft> Blobs::upload(std::uint64_t bytes_max) {
  // A sweep may take a file that is not locked yet for a leftover.
  std::string part;
  for (int tries = 0; tries < upload_tries_max; ++tries) {
    part =
        folder_ + "/" + std::string(part_start) + "upload-" + hex(random_bytes(upload_name_bytes));
    Fd file(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return fail_errno("cannot create " + part);
    const bool ours = TRY(claim(file.get(), part));
    if (ours) return BlobDraft(part, part, std::move(file), "", bytes_max);
  }
  return fail(Errc::system, part + " was removed while it was being written; try again");
}

Result<void> Blobs::put(const std::string& digest, std::string_view bytes) {
  if (has(digest)) return {};
  BlobDraft draft = TRY(upload(bytes.size()));
  TRY(draft.append(bytes));
  return draft.commit_as(digest);
}

Result<std::unique_ptr<Bytes>> Blobs::open(const std::string& digest) const {
  Fd file(::open(path_of(digest).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot read the blob");
  return checked(image::bytes_of(std::move(file)), digest);
}

Result<std::string> Blobs::read(const std::string& digest) const {
  std::string bytes = TRY(read_file(path_of(digest), document_bytes_max));
  if (digest_of(bytes) != digest)
    return fail(Errc::protocol,
                path_of(digest) + ": wrong digest: the file was changed, or the disk is damaged");
  return bytes;
}

Result<std::vector<std::string>> Blobs::list() const {
  std::vector<std::string> digests;
  for (const std::string& name : TRY(names_in(folder_)))
    if (is_digest("sha256:" + name)) digests.push_back("sha256:" + name);
  return digests;
}

std::uint64_t Blobs::bytes_of(const std::string& digest) const {
  struct stat status {};
  if (::stat(path_of(digest).c_str(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

void Blobs::remove(const std::string& digest) {
  ::unlink(path_of(digest).c_str());
}

Result<void> Blobs::remove_rests() {
  for (const std::string& name : TRY(names_in(folder_))) {
    if (!name.starts_with(part_start)) continue;
    const std::string part = folder_ + "/" + name;
    const Fd file(::open(part.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (file && try_claim(file.get(), part)) ::unlink(part.c_str());
  }
  return {};
}

}  // namespace muster::image
