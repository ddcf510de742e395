#include "lab/tiering.hpp"

#include <algorithm>
#include <cmath>

#include "cli/command/made_rows.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "garner/features.hpp"
#include "lab/field.hpp"
#include "lab/now.hpp"
#include "traverse/job.hpp"

namespace garner::lab {

namespace {

// Finer where the curves bend: each per cent up to 10, each five up to 100.
std::vector<double> kept_shares() {
  std::vector<double> all;
  for (int k = 0; k <= 10; ++k) all.push_back(k / 100.0);
  for (int k = 15; k <= 100; k += 5) all.push_back(k / 100.0);
  return all;
}

tier_curve curve_of(std::string name, access_trace const& t, std::vector<std::uint64_t> const& order, std::vector<double> const& kept) {
  tier_curve c{std::move(name), {}, {}};
  std::uint64_t hits = 0, at = 0;
  for (double const share : kept) {
    auto const rows = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(t.vertices)));
    for (; at < std::min<std::uint64_t>(rows, order.size()); ++at) hits += t.counts[order[at]];
    c.hits.push_back(t.accesses ? static_cast<double>(hits) / static_cast<double>(t.accesses) : 0);
  }
  return c;
}

// Figure 4.11, measured: the mini-batches of a trace, gathered from a table in host memory whose hottest rows by a score are on the device.
// Invariant: before timing, a sample of a mini-batch's rows is compared with the formula that filled the table.
// Cost: the table (vertices x row bytes) is filled once; each score and share copies the cached rows anew.
class tier_gathers {
 public:
  // `t` has the rows of the mini-batches to gather, and must outlive this. errc::memory if the table does not fit.
  tier_gathers(execution_device where, std::uint64_t row_bytes, access_trace const& t) : t_(t), row_bytes_(row_bytes), x_(where) {
    table_ = cli::make_rows(t.vertices, row_bytes, x_.device());
    std::uint64_t most = 0;
    for (std::size_t b = 0; b < batches(); ++b) most = std::max(most, t.offsets[b + 1] - t.offsets[b]);
    out_ = memory_block(x_.near(), most * row_bytes, x_.device(), "rows that are gathered");
    std::uint64_t const first = t.offsets[1], step = first / most_checked + 1;
    for (std::uint64_t i = 0; i < first; i += step) some_.push_back(t.rows[i]);
    ids_ = to_device(x_, t.rows, "ids to gather");
    some_ids_ = to_device(x_, some_, "ids to gather");
  }

  std::uint64_t batches() const { return t_.offsets.size() - 1; }
  // For each share, ascending. CPU: all rows are local, so a single gather with nothing cached. Simulated: nothing is timed.
  std::vector<tier_gather> measure(std::vector<float> const& score) {
    if (!at_host_.empty()) return at_host_;
    bool const host = x_.where().kind == device_kind::cpu;
    std::vector<tier_gather> all;
    progress told("gathering", host ? 1 : std::size(shares));
    for (double const kept : shares) {
      tiered_options o;
      o.device = x_.where();
      o.feature_cache = static_cast<std::uint64_t>(std::llround(kept * static_cast<double>(t_.vertices))) * row_bytes_;
      o.scores = score;
      tiered_tensor table({table_.data(), t_.vertices, row_bytes_, element::u8}, o);
      check(table);
      all.push_back(gather(table, kept));
      told.advance(1);
      if (host) break;
    }
    if (host) at_host_ = all;
    return all;
  }

 private:
  void check(tiered_tensor& table) {
    table.gather({some_ids_.data(), some_.size(), 8}, {out_.data(), out_.bytes()});
    std::vector<unsigned char> got(some_.size() * row_bytes_);
    x_.copy(got.data(), out_.data(), got.size());
    x_.wait();
    for (std::uint64_t k = 0; k < some_.size(); ++k)
      if (auto const b = cli::wrong_byte(some_[k], got.data() + k * row_bytes_, row_bytes_))
        fail(errc::internal, "byte {} of row {} came wrong ({})", *b, some_[k], table.about());
  }
  tier_gather gather(tiered_tensor& table, double kept) {
    tier_gather g{kept, 0, std::nullopt};
    auto const mean = [&](double sum) { return sum / static_cast<double>(batches()); };
    if (x_.where().kind != device_kind::cpu) {
      std::uint64_t far = 0;
      for (std::uint64_t b = 0; b < batches(); ++b) far += table.hits(ids_of(b))[tier::host];
      g.link_bytes = mean(static_cast<double>(far * row_bytes_));
    }
    if (x_.where().kind == device_kind::simulated) return g;
    table.gather(ids_of(0), {out_.data(), out_.bytes()});  // allocates the sort buffers
    double const start = now_ms();
    for (std::uint64_t b = 0; b < batches(); ++b) table.gather(ids_of(b), {out_.data(), out_.bytes()});
    g.ms = mean(now_ms() - start);
    return g;
  }
  id_span ids_of(std::uint64_t batch) const { return {ids_.data() + t_.offsets[batch], t_.offsets[batch + 1] - t_.offsets[batch], 8}; }

  static constexpr double shares[] = {0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25};
  static constexpr std::uint64_t most_checked = 4096;
  access_trace const& t_;
  std::uint64_t row_bytes_;
  executor x_;
  memory_block table_, out_;
  buffer<std::uint64_t> ids_, some_ids_;
  std::vector<std::uint64_t> some_;  // rows of the first mini-batch, for the check
  std::vector<tier_gather> at_host_;
};

struct tiering_setting {
  graph_handle const& g;
  tiering_options const& o;
  vertex_set train;

  score_result score(score_kind by, std::vector<std::uint32_t> const& fanouts, std::uint64_t presample = 1) const {
    score_options s;
    s.device = o.where, s.by = by, s.train = train, s.presample = presample;
    s.sampling = o.sampling, s.sampling.fanouts = fanouts;
    return scores(g, s);
  }
  // `main`: the trace for all figures but 4.10.
  tier_trace trace_of(std::vector<std::uint32_t> const& fanouts, std::vector<double> const& kept, tiering_graph* main) const {
    trace_options how;
    how.device = o.where, how.train = train, how.sampling = o.sampling, how.sampling.fanouts = fanouts;
    how.epochs = main ? o.epochs : o.deeper_epochs, how.keep_rows = main && o.gathers, how.keep_batches = 20;
    access_trace const t = record_trace(g, how);
    tier_trace row{{fanouts.begin(), fanouts.end()}, t.batches, t.accesses, t.sampled, t.epochs, t.ms, {}, 0, {}};
    if (main && !o.gathers) row.no_gathers = "left out (--no-gathers)";
    std::optional<tier_gathers> table;
    auto const add = [&](std::string name, std::vector<std::uint64_t> const& order, std::vector<float> const& score, bool gathers = true) {
      row.curves.push_back(curve_of(std::move(name), t, order, kept));
      if (!main || !gathers || !row.no_gathers.empty()) return;
      try {
        if (!table) table.emplace(o.where, o.row_bytes, t);
        row.curves.back().gathers = table->measure(score);
        row.gathered = table->batches();
      } catch (error const& e) {
        if (e.code() != errc::memory) throw;
        row.no_gathers = e.what();
      }
    };
    add("oracle", rows_by_count(t.counts), {t.counts.begin(), t.counts.end()});
    if (main && o.ceiling) {
      how.sampling.seed = o.sampling.seed + 1, how.keep_rows = false;
      how.epochs = std::min<std::uint64_t>(o.epochs * o.ceiling, 1u << 20);
      access_trace const again = record_trace(g, how);
      std::vector<std::uint64_t> const order = rows_by_count(again.counts);
      row.curves.push_back(curve_of(tier_curve::another, t, order, kept));
      row.curves.push_back(curve_of(tier_curve::ceiling, again, order, kept));
    }
    auto const add_score = [&](std::string const& name, score_result const& r) {
      add(name, rows_by_score(r.score), r.score, !name.starts_with("sampled "));  // of several presample sizes, the first is gathered
      if (main) main->scores.push_back({name, r.iterations, r.ms});
    };
    for (score_kind const by : all_scores)
      if (by != score_kind::sampled) add_score(std::string(to_string(by)), score(by, fanouts));
    // Depths of 4.10 cost as much as their trace for each sampling: one epoch.
    if (!main) add_score("sampled", score(score_kind::sampled, fanouts));
    else
      for (std::uint64_t const epochs : o.presample)
        add_score(tier_curve::sampled(epochs, o.presample), score(score_kind::sampled, fanouts, epochs));
    return row;
  }
};

}  // namespace

tiering_run measure_tiering(tiering_options const& o, std::function<void(tiering_run const& run, tiering_graph const& graph)> const& told) {
  tiering_run run;
  static_cast<file_head&>(run) = head_of_run(o.command, o.where);
  run.rule = to_string(o.sampling.rule), run.train = o.train, run.batch = o.sampling.batch, run.epochs = o.epochs;
  run.seed = o.sampling.seed, run.row_bytes = o.row_bytes, run.ceiling = o.ceiling, run.presample = o.presample;
  run.kept = kept_shares();
  auto const measure = [&](std::string name, graph_handle const& g) {
    tiering_setting const s{g, o, o.training(g)};
    tiering_graph row;
    row.name = std::move(name), row.vertices = g.info().vertices, row.edges = g.info().edges, row.directed = g.info().directed;
    row.traces.push_back(s.trace_of(o.sampling.fanouts, run.kept, &row));
    row.train = s.train.size();
    if (o.deeper)
      for (std::size_t const hops : {2, 3, 4, 6}) row.traces.push_back(s.trace_of(std::vector<std::uint32_t>(hops, 10), run.kept, nullptr));
    run.graphs.push_back(std::move(row));
    if (told) told(run, run.graphs.back());
  };
  each_graph(o, o.sampling.seed, {}, measure);
  return run;
}

}  // namespace garner::lab
