// Signatures of requests: heads without a signature, and a valid one with any text around it.
//
// 'h': a head, as head.h has it: never its key's, whose secret is drawn when the target starts.
// 'a': an Authorization header; 'q': a query. In both "{C}", "{H}" and "{S}" stand for Credential,
// SignedHeaders and Signature of a request that the client signed for "sts". The request is the
// key's only if the header is those three parts; it is never one for another service.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/access/verify.h"
#include "aws/sign.h"
#include "base/fd.h"
#include "base/text.h"
#include "fuzz.h"
#include "head.h"

namespace muster {

namespace {

using access::Verified;

constexpr UnixMillis then{1440938160000};  // 2015-08-30 12:36:00
constexpr std::string_view id = "AKIDEXAMPLE";

const std::string& secret() {
  static const std::string drawn = hex(random_bytes(16));
  return drawn;
}

/// By hashes: what is compared with the secret itself the fuzzer sees, and writes into its inputs.
bool tells_secret(std::string_view text) {
  const std::hash<std::string_view> hash;
  static const std::size_t of_secret = hash(secret());
  for (std::size_t at = 0; at + secret().size() <= text.size(); ++at)
    if (hash(text.substr(at, secret().size())) == of_secret) return true;
  return false;
}

access::KeyRing& ring() {
  static access::KeyRing keys;
  access::AccessKey key;
  key.id = id;
  key.secret = secret();
  CHECK_THAT(keys.add(key), "a key");
  return keys;
}

/// For every service that may be asked for; true if it is the key's for "sts".
bool is_the_keys(const aws::RequestHead& head) {
  static access::Verifier verifier(ring());
  const std::string body = aws::sha256_hex("");
  const auto asked = [&](std::string_view service) {
    const auto got = verifier.verify(head, {.now = then, .service = service, .body_sha256 = body});
    if (!got) {
      for (const access::Dialect dialect :
           {access::Dialect::s3, access::Dialect::json, access::Dialect::query}) {
        const aws::Refusal error = answer_to(got.error(), dialect);
        CHECK_THAT(!error.code.empty() && !error.message.empty(), "a refusal says why");
        CHECK_THAT(!tells_secret(error.message), "and tells no secret");
      }
      return false;
    }
    const Verified& verified = *got;
    CHECK_THAT(verified.service == service && verified.key->id == id, "what was asked for");
    CHECK_THAT(access::claimed_service(head) == service, "and what was routed by");
    return true;
  };
  for (const char* other : {"", "s3", "sagemaker", "logs"})
    CHECK_THAT(!asked(other), "a signature is for one service");
  return asked("sts");
}

struct Honest {
  aws::Pairs headers;
  std::string parts[3];  ///< "Credential=…", "SignedHeaders=…", "Signature=…".
};

Honest honest() {
  Honest made;
  made.headers = {{"host", "h"}, {"x-amz-target", "T.Operation"}};
  const aws::SignRequest request{"POST", "/", {}, made.headers, aws::sha256_hex("")};
  for (auto& [name, value] :
       sign(request, {"sts", "us-east-1", then}, {std::string(id), secret(), ""})) {
    if (!same_letters(name, "authorization")) {
      made.headers.emplace_back(name, value);
      continue;
    }
    const std::vector<std::string> words = split(value.substr(value.find(' ') + 1), ',');
    for (std::size_t i = 0; i < 3; ++i) made.parts[i] = trim(words.at(i));
  }
  return made;
}

/// With the honest values in place of "{C}", "{H}" and "{S}".
std::string filled(std::string_view text, const Honest& made) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t which =
        std::string_view("CHS").find(text.substr(i).size() > 2 ? text[i + 1] : 0);
    if (text[i] == '{' && which < 3 && text[i + 2] == '}') {
      out += made.parts[which].substr(made.parts[which].find('=') + 1);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

bool are_the_parts(std::string_view authorization, const Honest& made) {
  constexpr std::string_view algorithm = "AWS4-HMAC-SHA256 ";
  if (!authorization.starts_with(algorithm)) return false;
  std::vector<std::string> words = split(std::string(authorization.substr(algorithm.size())), ',');
  for (std::string& word : words) word = trim(word);
  std::sort(words.begin(), words.end());
  std::vector<std::string> want(std::begin(made.parts), std::end(made.parts));
  std::sort(want.begin(), want.end());
  return words == want;
}

void authorization(std::string_view text) {
  Honest made = honest();
  const std::string value = filled(text, made);
  made.headers.emplace_back("Authorization", value);
  const std::vector<aws::HeaderView> views(made.headers.begin(), made.headers.end());
  const bool taken = is_the_keys({"POST", "/", views});
  if (taken) CHECK_THAT(are_the_parts(value, made), "three parts, each once, and no other");
  const std::string plain = "AWS4-HMAC-SHA256 " + made.parts[0] + ", " + made.parts[1] + ", ";
  if (value == plain + made.parts[2]) CHECK_THAT(taken, "what the client signed is its key's");
}

/// The signature is that of a header: in a query it is invalid.
void query(std::string_view text) {
  const Honest made = honest();
  const std::string target = "/?" + filled(text, made);
  const std::vector<aws::HeaderView> views(made.headers.begin(), made.headers.end());
  CHECK_THAT(!is_the_keys({"POST", target, views}), "no query with that signature");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'h') CHECK_THAT(!is_the_keys(head_of(text).view()), "signed by nobody");
  if (data[0] == 'a') authorization(text);
  if (data[0] == 'q') query(text);
  return 0;
}

}  // namespace muster
