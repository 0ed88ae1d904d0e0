// Bodies of requests of an API. The first byte says in which protocol, the second of which
// operation.
#include <nlohmann/json.hpp>
#include <string_view>

#include "aws/api/cbor_protocol.h"
#include "aws/api/json_protocol.h"
#include "aws/api/model.h"
#include "aws/api/query_protocol.h"
#include "aws/api/validate.h"
#include "base/dates.h"
#include "base/text.h"
#include "fuzz.h"

namespace muster {

namespace {

struct Asked {
  const api::Service* service;
  const api::Operation* operation;
};

Asked asked(std::uint8_t number) {
  std::vector<Asked> all;
  for (const api::Service* service : api::services())
    for (const api::Operation& operation : service->operations)
      all.push_back({service, &operation});
  return all[number % all.size()];
}

Result<Json, aws::Refusal> read(std::uint8_t protocol, const Asked& to, std::string_view body) {
  if (protocol == 'j') return api::read_json(body);
  if (protocol == 'c') return api::read_cbor(body);
  return api::read_query(*to.service, *to.operation, body);
}

/// What was read can be written in every protocol, and says the same after CBOR.
void write(const Asked& to, const Json& input) {
  static_cast<void>(api::write_cbor(*to.service, *to.operation, input));
  const std::string cbor = api::write_cbor(*to.service, {"Any"}, input);
  const Result<Json, aws::Refusal> again = api::read_cbor(cbor);
  CHECK_THAT(again.has_value(), "what is written can be read");
  CHECK_THAT(*again == input, "and is the same");
  const std::string xml = api::write_query(*to.service, *to.operation, input, "id");
  CHECK_THAT(is_utf8(xml), "XML is UTF-8");
  CHECK_THAT(xml.find_first_of(std::string("\0\x01\x1f", 3)) == std::string::npos,
             "XML has no controls");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Asked to = asked(data[1]);
  if (data[0] == 't') {
    if (const std::optional<double> time = parse_iso8601(body); time)
      CHECK_THAT(parse_iso8601(iso8601(*time)), "a time reads back");
    return 0;
  }
  const Result<Json, aws::Refusal> input = read(data[0], to, body);
  if (!input) {
    const aws::Refusal& refusal = input.error();
    CHECK_THAT(!refusal.code.empty(), "a refusal has a code");
    static_cast<void>(api::write_query_refusal(to.service, refusal, "id"));
    static_cast<void>(api::write_json_refusal(refusal));
    return 0;
  }
  const Json& json = *input;
  CHECK_THAT(json.is_object(), "an input is an object");
  write(to, json);
  const Result<void, aws::Refusal> valid =
      api::validate(to.service->name, to.operation->name, json);
  if (!valid) CHECK_THAT(valid.error().message.size() < 100'000, "an answer stays small");
  return 0;
}

}  // namespace muster
