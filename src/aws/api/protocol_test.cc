#include "aws/api/protocol.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "aws/api/cbor_protocol.h"
#include "aws/api/json_protocol.h"

namespace muster::api {

namespace {

constexpr std::string_view form_type = "application/x-www-form-urlencoded; charset=utf-8";

ApiHead json_head(std::string target, std::string scope = "sagemaker") {
  return {.method = "POST",
          .path = "/",
          .target = std::move(target),
          .content_type = "application/x-amz-json-1.1",
          .scope_service = std::move(scope)};
}

ApiHead form_head(std::string service) {
  return {.method = "POST",
          .path = "/",
          .content_type = std::string(form_type),
          .scope_service = std::move(service),
          .access_key = "AK"};
}

Request request_of(const ApiHead& head, std::string_view body) {
  RequestRead read = read_request(head, body, "id");
  REQUIRE_MESSAGE(read.request, (read.request ? "" : read.request.error().message));
  return *std::move(read.request);
}

aws::Refusal refusal_of(const ApiHead& head, std::string_view body) {
  const RequestRead read = read_request(head, body, "id");
  REQUIRE_FALSE(read.request);
  return read.request.error();
}

std::string header(const ApiAnswer& answer, std::string_view name) {
  for (const auto& [key, value] : answer.headers)
    if (key == name) return value;
  return "";
}

}  // namespace

TEST_CASE("protocol: JSON is a target and a body, without nulls where AWS has none") {
  ApiHead head = json_head("SageMaker.CreateTrainingJob");
  head.access_key = "AK";
  head.invocation = "5f1c";
  const Request request = request_of(head, R"({"TrainingJobName":"a","RoleArn":null,
    "Unknown":{"x":null},"Tags":[{"Key":"k","Value":null}],"HyperParameters":{"h":null}})");
  CHECK(request.service == "sagemaker");
  CHECK(request.operation == "CreateTrainingJob");
  CHECK(request.access_key == "AK");
  CHECK(request.invocation == "5f1c");
  CHECK(to_text(request.input) == R"({"HyperParameters":{"h":null},"Tags":[{"Key":"k"}],)"
                                  R"("TrainingJobName":"a","Unknown":{"x":null}})");
  CHECK(request_of(json_head("Logs_20140328.DescribeLogGroups", "logs"), "").input ==
        Json::object());
  CHECK(request_of(json_head("GraniteServiceVersion20100801.ListMetrics", "monitoring"), "{}")
            .service == "monitoring");
}

TEST_CASE("protocol: the parts of a request's head that the protocols read") {
  const aws::HeaderView headers[] = {
      {"x-amz-target", "SageMaker.ListTags"}, {"CONTENT-TYPE", "application/x-amz-json-1.1"},
      {"Smithy-Protocol", "rpc-v2-cbor"},     {"X-Amzn-Query-Mode", "true"},
      {"Amz-Sdk-Invocation-Id", "5f1c"},
  };
  const ApiHead head = api_head({"POST", "/a?b=c&d", headers});
  CHECK(head.method == "POST");
  CHECK(head.path == "/a");
  CHECK(head.query == "b=c&d");
  CHECK(head.target == "SageMaker.ListTags");
  CHECK(head.content_type == "application/x-amz-json-1.1");
  CHECK(head.smithy_protocol == "rpc-v2-cbor");
  CHECK(head.query_mode == "true");
  CHECK(head.invocation == "5f1c");
  CHECK(head.scope_service.empty());
  CHECK(body_too_large().status == 413);
}

TEST_CASE(
    "protocol: invalid JSON, or JSON that is not an object, is refused before it costs anything") {
  const std::string deep(100'000, '[');
  const std::string deep_in_text = R"({"TrainingJobName": ")" + deep + R"("})";
  const std::string cases[] = {
      "{",  "[]", "7",   "\"a\"",         "null",     "{\"a\":1,}",
      deep, "{}", "{}x", "{\"a\":1e999}", "\xff\xfe", "{\"a\":\"\xc3\"}",
  };
  for (const std::string& body : cases) {
    CAPTURE(body.substr(0, 20));
    if (body == "{}") continue;
    const aws::Refusal refusal = refusal_of(json_head("SageMaker.ListTrainingJobs"), body);
    CHECK(refusal.code == "SerializationException");
    CHECK(refusal.status == 400);
  }
  CHECK(request_of(json_head("SageMaker.ListTrainingJobs"), deep_in_text).input.size() == 1);
}

TEST_CASE("protocol: CheckTrainingJob is CreateTrainingJob that stops short") {
  const Request check = request_of(json_head("SageMaker.CheckTrainingJob"), "{}");
  CHECK(check.operation == "CreateTrainingJob");
  CHECK(check.own == Own::check);
  CHECK(request_of(json_head("SageMaker.CreateTrainingJob"), "{}").own == Own::none);
  const Request timeline = request_of(json_head("SageMaker.DescribeTrainingJobTimeline"), "{}");
  CHECK(timeline.operation == "DescribeTrainingJob");
  CHECK(timeline.own == Own::timeline);
  const Request usage = request_of(json_head("SageMaker.DescribeTrainingJobUsage"), "{}");
  CHECK(usage.operation == "DescribeTrainingJob");
  CHECK(usage.own == Own::usage);
  CHECK(request_of(json_head("SageMaker.CreateWebLink"), "{}").own == Own::web_link);
}

TEST_CASE("protocol: a request to host a model is refused as out of muster's scope") {
  for (const char* name : {"CreateModel", "ListModels", "CreateEndpointConfig", "CreateEndpoint",
                           "DescribeEndpoint", "CreateTransformJob", "CreateInferenceComponent"}) {
    const aws::Refusal refusal = refusal_of(json_head("SageMaker." + std::string(name)), "{}");
    CHECK(refusal.code == "UnknownOperationException");
    CHECK(refusal.message.starts_with(std::string(name) +
                                      ": muster trains models, but does not host them"));
  }
  ApiHead head = json_head("");
  head.path = "/endpoints/mine/invocations";
  head.scope_service = "sagemaker";
  CHECK(refusal_of(head, "1,2,3").message.starts_with("InvokeEndpoint: muster trains models"));
}

TEST_CASE("protocol: a request for a pipeline is refused with a hint on how to run its steps") {
  for (const char* name : {"CreatePipeline", "UpdatePipeline", "StartPipelineExecution"})
    CHECK(refusal_of(json_head("SageMaker." + std::string(name)), "{}") ==
          aws::Refusal{
              "UnknownOperationException",
              std::string(name) +
                  ": muster does not support pipelines; decorate the functions with @remote "
                  "instead of @step, or submit the job of each step with CreateTrainingJob."});
}

TEST_CASE("protocol: an operation that is not served is refused by its name") {
  CHECK(refusal_of(json_head("SageMaker.CreateAutoMLJob"), "{}") ==
        aws::Refusal{"UnknownOperationException", "CreateAutoMLJob is not implemented by muster."});
  CHECK(refusal_of(json_head("DynamoDB_20120810.ListTables"), "{").code ==
        "UnknownOperationException");
  CHECK(refusal_of(json_head(""), "{}").message == "No operation is named.");
  for (const char* service : {"sts", "iam", "ec2", "cloudformation", "lambda"})
    CHECK(refusal_of(form_head(service), "Action=DecodeIt&Version=2011-06-15") ==
          aws::Refusal{"InvalidAction", "DecodeIt is not implemented by muster."});
  CHECK(refusal_of(form_head("lambda"), "Action=GetRole").code == "InvalidAction");
  CHECK(refusal_of(form_head("ec2"), "").code == "InvalidAction");
}

TEST_CASE("protocol: a signature for another service does not do") {
  for (const char* scope : {"logs", "sts", "sagemake", "SageMaker", ""}) {
    CAPTURE(scope);
    CHECK(refusal_of(json_head("SageMaker.ListTrainingJobs", scope), "{}") ==
          aws::Refusal{"InvalidSignatureException",
                       "Credential should be scoped to correct service: 'sagemaker'."});
  }
}

TEST_CASE("protocol: S3's requests are distinguished from an API's") {
  CHECK(!is_of_an_api({.method = "GET", .path = "/bucket/key"}));
  CHECK(!is_of_an_api({.method = "PUT", .path = "/b/k", .scope_service = "s3"}));
  CHECK(!is_of_an_api({.method = "PUT", .target = "SageMaker.X", .scope_service = "s3"}));
  const std::string form(form_type);
  CHECK(!is_of_an_api({.method = "POST", .path = "/bucket", .content_type = form}));
  CHECK(is_of_an_api({.method = "POST", .path = "/", .content_type = form}));
  CHECK(is_of_an_api(json_head("SageMaker.X")));
  CHECK(is_of_an_api(json_head("SageMaker.X", "")));
  CHECK(is_of_an_api(form_head("sts")));
  CHECK(is_of_an_api({.method = "POST", .smithy_protocol = "rpc-v2-cbor"}));
  CHECK(is_of_an_api({.method = "GET", .path = "/", .scope_service = "lambda"}));
}

TEST_CASE("protocol: Query's fields become lists, maps and numbers by the model") {
  const Request request =
      request_of(form_head("iam"),
                 "Action=SimulatePrincipalPolicy&Version=2010-05-08&PolicySourceArn="
                 "arn%3Aaws%3Aiam%3A%3A0%3Arole%2Fx+y&ActionNames.member.2=b&"
                 "ActionNames.member.1=a&ActionNames.member.10=c&MaxItems=7&"
                 "ContextEntries.member.1.ContextKeyValues.member.1=v&ResourceArns=&"
                 "New.Thing=1&Other=x");
  CHECK(to_text(request.input) ==
        R"({"ActionNames":["a","b","c"],"ContextEntries":[{"ContextKeyValues":["v"]}],)"
        R"("MaxItems":7,"New":{"Thing":"1"},"Other":"x",)"
        R"("PolicySourceArn":"arn:aws:iam::0:role/x y","ResourceArns":[]})");
  const Request subnets =
      request_of(form_head("ec2"),
                 "Action=DescribeSubnets&SubnetId.1=a&SubnetId.2=b&Filter.1.Name=n&"
                 "Filter.1.Value.1=v&DryRun=true&MaxResults=5");
  CHECK(to_text(subnets.input) ==
        R"({"DryRun":true,"Filters":[{"Name":"n","Values":["v"]}],"MaxResults":5,)"
        R"("SubnetIds":["a","b"]})");
  ApiHead get = form_head("monitoring");
  get.method = "GET";
  get.query =
      "Action=GetMetricStatistics&StartTime=2026-11-21T13:00:00Z&EndTime=1795266000.5&Period=60&"
      "Dimensions.member.1.Name=n&Dimensions.member.1.Value=v";
  CHECK(to_text(request_of(get, "").input) ==
        R"({"Dimensions":[{"Name":"n","Value":"v"}],"EndTime":1795266000.5,"Period":60,)"
        R"("StartTime":1795266000.0})");
}

TEST_CASE("protocol: fields that cannot be what they are called are refused") {
  const std::string action = "Action=SimulatePrincipalPolicy&";
  std::string many = action;
  for (int i = 0; i < 20'000; ++i) many += "ActionNames.member.1=a&";
  std::string deep = action + "a";
  for (int i = 0; i < 10'000; ++i) deep += ".a";
  const std::string cases[] = {
      action + "MaxItems=seven",
      action + "MaxItems=",
      action + "MaxItems=9999999999999999999999",
      action + "MaxItems.member.1=7",
      action + "ActionNames=a",
      action + "ActionNames.member.0=a",
      action + "ActionNames.member.x=a",
      action + "ActionNames.member.1.x=a",
      action + "ContextEntries.member.1=x",
      action + "PolicySourceArn=%ff",
      action + "PolicySourceArn=%zz",
      many,
      deep,
  };
  for (const std::string& body : cases) {
    CAPTURE(body.substr(0, 60));
    CHECK(refusal_of(form_head("iam"), body).code == "MalformedInput");
  }
}

TEST_CASE("protocol: Query's answers are XML that any name can stand in") {
  const Reply reply{Protocol::query, "iam", "GetRole", "id-1"};
  const ApiAnswer answer = write_answer(reply, Json{{"Role",
                                                     {{"RoleName", "a<b>&\x01\r"},
                                                      {"Arn", "arn"},
                                                      {"CreateDate", 1795266000.25},
                                                      {"MaxSessionDuration", 3600},
                                                      {"Unknown", "left out"}}}});
  CHECK(answer.status == 200);
  CHECK(header(answer, "Content-Type") == "text/xml;charset=UTF-8");
  CHECK(answer.body ==
        "<GetRoleResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\"><GetRoleResult><Role>"
        "<RoleName>a&lt;b&gt;&amp;\xEF\xBF\xBD&#13;</RoleName><Arn>arn</Arn>"
        "<CreateDate>2026-11-21T13:00:00.250Z</CreateDate>"
        "<MaxSessionDuration>3600</MaxSessionDuration></Role></GetRoleResult><ResponseMetadata>"
        "<RequestId>id-1</RequestId></ResponseMetadata></GetRoleResponse>\n");
  const ApiAnswer subnets = write_answer({Protocol::ec2, "ec2", "DescribeSubnets", "id-2"},
                                         Json{{"Subnets", {{{"SubnetId", "s"}}}}});
  CHECK(subnets.body ==
        "<DescribeSubnetsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15\"><requestId>"
        "id-2</requestId><subnetSet><item><subnetId>s</subnetId></item></subnetSet>"
        "</DescribeSubnetsResponse>\n");
}

TEST_CASE("protocol: a refusal uses the protocol of the request") {
  const aws::Refusal refusal{"Code", "why <so>", 400};
  const Reply json{Protocol::json_1_1, "sagemaker", "ListTags", "id"};
  CHECK(write_answer(json, refusal).body == R"({"__type":"Code","message":"why <so>"})");
  CHECK(header(write_answer(json, refusal), "x-amzn-ErrorType") == "Code");
  CHECK(header(write_answer(json, refusal), "x-amzn-RequestId") == "id");
  const ApiAnswer query = write_answer({Protocol::query, "", "", "id"}, refusal);
  CHECK(query.status == 400);
  CHECK(query.body ==
        "<ErrorResponse><Error><Type>Sender</Type><Code>Code</Code><Message>why &lt;so&gt;"
        "</Message></Error><RequestId>id</RequestId></ErrorResponse>\n");
  CHECK(write_answer({Protocol::ec2, "ec2", "", "id"}, refusal).body ==
        "<Response><Errors><Error><Code>Code</Code><Message>why &lt;so&gt;</Message></Error>"
        "</Errors><RequestID>id</RequestID></Response>\n");
  const Reply mode{Protocol::json_1_0, "monitoring", "GetMetricData", "id", true};
  CHECK(header(write_answer(mode, refusal), "x-amzn-query-error") == "Code;Sender");
  CHECK(header(write_answer(mode, aws::Refusal{"C", "", 500}), "x-amzn-query-error") ==
        "C;Receiver");
  const ApiAnswer cbor = write_answer({Protocol::cbor, "monitoring", "ListMetrics", "id"}, refusal);
  CHECK(header(cbor, "smithy-protocol") == "rpc-v2-cbor");
  CHECK(*read_cbor(cbor.body) == Json{{"__type", "Code"}, {"message", "why <so>"}});
}

TEST_CASE("protocol: a refusal before the body was read uses the request's protocol, too") {
  CHECK(reply_for(json_head("SageMaker.X"), "i").protocol == Protocol::json_1_1);
  CHECK(reply_for(form_head("sts"), "i").protocol == Protocol::query);
  CHECK(reply_for(form_head("ec2"), "i").protocol == Protocol::ec2);
  CHECK(reply_for(form_head("monitoring"), "i").protocol == Protocol::query);
  CHECK(reply_for({.method = "POST", .scope_service = "logs"}, "i").protocol == Protocol::json_1_1);
  ApiHead cbor{.method = "POST",
               .path = "/service/GraniteServiceVersion20100801/operation/ListMetrics",
               .smithy_protocol = "rpc-v2-cbor"};
  CHECK(reply_for(cbor, "i").protocol == Protocol::cbor);
  CHECK(reply_for(cbor, "i").service == "monitoring");
  ApiHead old = json_head("GraniteServiceVersion20100801.ListMetrics");
  old.content_type = "application/x-amz-json-1.0";
  old.query_mode = "true";
  CHECK(reply_for(old, "i").protocol == Protocol::json_1_0);
  CHECK(reply_for(old, "i").query_errors);
}

TEST_CASE("protocol: an answer with nothing in it is an empty structure") {
  const Reply reply{Protocol::json_1_1, "sagemaker", "StopTrainingJob", "id"};
  CHECK(write_answer(reply, Json()).body == "{}");
  CHECK(write_answer(reply, Json::object()).body == "{}");
  CHECK(write_answer({Protocol::query, "sts", "GetCallerIdentity", "i"}, Json())
            .body.find("<GetCallerIdentityResult></GetCallerIdentityResult>") != std::string::npos);
}

}  // namespace muster::api
