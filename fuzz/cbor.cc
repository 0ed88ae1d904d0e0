// CBOR as a client may send it: read, or refused; what was read can be written and read again.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "aws/api/cbor_protocol.h"
#include "base/text.h"
#include "fuzz.h"

namespace muster {

namespace {

int depth_of(const Json& json) {
  int deepest = 0;
  if (json.is_structured())
    for (const Json& inner : json) deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

void check_text(const Json& json) {
  if (json.is_string()) CHECK_THAT(is_utf8(json.get_ref<const std::string&>()), "texts are UTF-8");
  if (json.is_number_float()) CHECK_THAT(std::isfinite(json.get<double>()), "numbers are finite");
  if (json.is_structured())
    for (const Json& inner : json) check_text(inner);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  static_cast<void>(api::cbor_operation(body));
  const Result<Json, aws::Refusal> read = api::read_cbor(body);
  if (!read) {
    CHECK_THAT(read.error().code == "SerializationException", "a refusal has its code");
    const Result<Json, aws::Refusal> told = api::read_cbor(api::write_cbor_refusal(read.error()));
    CHECK_THAT(told.has_value(), "a refusal can be read");
    return 0;
  }
  const Json& json = *read;
  CHECK_THAT(json.is_object(), "an input is an object");
  CHECK_THAT(depth_of(json) <= api::nesting_max + 1, "nesting has its limit");
  check_text(json);
  const api::Service& service = *api::services().front();
  const Result<Json, aws::Refusal> again = api::read_cbor(api::write_cbor(service, {"Any"}, json));
  CHECK_THAT(again.has_value(), "what is written can be read");
  CHECK_THAT(*again == json, "and is the same");
  return 0;
}

}  // namespace muster
