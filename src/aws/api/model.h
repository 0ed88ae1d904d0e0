#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace muster::api {

/// What AWS's published service models say of the operations that muster serves: shapes of inputs,
/// and of outputs where a protocol needs them to write an answer (Query and CBOR).
///
/// Pure. The tables (model_table_*.cc) are written by tools/service_model.py from botocore's
/// service-2.json; docs/decisions/0014-service-model.md says what is taken and what is left out.

enum class Kind : std::uint8_t {
  structure,
  list,
  map,
  string,
  integer,  ///< 32 bits.
  long_integer,
  real,  ///< float and double.
  boolean,
  timestamp,
};

constexpr std::uint16_t no_shape = std::numeric_limits<std::uint16_t>::max();
constexpr std::int64_t no_min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t no_max = std::numeric_limits<std::int64_t>::max();

/// A member of a structure; a list's only member, a map's key and value.
struct Member {
  std::string_view name;  ///< "TrainingJobName"; of a list "member", of a map "key" and "value".
  std::uint16_t shape;    ///< In Service::shapes.
  bool required = false;  ///< Null is refused.
  std::string_view wire = {};  ///< The name in Query and XML, if another (EC2).
};

/// Bounds are of a number's value, of a text's characters, of a list's or map's elements.
struct Shape {
  Kind kind;
  std::uint16_t first = 0;  ///< In Service::members; of a string with an enum, in Service::words.
  std::uint16_t count = 0;
  std::int64_t min = no_min;
  std::int64_t max = no_max;
  std::uint16_t pattern = no_shape;  ///< In Service::patterns.
};

/// A pattern is for the whole text.
struct Pattern {
  std::string_view text;  ///< As AWS has it in messages.
  std::string_view re2;   ///< For RE2, which lacks a little of Java's syntax.
};

struct Operation {
  std::string_view name;
  std::uint16_t input = no_shape;
  std::uint16_t output = no_shape;  ///< Only of services that may answer in XML or CBOR.
};

/// How a service's clients speak if they have the choice of no other protocol.
enum class Style : std::uint8_t { json, query, ec2 };

struct Service {
  std::string_view name;           ///< As in the credential scope: "monitoring".
  std::string_view version;        ///< "2010-08-01", the Version of Query.
  std::string_view target;         ///< What X-Amz-Target starts with; empty if never JSON.
  std::string_view json_version;   ///< "1.0" or "1.1".
  std::string_view xml_namespace;  ///< The namespace of Query's answers.
  Style style;
  std::span<const Operation> operations;
  std::span<const Shape> shapes;
  std::span<const Member> members;
  std::span<const std::string_view> words;
  std::span<const Pattern> patterns;

  std::span<const Member> members_of(const Shape& shape) const {
    return members.subspan(shape.first, shape.count);
  }
  std::span<const std::string_view> words_of(const Shape& shape) const {
    return words.subspan(shape.first, shape.count);
  }
};

std::span<const Service* const> services();
/// Null if muster serves none of that name.
const Service* find_service(std::string_view name);
/// The service for the part of X-Amz-Target before the dot. Null if it is unknown.
const Service* find_target(std::string_view target);
/// Null if muster does not serve it.
const Operation* find_operation(const Service& service, std::string_view name);

}  // namespace muster::api
