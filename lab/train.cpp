#include "lab/train.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "cli/command/made_rows.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/random.hpp"
#include "lab/graphs.hpp"
#include "lab/trainable.hpp"
#include "memory/link.hpp"

namespace garner::lab {

namespace {

constexpr double tenth = 0.1;

train_times times_of(epoch_report const& e) {
  return {e.ms, e.load.sample_ms, e.load.fetch_ms, e.load.gather_ms, e.model_ms, e.load.caller_waited_ms, e.load.loader_waited_ms};
}
train_rows rows_of(load_report const& l, execution_device where) {
  auto const count = [&](tier t) { return static_cast<double>(l.rows[t]); };
  bool const host = where.kind == device_kind::cpu;
  return {count(tier::device) + (host ? count(tier::host) : 0), count(tier::peer), host ? 0 : count(tier::host),
          static_cast<double>(l.remote_bytes)};
}
void add(std::optional<double>& to, std::optional<double> what, double part) {
  if (what) to = to.value_or(0) + *what * part;
}

struct train_setting {
  std::string figure;
  load_strategy strategy = load_strategy::automatic;
  double kept = 0;
  score_kind score = score_kind::degree;
  bool peers = false;
  tier lists = tier::host;
  std::uint64_t width = 0;
};

// A graph, shared by all settings.
class train_ground {
 public:
  train_ground(train_bench_options const& o, std::string name, graph_handle g) : o_(o), name_(std::move(name)), g_(std::move(g)) {
    std::uint64_t const n = g_.info().vertices;
    train_ = o.training(g_);
    if (train_.size() > o.batches * o.batch) train_.resize(o.batches * o.batch);
    split_.resize(n);
    for (std::int64_t const k : train_) split_[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(split_part::train);
    labels_.resize(n);
    for (std::uint64_t v = 0; v < n; ++v) labels_[v] = static_cast<std::int64_t>(upper_product(random_bits(o.seed, 7, v), o.classes));
  }
  bench_graph told() const { return {name_, g_.info().vertices, g_.info().edges, train_.size()}; }
  train_row measure(train_setting const& s) {
    train_row row;
    bool const on_device = o_.where.kind == device_kind::cuda, some = s.kept > 0 && s.kept < 1;
    row.graph = name_, row.figure = s.figure;
    row.lists = to_string(on_device ? s.lists : tier::host), row.strategy = to_string(s.strategy);
    if (some) row.score = to_string(s.score);
    row.kept = s.kept, row.devices = s.peers ? o_.peers.size() : 1, row.width = s.width;
    unless_too_large(row, [&] {
      if (on_device) g_ = to_device(std::move(g_), o_.where, s.lists);  // data already there stays
      run(s, row);
    });
    return row;
  }

 private:
  void run(train_setting const& s, train_row& row) {
    std::uint64_t const n = g_.info().vertices;
    if (width_ != s.width) {
      table_.reset(), width_ = 0;
      table_.emplace(cli::make_floats(n, s.width, o_.where.kind == device_kind::cuda ? o_.where.index : -1));
      width_ = s.width, same_ = {};
    }
    tiered_options t = keeping(o_.where, s.kept, n, s.width * sizeof(float), s.peers ? o_.peers : std::vector<int>());
    if (s.kept > 0 && s.kept < 1) t.scores = scores_of(s.score);
    tiered_tensor table({table_->data(), n, s.width, element::f32, {}}, t);
    model_options m;
    m.inputs = s.width, m.classes = o_.classes, m.hidden = o_.hidden, m.seed = o_.seed;
    m.layers = static_cast<std::uint32_t>(o_.fanouts.size());
    gnn_model model(o_.where, m);
    training_options how;
    how.fanouts = o_.fanouts, how.batch_size = o_.batch, how.seed = o_.seed, how.evaluate_every = 0;
    how.load.strategy = s.strategy;
    training all(model, g_, table, {{labels_.data(), n, 1, element::i64, {}}, split_}, how);
    std::vector<double> ms;
    std::uint64_t const timed = o_.epochs > 1 ? o_.epochs - 1 : 1;
    auto const part = 1 / static_cast<double>(timed);
    for (std::uint64_t k = 0; k < o_.epochs; ++k) {
      epoch_report const e = all.next();
      row.loss = e.loss, row.batches = e.steps;
      if (k + timed < o_.epochs) continue;
      if (o_.where.kind != device_kind::simulated) {
        train_times const one = times_of(e);
        add(row.times.ms, one.ms, part), add(row.times.sample_ms, one.sample_ms, part), add(row.times.fetch_ms, one.fetch_ms, part);
        add(row.times.gather_ms, one.gather_ms, part), add(row.times.model_ms, one.model_ms, part);
        add(row.times.caller_waited_ms, one.caller_waited_ms, part), add(row.times.loader_waited_ms, one.loader_waited_ms, part);
        ms.push_back(e.ms);
      }
      train_rows const r = rows_of(e.load, o_.where);
      row.rows.near += r.near * part, row.rows.peer += r.peer * part, row.rows.far += r.far * part,
          row.rows.remote_bytes += r.remote_bytes * part;
    }
    row.epochs = timed;
    if (!ms.empty()) row.ms_median = median(ms);
    same_.check(fmt::format("{}, rows of {} elements, {} kept by {}, way {}", name_, s.width, row.kept,
                            row.score.empty() ? "none" : row.score, row.strategy),
                model.tensors());
  }
  std::vector<float> const& scores_of(score_kind by) {
    auto const at = scores_.find(by);
    if (at != scores_.end()) return at->second;
    score_options s;
    s.device = o_.where;
    s.by = by;
    s.sampling.fanouts.clear();
    for (std::int64_t const k : o_.fanouts) s.sampling.fanouts.push_back(static_cast<std::uint32_t>(k));
    s.sampling.rule = hop_rule::last, s.sampling.batch = o_.batch, s.sampling.seed = o_.seed;
    std::vector<std::uint64_t> const ids = g_.ids();
    for (std::int64_t const k : train_) s.train.push_back(ids[static_cast<std::size_t>(k)]);
    return scores_[by] = scores(g_, s).score;
  }

  train_bench_options const& o_;
  std::string name_;
  graph_handle g_;
  std::vector<std::int64_t> train_, labels_;
  std::vector<std::uint8_t> split_;
  std::optional<memory_block> table_;
  std::uint64_t width_ = 0;
  std::map<score_kind, std::vector<float>> scores_;
  cli::same_parameters same_;  // of this width
};

void check(train_bench_options const& o) {
  check_figures(o.figures, train_figures, "ways, widths, placement, learning, trainable");
  if (o.scale < 4 || o.scale > 31) fail(errc::usage, "scale {}: use 4 to 31", o.scale);
  if (o.epochs < 1) fail(errc::usage, "--epochs 0: use 1 or more");
  if (o.batches < 1) fail(errc::usage, "--batches 0: use 1 or more");
  if (o.step_rows < 1) fail(errc::usage, "--step-rows 0: use 1 or more");
  if (o.classes < 2) fail(errc::usage, "--classes {}: use 2 or more", o.classes);
  if (std::find(o.widths.begin(), o.widths.end(), 0) != o.widths.end()) fail(errc::usage, "--widths 0: use 1 or more elements");
}

}  // namespace

train_course curve_of(std::string name, cli::community_graph const& data, graph_handle const& g, cli::course_options const& o,
                      std::function<void(train_course const&, train_epoch const&)> const& told) {
  train_course all;
  all.name = std::move(name), all.vertices = data.labels.size(), all.edges = g.info().edges;
  all.train = static_cast<std::uint64_t>(std::count(data.split.begin(), data.split.end(), static_cast<std::uint8_t>(split_part::train)));
  cli::take_course(data, g, o, [&](epoch_report const& e) {
    train_epoch row;
    row.epoch = e.epoch, row.loss = e.loss, row.accuracy = e.accuracy;
    if (e.exact)
      row.train_accuracy = e.exact->train.accuracy, row.validation_accuracy = e.exact->validation.accuracy,
      row.test_accuracy = e.exact->test.accuracy;
    if (o.where.kind != device_kind::simulated) row.times = times_of(e);
    row.rows = rows_of(e.load, o.where);
    all.epochs.push_back(row);
    if (told) told(all, row);
  });
  return all;
}

train_file measure_trainings(train_bench_options const& o, train_told const& told) {
  check(o);
  bool const on_device = o.where.kind == device_kind::cuda, host = o.where.kind == device_kind::cpu;
  train_file file;
  static_cast<file_head&>(file) = head_of_run(o.command, o.where);
  if (on_device) file.link_gbs = link_of(o.where.index).zero_copy_gbs;
  file.fanouts = o.fanouts;
  file.share = o.share;
  file.batch = o.batch, file.hidden = o.hidden, file.classes = o.classes, file.seed = o.seed;
  auto const wanted = [&](char const* figure) { return lab::wanted(o.figures, figure); };
  auto const measure = [&](std::string name, graph_handle g) {
    if (!wanted("ways") && !wanted("widths") && !wanted("placement")) return;
    train_ground at(o, std::move(name), std::move(g));
    file.graphs.push_back(at.told());
    auto const add = [&](train_setting const& s) {
      file.rows.push_back(at.measure(s));
      if (told.row) told.row(file, file.rows.back());
    };
    static constexpr load_strategy strategies[] = {load_strategy::window, load_strategy::tiered, load_strategy::zero_copy,
                                                   load_strategy::staged};
    auto const near = [&](char const* figure, std::uint64_t width) {
      if (on_device || host) add({figure, load_strategy::tiered, 1, o.score, false, tier::device, width});
    };
    if (wanted("ways")) {
      near("ways", o.width);
      if (!host)  // CPU: all rows are local
        for (double const kept : {0.0, tenth})
          for (load_strategy const strategy : strategies) add({"ways", strategy, kept, o.score, false, tier::host, o.width});
    }
    if (wanted("placement") && !host) {
      for (load_strategy const strategy : {load_strategy::staged, load_strategy::zero_copy})
        add({"placement", strategy, 0, o.score, false, tier::host, o.width});
      for (load_strategy const strategy : {load_strategy::window, load_strategy::tiered})
        for (score_kind const by : o.scores)
          for (double const kept : o.kept) {
            if (kept == 0 && by != o.scores.front()) continue;  // without cached rows all are the same
            add({"placement", strategy, kept, by, false, tier::host, o.width});
          }
      if (!o.peers.empty())
        for (double const kept : o.kept)
          if (kept > 0) add({"placement", load_strategy::window, kept, o.score, true, tier::host, o.width});
    }
    if (wanted("widths"))
      for (std::uint64_t const width : o.widths) {
        near("widths", width);
        if (host) continue;
        for (load_strategy const strategy : strategies) add({"widths", strategy, 0, o.score, false, tier::host, width});
      }
  };
  open_options how;
  how.edges = tier::host, how.in_edges = true;
  each_graph(o, o.seed, how, measure);
  if (wanted("trainable")) {
    trainable_options t;
    t.where = o.where, t.rows = std::uint64_t{1} << o.scale, t.width = o.width, t.seed = o.seed;
    t.step_rows = o.step_rows, t.steps = std::min<std::uint64_t>(o.batches, on_device ? 16 : 4);
    measure_trainable(t, [&](trainable_row const& row) {
      file.trainable.push_back(row);
      if (told.trainable) told.trainable(file, row);
    });
  }
  if (wanted("learning")) {
    cli::community_graph data = cli::make_communities(o.communities);
    cli::course_options c;
    c.where = o.where, c.kept = tenth, c.epochs = o.course_epochs, c.seed = o.seed;
    data.graph = to_device(std::move(data.graph), o.where);
    graph_handle const none = to_device(cli::without_edges(data.labels.size()), o.where);
    file.courses.push_back(curve_of("communities", data, data.graph, c, told.epoch));
    file.courses.push_back(curve_of("the same rows without the graph", data, none, c, told.epoch));
  }
  return file;
}

}  // namespace garner::lab
