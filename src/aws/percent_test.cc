#include "aws/percent.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::aws;

TEST_CASE("percent-encoding is undone") {
  CHECK(percent_decoded("a%20b+c%2B", false) == "a b+c+");
  CHECK(percent_decoded("a%20b+c%2b", true) == "a b c+");
  for (const char* bad : {"%", "%1", "%zz", "a%1g"}) CHECK(!percent_decoded(bad, true));
  CHECK(decoded_query("a=1&&b&c=d=e&=f") == Pairs{{"a", "1"}, {"b", ""}, {"c", "d=e"}, {"", "f"}});
  CHECK(!decoded_query("a=%"));
}
