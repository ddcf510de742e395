// Training with activations in host memory gives the bits of training with all on the device: every model, with the product or the
// aggregation first, rows of the table near or by tier, any number of shards.
#include <gmock/gmock.h>

#include <filesystem>

#include "files/files.hpp"
#include "nn/shard_training.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

class network_kept : public at_place {};
GARNER_AT_EVERY_PLACE(network_kept);

struct case_of {
  char const* name;
  model_kind kind;
  std::uint64_t width;  // of the table
  std::uint32_t layers = 3;
  bool norm = false, residual = false, inputs_dropped = false, directed = false, answers = false;
  std::uint32_t hidden = 16;  // 80: aggregated in two parts
};
case_of const cases[] = {{"gcn", model_kind::gcn, 8},
                         {"gcn, its product first", model_kind::gcn, 24, 3, false, false, true},
                         {"gcn of one layer", model_kind::gcn, 8, 1},
                         {"gcn with norm", model_kind::gcn, 8, 2, true, false, true, true},
                         {"gcn with norm, its product first", model_kind::gcn, 24, 2, true},
                         {"gcn residual", model_kind::gcn, 8, 3, true, true, true},
                         {"sage", model_kind::sage, 8, 3, false, false, true, true},
                         {"sage, its product first", model_kind::sage, 24, 2, true, false, true},
                         {"sage residual", model_kind::sage, 24, 2, false, true, false, true, true},
                         {"gin", model_kind::gin, 8, 2, true},
                         {"gin, its product first", model_kind::gin, 24, 3, true, false, true, true},
                         {"gin residual", model_kind::gin, 8, 2, true, true},
                         {"wide gcn", model_kind::gcn, 72, 3, false, false, true, true, false, 80},
                         {"wide gcn, its product first", model_kind::gcn, 100, 3, true, false, true, false, false, 80},
                         {"wide sage", model_kind::sage, 72, 3, true, false, true, true, false, 80},
                         {"wide sage, its product first", model_kind::sage, 100, 2, false, false, false, true, false, 80},
                         {"wide gin residual", model_kind::gin, 20, 3, true, true, false, true, false, 80},
                         {"sage, more classes than hidden", model_kind::sage, 8, 2, false, false, true, true, false, 2},
                         {"gcn, more classes than hidden", model_kind::gcn, 1, 3, false, false, true, false, false, 2},
                         {"gin, more classes than hidden", model_kind::gin, 2, 2, true, false, false, true, false, 2}};

TEST_P(network_kept, learns_the_same_bits) {
  for (case_of const& a : cases) {
    communities const c(300, 3, a.width);
    graph_handle const g = a.directed ? reorder_graph(c.graph(directed()), {vertex_order::random, 5, {}}) : c.graph();
    model_options m = c.model(a.kind);
    m.layers = a.layers, m.hidden = a.hidden, m.layer_norm = a.norm, m.residual = a.residual;
    if (a.answers) m.labels = label_kind::multi_label;
    sharded_training s{c, g, m, where(), whole_graph_steps()};
    if (a.inputs_dropped) s.t.input_dropout = 0.3;
    trained const near = s.by(of(1));
    EXPECT_LT(near.losses.back(), near.losses.front()) << a.name;
    s.seen = [&](int epoch, epoch_report const& r) {
      EXPECT_EQ(r.not_captured, epoch == 1 && runs_later(where()) ? "activations come from host memory, for which the host waits" : "");
    };
    auto const seen = s.seen;
    for (std::uint32_t const n : {1u, 3u})
      for (bool const far_rows : {false, true}) {
        s.seen = seen;
        shard_options o = of(n);
        o.host_activations = true, o.far_rows = far_rows;
        o.remote_adjacency = far_rows, o.list_window = 512;
        for (bool const host_layers : {false, true}) {
          o.host_layers = host_layers;
          expect_same(
              s.by(o), near,
              fmt::format("{} by {}{}{}", a.name, n, far_rows ? ", rows by tier" : "", host_layers ? ", layers in host memory" : ""));
        }
        if (far_rows == (n == 1)) continue;
        s.seen = {};
        o.host_layers = far_rows, o.scratch = std::filesystem::temp_directory_path().string();
        expect_same(s.by(o), near, fmt::format("{} by {}, in a file", a.name, n));
      }
  }
}

// A hub has more than its share of the edges, so blocks are empty; and there are fewer vertices than blocks.
TEST_P(network_kept, learns_the_same_bits_where_blocks_are_empty) {
  communities c(40, 3, 8);
  for (std::uint64_t v = 1; v < c.vertices; ++v) c.edges.push_back({0, v});
  graph_handle const g = c.graph();
  for (model_kind const kind : {model_kind::gcn, model_kind::sage, model_kind::gin})
    for (bool const residual : {false, true}) {
      model_options m = c.model(kind);
      m.layers = 3, m.residual = m.layer_norm = residual;
      sharded_training s{c, g, m, where(), whole_graph_steps()};
      trained const near = s.by(of(1));
      for (std::uint32_t const n : {1u, 3u, 16u})
        for (bool const far_rows : {false, true}) {
          shard_options o = of(n);
          o.host_activations = true, o.far_rows = o.host_layers = far_rows;
          expect_same(s.by(o), near, fmt::format("{} by {}{}", to_string(kind), n, far_rows ? ", rows by tier" : ""));
        }
    }
}

using network_kept_files = in_a_folder;
TEST_F(network_kept_files, go_on_from_a_checkpoint_of_either_way) {
  communities const c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), {device_kind::simulated}, whole_graph_steps()};
  trained const straight = s.by(of(1));
  for (bool const first : {false, true}) {
    shard_options begun = of(1), gone_on = of(1);
    begun.host_activations = first, gone_on.host_activations = !first;
    s.each(begun, [&](std::uint32_t, auto&, training& run) {
      run.next(), run.next();
      run.save_checkpoint(at("two.ckpt"));
    });
    trained rest;
    s.each(gone_on, [&](std::uint32_t, auto& shard, training& run) {
      run.load_checkpoint(at("two.ckpt"));
      rest = s.finish(shard, run);
    });
    EXPECT_EQ(rest.values, straight.values);
    EXPECT_EQ(rest.losses, std::vector(straight.losses.begin() + 2, straight.losses.end()));
  }
}

// In one piece a model of L layers takes some 2 L arrays of rows and four of gradients; here one, and parts of two more.
TEST_P(network_kept, has_few_arrays_of_rows_on_the_device) {
  communities const c(24000, 3, 8);
  graph_handle const g = c.graph();
  model_options m = c.model(model_kind::gcn);
  m.layers = 4, m.hidden = 128;
  sharded_training s{c, g, m, where(), whole_graph_steps()};
  s.epochs = 1;
  std::uint64_t const array = c.vertices * m.hidden * sizeof(float);
  std::uint64_t bytes[2];
  for (bool const kept : {false, true}) {
    shard_options o = of(1);
    o.host_activations = kept;
    s.each(o, [&](std::uint32_t, auto& shard, training& run) {
      s.finish(shard, run);
      bytes[kept] = run.bytes();
    });
  }
  EXPECT_GT(bytes[0], 9 * array) << bytes[0] * 1.0 / array;
  EXPECT_LT(bytes[1], 3.5 * static_cast<double>(array)) << bytes[1] * 1.0 / array;
}

TEST_P(network_kept, of_one_device_gives_the_bits_of_one_shard) {
  communities const c(240, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), where(), whole_graph_steps()};
  trained const one = s.by(of(1));
  s.group = {};
  sharded_training::shard near, there;
  EXPECT_EQ(s.begin(near, 0).options().activations, activation_place::device);  // by itself: there is room
  s.t.activations = activation_place::host;
  EXPECT_EQ(s.begin(there, 0).options().activations, activation_place::host);
  expect_same(s.finish(there, *there.run), one, "in host memory");
  s.t.activations = activation_place::file, s.t.scratch = std::filesystem::temp_directory_path().string();
  sharded_training::shard on_disk;
  EXPECT_EQ(s.begin(on_disk, 0).options().activations, activation_place::file);
  expect_same(s.finish(on_disk, *on_disk.run), one, "in a file");
}

// A host with too little memory for the activations.
TEST(network_kept, go_to_a_file_where_host_memory_is_too_small) {
  communities const c(12000, 3, 8);
  graph_handle const g = c.graph();
  model_options m = c.model(model_kind::gcn);
  m.layers = 4, m.hidden = 128;
  sharded_training s{c, g, m, {device_kind::cpu}, whole_graph_steps()};
  s.epochs = 1;
  trained const one = s.by(of(1));
  s.group = {};
  s.t.scratch = std::filesystem::temp_directory_path().string();
  {
    sharded_training::shard near;
    EXPECT_EQ(s.begin(near, 0).options().activations, activation_place::device);  // there is room
  }
  sharded_training::shard there;
  std::uint64_t const before = host_budget().limit();
  host_budget().set_limit(host_budget().used() + 5 * c.vertices * m.hidden * sizeof(float));  // in host memory: 6.5 and more
  EXPECT_EQ(s.begin(there, 0).options().activations, activation_place::file);
  expect_same(s.finish(there, *there.run), one, "in a file");
  host_budget().set_limit(before);
}

// On a GPU with too little memory for all.
TEST(network_kept, is_taken_where_a_device_is_too_small) {
  if (device::count() == 0) GTEST_SKIP() << "needs a GPU: " << device::why_none();
  communities const c(60000, 3, 8);
  graph_handle const g = c.graph();
  model_options m = c.model(model_kind::gcn);
  m.layers = 4, m.hidden = 128;
  sharded_training s{c, g, m, {device_kind::cuda, 0}, whole_graph_steps()};
  s.epochs = 2;
  trained const one = s.by(of(1));
  s.group = {};
  std::uint64_t const before = device_budget(0).limit();
  device_budget(0).set_limit(device_budget(0).used() + 7 * c.vertices * m.hidden * sizeof(float));
  sharded_training::shard there;
  EXPECT_EQ(s.begin(there, 0).options().activations, activation_place::host);
  expect_same(s.finish(there, *there.run), one, "in host memory");
  device_budget(0).set_limit(before);
}

TEST(network_kept, says_what_does_not_go_together) {
  communities const c(60, 3, 8);
  graph_handle const g = c.graph();
  sharded_training s{c, g, c.model(model_kind::sage), {}, whole_graph_steps()};
  s.t.activations = activation_place::host, s.t.fanouts = {5, 5};
  sharded_training::shard there;
  EXPECT_THAT(error_of([&] { s.begin(there, 0); }), HasSubstr("full-graph steps"));
  s.t.activations = activation_place::file;
  EXPECT_THAT(error_of([&] { s.begin(there, 0); }), HasSubstr("activations in a file, and no folder for it; set scratch"));
  s.t.scratch = "/tmp";
  EXPECT_THAT(error_of([&] { s.begin(there, 0); }), HasSubstr("activations in a file are for full-graph steps"));
  s.t.activations = activation_place::automatic;
  EXPECT_THAT(error_of([&] { s.begin(there, 0); }), HasSubstr("scratch /tmp: full-graph steps of one device keep activations there"));
  EXPECT_THAT(error_of([] { parse_activation_place("gpu"); }), HasSubstr("use automatic, device, host or file"));
  shard_options o = of(2, shard_reduction::fast);
  o.scratch = "/tmp";
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), HasSubstr("scratch /tmp: activations go there"));
  o.host_activations = true;
  EXPECT_THAT(error_of([&] { shards_of_threads(o); }), HasSubstr("activations in host memory"));
}

}  // namespace
}  // namespace garner
