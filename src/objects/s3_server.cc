#include "objects/s3_server.h"

#include <array>
#include <atomic>

#include "base/text.h"
#include "loop/worker.h"
#include "objects/s3_server_call.h"

namespace muster::objects {
namespace {

using loop::HttpExchange;
using loop::HttpReply;
using loop::Task;

constexpr std::size_t create_bucket_bytes_max = 64 << 10;

/// 16 hex digits, of which the first are the process's own.
std::string fresh_request_id() {
  static const std::string start = hex(random_bytes(4));
  static std::atomic<std::uint32_t> count = 0;
  const std::uint32_t number = ++count;
  std::array<char, 4> bytes = {
      static_cast<char>(number >> 24 & 0xff), static_cast<char>(number >> 16 & 0xff),
      static_cast<char>(number >> 8 & 0xff), static_cast<char>(number & 0xff)};
  return start + hex({bytes.data(), bytes.size()});
}

Task<S3Outcome> list_all_buckets(S3Call& call) {
  std::string xml = list_buckets_xml(call.op.list, call.store.all());
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> create_bucket(S3Call& call) {
  std::variant<std::string, AwsError> text = co_await receive_text(call, create_bucket_bytes_max);
  if (AwsError* wrong = std::get_if<AwsError>(&text)) co_return std::move(*wrong);
  const Document<std::string> location = read_create_bucket(std::get<std::string>(text));
  if (const AwsError* wrong = std::get_if<AwsError>(&location)) co_return *wrong;
  const Result<bool> created = call.store.create(call.op.bucket, call.now);
  if (!created) co_return disk_failure(created.error());
  // In its first region S3 takes a repetition for a success; in all others it does not.
  if (!*created && call.options.region != "us-east-1")
    co_return s3_failure_of("BucketAlreadyOwnedByYou");
  HttpReply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Location", "/" + call.op.bucket);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> delete_bucket(S3Call& call) {
  const auto removal = std::make_shared<BucketStore::Removal>();
  std::function<Result<void>()> work = [store = &call.store, name = call.op.bucket,
                                        removal]() -> Result<void> {
    *removal = TRY(store->remove(name));
    return {};
  };
  const Result<void> done = co_await loop::in_thread(call.exchange.loop(), std::move(work));
  if (!done) co_return disk_failure(done.error());
  if (*removal == BucketStore::Removal::not_empty) co_return s3_failure_of("BucketNotEmpty");
  if (*removal == BucketStore::Removal::no_such_bucket) co_return s3_failure_of("NoSuchBucket");
  HttpReply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> head_bucket(S3Call& call, std::shared_ptr<Bucket>) {
  HttpReply reply = call.fresh_reply(200);
  reply.headers.emplace_back("x-amz-bucket-region", call.options.region);
  reply.headers.emplace_back("Content-Type", "application/xml");
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> bucket_location(S3Call& call, std::shared_ptr<Bucket>) {
  std::string xml = location_xml(call.options.region);
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> bucket_versioning(S3Call& call, std::shared_ptr<Bucket>) {
  std::string xml = versioning_xml();
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> bucket_acl(S3Call& call, std::shared_ptr<Bucket>) {
  std::string xml = acl_xml();
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> put_bucket_acl(S3Call& call, std::shared_ptr<Bucket>) {
  HttpReply reply = call.fresh_reply(200);
  co_return co_await send(call, std::move(reply));
}

/// Null for what is about no bucket, or not about one that has to be there.
S3Handler handler_of(S3Op op) {
  switch (op) {
    case S3Op::head_bucket:
      return head_bucket;
    case S3Op::get_bucket_location:
      return bucket_location;
    case S3Op::get_bucket_versioning:
      return bucket_versioning;
    case S3Op::get_bucket_acl:
      return bucket_acl;
    case S3Op::put_bucket_acl:
      return put_bucket_acl;
    case S3Op::list_objects:
    case S3Op::list_objects_v2:
    case S3Op::list_object_versions:
      return list_bucket;
    case S3Op::list_multipart_uploads:
      return list_uploads;
    case S3Op::delete_objects:
      return delete_objects;
    case S3Op::put_object:
      return put_object;
    case S3Op::get_object:
    case S3Op::head_object:
      return get_object;
    case S3Op::delete_object:
      return delete_object;
    case S3Op::copy_object:
      return copy_object;
    case S3Op::get_object_acl:
      return get_object_acl;
    case S3Op::put_object_acl:
      return put_object_acl;
    case S3Op::get_object_attributes:
      return get_attributes;
    case S3Op::get_object_tagging:
      return get_tagging;
    case S3Op::put_object_tagging:
      return put_tagging;
    case S3Op::delete_object_tagging:
      return delete_tagging;
    case S3Op::create_multipart_upload:
      return begin_upload;
    case S3Op::upload_part:
      return put_part;
    case S3Op::upload_part_copy:
      return copy_part;
    case S3Op::complete_multipart_upload:
      return complete_upload;
    case S3Op::abort_multipart_upload:
      return abort_upload;
    case S3Op::list_parts:
      return list_parts;
    default:
      return nullptr;
  }
}

/// Indexes the buckets of places that may be read by how keys begin: see is_there().
Task<Result<void>> index_for(S3Call& call) {
  for (const Place& place : call.verified.key->policy.reads) {
    if (place.extent != Extent::start) continue;
    std::shared_ptr<Bucket> bucket = call.store.find(place.bucket);
    if (!bucket || bucket->indexed()) continue;
    std::function<Result<void>()> work = [bucket] { return bucket->index(); };
    const Result<void> done = co_await loop::in_thread(call.exchange.loop(), std::move(work));
    if (!done) co_return done.error();
  }
  co_return Result<void>();
}

/// And takes from a listing what its key may not see.
bool may(S3Call& call) {
  S3Operation& op = call.op;
  if (op.op == S3Op::delete_objects) return true;  // Each of its keys is asked for.
  const AccessKey& key = *call.verified.key;
  const IsThere is_there = [&call](const Place& place) {
    const std::shared_ptr<Bucket> bucket = call.store.find(place.bucket);
    ListQuery named;
    named.prefix = place.key;
    named.max = 1;
    named.named_only = true;
    return bucket && !bucket->page(named).objects.empty();
  };
  if (is_listing(op.op)) {
    const View view = view_of(key, op.op, op.bucket, op.list.prefix, is_there);
    op.list.named_only = view == View::named;
    return view != View::nothing;
  }
  if (op.copy_source &&
      !allowed(key, S3Op::get_object, op.copy_source->bucket, op.copy_source->key, is_there))
    return false;
  return allowed(key, op.op, op.bucket, op.key, is_there);
}

Task<S3Outcome> perform(S3Call& call) {
  const S3Operation& op = call.op;
  const Result<void> indexed = co_await index_for(call);
  if (!indexed) co_return disk_failure(indexed.error());
  if (!may(call)) co_return s3_failure_of("AccessDenied");
  if (op.op == S3Op::unsupported) co_return s3_failure_of("NotImplemented");
  if (op.op == S3Op::list_buckets) co_return co_await list_all_buckets(call);
  if (op.op == S3Op::create_bucket) co_return co_await create_bucket(call);
  if (op.op == S3Op::delete_bucket) co_return co_await delete_bucket(call);
  std::shared_ptr<Bucket> bucket = call.store.find(op.bucket);
  if (!bucket) {
    AwsError error = s3_failure_of("NoSuchBucket");
    error.more = {{"BucketName", op.bucket}};
    co_return error;
  }
  const S3Handler handler = handler_of(op.op);
  CHECK_THAT(handler != nullptr, "every operation has a handler");
  co_return co_await handler(call, std::move(bucket));
}

std::string resource_of(const RequestHead& head) {
  return percent_decoded(head.path(), false).value_or(std::string(head.path()));
}

Task<void> refuse(HttpExchange& exchange, const RequestHead& head, AwsError error,
                  std::string request_id, bool close = false) {
  HttpReply reply{
      .status = error.status,
      .headers = {{"x-amz-request-id", request_id}, {"Content-Type", "application/xml"}},
      .close = close};
  if (error.status != 304 && head.method != "HEAD")
    reply.body = error_xml(error, resource_of(head), request_id);
  (void)co_await exchange.reply(std::move(reply));
}

}  // namespace

Task<S3Outcome> send(S3Call& call, HttpReply reply) {
  (void)co_await call.exchange.reply(std::move(reply));
  co_return std::nullopt;
}

Task<S3Outcome> send_xml(S3Call& call, std::string xml) {
  HttpReply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/xml");
  reply.body = std::move(xml);
  co_return co_await send(call, std::move(reply));
}

Task<void> S3Server::answer(HttpExchange& exchange) {
  const loop::HttpIncoming& incoming = exchange.request();
  const RequestHead head{incoming.method, incoming.target, incoming.headers};
  S3Call call{.exchange = exchange,
              .store = store_,
              .options = options_,
              .now = options_.now(),
              .verified = {},
              .op = {},
              .request_id = fresh_request_id()};
  std::variant<Verified, Refused> verified =
      verifier_.verify(head, {.now = call.now, .service = "s3", .body_sha256 = {}});
  S3Outcome wrong;
  if (incoming.method == "OPTIONS") {  // A browser's question, which it cannot sign.
    wrong = s3_failure_of(head.header("origin") ? "AccessForbidden" : "BadRequest");
  } else if (const Refused* refused = std::get_if<Refused>(&verified)) {
    wrong = answer_to(*refused, Dialect::s3);
  } else {
    call.verified = std::get<Verified>(std::move(verified));
    if (!exchange.proved(call.verified.key->owner)) {
      AwsError busy = s3_failure_of("SlowDown");
      co_return co_await refuse(exchange, head, std::move(busy), call.request_id, true);
    }
    std::variant<S3Operation, AwsError> read = read_s3_request(head, {options_.domain});
    if (AwsError* error = std::get_if<AwsError>(&read)) {
      wrong = std::move(*error);
    } else {
      call.op = std::get<S3Operation>(std::move(read));
      wrong = co_await perform(call);
    }
  }
  if (!wrong || exchange.answered()) co_return;
  AwsError error = *std::move(wrong);
  co_await refuse(exchange, head, std::move(error), call.request_id);
}

}  // namespace muster::objects
