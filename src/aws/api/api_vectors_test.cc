#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "aws/api/protocol.h"
#include "aws/api/validate.h"
#include "base/text.h"

namespace muster::api {

namespace {

/// What tools/api_vectors.py made, or checks against botocore.
std::vector<Json> lines(const std::string& name) {
  std::ifstream file(std::string(MUSTER_SOURCE_DIR) + "/tests/data/" + name);
  std::vector<Json> all;
  for (std::string line; std::getline(file, line);) {
    Result<Json> json = parse_json(line);
    REQUIRE_MESSAGE(json, line);
    all.push_back(*std::move(json));
  }
  return all;
}

bool is_cbor(const Json& line) {
  return line.at("protocol") == "cbor";
}

Protocol protocol_of(const Json& line) {
  const std::string name = line.at("protocol");
  if (name == "cbor") return Protocol::cbor;
  if (name == "ec2") return Protocol::ec2;
  if (name == "query") return Protocol::query;
  return line.at("service") == "monitoring" ? Protocol::json_1_0 : Protocol::json_1_1;
}

}  // namespace

TEST_CASE("protocol: botocore's request for each operation is parsed to its input") {
  int count = 0;
  for (const Json& line : lines("api_requests.jsonl")) {
    CAPTURE(to_text(line));
    const ApiHead head{.method = "POST",
                       .path = line.at("path"),
                       .target = line.at("target"),
                       .content_type = line.at("content_type"),
                       .smithy_protocol = line.at("smithy_protocol"),
                       .query_mode = line.at("query_mode"),
                       .scope_service = line.at("service"),
                       .access_key = "AK"};
    const std::string text = line.at("body");
    const std::string body = is_cbor(line) ? from_hex(text).value_or("") : text;
    CHECK(is_of_an_api(head));
    const RequestRead read = read_request(head, body, "id");
    CHECK(read.reply.protocol == protocol_of(line));
    CHECK(read.reply.query_errors == (line.at("query_mode") == "true"));
    REQUIRE(read.request);
    const Request& request = *read.request;
    CHECK(request.service == line.at("service").get<std::string>());
    CHECK(request.operation == line.at("operation").get<std::string>());
    CHECK(request.input == line.at("input"));
    const Result<void, aws::Refusal> checked =
        validate(request.service, request.operation, request.input);
    CHECK_MESSAGE(checked, (checked ? "" : checked.error().message));
    ++count;
  }
  CHECK(count == 56);
}

TEST_CASE("protocol: answers are written as botocore was seen to read them") {
  int count = 0;
  for (const Json& line : lines("api_answers.jsonl")) {
    CAPTURE(to_text(line));
    const Reply reply{.protocol = protocol_of(line),
                      .service = line.at("service"),
                      .operation = line.at("operation"),
                      .request_id = "5f1c",
                      .query_errors = line.at("service") == "monitoring"};
    Answer answer = line.value("output", Json::object());
    if (line.contains("refusal"))
      answer =
          aws::Refusal{line["refusal"].at("code"), line["refusal"].at("message"), line["status"]};
    const ApiAnswer written = write_answer(reply, answer);
    CHECK(written.status == line.at("status").get<int>());
    CHECK((is_cbor(line) ? hex(written.body) : written.body) == line.at("body").get<std::string>());
    Json headers = Json::object();
    for (const auto& [name, value] : written.headers) headers[name] = value;
    CHECK(headers == line.at("headers"));
    ++count;
  }
  CHECK(count == 17);
}

}  // namespace muster::api
