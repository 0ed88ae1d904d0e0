#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "server/cloudformation/stack.h"
#include "server/cloudformation/template.h"
#include "server/store/store.h"

namespace muster::server {

/// CloudFormation's description of a stack: `row` and `stack` as stored, `request` as passed to
/// CreateStack. Pure.

Json stack_answer(const store::StackRow& row, const cloudformation::Stack& stack,
                  const Json& request);
Json summary_answer(const store::StackRow& row, const cloudformation::Stack& stack);
/// All resources, or the one with that logical name.
Json resource_answers(const store::StackRow& row, const cloudformation::Stack& stack,
                      const std::string& logical);
/// Newest first, from CREATE_IN_PROGRESS of the stack on.
Json event_answers(const store::StackRow& row, const cloudformation::Stack& stack);

/// CreateStack's input without the values of parameters: the stack has those that can be shown.
Json without_secrets(Json input);

/// Adds the tags of the stack's resources to `tags`: their own, the stack's and CloudFormation's.
void add_tags(const store::StackRow& row, const cloudformation::Stack& stack, const Json& request,
              std::map<std::string, store::Tags>& tags);

/// DescribeChangeSet's response, from its row's document and its stack's row.
Json change_set_answer(const store::ChangeSetRow& row, const Json& document,
                       const store::StackRow& stack);

/// A template's parameters: key, default, NoEcho and description; with `with_types` also the type
/// and the allowed values.
Json parameter_declarations(const cloudformation::Template& made, bool with_types);
/// GetTemplateSummary's response.
Json template_summary(const cloudformation::Template& made);

}  // namespace muster::server
