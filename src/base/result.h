#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace muster {

/// The kinds of errors that callers may branch on. Everything else about an error is in its one
/// line for a person.
enum class Errc {
  invalid_input,  ///< What the user gave is wrong: a file, a flag, a value.
  not_found,      ///< A thing that was named does not exist.
  denied,         ///< Refused: permission, or proof of a key missing.
  timeout,        ///< A deadline passed; the text says what was waited for.
  closed,         ///< The other side ended the connection or the stream.
  protocol,       ///< The other side sent what the protocol page does not allow.
  unsupported,    ///< Not a thing that this one can do; asking again does not help.
  system,         ///< The kernel or a library refused.
};

/// An error: a kind to branch on and one line that says what, where and what was expected.
struct [[nodiscard]] Error {
  Errc code = Errc::system;
  std::string text;

  /// The error with the caller's context in front: `algo-2: mpirun: cannot start`.
  Error in(const std::string& where) const { return {code, where + ": " + text}; }
};

/// Ends the process with `text`: an invariant of our own is broken. In release too.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* text);

#define CHECK_THAT(condition, text) \
  ((condition) ? static_cast<void>(0) : muster::check_failed(__FILE__, __LINE__, #condition, text))

/// Either a value or an error. Named like std::expected (which GCC 12 has only in C++23).
///
/// `E` is an Error, one line for a person, unless a caller must answer in the terms of a protocol:
/// then it is that room's own type (S3's error response, an HTTP refusal). An error of another type
/// is converted to `E` automatically, here and in TRY, if `E` has a constructor for it that is not
/// explicit. If the text depends on the context, use transform_error(). Accessing the value of an
/// error, or the error of a value, ends the process.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = E;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}
  template <class F>
  requires(!std::same_as<F, E> && std::convertible_to<F, E> && !std::convertible_to<F, T>)
      Result(F error)
      : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return has_value(); }
  bool has_value() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const E& error() const {
    CHECK_THAT(!has_value(), "a Result has a value and no error");
    return *std::get_if<1>(&state_);
  }
  T value_or(T other) const& { return has_value() ? value() : std::move(other); }

  /// The value unchanged, or the error as `function` converts it:
  /// TRY(keep(x).transform_error(as_s3)).
  template <class Function>
  auto transform_error(
      Function function) && -> Result<T, std::invoke_result_t<Function, const E&>> {
    if (has_value()) return std::move(value());
    return function(error());
  }

 private:
  T& value() {
    CHECK_THAT(has_value(), "a Result has an error and no value");
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    CHECK_THAT(has_value(), "a Result has an error and no value");
    return *std::get_if<0>(&state_);
  }

  std::variant<T, E> state_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  Result() = default;
  Result(E error) : error_(std::move(error)) {}
  template <class F>
  requires(!std::same_as<F, E> && std::convertible_to<F, E>) Result(F error)
      : error_(std::move(error)) {}

  explicit operator bool() const { return has_value(); }
  bool has_value() const { return !error_.has_value(); }
  const E& error() const {
    CHECK_THAT(!has_value(), "a Result has a value and no error");
    return *error_;
  }

  template <class Function>
  auto transform_error(
      Function function) && -> Result<void, std::invoke_result_t<Function, const E&>> {
    if (has_value()) return {};
    return function(error());
  }

 private:
  std::optional<E> error_;
};

inline Error fail(Errc code, std::string text) {
  return {code, std::move(text)};
}

/// "what: No such file or directory", from the current `errno`.
std::string errno_text(const std::string& what);
/// An Error of the kind that `errno` means, with `errno_text(what)`.
Error fail_errno(const std::string& what);

}  // namespace muster

/// Yields the value of a Result or returns its error from the enclosing function, whose Result may
/// have an error of another type that is made of this one. The expression may be of any Result.
/// Not inside coroutines (GCC 12 fails on it) and never nested.
#define TRY(expression)                             \
  __extension__({                                   \
    auto try_result_ = (expression);                \
    if (!try_result_) return try_result_.error();   \
    ::muster::detail::take(std::move(try_result_)); \
  })

namespace muster::detail {
template <class T, class E>
T take(Result<T, E>&& result) {
  return *std::move(result);
}
template <class E>
void take(Result<void, E>&&) {}
}  // namespace muster::detail
