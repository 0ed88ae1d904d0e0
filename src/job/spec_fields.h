#pragma once

// Reads the JSON objects of messages and files field by field: for job/ and other pure rooms.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "job/name.h"

namespace muster::job {

/// Who wrote a description of a job.
enum class Writer { muster, anybody };

/// UTF-8 without a NUL.
Result<void> check_text(const std::string& field, std::string_view text);
/// An absolute path; or none, if it `may_be_empty`.
Result<void> check_path(const std::string& field, std::string_view path, bool may_be_empty);

/// Nothing but letters, digits and what is in `more`.
bool only_has(std::string_view text, std::string_view more);

/// "MESSAGE: WHY". Code: `protocol`.
Error invalid_message(const char* message, const std::string& why);
/// The object that a message's payload holds. Error: `protocol`.
Result<Json> object_from(const char* message, std::string_view payload,
                         std::size_t bytes_max = 64u << 10);
/// A whole number of the object, from `least` to `most`. Error: `protocol`.
Result<std::int64_t> integer_at(const char* message, const Json& json, const char* name,
                                std::int64_t least, std::int64_t most);

/// Reads fields of one JSON object into a struct and keeps the first error. Missing and null fields
/// leave the value as it is.
class Fields {
 public:
  Fields(const Json& json, std::string path);

  void text(const char* name, std::string& value, bool required = false);
  void texts(const char* name, std::map<std::string, std::string>& value);
  void text_list(const char* name, std::vector<std::string>& value);
  template <class Number>
  void integer(const char* name, Number& value) {
    const Json* const found = find(name, false);
    if (found == nullptr) return;
    if (!found->is_number_integer()) return note(path_of(name), "an integer");
    const std::int64_t read = found->get<std::int64_t>();
    if (read < std::numeric_limits<Number>::min() || read > std::numeric_limits<Number>::max())
      return note(path_of(name), "an integer in range");
    value = static_cast<Number>(read);
  }
  void flag(const char* name, bool& value);
  const Json* array(const char* name);
  const Json* object(const char* name);
  /// True for `yes`, false for `no` or nothing; anything else is wrong.
  void choice(const char* name, const char* no, const char* yes, bool& value);

  /// The field may be there and is ignored.
  void ignore(const char* name) { known_.emplace_back(name); }
  /// Refuses fields that were not asked for above.
  void no_others();
  void take(const Fields& inner) {
    if (!error_) error_ = inner.error_;
  }
  void note(const std::string& field, const std::string& what) {
    if (!error_) error_ = expected(field, what);
  }
  void fail(const Error& error) {
    if (!error_) error_ = error;
  }
  std::string path_of(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Json* find(const char* name, bool required);

  const Json& json_;
  std::string path_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace muster::job
