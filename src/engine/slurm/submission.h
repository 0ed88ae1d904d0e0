#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::slurm {

// Pure: requests to Slurm, as text. Only flags that Slurm 17.11 had are used, because some sites
// run old versions. Source: docs/decisions/0047-slurm.md.

/// What a job's hosts on nodes are (docs/decisions/0048-light-hosts.md, 0051); the last two are
/// light ones, in whose image a program of the node's puts them (0062).
enum class Hosts { light, container, apptainer, enroot };
/// From the names used in the configuration; none for any other name.
std::optional<Hosts> hosts_from(std::string_view name);
/// The program that opens images on nodes; "" where muster does, or there are none.
std::string image_tool(Hosts hosts);

/// Where jobs are to run on this site, from the configuration.
struct Site {
  std::string partition{};  ///< Empty: Slurm's default; so are the next two.
  std::string account{};
  std::string qos{};
  Hosts hosts = Hosts::light;
  int spares = 0;   ///< Nodes more, for hosts that are lost.
  Args options{};   ///< More of sbatch's, "--constraint=a100", of those that are allowed.
  Env preflight{};  ///< Variables of the hosts: whether there is one, its thresholds.
};

/// Error: `invalid_input`, naming a value that Slurm does not accept, or an option that is not
/// allowed.
Result<void> check(const Site& site);

/// Options for both sbatch and srun. Nothing is checked here.
Args words_of(const Site& site);

/// Digits of a nonce, which is 64 random bits.
inline constexpr std::size_t nonce_digits = 16;

/// One attempt of a job.
struct Submission {
  std::string job;    ///< The training job's name: letters, digits, '-'; 1 to 63.
  std::string nonce;  ///< 16 lower-case hex digits, the attempt's own: Slurm's ids are used again.
  /// Names the job's files on its nodes: 16 hex digits, unknown to others until the first of those
  /// files is there. The nonce does not do: squeue shows it to all users while the job waits.
  std::string place = {};
  /// The first word of the go file, which starts the job on a node; useless afterwards. 32 hex
  /// digits that no other user of the node can know.
  std::string word = {};
  int nodes = 1;
  int spares = 0;                 ///< Additional nodes: if any node is lost, the job continues.
  std::int64_t memory_bytes = 0;  ///< Each node's; 0: Slurm's default.
  std::int64_t cpu_millis = 0;    ///< Each node's; 0: Slurm's default.
  int gpus = 0;                   ///< Each node's.
  std::chrono::seconds run_time_max{0};    ///< MaxRuntimeInSeconds; > 0.
  std::vector<std::string> excluded = {};  ///< Nodes that an earlier attempt broke on.
};

/// "muster-<job>-<nonce>".
std::string slurm_name(const Submission& submission);
/// The parts of a name that slurm_name() made; none for other names.
struct OwnName {
  std::string job;
  std::string nonce;

  bool operator==(const OwnName&) const = default;
};
std::optional<OwnName> own_name(std::string_view slurm_name);

/// Slurm's limit, in whole minutes: what the job may run, and on top of it the time to bring it to
/// the nodes, to stop it and to bring its results back.
std::int64_t limit_minutes(std::chrono::seconds run_time_max);

/// `sbatch` with its arguments, to which the script's path is to be added. A job gets the
/// environment of its sbatch, and Slurm keeps it, so of `env` only what finds programs and Slurm
/// itself is in it. Error: `invalid_input`, also of check(Site).
Result<Command> plan_sbatch(const Submission& submission, const Site& site, const Env& env);

/// The script. On each node it creates place_of(), which must not exist yet, and waits at most
/// `bring_max` for the go file, so that nodes are not held for a submitter that has gone away.
/// sbcast copies all files to /tmp, the go file last. The script moves each into place_of(), which
/// other users cannot write to, and checks it there before using it. Then it runs `program`, or the
/// copied program if that is empty. The script contains no key, because sites keep scripts.
/// `digest`: "sha256:…" that the program must have, if nodes share it; else empty.
std::string batch_script(const Submission& submission, const std::string& program = {},
                         const std::string& digest = {});

/// The job's own folder on each of its nodes.
std::string place_of(const Submission& submission);
/// The files that sbcast brings; the script finds `job` as "<place>/job".
enum class BroughtFile { program, job, archive, go };
using BroughtFiles = std::vector<BroughtFile>;
/// Where sbcast puts a file.
std::string arrival_of(const Submission& submission, BroughtFile file);
/// Where the script moves it.
std::string final_path_of(const Submission& submission, BroughtFile file);
/// The go file's text; `brought` are the other files.
std::string go_text(const Submission& submission, const BroughtFiles& brought);

inline constexpr std::chrono::minutes bring_max{10};

}  // namespace muster::slurm
