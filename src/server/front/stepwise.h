#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "aws/api/request.h"
#include "net/loop/turns.h"

namespace muster::server {

/// Calls that take long are made in steps: one step of all of them at a time, then whatever else
/// the loop has to do. A thousand such calls delay others no more than one does.
class Stepwise {
 public:
  using Step = std::function<std::optional<api::Answer>()>;

  explicit Stepwise(loop::Loop& loop) : loop_(loop) {}

  /// Calls `step` until it has the answer. Refusal: `ThrottlingException`, with too many calls of
  /// this access key.
  loop::Task<api::Answer> run(std::string access_key, Step step) {
    while (true) {
      const Result<loop::Turns::Turn> turn = co_await turns_.take(loop_, access_key);
      if (!turn) co_return aws::Refusal{"ThrottlingException", turn.error().text};
      if (std::optional<api::Answer> answer = step()) co_return *std::move(answer);
    }
  }

 private:
  loop::Loop& loop_;
  loop::Turns turns_{{.at_once = 1, .of_party = 1, .waiting_of_party = 1000}};
};

}  // namespace muster::server
