#include "engine/cluster/cluster_job.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "engine/cluster/slurm_engine.h"
#include "engine/slurm/orders.h"
#include "engine/slurm/words.h"
#include "job/wire/node_messages.h"
#include "net/loop/worker.h"

namespace muster::cluster {
namespace {

constexpr std::chrono::minutes submit_limit{10};
constexpr std::chrono::seconds first_pause{1};
constexpr std::chrono::seconds longest_pause{30};
constexpr std::size_t nonce_bytes = slurm::nonce_digits / 2;
constexpr std::size_t word_bytes = 16;
constexpr std::size_t key_bytes = 32;
/// Earlier attempts that are noted; stewards of older ones end when their Slurm job does.
constexpr std::size_t fenced_max = 64;
/// Slurm's numbers of earlier attempts that are noted.
constexpr std::size_t earlier_max = 64;
/// For the last orders of an attempt to leave this machine.
constexpr std::chrono::seconds last_word_limit{2};

}  // namespace

ClusterJob::ClusterJob(SlurmEngine& engine, job::Spec spec, engine::JobFolder folder)
    : engine_(engine),
      spec_(std::move(spec)),
      folder_(std::move(folder)),
      folder_path_(folder_->path()),
      hosts_(job::host_names(spec_.instance_count)),
      moved_(engine.loop()),
      due_(engine.loop()),
      tasks_(engine.loop()) {}

slurm::Submission ClusterJob::submission() const {
  slurm::Submission submission = engine_.wish(spec_);
  submission.nonce = note_.submitted;
  submission.place = note_.place;
  submission.word = note_.word;
  submission.excluded = note_.excluded;
  return submission;
}

std::optional<InSlurm> ClusterJob::in_slurm() const {
  if (note_.slurm_id.empty()) return std::nullopt;
  InSlurm in{
      .id = note_.slurm_id, .name = slurm::slurm_name(submission()), .earlier = note_.earlier};
  if (!row_) return in;
  in.nodes = row_->node_list;
  if (slurm::standing_of(row_->state) == slurm::Standing::waiting && row_->reason != "None")
    in.reason = row_->reason;
  return in;
}

/// For an attempt, and for each try to bring it into the queue.
Result<void> ClusterJob::new_names() {
  note_.nonce = hex(random_bytes(nonce_bytes));
  note_.submitted = note_.nonce;
  note_.place = hex(random_bytes(nonce_bytes));
  note_.word = hex(random_bytes(word_bytes));
  note_.spares = job::spare_names(engine_.spares(spec_));
  note_.key = random_bytes(key_bytes);
  note_.port = TRY(engine_.port());
  if (!note_.slurm_id.empty()) note_.earlier.push_back(note_.slurm_id);
  if (note_.earlier.size() > earlier_max) note_.earlier.erase(note_.earlier.begin());
  row_.reset();
  note_.slurm_id.clear();
  note_.delivered = false;
  return write_note(folder_path_, note_);
}

/// From here on what links and Slurm say is heard.
Result<void> ClusterJob::begin_attempt(std::vector<HostState> states) {
  for (const std::string& host : hosts_) TRY(make_folders(folder_path_ + "/" + host, 0700));
  Links* const links = TRY(engine_.links(note_.port));
  links_ = TRY(links->expect({.nonce = note_.nonce,
                              .key = note_.key,
                              .hosts = hosts_,
                              .folder = folder_path_,
                              .chapters = note_.chapters,
                              .spares = note_.spares}));
  attempt_.emplace(note_.number, std::move(states), note_.delivered, engine_.options().times,
                   Clock::now(), engine_.spares(spec_) > 0);
  tasks_.start(follow_links(links_));
  tasks_.start(watch_time());
  return {};
}

/// `in_doubt`: an earlier engine may have done it under the names that are noted.
loop::Task<Result<void>> ClusterJob::submit(bool in_doubt) {
  const Result<std::string> id = co_await bring_into_queue(in_doubt);
  if (!id) co_return id.error();
  note_.slurm_id = *id;
  if (Result<void> noted = write_note(folder_path_, note_); !noted) co_return noted.error();
  std::vector<HostState> states;
  for (const std::string& host : hosts_) states.push_back({.name = host});
  if (Result<void> begun = begin_attempt(std::move(states)); !begun) co_return begun.error();
  engine_.look(*this);
  co_return Result<void>();
}

/// The next attempt's records follow in the same files: readers continue there.
loop::Task<Result<void>> ClusterJob::end_chapters() {
  const auto found = std::make_shared<engine::Chapters>();
  const std::function<Result<void>()> look = [found, hosts = hosts_, folder = folder_path_,
                                              note = note_]() -> Result<void> {
    *found = TRY(engine::whole_until(folder, hosts, note.chapters, note.ended));
    return {};
  };
  Result<void> done = co_await loop::in_thread(engine_.loop(), look);
  if (!done) co_return done;
  // An engine that is killed from here on finds what it has to do again.
  note_.ended = *found;
  if (Result<void> noted = write_note(folder_path_, note_); !noted) co_return noted.error();
  const std::function<Result<void>()> work = [found, hosts = hosts_, folder = folder_path_,
                                              note = note_, now = wall_time()]() -> Result<void> {
    *found = TRY(engine::end_chapters(folder, hosts, note.chapters, note.ended, note.number, now));
    return {};
  };
  done = co_await loop::in_thread(engine_.loop(), work);
  if (!done) co_return done;
  note_.chapters = *found;
  note_.ended.clear();
  co_return done;
}

loop::Task<Result<void>> ClusterJob::again() {
  if (!over()) co_return fail(Errc::invalid_input, "a host of " + spec_.name + " is still running");
  std::vector<std::string> lost = nodes_at_fault();
  const std::string broken = std::exchange(broken_, "");
  for (const HostState& state : attempt_->states())
    if (!state.node.empty() && state.name == broken) lost.push_back(state.node);
  std::optional<Swap> in_place = possible_swap();
  if (in_place) co_return co_await swap(*std::move(in_place), std::move(lost));
  const Result<void> let_go_of = co_await let_go();
  if (!let_go_of) co_return let_go_of.error();
  const Result<Links*> links = engine_.links(note_.port);
  if (!links) co_return links.error();
  tasks_.end();
  links_.reset();
  (*links)->fence(note_.nonce, note_.key);
  if (Result<void> ended = co_await end_attempt(std::move(lost)); !ended) co_return ended.error();
  co_return co_await submit();
}

ClusterJob::State ClusterJob::state() const {
  if (!attempt_) return State::none;
  if (attempt_->settled()) return State::settled;
  return attempt_->over() ? State::over : State::under_way;
}

void ClusterJob::set_fault(const std::string& node) {
  if (node.empty()) return;
  fault_ = Fault::named;
  at_fault_ = node;
}

/// Once: what is known of it is the attempt's.
std::vector<std::string> ClusterJob::nodes_at_fault() {
  switch (std::exchange(fault_, Fault::unknown)) {
    case Fault::named:
      return {at_fault_};
    case Fault::left_out:  // Other hosts went since that node did.
      return {};
    case Fault::unknown:
      break;
  }
  return lost_nodes();
}

/// Nodes that were lost while others were not: what is wrong is more likely theirs than the
/// network's. A node that answers is as good as before.
std::vector<std::string> ClusterJob::lost_nodes() const {
  std::vector<std::string> lost;
  for (const HostState& state : attempt_->states())
    if (state.end && state.end->kind == engine::Event::Kind::lost && !state.node.empty() &&
        !(engine_.spares(spec_) > 0 && links_ && links_->can_go_on(state.name)))
      lost.push_back(state.node);
  return lost.size() < attempt_->states().size() ? lost : std::vector<std::string>();
}

/// What is the attempt's own goes, and its part of the journals ends.
loop::Task<Result<void>> ClusterJob::end_attempt(std::vector<std::string> lost) {
  attempt_.reset();
  of_attempt_ = {};
  if (Result<void> aside = engine::set_aside(folder_path_, hosts_, note_.number); !aside)
    co_return aside.error();
  if (Result<void> chapters = co_await end_chapters(); !chapters) co_return chapters.error();
  // Noted all at once, with the new names.
  note_.excluded.insert(note_.excluded.end(), lost.begin(), lost.end());
  note_.fenced.push_back({note_.nonce, note_.key, note_.port});
  if (note_.fenced.size() > fenced_max) note_.fenced.erase(note_.fenced.begin());
  note_.tally = next_tally_;
  ++note_.number;
  looks = 0;
  co_return Result<void>();
}

/// None where too few nodes are there, or the scheduler has taken the job away.
std::optional<Swap> ClusterJob::possible_swap() const {
  if (engine_.spares(spec_) == 0 || !links_ || !attempt_->lost_any()) return std::nullopt;
  std::vector<AttemptNode> hosts;
  for (const HostState& state : attempt_->states())
    hosts.push_back({.name = state.name,
                     .node = state.node,
                     .can_go_on = links_->can_go_on(state.name),
                     .why_lost = state.end->kind == engine::Event::Kind::lost ? state.end->text
                                                                              : std::string()});
  std::vector<AttemptNode> spares;
  for (const auto& [name, node] : of_attempt_.spare_nodes)
    spares.push_back({.name = name, .node = node, .can_go_on = links_->can_go_on(name)});
  return plan_swap(hosts, spares);
}

/// The next attempt is expected before nodes hear of it, and the last one's links stay until its
/// nodes have closed them: what we closed could take away what they have not read yet.
loop::Task<Result<void>> ClusterJob::swap(Swap swap, std::vector<std::string> lost) {
  const Result<Links*> links = engine_.links(note_.port);
  if (!links) co_return links.error();
  tasks_.end();
  former_links_ = std::exchange(links_, nullptr);
  co_await former_links_->forget_results();  // Or one would be taken for the next attempt's.
  const std::string last_nonce = note_.nonce;
  const std::string last_key = note_.key;
  if (Result<void> ended = co_await end_attempt(std::move(lost)); !ended) co_return ended.error();
  note_.nonce = hex(random_bytes(nonce_bytes));
  note_.key = random_bytes(key_bytes);
  note_.spares = swap.spares;
  if (Result<void> noted = write_note(folder_path_, note_); !noted) co_return noted.error();
  std::vector<HostState> states;
  for (const std::string& host : hosts_) states.push_back({.name = host});
  if (Result<void> begun = begin_attempt(std::move(states)); !begun) co_return begun.error();
  for (const Swap::Move& move : swap.moves)
    former_links_->again(move.from, {.nonce = note_.nonce,
                                     .key = note_.key,
                                     .host = move.to,
                                     .rollcall_port = SlurmEngine::rollcall_port(note_.nonce)});
  (*links)->fence(last_nonce, last_key);
  of_attempt_.notes = std::move(swap.notes);
  engine_.look(*this);
  co_return Result<void>();
}

/// An answer that did not come says nothing: the job may be in the queue all the same, and is
/// looked for by its name before another is submitted, under another name.
loop::Task<Result<std::string>> ClusterJob::bring_into_queue(bool in_doubt) {
  const TimePoint deadline = Clock::now() + submit_limit;
  Duration pause = first_pause;
  loop::Timer timer(engine_.loop());
  Error said = fail(Errc::closed, "Slurm does not respond");
  while (Clock::now() < deadline) {
    if (!in_doubt) {
      if (Result<void> made = new_names(); !made) co_return made.error();
      const std::string script = folder_path_ + "/script";
      const std::string digest = shared_ ? shared_->program.digest : std::string();
      const Result<void> written =
          write_file(script, slurm::batch_script(submission(), node_program(), digest), 0600);
      if (!written) co_return written.error();
      Result<std::string> id =
          co_await engine_.slurm().submit(submission(), engine_.site(spec_), script);
      if (id || id.error().code != Errc::closed) co_return id;
      said = id.error();
    }
    const Result<std::optional<std::string>> found = co_await id_by_name();
    if (found && *found) co_return **found;
    in_doubt = !found;
    co_await timer.after(pause);
    pause = std::min<Duration>(pause * 2, longest_pause);
  }
  co_return fail(Errc::system, said.text);
}

/// None where Slurm has no such job.
loop::Task<Result<std::optional<std::string>>> ClusterJob::id_by_name() {
  const Result<std::vector<slurm::QueuedJob>> rows = co_await engine_.slurm().queue();
  if (!rows) co_return rows.error();
  std::optional<slurm::QueuedJob> own = slurm::find_named(*rows, slurm::slurm_name(submission()));
  co_return own ? std::optional<std::string>(std::move(own->id)) : std::nullopt;
}

loop::Task<Result<bool>> ClusterJob::find_again() {
  const Result<std::optional<AttemptNote>> note = read_note(folder_path_);
  if (!note) co_return note.error();
  if (!*note) co_return false;
  note_ = **note;
  next_tally_ = note_.tally;
  Result<std::optional<SharedPlaces>> shared = read_shared(folder_path_);
  if (!shared) co_return shared.error();
  shared_ = *std::move(shared);
  for (const LinkKey& each : note_.fenced)
    if (const Result<Links*> links = engine_.links(each.port); links)
      (*links)->fence(each.nonce, each.key);
  // A further attempt was decided on: what the job did before must not be lost with a start that
  // was cut short.
  if (note_.slurm_id.empty() && note_.number > 1) {
    if (Result<void> submitted = co_await submit(true); !submitted) co_return submitted.error();
    co_return true;
  }
  if (note_.slurm_id.empty()) {
    const Result<std::optional<std::string>> id = co_await id_by_name();
    if (!id) co_return id.error();
    if (!*id) co_return false;
    note_.slurm_id = **id;
    if (Result<void> noted = write_note(folder_path_, note_); !noted) co_return noted.error();
  }
  Result<std::vector<HostState>> states = read_hosts(folder_path_, note_.number, hosts_);
  if (!states) co_return states.error();
  if (Result<void> begun = begin_attempt(*std::move(states)); !begun) co_return begun.error();
  engine_.look(*this);
  co_return true;
}

std::vector<engine::Event> ClusterJob::present() const {
  return attempt_ ? attempt_->present() : std::vector<engine::Event>();
}

void ClusterJob::on_queue(const std::vector<slurm::QueuedJob>& rows) {
  std::optional<slurm::QueuedJob> row = slurm::find_named(rows, slurm::slurm_name(submission()));
  if (row) partition_ = row->partition;
  if (row) row_ = row;
  if (row && hides_why(*row)) {
    if (std::exchange(of_attempt_.asked_about, row->state) != row->state)
      tasks_.start(ask_why(*std::move(row)));
    return;
  }
  perform(attempt_->on_queue(row, wall_time(), Clock::now()));
}

/// True for an end, or its beginning, of which Slurm knows more than the state says: that a node is
/// down, or could not start its part of a job of which no host has been heard of.
bool ClusterJob::hides_why(const slurm::QueuedJob& row) const {
  if (row.node_list.empty()) return false;
  if (row.state == "NODE_FAIL") return true;
  const slurm::Standing standing = slurm::standing_of(row.state);
  if (standing != slurm::Standing::over && standing != slurm::Standing::ending) return false;
  const std::vector<engine::Event> hosts = present();
  return std::all_of(hosts.begin(), hosts.end(), [](const engine::Event& each) {
    return each.kind == engine::Event::Kind::queued;
  });
}

/// A job is ending for as long as a node does not answer, up to Slurm's SlurmdTimeout.
loop::Task<> ClusterJob::ask_why(slurm::QueuedJob row) {
  if (row.state == "NODE_FAIL") {
    const Result<std::string> down = co_await engine_.slurm().down_among(row.node_list);
    if (down && !down->empty()) row.reason = *down;
    if (fault_ == Fault::unknown) fault_ = Fault::left_out;
  } else {
    const Result<std::optional<slurm::StartFailure>> failure =
        co_await engine_.slurm().start_failure(note_.slurm_id, note_.submitted);
    if (!failure && failure.error().code == Errc::closed) {
      of_attempt_.asked_about.clear();  // Not known: the next look asks again.
      co_return;
    }
    if (failure && *failure) {
      row.state = "NODE_FAIL";
      row.reason = (*failure)->why;
      set_fault((*failure)->node);
    }
  }
  perform(attempt_->on_queue(row, wall_time(), Clock::now()));
}

void ClusterJob::stop(const std::string& host, std::chrono::milliseconds grace) {
  if (attempt_) perform(attempt_->stop(host, grace, wall_time()));
}

void ClusterJob::destroy(const std::string& host) {
  if (attempt_) perform(attempt_->destroy(host, wall_time(), Clock::now()));
}

loop::Task<> ClusterJob::follow_links(std::shared_ptr<AttemptLinks> links) {
  while (true) {
    Result<LinkEvent> event = co_await links->next_event();
    if (!event) co_return;
    take(*event);
  }
}

/// A line for people about a host that runs.
void ClusterJob::say(const std::string& host, const std::string& text) {
  history_.push_back({.kind = engine::Event::Kind::health,
                      .host = host,
                      .attempt = note_.number,
                      .time = wall_time(),
                      .text = text});
  moved_.notify();
}

void ClusterJob::take_spares(const LinkEvent& event) {
  if (event.kind == LinkEvent::Kind::joined) of_attempt_.spare_nodes[event.host] = event.node;
  const bool is_back = event.kind == LinkEvent::Kind::back;
  const bool is_gone =
      event.kind == LinkEvent::Kind::silent || event.kind == LinkEvent::Kind::ended;
  if (event.kind == LinkEvent::Kind::ended) links_->done(event.host);
  std::map<std::string, std::string>& nodes = of_attempt_.spare_nodes;
  if (!(is_gone || is_back) || !nodes.contains(event.host)) return;
  const std::string node = nodes.at(event.host);
  if (event.kind == LinkEvent::Kind::ended) nodes.erase(event.host);
  const HostState& leader = attempt_->states().front();
  if (leader.started && !leader.end)
    say(leader.name, node + (is_back ? ", a spare, responds again"
                                     : ", a spare, does not respond; the job continues"));
}

void ClusterJob::take(const LinkEvent& event) {
  const TimePoint now = Clock::now();
  if (job::is_spare(event.host)) return take_spares(event);
  switch (event.kind) {
    case LinkEvent::Kind::joined:
      of_attempt_.lacks.insert(event.lacks.begin(), event.lacks.end());
      return perform(attempt_->on_joined(event.host, event.node, event.address, event.time));
    case LinkEvent::Kind::back:
      return perform(attempt_->on_back(event.host, event.time));
    case LinkEvent::Kind::began:
      return;
    case LinkEvent::Kind::signalled:
      if (!std::exchange(of_attempt_.asked_whose_signal, true)) tasks_.start(ask_whose_signal());
      return perform(attempt_->on_signalled(event.host));
    case LinkEvent::Kind::silent:
      return perform(attempt_->on_silent(event.host, event.time, now));
    case LinkEvent::Kind::ended:
      return perform(attempt_->on_ended(event.host, event.outcome, event.time, now));
    case LinkEvent::Kind::given:
      return perform(attempt_->on_given(event.host, event.text));
  }
}

loop::Task<> ClusterJob::watch_time() {
  while (true) {
    const TimePoint deadline = attempt_->next_deadline().value_or(TimePoint::max());
    co_await due_.wait_until(deadline);
    perform(attempt_->on_time(wall_time(), Clock::now()));
  }
}

void ClusterJob::perform(const Actions& actions) {
  for (const Action& action : actions) {
    switch (action.kind) {
      case Action::Kind::deliver:
        tasks_.start(deliver());
        break;
      case Action::Kind::begin:
        tasks_.start(bring_image_and_begin());
        for (const Swap::Note& note : std::exchange(of_attempt_.notes, {}))
          say(note.host, note.text);
        break;
      case Action::Kind::stop:
        links_->stop(action.host, action.grace);
        break;
      case Action::Kind::end:
        links_->end(action.host, "the job continues without it");
        break;
      case Action::Kind::give:
        links_->give(action.host);
        break;
      case Action::Kind::done:
        links_->done(action.host);
        break;
      case Action::Kind::look:
        engine_.look(*this);
        break;
      case Action::Kind::cancel:
        cancelling_ = true;  // From here on: who lets go of the job waits for it.
        tasks_.start(cancel());
        break;
      case Action::Kind::tell:
        history_.push_back(action.event);
        break;
    }
  }
  due_.notify();  // A deadline may be new where there is nothing to do.
  if (actions.empty()) return;
  // A note that is missing costs a later engine a question to the nodes.
  static_cast<void>(write_hosts(folder_path_, note_.number, attempt_->states()));
  moved_.notify();
}

loop::Task<> ClusterJob::bring_image_and_begin() {
  const std::shared_ptr<AttemptLinks> links = links_;
  const std::set<int> numbers = std::exchange(of_attempt_.lacks, {});
  Result<void> done;
  for (const int number : numbers)
    if (done && links == links_) done = co_await bring_layer(number);
  if (done) co_await engine_.learn_graces(partition_);  // After a restart it is not known.
  if (links != links_) co_return;                       // Another attempt has begun.
  if (done) co_return links->begin(engine_.preempt_grace(partition_));
  perform(attempt_->on_delivered(done, wall_time(), Clock::now()));
}

loop::Task<> ClusterJob::cancel() {
  cancelling_ = true;
  const Result<void> done = co_await engine_.slurm().cancel(note_.slurm_id);
  static_cast<void>(done);  // Running hosts are ordered to end by their links.
  cancelling_ = false;
  moved_.notify();
}

loop::Task<> ClusterJob::ask_whose_signal() {
  const Result<bool> preempted = co_await engine_.slurm().is_preempted(note_.slurm_id);
  if (!preempted || !*preempted) co_return;
  if (links_) links_->preempted();
  perform(attempt_->on_preempted());
}

loop::Task<Result<void>> ClusterJob::all_given() {
  if (state() == State::none)  // What the last one left is set aside, and no other could be begun.
    co_return fail(Errc::closed, "the job has no attempt, so it has no results");
  while (state() != State::settled) co_await moved_.wait();
  for (const HostState& state : attempt_->states())
    if (state.results != HostState::Results::here &&
        state.end->kind == engine::Event::Kind::ended && state.started)
      co_return fail(Errc::closed,
                     "results of " + state.name + " on " + state.node + " could not be copied: " +
                         (state.not_given.empty() ? "the node is gone" : state.not_given));
  co_return Result<void>();
}

/// True if nodes whose results are not wanted are not connected, e.g. after a restart of the
/// engine: they would wait for a request.
bool ClusterJob::has_waiting_nodes() const {
  if (state() == State::none || state() == State::settled) return false;
  const std::vector<HostState>& states = attempt_->states();
  return std::any_of(states.begin(), states.end(), [this](const HostState& state) {
    return state.results != HostState::Results::here && !(links_ && links_->connected(state.name));
  });
}

loop::Task<Result<void>> ClusterJob::let_go() {
  if (state() == State::under_way)
    co_return fail(Errc::denied, folder_path_ + ": a host of the job is still running");
  const bool holds = engine_.spares(spec_) > 0;
  const bool is_left_waiting = has_waiting_nodes();
  bool all_there = note_.nonce == note_.submitted && attempt_ && !attempt_->lost_any();
  for (const std::string& spare : note_.spares)
    all_there = all_there && links_ && links_->connected(spare);
  if (links_)
    for (const HostState& state : attempt_->states())
      if (state.results != HostState::Results::here || holds) links_->done(state.name);
  if (links_)
    for (const std::string& spare : note_.spares) links_->done(spare);
  if (links_) co_await links_->flushed(last_word_limit);
  // Nodes that are lost, or never came, have not heard that.
  if (holds && !note_.slurm_id.empty() && !all_there && !cancelling_) co_await cancel();
  if (is_left_waiting)
    static_cast<void>(co_await engine_.slurm().cancel_named(slurm::slurm_name(submission())));
  while (cancelling_) co_await moved_.wait();
  co_return Result<void>();
}

}  // namespace muster::cluster
