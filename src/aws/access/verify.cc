#include "aws/access/verify.h"

#include <algorithm>
#include <array>

#include "aws/access/canonical.h"
#include "aws/access/signature_claim.h"
#include "aws/access/version_2.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::access {
namespace {

constexpr std::chrono::minutes skew_max{15};
constexpr std::chrono::hours version_2_max{7 * 24};
constexpr std::size_t derived_max = 1024;
constexpr std::string_view empty_sha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct PayloadForm {
  std::string_view text;
  Payload payload;
};
constexpr std::array payload_forms = {
    PayloadForm{aws::unsigned_payload, Payload::unsigned_},
    PayloadForm{"STREAMING-UNSIGNED-PAYLOAD-TRAILER", Payload::chunked_unsigned_trailer},
    PayloadForm{"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", Payload::chunked_signed},
    PayloadForm{"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", Payload::chunked_signed_trailer},
};

bool is_named(std::string_view names, std::string_view name) {
  while (!names.empty())
    if (same_letters(next_name(names), name)) return true;
  return false;
}

/// Host and all x-amz- headers have to be signed: else a signature would hold for another request.
Result<void, AuthRefusal> check_signed_headers(const aws::RequestHead& head, const Claim& claim) {
  std::string left_out;
  if (!is_named(claim.signed_headers, "host")) left_out = "host";
  for (const auto& [name, value] : head.headers)
    if (aws::is_x_amz(name) && !is_named(claim.signed_headers, name))
      (left_out += left_out.empty() ? "" : ", ") += name;
  if (left_out.empty()) return {};
  return AuthRefusal{AuthFailure::unsigned_headers, left_out, {{"HeadersNotSigned", left_out}}};
}

/// A URL of Version 2 says when it ends, and not when it was made.
Result<void, AuthRefusal> check_end(const Claim& claim, UnixMillis now) {
  const aws::Pairs more = {{"Expires", iso_date(claim.time)}, {"ServerTime", iso_date(now)}};
  if (claim.time <= now) return AuthRefusal{AuthFailure::expired, "", more};
  if (claim.time > now + version_2_max)
    return AuthRefusal{AuthFailure::bad_expires, "Expires must be at most a week in the future",
                       more};
  return {};
}

Result<void, AuthRefusal> check_time(const Claim& claim, UnixMillis now) {
  if (claim.version_2) return check_end(claim, now);
  const auto at = [&](AuthFailure failure) {
    return AuthRefusal{failure,
                       std::string(claim.time_text),
                       {{"RequestTime", iso_date(claim.time)}, {"ServerTime", iso_date(now)}}};
  };
  if (claim.presigned) {
    if (claim.time > now + skew_max) return at(AuthFailure::not_yet_valid);
    if (claim.time + claim.expires >= now && claim.expires.count() > 0) return {};
    AuthRefusal refused = at(AuthFailure::expired);
    refused.more = {{"X-Amz-Expires", std::to_string(claim.expires.count())},
                    {"Expires", iso_date(claim.time + claim.expires)},
                    {"ServerTime", iso_date(now)}};
    return refused;
  }
  const auto apart = now > claim.time ? now - claim.time : claim.time - now;
  if (apart <= skew_max) return {};
  AuthRefusal refused = at(AuthFailure::skewed);
  refused.more.emplace_back("MaxAllowedSkewMilliseconds",
                            std::to_string(UnixMillis(skew_max).count()));
  return refused;
}

/// Sets what the signature says of the body; false if it says nothing that is known.
bool set_payload(Verified& verified, std::string_view said) {
  for (const PayloadForm& form : payload_forms) {
    if (said != form.text) continue;
    verified.payload = form.payload;
    return true;
  }
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  if (said.size() != 64 || !std::all_of(said.begin(), said.end(), is_digit)) return false;
  verified.payload = Payload::hash;
  verified.payload_hash = said;
  for (char& c : verified.payload_hash)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c + 32);
  return true;
}

std::string canonical_request(const aws::RequestHead& head, const Claim& claim,
                              std::string_view payload) {
  std::string text;
  text.reserve(1024);
  (text += head.method) += '\n';
  put_canonical_path(text, head.path(), claim.service == "s3");
  text += '\n';
  put_canonical_query(text, head.query(), claim.presigned ? "X-Amz-Signature" : "");
  text += '\n';
  put_canonical_headers(text, head, claim.signed_headers);
  ((((text += '\n') += claim.signed_headers) += '\n') += payload);
  return text;
}

aws::Sha256Bytes derived_key(const AccessKey& key, const Claim& claim) {
  aws::Sha256Bytes bytes = aws::hmac_sha256("AWS4" + key.secret, claim.day);
  for (const std::string_view part :
       {claim.region, claim.service, std::string_view("aws4_request")})
    bytes = aws::hmac_sha256(aws::view_of(bytes), part);
  return bytes;
}

Result<void, AuthRefusal> check_scope(const Claim& claim, std::string_view service) {
  if (!service.empty() && claim.service == service) return {};
  if (service != "s3")
    return AuthRefusal{
        AuthFailure::wrong_service,
        "Credential should be scoped to correct service: '" + std::string(service) + "'.",
        {}};
  return AuthRefusal{
      claim.presigned ? AuthFailure::malformed_query : AuthFailure::malformed_header,
      "incorrect service \"" + to_utf8(claim.service) + "\". This endpoint belongs to \"s3\".",
      {}};
}

/// `key` may be null: unknown.
Result<void, AuthRefusal> check_key(const AccessKey* key, std::string_view id,
                                    std::string_view token, UnixMillis now) {
  if (key == nullptr)
    return AuthRefusal{AuthFailure::unknown_key, "", {{"AWSAccessKeyId", to_utf8(id)}}};
  if (!aws::same_bytes(key->session_token, token))
    return AuthRefusal{AuthFailure::bad_token, "", {}};
  if (key->expires && *key->expires <= now) return AuthRefusal{AuthFailure::expired_token, "", {}};
  return {};
}

}  // namespace

Result<CheckedHead, AuthRefusal> Verifier::check_head(const aws::RequestHead& head, UnixMillis now,
                                                      std::string_view service) const {
  auto claim = std::make_shared<const Claim>(TRY(read_claim(head)));
  TRY(check_scope(*claim, service));
  std::shared_ptr<const AccessKey> key = keys_.find(claim->access_key);
  TRY(check_key(key.get(), claim->access_key, claim->token, now));
  TRY(check_time(*claim, now));
  if (claim->version_2 && key->policy.limited)
    return AuthRefusal{AuthFailure::unsupported,
                       "A job's key cannot sign URLs with Signature Version 2. Please use "
                       "AWS4-HMAC-SHA256; in boto3, set Config(signature_version=\"s3v4\").",
                       {}};
  if (!claim->version_2) TRY(check_signed_headers(head, *claim));
  return CheckedHead{std::move(key), std::move(claim)};
}

Result<Verified, AuthRefusal> Verifier::verify(const aws::RequestHead& head,
                                               const VerifyOptions& options) {
  const CheckedHead checked = TRY(check_head(head, options.now, options.service));
  return check_signature(head, checked, options.body_sha256, options.bucket);
}

Result<Verified, AuthRefusal> Verifier::check_signature(const aws::RequestHead& head,
                                                        const CheckedHead& checked,
                                                        std::string_view body_sha256,
                                                        std::string_view bucket) {
  const Claim& claim = *checked.claim;
  const std::shared_ptr<const AccessKey>& key = checked.key;
  if (keys_.find(claim.access_key) != key)
    return AuthRefusal{AuthFailure::unknown_key, "", {{"AWSAccessKeyId", key->id}}};
  if (claim.version_2) return check_version_2(head, checked, bucket);
  Verified verified;
  std::string_view payload = body_sha256.empty() ? empty_sha256 : body_sha256;
  if (claim.service == "s3") {
    payload = claim.payload;
    if (payload.empty() && claim.presigned) payload = aws::unsigned_payload;
  }
  if (!set_payload(verified, payload)) return AuthRefusal{AuthFailure::bad_payload_hash, "", {}};

  const std::string canonical = canonical_request(head, claim, payload);
  std::string prefix(claim.time_text);
  (((prefix += '\n') += claim.scope) += '\n');
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + prefix + hex(aws::view_of(aws::sha256(canonical)));
  const std::optional<aws::Sha256Bytes> kept = kept_key(key, claim.credential);
  const aws::Sha256Bytes signing_key = kept ? *kept : derived_key(*key, claim);
  if (!aws::same_bytes(hex(aws::view_of(aws::hmac_sha256(aws::view_of(signing_key), to_sign))),
                       claim.signature))
    return AuthRefusal{AuthFailure::mismatch,
                       "",
                       {{"AWSAccessKeyId", std::string(claim.access_key)},
                        {"StringToSign", to_sign},
                        {"SignatureProvided", std::string(claim.signature)},
                        {"CanonicalRequest", to_utf8(canonical)}}};
  if (!kept) keep_key(key, claim.credential, signing_key);
  verified.key = key;
  verified.service = claim.service;
  verified.region = claim.region;
  verified.presigned = claim.presigned;
  if (verified.payload == Payload::chunked_signed ||
      verified.payload == Payload::chunked_signed_trailer)
    verified.chunks = {signing_key, std::move(prefix), std::string(claim.signature)};
  return verified;
}

Result<Verified, AuthRefusal> Verifier::check_version_2(const aws::RequestHead& head,
                                                        const CheckedHead& checked,
                                                        std::string_view bucket) const {
  const Claim& claim = *checked.claim;
  const std::string text = version_2_text(head, bucket);
  if (!aws::same_bytes(version_2_signature(checked.key->secret, text), claim.signature))
    return AuthRefusal{AuthFailure::mismatch,
                       "",
                       {{"AWSAccessKeyId", checked.key->id},
                        {"StringToSign", to_utf8(text)},
                        {"SignatureProvided", to_utf8(claim.signature)}}};
  Verified verified;
  const bool says_nothing = claim.payload.empty() || claim.payload == aws::unsigned_payload;
  if (!set_payload(verified, says_nothing ? aws::unsigned_payload : claim.payload) ||
      (verified.payload != Payload::unsigned_ && verified.payload != Payload::hash))
    return AuthRefusal{AuthFailure::bad_payload_hash, "", {}};
  verified.key = checked.key;
  verified.service = claim.service;
  verified.presigned = true;
  verified.version_2 = true;
  return verified;
}

std::optional<aws::Sha256Bytes> Verifier::kept_key(const std::shared_ptr<const AccessKey>& key,
                                                   std::string_view id_and_scope) {
  const std::unique_lock lock(mutex_);
  const auto at = derived_.find(id_and_scope);
  if (at == derived_.end()) return std::nullopt;
  const std::weak_ptr<const AccessKey>& of = at->second.of;
  if (of.owner_before(key) || key.owner_before(of)) return std::nullopt;
  return at->second.key;
}

void Verifier::keep_key(const std::shared_ptr<const AccessKey>& key, std::string_view id_and_scope,
                        const aws::Sha256Bytes& signing_key) {
  const std::unique_lock lock(mutex_);
  if (derived_.size() >= derived_max) derived_.clear();
  derived_.insert_or_assign(std::string(id_and_scope), Derived{key, signing_key});
}

bool harmless_by_version_2(s3wire::S3Op op) {
  return op == s3wire::S3Op::get_object || op == s3wire::S3Op::head_object ||
         op == s3wire::S3Op::put_object || op == s3wire::S3Op::upload_part;
}

std::string claimed_service(const aws::RequestHead& head) {
  const Result<Claim, AuthRefusal> claim = read_claim(head);
  return claim ? std::string(claim->service) : std::string();
}

}  // namespace muster::access
