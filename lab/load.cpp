#include "lab/load.hpp"

#include <algorithm>
#include <optional>

#include "cli/command/batch_check.hpp"
#include "cli/command/dry_training.hpp"
#include "cli/command/made_rows.hpp"
#include "core/fail.hpp"
#include "core/random.hpp"
#include "garner/features.hpp"
#include "lab/field.hpp"
#include "memory/link.hpp"

namespace garner::lab {

namespace {

constexpr std::uint64_t checked = 3;  // mini-batches per setting
constexpr double tenth = 0.1;

struct setting {
  std::string figure;
  load_strategy strategy = load_strategy::automatic;
  double kept = 0;
  bool peers = false, keeps_moments = false;
  std::uint32_t window = 8, multiprocessors = 16;
  tier lists = tier::host;
};

// A graph with its table, shared by all settings.
class ground {
 public:
  ground(load_bench_options const& o, std::string name, graph_handle g)
      : o_(o), name_(std::move(name)), g_(std::move(g)), train_(o.training(g_)) {
    std::uint64_t const n = g_.info().vertices;
    table_ = cli::make_rows(n, o.row_bytes, o.where.kind == device_kind::cuda ? o.where.index : -1);
    scores_ = scores_of(g_, train_, o.where, o, o.score, o.rule);
  }
  bench_graph told() const { return {name_, g_.info().vertices, g_.info().edges, train_.size()}; }
  load_row measure(setting const& s) {
    load_row row;
    row.graph = name_, row.figure = s.figure;
    bool const on_device = o_.where.kind == device_kind::cuda;
    row.lists = to_string(on_device ? s.lists : tier::host), row.strategy = to_string(s.strategy);
    row.kept = s.kept, row.devices = s.peers ? o_.peers.size() : 1;
    row.window = s.window, row.multiprocessors = s.multiprocessors;
    unless_too_large(row, [&] {
      if (on_device) g_ = to_device(std::move(g_), o_.where, s.lists);  // data already there stays
      run(s, row);
    });
    return row;
  }

 private:
  void run(setting const& s, load_row& row) {
    tiered_options t = keeping(o_.where, s.kept, g_.info().vertices, o_.row_bytes, s.peers ? o_.peers : std::vector<int>());
    if (s.kept > 0 && s.kept < 1) t.scores = scores_;
    tiered_tensor table({table_.data(), g_.info().vertices, o_.row_bytes, element::u8, {}}, t);
    block_options how;
    how.seed = o_.seed, how.rule = o_.rule;
    block_sampler sampler(o_.where, g_, o_.fanouts, how);
    loader_options l;
    l.batch_size = o_.batch, l.seed = o_.seed, l.strategy = s.strategy, l.window = s.window, l.multiprocessors = s.multiprocessors;
    check(sampler, table, l, how);
    cli::dry_options d;
    d.epochs = std::uint64_t{1} << 40;
    d.stretch = std::max<std::uint64_t>(8, s.window);
    d.batches = std::max(o_.batches, 4 * d.stretch);
    d.compute_ms = o_.compute_ms;
    l.keep_times = s.keeps_moments ? *d.batches : 0;
    loader load(sampler, {{&table, 0, false, {}}}, train_, l);
    cli::dry_result const r = cli::train_dry(load, o_.where, d);
    if (o_.where.kind != device_kind::simulated) {
      row.ms = r.mean_ms, row.ms_median = r.median_ms;
      row.sample_ms = r.all.sample_ms, row.fetch_ms = r.all.fetch_ms, row.gather_ms = r.all.gather_ms;
      row.caller_waited_ms = r.all.caller_waited_ms, row.loader_waited_ms = r.all.loader_waited_ms;
    }
    row.batches = r.timed;
    row.vertices = r.all.vertices, row.edges = r.all.edges;
    row.near_rows = r.all.near_rows, row.peer_rows = r.all.peer_rows, row.far_rows = r.all.far_rows;
    row.window_rows = r.all.window_rows, row.fetched_rows = r.all.fetched_rows, row.remote_bytes = r.all.remote_bytes;
    if (o_.where.kind != device_kind::simulated) row.moments = moments_of(r.times, r.batches - r.timed, 2 * s.window);
  }
  // The timeline of `count` mini-batches after the first `warm`.
  static std::vector<load_moments> moments_of(std::vector<batch_times> const& times, std::uint64_t warm, std::uint64_t count) {
    std::vector<load_moments> all;
    if (times.size() <= warm) return all;
    double const from = times[warm].gather.begin, to = times[std::min<std::uint64_t>(times.size(), warm + count) - 1].gather.end;
    for (std::size_t i = 0; i < times.size(); ++i) {
      batch_times const& t = times[i];
      auto const span = [&](batch_times::stage const& s) {
        double const begin = std::max(s.begin, from), end = std::min(s.end, to);
        return begin < end ? load_span{begin - from, end - from} : load_span{};
      };
      load_moments const m{i, span(t.sample), span(t.fetch), span(t.gather), t.handed > from && t.handed < to ? t.handed - from : 0};
      if (m.sample.second > 0 || m.fetch.second > 0 || m.gather.second > 0) all.push_back(m);
    }
    return all;
  }
  void check(block_sampler& sampler, tiered_tensor& table, loader_options const& how, block_options const& drawn) {
    cli::batch_check against(g_, edge_direction::in, o_.fanouts, drawn);
    loader l(sampler, {{&table, 0, false, {}}}, train_, how);
    executor x(o_.where);
    cli::batch_check::rows_source const source{nullptr, o_.row_bytes};
    std::vector<std::uint64_t> digests;
    while (digests.size() < checked) {
      std::optional<mini_batch> const b = l.next(stream_ref::of_address(x.stream()));
      if (!b) break;
      against.batch(x, *b, train_, {&source, 1});
      sampled_subgraph::vertices const& v = b->subgraph().of_type(0);
      std::vector<std::int64_t> ids(v.count);
      x.copy(ids.data(), v.ids, v.count * 8);
      x.wait();
      std::uint64_t digest = v.count;
      for (std::int64_t const id : ids) digest = mix(digest + static_cast<std::uint64_t>(id)) + 0x9e3779b97f4a7c15ull;
      digests.push_back(digest);
    }
    if (digests_.empty()) digests_ = digests;
    if (digests != digests_)
      fail(errc::internal, "{}: way {} handed over other mini-batches than the first that was measured", name_, to_string(how.strategy));
  }

  load_bench_options const& o_;
  std::string name_;
  graph_handle g_;
  std::vector<std::int64_t> train_;
  memory_block table_;
  std::vector<float> scores_;
  std::vector<std::uint64_t> digests_;
};

}  // namespace

load_file measure_loads(load_bench_options const& o, std::function<void(load_file const&, load_row const&)> const& told) {
  check_figures(o.figures, load_figures, "ways, window, share, kept");
  bool const on_device = o.where.kind == device_kind::cuda, host = o.where.kind == device_kind::cpu;
  load_file file;
  static_cast<file_head&>(file) = head_of_run(o.command, o.where);
  if (on_device) file.link_gbs = link_of(o.where.index).zero_copy_gbs;
  file.fanouts.assign(o.fanouts.begin(), o.fanouts.end());
  file.rule = to_string(o.rule);
  file.share = o.share;
  file.score = to_string(o.score);
  file.batch = o.batch, file.row_bytes = o.row_bytes, file.seed = o.seed, file.compute_ms = o.compute_ms;
  auto const wanted = [&](char const* figure) { return lab::wanted(o.figures, figure); };
  auto const measure = [&](std::string name, graph_handle g) {
    ground at(o, std::move(name), std::move(g));
    file.graphs.push_back(at.told());
    auto const add = [&](setting const& s) {
      file.rows.push_back(at.measure(s));
      if (told) told(file, file.rows.back());
    };
    static constexpr load_strategy strategies[] = {load_strategy::window, load_strategy::tiered, load_strategy::zero_copy,
                                                   load_strategy::staged};
    // On the CPU all rows are local.
    if (wanted("ways") && (on_device || host)) add({"ways", load_strategy::tiered, 1, false, true, 8, 16, tier::device});
    if (host) return;
    if (wanted("ways"))
      for (double const kept : {0.0, tenth})
        for (load_strategy const strategy : strategies) add({"ways", strategy, kept, false, strategy == load_strategy::window});
    if (wanted("window"))
      for (std::uint32_t const window : {1u, 2u, 4u, 8u, 16u, 32u}) add({"window", load_strategy::window, 0, false, false, window});
    if (wanted("share") && on_device)
      for (std::uint32_t const sms : {1u, 2u, 4u, 8u, 12u, 16u, 24u, 32u, 64u, 0u})
        add({"share", load_strategy::window, 0, false, false, 8, sms});
    if (wanted("kept"))
      for (bool const peers : {false, true}) {
        if (peers && o.peers.empty()) continue;
        for (double const kept : {0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.5}) add({"kept", load_strategy::window, kept, peers});
      }
  };
  each_graph(o, o.seed, {{}, tier::host, {}, true}, measure);  // far, with in-edges
  return file;
}

}  // namespace garner::lab
