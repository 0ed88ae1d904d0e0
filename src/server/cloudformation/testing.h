#pragma once

#include <map>
#include <string>
#include <string_view>

#include "server/cloudformation/stack.h"

namespace muster::cloudformation {

/// A stack "net" of an account without others, for tests and fuzzers. Ids are counted: "vpc-1",
/// "sg-2", …
inline Result<Stack, aws::Refusal> stack_made(
    std::string_view text, const std::map<std::string, std::string>& parameters = {},
    const vpc::Networks& known = {}) {
  int count = 0;
  return make_stack(text, parameters,
                    {.name = "net",
                     .id = "arn:aws:cloudformation:eu-west-1:000000000000:stack/net/1",
                     .region = "eu-west-1",
                     .account = "000000000000",
                     .known = known,
                     .fresh_id = [&count](std::string_view prefix) {
                       return std::string(prefix) + "-" + std::to_string(++count);
                     }});
}

}  // namespace muster::cloudformation
