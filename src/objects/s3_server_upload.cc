// Multipart uploads.

#include "base/text.h"
#include "loop/worker.h"
#include "objects/s3_server_call.h"

namespace muster::objects {
namespace {

using loop::HttpReply;
using loop::Task;

/// The upload that the call is about, or what to answer.
std::variant<ObjectRecord, AwsError> upload_of(const S3Call& call, Bucket& bucket) {
  Result<std::optional<ObjectRecord>> found =
      BucketUploads(bucket).find(call.op.upload_id, call.op.key);
  if (!found) return disk_failure(found.error());
  if (!*found) return s3_failure_of("NoSuchUpload");
  return **std::move(found);
}

/// Where the object is: for people, mostly.
std::string location_of(const S3Call& call) {
  const loop::HttpIncoming& request = call.exchange.request();
  const std::string host(request.value("host").value_or("localhost"));
  return (request.tls ? "https://" : "http://") + host + "/" + call.op.bucket + "/" +
         percent_encoded(call.op.key, true);
}

}  // namespace

Task<S3Outcome> begin_upload(S3Call& call, std::shared_ptr<Bucket> bucket) {
  S3Operation& op = call.op;
  ObjectRecord record;
  record.key = op.key;
  record.modified = call.now;
  record.metadata = std::move(op.metadata);
  if (op.checksum)
    record.checksum = KeptChecksum{op.checksum->kind, std::string(), op.whole_checksum};
  const Result<std::string> id = BucketUploads(*bucket).begin(record);
  if (!id) co_return disk_failure(id.error());
  HttpReply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/xml");
  if (record.checksum) {
    reply.headers.emplace_back("x-amz-checksum-algorithm", checksum_name(record.checksum->kind));
    reply.headers.emplace_back("x-amz-checksum-type",
                               record.checksum->whole ? "FULL_OBJECT" : "COMPOSITE");
  }
  reply.body = create_upload_xml(op.bucket, op.key, *id);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> put_part(S3Call& call, std::shared_ptr<Bucket> bucket) {
  const std::variant<ObjectRecord, AwsError> upload = upload_of(call, *bucket);
  if (const AwsError* wrong = std::get_if<AwsError>(&upload)) co_return *wrong;
  const std::optional<KeptChecksum>& agreed = std::get<ObjectRecord>(upload).checksum;
  Draft draft = bucket->draft();
  S3Outcome no_room = make_room(call, draft);
  if (no_room) co_return no_room;
  std::function<Result<void>(std::string_view)> sink = [&draft](std::string_view bytes) {
    return draft.add(bytes);
  };
  const std::optional<Checksum> also = agreed ? std::optional(agreed->kind) : std::nullopt;
  std::variant<ReceivedBody, AwsError> body =
      co_await receive_body(call, true, also, std::move(sink));
  if (AwsError* wrong = std::get_if<AwsError>(&body)) co_return std::move(*wrong);
  ReceivedBody& received = std::get<ReceivedBody>(body);
  ObjectRecord record;
  record.modified = call.now;
  record.etag = hex(received.md5);
  record.checksum = std::move(received.checksum);
  const auto moved = std::make_shared<Draft>(std::move(draft));
  bool there = false;
  std::function<Result<void>()> work = [&, moved]() -> Result<void> {
    there = TRY(BucketUploads(*bucket).put_part(call.op.upload_id, *call.op.part_number,
                                                std::move(*moved), record));
    return {};
  };
  const bool is_long = moved->size() >= long_write_bytes;
  Result<void> done;
  if (is_long)
    done = co_await loop::in_thread(call.exchange.loop(), std::move(work));
  else
    done = work();
  if (!done) co_return disk_failure(done.error());
  if (!there) co_return s3_failure_of("NoSuchUpload");
  HttpReply reply = call.fresh_reply(200);
  reply.headers.emplace_back("ETag", quoted(record.etag));
  if (record.checksum)
    reply.headers.emplace_back(checksum_header(record.checksum->kind), record.checksum->text);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> complete_upload(S3Call& call, std::shared_ptr<Bucket> bucket) {
  std::variant<std::string, AwsError> text = co_await receive_text(call, document_bytes_max);
  if (AwsError* wrong = std::get_if<AwsError>(&text)) co_return std::move(*wrong);
  Document<std::vector<CompletePart>> parts = read_complete(std::get<std::string>(text));
  if (AwsError* wrong = std::get_if<AwsError>(&parts)) co_return std::move(*wrong);
  BucketUploads::Asked asked{
      .id = call.op.upload_id,
      .key = call.op.key,
      .parts = std::get<std::vector<CompletePart>>(std::move(parts)),
      .whole_bytes = call.op.whole_bytes,
      .checksum = call.op.checksum,
      .now = call.now,
      .check = check_of(call.op.conditions),
  };
  std::variant<ObjectRecord, AwsError> made = AwsError{};
  std::function<Result<void>()> work = [&]() -> Result<void> {
    made = BucketUploads(*bucket).complete(asked);
    return {};
  };
  (void)co_await loop::in_thread(call.exchange.loop(), std::move(work));
  if (AwsError* wrong = std::get_if<AwsError>(&made)) co_return std::move(*wrong);
  const ObjectRecord& record = std::get<ObjectRecord>(made);
  std::string xml = complete_upload_xml(location_of(call), call.op.bucket, call.op.key, record.etag,
                                        record.checksum);
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> abort_upload(S3Call& call, std::shared_ptr<Bucket> bucket) {
  const Result<bool> aborted = BucketUploads(*bucket).abort(call.op.upload_id, call.op.key);
  if (!aborted) co_return disk_failure(aborted.error());
  if (!*aborted) co_return s3_failure_of("NoSuchUpload");
  HttpReply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> list_parts(S3Call& call, std::shared_ptr<Bucket> bucket) {
  const std::variant<ObjectRecord, AwsError> upload = upload_of(call, *bucket);
  if (const AwsError* wrong = std::get_if<AwsError>(&upload)) co_return *wrong;
  Result<std::vector<PartEntry>> parts = BucketUploads(*bucket).parts(call.op.upload_id);
  if (!parts) co_return disk_failure(parts.error());
  PartsPage page;
  const std::optional<KeptChecksum>& agreed = std::get<ObjectRecord>(upload).checksum;
  if (agreed) {
    page.checksum = agreed->kind;
    page.whole_checksum = agreed->whole;
  }
  const ListQuery& query = call.op.list;
  for (PartEntry& part : *parts) {
    const bool behind = static_cast<std::uint64_t>(part.number) > query.part_marker;
    if (behind && page.parts.size() <= query.max) page.parts.push_back(std::move(part));
  }
  std::string xml = list_parts_xml(call.op, page);
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> list_uploads(S3Call& call, std::shared_ptr<Bucket> bucket) {
  Result<std::vector<UploadEntry>> uploads = BucketUploads(*bucket).all();
  if (!uploads) co_return disk_failure(uploads.error());
  std::string xml = list_uploads_xml(call.op, *std::move(uploads));
  co_return co_await send_xml(call, std::move(xml));
}

}  // namespace muster::objects
