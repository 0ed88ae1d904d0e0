#include "platform/places/find_interpreter.h"

#include "base/text.h"

namespace muster::places {
namespace {

constexpr std::chrono::seconds answer_limit{30};

}  // namespace

loop::Task<Result<platform::Interpreter>> find_interpreter(supervise::Programs& programs,
                                                           std::string python, Env env) {
  env.erase("PYTHONPATH");  // For a shim that is a Python program itself.
  Command command{.argv = {python, "-I", "-c", platform::interpreter_question},
                  .env = std::move(env),
                  .cwd = "/"};
  const Result<supervise::Programs::Done> done =
      co_await programs.run(std::move(command), answer_limit);
  if (!done) co_return done.error();
  if (!done->outcome.success()) {
    const std::string said = trim(done->err);
    co_return fail(Errc::invalid_input,
                   python + ": not a working Python 3: " +
                       (said.empty() ? job::describe(done->outcome)
                                     : to_utf8(said.substr(said.rfind('\n') + 1))));
  }
  Result<platform::Interpreter> interpreter = platform::interpreter_from(done->out);
  if (!interpreter) co_return interpreter.error().in(python);
  co_return interpreter;
}

}  // namespace muster::places
