// garner sample: mini-batches drawn as a training would draw them, and how long that takes.
#include <memory>
#include <nlohmann/json.hpp>

#include "command/common.hpp"
#include "command/loading.hpp"
#include "garner/progress.hpp"
#include "plan_load.hpp"
#include "sample/order.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

struct epoch_drawn {
  std::uint64_t batches = 0, vertices = 0, edges = 0;
  std::vector<std::uint64_t> by_hop;  // edges
  std::vector<double> ms;
  traffic link;
};

void sample_file(cli::loading_arguments& a) {
  a.check();
  execution_device const where = a.where();
  a.budgets.apply(where);
  cli::warn_without_gpu(where, {{"--graph-cache", a.keep_lists}});
  graph_source from(a.file);
  std::optional<tier> edges;
  if (a.lists() == edge_direction::in) from.want_in_lists();
  cli::load_arguments one;  // as a loader without rows, of one mini-batch at a time
  static_cast<cli::loading_arguments&>(one) = a;
  one.window = 1, one.ahead = 1, one.strategy = "tiered";
  std::uint64_t const needs =
      cli::near_bytes(cli::question_of(one, from, {}, where.kind == device_kind::cuda ? cli::device_limit(where) : 0));
  graph_handle const g = a.load_lists(from, edges, needs + (where.kind == device_kind::cuda ? (from.info().vertices + 1) * 8 : 0), 0);
  cli::training_vertices const train = cli::training_of(g, a);
  std::uint64_t const seeds = train.positions.size(), batches = (seeds + a.batch - 1) / a.batch;
  block_options const options = a.blocks();
  block_options drawing = options;
  std::vector<float> scored;
  if (std::uint64_t const kept = a.kept_list_bytes(cli::drawn_list_bytes(from, a))) {
    scored = a.scores_of(g, train, edges);
    drawing.graph_cache = kept, drawing.scores = scored;
  }
  block_sampler sampler(where, g, a.fanouts(), drawing, a.lists());
  executor x(where);
  std::optional<cli::batch_check> check;
  if (a.verify) check.emplace(g, a.lists(), a.fanouts(), options);
  buffer<std::int64_t> near(x.near(), seeds, x.device(), "seeds");
  x.copy(near.data(), train.positions.data(), near.bytes());
  x.wait();

  bool const simulated = where.kind == device_kind::simulated;
  if (!a.json) {
    cli::say_sampling(from, a, *edges, train, batches);
    if (drawing.graph_cache) cli::say("graph cache {}\n", sampler.about());
    cli::say("{:>6} {:>12} {:>14} {:>14} {:>10} {:>10}{}\n", "epoch", "mini-batches", "nodes each", "edges each", "ms mean", "ms median",
             simulated ? "    link bytes each" : "");
    cli::flush_out();
  }
  json rows = json::array();
  std::uint64_t all = 0;
  std::vector<double> timed;
  sampled_subgraph b;
  for (std::uint64_t epoch = 0; epoch < a.epochs && (!a.batches || all < *a.batches); ++epoch) {
    epoch_order const order = order_of_epoch(x, near.span(), true, a.seed, epoch, 0, 1);
    std::vector<std::int64_t> ids(seeds);
    x.copy(ids.data(), order.ids.data(), order.ids.bytes());
    x.wait();
    epoch_drawn e;
    e.by_hop.assign(a.fanouts().size(), 0);
    progress bar("sampling", batches);
    for (std::uint64_t k = 0; k < batches && (!a.batches || all < *a.batches); ++k, ++all) {
      std::span<std::int64_t const> const mine =
          std::span<std::int64_t const>(ids).subspan(k * a.batch, std::min(a.batch, seeds - k * a.batch));
      sampler.start(b, epoch * batches + k, {order.ids.data() + k * a.batch, mine.size()});
      sampler.finish(b);
      if (check) check->blocks_of(x, b, mine);
      ++e.batches, e.vertices += b.of_type(0).count, e.edges += b.of_relation(0).count;
      for (std::size_t h = 0; h < e.by_hop.size(); ++h) e.by_hop[h] += b.of_relation(0).by_hop[h];
      e.ms.push_back(b.ms());
      bar.advance(1);
    }
    e.link = sampler.take_traffic();
    // The first is sampled twice where it needs more room than was guessed.
    std::vector<double> const after(e.ms.begin() + (epoch == 0 && e.ms.size() > 1 ? 1 : 0), e.ms.end());
    timed.insert(timed.end(), after.begin(), after.end());
    double mean = 0;
    for (double const ms : after) mean += ms / static_cast<double>(after.size());
    auto const each = [&](std::uint64_t n) { return e.batches ? n / e.batches : 0; };
    json by_hop = json::array();
    for (std::uint64_t const n : e.by_hop) by_hop.push_back(each(n));
    rows.push_back({{"epoch", epoch},
                    {"batches", e.batches},
                    {"nodes", e.vertices},
                    {"edges", e.edges},
                    {"edges_per_batch_by_hop", by_hop},
                    {"ms_mean", simulated ? json(nullptr) : json(mean)},
                    {"ms_median", simulated ? json(nullptr) : json(cli::median(after))},
                    {"bytes_link", simulated ? json(e.link.bytes_link()) : json(nullptr)}});
    if (a.json) continue;
    cli::say("{:>6} {:>12} {:>14} {:>14} {:>10} {:>10}", epoch, grouped(e.batches), grouped(each(e.vertices)), grouped(each(e.edges)),
             simulated ? "-" : fmt::format("{:.3f}", mean), simulated ? "-" : fmt::format("{:.3f}", cli::median(after)));
    if (simulated) cli::say(" {:>18}", grouped(each(e.link.bytes_link())));
    cli::say("\n");
    cli::flush_out();
  }
  double mean = 0;
  for (double const ms : timed) mean += ms / static_cast<double>(timed.size());
  if (a.json) {
    json out = cli::sampling_json(from, a, *edges, train, batches);
    out["adjacency"] = sampler.about();
    out["score"] = scored.empty() ? json(nullptr) : json(a.score);
    out["batches"] = all;
    out["verified"] = a.verify ? json(all) : json(nullptr);
    out["sampler_bytes"] = sampler.bytes();
    out["ms_mean"] = simulated ? json(nullptr) : json(mean);
    out["ms_median"] = simulated ? json(nullptr) : json(cli::median(timed));
    out["epochs"] = std::move(rows);
    cli::say("{}\n", out.dump(2));
    return;
  }
  if (!simulated)
    cli::say("ms per mini-batch: mean {:.3f}, median {:.3f} of {}{}; the sampler takes {}\n", mean, cli::median(timed),
             grouped(timed.size()), timed.size() < all ? ", without the first" : "", cli::format_bytes(sampler.bytes()));
  if (a.verify) cli::say("verified {} mini-batches: nodes, edges and counts\n", grouped(all));
}

}  // namespace

void add_sample(cli::program& p) {
  auto const a = std::make_shared<cli::loading_arguments>();
  cli::verb& v = p.add("sample", "neighbor sampling: mini-batches of a training, without features, timed");
  a->add_sampling(v);
  a->add_run(v);
  a->add_place(v);
  a->add_rest(v);
  v.ends_with("Example: garner sample kron:16 --fanout 15,10,5 --batch 1024 --share 10% --verify");
  v.runs([a] { sample_file(*a); });
}

}  // namespace garner
