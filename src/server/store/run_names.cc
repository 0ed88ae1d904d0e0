#include "server/store/run_names.h"

#include <string_view>

#include "server/store/sqlite.h"

namespace muster::store {

Result<std::int64_t> RunNames::add(RunKind kind, const std::string& name) {
  Added& own = added_[{kind, name}];
  ++own.jobs;
  if (own.id != 0) return own.id;
  const auto number = static_cast<std::int64_t>(kind);
  {
    Statement row = database_.statement("SELECT id FROM run_names WHERE kind = ? AND name = ?");
    const bool is_known = TRY(row.bind(number).bind(name).step());
    if (is_known) return own.id = row.number(0);
  }
  TRY(database_.statement("INSERT INTO run_names (kind, name, jobs) VALUES (?, ?, 0)")
          .bind(number)
          .bind(name)
          .run());
  return own.id = database_.last_row();
}

Result<void> RunNames::count() {
  for (const auto& [key, own] : added_)
    TRY(database_.statement("UPDATE run_names SET jobs = jobs + ? WHERE id = ?")
            .bind(own.jobs)
            .bind(own.id)
            .run());
  added_.clear();
  return {};
}

void bind_key(Statement& statement, const RunKey& key) {
  if (const auto* whole = std::get_if<std::int64_t>(&key))
    statement.bind(*whole);
  else if (const auto* number = std::get_if<double>(&key))
    statement.bind(*number);
  else
    statement.bind(std::string_view(std::get<std::string>(key)));
}

}  // namespace muster::store
