#include "job/launch/mpi_flavour.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace muster::launch {
namespace {

constexpr int open_mpi_oldest = 4;

/// The number that `text` has right after `mark` and spaces; none if there is none.
std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  if (found == std::string_view::npos) return std::nullopt;
  const std::size_t first = text.find_first_not_of(" \t", found + mark.size());
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", first), text.size());
  constexpr std::size_t digits_max = 6;
  if (end == first || end - first > digits_max) return std::nullopt;
  return static_cast<int>(parse_integer(text.substr(first, end - first)).value_or(0));
}

std::string first_line(std::string_view text) {
  constexpr std::size_t bytes_max = 120;
  const std::string line = trim(text.substr(0, text.find('\n')));
  return line.empty() ? "nothing" : "\"" + to_utf8(line.substr(0, bytes_max)) + "\"";
}

}  // namespace

Result<MpiFlavour> mpi_flavour_from(std::string_view version_text) {
  using Kind = MpiFlavour::Kind;
  struct {
    const char* sign;  ///< What only this one writes.
    const char* before_number;
    Kind kind;
  } constexpr known[] = {
      {"(Open MPI)", "(Open MPI)", Kind::open_mpi},
      {"Intel(R) MPI Library", "Version", Kind::intel_mpi},
      {"HYDRA build details", "Version:", Kind::mpich},
  };
  for (const auto& one : known) {
    if (version_text.find(one.sign) == std::string_view::npos) continue;
    const std::optional<int> major = number_after(version_text, one.before_number);
    if (!major) break;
    if (one.kind == Kind::open_mpi && *major < open_mpi_oldest) break;
    return MpiFlavour{one.kind, *major};
  }
  return fail(Errc::invalid_input, "mpirun --version printed " + first_line(version_text) +
                                       "; expected Open MPI 4 or later, MPICH or Intel MPI");
}

std::string name_of(const MpiFlavour& flavour) {
  const char* name = flavour.kind == MpiFlavour::Kind::open_mpi ? "Open MPI "
                     : flavour.kind == MpiFlavour::Kind::mpich  ? "MPICH "
                                                                : "Intel MPI ";
  return name + std::to_string(flavour.major);
}

bool told_to_ranks(std::string_view name) {
  // A launcher passes on the leader's interfaces, but each host has its own.
  constexpr std::array<std::string_view, 4> interfaces = {
      "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include", "PRTE_MCA_prte_if_include",
      hydra_interface};
  if (std::find(interfaces.begin(), interfaces.end(), name) != interfaces.end()) return false;
  constexpr std::array<std::string_view, 9> prefixes = {
      "OMPI_", "PMIX_", "PRTE_", "ORTE_", "OPAL_", "PMI_", "HYDI_", "HYDRA_", "I_MPI_"};
  constexpr std::array<std::string_view, 4> names = {"HFI_NO_BACKTRACE", "IPATH_NO_BACKTRACE",
                                                     "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Env ssh_session_variables(const Env& launcher) {
  constexpr std::array<std::string_view, 3> prefixes = {"OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"};
  const auto is_parameter = [&](std::string_view name) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
  };
  const auto is_word = [](std::string_view value) {
    return std::all_of(value.begin(), value.end(), [](char sign) {
      return sign > ' ' && sign <= '~' &&
             std::string_view("\"'\\#").find(sign) == std::string::npos;
    });
  };
  Env env;
  for (const auto& [name, value] : launcher)
    if (is_parameter(name) && is_word(name) && is_word(value)) env.emplace(name, value);
  return env;
}

}  // namespace muster::launch
