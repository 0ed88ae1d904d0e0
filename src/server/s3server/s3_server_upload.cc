// Multipart uploads.

#include "base/text.h"
#include "net/loop/worker.h"
#include "server/s3server/s3_server_call.h"

namespace muster::s3server {
namespace {

using loop::Task;

/// The upload that the call is about, or what to answer.
Result<bucket::ObjectRecord, aws::Refusal> upload_of(const S3Call& call, bucket::Bucket& bucket) {
  Result<std::optional<bucket::ObjectRecord>> found =
      bucket::BucketUploads(bucket).find(call.op.upload_id, call.op.key);
  if (!found) return bucket::disk_failure(found.error());
  if (!*found) return aws::s3_refusal("NoSuchUpload");
  return **std::move(found);
}

/// Where the object is: for people, mostly.
std::string location_of(const S3Call& call) {
  const http::Incoming& request = call.exchange.request();
  const std::string host(request.value("host").value_or("localhost"));
  const std::string bucket = call.host_bucket.empty() ? "/" + call.op.bucket : "";
  return (request.tls ? "https://" : "http://") + host + bucket + "/" +
         aws::percent_encoded(call.op.key, true);
}

}  // namespace

Task<Answered> begin_upload(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  s3wire::S3Operation& op = call.op;
  bucket::ObjectRecord record;
  record.key = op.key;
  record.modified = call.now;
  record.metadata = std::move(op.metadata);
  if (op.checksum)
    record.checksum = s3wire::KeptChecksum{op.checksum->kind, std::string(), op.whole_checksum};
  record.id = call.verified.key->owner;
  if (Answered room = check_disk(call, *bucket, 0); !room) co_return room;
  bucket::Hold hold;
  hold.begin(call.budget, "upload " + call.request_id, std::nullopt);
  if (Answered fits = hold.grow(0); !fits) co_return fits;
  const Result<std::string> id = bucket::BucketUploads(*bucket).begin(record, &hold);
  if (!id) co_return bucket::disk_failure(id.error());
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/xml");
  if (record.checksum) {
    reply.headers.emplace_back("x-amz-checksum-algorithm",
                               s3wire::checksum_name(record.checksum->kind));
    reply.headers.emplace_back("x-amz-checksum-type",
                               record.checksum->whole ? "FULL_OBJECT" : "COMPOSITE");
  }
  reply.body = s3wire::create_upload_xml(op.bucket, op.key, *id);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> put_part(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  const Result<bucket::ObjectRecord, aws::Refusal> upload = upload_of(call, *bucket);
  if (!upload) co_return upload.error();
  const std::optional<s3wire::KeptChecksum>& agreed = upload->checksum;
  Receiving receiving(call, *bucket);
  bucket->upload_index().hold(receiving.hold, call.budget, call.op.upload_id, *call.op.part_number);
  Answered room = make_room(call, receiving);
  if (!room) co_return room;
  std::function<Result<void>(std::string_view)> sink = sink_of(call, receiving);
  const std::optional<s3wire::Checksum> also = agreed ? std::optional(agreed->kind) : std::nullopt;
  Result<ReceivedBody, aws::Refusal> body =
      co_await receive_body(call, true, also, std::move(sink));
  if (!receiving.fits) co_return receiving.fits.error();
  if (!body) co_return body.error();
  ReceivedBody& received = *body;
  bucket::ObjectRecord record;
  record.modified = call.now;
  record.etag = hex(received.md5);
  record.checksum = std::move(received.checksum);
  const auto work = [&] {
    return bucket::BucketUploads(*bucket).put_part(call.op.upload_id, *call.op.part_number,
                                                   std::move(receiving.draft), record,
                                                   &receiving.hold);
  };
  Result<bool> there = false;
  if (receiving.draft.size() >= long_write_bytes)
    there = co_await loop::in_thread(call.exchange.loop(), work);
  else
    there = work();
  if (!there) co_return bucket::disk_failure(there.error());
  if (!*there) co_return aws::s3_refusal("NoSuchUpload");
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("ETag", quoted(record.etag));
  if (record.checksum)
    reply.headers.emplace_back(s3wire::checksum_header(record.checksum->kind),
                               record.checksum->text);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> complete_upload(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<std::string, aws::Refusal> text = co_await receive_text(call, s3wire::document_bytes_max);
  if (!text) co_return text.error();
  s3wire::Document<std::vector<s3wire::CompletePart>> parts = s3wire::read_complete(*text);
  if (!parts) co_return parts.error();
  bucket::BucketUploads::Asked asked{
      .id = call.op.upload_id,
      .key = call.op.key,
      .parts = *std::move(parts),
      .whole_bytes = call.op.whole_bytes,
      .checksum = call.op.checksum,
      .now = call.now,
      .check = check_of(call.op.conditions),
      .free_min = call.free_min(),
  };
  const auto work = [&] { return bucket::BucketUploads(*bucket).complete(asked); };
  const Result<bucket::ObjectRecord, aws::Refusal> made =
      co_await loop::in_thread(call.exchange.loop(), work);
  if (!made) co_return made.error();
  const bucket::ObjectRecord& record = *made;
  std::string xml = s3wire::complete_upload_xml(location_of(call), call.op.bucket, call.op.key,
                                                record.etag, record.checksum);
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> abort_upload(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  const Result<bool> aborted = bucket::BucketUploads(*bucket).abort(call.op.upload_id, call.op.key);
  if (!aborted) co_return bucket::disk_failure(aborted.error());
  if (!*aborted) co_return aws::s3_refusal("NoSuchUpload");
  http::Reply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> list_parts(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  const Result<bucket::ObjectRecord, aws::Refusal> upload = upload_of(call, *bucket);
  if (!upload) co_return upload.error();
  Result<std::vector<s3wire::PartEntry>> parts =
      bucket::BucketUploads(*bucket).parts(call.op.upload_id);
  if (!parts) co_return bucket::disk_failure(parts.error());
  s3wire::PartsPage page;
  const std::optional<s3wire::KeptChecksum>& agreed = upload->checksum;
  if (agreed) {
    page.checksum = agreed->kind;
    page.whole_checksum = agreed->whole;
  }
  const s3wire::ListQuery& query = call.op.list;
  for (s3wire::PartEntry& part : *parts) {
    const bool behind = static_cast<std::uint64_t>(part.number) > query.part_marker;
    if (behind && page.parts.size() <= query.max) page.parts.push_back(std::move(part));
  }
  std::string xml = s3wire::list_parts_xml(call.op, page);
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> list_uploads(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  // Each upload has a file, which is read: others of this thread do not wait for that.
  const auto work = [bucket, op = call.op]() -> Result<std::string> {
    std::vector<s3wire::UploadEntry> uploads = TRY(bucket::BucketUploads(*bucket).all());
    return s3wire::list_uploads_xml(op, std::move(uploads));
  };
  Result<std::string> xml = co_await loop::in_thread(call.exchange.loop(), work);
  if (!xml) co_return bucket::disk_failure(xml.error());
  co_return co_await send_xml(call, *std::move(xml));
}

}  // namespace muster::s3server
