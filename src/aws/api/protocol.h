#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aws/api/request.h"
#include "aws/request_head.h"

namespace muster::api {

/// From HTTP to requests of an API, and from answers to HTTP, for every protocol that AWS's
/// clients speak with the services here.
///
/// Pure: the caller has read the whole body, bounded it by api_body_bytes_max, and checked the
/// signature.
/// Within a Request's input and an Answer's Json all protocols agree: a timestamp is epoch seconds
/// (a number; Logs' own longs are milliseconds) and numbers are numbers. Source: smithy.io
/// (awsJson 1.0 and 1.1, awsQuery, ec2Query, rpcv2Cbor, awsQueryCompatible).

enum class Protocol : std::uint8_t { json_1_0, json_1_1, query, ec2, cbor };

/// What the protocols read of an HTTP request's head. Empty where it has no such header.
struct ApiHead {
  std::string method = {};
  std::string path = {};             ///< Without query; "/".
  std::string query = {};            ///< Behind '?'; Query's fields with GET.
  std::string target = {};           ///< X-Amz-Target.
  std::string content_type = {};     ///< Content-Type.
  std::string smithy_protocol = {};  ///< Smithy-Protocol: "rpc-v2-cbor".
  std::string query_mode = {};       ///< X-Amzn-Query-Mode.
  std::string invocation = {};       ///< Amz-Sdk-Invocation-Id.
  std::string scope_service = {};    ///< As the credential scope has it: "sts".
  std::string access_key = {};       ///< The signer's; of a temporary one its maker.
  std::string signer = {};           ///< As it signed.
  std::string session = {};          ///< As Request::session.
};

/// More than any request within the model's bounds needs, each character escaped as it may be.
constexpr std::size_t api_body_bytes_max = 4u << 20;
/// For a body beyond it. Status 413.
aws::Refusal body_too_large();

/// What is in the head; the scope's service and the key are for who checks the signature to fill
/// in.
ApiHead api_head(const aws::RequestHead& head);

/// The form of any response to a request; kept with the request until it is answered.
struct Reply {
  Protocol protocol = Protocol::json_1_1;
  std::string service = {};    ///< Empty if none could be read.
  std::string operation = {};  ///< Empty if it could not be read, either.
  std::string request_id = {};
  bool query_errors = false;  ///< JSON or CBOR with Query's error codes in a header (CloudWatch).
};

struct ApiAnswer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  ///< Without Content-Length.
  std::string body;
};

/// True if it is for an API and not S3's: by the scope's service, else by the headers; a form that
/// is posted to "/" is one of Query's.
bool is_of_an_api(const ApiHead& head);

/// How to answer `head` before its body is read; never fails, so that what is refused for its
/// size or its signature is answered in its protocol too.
Reply reply_for(const ApiHead& head, std::string request_id);

/// A request, or why it is invalid; the reply has the operation if it could be read.
struct RequestRead {
  Reply reply;
  Result<Request, aws::Refusal> request;
};

/// Codes: UnknownOperationException (InvalidAction in Query), SerializationException
/// (MalformedInput in Query), InvalidSignatureException (SignatureDoesNotMatch) if the scope is
/// missing, or of another service than the operation. Removes members with the value null from
/// structures of the input; other values are not checked: validate() it.
RequestRead read_request(const ApiHead& head, std::string_view body, std::string request_id);

/// Never fails: in XML what does not fit the model is left out.
ApiAnswer write_answer(const Reply& reply, const Answer& answer);

}  // namespace muster::api
