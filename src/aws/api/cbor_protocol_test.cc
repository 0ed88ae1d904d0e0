#include "aws/api/cbor_protocol.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace muster::api {

namespace {

std::string bytes(std::string_view hex_text) {
  const std::optional<std::string> made = from_hex(hex_text);
  REQUIRE_MESSAGE(made, hex_text);
  return *made;
}

}  // namespace

TEST_CASE("cbor: RFC 8949's forms of values are read") {
  struct {
    std::string_view hex;  ///< The value of {"a": value}.
    std::string_view json;
  } const cases[] = {
      {"00", "0"},
      {"17", "23"},
      {"1818", "24"},
      {"190100", "256"},
      {"1a000f4240", "1000000"},
      {"1bffffffffffffffff", "18446744073709551615"},
      {"20", "-1"},
      {"3903e7", "-1000"},
      {"3b7fffffffffffffff", "-9223372036854775808"},
      {"f4", "false"},
      {"f5", "true"},
      {"f6", "null"},
      {"f7", "null"},
      {"f93c00", "1.0"},
      {"f90001", "5.960464477539063e-08"},
      {"f9c400", "-4.0"},
      {"f98000", "-0.0"},
      {"fa47c35000", "100000.0"},
      {"fb3ff199999999999a", "1.1"},
      {"60", "\"\""},
      {"6449455446", "\"IETF\""},
      {"62c3bc", "\"ü\""},
      {"7f657374726561646d696e67ff", "\"streaming\""},
      {"80", "[]"},
      {"83010203", "[1,2,3]"},
      {"9f018202039f0405ffff", "[1,[2,3],[4,5]]"},
      {"a0", "{}"},
      {"a26161016162820203", R"({"a":1,"b":[2,3]})"},
      {"bf6161016162020aff", ""},
      {"bf61610161629f0203ffff", R"({"a":1,"b":[2,3]})"},
      {"c11a514b67b0", "1363896240"},
      {"c1fb41d452d9ec200000", "1363896240.5"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.hex);
    const Result<Json, aws::Refusal> read = read_cbor("\xa1\x61\x61" + bytes(c.hex));
    if (c.json.empty()) {
      CHECK_FALSE(read);
      continue;
    }
    REQUIRE(read);
    CHECK(to_text(read->at("a")) == c.json);
  }
  CHECK(*read_cbor("") == Json::object());
}

TEST_CASE("cbor: data that is malformed, too deep or of a wrong type is refused") {
  std::string deep;
  for (int i = 0; i < 1'000'000; ++i) deep += '\x81';
  std::string deep_tags;
  for (int i = 0; i < 1'000'000; ++i) deep_tags += '\xc1';
  const std::string cases[] = {
      "\x83",
      bytes("80"),                          // no structure
      bytes("f6"),                          // nor this
      bytes("a0a0"),                        // more behind
      bytes("a1"),                          // cut short
      bytes("a16161"),                      //
      bytes("a1616118"),                    //
      bytes("a16161fb00"),                  //
      bytes("a1616165616263"),              //
      bytes("bf616101"),                    //
      bytes("a161617f6161"),                //
      bytes("a1616161"),                    //
      bytes("a10101"),                      // a key that is a number
      bytes("a1616161ff"),                  // not UTF-8
      bytes("a161617f4161ff"),              // a byte string within a text
      bytes("a161614101"),                  // a byte string
      bytes("a161613bffffffffffffffff"),    // below 64 bits
      bytes("a161617bffffffffffffffff"),    // a text of 2^64 bytes
      bytes("a161619bffffffffffffffff00"),  // a list of as many
      bytes("a16161bbffffffffffffffff"),    //
      bytes("bbffffffffffffffff616100"),    //
      bytes("a16161f97c00"),                // infinite
      bytes("a16161f97e00"),                // no number
      bytes("a16161c1616f"),                // a time that is a text
      bytes("a16161c249010000000000000000"),
      bytes("a16161f0"),
      bytes("a16161fc"),
      bytes("a161611c"),
      bytes("a16161ff"),
      bytes("a161611f"),
      "\xa1\x61\x61" + deep,
      "\xa1\x61\x61" + deep_tags,
  };
  for (const std::string& body : cases) {
    CAPTURE(hex(body.substr(0, 20)));
    const Result<Json, aws::Refusal> read = read_cbor(body);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == "SerializationException");
  }
}

TEST_CASE("cbor: answers carry times as times and statistics as doubles, by the model") {
  const Service& service = *find_service("monitoring");
  const Operation& operation = *find_operation(service, "GetMetricStatistics");
  const std::string body = write_cbor(
      service, operation,
      {{"Label", "loss"},
       {"Datapoints", {{{"Timestamp", 1000}, {"Average", 2}, {"Unit", "None"}}}},
       {"More", {1, -1, 24, 300, 70'000, 5'000'000'000, -500, true, false, nullptr, 0.5}}});
  CHECK(hex(body) ==
        "a3"
        "6a44617461706f696e747381"
        "a3"
        "6741766572616765fb4000000000000000"
        "6954696d657374616d70c1fb408f400000000000"
        "64556e6974644e6f6e65"
        "654c6162656c646c6f7373"
        "644d6f72658b0120181819012c1a000111701b000000012a05f2003901f3f5f4f6fb3fe0000000000000");
  CHECK(read_cbor(body)->at("More").size() == 11);
}

TEST_CASE("cbor: the operation is in the path") {
  CHECK(cbor_operation("/service/GraniteServiceVersion20100801/operation/GetMetricData") ==
        "GetMetricData");
  CHECK(cbor_operation("/service/a/operation/b/c").empty());
  CHECK(cbor_operation("/bucket/operation/b").empty());
  CHECK(cbor_operation("/service/a").empty());
}

}  // namespace muster::api
