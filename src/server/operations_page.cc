#include "server/operations_page.h"

#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/model.h"
#include "base/text.h"
#include "s3wire/s3_request.h"

namespace muster::server {
namespace {

using api::FieldRow;
using api::Treatment;

constexpr std::string_view head =
    R"(# Operations and fields

<!-- Written by `sm server --operations` from the server's own tables. Do not edit. -->
What `sm server` answers of AWS's services, and what becomes of each field of a call.
`sm server --operations` prints this page for the version that you have.

- **heeded**: decides what is done or answered;
- **echoed**: kept, and told again by `DescribeTrainingJob`; nothing else is done with it;
- **without effect**: taken, changes nothing. Those of `CreateTrainingJob` are named, with what
  holds instead, at the head of the job's log and in `sm describe`;
- **refused**: the call answers with an error that says so.

A field that is newer than muster is echoed.

## Operations

| service | operations |
| --- | --- |
)";

constexpr std::string_view others =
    R"(
`sagemaker:CheckTrainingJob` is muster's own: `CreateTrainingJob` that makes nothing, for clients
that have data to upload first; so is `sagemaker:DescribeTrainingJobTimeline`, what `sm timeline`
shows, `sagemaker:DescribeTrainingJobStacks` and `DescribeTrainingJobNativeStacks`, what `sm stacks`
shows, and `sagemaker:CreateWebLink`, by which `sm ui` opens the web page. Any other operation of
these services answers `UnknownOperationException` (`InvalidAction` where the protocol is Query), of
S3 `NotImplemented`.
Calls about hosting (`CreateModel`, endpoints, batch transform, `InvokeEndpoint`) answer that muster
trains and hosts nothing.

A user's key may call everything; a job's own key uses S3 within the job's folders, and
`GetCallerIdentity`.

## Fields of CreateTrainingJob

A field stands for what is inside it, where that has no line of its own.

| field | is | |
| --- | --- | --- |
)";

constexpr std::string_view rest = R"(
## Fields of the other calls

| operation | fields | are | |
| --- | --- | --- | --- |
)";

std::string_view word_of(Treatment treatment) {
  switch (treatment) {
    case Treatment::heeded:
      return "heeded";
    case Treatment::echoed:
      return "echoed";
    case Treatment::without_effect:
      return "without effect";
    case Treatment::refused:
      return "refused";
  }
  return {};
}

std::string code(std::string_view text) {
  return "`" + std::string(text) + "`";
}

std::string line(const std::vector<std::string>& cells) {
  return "| " + join(cells, " | ") + " |\n";
}

std::string names_of(const FieldRow& row) {
  std::vector<std::string> names;
  for (const std::string& path : split_words(row.paths)) names.push_back(code(path));
  return join(names, ", ");
}

std::string operations_of(const api::Service& service) {
  std::vector<std::string> names;
  for (const api::Operation& operation : service.operations) names.push_back(code(operation.name));
  return join(names, ", ");
}

std::string s3_operations() {
  std::vector<std::string> names;
  for (const std::string_view name : s3wire::operation_names()) names.push_back(code(name));
  return join(names, ", ");
}

}  // namespace

std::string operations_page() {
  std::string page(head);
  for (const api::Service* service : api::services())
    page += line({std::string(service->name), operations_of(*service)});
  page += line({"s3", s3_operations()});
  page += others;
  for (const FieldRow& row : api::create_training_job_rows())
    for (const std::string& path : split_words(row.paths))
      page += line({code(path), std::string(word_of(row.treatment)), std::string(row.what)});
  page += rest;
  for (const api::Service* service : api::services())
    for (const api::Operation& operation : service->operations)
      if (operation.name != "CreateTrainingJob")
        for (const FieldRow& row : api::field_rows(operation.name))
          page += line({code(operation.name), names_of(row), std::string(word_of(row.treatment)),
                        std::string(row.what)});
  return page;
}

}  // namespace muster::server
