#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fd.h"
#include "base/json.h"
#include "base/process/local_time.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/time.h"
#include "base/topic.h"
#include "cli/cli.h"
#include "cli/exit_code_of.h"
#include "cli/fit/again.h"
#include "cli/fit/detach.h"
#include "cli/fit/fit_options.h"
#include "cli/fit/fit_spec.h"
#include "cli/fit/given_line.h"
#include "cli/fit/kept_job.h"
#include "cli/fit/places.h"
#include "cli/needs.h"
#include "cli/out.h"
#include "cli/own_namespace.h"
#include "cli/server_client.h"
#include "cli/view/job_view.h"
#include "cli/view/last_lines.h"
#include "cli/view/own_timeline.h"
#include "cli/view/render.h"
#include "cli/view/timeline_view.h"
#include "net/loop/tasks.h"
#include "net/loop/worker.h"
#include "platform/crowded.h"
#include "platform/job_name.h"
#include "platform/places/images.h"
#include "platform/places/machine.h"
#include "platform/places/tool_image.h"
#include "platform/submitter_folder.h"

namespace muster::cli {
namespace {

void complain(const std::string& text) {
  static_cast<void>(say_line(STDERR_FILENO, "sm fit", text));
}

void complain_of(const Error& error) {
  complain(with_topic(error.text));
}

std::string conflicts_text(const platform::Conflicts& conflicts, const std::string& out) {
  std::string names = join(conflicts.names, ", ");
  if (conflicts.count > conflicts.names.size())
    names += " and " + std::to_string(conflicts.count - conflicts.names.size()) + " more";
  return "warning: several hosts wrote different versions of: " + names +
         "; the last host's version was kept, the others are in " + out + "/conflicts";
}

/// Shows a job on standard output.
class Screen final : public platform::Sink {
 public:
  Screen(Out& out, std::unique_ptr<Render> render) : out_(out), render_(std::move(render)) {}
  void status(const platform::StatusLine& line) override {
    if (line.status == "Stopping") last_.freeze(line.time);
    if (is_end(line.status)) render_->finish();
    render_->status(line);
  }
  void lines(const std::string& host, UnixMillis time, const job::Lines& lines) override {
    last_.take(host, time, lines);
    render_->lines(host, time, lines);
  }
  void log(const std::string& host, UnixMillis time, const job::LogLine& line) override {
    render_->log(host, time, line);
  }
  loop::Task<> flush() override { return out_.flush(); }
  const LastLines& last() const { return last_; }

 private:
  static bool is_end(const std::string& status) {
    return status == "Completed" || status == "Failed" || status == "Stopped" ||
           status == "MaxRuntimeExceeded" || status == "MaxWaitTimeExceeded";
  }
  Out& out_;
  std::unique_ptr<Render> render_;
  LastLines last_;
};

/// One `sm fit`, from the places on the disk to the exit code.
class Fit {
 public:
  Fit(loop::Loop& loop, FitOptions options, Places places, const Env& env, std::string cwd,
      std::optional<Detachment> detachment)
      : loop_(loop),
        options_(std::move(options)),
        places_(std::move(places)),
        env_(env),
        cwd_(std::move(cwd)),
        detachment_(std::move(detachment)),
        signals_(loop, {SIGINT, SIGTERM, SIGHUP}),
        machine_(loop, env, {.slurm = options_.slurm}),
        out_(loop, STDOUT_FILENO),
        colour_(!env.contains("NO_COLOR")),
        requests_(loop),
        sweeping_(loop) {}
  Fit(const Fit&) = delete;
  Fit& operator=(const Fit&) = delete;

  loop::Task<> run();
  loop::Task<> watch_signals();
  int exit_code() const { return exit_code_; }

 private:
  loop::Task<> sweep();
  loop::Task<Result<std::optional<platform::Interpreter>>> interpreter();
  loop::Task<Result<places::UsedImage>> use_image();
  Result<void> name_image(const std::string& tool, job::Spec& spec) const;
  loop::Task<Result<job::Spec>> specify();
  loop::Task<int> run_to_the_end();
  KeptJob::Options kept_options();
  int code_of(const platform::JobReport& report) const;
  loop::Task<> add_timeline(std::string name);
  loop::Task<int> report(const job::Spec& spec, Result<platform::JobReport> report,
                         const LastLines& last, const Json& told);
  std::unique_ptr<Render> make_render();

  loop::Loop& loop_;
  FitOptions options_;
  Places places_;
  const Env& env_;
  std::string cwd_;
  std::optional<Detachment> detachment_;  ///< None: the job is shown here.
  loop::Signals signals_;
  places::Machine machine_;
  Out out_;
  bool colour_;
  platform::Requests requests_;
  image::Lease lease_;  ///< The image of the job, so that it stays.
  bool running_ = false;
  int stop_signal_ = 0;
  int exit_code_ = exit_platform;
  loop::Tasks sweeping_;
};

loop::Task<> Fit::watch_signals() {
  int count = 0;
  while (true) {
    const Result<int> signal = co_await signals_.next();
    if (!signal) co_return;
    ++count;
    if (stop_signal_ == 0) stop_signal_ = *signal;
    if (!running_ || count > 2)
      ::_exit(exit_signal_base + *signal);  // Hosts end with their lifeline.
    if (count == 1) {
      const std::string grace = std::to_string((options_.grace.count() + 999) / 1000);
      complain("stopping the job (at most " + grace + " s); press Ctrl-C again to kill it now");
      requests_.stop();
    } else {
      complain("killing the job");
      requests_.kill();
      out_.abandon();
    }
  }
}

loop::Task<> Fit::run() {
  exit_code_ = co_await run_to_the_end();
  loop_.stop();
}

/// What earlier jobs left must not be in this one's way. Costs a few milliseconds.
loop::Task<> Fit::sweep() {
  const Result<Swept> swept = co_await machine_.sweep(false);
  if (!swept)
    complain("warning: could not remove the leftovers of dead jobs: " + swept.error().text);
  const std::string lines = swept ? lines_of(*swept) : std::string();
  if (options_.verbose && !lines.empty()) complain(trim(lines));
}

loop::Task<Result<std::optional<platform::Interpreter>>> Fit::interpreter() {
  using Found = std::optional<platform::Interpreter>;
  const bool is_python = places_.script.ends_with(".py");
  const bool named = options_.python.find('/') != std::string::npos;
  std::string python = options_.python.empty() ? "python3" : options_.python;
  if (named) python = absolute(python, cwd_);
  Result<platform::Interpreter> found = co_await machine_.interpreter(python);
  if (found) co_return Found(*std::move(found));
  // A shell script may call Python or may not: what PATH has comes along, if it has one.
  if (options_.python.empty() && !is_python) co_return Found();
  if (options_.python.empty())
    co_return fail(Errc::system,
                   found.error().text + "; choose another interpreter with --python PATH");
  co_return fail(Errc::invalid_input, "--python: " + found.error().text);
}

/// In a thread, so that a signal ends it: an engine's image takes as long as its size says.
loop::Task<Result<places::UsedImage>> Fit::use_image() {
  const auto work = [this] {
    const places::ImageTelling telling{show_progress, complain};
    return places::use_image(env_, options_.image, options_.policy, telling);
  };
  co_return co_await loop::in_thread(loop_, work);
}

/// The nodes bring it.
Result<void> Fit::name_image(const std::string& tool, job::Spec& spec) const {
  if (!options_.policy.empty())
    return fail(Errc::invalid_input,
                "--policy: " + tool +
                    ", which opens the image on the nodes, does not check signature policies");
  Result<job::Image> image = places::image_for_tool(tool, options_.image);
  if (!image) return image.error().in("--image");
  spec.notes.push_back("runs image " + image->name + ", which " + tool + " opens on the nodes");
  spec.image = *std::move(image);
  return {};
}

loop::Task<Result<job::Spec>> Fit::specify() {
  Result<std::optional<platform::Interpreter>> python = std::optional<platform::Interpreter>();
  if (options_.image.empty()) python = co_await interpreter();
  if (!python) co_return python.error();
  if (options_.python.empty() && *python) {
    const std::string venv = lost_venv(env_, (*python)->program, places_, cwd_);
    if (!venv.empty())
      complain("running with " + (*python)->program + ", not in " + venv +
               ": sudo uses its own PATH; to use the virtual environment, pass --python " + venv +
               "/bin/python");
  }
  const std::string name =
      !options_.name.empty()
          ? options_.name
          : platform::default_job_name(places_.script.empty() ? options_.image : places_.script,
                                       wall_time(), hex(random_bytes(2)));
  const Env::const_iterator path = env_.find("PATH");
  Result<job::Spec> spec =
      fit_spec(options_, places_, *python, name, path == env_.end() ? "" : path->second);
  if (!spec) co_return spec.error();
  const std::string tool = places::image_tool(options_.slurm, spec->instance_type);
  if (!options_.image.empty() && !tool.empty()) {
    if (Result<void> named = name_image(tool, *spec); !named) co_return named.error();
  } else if (!options_.image.empty()) {
    Result<places::UsedImage> used = co_await use_image();
    if (!used) co_return used.error().in("--image");
    spec->notes.push_back("runs image " + used->image.name + ", " + used->image.digest);
    spec->image = std::move(used->image);
    lease_ = std::move(used->lease);
  }
  if (*python && !(*python)->has_packages) platform::add_packages(spec->environment);
  if (spec->output_folder.empty()) {
    spec->output_folder = absolute(name, cwd_);
    const Result<void> usable =
        platform::check_output_folder(spec->output_folder, options_.overwrite);
    if (!usable) co_return fail(Errc::invalid_input, usable.error().text);
  }
  if (!spec->checkpoint_folder.empty()) spec->checkpoint_owner = submitter(env_);
  if (!spec->checkpoint_folder.empty() && !options_.print_plan) {
    const Result<Fd> made =
        platform::make_folders_of(spec->checkpoint_folder, spec->checkpoint_owner);
    if (!made) co_return made.error().in("--checkpoints");
  }
  if (!options_.slurm)
    platform::yield_if_crowded(*spec, static_cast<int>(std::thread::hardware_concurrency()));
  co_return spec;
}

std::unique_ptr<Render> Fit::make_render() {
  if (options_.detach) return std::make_unique<NoRender>();
  if (options_.json) return std::make_unique<JsonRender>(out_.text());
  const bool terminal = out_.is_terminal();
  RenderOptions options{.colour = terminal && colour_,
                        .live = terminal,
                        .raw = options_.raw,
                        .verbose = options_.verbose,
                        .hosts = options_.hosts,
                        .ranks = options_.launch.ranks(options_.hosts),
                        .columns = [this] { return out_.columns(); }};
  return std::make_unique<PlainRender>(out_.text(), std::move(options));
}

loop::Task<int> Fit::run_to_the_end() {
  if (!options_.print_plan && !options_.slurm) sweeping_.start(sweep());
  const Result<job::Spec> spec = co_await specify();
  co_await sweeping_.join();
  if (!spec) {
    complain_of(spec.error());
    co_return exit_code_of(spec.error().code);
  }
  if (options_.print_plan) {
    out_.text() += visible_json(job::to_json(*spec).dump(2)) + "\n";
    co_await out_.flush();
    co_return exit_success;
  }
  const std::string note = apart_note(options_.script, options_.launch, options_.hosts,
                                      options_.hyperparameters.all, options_.environment);
  if (!note.empty()) complain(note);
  if (options_.network == job::Network::host) complain(host_network_note);
  std::string beyond;
  if (!options_.slurm)
    beyond = beyond_machine_note(options_,
                                 std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE),
                                 static_cast<int>(std::thread::hardware_concurrency()));
  if (!beyond.empty()) complain(beyond);
  running_ = true;
  Screen screen(out_, make_render());
  KeptJob::Options how = kept_options();
  const Result<std::unique_ptr<KeptJob>> kept =
      KeptJob::prepare(loop_, machine_, *spec, screen, std::move(how));
  if (!kept) {
    complain_of(kept.error());
    co_return exit_code_of(kept.error().code);
  }
  platform::JobRunOptions options;
  options.keep = options_.keep;
  options.only_if_any = options_.output.empty() && !options_.detach;
  options.overwrite = options_.overwrite;
  options.owner = submitter(env_);
  options.write_log = (*kept)->log_writer();
  Result<platform::JobReport> done =
      co_await platform::run_job(loop_, machine_.engine(), *spec, options, **kept, requests_);
  const int code = co_await report(*spec, std::move(done), screen.last(), (*kept)->description());
  co_return code;
}

KeptJob::Options Fit::kept_options() {
  KeptJob::Options options;
  options.state = state_folder(env_);
  options.metrics = options_.metrics;
  options.line = options_.kept_line;
  options.detachment = std::move(detachment_);
  options.exit_code = [this](const platform::JobReport& report) { return code_of(report); };
  options.calls.look = [this] { return requests_.look(); };
  options.calls.usage = [this] { return requests_.usage(); };
  options.calls.stop = [this] {
    if (stop_signal_ == 0) stop_signal_ = SIGTERM;
    if (!requests_.stop_wanted()) {
      requests_.stop();
      return false;
    }
    complain("second stop request: killing the job");
    requests_.kill();
    return true;
  };
  options.tell = complain;
  return options;
}

int Fit::code_of(const platform::JobReport& report) const {
  const platform::JobEnd& end = report.end;
  const bool ours = !report.trouble.empty() && end.verdict.success() &&
                    end.status == platform::JobEnd::Status::failed;
  return ours ? exit_platform : exit_code_of(end.status, stop_signal_);
}

loop::Task<int> Fit::report(const job::Spec& spec, Result<platform::JobReport> report,
                            const LastLines& last, const Json& told) {
  if (!report) {
    co_await out_.flush();
    complain_of(report.error());
    co_return exit_code_of(report.error().code);
  }
  const platform::JobEnd& end = report->end;
  const int code = code_of(*report);
  const bool with_timeline = options_.timeline && !options_.detach;
  if (options_.json) {
    if (with_timeline) co_await add_timeline(spec.name);
    out_.text() += end_object(*report, spec.name, spec.output_folder, options_.hosts, code,
                              last_metrics(told));
  } else {
    out_.text() +=
        seconds_text(end.training_time.count(), end.training_time.count(), options_.hosts);
    out_.text() += metrics_line(told);
    if (report->results.written)
      out_.text() += "Results: " + visible_line(spec.output_folder) + "\n";
    if (!spec.checkpoint_folder.empty())
      out_.text() += "Checkpoints: " + visible_line(spec.checkpoint_folder) + "\n";
    if (options_.keep && !report->kept.empty()) out_.text() += "Kept: " + report->kept + "\n";
    if (with_timeline) co_await add_timeline(spec.name);
  }
  co_await out_.flush();
  const bool colour = colour_ && ::isatty(STDERR_FILENO) == 1;
  static_cast<void>(write_all(STDERR_FILENO, verdict_text(*report, last, colour)));
  if (report->results.conflicts.count > 0)
    complain(conflicts_text(report->results.conflicts, spec.output_folder));
  if (!report->trouble.empty()) complain("warning: " + report->trouble);
  co_return code;
}

/// What hosts did, from the journals that the job's record keeps.
loop::Task<> Fit::add_timeline(std::string name) {
  Result<places::FoundJob> job = places::find_job(state_folder(env_), name);
  if (!job) co_return complain("warning: cannot show the timeline: " + job.error().text);
  const Result<job::JobTimeline> timeline = co_await own_timeline(loop_, *std::move(job));
  if (!timeline) co_return complain("warning: cannot show the timeline: " + timeline.error().text);
  if (!options_.json) {
    out_.text() += "\n" + timeline_text(*timeline, "");
    co_return;
  }
  Json object = job::to_json(*timeline);
  object["type"] = std::string("timeline");
  out_.text() += visible_json(to_text(object)) + "\n";
}

int stop_with(int code, const std::string& text) {
  complain(with_topic(text));
  return code;
}

}  // namespace

int fit_main(const Args& typed, const Env& given) {
  const command::Page& page = command::page_of("fit");
  const Result<Args> args = with_job_file(page, typed);
  if (!args) return tell(command::wrong_line(page, args.error().text));
  FitLine line = fit_options(*args);
  if (const command::Stop* stop = std::get_if<command::Stop>(&line)) return tell(*stop);
  FitOptions options = std::get<FitOptions>(std::move(line));
  if (options.print_file) return print_job_file(page, *args);
  if (options.utc) use_utc();
  const bool brings_image =
      options.slurm && !options.image.empty() && places::image_tool(options.slurm, {}).empty();
  if (brings_image && ::geteuid() != 0)
    return stop_with(exit_usage,
                     "--image requires root on a Slurm cluster, both here and on the nodes; "
                     "without root, hosts can run only the programs installed on the nodes");
  Env env = given;
  const Result<std::string> cwd = current_folder();
  if (!cwd) return stop_with(exit_usage, cwd.error().text);
  options.kept_line = kept_line(with_absolute_paths(command::given_in(page, *args), *cwd));
  if (const Result<void> good = resolve_links(options, *cwd); !good)
    return stop_with(exit_usage, good.error().text);
  Result<std::string> pip_conf = pip_conf_of(options.pip_conf, env, *cwd);
  if (!pip_conf) return stop_with(exit_usage, pip_conf.error().text);
  const bool here = !options.print_plan && !options.slurm;
  if (here)
    if (const std::optional<int> code = enter_own_namespace("sm fit", env, !options.json))
      return *code;
  Result<Places> places = find_places(options, *cwd, submitter(env));
  if (!places) return stop_with(exit_usage, places.error().text);
  places->pip_conf = *std::move(pip_conf);
  if (here) {
    const std::string lack =
        first_lack(machine_facts(env), options.launch.mpi && options.image.empty());
    if (!lack.empty()) return stop_with(exit_platform, lack);
  }
  std::optional<Detachment> detachment;
  if (options.detach && !options.print_plan) {
    Result<Forked> forked = Detachment::fork();
    if (!forked) return stop_with(exit_platform, forked.error().text);
    if (!forked->child) return tell_detached(*forked, options.json);
    detachment = std::move(forked->child);
  }
  loop::Loop loop;
  Fit fit(loop, std::move(options), *std::move(places), env, *cwd, std::move(detachment));
  loop::Tasks tasks(loop);
  tasks.start(fit.watch_signals());
  tasks.start(fit.run());
  loop.run();
  return fit.exit_code();
}

}  // namespace muster::cli
