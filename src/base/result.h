#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace muster {

/// What a caller may branch on. Everything else about an error is its one line for a person.
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

  /// The same error seen from one room up: `algo-2: mpirun: cannot start`.
  Error in(const std::string& where) const { return {code, where + ": " + text}; }
};

/// Either a value or an Error. Named like std::expected (which GCC 12 has only in C++23).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }
  T value_or(T other) const& { return has_value() ? std::get<0>(state_) : std::move(other); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<std::monostate, Error> state_;
};

inline Error fail(Errc code, std::string text) {
  return {code, std::move(text)};
}

/// "what: No such file or directory", from `errno` as it stands.
std::string errno_text(const std::string& what);
/// An Error of the kind that `errno` means, with `errno_text(what)`.
Error fail_errno(const std::string& what);

/// Ends the process with `text`: an invariant of our own is broken. In release too.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* text);

}  // namespace muster

#define CHECK_THAT(condition, text) \
  ((condition) ? static_cast<void>(0) : muster::check_failed(__FILE__, __LINE__, #condition, text))

/// Yields the value of a Result or returns its Error from the enclosing function.
/// Not inside coroutines (GCC 12 fails on it) and never nested.
#define TRY(expression)                             \
  __extension__({                                   \
    auto try_result_ = (expression);                \
    if (!try_result_) return try_result_.error();   \
    ::muster::detail::take(std::move(try_result_)); \
  })

namespace muster::detail {
template <class T>
T take(Result<T>&& result) {
  return *std::move(result);
}
inline void take(Result<void>&&) {}
}  // namespace muster::detail
