// A plan of mini-batches, compared with a loader's behavior and memory.
#include "load/plan.hpp"

#include <numeric>

#include "graph/handle.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

TEST(load_plan, classes_keep_every_vertex_and_edge) {
  std::vector<std::uint64_t> offsets{0};
  for (std::uint64_t v = 0; v < 3000; ++v) offsets.push_back(offsets.back() + (v % 7 ? v % 100 : 0) * (v % 11 ? 1 : 50));
  std::vector<degree_class> const all = degree_classes(offsets.data(), 3000);
  double vertices = 0, edges = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    vertices += all[k].vertices, edges += all[k].vertices * all[k].degree;
    EXPECT_LT(all[k].degree, k ? all[k - 1].degree : 1e9);
  }
  EXPECT_EQ(vertices, 3000);
  EXPECT_NEAR(edges, static_cast<double>(offsets.back()), 1e-6 * static_cast<double>(offsets.back()));
  EXPECT_LT(all.size(), 120u);
  EXPECT_EQ(all.back().degree, 0);
}

// A loader on a simulated device, and its prediction.
TEST(load_plan, says_what_a_loader_then_takes) {
  for (generator const kind : {generator::kron, generator::uniform})
    for (hop_rule const rule : {hop_rule::last, hop_rule::all})
      for (double const kept : {0.0, 0.1}) {
        SCOPED_TRACE(std::string(to_string(rule)) + (kind == generator::kron ? " kron " : " uniform ") + std::to_string(kept));
        generate_options how;
        how.kind = kind;
        how.scale = 14;
        graph_handle const g = generate_graph(how);
        graph const& inside = graph_access::of(g);
        execution_device const where{device_kind::simulated, 0};
        std::uint64_t const n = g.info().vertices, width = 16;
        std::vector<float> rows(n * width), degree(n);
        std::vector<std::int64_t> train;
        for (std::uint64_t v = 0; v < n; ++v) {
          degree[v] = static_cast<float>(inside.out.offsets[v + 1] - inside.out.offsets[v]);
          if (degree[v] > 0) train.push_back(static_cast<std::int64_t>(v));
        }
        load_question q;
        q.info = g.info();
        q.degrees = degree_classes(inside.out.offsets.data(), n);
        q.where = where;
        q.lists_far = true;
        q.fanouts = {10, 5};
        q.rule = rule;
        q.row_bytes = width * 4;
        q.rows_kept = static_cast<std::uint64_t>(kept * static_cast<double>(n));
        q.near_limit = 1u << 30;
        q.loader.batch_size = 256, q.loader.window = 8;
        load_plan const p = plan_load(q);

        tiered_options t;
        t.device = where;
        t.feature_cache = q.rows_kept * q.row_bytes;
        t.scores = degree;
        tiered_tensor table({rows.data(), n, width, element::f32, {}}, t);
        block_options drawn;
        drawn.rule = rule;
        block_sampler sampler(where, g, q.fanouts, drawn);
        loader l(sampler, {{&table, 0, false, {}}}, train, q.loader);
        std::uint64_t batches = 0;
        while (batches < 24 && l.next()) ++batches;
        load_report const r = l.report();
        ASSERT_EQ(r.batches, 24u);
        auto const each = [&](std::uint64_t sum) { return static_cast<double>(sum) / 24; };
        auto const near = [](double planned, double was, double off) {
          EXPECT_GT(planned, was * (1 - off));
          EXPECT_LT(planned, was * (1 + off));
        };
        EXPECT_EQ(p.training, static_cast<double>(train.size()));
        near(p.vertices, each(r.nodes), 0.2);
        near(p.edges, each(r.edges), 0.15);
        near(p.far_rows, each(r.rows[tier::host]), 0.3);
        if (kept > 0) near(p.near_rows, each(r.rows[tier::device]), 0.25);
        // Rows of the previous group stay, which a plan ignores.
        EXPECT_GT(p.fetched_rows, each(r.fetched_rows) * 0.9);
        EXPECT_LT(p.fetched_rows, p.far_rows);
        EXPECT_NEAR(p.window_rows, p.far_rows - p.fetched_rows, 1e-6);
        double bytes = 0;
        for (load_array const& a : p.near)
          if (a.what.find("drawn") == std::string::npos) bytes += static_cast<double>(a.bytes);  // bytes() excludes it
        near(bytes, static_cast<double>(l.bytes()), 0.8);
        EXPECT_GT(p.sample.bytes_link(), 0u);
        EXPECT_EQ(p.rows.bytes_link(), static_cast<std::uint64_t>(std::llround(p.fetched_rows)) * 64);
      }
}

// Cached adjacency reduces link traffic, about as much as predicted.
TEST(load_plan, says_what_lists_that_are_kept_spare) {
  GARNER_NEEDS_COUNTS();
  generate_options how;
  how.scale = 13;
  graph_handle const g = generate_graph(how);
  graph const& inside = graph_access::of(g);
  execution_device const where{device_kind::simulated, 0};
  std::uint64_t const n = g.info().vertices, all = g.info().edges * 4;
  score_options of;
  of.sampling = {{10, 5}, hop_rule::last, 256, 1};
  std::vector<std::int64_t> train;
  for (std::uint64_t v = 0; v < n; ++v)
    if (inside.out.offsets[v + 1] > inside.out.offsets[v]) train.push_back(static_cast<std::int64_t>(v)), of.train.push_back(g.ids()[v]);
  std::vector<float> const score = scores(g, of).score;
  load_question q;
  q.info = g.info(), q.where = where, q.lists_far = true, q.list_bytes = all, q.fanouts = {10, 5}, q.near_limit = 1u << 30;
  q.degrees = degree_classes(inside.out.offsets.data(), n);
  q.loader.batch_size = 256;
  auto const asked = [&](std::uint64_t kept, std::uint64_t* near) {
    block_options o;
    o.graph_cache = kept, o.scores = score;
    block_sampler s(where, g, q.fanouts, o);
    *near = s.bytes();
    for (std::uint64_t b = 0; b < 8; ++b) s.sample(b, std::span<std::int64_t const>(train).subspan(b * 256, 256));
    return static_cast<double>(s.take_traffic().bytes_link());
  };
  auto const near_of = [&](load_plan const& p) {
    std::uint64_t bytes = 0;
    for (load_array const& a : p.near)
      if (a.what.starts_with("lists kept")) bytes += a.bytes;
    return bytes;
  };
  load_plan const none = plan_load(q);
  EXPECT_EQ(near_of(none), 0u);
  std::uint64_t none_near = 0;
  double const none_asked = asked(0, &none_near);
  for (double const share : {0.1, 0.4}) {
    q.lists_kept = static_cast<std::uint64_t>(share * static_cast<double>(all));
    load_plan const p = plan_load(q);
    std::uint64_t near = 0;
    double const was = asked(q.lists_kept, &near) / none_asked;
    double const told = static_cast<double>(p.sample.bytes_link()) / static_cast<double>(none.sample.bytes_link());
    EXPECT_LT(told, 1);
    EXPECT_NEAR(told, was, 0.25) << share;
    EXPECT_GE(near_of(p), near - none_near);
    EXPECT_LE(near_of(p), (near - none_near) * 11 / 10);
  }
  q.lists_kept = all;
  EXPECT_EQ(plan_load(q).sample.bytes_link(), 0u);
  q.lists_far = false;
  EXPECT_EQ(near_of(plan_load(q)), 0u);
}

TEST(load_plan, nothing_crosses_at_the_host_nor_where_all_is_near) {
  load_question q;
  q.info.vertices = 1000, q.info.edges = 10000;
  q.fanouts = {5, -1};
  q.row_bytes = 100;
  q.loader.batch_size = 10;
  load_plan const host = plan_load(q);
  EXPECT_EQ(host.sample.bytes_link() + host.rows.bytes_link(), 0u);
  EXPECT_EQ(host.far_rows, 0);
  EXPECT_NEAR(host.edges, 10 * 5 + 50 * 10, 60);  // the mean degree is 10
  q.where = {device_kind::simulated, 0};
  q.rows_kept = 1000;
  load_plan const kept = plan_load(q);
  EXPECT_EQ(kept.rows.bytes_link(), 0u);
  q.rows_kept = 0, q.loader.strategy = load_strategy::zero_copy;
  load_plan const each = plan_load(q);
  EXPECT_EQ(each.fetched_rows, each.far_rows);
  EXPECT_EQ(each.window_rows, 0);
  q.disjoint = true;
  EXPECT_NEAR(plan_load(q).vertices, 10 + plan_load(q).edges, 1e-6);  // trees share nothing
  load_question none;
  none.fanouts = {3};
  EXPECT_EQ(plan_load(none).edges, 0);
}

TEST(load_plan, the_window_is_the_most_that_takes_a_quarter_of_what_is_free) {
  window_need need;
  need.each = 100, need.rows_each = 300, need.rows_most = 1e9;
  EXPECT_EQ(choose_window(need, 4 * 32 * 400), 32u);
  EXPECT_EQ(choose_window(need, 4 * 32 * 400 - 1), 16u);
  EXPECT_EQ(choose_window(need, 4 * 16 * 400), 16u);
  EXPECT_EQ(choose_window(need, 4 * 16 * 400 - 1), 8u);
  EXPECT_EQ(choose_window(need, 0), 8u);  // the minimum
  need.rows_most = 0;                     // rows have a limit of their own
  EXPECT_EQ(choose_window(need, 4 * 32 * 100), 32u);

  load_question q;
  q.info.vertices = 100000, q.info.edges = 1000000;
  q.fanouts = {10, 5};
  q.row_bytes = 512;
  q.where = {device_kind::simulated, 0};
  q.near_limit = std::uint64_t{64} << 30;
  EXPECT_EQ(plan_load(q).window, 32u);
  double before = 1e18;
  for (std::uint64_t const gib : {64, 8, 4, 2, 1}) {
    q.near_limit = gib << 30;
    load_plan const p = plan_load(q);
    EXPECT_LE(p.window, before);
    before = p.window;
    q.loader.window = 5;
    EXPECT_EQ(plan_load(q).window, 5u);
    q.loader.window = 0;
  }
  EXPECT_EQ(before, 8);
  q.where = {};
  EXPECT_EQ(plan_load(q).window, 8u);  // all rows are local
}

TEST(load_plan, rows_of_a_file_are_those_that_neither_device_nor_host_keeps) {
  load_question q;
  q.info.vertices = 10000, q.info.edges = 100000;
  q.fanouts = {10, 5};
  q.row_bytes = 512;
  q.loader.batch_size = 64, q.loader.window = 4;
  for (execution_device const where : {execution_device{}, execution_device{device_kind::simulated, 0}}) {
    q.where = where;
    q.rows_at_home.reset(), q.rows_kept = 0;
    double const all = plan_load(q).vertices;
    EXPECT_EQ(plan_load(q).file_rows, 0);
    q.rows_at_home = 0;
    EXPECT_NEAR(plan_load(q).file_rows, all, 1e-6 * all);
    EXPECT_LT(plan_load(q).file_reads, plan_load(q).file_rows);  // four mini-batches share some rows
    q.rows_at_home = 5000;
    EXPECT_NEAR(plan_load(q).file_rows, all / 2, 1e-6 * all);
    if (where.kind == device_kind::simulated) q.rows_kept = 2500;
    EXPECT_NEAR(plan_load(q).file_rows, all * (q.rows_kept ? 0.25 : 0.5), 1e-6 * all);
    q.rows_at_home = 10000;
    EXPECT_EQ(plan_load(q).file_reads, 0);
    EXPECT_EQ(plan_load(q).window_rows, 0);
  }
}

TEST(load_plan, classes_of_several_types_keep_every_vertex_and_edge) {
  std::vector<std::uint64_t> lists{0}, drawn{0};
  for (std::uint64_t v = 0; v < 2000; ++v) lists.push_back(lists.back() + v % 13 * (v % 5 ? 1 : 20)), drawn.push_back(drawn.back() + v % 7);
  std::vector<relation_degrees> const of{
      {0, 1, lists.data(), drawn.data()}, {1, 0, nullptr, nullptr, 2.5, 1.5}, {2, 2, nullptr, nullptr, 9, 9}};
  for (std::uint32_t type : {0u, 1u}) {
    double vertices = 0, degrees[3] = {}, times[3] = {};
    std::vector<vertex_class> const all = vertex_classes(type, 2000, of);
    for (vertex_class const& c : all) {
      vertices += c.vertices;
      for (std::size_t r = 0; r < 3; ++r) degrees[r] += c.vertices * c.degrees[r], times[r] += c.vertices * c.drawn[r];
    }
    EXPECT_EQ(vertices, 2000);
    EXPECT_LT(all.size(), 12u);
    EXPECT_NEAR(degrees[0], type == 1 ? static_cast<double>(lists.back()) : 0, 1e-6);
    EXPECT_NEAR(times[0], type == 0 ? static_cast<double>(drawn.back()) : 0, 1e-6);
    EXPECT_NEAR(degrees[1], type == 0 ? 5000 : 0, 1e-6);
    EXPECT_NEAR(times[1], type == 1 ? 3000 : 0, 1e-6);
    EXPECT_EQ(degrees[2] + times[2], 0);
  }
}

// Two types of a generated graph: even vertices sample from all, odd ones are only sampled; a loader's counts by type.
TEST(load_plan, says_what_a_loader_of_several_types_then_takes) {
  generate_options how;
  how.scale = 13;
  graph_handle const g = generate_graph(how);
  graph const& inside = graph_access::of(g);
  std::uint64_t const n = g.info().vertices, width = 16;
  execution_device const where{device_kind::simulated, 0};
  std::vector<float> rows(n * width);
  std::vector<std::int64_t> train;
  for (std::uint64_t v = 0; v < n; v += 3) train.push_back(static_cast<std::int64_t>(v));
  for (hop_rule const rule : {hop_rule::last, hop_rule::all})
    for (bool const disjoint : {false, true})
      for (std::uint64_t const kept : {std::uint64_t{0}, n / 5}) {
        SCOPED_TRACE(std::string(to_string(rule)) + (disjoint ? " disjoint " : " ") + std::to_string(kept));
        // Persons know persons, and belong to groups; groups have persons.
        load_question q;
        q.where = where, q.fanouts = {4, 3}, q.rule = rule, q.disjoint = disjoint, q.near_limit = 1u << 30;
        q.loader.batch_size = 64, q.loader.window = 4;
        q.seeds = static_cast<double>(train.size());
        std::uint64_t const* const at = inside.out.offsets.data();
        std::vector<relation_degrees> const of{{0, 0, at, at}, {1, 0, at, at}, {0, 1, at, at}};
        for (std::uint32_t t : {0u, 1u})
          q.types.push_back({t ? "group" : "person", n, (t + 1) * width * 2, t ? kept : 0, {}, vertex_classes(t, n, of)});
        for (relation_degrees const& r : of) q.relations.push_back({g.info(), r.from, r.to, true});
        load_plan const p = plan_load(q);

        std::vector<tiered_tensor> tables;
        for (std::uint32_t t : {0u, 1u}) {
          tiered_options o;
          o.device = where, o.feature_cache = q.types[t].rows_kept * q.types[t].row_bytes;
          tables.emplace_back(row_array{rows.data(), n, (t + 1) * width, element::f16, {}}, o);
        }
        block_options drawn;
        drawn.rule = rule, drawn.disjoint = disjoint;
        std::vector<sampled_relation> relations;
        for (relation_degrees const& r : of) relations.push_back({&g, edge_direction::out, r.from, r.to, q.fanouts});
        std::uint64_t const before = host_budget().used();
        block_sampler sampler(where, {{n}, {n}}, std::move(relations), drawn);
        loader l(sampler, {{&tables[0], 0, false, {}}, {&tables[1], 1, false, {}}}, train, q.loader);
        double seen[2] = {}, edges[3] = {}, batches = 0;
        while (batches < 24) {
          auto const b = l.next();
          ASSERT_TRUE(b);
          for (std::uint32_t t : {0u, 1u}) seen[t] += static_cast<double>(b->subgraph().of_type(t).count);
          for (std::size_t r = 0; r < 3; ++r) edges[r] += static_cast<double>(b->subgraph().of_relation(r).count);
          ++batches;
        }
        load_report const r = l.report();
        double all = 0;
        for (std::uint32_t t : {0u, 1u}) {
          all += seen[t] / batches;
          EXPECT_NEAR(p.types[t].near_rows + p.types[t].far_rows, seen[t] / batches, 0.2 * seen[t] / batches) << t;
          EXPECT_NEAR(p.types[t].by_hop.back(), p.types[t].near_rows + p.types[t].far_rows, 1e-6 * all);
        }
        for (std::size_t k = 0; k < 3; ++k) {
          double const told = std::accumulate(p.edges_by_hop[k].begin(), p.edges_by_hop[k].end(), 0.0);
          EXPECT_NEAR(told, edges[k] / batches, 0.2 * told) << k;
        }
        EXPECT_NEAR(p.near_rows, static_cast<double>(r.rows[tier::device]) / batches, 0.25 * p.near_rows);
        EXPECT_NEAR(p.far_rows, static_cast<double>(r.rows[tier::host]) / batches, 0.2 * p.far_rows);
        EXPECT_EQ(p.types[0].near_rows, 0);
        EXPECT_EQ(p.types[1].near_rows > 0, kept > 0);
        EXPECT_GT(p.fetched_rows, static_cast<double>(r.fetched_rows) / batches * 0.9);
        EXPECT_LT(p.fetched_rows, p.far_rows);
        double told = 0;
        for (load_array const& a : p.near) told += static_cast<double>(a.bytes);
        auto const took = static_cast<double>(host_budget().used() - before);
        EXPECT_GT(told, took);
        EXPECT_LT(told, 1.4 * took);
        std::uint64_t const sectors = 32 * static_cast<std::uint64_t>(std::llround(p.edges));
        EXPECT_NEAR(static_cast<double>(p.sample.bytes_link()), static_cast<double>(sectors), 96);
        q.relations[2].far = false;
        EXPECT_LT(plan_load(q).sample.bytes_link(), p.sample.bytes_link());
      }
}

}  // namespace
}  // namespace garner::testing
