// What writes and removes objects.

#include "base/text.h"
#include "net/loop/worker.h"
#include "server/s3server/s3_server_call.h"

namespace muster::s3server {
namespace {

using loop::Task;

constexpr std::uint64_t object_bytes_max = std::uint64_t{5} << 40;  ///< S3's own limit.

/// DeleteObjects asks for single objects by what they are.
bucket::WriteCheck check_of(const s3wire::DeleteAsked::Object& asked) {
  if (asked.etag.empty() && !asked.size && !asked.modified) return {};
  return [asked](const bucket::ObjectRecord* present) {
    if (present == nullptr) return bucket::WriteEnd::no_such_key;
    const bool etag = asked.etag.empty() || asked.etag == "*" || asked.etag == present->etag;
    const bool size = !asked.size || *asked.size == present->size;
    const auto second = [](UnixMillis time) { return time.count() / 1000; };
    const bool modified = !asked.modified || second(*asked.modified) == second(present->modified);
    return etag && size && modified ? bucket::WriteEnd::done
                                    : bucket::WriteEnd::precondition_failed;
  };
}

/// DeleteObject's conditions: where nothing is, it is done whatever was asked, unlike
/// DeleteObjects.
bucket::WriteCheck delete_check_of(const s3wire::S3Operation& op) {
  if (op.conditions.none()) return {};
  const s3wire::Conditions& asked = op.conditions;
  const bucket::WriteCheck of_rest = check_of(
      s3wire::DeleteAsked::Object{op.key, {}, {}, asked.if_match_size, asked.if_match_modified});
  return [asked, of_rest](const bucket::ObjectRecord* present) {
    if (present == nullptr) return bucket::WriteEnd::done;
    if (s3wire::write_precondition(asked, present->etag) != s3wire::Precondition::proceed)
      return bucket::WriteEnd::precondition_failed;
    return of_rest ? of_rest(present) : bucket::WriteEnd::done;
  };
}

s3wire::Deleted remove_one(const S3Call& call, bucket::Bucket& bucket,
                           const s3wire::DeleteAsked::Object& asked) {
  s3wire::Deleted deleted{asked.key, asked.version_id, {}};
  if (!access::allowed(*call.verified.key, s3wire::S3Op::delete_object, call.op.bucket, asked.key,
                       {})) {
    deleted.done = aws::s3_refusal("AccessDenied");
  } else if (!asked.version_id.empty() && asked.version_id != "null") {
    deleted.done = aws::s3_refusal("NoSuchVersion");
  } else {
    deleted.done = answered(bucket.remove(asked.key, check_of(asked)));
  }
  return deleted;
}

}  // namespace

bucket::WriteCheck check_of(const s3wire::Conditions& conditions) {
  if (conditions.none()) return {};
  return [conditions](const bucket::ObjectRecord* present) {
    std::optional<std::string_view> etag;
    if (present != nullptr) etag = present->etag;
    if (s3wire::write_precondition(conditions, etag) == s3wire::Precondition::proceed)
      return bucket::WriteEnd::done;
    const bool nothing = present == nullptr && !conditions.if_match.empty();
    return nothing ? bucket::WriteEnd::no_such_key : bucket::WriteEnd::precondition_failed;
  };
}

Answered make_room(const S3Call& call, Receiving& receiving) {
  if (!call.op.content_bytes && !call.exchange.request().chunked)
    return aws::s3_refusal("MissingContentLength");
  TRY(receiving.hold.grow(call.op.content_bytes.value_or(0)));
  if (!call.op.content_bytes) return {};
  const Result<void> room = receiving.draft.expect(*call.op.content_bytes);
  if (!room) return bucket::disk_failure(room.error());
  return {};
}

std::function<Result<void>(std::string_view)> sink_of(const S3Call& call, Receiving& receiving) {
  const bool is_counted = call.op.content_bytes.has_value();
  return [&receiving, is_counted](std::string_view bytes) -> Result<void> {
    if (!is_counted) receiving.fits = receiving.hold.grow(bytes.size());
    if (!receiving.fits) return fail(Errc::closed, receiving.fits.error().message);
    return receiving.draft.add(bytes);
  };
}

Answered check_disk(const S3Call& call, const bucket::Bucket& bucket, std::uint64_t bytes) {
  if (call.free_min() == 0) return {};
  const Result<void> room = bucket::check_room(bucket.temporary_folder(), bytes, call.free_min());
  if (!room) return bucket::disk_failure(room.error());
  return {};
}

Answered answered(const Result<bucket::WriteEnd>& end) {
  if (!end) return bucket::disk_failure(end.error());
  switch (*end) {
    case bucket::WriteEnd::done:
      break;
    case bucket::WriteEnd::precondition_failed:
      return aws::s3_refusal("PreconditionFailed");
    case bucket::WriteEnd::no_such_key:
      return aws::s3_refusal("NoSuchKey");
    case bucket::WriteEnd::no_such_bucket:
      return aws::s3_refusal("NoSuchBucket");
  }
  return {};
}

Task<Result<bucket::WriteEnd>> put_draft(S3Call& call, std::shared_ptr<bucket::Bucket> bucket,
                                         Receiving& receiving, bucket::ObjectRecord& record) {
  const bucket::WriteCheck check = check_of(call.op.conditions);
  bucket::Draft& draft = receiving.draft;
  if (draft.size() < long_write_bytes)
    co_return bucket->put(std::move(draft), record, check, &receiving.hold);
  const auto work = [&] { return bucket->put(std::move(draft), record, check, &receiving.hold); };
  co_return co_await loop::in_thread(call.exchange.loop(), work);
}

Task<Answered> put_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  s3wire::S3Operation& op = call.op;
  if (op.content_bytes.value_or(0) > object_bytes_max) co_return aws::s3_refusal("EntityTooLarge");
  Receiving receiving(call, *bucket);
  bucket->hold(receiving.hold, call.budget, op.key);
  Answered room = make_room(call, receiving);
  if (!room) co_return room;
  std::function<Result<void>(std::string_view)> sink = sink_of(call, receiving);
  Result<ReceivedBody, aws::Refusal> body =
      co_await receive_body(call, true, std::nullopt, std::move(sink));
  if (!receiving.fits) co_return receiving.fits.error();
  if (!body) co_return body.error();
  if (receiving.draft.size() > object_bytes_max) co_return aws::s3_refusal("EntityTooLarge");
  ReceivedBody& received = *body;
  bucket::ObjectRecord record;
  record.key = op.key;
  record.modified = call.now;
  record.etag = hex(received.md5);
  record.metadata = std::move(op.metadata);
  record.checksum = std::move(received.checksum);
  const Result<bucket::WriteEnd> end = co_await put_draft(call, bucket, receiving, record);
  Answered written = answered(end);
  if (!written) co_return written;
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("ETag", quoted(record.etag));
  if (record.checksum) add_checksum_headers(reply, *record.checksum);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> delete_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Answered removed = answered(bucket->remove(call.op.key, delete_check_of(call.op)));
  if (!removed) co_return removed;
  http::Reply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> delete_objects(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<std::string, aws::Refusal> text = co_await receive_text(call, s3wire::document_bytes_max);
  if (!text) co_return text.error();
  const s3wire::Document<s3wire::DeleteAsked> asked = s3wire::read_delete(*text);
  if (!asked) co_return asked.error();
  const s3wire::DeleteAsked& wanted = *asked;
  std::vector<s3wire::Deleted> deleted;
  for (const s3wire::DeleteAsked::Object& object : wanted.objects)
    deleted.push_back(remove_one(call, *bucket, object));
  std::string xml = s3wire::delete_xml(deleted, wanted.quiet);
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> put_tagging(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<std::string, aws::Refusal> text = co_await receive_text(call, s3wire::document_bytes_max);
  if (!text) co_return text.error();
  const s3wire::Document<aws::Pairs> tags = s3wire::read_tagging(*text);
  if (!tags) co_return tags.error();
  if (Answered room = check_disk(call, *bucket, text->size()); !room) co_return room;
  Answered written = answered(bucket->set_tags(call.op.key, *tags));
  if (!written) co_return written;
  http::Reply reply = call.fresh_reply(200);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> delete_tagging(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Answered removed = answered(bucket->set_tags(call.op.key, {}));
  if (!removed) co_return removed;
  http::Reply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

}  // namespace muster::s3server
