// What reads: objects, their attributes and tags, listings.

#include "base/base64.h"
#include "base/text.h"
#include "net/loop/worker.h"
#include "server/s3server/s3_server_call.h"

namespace muster::s3server {
namespace {

using loop::Task;

/// The part that a range or a part number asks for; none: the whole object.
using Wanted = Result<std::optional<s3wire::ByteSpan>, aws::Refusal>;

Wanted part_wanted(const bucket::ObjectRecord& record, int number) {
  if (record.parts.empty() && number == 1) return std::optional(s3wire::ByteSpan{0, record.size});
  s3wire::ByteSpan span;
  for (int i = 0; i < number; ++i) {
    if (static_cast<std::size_t>(i) >= record.parts.size())
      return aws::s3_refusal("InvalidPartNumber");
    span.offset += span.bytes;
    span.bytes = record.parts[static_cast<std::size_t>(i)].size;
  }
  return std::optional(span);
}

Wanted wanted(const s3wire::S3Operation& op, const bucket::ObjectRecord& record) {
  if (op.part_number && op.range)
    return aws::s3_refusal("InvalidRequest",
                           "Cannot specify both Range header and partNumber query parameter");
  if (op.part_number) return part_wanted(record, *op.part_number);
  if (!op.range || !s3wire::range_holds(op.if_range, record.etag, record.modified))
    return std::optional<s3wire::ByteSpan>();
  const std::optional<s3wire::ByteSpan> span = s3wire::resolved(*op.range, record.size);
  if (span) return span;
  aws::Refusal error = aws::s3_refusal("InvalidRange");
  error.more = {{"ActualObjectSize", std::to_string(record.size)}};
  return error;
}

void add_object_headers(http::Reply& reply, const S3Call& call,
                        const bucket::ObjectRecord& record) {
  reply.headers.emplace_back("ETag", quoted(record.etag));
  reply.headers.emplace_back("Last-Modified", http_date(record.modified));
  if (reply.status == 304) return;
  reply.headers.emplace_back("Accept-Ranges", "bytes");
  for (auto& header : s3wire::metadata_headers(record.metadata, call.op.response_headers))
    reply.headers.push_back(std::move(header));
}

/// The checksum of the whole object, or of the part that was asked for.
std::optional<s3wire::KeptChecksum> sum_shown(const s3wire::S3Operation& op,
                                              const bucket::ObjectRecord& record, bool all) {
  if (!op.want_checksum || !record.checksum) return std::nullopt;
  if (!op.part_number || record.parts.empty()) return all ? record.checksum : std::nullopt;
  const bucket::PartRecord& part = record.parts[static_cast<std::size_t>(*op.part_number) - 1];
  if (part.checksum.empty()) return std::nullopt;
  return s3wire::KeptChecksum{record.checksum->kind, part.checksum, record.checksum->whole};
}

std::vector<s3wire::PartEntry> parts_of(const bucket::ObjectRecord& record) {
  std::vector<s3wire::PartEntry> parts;
  for (const bucket::PartRecord& part : record.parts) {
    s3wire::PartEntry entry;
    entry.number = static_cast<int>(parts.size()) + 1;
    entry.size = part.size;
    if (record.checksum && !part.checksum.empty())
      entry.checksum = s3wire::GivenChecksum{record.checksum->kind,
                                             from_base64(part.checksum).value_or(std::string())};
    parts.push_back(std::move(entry));
  }
  return parts;
}

}  // namespace

std::string quoted(const std::string& etag) {
  return "\"" + etag + "\"";
}

aws::Refusal no_such_key(const S3Call& call) {
  aws::Refusal error = aws::s3_refusal("NoSuchKey");
  error.more = {{"Key", call.op.key}};
  return error;
}

void add_checksum_headers(http::Reply& reply, const s3wire::KeptChecksum& checksum) {
  reply.headers.emplace_back(s3wire::checksum_header(checksum.kind), checksum.text);
  reply.headers.emplace_back("x-amz-checksum-type", checksum.whole ? "FULL_OBJECT" : "COMPOSITE");
}

Task<Answered> get_object(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  const s3wire::S3Operation& op = call.op;
  Result<std::optional<bucket::OpenedObject>> found = bucket->find(op.key, !call.is_head());
  if (!found) co_return bucket::disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  bucket::OpenedObject& object = **found;
  const bucket::ObjectRecord& record = object.record;
  const s3wire::Precondition precondition =
      op.conditions.none() ? s3wire::Precondition::proceed
                           : s3wire::read_precondition(op.conditions, record.etag, record.modified);
  if (precondition == s3wire::Precondition::failed) co_return aws::s3_refusal("PreconditionFailed");
  if (precondition == s3wire::Precondition::not_modified) {
    http::Reply reply = call.fresh_reply(304);
    add_object_headers(reply, call, record);
    co_return co_await send(call, std::move(reply));
  }
  Wanted want = wanted(op, record);
  if (!want) co_return want.error();
  const bool whole = !want->has_value();
  const s3wire::ByteSpan span = want->value_or(s3wire::ByteSpan{0, record.size});
  http::Reply reply = call.fresh_reply(whole ? 200 : 206);
  add_object_headers(reply, call, record);
  if (!whole && record.size > 0)
    reply.headers.emplace_back("Content-Range", s3wire::content_range(span, record.size));
  if (op.part_number && !record.parts.empty())
    reply.headers.emplace_back("x-amz-mp-parts-count", std::to_string(record.parts.size()));
  const bool all = span.offset == 0 && span.bytes == record.size;
  if (const std::optional<s3wire::KeptChecksum> sum = sum_shown(op, record, all))
    add_checksum_headers(reply, *sum);
  if (object.is_small) {
    if (all)
      reply.body = std::move(object.small);
    else
      reply.body = object.small.substr(span.offset, span.bytes);
  } else {
    reply.file = std::move(object.file);
    reply.file_offset = span.offset;
    reply.file_bytes = span.bytes;
  }
  co_return co_await send(call, std::move(reply));
}

Task<Answered> get_attributes(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<std::optional<bucket::OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return bucket::disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  const bucket::ObjectRecord& record = (*found)->record;
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/xml");
  reply.headers.emplace_back("Last-Modified", http_date(record.modified));
  reply.body = s3wire::attributes_xml(
      call.op, {record.etag, record.size, record.checksum, parts_of(record)});
  co_return co_await send(call, std::move(reply));
}

Task<Answered> get_tagging(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<std::optional<bucket::OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return bucket::disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  std::string xml = s3wire::tagging_xml((*found)->record.metadata.tags);
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> get_object_acl(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<std::optional<bucket::OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return bucket::disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  std::string xml = s3wire::acl_xml();
  co_return co_await send_xml(call, std::move(xml));
}

Task<Answered> put_object_acl(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  Result<std::optional<bucket::OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return bucket::disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  http::Reply reply = call.fresh_reply(200);
  co_return co_await send(call, std::move(reply));
}

Task<Answered> list_bucket(S3Call& call, std::shared_ptr<bucket::Bucket> bucket) {
  if (!bucket->indexed()) {
    const auto work = [bucket] { return bucket->index(); };
    const Result<void> done = co_await loop::in_thread(call.exchange.loop(), work);
    if (!done) co_return bucket::disk_failure(done.error());
  }
  http::Reply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/xml");
  reply.headers.emplace_back("x-amz-bucket-region", call.options.region);
  reply.body = s3wire::listing_xml(call.op, bucket->page(call.op.list));
  co_return co_await send(call, std::move(reply));
}

}  // namespace muster::s3server
