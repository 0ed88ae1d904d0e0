// What reads: objects, their attributes and tags, listings.

#include "base/base64.h"
#include "base/text.h"
#include "loop/worker.h"
#include "objects/s3_server_call.h"

namespace muster::objects {
namespace {

using loop::HttpReply;
using loop::Task;

/// The part that a range or a part number asks for; none: the whole object.
struct Wanted {
  std::optional<ByteSpan> span{};
  std::optional<AwsError> error{};
};

Wanted part_wanted(const ObjectRecord& record, int number) {
  if (record.parts.empty() && number == 1) return {.span = ByteSpan{0, record.size}};
  ByteSpan span;
  for (int i = 0; i < number; ++i) {
    if (static_cast<std::size_t>(i) >= record.parts.size())
      return {.error = s3_failure_of("InvalidPartNumber")};
    span.offset += span.bytes;
    span.bytes = record.parts[static_cast<std::size_t>(i)].size;
  }
  return {.span = span};
}

Wanted wanted(const S3Operation& op, const ObjectRecord& record) {
  if (op.part_number && op.range)
    return {.error = s3_failure_of("InvalidRequest",
                                   "Cannot specify both Range header and partNumber query "
                                   "parameter")};
  if (op.part_number) return part_wanted(record, *op.part_number);
  if (!op.range) return {};
  const std::optional<ByteSpan> span = resolved(*op.range, record.size);
  if (span) return {.span = span};
  AwsError error = s3_failure_of("InvalidRange");
  error.more = {{"ActualObjectSize", std::to_string(record.size)}};
  return {.error = std::move(error)};
}

void add_object_headers(HttpReply& reply, const S3Call& call, const ObjectRecord& record) {
  reply.headers.emplace_back("ETag", quoted(record.etag));
  reply.headers.emplace_back("Last-Modified", http_date(record.modified));
  if (reply.status == 304) return;
  reply.headers.emplace_back("Accept-Ranges", "bytes");
  for (auto& header : metadata_headers(record.metadata, call.op.response_headers))
    reply.headers.push_back(std::move(header));
}

/// Of the whole object, or of the part that was asked for.
std::optional<KeptChecksum> sum_shown(const S3Operation& op, const ObjectRecord& record, bool all) {
  if (!op.want_checksum || !record.checksum) return std::nullopt;
  if (!op.part_number || record.parts.empty()) return all ? record.checksum : std::nullopt;
  const PartRecord& part = record.parts[static_cast<std::size_t>(*op.part_number) - 1];
  if (part.checksum.empty()) return std::nullopt;
  return KeptChecksum{record.checksum->kind, part.checksum, record.checksum->whole};
}

std::vector<PartEntry> parts_of(const ObjectRecord& record) {
  std::vector<PartEntry> parts;
  for (const PartRecord& part : record.parts) {
    PartEntry entry;
    entry.number = static_cast<int>(parts.size()) + 1;
    entry.size = part.size;
    if (record.checksum && !part.checksum.empty())
      entry.checksum =
          GivenChecksum{record.checksum->kind, from_base64(part.checksum).value_or(std::string())};
    parts.push_back(std::move(entry));
  }
  return parts;
}

}  // namespace

std::string quoted(const std::string& etag) {
  return "\"" + etag + "\"";
}

AwsError no_such_key(const S3Call& call) {
  AwsError error = s3_failure_of("NoSuchKey");
  error.more = {{"Key", call.op.key}};
  return error;
}

void add_checksum_headers(HttpReply& reply, const KeptChecksum& checksum) {
  reply.headers.emplace_back(checksum_header(checksum.kind), checksum.text);
  reply.headers.emplace_back("x-amz-checksum-type", checksum.whole ? "FULL_OBJECT" : "COMPOSITE");
}

Task<S3Outcome> get_object(S3Call& call, std::shared_ptr<Bucket> bucket) {
  const S3Operation& op = call.op;
  Result<std::optional<OpenedObject>> found = bucket->find(op.key, !call.is_head());
  if (!found) co_return disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  OpenedObject& object = **found;
  const ObjectRecord& record = object.record;
  const Verdict verdict = op.conditions.none()
                              ? Verdict::proceed
                              : read_verdict(op.conditions, record.etag, record.modified);
  if (verdict == Verdict::failed) co_return s3_failure_of("PreconditionFailed");
  if (verdict == Verdict::not_modified) {
    HttpReply reply = call.fresh_reply(304);
    add_object_headers(reply, call, record);
    co_return co_await send(call, std::move(reply));
  }
  Wanted want = wanted(op, record);
  if (want.error) co_return std::move(want.error);
  const bool whole = !want.span;
  const ByteSpan span = want.span.value_or(ByteSpan{0, record.size});
  HttpReply reply = call.fresh_reply(whole ? 200 : 206);
  add_object_headers(reply, call, record);
  if (!whole && record.size > 0)
    reply.headers.emplace_back("Content-Range", content_range(span, record.size));
  if (op.part_number && !record.parts.empty())
    reply.headers.emplace_back("x-amz-mp-parts-count", std::to_string(record.parts.size()));
  const bool all = span.offset == 0 && span.bytes == record.size;
  if (const std::optional<KeptChecksum> sum = sum_shown(op, record, all))
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

Task<S3Outcome> get_attributes(S3Call& call, std::shared_ptr<Bucket> bucket) {
  Result<std::optional<OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  const ObjectRecord& record = (*found)->record;
  HttpReply reply = call.fresh_reply(200);
  reply.headers.emplace_back("Content-Type", "application/xml");
  reply.headers.emplace_back("Last-Modified", http_date(record.modified));
  reply.body =
      attributes_xml(call.op, {record.etag, record.size, record.checksum, parts_of(record)});
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> get_tagging(S3Call& call, std::shared_ptr<Bucket> bucket) {
  Result<std::optional<OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  std::string xml = tagging_xml((*found)->record.metadata.tags);
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> get_object_acl(S3Call& call, std::shared_ptr<Bucket> bucket) {
  Result<std::optional<OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  std::string xml = acl_xml();
  co_return co_await send_xml(call, std::move(xml));
}

Task<S3Outcome> put_object_acl(S3Call& call, std::shared_ptr<Bucket> bucket) {
  Result<std::optional<OpenedObject>> found = bucket->find(call.op.key, false);
  if (!found) co_return disk_failure(found.error());
  if (!*found) co_return no_such_key(call);
  HttpReply reply = call.fresh_reply(200);
  co_return co_await send(call, std::move(reply));
}

Task<S3Outcome> list_bucket(S3Call& call, std::shared_ptr<Bucket> bucket) {
  if (!bucket->indexed()) {
    std::function<Result<void>()> work = [bucket] { return bucket->index(); };
    const Result<void> done = co_await loop::in_thread(call.exchange.loop(), std::move(work));
    if (!done) co_return disk_failure(done.error());
  }
  std::string xml = listing_xml(call.op, bucket->page(call.op.list));
  co_return co_await send_xml(call, std::move(xml));
}

}  // namespace muster::objects
