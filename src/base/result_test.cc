#include "base/result.h"

#include <doctest/doctest.h>

#include <memory>

namespace muster {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Errc::invalid_input, std::to_string(number) + " is odd");
  return number / 2;
}

Result<int> quarter(int number) {
  const int once = TRY(half(number));
  return half(once);
}

/// What a protocol answers with; an Error of any kind becomes one.
struct Denial {
  int status = 0;
  std::string why;
  Denial(int number, std::string text) : status(number), why(std::move(text)) {}
  Denial(const Error& error) : status(500), why(error.text) {}
};

/// What has no way from an Error but by name.
struct Code {
  int number = 0;
};

Result<void, Denial> allow(int number) {
  if (number > 100) return Denial(413, "too much");
  return {};
}

Result<std::string, Denial> answer(int number) {
  TRY(allow(number));
  return std::to_string(TRY(half(number)));
}

Result<std::unique_ptr<int>, Code> coded(int number) {
  const auto code_of = [](const Error& error) {
    return Code{error.code == Errc::invalid_input ? 22 : 5};
  };
  TRY(allow(number).transform_error([](const Denial& denial) { return Code{denial.status}; }));
  return std::make_unique<int>(TRY(half(number).transform_error(code_of)));
}

TEST_CASE("result: TRY yields the value or hands the error up") {
  CHECK(*quarter(8) == 2);
  REQUIRE(!quarter(6));
  CHECK(quarter(6).error().text == "3 is odd");
  CHECK(quarter(6).error().in("algo-2").text == "algo-2: 3 is odd");
  CHECK(half(3).value_or(7) == 7);
  CHECK(half(4).value_or(7) == 2);
}

TEST_CASE("result: an error of the same room is passed up, one of another room is converted") {
  CHECK(*answer(8) == "4");
  CHECK(answer(102).error().status == 413);
  CHECK(answer(102).error().why == "too much");
  CHECK(answer(7).error().status == 500);
  CHECK(answer(7).error().why == "7 is odd");
}

TEST_CASE("result: an error that has no constructor for another is made by name") {
  Result<std::unique_ptr<int>, Code> four = coded(8);  // A value that cannot be copied.
  REQUIRE(four);
  CHECK(**four == 4);
  CHECK(coded(7).error().number == 22);
  CHECK(coded(102).error().number == 413);
}

static_assert(std::is_convertible_v<Error, Result<int, Denial>>);
static_assert(!std::is_convertible_v<Error, Result<int, Code>>);
static_assert(!std::is_convertible_v<Code, Result<int>>);
static_assert(!std::is_convertible_v<Error, Result<void, Code>>);

}  // namespace
}  // namespace muster
