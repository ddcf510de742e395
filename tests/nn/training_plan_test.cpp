// A plan of a training, compared with the training's actual cost.
#include "nn/plan.hpp"

#include <unistd.h>

#include <fstream>

#include "core/random.hpp"
#include "files/npy_head.hpp"
#include "garner/gnn.hpp"
#include "garner/hetero.hpp"
#include "graph/handle.hpp"
#include "memory/budget.hpp"
#include "nn/decide_shards.hpp"
#include "nn/part_rows.hpp"
#include "nn/whole_graph.hpp"
#include "shard/group.hpp"
#include "shard/parts.hpp"
#include "shard_support.hpp"

namespace garner::testing {
namespace {

// The planned device memory that its budget does not count.
void expect_took(training_plan const& p, std::uint64_t charged, bool full) {
  auto const told = static_cast<double>(p.bytes()), took = static_cast<double>(charged);
  EXPECT_GT(told, (full ? 0.97 : 0.85) * took);
  EXPECT_LT(told, (full ? 1.1 : 1.35) * took);
}

training_question::part part_of(std::uint64_t nodes, std::uint64_t edges, std::uint32_t blocks, std::uint64_t largest,
                                shard_options const& how) {
  return {static_cast<double>(nodes), static_cast<double>(edges), 0, blocks, static_cast<double>(largest), false, how};
}

TEST(training_plan, says_what_a_training_then_takes) {
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated})
    for (generator const of : {generator::kron, generator::uniform}) {
      if (runs_later({kind, 0})) continue;  // it also needs a device's own allocations
      generate_options how;
      how.kind = of, how.scale = 13;
      graph_handle const g = generate_graph(how);
      graph const& inside = graph_access::of(g);
      execution_device const where{kind, 0};
      std::uint64_t const n = g.info().vertices, width = 40;
      std::vector<float> rows(n * width, 0.5f);
      std::vector<std::int64_t> labels(n);
      std::vector<std::uint8_t> split(n);
      double training_vertices = 0;
      for (std::uint64_t v = 0; v < n; ++v) {
        labels[v] = static_cast<std::int64_t>(v % 5);
        split[v] = inside.out.offsets[v + 1] > inside.out.offsets[v] ? 1 : 0;
        training_vertices += split[v];
      }
      tiered_options t;
      t.device = where;
      if (kind != device_kind::cpu) t.feature_cache = 0;
      tiered_tensor features({rows.data(), n, width, element::f32, {}}, t);
      for (model_kind const model : {model_kind::gcn, model_kind::sage, model_kind::gin})
        for (bool const full : {false, true})
          for (int const deep : {0, 1}) {
            SCOPED_TRACE(std::string(to_string(where)) + " " + std::string(to_string(model)) + (full ? " full" : " drawn") +
                         (deep ? " deep" : "") + (of == generator::kron ? " kron" : " uniform"));
            model_options m;
            m.kind = model, m.inputs = width, m.classes = 5, m.hidden = 24, m.layers = deep ? 3 : 2;
            m.residual = m.layer_norm = deep;
            training_options o;
            if (!full) o.fanouts.assign(m.layers, 5);
            o.batch_size = 256, o.evaluate_every = full;
            training_question q;
            q.load.info = g.info();
            q.load.degrees = degree_classes(inside.out.offsets.data(), n);
            q.load.where = where, q.load.lists_far = kind != device_kind::cpu;
            q.load.fanouts = o.fanouts, q.load.row_bytes = width * 4, q.load.near_limit = 1u << 30;
            q.load.loader.batch_size = o.batch_size;
            q.model = m, q.input_dropout = input_dropout_of(m, 0.5), q.training = training_vertices;
            q.evaluation_near = 1u << 30;
            training_plan const p = plan_training(q);
            std::uint64_t const before = host_budget().used();
            gnn_model net(where, m);
            EXPECT_EQ(p.parameters, net.parameters());
            training run(net, g, features, {{labels.data(), n, 1, element::i64, {}}, split}, o);
            epoch_report const r = run.next();
            EXPECT_EQ(r.steps, p.steps);
            expect_took(p, host_budget().used() - before, full);
            if (!full) {
              auto const seen = static_cast<double>(r.load.nodes) / static_cast<double>(r.steps);
              EXPECT_NEAR(p.rows[0], seen, 0.15 * seen);
              EXPECT_NEAR(p.edges[0], static_cast<double>(r.load.edges) / static_cast<double>(r.steps), 0.15 * p.edges[0]);
            }
            EXPECT_GT(p.flops, 0);
          }
    }
}

TEST(training_plan, says_what_shards_then_take) {
  generate_options how;
  how.scale = 12;
  graph_handle const g = generate_graph(how);
  std::uint64_t const n = g.info().vertices, width = 40;
  std::vector<float> rows(n * width, 0.5f);
  std::vector<std::int64_t> labels(n, 1);
  std::vector<std::uint8_t> split(n, 1);
  using enum model_kind;
  constexpr std::tuple<model_kind, bool, bool> shapes[] = {{gcn, false, false}, {sage, false, false}, {gin, false, false},
                                                           {gcn, true, false},  {sage, true, false},  {gcn, false, true},
                                                           {sage, false, true}};
  for (shard_strategy const strategy : {shard_strategy::bulk, shard_strategy::collective, shard_strategy::mgg})
    for (auto const& [model, by_tier, packed] : shapes) {
      if ((by_tier || packed) && strategy == shard_strategy::mgg) continue;
      SCOPED_TRACE(std::string(to_string(strategy)) + " " + std::string(to_string(model)) + (by_tier ? " rows by tier" : "") +
                   (packed ? " packed" : ""));
      shard_options o;
      o.shards = 3, o.strategy = strategy, o.far_rows = by_tier;
      bool const windows = model == model_kind::gin;
      if (windows) o.provider = shard_provider::host;
      if (strategy != shard_strategy::mgg && model == model_kind::gcn) o.wire = element::bf16;
      o.remote_adjacency = strategy != shard_strategy::mgg && model == model_kind::sage, o.list_window = 4096,
      o.compressed_adjacency = packed;
      model_options m;
      m.kind = model, m.inputs = width, m.classes = 5, m.hidden = 24;
      shard_report const r = split_report(g, edge_direction::in, o);
      whole_graph const lists(g, edge_direction::in, false);
      shard_parts const parts(lists.pulled().offsets, n, o, "a test");
      std::vector<std::uint64_t> took(3);
      auto const group = shards_of_threads(o);
      auto const train = [&](std::uint32_t k) {
        tiered_tensor features({rows.data(), n, width, element::f32, {}}, {});
        gnn_model net({}, m);
        training_options t;
        t.evaluate_every = 0, t.shards = group, t.rank = k;
        training run(net, g, features, {{labels.data(), n, 1, element::i64, {}}, split}, t);
        run.next();
        took[k] = run.bytes();
      };
      EXPECT_EQ(on_shards(3, train, [&](std::uint32_t k, std::string const& why) { leave_shards(*group, k, why); }), none_of(3));
      for (std::uint32_t k = 0; k < 3; ++k) {
        training_question q;
        q.load.info = g.info();
        q.load.row_bytes = width * 4;
        q.model = m, q.input_dropout = input_dropout_of(m, 0.5), q.training = static_cast<double>(n);
        shard_report::part const& p = r.parts[k];
        q.shard = part_of(p.vertices, p.edges, 16, part_rows::largest(parts.blocks(k)), o);
        q.shard->remote_rows = static_cast<double>(p.remote_rows());
        std::uint64_t const without = plan_training(q).bytes();
        q.shard_windows = windows;
        training_plan const planned = plan_training(q);
        ASSERT_EQ(planned.bytes() > without, windows);
        if (windows) {
          EXPECT_NEAR(static_cast<double>(planned.bytes() - without), static_cast<double>(group->access(k).bytes()), 8192) << k;
        }
        EXPECT_GT(static_cast<double>(planned.bytes()), 0.75 * static_cast<double>(took[k])) << k;
        EXPECT_LT(static_cast<double>(planned.bytes()), 1.4 * static_cast<double>(took[k])) << k;
        EXPECT_GT(planned.reads.front().near, 0);
        if (!by_tier) continue;
        q.shard->how.far_rows = false;
        EXPECT_LT(planned.bytes(), plan_training(q).bytes() - static_cast<std::uint64_t>(p.vertices) * width * 4 / 2) << k;
      }
    }
}

// Within 3 % with activations in host memory, but for workspaces of losses, of which some 60 bytes per vertex are not taken here.
TEST(training_plan, says_what_activations_in_host_memory_take) {
  if (runs_later({device_kind::cpu, 0})) GTEST_SKIP() << "workspaces of delayed work";
  generate_options how;
  how.scale = 14;
  graph_handle const g = generate_graph(how);
  std::uint64_t const n = g.info().vertices;
  std::vector<std::int64_t> labels(n, 1);
  std::vector<std::uint8_t> split(n, 1);
  for (std::uint64_t const width : {32u, 160u})
    for (model_kind const kind : {model_kind::gcn, model_kind::sage, model_kind::gin})
      for (int const deep : {0, 1, 2, 3})
        for (int const where : {0, 1, 2, 3, 5}) {
          bool const by_tier = where & 1, far_layers = where & 2, in_file = where & 4;
          constexpr char const* shapes[] = {"", ", norm", ", residual", ", one layer"};
          SCOPED_TRACE(fmt::format("{} of {} columns{}{}", to_string(kind), width, shapes[deep], by_tier ? ", rows by tier" : "") +
                       (far_layers ? ", layers in host memory" : "") + (in_file ? ", in a file" : ""));
          std::vector<float> const rows(n * width, 0.5f);
          tiered_tensor features({rows.data(), n, width, element::f32, {}}, {});
          model_options m;
          m.kind = kind, m.inputs = width, m.classes = 24, m.hidden = deep == 1 ? 24 : 96, m.layers = deep == 3 ? 1 : 3;
          m.layer_norm = deep == 1 || deep == 2, m.residual = deep == 2;
          shard_options o;
          o.host_activations = true, o.far_rows = by_tier, o.host_layers = far_layers;
          if (in_file) o.scratch = std::filesystem::temp_directory_path().string();
          whole_graph const lists(g, edge_direction::in, false);
          shard_parts const parts(lists.pulled().offsets, n, o, "a test");
          training_options t;
          t.evaluate_every = 1;
          training_question q;
          q.load.info = g.info(), q.load.row_bytes = width * 4;
          q.model = m, q.input_dropout = input_dropout_of(m, 0.5), q.training = static_cast<double>(n);
          q.shard = part_of(n, g.info().edges, 48, part_rows::largest(parts.blocks(0)), o);
          q.shard->evaluates = true;
          training_plan const planned = plan_training(q);
          gnn_model net({}, m);
          t.shards = shards_of_threads(o);
          training run(net, g, features, {{labels.data(), n, 1, element::i64, {}}, split}, t);
          std::uint64_t const before = host_budget().used() - run.bytes();
          run.next();
          ASSERT_EQ(planned.host.size(), far_layers ? 2u : 1u);
          ASSERT_EQ(planned.file.size(), in_file);
          std::uint64_t const in_host = planned.host[0].bytes + (far_layers ? planned.host[1].bytes : 0);
          double const held = static_cast<double>(host_budget().used() - run.bytes() - before), pages = in_file ? 8 * 4096 : 0;
          EXPECT_NEAR(held, static_cast<double>(in_host), 16384 + pages + (in_file ? 0.1 * held : 0));  // the two on their way may differ
          EXPECT_NEAR(static_cast<double>(planned.bytes()), static_cast<double>(run.bytes()),
                      0.03 * static_cast<double>(run.bytes()) + 60.0 * static_cast<double>(n));
        }
}

// Whole panels cross the link.
TEST(training_plan, counts_the_columns_of_panels) {
  training_question q;
  q.load.info.vertices = 1000, q.load.info.edges = 8000, q.load.row_bytes = 128 * 4, q.load.where = {device_kind::cuda, 0};
  q.model.kind = model_kind::gcn, q.model.inputs = 128, q.model.classes = 128, q.model.layers = 3;
  q.training = 1000;
  shard_options o;
  o.host_activations = o.host_layers = true;
  q.shard = part_of(1000, 8000, 48, 50, o);
  auto const crossed = [&](std::uint64_t hidden) {
    q.model.hidden = hidden;
    for (read_by_tier const& r : plan_training(q).reads)
      if (r.what == std::string_view("rows of layers")) return r.far;
    return 0.0;
  };
  EXPECT_EQ(crossed(130), crossed(192));
  EXPECT_LT(crossed(128), crossed(130));
}

// The plan's extra memory for full-graph evaluation is exact, as counted by the device budget.
TEST(training_plan, says_what_an_evaluation_takes_besides) {
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated})
    for (label_kind const labels : {label_kind::single_label, label_kind::multi_label})
      for (auto const& [classes, all_train] : {std::pair{1u, false}, {2u, false}, {5u, false}, {2u, true}, {5u, true}}) {
        SCOPED_TRACE(std::string(to_string(execution_device{kind, 0})) +
                     (labels == label_kind::single_label ? " single-label " : " multi-label ") + std::to_string(classes));
        generate_options how;
        how.scale = 10;
        graph_handle const g = generate_graph(how);
        execution_device const where{kind, 0};
        std::uint64_t const n = g.info().vertices, width = 4;
        std::vector<float> rows(n * width, 0.5f);
        std::vector<std::int64_t> of_class(n);
        std::vector<std::uint8_t> answers(n * classes), split(n);
        std::array<std::uint64_t, 4> parts{};
        for (std::uint64_t v = 0; v < n; ++v) {
          of_class[v] = static_cast<std::int64_t>(v % classes);
          for (std::uint64_t c = 0; c < classes; ++c) answers[v * classes + c] = (v + c) % 3 == 0;
          ++parts[split[v] = static_cast<std::uint8_t>(all_train ? 1 : v % 11 == 0 ? 0 : v % 5 == 1 ? 1 : v % 7 < 2 ? 3 : 2)];
        }
        tiered_options t;
        t.device = where;
        tiered_tensor features({rows.data(), n, width, element::f32, {}}, t);
        model_options m;
        m.inputs = width, m.classes = classes, m.labels = labels, m.hidden = 8;
        training_options o;
        o.evaluate_every = 0;
        row_array const known = labels == label_kind::single_label ? row_array{of_class.data(), n, 1, element::i64, {}}
                                                                   : row_array{answers.data(), n, classes, element::u8, {}};
        gnn_model net(where, m);
        training run(net, g, features, {known, split}, o);
        run.next();
        std::uint64_t const before = run.bytes(), charged = host_budget().used();
        run.evaluate();
        training_question q;
        q.load.info = g.info(), q.load.where = where, q.load.row_bytes = width * 4;
        q.model = m, q.training = static_cast<double>(parts[1]), q.validation = parts[2], q.test = parts[3];
        training_plan const p = plan_training(q);
        auto const told =
            std::find_if(p.near.begin(), p.near.end(), [](load_array const& a) { return a.what.ends_with("of an evaluation"); });
        ASSERT_NE(told, p.near.end());
        EXPECT_GT(told->bytes, 16 * (n - parts[0]));
        EXPECT_EQ(told->bytes, run.bytes() - before);
        EXPECT_EQ(told->bytes, host_budget().used() - charged);
        q.load.fanouts = {5, 5}, q.load.near_limit = q.evaluation_near = 1u << 30;
        for (load_array const& a : plan_training(q).near) EXPECT_FALSE(a.what.ends_with("of an evaluation"));
      }
}

// More layers, wider layers and more neighbors cost more; cached data causes no link traffic.
TEST(training_plan, grows_with_what_is_asked) {
  training_question q;
  q.load.info.vertices = 1'000'000, q.load.info.edges = 20'000'000;
  q.load.where = {device_kind::cuda, 0}, q.load.lists_far = true;
  q.load.fanouts = {10, 10}, q.load.row_bytes = 512, q.load.near_limit = 8ull << 30;
  q.model.inputs = 128, q.model.classes = 10, q.training = 50'000, q.evaluation_near = 8ull << 30;
  training_plan const p = plan_training(q);
  EXPECT_EQ(p.steps, 49u);
  training_question more = q;
  more.model.hidden = 256;
  EXPECT_GT(plan_training(more).flops, 2 * p.flops);
  EXPECT_GT(plan_training(more).bytes(), p.bytes());
  more = q, more.load.rows_kept = 1'000'000, more.load.lists_far = false;
  EXPECT_EQ(plan_training(more).link_bytes, 0);
  EXPECT_GT(p.link_bytes, 1e9);
  more = q, more.load.fanouts.clear();
  training_plan const whole = plan_training(more);
  EXPECT_EQ(whole.steps, 1u);
  EXPECT_GT(whole.bytes(), 1'000'000u * 128 * 4);
  EXPECT_EQ(whole.link_bytes, 0);
}

read_by_tier const& read_of(training_plan const& p, std::string_view what) {
  for (read_by_tier const& r : p.reads)
    if (r.what == what) return r;
  throw std::runtime_error("the plan reads nothing called " + std::string(what));
}

// Planned row reads equal a training's counts, by tier; adjacency is read in its tier.
TEST(training_plan, tells_by_tier_what_is_read) {
  generate_options how;
  how.scale = 13;
  graph_handle const g = generate_graph(how);
  graph const& inside = graph_access::of(g);
  execution_device const where{device_kind::simulated, 0};
  std::uint64_t const n = g.info().vertices, width = 40;
  std::vector<float> rows(n * width, 0.5f), scores(n);
  std::vector<std::int64_t> labels(n);
  std::vector<std::uint8_t> split(n);
  double training_vertices = 0;
  for (std::uint64_t v = 0; v < n; ++v) {
    scores[v] = static_cast<float>(inside.out.offsets[v + 1] - inside.out.offsets[v]);
    split[v] = scores[v] > 0 ? 1 : 0;
    training_vertices += split[v];
  }
  tiered_options t;
  t.device = where, t.scores = scores, t.feature_cache = n / 10 * width * 4;
  tiered_tensor features({rows.data(), n, width, element::f32, {}}, t);
  training_question q;
  q.load.info = g.info(), q.load.degrees = degree_classes(inside.out.offsets.data(), n);
  q.load.where = where, q.load.lists_far = true, q.load.fanouts = {5, 5}, q.load.near_limit = 1u << 30;
  q.load.row_bytes = width * 4, q.load.rows_kept = n / 10, q.load.loader.batch_size = 256;
  q.load.loader.strategy = load_strategy::tiered;
  q.model.inputs = width, q.model.classes = 5, q.training = training_vertices, q.evaluation_near = 1u << 30;
  training_plan const p = plan_training(q);
  model_options m = q.model;
  gnn_model net(where, m);
  training_options o;
  o.fanouts = {5, 5}, o.batch_size = 256, o.evaluate_every = 0;
  o.load.strategy = load_strategy::tiered;
  training run(net, g, features, {{labels.data(), n, 1, element::i64, {}}, split}, o);
  load_report const seen = run.next().load;
  auto const steps = static_cast<double>(p.steps), row = static_cast<double>(width * 4);
  read_by_tier const& of_rows = read_of(p, "rows");
  double const near = row * static_cast<double>(seen.rows[tier::device]);
  EXPECT_NEAR(of_rows.near * steps, near, 0.2 * near);
  EXPECT_NEAR(of_rows.far * steps, static_cast<double>(seen.remote_bytes), 0.2 * static_cast<double>(seen.remote_bytes));
  EXPECT_EQ(of_rows.peer, 0);
  double const sectors = 32 * p.edges[0];
  EXPECT_NEAR(read_of(p, "lists").far, sectors, 32);
  EXPECT_EQ(read_of(p, "lists").near, 0);
  EXPECT_NEAR(p.link_bytes, steps * (of_rows.far + read_of(p, "lists").far), 1);
  training_question other = q;
  other.load.lists_far = false;
  EXPECT_NEAR(read_of(plan_training(other), "lists").near, sectors, 32);
  other.lists_on_peer = true;
  EXPECT_NEAR(read_of(plan_training(other), "lists").peer, sectors, 32);
  EXPECT_EQ(read_of(plan_training(other), "lists").near, 0);
}

TEST(training_plan, shares_seeds_among_ranks) {
  training_question q;
  q.load.info.vertices = 1'000'000, q.load.info.edges = 20'000'000;
  q.load.where = {device_kind::cuda, 0}, q.load.lists_far = true;
  q.load.fanouts = {10, 10}, q.load.row_bytes = 512, q.load.near_limit = 4ull << 30;
  q.model.inputs = 128, q.model.classes = 10, q.training = 50'001, q.evaluation_near = 8ull << 30;
  training_plan const one = plan_training(q);
  EXPECT_THROW(read_of(one, "gradients of ranks"), std::runtime_error);
  q.ranks = 4, q.gradients = training_question::exchange::peers;
  training_plan const four = plan_training(q);
  EXPECT_EQ(four.steps, 13u);  // 12,501 seeds each
  EXPECT_NEAR(four.flops * 49 / 13, one.flops, 1e-6 * one.flops);
  EXPECT_NEAR(four.link_bytes * 49 / 13, one.link_bytes, 1e-6 * one.link_bytes);
  auto const numbers = static_cast<double>(4 * four.parameters);
  EXPECT_EQ(read_of(four, "gradients of ranks").peer, numbers * 2 * 3 / 4);
  EXPECT_EQ(read_of(four, "gradients of ranks").far, 0);
  q.gradients = training_question::exchange::host;
  training_plan const pinned = plan_training(q);
  EXPECT_EQ(read_of(pinned, "gradients of ranks").far, 2 * numbers);
  EXPECT_NEAR(pinned.link_bytes - four.link_bytes, 13 * 2 * numbers, 1);
  q.gradients = training_question::exchange::near;
  EXPECT_EQ(read_of(plan_training(q), "gradients of ranks").near, 2 * numbers);
}

// Authors write papers, papers cite papers; both with reverse edges. Some of each have many neighbors.
struct library {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("garner-plan-types-{}", ::getpid());
  static constexpr std::uint64_t authors = 3000, papers = 5000, author_width = 12, paper_width = 20, classes = 5;
  std::vector<float> author_rows = std::vector<float>(authors * author_width, 0.5f),
                     paper_rows = std::vector<float>(papers * paper_width, 0.5f);
  std::vector<std::int64_t> labels;
  std::vector<std::uint8_t> split;

  template <class T>
  void write(std::string const& name, char const* type, std::uint64_t rows, std::uint64_t columns, std::vector<T> const& values) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream out(folder / name, std::ios::binary);
    out << (columns ? npy_head(type, rows, columns) : npy_head(type, rows));
    out.write(reinterpret_cast<char const*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  }
  library() {
    std::filesystem::remove_all(folder);
    auto const some = [](std::uint64_t stream, std::uint64_t i, std::uint64_t n) {  // lower ones are more frequent
      double const u = static_cast<double>(unit_float(random_bits(7, stream, i)));
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(u * u * u * static_cast<double>(n)) * 1009 % n);
    };
    std::vector<std::int64_t> writes, cites;
    for (std::uint64_t i = 0; i < 30'000; ++i) writes.push_back(some(0, i, authors)), writes.push_back(some(1, i, papers));
    for (std::uint64_t i = 0; i < 40'000; ++i) cites.push_back(some(2, i, papers)), cites.push_back(some(3, i, papers));
    for (std::uint64_t v = 0; v < papers; ++v) {
      labels.push_back(static_cast<std::int64_t>(v % classes));
      split.push_back(static_cast<std::uint8_t>(v % 4 == 1 ? 2 : v % 4 == 3 ? 3 : 1));
    }
    write("processed/author__writes__paper/edge_index.npy", "<i8", writes.size() / 2, 2, writes);
    write("processed/paper__cites__paper/edge_index.npy", "<i8", cites.size() / 2, 2, cites);
    write("processed/author/node_feat.npy", "<f4", authors, author_width, author_rows);
    write("processed/paper/node_feat.npy", "<f4", papers, paper_width, paper_rows);
    hetero_options o;
    o.undirected = true;
    convert_hetero(folder, folder / "g.json", o);
  }
  ~library() { std::filesystem::remove_all(folder); }

  hetero_graph open(execution_device where) const {
    open_options o;
    o.device = where, o.in_edges = true;
    return hetero_graph::open(folder / "g.json", o);
  }
  std::vector<tiered_tensor> tables(hetero_graph const& g, execution_device where, std::uint64_t kept) const {
    std::vector<tiered_tensor> all;
    for (vertex_type const& t : g.types()) {
      bool const paper = t.name == "paper";
      tiered_options o;
      o.device = where;
      if (where.kind != device_kind::cpu) o.feature_cache = kept;
      all.emplace_back(
          row_array{paper ? paper_rows.data() : author_rows.data(), t.count, paper ? paper_width : author_width, element::f32, {}}, o);
    }
    return all;
  }
  // Like the program's plan.
  training_question question(hetero_graph const& g, execution_device where, model_types const& types, std::uint64_t kept) const {
    training_question q;
    q.types = types;
    q.load.where = where, q.load.near_limit = 1u << 30, q.load.seed_type = types.target;
    q.load.seeds = q.training = static_cast<double>(std::count(split.begin(), split.end(), 1));
    q.validation = q.test = papers / 4;
    q.evaluation_near = 1u << 30;
    std::vector<relation_degrees> degrees;
    for (std::size_t r = 0; r < g.edges().size(); ++r) {
      graph const& inside = graph_access::of(g.adjacency(r));
      auto const& of = types.relations[r];
      q.load.relations.push_back({inside.info, of.from, of.to, where.kind != device_kind::cpu});
      degrees.push_back({of.from, of.to, inside.out.offsets.data(), (inside.info.directed ? inside.in : inside.out).offsets.data()});
    }
    for (std::uint32_t t = 0; t < g.types().size(); ++t) {
      std::uint64_t const row_bytes = types.inputs[t] * 4, n = g.types()[t].count;
      q.load.types.push_back({types.names[t], n, row_bytes, std::min(n, kept / row_bytes), {}, vertex_classes(t, n, degrees)});
    }
    return q;
  }
};

TEST(training_plan, says_what_a_training_of_several_types_takes) {
  library const all;
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated})
    for (bool const full : {false, true})
      for (int const deep : {0, 1})
        for (std::uint64_t const kept : {std::uint64_t{0}, std::uint64_t{48'000}}) {
          execution_device const where{kind, 0};
          if (runs_later(where) || (kept && (full || kind == device_kind::cpu))) continue;
          SCOPED_TRACE(std::string(to_string(where)) + (full ? " full" : " drawn") + (deep ? " deep " : " ") + std::to_string(kept));
          hetero_graph const g = all.open(where);
          std::vector<tiered_tensor> tables = all.tables(g, where, kept);
          std::vector<tiered_tensor*> features;
          for (tiered_tensor& t : tables) features.push_back(&t);
          model_types const types = types_of(g, g.type("paper"), features);
          model_options m;
          m.classes = library::classes, m.hidden = 24, m.layers = deep ? 3 : 2;
          m.residual = m.layer_norm = deep;
          training_options o;
          if (!full) o.fanouts.assign(m.layers, 5);
          o.batch_size = 128, o.evaluate_every = full;
          training_question q = all.question(g, where, types, kept);
          q.load.fanouts = o.fanouts, q.load.loader.batch_size = o.batch_size, q.model = m, q.input_dropout = input_dropout_of(m, 0.5);
          training_plan const p = plan_training(q);
          std::uint64_t const before = host_budget().used();
          gnn_model net(where, m, types);
          EXPECT_EQ(p.parameters, net.parameters());
          training run(net, g, features, {{all.labels.data(), library::papers, 1, element::i64, {}}, all.split}, o);
          epoch_report const r = run.next();
          EXPECT_EQ(r.steps, p.steps);
          expect_took(p, host_budget().used() - before, full);
          if (full) continue;
          auto const steps = static_cast<double>(r.steps);
          auto const each = [&](std::uint64_t sum) { return static_cast<double>(sum) / steps; };
          EXPECT_NEAR(p.rows[0], each(r.load.nodes), 0.15 * p.rows[0]);
          EXPECT_NEAR(p.edges[0], each(r.load.edges), 0.15 * p.edges[0]);
          if (kind == device_kind::cpu) continue;
          EXPECT_NEAR(p.load.near_rows, each(r.load.rows[tier::device]), 0.2 * p.load.near_rows + 1);
          EXPECT_NEAR(p.load.far_rows, each(r.load.rows[tier::host]), 0.2 * p.load.far_rows);
          // Rows of the previous window stay, which a plan ignores.
          EXPECT_GT(read_of(p, "rows").far * steps, 0.9 * static_cast<double>(r.load.remote_bytes));
          EXPECT_NEAR(read_of(p, "lists").far, 32 * p.edges[0], 32);
        }
}

// If several types do not fit in device memory: the planned traffic per layer equals inference's counts.
TEST(training_plan, says_what_inference_of_several_types_brings) {
  library const all;
  for (bool const deep : {false, true})
    for (std::uint64_t const near : {20'000'000u, 2'500'000u, 700'000u, 420'000u, 330'000u, 1'000u}) {
      SCOPED_TRACE(fmt::format("{}, near {}", deep ? "deep" : "plain", near));
      execution_device const where{device_kind::simulated, 0};
      hetero_graph const g = all.open(where);
      std::vector<tiered_tensor> tables = all.tables(g, where, 0);
      std::vector<tiered_tensor*> features;
      for (tiered_tensor& t : tables) features.push_back(&t);
      model_types const types = types_of(g, g.type("paper"), features);
      model_options m;
      m.classes = library::classes, m.hidden = 24, m.residual = m.layer_norm = deep;
      training_question q = all.question(g, where, types, 0);
      q.model = m, q.load.fanouts = {3, 3}, q.evaluation_near = near;
      training_plan const p = plan_training(q);
      gnn_model net(where, m, types);
      std::vector<float> scores(library::papers * library::classes);
      inference_options o;
      o.memory_limit = near;
      if (near == 1000) {
        EXPECT_THROW(infer(net, g, features, scores, o), error);
        EXPECT_GT(p.evaluation.near_bytes, near);  // so that the plan does not fit
        continue;
      }
      inference_report const told = infer(net, g, features, scores, o);
      if (told.layers.empty()) {
        EXPECT_EQ(p.evaluation.near_bytes, told.device_bytes);
        EXPECT_EQ(p.evaluation.layers.size(), 1u);
        continue;
      }
      EXPECT_LE(p.evaluation.near_bytes, near);
      EXPECT_NEAR(static_cast<double>(p.evaluation.near_bytes), static_cast<double>(told.device_bytes), 0.1 * static_cast<double>(near));
      ASSERT_EQ(p.evaluation.layers.size(), told.layers.size());
      for (std::size_t l = 0; l < told.layers.size(); ++l) {
        layer_plan const& of = p.evaluation.layers[l];
        EXPECT_EQ(of.bytes_in, told.layers[l].rows_in) << l;
        EXPECT_EQ(of.bytes_out, told.layers[l].rows_out) << l;
        EXPECT_NEAR(static_cast<double>(of.list_bytes), static_cast<double>(told.layers[l].lists),
                    0.05 * static_cast<double>(of.list_bytes))
            << l;
      }
    }
}

}  // namespace
}  // namespace garner::testing
