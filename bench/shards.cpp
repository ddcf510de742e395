#include "bench/shards.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>

#include "bench/now.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "gnn/sharded.hpp"
#include "shard/mgg_model.hpp"

namespace garner::bench {

graph_handle make_mgg_graph(mgg_graph const& of, std::uint64_t shrink, std::uint64_t seed) {
  std::uint64_t const n = std::max<std::uint64_t>(of.vertices / shrink, 16), m = std::max<std::uint64_t>(of.edges / shrink, 16);
  // Lengths: lognormal with sigma 1.3, as the ends' own popularity; both ends of an edge are drawn by it.
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
  for (std::uint64_t i = 0; i < m; ++i) edges[i] = {draw(3, i), random_bits(seed, 4, i) % n};
  build_options o;
  o.in_lists = true, o.keep_duplicates = o.keep_loops = true;  // as many edges as were asked for
  return build_graph({.edges = edges, .vertices = n}, o);
}

namespace {

// Rows of a vertex, and what must come of them.
float number_of(std::uint64_t seed, std::uint64_t v, std::uint64_t c) {
  return static_cast<float>(unit_float(random_bits(seed, 7 + c, v))) - 0.5f;
}

class subject {
 public:
  subject(graph_handle const& g, std::uint64_t width, std::uint64_t seed)
      : lists_(g, list_side::out, false, false), width_(width), seed_(seed) {
    constexpr std::uint64_t most = 20'000'000;  // numbers added up in f64
    std::uint64_t const n = lists_.vertices(), edges = lists_.pulled().offsets[n];
    std::uint64_t const each = std::max<std::uint64_t>(1, edges * width / most);
    for (std::uint64_t v = 0; v < n; ++v)
      if (random_bits(seed, 5, v) % each == 0) looked_at_.push_back(v);
  }
  whole_graph const& lists() const { return lists_; }
  std::vector<float> rows(std::uint64_t first, std::uint64_t count) const {
    std::vector<float> all(count * width_);
    shared_pool().run(count, 4096, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i)
        for (std::uint64_t c = 0; c < width_; ++c) all[i * width_ + c] = number_of(seed_, first + i, c);
    });
    return all;
  }
  // errc::internal names the first number that is not what sums in f64 give.
  void check(std::vector<float> const& found, std::uint64_t first, std::uint64_t count, double tolerance, std::string const& how) const {
    auto const& l = lists_.pulled();
    for (std::uint64_t const v : looked_at_) {
      if (v < first || v >= first + count) continue;
      for (std::uint64_t c = 0; c < width_; ++c) {
        double sum = 0, sizes = 0;
        for (std::uint64_t k = l.offsets[v]; k < l.offsets[v + 1]; ++k) {
          double const is = static_cast<double>(number_of(seed_, l.ends[k], c));
          sum += is, sizes += std::abs(is);
        }
        double const is = static_cast<double>(found[(v - first) * width_ + c]);
        if (!(std::abs(is - sum) <= tolerance * (sizes + 1)))
          fail(errc::internal, "{}: column {} of vertex {} is {}, and sums in f64 give {}", how, c, v, is, sum);
      }
    }
  }

 private:
  whole_graph lists_;
  std::uint64_t width_, seed_;
  std::vector<std::uint64_t> looked_at_;
};

std::string words_of(shard_options const& o) {
  return fmt::format("{} shards, {} {} {} {}-{}-{}", o.shards, to_string(o.way), to_string(o.sums), to_string(o.wire), o.mgg.ps, o.mgg.dist,
                     o.mgg.wpb);
}

struct taken {
  double ms = 0;
  std::vector<std::uint64_t> rows;  // brought, a shard
};
taken run(subject const& s, shards_bench_options const& o, shard_options const& how) {
  shard_parts const parts(s.lists().pulled().offsets, s.lists().vertices(), how, "a graph of the run");
  shard_group group(how, 3600);
  rank_group& threads = *group.threads();
  std::vector<std::vector<double>> times(how.shards);
  taken found;
  found.rows.resize(how.shards);
  std::vector<std::exception_ptr> threw(how.shards);
  {
    std::vector<std::jthread> all;
    for (std::uint32_t k = 0; k < how.shards; ++k)
      all.emplace_back([&, k] {
        try {
          interrupts_held const together;
          executor x(o.places[k]);
          threads.take(k, x, 1);
          group.take(k, x);
          sharded_edges edges(group, k, x, s.lists(), parts, aggregation::sum);
          std::uint64_t const first = parts.first(k), count = parts.count(k), numbers = count * o.width;
          buffer<float> const in = bring(x, s.rows(first, count), "rows of a shard");
          buffer<float> const out(x.near(), numbers, x.device(), "sums of a shard");
          for (std::uint64_t trial = 0; trial <= o.trials; ++trial) {  // the first is compared, and not timed
            x.wait();
            threads.meet(k);
            double const begun = now_ms();
            edges.forward(x, {in.data(), o.width}, {out.data(), o.width}, o.width, {});
            x.wait();
            if (trial) times[k].push_back(now_ms() - begun);
            if (trial) continue;
            std::vector<float> here(numbers);
            x.copy(here.data(), out.data(), numbers * sizeof(float));
            x.wait();
            s.check(here, first, count, how.wire == element::f32 ? 2e-5 : how.wire == element::f16 ? 1e-3 : 8e-3, words_of(how));
          }
          found.rows[k] = edges.rows_brought();
        } catch (std::exception const& e) {
          threw[k] = std::current_exception();
          threads.leave(k, e.what());
        }
      });
  }
  // The one that began it: the others say that it has stopped.
  for (bool const own : {true, false})
    for (std::exception_ptr const& e : threw) try {
        if (e) std::rethrow_exception(e);
      } catch (error const& what) {
        if (!own || std::string_view(what.what()).find("has stopped") == std::string_view::npos) throw;
      }
  std::vector<double> longest;
  for (std::uint64_t t = 0; t < o.trials; ++t) {
    double most = 0;
    for (auto const& of : times) most = std::max(most, of[t]);
    longest.push_back(most);
  }
  found.ms = median(longest);
  return found;
}

}  // namespace

shards_file measure_shards(shards_bench_options const& o, std::function<void(shards_file const&, shard_row const&)> const& told) {
  if (o.shrink < 1) fail(errc::usage, "--shrink 0: say 1 or more");
  if (o.width < 1 || o.width > 4096) fail(errc::usage, "--width {}: say 1 to 4096", o.width);
  if (o.trials < 1 || o.trials > 1000) fail(errc::usage, "--trials {}: say 1 to 1000", o.trials);
  auto const n = static_cast<std::uint32_t>(o.places.size());
  shard_options first;
  first.shards = n;
  check_shard_options(first);
  for (std::string const& name : o.graphs)
    if (std::none_of(std::begin(mgg_graphs), std::end(mgg_graphs), [&](mgg_graph const& g) { return name == g.name; }))
      fail(errc::usage, "--kinds {}: of shards, say some of RDD,ENWIKI,PROD,PROT,ORKT; or none", name);
  shards_file f;
  static_cast<file_head&>(f) = head_of_run(o.command, o.places[0]);
  f.shards = n, f.shrink = o.shrink, f.width = o.width, f.seed = o.seed, f.trials = o.trials;

  auto const measure = [&](std::string const& name, graph_handle const& g) {
    double const begun = now_ms();
    shard_report const r = split_report(g, list_side::out, first);
    split_graph told_graph;
    told_graph.name = name, told_graph.vertices = g.info().vertices, told_graph.edges = g.info().edges;
    told_graph.split_ms = now_ms() - begun;
    told_graph.imbalance = r.imbalance(), told_graph.references = r.references(), told_graph.cut_edges = r.cut();
    told_graph.remote_rows = r.remote_rows();
    f.graphs.push_back(told_graph);
    subject const s(g, o.width, o.seed);
    std::optional<double> one;
    auto const take = [&](shard_options const& how, mgg_search const& search = {}) {
      check_interrupted();
      taken const t = run(s, o, how);
      shard_row row{name, how, t.ms, {}, 0, 0, {}};
      for (mgg_step const& step : search.steps) row.steps.push_back({step.shape, step.ms});
      std::uint64_t const row_bytes = o.width * (how.wire == element::f32 ? 4 : 2);
      for (std::uint64_t const rows : t.rows) row.bytes += rows * row_bytes, row.most_bytes = std::max(row.most_bytes, rows * row_bytes);
      if (!one) one = t.ms;
      row.against_one = t.ms / *one;
      f.rows.push_back(row);
      if (told) told(f, row);
    };
    shard_options alone;
    take(alone);
    if (n == 1) return;
    shard_options how = first;
    take(how);
    how.sums = shard_sums::quick;
    take(how);
    for (element const wire : {element::bf16, element::f16}) how.wire = wire, take(how);
    how = first, how.way = shard_way::collective;
    take(how);
    how.way = shard_way::mgg, how.sums = shard_sums::quick;
    take(how);
    if (!o.search) return;
    mgg_search const found = search_mgg(o.width, {}, [&](mgg_shape const& shape) {
      check_interrupted();
      shard_options at = how;
      at.mgg = shape;
      return run(s, o, at).ms;
    });
    how.mgg = found.best.shape;
    take(how, found);
  };
  for (mgg_graph const& g : mgg_graphs)
    if (o.graphs.empty() ? o.files.empty() : std::find(o.graphs.begin(), o.graphs.end(), g.name) != o.graphs.end())
      measure(g.name, make_mgg_graph(g, o.shrink, o.seed));
  open_options lists;
  lists.weights = false;
  for (auto const& file : o.files) measure(file.filename().string(), open_graph(file, lists));
  return f;
}

}  // namespace garner::bench
