// The load benchmark: the checker of mini-batches finds errors, the file survives a round trip, the page has every figure.
#include "lab/load.hpp"

#include "cli/command/batch_check.hpp"
#include "cli/command/dry_training.hpp"
#include "cli/command/made_rows.hpp"
#include "lab/page.hpp"
#include "lab/sample.hpp"
#include "refused.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

using namespace cli;
using namespace lab;

load_bench_options small_options(execution_device where) {
  load_bench_options o;
  o.where = where;
  o.scale = 9;
  o.fanouts = {4, 3};
  o.batch = 20, o.row_bytes = 12, o.batches = 32;
  o.share = "100%";
  o.training = all_nodes;
  o.command = "garner-lab load";
  return o;
}

TEST(made_rows, any_byte_that_is_wrong_is_found) {
  for (std::uint64_t const row_bytes : {1, 7, 8, 12, 33}) {
    memory_block const table = make_rows(50, row_bytes, -1);
    auto* const bytes = static_cast<unsigned char*>(table.data());
    for (std::uint64_t id = 0; id < 50; ++id)
      for (std::uint64_t b = 0; b < row_bytes; ++b) {
        EXPECT_FALSE(wrong_byte(id, bytes + id * row_bytes, row_bytes));
        bytes[id * row_bytes + b] ^= 1;
        EXPECT_EQ(wrong_byte(id, bytes + id * row_bytes, row_bytes), b) << row_bytes << " " << id;
        bytes[id * row_bytes + b] ^= 1;
      }
  }
  EXPECT_TRUE(refused(errc::memory, "half of the", [] { make_rows(1u << 20, std::uint64_t{1} << 50, -1); }));
}

// On the CPU the test can corrupt a mini-batch's arrays.
TEST(batch_check, finds_what_is_wrong) {
  generate_options how;
  how.scale = 9;
  graph_handle const g = generate_graph(how);
  std::uint64_t const n = g.info().vertices;
  memory_block const rows = make_rows(n, 12, -1);
  tiered_tensor table({rows.data(), n, 12, element::u8, {}}, {});
  block_options o;
  o.edge_ids = true;
  std::vector<std::int64_t> const fanouts{4, 3};
  std::vector<std::int64_t> const train = all_nodes(g);
  block_sampler sampler({}, g, fanouts, o);
  loader_options l;
  l.batch_size = 30;
  loader load(sampler, {{&table, 0, false, {}}}, train, l);
  std::optional<mini_batch> const b = load.next();
  ASSERT_TRUE(b);
  executor x({});
  batch_check check(g, edge_direction::in, fanouts, o);
  batch_check::rows_source const source{nullptr, 12};
  auto const look = [&] { check.batch(x, *b, train, {&source, 1}); };
  look();
  auto const finds = [&](auto& at, auto value, std::string const& what) {
    auto const was = at;
    at = value;
    std::string const message = error_of(look);
    EXPECT_NE(message.find(what), std::string::npos) << message;
    at = was;
    look();
  };
  sampled_subgraph::vertices& v = const_cast<sampled_subgraph::vertices&>(b->subgraph().of_type(0));
  sampled_subgraph::edges& e = const_cast<sampled_subgraph::edges&>(b->subgraph().of_relation(0));
  auto* const ids = const_cast<std::int64_t*>(v.ids);
  auto* const row = const_cast<std::int64_t*>(e.row);
  auto* const col = const_cast<std::int64_t*>(e.col);
  auto* const at = const_cast<std::int64_t*>(e.edge);
  finds(ids[0], ids[1], "do not begin with its seeds");
  finds(ids[v.count - 1], ids[v.count - 2], "twice");
  finds(ids[v.count - 1], static_cast<std::int64_t>(n), "does not exist");
  finds(v.by_hop[1], v.by_hop[1] + 1, "the vertices of its hops");
  finds(e.by_hop[1], e.by_hop[1] + 1, "the edges of its hops");
  finds(row[0], row[e.count - 1], "is not in the graph");
  finds(row[0], static_cast<std::int64_t>(v.count), "comes from local number");
  finds(at[0], at[e.count - 1], "is not in the graph");
  finds(col[0], std::int64_t{29}, "sampled");
  finds(col[e.count - 1], std::int64_t{0}, "sampled");
  finds(const_cast<std::int64_t*>(b->positions())[0], std::int64_t{-1}, "seed -1");
  auto* const bytes = static_cast<unsigned char*>(b->of_table(0).data);
  finds(bytes[12 * (v.count - 1) + 5], static_cast<unsigned char>(bytes[12 * (v.count - 1) + 5] + 1), "is not that of vertex");
}

TEST(dry_training, counts_each_mini_batch_once) {
  generate_options how;
  how.scale = 9;
  graph_handle const g = generate_graph(how);
  std::uint64_t const n = g.info().vertices;
  memory_block const rows = make_rows(n, 12, -1);
  std::vector<std::int64_t> const train = all_nodes(g);
  for (execution_device const where : {execution_device{}, execution_device{device_kind::simulated, 0}}) {
    tiered_options kept;
    kept.device = where;
    if (where.kind != device_kind::cpu) kept.feature_cache = 51 * 12;
    tiered_tensor table({rows.data(), n, 12, element::u8, {}}, kept);
    block_sampler sampler(where, g, {4, 3}, {});
    loader_options l;
    l.batch_size = 20;
    l.keep_times = 100;
    loader load(sampler, {{&table, 0, false, {}}}, train, l);
    ASSERT_EQ(load.batches(), 26u);
    dry_options o;
    o.epochs = 3;
    o.compute_ms = 1;
    std::uint64_t seen = 0, vertices = 0;
    o.each = [&](mini_batch const& b, executor&) { ++seen, vertices += b.subgraph().of_type(0).count; };
    dry_result const r = train_dry(load, where, o);
    EXPECT_EQ(r.batches, 78u);
    EXPECT_EQ(seen, 78u);
    EXPECT_EQ(r.timed, 52u);
    EXPECT_TRUE(r.warm);
    EXPECT_GE(r.mean_ms, 1);
    EXPECT_GE(r.median_ms, 1);
    ASSERT_EQ(r.epochs.size(), 3u);
    double sum = 0;
    for (dry_epoch const& e : r.epochs) {
      EXPECT_EQ(e.batches, 26u);
      EXPECT_EQ(e.seeds, n);
      EXPECT_NEAR(e.near_rows + e.far_rows, e.vertices, 1e-9);
      EXPECT_NEAR(e.remote_bytes, 12 * (e.far_rows - e.window_rows), 1e-6);  // on the CPU all rows are local
      sum += e.vertices * 26;
    }
    EXPECT_NEAR(sum, static_cast<double>(vertices), 1e-6);
    EXPECT_EQ(r.all.batches, 52u);
    ASSERT_EQ(r.times.size(), 78u);
    for (std::size_t i = 0; i < r.times.size(); ++i) {
      EXPECT_EQ(r.times[i].epoch, i / 26);
      EXPECT_EQ(r.times[i].index, i % 26);
      EXPECT_LT(r.times[i].gather.begin, r.times[i].gather.end);
      EXPECT_GE(r.times[i].handed, r.times[i].gather.end);
      EXPECT_LE(r.times[i].sample.end, r.times[i].gather.begin);  // or 0
    }
    EXPECT_GT(r.times[0].sample.end, 0);
    // Stopped in the middle of the first epoch: mini-batches after two groups count.
    load.begin(5);
    dry_options some;
    some.epochs = 9, some.batches = 20, some.stretch = 4;
    dry_result const s = train_dry(load, where, some);
    EXPECT_EQ(s.batches, 20u);
    EXPECT_EQ(s.timed, 12u);
    EXPECT_EQ(s.all.batches, 12u);
    ASSERT_EQ(s.epochs.size(), 1u);
    EXPECT_EQ(s.epochs[0].epoch, 5u);
    EXPECT_EQ(load.state().next, 20u);
  }
}

TEST(load_bench, keeps_what_it_says_it_keeps) {
  load_bench_options o = small_options({device_kind::simulated, 0});
  o.figures = {"kept"};
  load_file const f = measure_loads(o, {});
  ASSERT_EQ(f.rows.size(), 8u);
  double far = 1e300;
  for (load_row const& r : f.rows) {
    EXPECT_LT(r.far_rows, far) << r.kept;  // by degree: the more are cached, the fewer are remote
    far = r.far_rows;
    EXPECT_NEAR(r.remote_bytes, 12 * r.fetched_rows, 1e-6);
    EXPECT_NEAR(r.near_rows + r.far_rows, r.vertices, 1e-9);
    EXPECT_FALSE(r.ms);
  }
  EXPECT_EQ(f.rows[0].near_rows, 0);
  // Rows that are interleaved over two devices.
  o.peers = {0, 1};
  load_file const two = measure_loads(o, {});
  ASSERT_EQ(two.rows.size(), 16u);
  EXPECT_EQ(two.rows[8].devices, 2u);
  EXPECT_EQ(two.rows[11].kept, 0.1);
  EXPECT_GT(two.rows[11].peer_rows, two.rows[3].near_rows);  // twice as many are local
  o.figures = {"size"};
  EXPECT_TRUE(refused(errc::usage, [&] { measure_loads(o, {}); }));
}

TEST(load_bench, file_comes_back) {
  load_file const made = measure_loads(small_options({}), {});
  ASSERT_EQ(made.rows.size(), 1u);
  EXPECT_FALSE(made.rows[0].moments.empty());
  EXPECT_EQ(to_json(file_in<load_file>(json::parse(to_json(made)), "l.json")), to_json(made));
}

TEST(load_bench, page_shows_every_figure) {
  load_bench_options o = small_options({device_kind::simulated, 0});
  load_file f = measure_loads(o, {});
  f.place = "device 0", f.compute_ms = 1.5;
  load_row near = f.rows[0];
  near.kept = 1, near.strategy = "tiered";
  f.rows.insert(f.rows.begin(), near);
  for (std::uint64_t const sms : {1, 8, 16, 0}) {
    f.rows.push_back(f.rows[1]);
    f.rows.back().figure = "share", f.rows.back().multiprocessors = sms;
  }
  for (load_row& r : f.rows) {
    r.ms = 4, r.sample_ms = 1, r.fetch_ms = 2, r.gather_ms = 0.5, r.caller_waited_ms = 0.1, r.loader_waited_ms = 0;
    r.moments = {{0, {0, 1}, {1, 2}, {2, 3}, 3.5}};
  }
  near.ms.reset(), near.skipped = "no room for <it>";
  f.rows.push_back(near);
  std::string const page = page_of({.loads = {{"l.json", f}}});
  expect_all(page, {"(figure 3.12)", "(figure 4.11)", "(figure 4.12)", "what overlapped", "What ran when", "against its size",
                    "by where they were", "no room for &lt;it&gt;", "mini-batches, measured"});
  EXPECT_NE(page.find("With nothing kept 20.0 % of the 5.00 ms of stages overlap"), std::string::npos);
}

}  // namespace
}  // namespace garner::testing
