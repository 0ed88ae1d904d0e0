// Copies of objects and into parts. They take as long as they take: in threads of their own.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/base64.h"
#include "base/text.h"
#include "net/loop/worker.h"
#include "server/s3server/s3_server_call.h"

namespace muster::s3server {
namespace {

using loop::Task;

constexpr std::size_t copy_buffer_bytes = 256 << 10;

/// The object that is copied, if the conditions on it hold.
Result<bucket::OpenedObject, aws::Refusal> source_of(const S3Call& call) {
  const s3wire::S3Url& from = *call.op.copy_source;
  const std::shared_ptr<bucket::Bucket> bucket = call.store.find(from.bucket);
  if (!bucket) return aws::s3_refusal("NoSuchBucket");
  Result<std::optional<bucket::OpenedObject>> found = bucket->find(from.key, false);
  if (!found) return bucket::disk_failure(found.error());
  if (!*found) return aws::s3_refusal("NoSuchKey");
  const bucket::ObjectRecord& record = (*found)->record;
  const s3wire::Conditions& conditions = call.op.copy_conditions;
  if (!conditions.none() &&
      copy_precondition(conditions, record.etag, record.modified) != s3wire::Precondition::proceed)
    return aws::s3_refusal("PreconditionFailed");
  return **std::move(found);
}

/// Calls `take` for the span's bytes.
Result<void> read_span(int fd, const s3wire::ByteSpan& span,
                       const std::function<Result<void>(std::string_view)>& take) {
  std::string buffer(copy_buffer_bytes, '\0');
  std::uint64_t done = 0;
  while (done < span.bytes) {
    const std::size_t want = std::min<std::uint64_t>(span.bytes - done, buffer.size());
    const ssize_t count = ::pread(fd, buffer.data(), want, static_cast<off_t>(span.offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("cannot read the object");
    if (count == 0) return fail(Errc::system, "the object is smaller than its recorded size");
    TRY(take(std::string_view(buffer).substr(0, static_cast<std::size_t>(count))));
    done += static_cast<std::uint64_t>(count);
  }
  return {};
}

/// What the copy is, without its bytes.
bucket::ObjectRecord copied(const S3Call& call, const bucket::ObjectRecord& source) {
  bucket::ObjectRecord record = source;
  record.key = call.op.key;
  record.modified = call.now;
  const s3wire::ObjectMetadata& asked = call.op.metadata;
  if (call.op.replace_metadata) {
    record.metadata.headers = asked.headers;
    record.metadata.user = asked.user;
  } else {  // Where a redirect leads is never copied.
    const auto is_redirect = [](const auto& header) {
      return header.first == "x-amz-website-redirect-location";
    };
    aws::Pairs& headers = record.metadata.headers;
    std::erase_if(headers, is_redirect);
    std::copy_if(asked.headers.begin(), asked.headers.end(), std::back_inserter(headers),
                 is_redirect);
  }
  if (call.op.replace_tags) record.metadata.tags = call.op.metadata.tags;
  return record;
}

Result<bucket::WriteEnd> copy_whole(const S3Call& call, bucket::Bucket& bucket,
                                    const bucket::OpenedObject& source,
                                    bucket::ObjectRecord& record, bucket::Hold& hold) {
  const std::optional<s3wire::GivenChecksum>& asked = call.op.checksum;
  if (asked && (!record.checksum || record.checksum->kind != asked->kind)) {
    s3wire::Digest digest(asked->kind);
    TRY(read_span(source.file.get(), {0, source.record.size}, [&](std::string_view bytes) {
      digest.add(bytes);
      return Result<void>();
    }));
    record.checksum = s3wire::KeptChecksum{asked->kind, base64(digest.finish()), true};
  }
  bucket::Draft draft = bucket.draft(call.free_min());
  TRY(draft.expect(source.record.size));
  TRY(draft.add_file(source.file.get(), 0, source.record.size));
  return bucket.put(std::move(draft), record, check_of(call.op.conditions), &hold);
}

std::optional<s3wire::GivenChecksum> shown(const std::optional<s3wire::KeptChecksum>& kept) {
  if (!kept || !kept->whole) return std::nullopt;
  const std::optional<std::string> bytes = from_base64(kept->text);
  if (!bytes) return std::nullopt;
  return s3wire::GivenChecksum{kept->kind, *bytes};
}

Result<bool> copy_span(const S3Call& call, bucket::Bucket& bucket,
                       const bucket::OpenedObject& source, const s3wire::ByteSpan& span,
                       std::optional<s3wire::Checksum> kind, bucket::ObjectRecord& record,
                       bucket::Hold& hold) {
  bucket::Draft draft = bucket.draft(call.free_min());
  TRY(draft.expect(span.bytes));
  s3wire::Digest md5(s3wire::Checksum::md5);
  std::optional<s3wire::Digest> digest;
  if (kind) digest.emplace(*kind);
  TRY(read_span(source.file.get(), span, [&](std::string_view bytes) {
    md5.add(bytes);
    if (digest) digest->add(bytes);
    return Result<void>();
  }));
  TRY(draft.add_file(source.file.get(), span.offset, span.bytes));
  record.modified = call.now;
  record.etag = hex(md5.finish());
  if (digest) record.checksum = s3wire::KeptChecksum{*kind, base64(digest->finish()), true};
  return bucket::BucketUploads(bucket).put_part(call.op.upload_id, *call.op.part_number,
                                                std::move(draft), record, &hold);
}

}  // namespace

Task<Answered> copy_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<bucket::OpenedObject, aws::Refusal> source = source_of(call);
  if (!source) co_return source.error();
  const bucket::OpenedObject& from = *source;
  bucket::ObjectRecord record = copied(call, from.record);
  bucket::Hold hold;
  bucket->hold(hold, call.budget, call.op.key);
  if (Answered fits = hold.grow(from.record.size); !fits) co_return fits;
  const auto work = [&] { return copy_whole(call, *bucket, from, record, hold); };
  const Result<bucket::WriteEnd> end = co_await loop::in_thread(call.exchange.loop(), work);
  Answered written = answered(end);
  if (!written) co_return written;
  std::string xml = s3wire::copy_object_xml(record.etag, record.modified, shown(record.checksum));
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> copy_part(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  const s3wire::S3Operation& op = call.op;
  Result<bucket::OpenedObject, aws::Refusal> source = source_of(call);
  if (!source) co_return source.error();
  const bucket::OpenedObject& from = *source;
  const Result<std::optional<bucket::ObjectRecord>> upload =
      bucket::BucketUploads(*bucket).find(op.upload_id, op.key);
  if (!upload) co_return bucket::disk_failure(upload.error());
  if (!*upload) co_return aws::s3_refusal("NoSuchUpload");
  s3wire::ByteSpan span{0, from.record.size};
  if (op.range) {  // Unlike a GET's, it may not reach beyond the end.
    const bool inside = op.range->first && op.range->last && *op.range->last < from.record.size;
    if (!inside) co_return aws::s3_refusal("InvalidRange");
    span = {*op.range->first, *op.range->last - *op.range->first + 1};
  }
  std::optional<s3wire::Checksum> kind;
  if ((*upload)->checksum) kind = (*upload)->checksum->kind;
  bucket::Hold hold;
  bucket->upload_index().hold(hold, call.budget, op.upload_id, *op.part_number);
  if (Answered fits = hold.grow(span.bytes); !fits) co_return fits;
  bucket::ObjectRecord record;
  const auto work = [&] { return copy_span(call, *bucket, from, span, kind, record, hold); };
  const Result<bool> there = co_await loop::in_thread(call.exchange.loop(), work);
  if (!there) co_return bucket::disk_failure(there.error());
  if (!*there) co_return aws::s3_refusal("NoSuchUpload");
  std::string xml = s3wire::copy_part_xml(record.etag, record.modified, shown(record.checksum));
  co_return co_await send_xml(call, std::move(xml));
}

}  // namespace muster::s3server
