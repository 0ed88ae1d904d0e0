#include "server/s3server/s3_server.h"

#include <array>
#include <atomic>

#include "aws/access/party.h"
#include "aws/s3wire/s3_settings.h"
#include "base/text.h"
#include "net/loop/worker.h"
#include "server/s3server/s3_server_call.h"

namespace muster::s3server {
namespace {

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

Task<Answered> list_all_buckets(S3Call& call) {
  const s3wire::ListQuery& list = call.op.list;
  const bool is_here = list.region.empty() || list.region == call.options.region;
  std::vector<s3wire::BucketEntry> buckets;
  if (is_here) buckets = call.store.all();
  std::string xml = s3wire::list_buckets_xml(list, buckets);
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> create_bucket(S3Call& call) {
  Result<std::string, aws::Refusal> text = co_await receive_text(call, create_bucket_bytes_max);
  if (!text) co_return text.error();
  const s3wire::Document<std::string> location = s3wire::read_create_bucket(*text);
  if (!location) co_return location.error();
  const Result<bool> created = call.store.create(call.op.bucket, call.now);
  if (!created) co_return bucket::disk_failure(created.error());
  // In its first region S3 takes a repetition for a success; in all others it does not.
  if (!*created && call.options.region != "us-east-1")
    co_return aws::s3_refusal("BucketAlreadyOwnedByYou");
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Location", "/" + call.op.bucket);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> delete_bucket(S3Call& call) {
  const auto work = [&call] { return call.store.remove(call.op.bucket); };
  const Result<bucket::BucketStore::Removal> removal =
      co_await loop::in_thread(call.exchange.loop(), work);
  if (!removal) co_return bucket::disk_failure(removal.error());
  if (*removal == bucket::BucketStore::Removal::not_empty)
    co_return aws::s3_refusal("BucketNotEmpty");
  if (*removal == bucket::BucketStore::Removal::no_such_bucket)
    co_return aws::s3_refusal("NoSuchBucket");
  http::Reply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> head_bucket(S3Call& call, std::shared_ptr<bucket::Bucket>) {
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("x-amz-bucket-region", call.options.region);
  reply.headers.emplace_back("Content-Type", "application/xml");
  co_return co_await send(call, std::move(reply));
}

Task<Answered> bucket_location(S3Call& call, std::shared_ptr<bucket::Bucket>) {
  std::string xml = s3wire::location_xml(call.options.region);
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> bucket_versioning(S3Call& call, std::shared_ptr<bucket::Bucket>) {
  std::string xml = s3wire::versioning_xml();
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> bucket_acl(S3Call& call, std::shared_ptr<bucket::Bucket>) {
  std::string xml = s3wire::acl_xml();
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> put_bucket_acl(S3Call& call, std::shared_ptr<bucket::Bucket>) {
  http::Reply reply = call.fresh_reply(200);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> get_setting(S3Call& call, std::shared_ptr<bucket::Bucket>) {
  Result<std::string, aws::Refusal> xml = s3wire::setting_xml(call.op.selector);
  if (!xml) co_return xml.error();
  co_return co_await send_xml(call, *std::move(xml));
}

/// Never set, so done.
Task<Answered> delete_setting(S3Call& call, std::shared_ptr<bucket::Bucket>) {
  http::Reply reply = call.fresh_reply(204);
  co_return co_await send(call, std::move(reply));
}

/// Null for what is about no bucket, or not about one that has to be there.
S3Handler handler_of(s3wire::S3Op op) {
  switch (op) {
    case s3wire::S3Op::head_bucket:
      return head_bucket;
    case s3wire::S3Op::get_bucket_location:
      return bucket_location;
    case s3wire::S3Op::get_bucket_versioning:
      return bucket_versioning;
    case s3wire::S3Op::get_bucket_acl:
      return bucket_acl;
    case s3wire::S3Op::put_bucket_acl:
      return put_bucket_acl;
    case s3wire::S3Op::get_bucket_setting:
      return get_setting;
    case s3wire::S3Op::delete_bucket_setting:
      return delete_setting;
    case s3wire::S3Op::list_objects:
    case s3wire::S3Op::list_objects_v2:
    case s3wire::S3Op::list_object_versions:
      return list_bucket;
    case s3wire::S3Op::list_multipart_uploads:
      return list_uploads;
    case s3wire::S3Op::delete_objects:
      return delete_objects;
    case s3wire::S3Op::put_object:
      return put_object;
    case s3wire::S3Op::get_object:
    case s3wire::S3Op::head_object:
      return get_object;
    case s3wire::S3Op::delete_object:
      return delete_object;
    case s3wire::S3Op::copy_object:
      return copy_object;
    case s3wire::S3Op::get_object_acl:
      return get_object_acl;
    case s3wire::S3Op::put_object_acl:
      return put_object_acl;
    case s3wire::S3Op::get_object_attributes:
      return get_attributes;
    case s3wire::S3Op::get_object_tagging:
      return get_tagging;
    case s3wire::S3Op::put_object_tagging:
      return put_tagging;
    case s3wire::S3Op::delete_object_tagging:
      return delete_tagging;
    case s3wire::S3Op::create_multipart_upload:
      return begin_upload;
    case s3wire::S3Op::upload_part:
      return put_part;
    case s3wire::S3Op::upload_part_copy:
      return copy_part;
    case s3wire::S3Op::complete_multipart_upload:
      return complete_upload;
    case s3wire::S3Op::abort_multipart_upload:
      return abort_upload;
    case s3wire::S3Op::list_parts:
      return list_parts;
    default:
      return nullptr;
  }
}

/// Indexes the buckets of places that may be read by how keys begin: see is_there().
Task<Result<void>> index_for(S3Call& call) {
  for (const access::Place& place : call.verified.key->policy.reads) {
    if (place.extent != access::Extent::start) continue;
    std::shared_ptr<bucket::Bucket> bucket = call.store.find(place.bucket);
    if (!bucket || bucket->indexed()) continue;
    const auto work = [bucket] { return bucket->index(); };
    const Result<void> done = co_await loop::in_thread(call.exchange.loop(), work);
    if (!done) co_return done.error();
  }
  co_return Result<void>();
}

/// And takes from a listing what its key may not see.
bool may(S3Call& call) {
  s3wire::S3Operation& op = call.op;
  if (op.op == s3wire::S3Op::delete_objects) return true;  // Each of its keys is asked for.
  const access::AccessKey& key = *call.verified.key;
  const access::IsThere is_there = [&call](const access::Place& place) {
    const std::shared_ptr<bucket::Bucket> bucket = call.store.find(place.bucket);
    s3wire::ListQuery named;
    named.prefix = place.key;
    named.max = 1;
    named.named_only = true;
    return bucket && !bucket->page(named).objects.empty();
  };
  if (access::is_listing(op.op)) {
    const access::View view = access::view_of(key, op.op, op.bucket, op.list.prefix, is_there);
    op.list.named_only = view == access::View::named;
    return view != access::View::nothing;
  }
  if (op.copy_source && !access::allowed(key, s3wire::S3Op::get_object, op.copy_source->bucket,
                                         op.copy_source->key, is_there))
    return false;
  return access::allowed(key, op.op, op.bucket, op.key, is_there);
}

bool makes_files(s3wire::S3Op op) {
  return op == s3wire::S3Op::put_object || op == s3wire::S3Op::copy_object ||
         op == s3wire::S3Op::create_multipart_upload || op == s3wire::S3Op::upload_part ||
         op == s3wire::S3Op::upload_part_copy;
}

/// The budget of a write, whose first call counts what is there.
Task<Result<void>> count_for(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  const std::shared_ptr<const access::AccessKey>& key = call.verified.key;
  if (!makes_files(call.op.op) || !has_budget(*key)) co_return Result<void>();
  call.budget = call.budgets.ready(key, bucket);
  if (call.budget) co_return Result<void>();
  const auto work = [&call, bucket]() -> Result<void> {
    call.budget = TRY(call.budgets.find(call.verified.key, call.store, bucket));
    return {};
  };
  co_return co_await loop::in_thread(call.exchange.loop(), work);
}

Task<Answered> perform(S3Call& call) {
  const s3wire::S3Operation& op = call.op;
  const Result<void> indexed = co_await index_for(call);
  if (!indexed) co_return bucket::disk_failure(indexed.error());
  if (!may(call)) co_return aws::s3_refusal("AccessDenied");
  if (op.op == s3wire::S3Op::list_buckets) co_return co_await list_all_buckets(call);
  if (op.op == s3wire::S3Op::create_bucket) co_return co_await create_bucket(call);
  if (op.op == s3wire::S3Op::delete_bucket) co_return co_await delete_bucket(call);
  std::shared_ptr<bucket::Bucket> bucket = call.store.find(op.bucket);
  if (!bucket) {
    aws::Refusal error = aws::s3_refusal("NoSuchBucket");
    error.more = {{"BucketName", op.bucket}};
    co_return error;
  }
  const S3Handler handler = handler_of(op.op);
  CHECK_THAT(handler != nullptr, "every operation has a handler");
  const Result<void> counted = co_await count_for(call, bucket);
  if (!counted) co_return bucket::disk_failure(counted.error());
  co_return co_await handler(call, std::move(bucket));
}

/// Who asks, and of which bucket by the name that the server is called by.
Answered read_call(S3Call& call, const aws::RequestHead& head, access::Verifier& verifier) {
  call.host_bucket =
      TRY(s3wire::bucket_of_host(head.header("host").value_or(""), call.options.names));
  Result<access::Verified, access::AuthRefusal> verified = verifier.verify(
      head, {.now = call.now, .service = "s3", .body_sha256 = {}, .bucket = call.host_bucket});
  if (verified) {
    call.verified = *std::move(verified);
    return {};
  }
  // A form holds its signature in its body.
  if (verified.error().failure == access::AuthFailure::missing && head.method == "POST" &&
      head.header("content-type").value_or("").starts_with("multipart/form-data"))
    return s3wire::no_forms();
  return access::answer_to(verified.error(), access::Dialect::s3);
}

/// What is asked.
Answered read_operation(S3Call& call, const aws::RequestHead& head) {
  call.op = TRY(s3wire::read_s3_request(head, call.host_bucket));
  if (!call.verified.version_2 || access::harmless_by_version_2(call.op.op)) return {};
  return access::answer_to(
      {access::AuthFailure::unsupported,
       "A URL of Signature Version 2 may get, head or put an object, or upload a part; not " +
           std::string(call.op.name) +
           ". Please use AWS4-HMAC-SHA256; in boto3, set Config(signature_version='s3v4').",
       {}},
      access::Dialect::s3);
}

/// A page that somebody has uploaded must not run as one of this server's, which has a page that
/// browsers hold a cookie for: without scripts, and of no origin.
void confine(const http::Exchange& exchange, http::Reply& reply) {
  const std::optional<std::string_view> mode = exchange.request().value("sec-fetch-mode");
  const std::optional<std::string_view> accept = exchange.request().value("accept");
  const bool is_navigation =
      mode ? *mode != "cors" : accept && accept->find("text/html") != std::string_view::npos;
  if (!is_navigation) return;
  reply.headers.emplace_back("Content-Security-Policy", "sandbox");
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
}

std::string resource_of(const aws::RequestHead& head) {
  return aws::percent_decoded(head.path(), false).value_or(std::string(head.path()));
}

Task<void> refuse(http::Exchange& exchange, const aws::RequestHead& head, aws::Refusal error,
                  std::string request_id, const std::string& region, bool close = false) {
  http::Reply reply{
      .status = error.status,
      .headers = {{"x-amz-request-id", request_id}, {"Content-Type", "application/xml"}},
      .close = close};
  // HeadBucket returns a bucket's region to callers that may not see more.
  if (error.status == 403 && head.method == "HEAD")
    reply.headers.emplace_back("x-amz-bucket-region", region);
  if (error.status != 304 && head.method != "HEAD")
    reply.body = s3wire::error_xml(error, resource_of(head), request_id);
  confine(exchange, reply);
  (void)co_await exchange.reply(std::move(reply));
}

}  // namespace

Task<Answered> send(S3Call& call, http::Reply reply) {
  confine(call.exchange, reply);
  (void)co_await call.exchange.reply(std::move(reply));
  co_return Answered();
}

Task<Answered> send_xml(S3Call& call, std::string xml) {
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/xml");
  reply.body = std::move(xml);
  co_return co_await send(call, std::move(reply));
}

Task<void> S3Server::answer(http::Exchange& exchange) {
  const http::Incoming& incoming = exchange.request();
  const aws::RequestHead head{incoming.method, incoming.target, incoming.headers};
  S3Call call{.exchange = exchange,
              .store = store_,
              .options = options_,
              .budgets = budgets_,
              .now = options_.now(),
              .verified = {},
              .op = {},
              .request_id = fresh_request_id()};
  Answered answered;
  if (incoming.method == "OPTIONS") {  // A browser's question, which it cannot sign.
    answered = aws::s3_refusal(head.header("origin") ? "AccessForbidden" : "BadRequest");
  } else {
    answered = read_call(call, head, verifier_);
    if (answered &&
        !exchange.proved(call.verified.key->counted(), access::party_of(*call.verified.key))) {
      aws::Refusal busy = aws::s3_refusal("SlowDown");
      co_return co_await refuse(exchange, head, std::move(busy), call.request_id, options_.region,
                                true);
    }
    if (answered) answered = read_operation(call, head);
    if (answered) answered = co_await perform(call);
  }
  if (answered || exchange.answered()) co_return;
  aws::Refusal refusal = answered.error();
  co_await refuse(exchange, head, std::move(refusal), call.request_id, options_.region);
}

}  // namespace muster::s3server
