// Lists of jobs, page by page.

#include <array>

#include "base/text.h"
#include "server/store/sqlite.h"
#include "server/store/store.h"

namespace muster::store {
namespace {

/// The column that SortBy means.
constexpr std::array<const char*, 4> sort_columns = {"name", "created", "status", "modified"};

struct Condition {
  bool is_wanted;
  bool by_index;  ///< Leads to the jobs; else it is tried on each one that is looked at.
  const char* text;
};

/// Values have their numbers in any case. A condition that no index serves must not stand in WHERE:
/// SQLite would look for the jobs that it holds for through the whole table.
std::string list_statement(const JobQuery& query) {
  const std::string column = sort_columns[static_cast<std::size_t>(query.sort_by)];
  const std::string order = query.descending ? " DESC" : " ASC";
  const std::string behind =
      "(" + column + ", number) " + (query.descending ? "<" : ">") + " (?7, ?8)";
  const bool by_name = query.sort_by == SortBy::name;
  const bool by_time = query.sort_by == SortBy::creation_time;
  const bool by_change = query.sort_by == SortBy::modified;
  const bool has_status_index = !query.has_streams && (by_time || query.sort_by == SortBy::status);
  const Condition conditions[] = {
      {!query.name_contains.empty(), false, "instr(name, ?1) > 0"},
      {query.status.has_value(), has_status_index, "status = ?2"},
      {query.created_after.has_value(), by_time, "created > ?3"},
      {query.created_before.has_value(), by_time, "created < ?4"},
      {query.modified_after.has_value(), by_change, "modified > ?5"},
      {query.modified_before.has_value(), by_change, "modified < ?6"},
      {query.after.has_value(), true, behind.c_str()},
      {!query.instance_type_contains.empty(), false,
       "EXISTS (SELECT 1 FROM instance_types WHERE job = jobs.number AND instr(type, ?9) > 0)"},
      {!query.tag_key.empty(), false,
       query.tag_value
           ? "EXISTS (SELECT 1 FROM tags WHERE arn = jobs.arn AND key = ?10 AND value = ?11)"
           : "EXISTS (SELECT 1 FROM tags WHERE arn = jobs.arn AND key = ?10)"},
      {!query.name_prefix.empty(), by_name, "name >= ?12"},
      {!query.name_prefix.empty(), by_name, "name < ?13"},
      {query.has_streams, by_name || by_time, "streams IS NOT NULL"},
  };
  std::string where, matches;
  for (const Condition& each : conditions)
    if (each.is_wanted) (each.by_index ? where : matches) += std::string(" AND ") + each.text;
  return "SELECT number, name, arn, status, secondary, created, modified, training_end, 1" +
         matches + " FROM jobs WHERE ?13 IS NOT NULL" + where + " ORDER BY " + column + order +
         ", number" + order;
}

/// The end of the range of texts that begin with `prefix`; names are ASCII.
std::string behind(const std::string& prefix) {
  return prefix + "\x7f";
}

void bind(Statement& rows, const JobQuery& query) {
  rows.bind(query.name_contains)
      .bind(query.status ? status_name(*query.status) : std::string_view())
      .bind(query.created_after)
      .bind(query.created_before)
      .bind(query.modified_after)
      .bind(query.modified_before);
  const std::string key = query.after ? query.after->first : "";
  if (query.sort_by == SortBy::creation_time || query.sort_by == SortBy::modified)
    rows.bind(parse_integer(key).value_or(0));
  else
    rows.bind(std::string_view(key));
  rows.bind(query.after ? query.after->second : 0)
      .bind(query.instance_type_contains)
      .bind(query.tag_key)
      .bind(query.tag_value.value_or(""))
      .bind(query.name_prefix)
      .bind(behind(query.name_prefix));
}

JobSummary summary_in(const Statement& row) {
  return {
      row.number(0), row.text(1), row.text(2), status_named(row.text(3)).value_or(Status::failed),
      row.text(4),   row.time(5), row.time(6), row.maybe_time(7)};
}

}  // namespace

std::string sort_key(const JobSummary& job, SortBy sort_by) {
  if (sort_by == SortBy::name) return job.name;
  if (sort_by == SortBy::status) return std::string(status_name(job.status));
  const UnixMillis time = sort_by == SortBy::modified ? job.modified : job.created;
  return std::to_string(time.count());
}

Result<JobPage> Store::page(const JobQuery& query) {
  Statement rows = database_->statement(list_statement(query));
  bind(rows, query);
  JobPage page;
  const auto place_of = [&](const JobSummary& job) {
    return ListPlace{sort_key(job, query.sort_by), job.number};
  };
  constexpr int matches_column = 8;
  while (TRY(rows.step())) {
    const bool matches = rows.number(matches_column) != 0;
    if (matches && page.jobs.size() == query.limit) {
      if (query.limit > 0) page.next = place_of(page.jobs.back());
      return page;
    }
    ++page.looked_at;
    if (matches) page.jobs.push_back(summary_in(rows));
    if (page.looked_at < query.looked_at_max) continue;
    page.next = place_of(summary_in(rows));
    return page;
  }
  return page;
}

Result<std::vector<JobSummary>> Store::list(const JobQuery& query) {
  return TRY(page(query)).jobs;
}

}  // namespace muster::store
