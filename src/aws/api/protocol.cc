#include "aws/api/protocol.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "aws/api/cbor_protocol.h"
#include "aws/api/json_protocol.h"
#include "aws/api/model.h"
#include "aws/api/model_table.h"
#include "aws/api/query_protocol.h"

namespace muster::api {

namespace {

constexpr std::string_view rpc_v2_cbor = "rpc-v2-cbor";
constexpr std::size_t name_bytes_max = 128;

bool is_json(Protocol protocol) {
  return protocol == Protocol::json_1_0 || protocol == Protocol::json_1_1;
}

bool is_form(const ApiHead& head) {
  return head.content_type.starts_with("application/x-www-form-urlencoded");
}

bool is_query(Protocol protocol) {
  return protocol == Protocol::query || protocol == Protocol::ec2;
}

std::string_view target_prefix(const ApiHead& head) {
  const std::string_view target = head.target;
  return target.substr(0, std::min(target.rfind('.'), target.size()));
}

/// "GraniteServiceVersion20100801" of "/service/GraniteServiceVersion20100801/operation/...".
std::string_view cbor_service(std::string_view path) {
  constexpr std::string_view prefix = "/service/";
  if (!path.starts_with(prefix)) return {};
  path.remove_prefix(prefix.size());
  return path.substr(0, path.find('/'));
}

Protocol protocol_of(const ApiHead& head) {
  if (head.smithy_protocol == rpc_v2_cbor) return Protocol::cbor;
  const Service* service = find_service(head.scope_service);
  if (!head.target.empty() || head.content_type.starts_with("application/x-amz-json"))
    return head.content_type.starts_with("application/x-amz-json-1.0") ? Protocol::json_1_0
                                                                       : Protocol::json_1_1;
  if (service != nullptr && service->style == Style::ec2) return Protocol::ec2;
  if (service != nullptr && service->style == Style::query) return Protocol::query;
  return is_form(head) || head.method == "GET" ? Protocol::query : Protocol::json_1_1;
}

/// The service whose operation is asked for; null if none that muster serves.
const Service* service_of(const ApiHead& head, Protocol protocol) {
  if (is_json(protocol)) return find_target(target_prefix(head));
  if (protocol == Protocol::cbor)
    if (const Service* service = find_target(cbor_service(head.path))) return service;
  return find_service(head.scope_service);
}

std::string operation_of(const ApiHead& head, Protocol protocol, std::string_view form) {
  if (is_query(protocol)) return query_action(form);
  if (protocol == Protocol::cbor) return std::string(cbor_operation(head.path));
  const std::size_t dot = head.target.rfind('.');
  return dot == std::string::npos ? head.target : head.target.substr(dot + 1);
}

/// SageMaker's operations about models that answer: hosting and batch transform.
bool is_hosting(std::string_view operation) {
  for (const char* what : {"Endpoint", "Transform", "Inference"})
    if (operation.find(what) != std::string_view::npos) return true;
  return operation.ends_with("Model") || operation.ends_with("Models");
}

aws::Refusal no_hosting(const std::string& operation) {
  return {"UnknownOperationException",
          operation +
              ": muster trains models, but does not host them (CreateModel, endpoints, batch "
              "transform). Deploy the model from S3 with another tool."};
}

aws::Refusal no_pipelines(const std::string& operation) {
  return {"UnknownOperationException",
          operation +
              ": muster does not support pipelines; decorate the functions with @remote instead of "
              "@step, or submit the job of each step with CreateTrainingJob."};
}

aws::Refusal unknown_operation(const ApiHead& head, Protocol protocol,
                               const std::string& operation) {
  const std::string name = operation.substr(0, name_bytes_max);
  const Service* service = service_of(head, protocol);
  if (service == &sagemaker_model && is_hosting(name)) return no_hosting(name);
  if (service == &sagemaker_model && name.find("Pipeline") != std::string::npos)
    return no_pipelines(name);
  // InvokeEndpoint is sagemaker-runtime's, whose requests name no operation.
  if (head.scope_service == sagemaker_model.name && head.path.ends_with("/invocations"))
    return no_hosting("InvokeEndpoint");
  const char* code = is_query(protocol) ? "InvalidAction" : "UnknownOperationException";
  if (name.empty())
    return {code, is_query(protocol) ? "No Action is given." : "No operation is named."};
  return {code, name + " is not implemented by muster."};
}

aws::Refusal wrong_scope(Protocol protocol, const Service& service) {
  const std::string text =
      "Credential should be scoped to correct service: '" + std::string(service.name) + "'.";
  if (is_query(protocol)) return {"SignatureDoesNotMatch", text, 403};
  return {"InvalidSignatureException", text};
}

/// Takes members that are null out of the structures that the model knows.
void drop_nulls(const Service& service, const Shape& shape, Json& value) {
  if (shape.kind == Kind::structure && value.is_object()) {
    for (const Member& member : service.members_of(shape)) {
      const auto found = value.find(member.name);
      if (found == value.end()) continue;
      if (found->is_null())
        value.erase(found);
      else
        drop_nulls(service, service.shapes[member.shape], *found);
    }
  } else if (shape.kind == Kind::list && value.is_array()) {
    const Shape& element = service.shapes[service.members_of(shape)[0].shape];
    for (Json& each : value) drop_nulls(service, element, each);
  }
}

Result<Json, aws::Refusal> read_input(Protocol protocol, const Service& service,
                                      const Operation& operation, std::string_view body) {
  if (is_query(protocol)) return read_query(service, operation, body);
  return protocol == Protocol::cbor ? read_cbor(body) : read_json(body);
}

std::string written(const Reply& reply, const Json& output) {
  if (is_json(reply.protocol)) return to_text(output);
  const Service* service = find_service(reply.service);
  const Operation* operation = service ? find_operation(*service, reply.operation) : nullptr;
  CHECK_THAT(operation != nullptr, "an answer to an operation that is not in the model");
  if (reply.protocol == Protocol::cbor) return write_cbor(*service, *operation, output);
  return write_query(*service, *operation, output, reply.request_id);
}

std::string written(const Reply& reply, const aws::Refusal& refusal) {
  switch (reply.protocol) {
    case Protocol::cbor:
      return write_cbor_refusal(refusal);
    case Protocol::query:
      return write_query_refusal(find_service(reply.service), refusal, reply.request_id);
    case Protocol::ec2:
      return write_ec2_refusal(refusal, reply.request_id);
    default:
      return write_json_refusal(refusal);
  }
}

std::string_view content_type(Protocol protocol) {
  switch (protocol) {
    case Protocol::json_1_0:
      return "application/x-amz-json-1.0";
    case Protocol::json_1_1:
      return "application/x-amz-json-1.1";
    case Protocol::cbor:
      return "application/cbor";
    default:
      return "text/xml;charset=UTF-8";
  }
}

}  // namespace

aws::Refusal body_too_large() {
  return {"RequestEntityTooLargeException",
          "The body is larger than " + std::to_string(api_body_bytes_max) + " bytes.", 413};
}

ApiHead api_head(const aws::RequestHead& head) {
  const auto text = [&](std::string_view name) {
    return std::string(head.header(name).value_or(std::string_view()));
  };
  return {.method = std::string(head.method),
          .path = std::string(head.path()),
          .query = std::string(head.query()),
          .target = text("x-amz-target"),
          .content_type = text("content-type"),
          .smithy_protocol = text("smithy-protocol"),
          .query_mode = text("x-amzn-query-mode"),
          .invocation = text("amz-sdk-invocation-id")};
}

bool is_of_an_api(const ApiHead& head) {
  if (!head.scope_service.empty()) return !head.scope_service.starts_with("s3");
  return !head.target.empty() || head.smithy_protocol == rpc_v2_cbor ||
         head.content_type.starts_with("application/x-amz-json") ||
         (is_form(head) && head.method == "POST" && head.path == "/");
}

Reply reply_for(const ApiHead& head, std::string request_id) {
  Reply reply{.protocol = protocol_of(head), .request_id = std::move(request_id)};
  if (const Service* service = service_of(head, reply.protocol))
    reply.service = std::string(service->name);
  reply.query_errors = head.query_mode == "true" && !is_query(reply.protocol);
  return reply;
}

/// SageMaker's operations of muster's own, each read as one of AWS's.
struct OwnOperation {
  std::string_view name;
  std::string_view like;
  Own own;
};
constexpr std::array<OwnOperation, 6> own_operations = {{
    {"CheckTrainingJob", "CreateTrainingJob", Own::check},
    {"CreateWebLink", "ListTrainingJobs", Own::web_link},
    {"DescribeTrainingJobNativeStacks", "DescribeTrainingJob", Own::native_stacks},
    {"DescribeTrainingJobStacks", "DescribeTrainingJob", Own::stacks},
    {"DescribeTrainingJobTimeline", "DescribeTrainingJob", Own::timeline},
    {"DescribeTrainingJobUsage", "DescribeTrainingJob", Own::usage},
}};

/// The operation's own meaning, if it has one; `name` becomes that of AWS's.
Own take_own(const Service* service, std::string& name) {
  if (service != &sagemaker_model) return Own::none;
  for (const OwnOperation& each : own_operations) {
    if (each.name != name) continue;
    name = each.like;
    return each.own;
  }
  return Own::none;
}

RequestRead read_request(const ApiHead& head, std::string_view body, std::string request_id) {
  Reply reply = reply_for(head, std::move(request_id));
  const Protocol protocol = reply.protocol;
  const std::string_view form = head.method == "GET" ? std::string_view(head.query) : body;
  std::string name = operation_of(head, protocol, form);
  const Service* service = service_of(head, protocol);
  const Own own = take_own(service, name);
  const Operation* operation = service ? find_operation(*service, name) : nullptr;
  if (operation == nullptr) return {std::move(reply), unknown_operation(head, protocol, name)};
  reply.operation = name;
  if (head.scope_service != service->name)
    return {std::move(reply), wrong_scope(protocol, *service)};
  Result<Json, aws::Refusal> input = read_input(protocol, *service, *operation, form);
  if (!input) return {std::move(reply), input.error()};
  Request request{.service = std::string(service->name),
                  .operation = name,
                  .input = *std::move(input),
                  .access_key = head.access_key,
                  .invocation = head.invocation,
                  .own = own,
                  .signer = head.signer,
                  .session = head.session};
  if (operation->input != no_shape)
    drop_nulls(*service, service->shapes[operation->input], request.input);
  return {std::move(reply), std::move(request)};
}

ApiAnswer write_answer(const Reply& reply, const Answer& answer) {
  ApiAnswer written_answer;
  auto& headers = written_answer.headers;
  headers.emplace_back("Content-Type", content_type(reply.protocol));
  headers.emplace_back("x-amzn-RequestId", reply.request_id);
  if (reply.protocol == Protocol::cbor) headers.emplace_back("smithy-protocol", rpc_v2_cbor);
  if (answer) {
    written_answer.body = written(reply, answer->is_null() ? Json::object() : *answer);
    return written_answer;
  }
  const aws::Refusal& refusal = answer.error();
  written_answer.status = refusal.status;
  if (is_json(reply.protocol)) headers.emplace_back("x-amzn-ErrorType", refusal.code);
  if (reply.query_errors)
    headers.emplace_back("x-amzn-query-error",
                         refusal.code + (refusal.status < 500 ? ";Sender" : ";Receiver"));
  written_answer.body = written(reply, refusal);
  return written_answer;
}

}  // namespace muster::api
