#include "server/operations/operations_page.h"

#include <string_view>
#include <vector>

#include "aws/api/field_table.h"
#include "aws/api/model.h"
#include "aws/s3wire/s3_request.h"
#include "base/text.h"

namespace muster::server {
namespace {

using api::FieldRow;
using api::Treatment;

constexpr std::string_view head =
    R"(# Operations and fields

<!-- `sm server --operations` writes this page from the server's tables. Do not edit the page. -->

This page lists the AWS operations that `sm server` supports, and what the server does with each
field of a request. `sm server --operations` prints this page for your version of muster. The
tables use these words:

- **supported** means that the field affects what the server does or returns. The notes
  describe the limits of this support.
- **stored only** means that muster stores the value of the field and `DescribeTrainingJob` returns
  it. Apart from that, the field doesn't have any effect.
- **no effect** means that muster accepts the field but ignores it. For `CreateTrainingJob`, the
  start of the job's log and `sm describe` list the ignored fields and say what muster does instead.
- **rejected** means that a request with this field fails with an error.

muster treats fields that are newer than this version of muster as stored only.

## Operations

| service | operations |
| --- | --- |
)";

constexpr std::string_view others =
    R"(
muster adds these operations to `sagemaker`:

- `CheckTrainingJob` validates a `CreateTrainingJob` request without creating a job. Clients call
  `CheckTrainingJob` before they upload data.
- `DescribeTrainingJobTimeline` returns the data for `sm timeline`.
- `DescribeTrainingJobUsage` returns the data for `sm top`.
- `DescribeTrainingJobStacks` and `DescribeTrainingJobNativeStacks` return the data for `sm stacks`.
- `CreateWebLink` creates the link with which `sm ui` opens the web page.

All operations that are not in the table return the error `UnknownOperationException`. For services
with the Query protocol, the error is `InvalidAction`; for S3, it is `NotImplemented`. Calls for
hosting models (`CreateModel`, endpoints, batch transform, `InvokeEndpoint`) return an error that
says that muster doesn't host models.

With a user's access key, you can call every operation. A job's key can use S3 only within the job's
own folders, and can call `GetCallerIdentity` and `GetAuthorizationToken`.

## Fields of CreateTrainingJob

Each row applies to its field and to all nested fields that don't have their own row.

| field | support | notes |
| --- | --- | --- |
)";

constexpr std::string_view rest = R"(
## Fields of other operations

| operation | fields | support | notes |
| --- | --- | --- | --- |
)";

std::string_view word_of(Treatment treatment) {
  switch (treatment) {
    case Treatment::heeded:
      return "supported";
    case Treatment::echoed:
      return "stored only";
    case Treatment::without_effect:
      return "no effect";
    case Treatment::refused:
      return "rejected";
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
