#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "stacks/stack.h"
#include "store/store.h"

namespace muster::server {

/// What CloudFormation tells of a stack: `row` and `stack` as the store keeps them, `request` what
/// CreateStack was given. Pure.

Json stack_answer(const store::StackRow& row, const stacks::Stack& stack, const Json& request);
Json summary_answer(const store::StackRow& row, const stacks::Stack& stack);
/// All resources, or the one of that logical name.
Json resource_answers(const store::StackRow& row, const stacks::Stack& stack,
                      const std::string& logical);
/// Newest first, from CREATE_IN_PROGRESS of the stack on.
Json event_answers(const store::StackRow& row, const stacks::Stack& stack);

/// CreateStack's input without the values of parameters: the stack has those that may be told.
Json without_secrets(Json input);

/// Adds to `tags` what the stack's things have: their own tags, the stack's, CloudFormation's.
void add_tags(const store::StackRow& row, const stacks::Stack& stack, const Json& request,
              std::map<std::string, store::Tags>& tags);

}  // namespace muster::server
