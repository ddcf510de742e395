#include "lab/shards.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "lab/graphs.hpp"
#include "lab/mgg/model.hpp"
#include "lab/model_forward.hpp"
#include "lab/now.hpp"
#include "memory/budget.hpp"
#include "nn/sharded.hpp"
#include "shard/rates.hpp"

namespace garner::lab {

graph_handle make_mgg_graph(mgg_graph const& of, std::uint64_t shrink, std::uint64_t seed) {
  std::uint64_t const n = std::max<std::uint64_t>(of.vertices / shrink, 16), m = std::max<std::uint64_t>(of.edges / shrink, 16);
  // Degrees: lognormal with sigma 1.3, like the popularity of targets; both ends of an edge are sampled from it.
  std::vector<double> upto(n + 1);
  for (std::uint64_t v = 0; v < n; ++v) {
    double const a = static_cast<double>(unit_float(random_bits(seed, 1, v))), b = static_cast<double>(unit_float(random_bits(seed, 2, v)));
    double const normal = std::sqrt(-2 * std::log(1 - a * 0.999999)) * std::cos(6.283185307179586 * b);
    upto[v + 1] = upto[v] + std::exp(1.3 * normal);
  }
  auto const draw = [&](std::uint64_t stream, std::uint64_t i) {
    double const at = static_cast<double>(random_bits(seed, stream, i) >> 11) * 0x1p-53 * upto[n];
    return static_cast<std::uint64_t>(std::upper_bound(upto.begin() + 1, upto.end() - 1, at) - upto.begin()) - 1;
  };
  std::vector<edge> edges(m);
  shared_pool().run(m, 1 << 16, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) edges[i] = {draw(3, i), random_bits(seed, 4, i) % n};
  });
  build_options o;
  o.in_edges = true, o.keep_duplicates = o.keep_loops = true;  // exactly the requested number of edges
  return build_graph({.edges = edges, .vertices = n}, o);
}

namespace {

// Input rows, and the expected results.
float number_of(std::uint64_t seed, std::uint64_t v, std::uint64_t c) {
  return static_cast<float>(unit_float(random_bits(seed, 7 + c, v))) - 0.5f;
}

class subject {
 public:
  subject(graph_handle const& g, std::uint64_t seed) : lists_(g, edge_direction::out, false, false, true), seed_(seed) {}
  whole_graph const& lists() const { return lists_; }
  std::vector<float> rows(std::uint64_t first, std::uint64_t count, std::uint64_t width) const {
    std::vector<float> all(count * width);
    shared_pool().run(count, 4096, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i)
        for (std::uint64_t c = 0; c < width; ++c) all[i * width + c] = number_of(seed_, first + i, c);
    });
    return all;
  }
  // errc::internal names the first number that differs from sums in f64. Large graphs are checked on a sample of vertices.
  void check(std::vector<float> const& found, std::uint64_t first, std::uint64_t count, std::uint64_t width, double tolerance,
             std::string const& how) const {
    constexpr std::uint64_t most = 20'000'000;  // additions in f64
    auto const& l = lists_.pulled();
    std::uint64_t const each = std::max<std::uint64_t>(1, l.offsets[lists_.vertices()] * width / most);
    for (std::uint64_t v = first; v < first + count; ++v) {
      if (random_bits(seed_, 5, v) % each != 0) continue;
      for (std::uint64_t c = 0; c < width; ++c) {
        double sum = 0, sizes = 0;
        for (std::uint64_t k = l.offsets[v]; k < l.offsets[v + 1]; ++k) {
          double const is = static_cast<double>(number_of(seed_, l.ends[k], c));
          sum += is, sizes += std::abs(is);
        }
        double const is = static_cast<double>(found[(v - first) * width + c]);
        if (!(std::abs(is - sum) <= tolerance * (sizes + 1)))
          fail(errc::internal, "{}: column {} of vertex {} is {}, and sums in f64 give {}", how, c, v, is, sum);
      }
    }
  }

 private:
  whole_graph lists_;
  std::uint64_t seed_;
};

// A measurement: this number of aggregations of this width, with each of these shapes for mgg.
struct bench_job {
  std::uint64_t width = 16, layers = 1;
  bool managed = false;
  std::vector<mgg_tuning> shapes = {};  // differ in dist and wpb; empty: the strategy's own
};

std::string words_of(shard_asked const& o, bool managed) {
  return fmt::format("{} shards, {} {} {} {}-{}-{}", o.shards, managed ? "uvm" : to_string(o.strategy), to_string(o.sums),
                     to_string(o.wire), o.tuning.ps, o.tuning.dist, o.tuning.wpb);
}

constexpr double short_ms = 5;  // shorter aggregations are timed eight in a row

struct taken {
  std::vector<double> ms;  // of each shape
  double prepare_ms = 0;
  std::vector<std::uint64_t> rows;  // received, per shard
  shard_link link;                  // of the first shard
};
taken run(subject const& s, shards_bench_options const& o, shard_asked const& how, bench_job const& job) {
  shard_parts const parts(s.lists().pulled().offsets, s.lists().vertices(), how, "a graph of the run");
  shard_group group(how, 3600);
  rank_group& threads = *group.threads();
  std::vector<mgg_tuning> const shapes = job.shapes.empty() ? std::vector{how.tuning} : job.shapes;
  std::vector<std::vector<double>> times(how.shards);  // trials, shape by shape
  std::vector<double> prepared(how.shards);
  taken found;
  found.rows.resize(how.shards);
  on_shards(group, [&](std::uint32_t k) {
    interrupts_held const together;
    executor x(o.places[k]);
    threads.join(k, x, 1);
    group.join(k, x);
    if (k == 0) found.link = group.link(k);
    double const began = now_ms();
    sharded_edges edges(group, k, x, s.lists(), parts, aggregation::sum);
    prepared[k] = now_ms() - began;
    std::uint64_t const first = parts.first(k), count = parts.count(k), numbers = count * job.width;
    std::vector<float> const made = s.rows(first, count, job.width);
    tier const where = job.managed ? tier::managed : x.near();
    buffer<float> rows[2];
    for (buffer<float>& b : rows) b = buffer<float>(where, std::max<std::uint64_t>(numbers, 1), x.device(), "rows of a shard");
    auto const fill = [&] { x.copy(rows[0].data(), made.data(), numbers * sizeof(float)); };
    auto const add_up = [&](std::uint64_t layers) {
      for (std::uint64_t l = 0; l < layers; ++l)
        edges.forward(x, {rows[l % 2].data(), job.width}, {rows[(l + 1) % 2].data(), job.width}, job.width, {});
    };
    fill();
    double const since = now_ms();
    for (mgg_tuning const& shape : shapes) {
      threads.barrier(k);  // no shard is in an aggregation
      if (k == 0) group.take_shape(shape);
      threads.barrier(k);
      std::uint64_t in_a_row = 1;  // back to back, like layers of a model: launches take the host as long as short ones run
      for (std::uint64_t trial = 0; trial <= o.trials; ++trial) {  // the first is compared, and not timed
        if (job.managed || job.layers > 1) fill();                 // each owner has overwritten its own
        x.wait();
        threads.barrier(k);
        double const begun = now_ms();
        for (std::uint64_t i = 0; i < in_a_row; ++i) add_up(trial ? job.layers : 1);
        x.wait();
        if (trial) {
          times[k].push_back((now_ms() - begun) / static_cast<double>(in_a_row));
          if (shapes.size() == 1 && threads.any(k, now_ms() - since > slow_enough_ms)) break;
          continue;
        }
        std::vector<float> here(numbers);
        x.copy(here.data(), rows[1].data(), numbers * sizeof(float));
        x.wait();
        shard_asked words = how;
        words.tuning = shape;
        s.check(here, first, count, job.width,
                how.wire == element::f32   ? 2e-5
                : how.wire == element::f16 ? 1e-3
                                           : 8e-3,
                words_of(words, job.managed));
        add_up(job.layers - 1);  // warm-up
        if (job.layers > 1 || job.managed) continue;
        x.wait();
        threads.barrier(k);
        double const once = now_ms();
        add_up(1);
        x.wait();
        if (!threads.any(k, now_ms() - once > short_ms)) in_a_row = 8;
      }
    }
    found.rows[k] = edges.rows_brought();
  });
  std::uint64_t const trials = shapes.size() == 1 ? times[0].size() : o.trials;
  for (std::size_t shape = 0; shape < shapes.size(); ++shape) found.ms.push_back(median_of_slowest(times, shape * trials, trials));
  found.prepare_ms = *std::max_element(prepared.begin(), prepared.end());
  return found;
}

// Rows that each shard reads of each other: [reader][owner].
using by_link = std::vector<std::vector<std::uint64_t>>;
by_link remote_edges_of(subject const& s, shard_report const& r) {
  auto const& l = s.lists().pulled();
  by_link all(r.parts.size(), std::vector<std::uint64_t>(r.parts.size()));
  for (std::size_t k = 0; k < r.parts.size(); ++k)
    for (std::uint64_t e = l.offsets[r.parts[k].first]; e < l.offsets[r.parts[k].first + r.parts[k].vertices]; ++e) {
      auto const above = std::upper_bound(r.parts.begin(), r.parts.end(), std::uint64_t{l.ends[e]},
                                          [](std::uint64_t v, shard_report::part const& p) { return v < p.first + p.vertices; });
      ++all[k][static_cast<std::size_t>(above - r.parts.begin())];
    }
  for (std::size_t k = 0; k < all.size(); ++k) all[k][k] = 0;
  return all;
}

// The bytes of a forward pass: those of its aggregations, plus what GEMMs before the first or after the last of them read and write.
// The aggregation's bytes already include those between it and a GEMM, and an activation needs none of its own.
double floor_of_forward(shard_sizes const& g, shard_asked const& how, bench_model const& m, std::vector<std::uint64_t> const& columns,
                        shard_rates const& rates) {
  double ms = 0;
  for (std::uint64_t const c : columns) ms += cost_of(g, {how.strategy, how.sums, how.tuning, c, 4, false, false}, rates).floor_ms;
  std::uint64_t vertices = 0;
  for (shard_sizes::part const& p : g.parts) vertices = g.one_place ? g.vertices : std::max(vertices, p.vertices);
  std::uint64_t const before = columns.front() < m.inputs ? m.inputs : 0;
  std::uint64_t const behind = m.kind == model_kind::gin || columns.back() != m.classes ? m.classes : 0;
  return ms + static_cast<double>(4 * vertices * (before + behind)) / rates.memory_gbs / 1e6;
}

// Why rows cannot be in managed memory here, which is limited to half of a device's free memory; empty: they can.
std::string why_no_managed(std::vector<execution_device> const& places, std::uint64_t bytes) {
  if (places[0].kind != device_kind::cuda)
    return fmt::format("managed memory is a device's, and these shards are at {}", to_string(places[0]));
  for (execution_device const p : places) {
    if (!device::describe(p.index).managed_memory) return fmt::format("device {} has no managed memory", p.index);
    if (bytes > device::memory(p.index).free_bytes / 2)
      return fmt::format("rows of {} are more than half of what device {} has free", format_bytes(bytes), p.index);
  }
  return "";
}

}  // namespace

shards_file measure_shards(shards_bench_options const& o, std::function<void(shards_file const&, shard_row const&)> const& told) {
  if (o.shrink < 1) fail(errc::usage, "--shrink 0: use 1 or more");
  if (o.width < 1 || o.width > 4096) fail(errc::usage, "--width {}: use 1 to 4096", o.width);
  if (o.trials < 1 || o.trials > 1000) fail(errc::usage, "--trials {}: use 1 to 1000", o.trials);
  auto const n = static_cast<std::uint32_t>(o.places.size());
  shard_asked first;
  first.shards = n, first.provider = o.provider;
  check_shard_options(first);
  for (std::string const& name : o.graphs)
    if (std::none_of(std::begin(mgg_graphs), std::end(mgg_graphs), [&](mgg_graph const& g) { return name == g.name; }))
      fail(errc::usage, "--kinds {}: of shards, use some of RDD,ENWIKI,PROD,PROT,ORKT; or none", name);
  check_figures(o.figures, {"ways", "search", "models", "ablation", "sweep"}, "ways,search,models,ablation,sweep", "of shards, ");
  shards_file f;
  static_cast<file_head&>(f) = head_of_run(o.command, o.places[0]);
  f.shards = n, f.shrink = o.shrink, f.width = o.width, f.seed = o.seed, f.trials = o.trials;

  f.rates = measured_rates(o.places);
  bool const several = std::any_of(o.places.begin(), o.places.end(), [&](execution_device p) { return p != o.places[0]; });
  auto const wants = [&](char const* figure) { return wanted(o.figures, figure); };
  bool swept = false;

  auto const measure = [&](std::string const& name, graph_handle const& g, std::uint64_t inputs, std::uint64_t classes) {
    double const begun = now_ms();
    shard_report const r = split_report(g, edge_direction::out, first);
    split_graph told_graph;
    told_graph.name = name, told_graph.vertices = g.info().vertices, told_graph.edges = g.info().edges;
    told_graph.split_ms = now_ms() - begun;
    told_graph.imbalance = r.imbalance(), told_graph.references = r.references(), told_graph.cut_edges = r.cut();
    told_graph.remote_rows = r.remote_rows();
    f.graphs.push_back(told_graph);
    subject const s(g, o.seed);
    by_link const crossing = remote_edges_of(s, r);
    bool const in_place =
        o.places[0].kind == device_kind::cuda && (o.provider == shard_provider::automatic || o.provider == shard_provider::peer);
    shard_sizes split(r, several && in_place), whole(g.info().vertices, {{g.info().vertices, g.info().edges, 0, 0}});
    split.one_place = !several;
    auto const sizes_of = [&](shard_asked const& how) -> shard_sizes const& { return how.shards == 1 ? whole : split; };
    auto const brought = [&](std::uint32_t reader, std::uint32_t owner) {  // by bulk
      bool const may_be_whole = in_place && o.places[reader].index != o.places[owner].index;
      return rows_that_come(r.parts[reader].rows[owner], r.parts[owner].vertices, may_be_whole);
    };
    auto const row_of = [&](char const* study, shard_asked const& how, bench_job const& job, taken const& t, std::size_t shape) {
      if (how.shards > 1) f.over = fmt::format("{}: {}", to_string(t.link.provider), t.link.about);
      shard_row row;
      row.graph = name, row.study = study, row.how = how, row.managed = job.managed, row.ms = t.ms[shape];
      if (!job.shapes.empty()) row.how.tuning = job.shapes[shape];
      row.width = job.width, row.layers = job.layers, row.prepare_ms = t.prepare_ms;
      std::uint64_t const row_bytes = job.width * (how.wire == element::f32 ? 4 : 2);
      for (std::uint64_t const rows : t.rows) row.bytes += rows * row_bytes, row.most_bytes = std::max(row.most_bytes, rows * row_bytes);
      if (how.shards > 1 && !job.managed) {
        row.links.assign(how.shards, std::vector<std::uint64_t>(how.shards));
        for (std::uint32_t k = 0; k < how.shards; ++k)
          for (std::uint32_t of = 0; of < how.shards; ++of)
            if (k != of)
              row.links[k][of] = row_bytes * (how.strategy == shard_strategy::bulk         ? brought(k, of)
                                              : how.strategy == shard_strategy::collective ? r.parts[of].vertices
                                                                                           : crossing[k][of]);
      }
      shard_setting const setting{how.strategy, how.sums, how.tuning, job.width, how.wire == element::f32 ? 4u : 2u, false, false};
      shard_cost const cost = cost_of(sizes_of(how), setting, f.rates);
      row.memory_bytes = cost.memory_bytes;
      if (!job.managed) row.floor_ms = cost.floor_ms * static_cast<double>(job.layers);
      return row;
    };
    auto const tell = [&](shard_row row, std::optional<double>& one) {
      if (!one) one = row.ms;
      row.against_one = row.ms / *one;
      f.rows.push_back(std::move(row));
      if (told) told(f, f.rows.back());
    };
    std::optional<double> one;
    auto const take = [&](shard_asked const& how, mgg_search const& search = {}, bool managed = false) {
      check_interrupted();
      bench_job const job{o.width, 1, managed, {}};
      taken const t = run(s, o, how, job);
      shard_row row = row_of("ways", how, job, t, 0);
      for (mgg_step const& step : search.steps) row.steps.push_back({step.shape, step.ms});
      tell(std::move(row), one);
    };
    shard_asked const alone;
    shard_asked mgg = first;
    mgg.strategy = shard_strategy::mgg, mgg.sums = shard_reduction::fast;
    auto const managed = [&](std::uint64_t width) {  // two arrays
      std::string const why = o.provider == shard_provider::automatic || o.provider == shard_provider::peer
                                  ? why_no_managed(o.places, 8 * width * g.info().vertices)
                                  : fmt::format("rows come over {}, which copies them", to_string(o.provider));
      if (!why.empty()) f.no_uvm = why;
      return why.empty();
    };
    if (wants("ways")) {
      take(alone);
      if (n == 1) return;
      shard_asked how = first;
      take(how);
      how.sums = shard_reduction::fast;
      take(how);
      for (element const wire : {element::bf16, element::f16}) how.wire = wire, take(how);
      how = first, how.strategy = shard_strategy::collective;
      take(how);
      take(mgg);
      if (managed(o.width)) take(mgg, {}, true);
    }
    if (n == 1) return;
    if (wants("search")) {
      if (!one) take(alone);
      mgg_search const found = search_mgg(o.width, a100_shared_bytes, [&](mgg_tuning const& shape) {
        check_interrupted();
        shard_asked at = mgg;
        at.tuning = shape;
        return run(s, o, at, {o.width, 1, false, {}}).ms[0];
      });
      shard_asked how = mgg;
      how.tuning = found.best.shape;
      take(how, found);
    }
    if (wants("models")) {
      std::vector<float> const features = s.rows(0, g.info().vertices, inputs);
      for (bench_model const& m :
           {bench_model{model_kind::gcn, inputs, 16, classes, 2}, bench_model{model_kind::gin, inputs, 64, classes, 5}}) {
        std::optional<double> of_one, forward_of_one;
        auto const take_model = [&](shard_asked const& how, bool in_managed) {
          check_interrupted();
          bench_job const job{m.hidden, m.layers, in_managed, {}};
          shard_row row = row_of(m.kind == model_kind::gcn ? "gcn" : "gin", how, job, run(s, o, how, job), 0);
          forward_taken const t = measure_forward(s.lists(), how, {m, o.places, features, o.seed, o.trials, in_managed},
                                                  fmt::format("{}, {}", row.study, words_of(how, in_managed)));
          if (!forward_of_one) forward_of_one = t.ms;
          row.forward = {inputs, classes, t.ms, t.ms / *forward_of_one, {}, t.columns};
          if (!in_managed) row.forward->floor_ms = floor_of_forward(sizes_of(how), how, m, t.columns, f.rates);
          tell(std::move(row), of_one);
        };
        for (shard_asked const& how : {alone, first, mgg}) take_model(how, false);
        if (managed(std::max(m.inputs, m.hidden))) take_model(mgg, true);
      }
    }
    if (wants("ablation")) {  // two warps per block, as in the paper; the first is the unmodified kernel
      std::optional<double> whole_way;
      shard_asked how = mgg;
      how.tuning = {16, 1, 2};
      bench_job const job{o.width, 1, false, {}};
      auto const with = [&](bool whole_lists, bool apart, bool plain_reads = false) {
        check_interrupted();
        how.tuning.whole_lists = whole_lists, how.tuning.apart = apart, how.tuning.plain_reads = plain_reads;
        tell(row_of("ablation", how, job, run(s, o, how, job), 0), whole_way);
      };
      with(false, false), with(true, false), with(false, true), with(false, false, true);
    }
    if (!wants("sweep") || std::exchange(swept, true)) return;
    std::optional<double> first_shape;
    auto const sweep = [&](std::vector<mgg_tuning> const& shapes) {
      check_interrupted();
      shard_asked how = mgg;
      how.tuning = shapes[0];
      bench_job const job{o.width, 1, false, shapes};
      taken const t = run(s, o, how, job);
      for (std::size_t k = 0; k < shapes.size(); ++k) tell(row_of("sweep", how, job, t, k), first_shape);
    };
    for (std::uint32_t ps = 1; ps <= mgg_limits::ps; ps *= 2) {
      std::vector<mgg_tuning> shapes;
      for (std::uint32_t dist = 1; dist <= mgg_limits::dist; dist *= 2) shapes.push_back({ps, dist, 1});
      sweep(shapes);
    }
    auto const best = std::min_element(f.rows.end() - 30, f.rows.end(), [](shard_row const& a, shard_row const& b) { return a.ms < b.ms; });
    std::vector<mgg_tuning> shapes;
    for (std::uint32_t wpb = 2; wpb <= mgg_limits::wpb; wpb *= 2)
      for (std::uint32_t dist = 1; dist <= mgg_limits::dist; dist *= 2) shapes.push_back({best->how.tuning.ps, dist, wpb});
    sweep(shapes);
  };
  for (mgg_graph const& g : mgg_graphs)
    if (o.graphs.empty() ? o.files.empty() : std::find(o.graphs.begin(), o.graphs.end(), g.name) != o.graphs.end())
      measure(g.name, make_mgg_graph(g, o.shrink, o.seed), g.inputs, g.classes);
  open_options lists;
  lists.weights = false;
  for (auto const& file : o.files) measure(file.filename().string(), open_graph(file, lists), usual_inputs, usual_classes);
  return f;
}

}  // namespace garner::lab
