#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster::job {

/// A value as Python's json module reads and writes it: integers of any size, NaN and Infinity,
/// lone surrogates (kept as their three bytes), dicts in insertion order.
/// Source: the json module of CPython 3.11; SM_* variables and arguments must match it exactly.
struct PyValue {
  enum class Kind { null, boolean, integer, real, text, list, dict };
  struct Member;  // No std::pair: clang 14 (the fuzzers') would have to complete it here.

  Kind kind = Kind::null;
  bool boolean = false;
  double real = 0;
  std::string text;  ///< Kind text: the string; kind integer: its decimal digits.
  std::vector<PyValue> items;
  std::vector<Member> members;  ///< Unique keys.

  static PyValue of_bool(bool value);
  static PyValue of_int(long long value);
  static PyValue of_text(std::string value);
  static PyValue of_list(const std::vector<std::string>& texts);
  static PyValue new_list();
  static PyValue new_dict();

  bool is_null() const { return kind == Kind::null; }
  bool is_text() const { return kind == Kind::text; }
  bool is_list() const { return kind == Kind::list; }
  bool is_dict() const { return kind == Kind::dict; }
  /// Python's bool(value).
  bool truthy() const;
  /// The member of a dict, null if it is missing.
  const PyValue* find(std::string_view key) const;
  /// Sets a member of a dict: as Python does, an old key keeps its place.
  void set(std::string key, PyValue value);
  /// Members by key, in the order of code points.
  std::vector<const Member*> sorted() const;
};

struct PyValue::Member {
  std::string first;  ///< The key.
  PyValue second;
};

/// json.loads(text). Error: `invalid_input` with line and column, also for nesting beyond 256.
Result<PyValue> python_loads(std::string_view text);

/// json.dumps(value, sort_keys=True, separators=(",", ":")).
std::string python_dumps(const PyValue& value);

/// json.dumps(value, indent=indent): members as they were put in; on one line where `indent` is 0.
std::string python_dumps_plain(const PyValue& value, std::size_t indent = 0);

/// str(value): True, None, 1e-05, [1, 'a'].
std::string python_str(const PyValue& value);

/// repr of a float: the shortest digits that read back, 1e+16 from 1e16 on.
std::string python_float(double value);

}  // namespace muster::job
