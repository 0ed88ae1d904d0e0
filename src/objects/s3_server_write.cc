// What writes and removes objects.

#include "base/text.h"
#include "loop/worker.h"
#include "objects/s3_server_call.h"

namespace muster::objects {
namespace {

using loop::HttpReply;
using loop::Task;

constexpr std::uint64_t object_bytes_max = std::uint64_t{5} << 40;  ///< S3's own limit.

/// DeleteObjects asks for single objects by what they are.
WriteCheck check_of(const DeleteAsked::Object& asked) {
  if (asked.etag.empty() && !asked.size && !asked.modified) return {};
  return [asked](const ObjectRecord* present) {
    if (present == nullptr) return WriteEnd::no_such_key;
    const bool etag = asked.etag.empty() || asked.etag == "*" || asked.etag == present->etag;
    const bool size = !asked.size || *asked.size == present->size;
    const auto second = [](UnixMillis time) { return time.count() / 1000; };
    const bool modified = !asked.modified || second(*asked.modified) == second(present->modified);
    return etag && size && modified ? WriteEnd::done : WriteEnd::precondition_failed;
  };
}

/// Of DeleteObject: to it, unlike DeleteObjects, nothing there is done whatever was asked.
WriteCheck delete_check_of(const S3Operation& op) {
  if (op.conditions.none()) return {};
  const Conditions& asked = op.conditions;
  const WriteCheck of_rest =
      check_of(DeleteAsked::Object{op.key, {}, {}, asked.if_match_size, asked.if_match_modified});
  return [asked, of_rest](const ObjectRecord* present) {
    if (present == nullptr) return WriteEnd::done;
    if (write_verdict(asked, present->etag) != Verdict::proceed)
      return WriteEnd::precondition_failed;
    return of_rest ? of_rest(present) : WriteEnd::done;
  };
}

Deleted remove_one(const S3Call& call, Bucket& bucket, const DeleteAsked::Object& asked) {
  Deleted deleted{asked.key, asked.version_id, std::nullopt};
  if (!allowed(*call.verified.key, S3Op::delete_object, call.op.bucket, asked.key, {})) {
    deleted.error = s3_failure_of("AccessDenied");
  } else if (!asked.version_id.empty() && asked.version_id != "null") {
    deleted.error = s3_failure_of("NoSuchVersion");
  } else {
    deleted.error = outcome_of(bucket.remove(asked.key, check_of(asked)));
  }
  return deleted;
}

}  // namespace

WriteCheck check_of(const Conditions& conditions) {
  if (conditions.none()) return {};
  return [conditions](const ObjectRecord* present) {
    std::optional<std::string_view> etag;
    if (present != nullptr) etag = present->etag;
    if (write_verdict(conditions, etag) == Verdict::proceed) return WriteEnd::done;
    const bool nothing = present == nullptr && !conditions.if_match.empty();
    return nothing ? WriteEnd::no_such_key : WriteEnd::precondition_failed;
  };
}

S3Outcome make_room(const S3Call& call, Draft& draft) {
  if (!call.op.content_bytes && !call.exchange.request().chunked)
    return s3_failure_of("MissingContentLength");
  if (!call.op.content_bytes) return std::nullopt;
  const Result<void> room = draft.expect(*call.op.content_bytes);
  if (!room) return disk_failure(room.error());
  return std::nullopt;
}

S3Outcome outcome_of(const Result<WriteEnd>& end) {
  if (!end) return disk_failure(end.error());
  switch (*end) {
    case WriteEnd::done:
      break;
    case WriteEnd::precondition_failed:
      return s3_failure_of("PreconditionFailed");
    case WriteEnd::no_such_key:
      return s3_failure_of("NoSuchKey");
    case WriteEnd::no_such_bucket:
      return s3_failure_of("NoSuchBucket");
  }
  return std::nullopt;
}

Task<Result<WriteEnd>> put_draft(S3Call& call, std::shared_ptr<Bucket> bucket, Draft draft,
                                 ObjectRecord& record) {
  const WriteCheck check = check_of(call.op.conditions);
  if (draft.size() < long_write_bytes) co_return bucket->put(std::move(draft), record, check);
  WriteEnd end = WriteEnd::done;
  const auto moved = std::make_shared<Draft>(std::move(draft));
  std::function<Result<void>()> work = [&, moved]() -> Result<void> {
    end = TRY(bucket->put(std::move(*moved), record, check));
    return {};
  };
  const Result<void> done = co_await loop::in_thread(call.exchange.loop(), std::move(work));
  if (!done) co_return done.error();
  co_return end;
}

Task<S3Outcome> put_object(S3Call& call, std::shared_ptr<Bucket> bucket) {
  S3Operation& op = call.op;
  if (op.content_bytes.value_or(0) > object_bytes_max) co_return s3_failure_of("EntityTooLarge");
  Draft draft = bucket->draft();
  S3Outcome no_room = make_room(call, draft);
  if (no_room) co_return no_room;
  std::function<Result<void>(std::string_view)> sink = [&draft](std::string_view bytes) {
    return draft.add(bytes);
  };
  std::variant<ReceivedBody, AwsError> body =
      co_await receive_body(call, true, std::nullopt, std::move(sink));
  if (AwsError* wrong = std::get_if<AwsError>(&body)) co_return std::move(*wrong);
  if (draft.size() > object_bytes_max) co_return s3_failure_of("EntityTooLarge");
  ReceivedBody& received = std::get<ReceivedBody>(body);
  ObjectRecord record;
  record.key = op.key;
  record.modified = call.now;
  record.etag = hex(received.md5);
  record.metadata = std::move(op.metadata);
  record.checksum = std::move(received.checksum);
  const Result<WriteEnd> end = co_await put_draft(call, bucket, std::move(draft), record);
  S3Outcome wrong = outcome_of(end);
  if (wrong) co_return wrong;
  HttpReply reply = call.fresh_reply(200);
  reply.headers.emplace_back("ETag", quoted(record.etag));
  if (record.checksum) add_checksum_headers(reply, *record.checksum);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> delete_object(S3Call& call, std::shared_ptr<Bucket> bucket) {
  S3Outcome wrong = outcome_of(bucket->remove(call.op.key, delete_check_of(call.op)));
  if (wrong) co_return wrong;
  HttpReply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> delete_objects(S3Call& call, std::shared_ptr<Bucket> bucket) {
  std::variant<std::string, AwsError> text = co_await receive_text(call, document_bytes_max);
  if (AwsError* wrong = std::get_if<AwsError>(&text)) co_return std::move(*wrong);
  const Document<DeleteAsked> asked = read_delete(std::get<std::string>(text));
  if (const AwsError* wrong = std::get_if<AwsError>(&asked)) co_return *wrong;
  const DeleteAsked& wanted = std::get<DeleteAsked>(asked);
  std::vector<Deleted> deleted;
  for (const DeleteAsked::Object& object : wanted.objects)
    deleted.push_back(remove_one(call, *bucket, object));
  std::string xml = delete_xml(deleted, wanted.quiet);
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> put_tagging(S3Call& call, std::shared_ptr<Bucket> bucket) {
  std::variant<std::string, AwsError> text = co_await receive_text(call, document_bytes_max);
  if (AwsError* wrong = std::get_if<AwsError>(&text)) co_return std::move(*wrong);
  const Document<Pairs> tags = read_tagging(std::get<std::string>(text));
  if (const AwsError* wrong = std::get_if<AwsError>(&tags)) co_return *wrong;
  S3Outcome wrong = outcome_of(bucket->set_tags(call.op.key, std::get<Pairs>(tags)));
  if (wrong) co_return wrong;
  HttpReply reply = call.fresh_reply(200);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> delete_tagging(S3Call& call, std::shared_ptr<Bucket> bucket) {
  S3Outcome wrong = outcome_of(bucket->set_tags(call.op.key, {}));
  if (wrong) co_return wrong;
  HttpReply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

}  // namespace muster::objects
