#include "lab/train.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>

#include "cli/command/made_rows.hpp"
#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "garner/embedding.hpp"
#include "lab/now.hpp"
#include "memory/buffer.hpp"
#include "memory/link.hpp"
#include "traverse/job.hpp"

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
        row.times.add(times_of(e), static_cast<double>(timed));
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
    return scores_[by] = lab::scores_of(g_, train_, o_.where, o_, by);
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

// Trainable rows: a step on a number of distinct rows, gathered, updated and written back, in local and remote memory, by each optimizer.
// Invariant: all settings of an optimizer use the same table, ids and gradients. Before a setting is timed, its first step is compared with
// the optimizer's plain arithmetic in double, and with rows that must not change; afterwards the rows are compared with those of the
// optimizer's first setting, bit for bit.
struct trainable_options {
  execution_device where;
  std::uint64_t rows = 0, width = 128, step_rows = 300'000;  // of the table; distinct rows per step, at most all
  std::uint64_t steps = 16, seed = 1;                        // timed
};

constexpr std::uint64_t sets = 4, warm = 2, looked_at = 64;  // of ids, used in rotation; warm-up steps; checked rows
constexpr double rate = 0.01;

// Distinct random rows, unordered.
std::vector<std::int64_t> drawn_ids(std::uint64_t rows, std::uint64_t count, std::uint64_t seed, std::uint64_t set) {
  std::vector<std::int64_t> ids;
  std::vector<bool> taken(rows);
  for (std::uint64_t i = 0; ids.size() < count; ++i) {
    std::uint64_t const id = upper_product(random_bits(seed, set, i), rows);
    if (taken[id]) continue;
    taken[id] = true;
    ids.push_back(static_cast<std::int64_t>(id));
  }
  return ids;
}
float gradient_of(std::uint64_t seed, std::uint64_t i) { return unit_float(random_bits(seed, 99, i)) - 0.5f; }

// The first step of one number, from the papers.
double stepped(row_optimizer how, double w, double g) {
  if (how == row_optimizer::sgd) return w - rate * g;
  double const added = how == row_optimizer::adagrad ? 1e-10 : 1e-8 / std::sqrt(1 - 0.999);  // adam: both moments are bias-corrected
  return w - rate * g / (std::abs(g) + added);
}

class bench_of_steps {
 public:
  explicit bench_of_steps(trainable_options const& o) : o_(o), x_(o.where), n_(std::min(o.step_rows, o.rows)) {
    std::vector<float> gradients(n_ * o.width);
    for (std::uint64_t i = 0; i < gradients.size(); ++i) gradients[i] = gradient_of(o.seed, i);
    gradients_ = to_device(x_, gradients, "gradients");
    for (std::uint64_t k = 0; k < sets; ++k) {
      ids_.push_back(drawn_ids(o.rows, n_, o.seed, k));
      near_ids_.push_back(to_device(x_, ids_.back(), "ids of a step"));
    }
    out_ = buffer<float>(x_.near(), n_ * o.width, x_.device(), "rows of a step");
    // As many rows outside all sets, if there are some.
    std::vector<bool> asked(o.rows);
    for (auto const& set : ids_)
      for (std::int64_t const id : set) asked[static_cast<std::size_t>(id)] = true;
    for (std::uint64_t id = 0; id < o.rows && others_.size() < looked_at; ++id)
      if (!asked[id]) others_.push_back(static_cast<std::int64_t>(id));
    first_.assign(ids_[0].begin(), ids_[0].begin() + static_cast<std::ptrdiff_t>(std::min(looked_at, n_)));
  }

  trainable_row measure(row_optimizer how, double kept) {
    trainable_row row;
    row.optimizer = to_string(how);
    row.rows = o_.rows, row.width = o_.width, row.step_rows = n_, row.kept = kept;
    embedding_options e;
    e.device = o_.where, e.optimizer = how, e.seed = o_.seed, e.init_scale = 0.1, e.feature_cache = 0;
    unless_too_large(row, [&] {
      row.record_bytes = embedding(1, o_.width, e).record_bytes();
      e.feature_cache = static_cast<std::uint64_t>(std::llround(kept * static_cast<double>(o_.rows))) * row.record_bytes;
      embedding table(o_.rows, o_.width, e);
      run(table, row);
    });
    return row;
  }

 private:
  void gather(embedding& table, std::uint64_t k) {
    table.gather(std::span<std::int64_t const>(near_ids_[k % sets].data(), n_), row_output(out_.data(), out_.bytes()));
  }
  update_run update(embedding& table, std::uint64_t k) {
    sparse_step s;
    s.learning_rate = rate;
    return table.update(std::span<std::int64_t const>(near_ids_[k % sets].data(), n_), {gradients_.data(), gradients_.size()}, s);
  }
  std::vector<float> rows_of(embedding const& table, std::vector<std::int64_t> const& ids) const {
    std::vector<float> all(ids.size() * o_.width);
    for (std::size_t k = 0; k < ids.size(); ++k)
      table.read("weight", static_cast<std::uint64_t>(ids[k]), 1, std::span(all).subspan(k * o_.width, o_.width));
    return all;
  }

  void run(embedding& table, trainable_row& row) {
    std::string const whose = fmt::format("{}, {:.0f} % of the rows local", row.optimizer, 100 * row.kept);
    check_first_step(table, whose);
    std::vector<double> gathers, updates;
    update_run last;
    progress bar("steps of " + row.optimizer, warm + o_.steps);
    for (std::uint64_t k = 1; k <= warm + o_.steps; ++k) {
      check_interrupted();
      double const begun = now_ms();
      gather(table, k);
      double const gathered = now_ms();
      last = update(table, k);
      x_.wait();
      if (k > warm) {
        gathers.push_back(gathered - begun), updates.push_back(now_ms() - gathered);
        row.far_rows += static_cast<double>(last.remote_rows) / static_cast<double>(o_.steps);
      }
      bar.advance(1);
    }
    row.steps = o_.steps;
    row.remote_bytes = row.far_rows * static_cast<double>(row.record_bytes);
    if (o_.where.kind != device_kind::simulated) {
      row.gather_ms = mean(gathers), row.update_ms = mean(updates), row.update_ms_median = median(updates);
    }
    if (x_.on_device()) {
      link_calibration const& link = link_of(x_.device());
      double const in = link.zero_copy_gbs * 1e6, out = link.to_host_gbs * 1e6;  // bytes per ms
      row.gather_floor_ms = row.far_rows * static_cast<double>(o_.width * sizeof(float)) / in;
      row.update_floor_ms = row.remote_bytes / in + row.remote_bytes / out;
    }
    // Results do not depend on the tiers.
    std::vector<float> const found = rows_of(table, first_);
    auto& [name, known] = learned_[row.optimizer];
    if (known.empty()) name = whose, known = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (std::bit_cast<std::uint32_t>(found[i]) != std::bit_cast<std::uint32_t>(known[i]))
        fail(errc::internal, "{}: element {} of row {} is {}, and {} has {}", whose, i % o_.width, first_[i / o_.width], found[i], name,
             known[i]);
  }
  void check_first_step(embedding& table, std::string const& whose) {
    std::vector<float> const before = rows_of(table, first_), others = rows_of(table, others_);
    gather(table, 0);
    std::vector<float> rows(first_.size() * o_.width);
    x_.copy(rows.data(), out_.data(), rows.size() * sizeof(float));
    x_.wait();
    update(table, 0);
    std::vector<float> const after = rows_of(table, first_);
    row_optimizer const how = table.optimizer();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::int64_t const id = first_[i / o_.width];
      if (std::bit_cast<std::uint32_t>(rows[i]) != std::bit_cast<std::uint32_t>(before[i]))
        fail(errc::internal, "{}: element {} of row {} was gathered as {}, and is {}", whose, i % o_.width, id, rows[i], before[i]);
      double const wanted = stepped(how, static_cast<double>(before[i]), static_cast<double>(gradient_of(o_.seed, i)));
      if (!(std::abs(static_cast<double>(after[i]) - wanted) <= 1e-5))
        fail(errc::internal, "{}: element {} of row {} became {} by a step, and should be {}", whose, i % o_.width, id, after[i], wanted);
    }
    if (rows_of(table, others_) != others) fail(errc::internal, "{}: a step changed rows without gradients", whose);
  }

  trainable_options const& o_;
  executor x_;
  std::uint64_t n_;
  buffer<float> gradients_, out_;
  std::vector<std::vector<std::int64_t>> ids_;
  std::vector<buffer<std::int64_t>> near_ids_;
  std::vector<std::int64_t> first_, others_;  // rows that are checked
  std::map<std::string, std::pair<std::string, std::vector<float>>> learned_;
};

void measure_trainable(trainable_options const& o, std::function<void(trainable_row const&)> const& told) {
  std::vector<double> kept{1};
  if (o.where.kind == device_kind::cuda) kept = {1, 0, 0.1};
  if (o.where.kind == device_kind::simulated) kept = {0, 0.1};
  bench_of_steps bench(o);
  for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam})
    for (double const part : kept) told(bench.measure(how, part));
}

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
  each_graph(o, o.seed, {{}, tier::host, {}, true}, measure);  // far, with in-edges
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
