#include "cli/doctor/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/doctor/doctor_slurm.h"
#include "cli/doctor/trial.h"
#include "cli/exit_code_of.h"
#include "cli/fit/fit_options.h"
#include "cli/fit/places.h"
#include "cli/on_path.h"
#include "command/line.h"
#include "job/launch/launchers.h"
#include "os/devices/kernel_log.h"
#include "platform/places/rootless_user.h"

namespace muster::cli {
namespace {

/// "tensorflow" -> "for sm tf", by what its launcher calls it.
std::string purpose_of(const std::string& module) {
  for (const launch::LauncherRow& row : launch::launchers())
    if (row.needs.usual == module) return "for the launcher " + std::string(row.name);
  return {};
}

Finding health_finding(const places::GpuHealth& health, const places::GpuSurroundings& around) {
  std::vector<std::string> lines = health.unfit_lines;
  lines.insert(lines.end(), health.remarks.begin(), health.remarks.end());
  lines.insert(lines.end(), around.remarks.begin(), around.remarks.end());
  if (!health.unknown.empty()) lines.push_back("unknown: " + health.unknown);
  return {.what = "gpu health",
          .purpose = "for training on GPUs",
          .good = health.unfit_lines.empty() && health.unknown.empty(),
          .needed = false,
          .found = join(lines, "; "),
          .advice = health.unknown.empty()
                        ? "jobs do not get unhealthy GPUs; reset them (nvidia-smi --gpu-reset), "
                          "reboot, or replace them"
                        : "nvidia-smi -q must work; install the driver's tools, or check dmesg"};
}

Finding kernel_log_finding(const places::GpuSurroundings& around) {
  return {.what = "gpu errors",
          .purpose = "for failures that name the GPU",
          .good = around.kernel_log.empty(),
          .needed = false,
          .found = around.kernel_log,
          .advice =
              std::string(devices::kernel_log_advice) + "; or run sysctl kernel.dmesg_restrict=0"};
}

}  // namespace

std::vector<Finding> findings(const JobFacts& facts) {
  std::vector<Finding> all;
  for (const std::string& module : launch::usual_modules()) {
    const bool is_there = facts.modules && std::find(facts.modules->begin(), facts.modules->end(),
                                                     module) != facts.modules->end();
    all.push_back({.what = module,
                   .purpose = purpose_of(module),
                   .good = is_there,
                   .needed = false,
                   .found = is_there ? "in " + facts.python : std::string(),
                   .advice = facts.python + " -m pip install " + module +
                             ", or choose another interpreter with --python"});
  }
  const bool has_accelerators = facts.gpus > 0 || facts.neurons > 0;
  all.push_back(
      {.what = "gpus",
       .purpose = "for training on GPUs",
       .good = has_accelerators,
       .needed = false,
       .found = facts.neurons > 0 ? std::to_string(facts.neurons) + " Neuron cores"
                : facts.gpus > 0  ? std::to_string(facts.gpus)
                                  : facts.gpu_trouble,
       .advice = "if this machine has GPUs, install their driver; nvidia-smi must list them"});
  if (facts.gpus > 0) {
    all.push_back(health_finding(facts.health, facts.surroundings));
    all.push_back(kernel_log_finding(facts.surroundings));
  }
  all.push_back({.what = "port",
                 .purpose = "for sm server to listen on",
                 .good = facts.port_trouble.empty(),
                 .needed = false,
                 .found = facts.port_trouble,
                 .advice = "sm server may already be running (try sm jobs); otherwise choose "
                           "another port: sm server --listen 127.0.0.1:PORT"});
  return all;
}

std::string findings_text(const std::vector<Finding>& findings, bool colour,
                          const std::string& where) {
  std::string text;
  for (const Finding& each : findings) {
    std::string mark = each.good ? "ok     " : each.needed ? "MISSING" : "absent ";
    if (colour) {
      const char* const shade = each.good ? "\x1b[32m" : each.needed ? "\x1b[31m" : "\x1b[33m";
      mark = shade + mark + "\x1b[0m";
    }
    std::string name = each.what;
    name.resize(std::max<std::size_t>(name.size(), 13), ' ');
    text += mark + " " + name + each.purpose;
    if (!each.found.empty()) text += ": " + visible_line(each.found);
    if (!each.good) text += " -> " + visible_line(each.advice);
    text += '\n';
  }
  text += where +
          (is_well(findings) ? " can run jobs.\n" : " cannot run jobs yet: see MISSING above.\n");
  return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
  Json checks = Json::array();
  for (const Finding& each : findings) {
    Json check{{"what", each.what},
               {"purpose", each.purpose},
               {"good", each.good},
               {"needed", each.needed},
               {"found", each.found}};
    if (!each.good) check["advice"] = each.advice;
    checks.push_back(std::move(check));
  }
  return visible_json(to_text(Json{{"good", is_well(findings)}, {"checks", checks}})) + "\n";
}

int doctor_main(const Args& args, const Env& given) {
  const command::Page& page = command::page_of("doctor");
  command::Line line(page);
  bool json = false;
  bool probe = false;
  std::string python, engine;
  std::vector<std::string> settings;
  line.flag("--json", json);
  line.flag("--probe", probe);
  line.text("--python", python);
  line.text("--engine", engine);
  line.texts("--slurm", settings);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const Result<std::optional<places::SlurmCluster>> cluster = slurm_of(engine, settings);
  if (!cluster) return tell(command::wrong_line(page, cluster.error().text));
  if (probe && !*cluster) return tell(command::wrong_line(page, "--probe requires --engine slurm"));
  if (*cluster) return doctor_slurm(given, **cluster, {.probe = probe, .json = json});
  if (python.find('/') != std::string::npos)
    python = absolute(python, current_folder().value_or("/"));
  Env env = given;
  const Result<std::optional<places::Rootless>> entered = places::enter_rootless(env);
  MachineFacts machine = machine_facts(env);
  if (!entered) machine.refused = entered.error().text;
  machine.python_asked = python;
  if (!python.empty()) {
    machine.python3 = on_path(python, env);
    machine.py_spy = beside_python(machine.python3, "py-spy", env);
  }
  std::vector<Finding> found = findings(machine);
  if (is_well(found)) found.push_back(try_job(env, python, machine.no_outside.empty()));
  for (Finding& each : findings(job_facts(env, python))) found.push_back(std::move(each));
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && !env.contains("NO_COLOR");
  const std::string text = json ? findings_json(found) : findings_text(found, colour);
  if (!write_all(STDOUT_FILENO, text)) return exit_platform;
  return is_well(found) ? exit_success : exit_platform;
}

}  // namespace muster::cli
