#include "lab/storage.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "cli/command/batch_check.hpp"
#include "cli/command/made_rows.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "features/stored_rows.hpp"
#include "garner/features.hpp"
#include "garner/load.hpp"
#include "garner/subgraph.hpp"
#include "lab/now.hpp"
#include "lab/storage_replay.hpp"
#include "load/loader_access.hpp"
#include "memory/link.hpp"
#include "sample/order.hpp"
#include "storage/measure.hpp"

namespace garner::lab {

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr double paper_link_gbs = 24;      // four of its drives nearly fill its PCIe 4 (4.5)
constexpr std::uint32_t paper_window = 8;  // 4.3
constexpr double paper_pinned = 0.4;       // of the cache (4.3)
constexpr double constant_share = 0.1;     // of the rows, permanently in host memory: our choice, since the paper does not state it
constexpr double merge_share = 0.95;       // of a drive's rate, for the accumulator
constexpr std::uint64_t tail = 16;         // mini-batches after the timed ones, so that read-ahead continues to their end
constexpr std::size_t most_steps = 20;     // mini-batches in figure 9

// The paper's tables 2 and 4. `scale`: relative to IGB-Full, per vertex type; edges per vertex of the relation within the first
// type, and of that between two types; `memory`: share of the feature data that 512 GB hold.
struct data_set {
  char const* like;
  int scale;
  std::uint64_t floats, within, between;
  double memory;
};
constexpr data_set data_sets[] = {{"ogbn-papers100M", -1, 128, 15, 0, 1},
                                  {"IGB-Full", 0, 1024, 15, 0, 0.499},
                                  {"MAG240M", -1, 768, 10, 3, 1},
                                  {"IGBH-Full", 0, 1024, 12, 4, 0.192}};
constexpr data_set const& large = data_sets[1];

double mean_of(double sum, std::uint64_t n) { return n ? sum / static_cast<double>(n) : 0; }

// A dataset's graph and mini-batches, shared by all settings.
class ground {
 public:
  ground(storage_bench_options const& o, data_set const& of, int scale) : o_(o), of_(of) {
    scale = std::clamp(scale, 4, 31);
    generate_options made;
    made.kind = o.kind, made.scale = scale, made.edge_factor = of.within, made.seed = o.seed;
    within_.emplace(to_device(generate_graph(made), o.where, tier::host));
    std::uint64_t const n = within_->info().vertices;
    if (of.between) {
      made.edge_factor = of.between, made.seed = o.seed + 1;
      between_.emplace(to_device(generate_graph(made), o.where, tier::host));
    }
    train_ = o.training(*within_);
    told_.name = "like " + std::string(of.like) + ", " + std::string(to_string(o.kind)) + " " + std::to_string(scale);
    told_.like = of.like, told_.heterogeneous = of.between > 0;
    told_.vertices = n * types(), told_.train = train_.size();
    told_.edges = within_->info().edges + (of.between ? 2 * between_->info().edges : 0);
    told_.rows = told_.vertices, told_.row_bytes = of.floats * sizeof(float), told_.memory = of.memory;
  }
  std::uint64_t types() const { return of_.between ? 2 : 1; }
  storage_graph const& told() const { return told_; }

  block_sampler sampler(execution_device where) {
    block_options how;
    how.seed = o_.seed;
    if (!of_.between) return {where, *within_, o_.fanouts, how};
    std::uint64_t const n = within_->info().vertices;
    std::vector<sampled_relation> relations(3);
    relations[0] = {&*within_, edge_direction::in, 0, 0, o_.fanouts, {}};
    relations[1] = {&*between_, edge_direction::in, 1, 0, o_.fanouts, {}};
    relations[2] = {&*between_, edge_direction::out, 0, 1, o_.fanouts, {}};
    return {where, {{n, {}, {}}, {n, {}, {}}}, std::move(relations), how};
  }

  // Median ms per mini-batch; `keep`: also the rows of each.
  double sample(execution_device where, bool keep) {
    block_sampler draws = sampler(where);
    executor x(where);
    buffer<std::int64_t> seeds(x.near(), train_.size(), x.device(), "seeds");
    x.copy(seeds.data(), train_.data(), seeds.bytes());
    x.wait();
    std::uint64_t const a_epoch = (train_.size() + o_.batch - 1) / o_.batch, n = within_->info().vertices;
    std::uint64_t const count = keep ? o_.batches + tail : std::min<std::uint64_t>(o_.batches, 8),
                        warm = std::min<std::uint64_t>(2, count - 1);
    epoch_order order;
    std::vector<std::int64_t> ids;
    std::vector<double> ms;
    std::uint64_t drawn_rows = 0;
    if (keep) trace_.clear();
    progress told("sampling mini-batches", count);
    for (std::uint64_t k = 0; k < count; ++k) {
      if (k % a_epoch == 0) order = order_of_epoch(x, seeds.span(), true, o_.seed, k / a_epoch, 0, 1);
      std::uint64_t const first = k % a_epoch * o_.batch, some = std::min(o_.batch, train_.size() - first);
      double const begun = now_ms();
      sampled_subgraph const drawn = draws.sample(k, {order.ids.data() + first, some});
      if (k >= warm) ms.push_back(now_ms() - begun);
      told.advance(1);
      for (std::uint64_t t = 0; t < types(); ++t) drawn_rows += drawn.of_type(t).count;
      if (!keep) continue;
      std::vector<std::uint64_t>& rows = trace_.emplace_back();
      for (std::uint64_t t = 0; t < types(); ++t) {
        sampled_subgraph::vertices const& v = drawn.of_type(t);
        ids.resize(v.count);
        x.copy(ids.data(), v.ids, v.count * sizeof ids[0]);
        x.wait();
        for (std::int64_t const id : ids) rows.push_back(t * n + static_cast<std::uint64_t>(id));
      }
    }
    told_.rows_a_batch = mean_of(static_cast<double>(drawn_rows), count);
    return median(ms);
  }
  void draw() {
    if (!trace_.empty()) return;
    if (o_.where.kind != device_kind::cpu) host_sample_ms_ = sample({}, false);
    sample_ms_ = sample(o_.where, true);
    if (o_.where.kind == device_kind::cpu) host_sample_ms_ = sample_ms_;
    for (auto const& batch : trace_) most_ = std::max<std::uint64_t>(most_, batch.size());
    slots_ = std::max(most_, static_cast<std::uint64_t>(std::llround(o_.cache_batches * told_.rows_a_batch)));
    slots_ = std::min(slots_, told_.rows);
  }

  // The loader's scores for rows without a known next use; none with several types.
  std::span<float const> known() { return of_.between ? std::span<float const>() : scores_of(score_kind::degree); }
  std::vector<float> const& scores_of(score_kind by) {
    std::vector<float>& s = by == score_kind::degree ? degree_ : rank_;
    if (!s.empty()) return s;
    score_options how;
    how.device = o_.where, how.by = by;
    return s = scores(*within_, how).score;
  }
  std::vector<bool> hottest(score_kind by, std::uint64_t rows) {
    std::vector<std::uint64_t> const order = rows_by_score(scores_of(by));
    std::vector<bool> is(told_.rows);
    for (std::uint64_t k = 0; k < std::min<std::uint64_t>(rows, order.size()); ++k) is[order[k]] = true;
    return is;
  }
  // Hits of Belady's rule, per mini-batch; with a window, limited to its reach.
  double possible(std::uint64_t from, std::uint64_t count, std::optional<std::uint64_t> window = {}) {
    std::uint64_t const reach = window.value_or(~std::uint64_t{0});
    std::vector<std::uint64_t>& hits = possible_[reach];
    if (hits.empty()) hits = possible_hits(trace_, slots_, reach);
    auto const first = hits.begin() + static_cast<std::ptrdiff_t>(from);
    return mean_of(static_cast<double>(std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), std::uint64_t{0})), count);
  }

  storage_bench_options const& o_;
  data_set const& of_;
  std::optional<graph_handle> within_, between_;
  std::vector<std::int64_t> train_;
  storage_graph told_;
  std::vector<std::vector<std::uint64_t>> trace_;
  double sample_ms_ = 0, host_sample_ms_ = 0;
  std::uint64_t slots_ = 0, most_ = 0;

 private:
  std::vector<float> degree_, rank_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> possible_;  // by reach
};

struct setting {
  char const* figure;
  std::string strategy;
  replay_terms terms;  // the strategy; values of the graph are filled in
  std::string drive = "optane";
  bool whole = true;  // includes sampling and model
};

simulated_drive drive_named(std::string const& name, std::uint64_t size) { return name == "optane" ? optane(size) : samsung_980_pro(size); }
drive_rate rate_of(simulated_drive const& d, std::uint64_t row_bytes, std::uint32_t drives) {
  double const by_bytes = d.bytes_a_second / static_cast<double>(std::max(row_bytes, page_bytes));
  return {std::min(d.requests_a_second, by_bytes), d.latency_us * 1e-6, 0, drives};
}

std::uint64_t different(std::vector<std::vector<std::uint64_t>> const& trace, std::uint64_t of) {
  std::vector<bool> seen(of);
  std::uint64_t n = 0;
  for (auto const& batch : trace)
    for (std::uint64_t const id : batch)
      if (!seen[id]) seen[id] = true, ++n;
  return n;
}

class measuring {
 public:
  measuring(storage_bench_options const& o, std::function<void(storage_file const&, storage_row const&)> const& told) : o_(o), told_(told) {
    static_cast<file_head&>(file_) = head_of_run(o.command, o.where);
    file_.fanouts.assign(o.fanouts.begin(), o.fanouts.end()), file_.share = o.share, file_.batch = o.batch, file_.seed = o.seed,
                                                              file_.warm = o.warm;
    file_.cache_batches = o.cache_batches, file_.compute_ms = o.compute_ms;
    file_.link_measured = !o.link_gbs && o.where.kind == device_kind::cuda;
    file_.link_gbs = file_.link_measured ? link_of(o.where.index).zero_copy_gbs : o.link_gbs.value_or(paper_link_gbs);
  }
  bool wanted(char const* figure) const { return lab::wanted(o_.figures, figure); }

  storage_file all() {
    if (wanted("stages"))
      for (data_set const& of : data_sets) {
        if (&of == &large) continue;  // needed by the other figures
        ground g(o_, of, o_.scale + of.scale);
        stages(g);
      }
    if (wanted("sampling")) sampling();
    bool const more = std::any_of(std::begin(storage_figures), std::end(storage_figures),
                                  [&](char const* f) { return std::strcmp(f, "sampling") != 0 && wanted(f); });
    if (!more) return std::move(file_);
    ground g(o_, large, o_.scale);
    if (wanted("stages")) stages(g);
    else begin(g);
    if (wanted("cold")) cold(g);
    if (wanted("window")) windows(g);
    if (wanted("policies")) policies(g);
    if (wanted("drives")) drives(g);
    if (wanted("memory")) memory(g);
    return std::move(file_);
  }

 private:
  void add(storage_row row) {
    file_.rows.push_back(std::move(row));
    if (told_) told_(file_, file_.rows.back());
  }
  void begin(ground& g) {
    g.draw();
    file_.graphs.push_back(g.told());
  }

  static replay_terms faults() {
    replay_terms t;
    t.order = read_order::faults, t.policy = eviction::clock, t.window = 0, t.depth = 1, t.warmed_up = true;
    return t;
  }
  static replay_terms demand(eviction policy, std::uint32_t window) {
    replay_terms t;
    t.order = read_order::on_demand, t.policy = policy, t.window = window;
    return t;
  }
  static replay_terms gids() { return demand(eviction::window, paper_window); }
  static replay_terms ours(std::uint32_t window = paper_window) {
    replay_terms t;
    t.window = window;
    return t;
  }

  void measure(ground& g, setting s) {
    storage_row row;
    replay_terms& t = s.terms;
    row.graph = g.told().name, row.figure = s.figure, row.strategy = s.strategy;
    row.policy = to_string(t.policy), row.drive = s.drive, row.drives = t.drives, row.window = t.window;
    bool const faults = t.order == read_order::faults;
    t.rows = g.told().rows, t.row_bytes = g.told().row_bytes;
    if (!t.slots) t.slots = g.slots_;
    std::vector<std::vector<std::uint64_t>> pages;
    if (faults) {  // the system's page cache, in the paper's proportion to the bytes that the training reads
      pages = pages_of(g.trace_, t.row_bytes, page_bytes);
      t.rows = (t.rows * t.row_bytes + page_bytes - 1) / page_bytes, t.row_bytes = page_bytes;
      t.slots = static_cast<std::uint64_t>(std::llround(g.told().memory * static_cast<double>(different(pages, t.rows))));
      for (auto const& batch : pages) t.slots = std::max<std::uint64_t>(t.slots, batch.size());
    }
    row.slots = t.slots;
    if (t.policy == eviction::next_use) t.scores = g.known();
    t.drive = drive_named(s.drive, 0);
    drive_rate const rate = rate_of(t.drive, t.row_bytes, 1);
    if (!faults) t.depth = std::max<unsigned>(t.depth, static_cast<unsigned>(requests_under_way(rate)));
    t.link_gbs = file_.link_gbs, t.warm = o_.warm, t.tail = tail;
    t.sample_ms = s.whole ? (faults ? g.host_sample_ms_ : g.sample_ms_) : 0;
    t.model_ms = s.whole ? o_.compute_ms : 0;
    try {
      replay_run const r = replay(faults ? std::span<std::vector<std::uint64_t> const>(pages) : g.trace_, t);
      row.batches = r.timed, row.ms = r.ms, row.read_ms = r.read_ms;
      if (faults) row.copy_ms = r.copy_ms;
      if (s.whole) row.sample_ms = t.sample_ms, row.model_ms = t.model_ms;
      auto const each = [&](std::uint64_t x) { return static_cast<double>(x) / static_cast<double>(r.timed); };
      bool const near = t.resident && !t.resident_at_host;  // pinned host memory is part of the cache
      row.rows = each(r.accesses), row.hits = each(r.hits + (near ? r.resident : 0)), row.resident = each(near ? 0 : r.resident);
      row.reads = each(r.reads);
      row.read_bytes = each(r.reads * t.row_bytes), row.compared = r.compared;
      row.metadata_bytes = static_cast<double>(r.metadata_bytes) / static_cast<double>(t.slots);
      if (!faults && !t.resident) row.possible = g.possible(r.from, r.timed);
      if (row.possible && t.window) row.possible_in_window = g.possible(r.from, r.timed, t.window);
      if (!std::strcmp(s.figure, "cold"))
        for (std::size_t k = 0; k < std::min<std::size_t>(most_steps, o_.batches); ++k)
          row.gbs.push_back(r.gather_ms[k] > 0 ? static_cast<double>(g.trace_[k].size() * g.told().row_bytes) / r.gather_ms[k] / 1e6 : 0);
    } catch (error const& e) {
      if (e.code() != errc::memory && e.code() != errc::usage) throw;  // usage: a mini-batch has more rows than the cache
      row.skipped = e.what();
    }
    add(std::move(row));
  }

  void stages(ground& g) {
    begin(g);
    measure(g, {"stages", "mmap", faults()});
    for (std::uint32_t const drives : {1u, 4u}) pair_of(g, "stages", drives);
  }
  void pair_of(ground& g, char const* figure, std::uint32_t drives) {  // GIDS and ours
    for (setting s : {setting{figure, "GIDS", gids()}, setting{figure, "Garner", ours()}}) s.terms.drives = drives, measure(g, s);
  }

  // The same fanouts on graphs like IGB-tiny, small and medium, each eight times as large as the one before.
  void sampling() {
    static constexpr data_set sizes[] = {
        {"IGB-tiny", -6, 1024, 6, 0, 1}, {"IGB-small", -3, 1024, 12, 0, 1}, {"IGB-medium", 0, 1024, 12, 0, 1}};
    for (data_set const& of : sizes) {
      ground g(o_, of, o_.scale + of.scale);
      double const by_host = g.sample({}, false);
      file_.graphs.push_back(g.told());
      for (bool const device : {false, true}) {
        storage_row row;
        row.graph = g.told().name, row.figure = "sampling", row.strategy = device ? "device" : "host";
        if (device && o_.where.kind != device_kind::cuda) {
          row.skipped = "device " + std::string(to_string(o_.where)) + " is not a GPU";
        } else {
          row.sample_ms = device ? g.sample(o_.where, false) : by_host;
          row.batches = std::min<std::uint64_t>(o_.batches, 8);
        }
        add(std::move(row));
      }
    }
  }

  void cold(ground& g) {
    setting mapped{"cold", "mmap", faults(), "optane", false};
    mapped.terms.warmed_up = false;
    measure(g, mapped);
    for (setting s :
         {setting{"cold", "BaM", demand(eviction::clock, 0)}, setting{"cold", "GIDS", gids()}, setting{"cold", "Garner", ours()}})
      s.whole = false, measure(g, s);
    for (std::string const& folder : o_.folders) real(g, folder);
  }

  void windows(ground& g) {
    measure(g, {"window", "BaM", demand(eviction::clock, 0)});
    for (std::uint32_t const w : {2u, 4u, 8u, 16u, 32u}) {
      measure(g, {"window", "GIDS", demand(eviction::window, w)});
      measure(g, {"window", "Garner", ours(w)});
    }
  }

  void policies(ground& g) {
    auto const demanded = [&](std::string strategy, eviction policy, std::uint32_t window) {
      return setting{"policies", std::move(strategy), demand(policy, window)};
    };
    measure(g, demanded("BaM", eviction::clock, 0));
    // Pinning as in the paper: part of the cache permanently, the rest by clock.
    setting pinned = demanded("pinned, 40 %", eviction::clock, 0);
    auto const kept = static_cast<std::uint64_t>(std::llround(paper_pinned * static_cast<double>(g.slots_)));
    std::vector<bool> const by_degree = g.hottest(score_kind::degree, kept);
    pinned.terms.resident = &by_degree, pinned.terms.resident_at_host = false;
    pinned.terms.slots = g.slots_ - kept;
    measure(g, pinned);
    setting all_pinned = demanded("pinned", eviction::pinned, 0);
    all_pinned.terms.scores = g.scores_of(score_kind::degree);
    measure(g, all_pinned);
    setting merged = demanded("GIDS", eviction::window, paper_window);
    measure(g, merged);
    merged.strategy = "GIDS, merged";
    merged.terms.merge_reads = required_requests(rate_of(drive_named(merged.drive, 0), g.told().row_bytes, 1), merge_share);
    measure(g, merged);
    setting constant = merged;
    constant.strategy = "GIDS, merged, constant buffer";
    std::vector<bool> const by_rank = g.hottest(
        score_kind::reverse_pagerank, static_cast<std::uint64_t>(std::llround(constant_share * static_cast<double>(g.told().rows))));
    constant.terms.resident = &by_rank;
    measure(g, constant);
    measure(g, demanded("next-use, on demand", eviction::next_use, paper_window));
    measure(g, {"policies", "Garner", ours()});
  }

  void drives(ground& g) {
    for (char const* const drive : {"optane", "samsung_980_pro"})
      for (std::uint32_t n = 1; n <= 4; ++n)
        for (bool const whole : {true, false}) {
          setting const plain{"drives", "GIDS", gids(), drive, whole};
          setting merged = plain;
          merged.strategy = "GIDS, merged";
          merged.terms.merge_reads = required_requests(rate_of(drive_named(drive, 0), g.told().row_bytes, n), merge_share);
          for (setting s : {plain, merged, setting{"drives", "Garner", ours(), drive, whole}}) {
            s.terms.drives = n;
            if (!whole) s.strategy += ", rows alone";
            measure(g, std::move(s));
          }
        }
  }

  // All rows in host memory: each crosses the link per mini-batch, after sampling and before the model.
  void memory(ground& g) {
    storage_row row;
    row.graph = g.told().name, row.figure = "memory", row.strategy = "host memory";
    std::uint64_t rows = 0;
    std::uint64_t const n = o_.batches, warm = o_.warm;
    for (std::uint64_t k = warm; k < n; ++k) rows += g.trace_[k].size();
    row.batches = n - warm;
    row.rows = row.resident = g.told().rows_a_batch;
    row.sample_ms = g.sample_ms_, row.model_ms = o_.compute_ms;
    row.copy_ms = mean_of(static_cast<double>(rows * g.told().row_bytes) / file_.link_gbs / 1e6, n - warm);
    row.ms = *row.sample_ms + *row.copy_ms + *row.model_ms;
    add(row);
    pair_of(g, "memory", 4);
  }

  // The loader over a file on a real drive, and the same file mapped, both with a cold page cache.
  void real(ground& g, std::string const& folder) {
    std::uint64_t const n = g.told().rows, row_bytes = g.told().row_bytes;
    cli::made_file const table(folder, n, row_bytes);
    mapped(g, table);
    for (auto const& [strategy, policy] : {std::pair("BaM", eviction::clock), {"GIDS", eviction::window}, {"Garner", eviction::next_use}})
      loaded(g, table, strategy, policy);
  }
  storage_row of_file(ground const& g, char const* strategy) const {
    storage_row row;
    row.graph = g.told().name, row.figure = "cold", row.strategy = strategy, row.drive = "file", row.drives = 1;
    return row;
  }
  void mapped(ground& g, cli::made_file const& table) {
    storage_row row = of_file(g, "mmap");
    std::uint64_t const row_bytes = g.told().row_bytes;
    row_array const rows = map_rows(table.path());
    auto const* const from = static_cast<char const*>(rows.data);
    buffer<char> to(tier::host, g.most_ * row_bytes, -1, "rows of a mini-batch");
    table.forget();
    double sum = 0;
    std::uint64_t const steps = std::min<std::uint64_t>(most_steps, o_.batches);
    for (std::uint64_t k = 0; k < steps; ++k) {
      std::vector<std::uint64_t> const& ids = g.trace_[k];
      double const begun = now_ms();
      shared_pool().run(ids.size(), 64, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) std::memcpy(to.data() + i * row_bytes, from + ids[i] * row_bytes, row_bytes);
      });
      double const ms = now_ms() - begun;
      sum += ms;
      row.gbs.push_back(static_cast<double>(ids.size() * row_bytes) / ms / 1e6);
      for (std::uint64_t i = 0; i < ids.size(); ++i, ++row.compared)
        if (cli::wrong_byte(ids[i], to.data() + i * row_bytes, row_bytes))
          fail(errc::internal, "row {} came wrong from a mapped file", ids[i]);
    }
    row.rows = g.told().rows_a_batch;
    row.batches = steps, row.read_ms = row.ms = mean_of(sum, steps);
    add(std::move(row));
  }
  void loaded(ground& g, cli::made_file const& table, char const* strategy, eviction policy) {
    storage_row row = of_file(g, strategy);
    std::uint64_t const row_bytes = g.told().row_bytes, cache = g.slots_ * row_bytes;
    bool const on_device = o_.where.kind == device_kind::cuda;
    row.policy = to_string(policy), row.window = paper_window, row.slots = g.slots_;
    tiered_options t;
    t.device = o_.where, t.feature_cache = 0;
    t.host_cache = t.file_cache = on_device ? row_bytes : cache;
    tiered_tensor rows(open_rows(table.path()), t);
    block_sampler sampler = g.sampler(o_.where);
    loader_options l;
    l.batch_size = o_.batch, l.seed = o_.seed, l.window = paper_window;
    l.window_bytes = on_device ? cache : 0;
    auto const made = [&] {
      auto const reader = [policy](execution_device where, auto const& file, row_view const& in, file_cache::terms own) {
        own.policy = policy;
        return std::make_unique<file_cache>(where, file, in, own);
      };
      return loader_access::with_rows(reader, sampler, {{&rows, 0, false, {}}}, g.train_, l);
    };
    executor x(o_.where);
    std::uint64_t const steps = std::min<std::uint64_t>(most_steps, o_.batches);
    double asked = 0;
    auto const take = [&](loader& load, auto const& each) {
      for (std::uint64_t k = 0; k < steps;) {
        double const begun = now_ms();
        std::optional<mini_batch> const b = load.next(stream_ref::of_address(x.stream()));
        if (!b) continue;
        x.wait();
        each(*b, now_ms() - begun), ++k;
      }
    };
    double const begun = now_ms();
    loader load = made();
    take(load, [&](mini_batch const& b, double ms) {
      std::uint64_t const count = b.of_table(0).count;
      asked += static_cast<double>(count);
      row.gbs.push_back(ms > 0 ? static_cast<double>(count * row_bytes) / ms / 1e6 : 0);
    });
    double const sum = now_ms() - begun;
    load.stop();
    load_report const r = load.report();
    auto const n = static_cast<double>(steps);
    row.batches = steps, row.rows = asked / n;
    row.hits = static_cast<double>(r.file_hits) / n, row.reads = static_cast<double>(r.file_reads) / n;
    row.read_bytes = static_cast<double>(r.file_bytes) / n;
    row.read_ms = r.file_waited_ms / n, row.ms = sum / n;
    // The same mini-batches again, compared.
    block_options drawn;
    drawn.seed = o_.seed;
    cli::batch_check check(*g.within_, edge_direction::in, o_.fanouts, drawn);
    cli::batch_check::rows_source const source{nullptr, row_bytes};
    loader again = made();
    take(again, [&](mini_batch const& b, double) {
      check.batch(x, b, g.train_, {&source, 1});
      row.compared += b.of_table(0).count;
    });
    add(std::move(row));
  }

  storage_bench_options const& o_;
  std::function<void(storage_file const&, storage_row const&)> const& told_;
  storage_file file_;
};

}  // namespace

storage_file measure_storage(storage_bench_options const& o, std::function<void(storage_file const&, storage_row const&)> const& told) {
  check_figures(o.figures, storage_figures, "stages, sampling, cold, window, policies, drives, memory");
  if (o.batches < 2 || o.batches > 1u << 20) fail(errc::usage, "--batches {}: use 2 to 1,048,576", o.batches);
  if (!(o.cache_batches >= 1 && o.cache_batches <= 1e6)) fail(errc::usage, "--cache-batches {}: use 1 or more", o.cache_batches);
  return measuring(o, told).all();
}

}  // namespace garner::lab
