// A moved-from object reports itself, whichever of its functions is called.
#include <garner/garner.hpp>
//
#include <gmock/gmock.h>
#include <unistd.h>

#include <functional>

#include "nn/communities.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;

template <class T>
void expect_moved(char const* name, T& from, std::vector<std::function<void(T&)>> const& calls) {
  T const to = std::move(from);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    errc code{};
    EXPECT_THAT(error_of([&] { calls[k](from); }, &code), HasSubstr("moved elsewhere")) << name << ", call " << k;
    EXPECT_EQ(code, errc::usage) << name << ", call " << k;
  }
}

TEST(contract, what_was_moved_elsewhere_says_so) {
  communities const data;
  graph_handle g = data.graph();
  tiered_tensor features(data.table());
  block_sampler sampler({}, g, {3, 2});
  std::vector<std::int64_t> const some{1, 2};
  std::vector<float> out(2 * data.width), found(data.vertices * data.classes);
  gnn_model model({}, data.model(model_kind::sage));
  {
    training_options o;
    o.fanouts = {2, 2};
    training t(model, g, features, data.known(), o);
    expect_moved<training>(
        "training", t,
        {[](auto& x) { x.finished(); }, [](auto& x) { x.next(); }, [](auto& x) { x.next_steps(1); }, [](auto& x) { x.evaluate(); },
         [](auto& x) { x.save_checkpoint("x"); }, [](auto& x) { x.load_checkpoint("x"); }, [](auto& x) { x.epochs(); },
         [](auto& x) { x.step(); }, [](auto& x) { x.best_epoch(); }, [](auto& x) { x.load_best(); }, [](auto& x) { x.bytes(); }});
  }
  {
    std::vector<loaded_table> const tables{{&features, 0, false, {}}};
    loader l(sampler, tables, some);
    expect_moved<loader>(
        "loader", l,
        {[](auto& x) { x.batches(); }, [](auto& x) { x.begin(1); }, [](auto& x) { x.open(1); }, [](auto& x) { x.submit({}); },
         [](auto& x) { x.end(); }, [](auto& x) { x.window(); }, [](auto& x) { x.stop(); }, [](auto& x) { x.next(); },
         [](auto& x) { x.state(); }, [](auto& x) { x.resume({}); }, [](auto& x) { x.report(); }, [](auto& x) { x.bytes(); }});
  }
  {
    sampled_subgraph b = sampler.sample(0, some);
    expect_moved<sampled_subgraph>("blocks", b,
                                   {[](auto& x) { x.of_type(0); }, [](auto& x) { x.of_relation(0); }, [](auto& x) { x.number(); },
                                    [](auto& x) { x.seeds(); }, [](auto& x) { x.ms(); }, [](auto& x) { x.device(); },
                                    [&](auto& x) { sampler.start(x, 1, some); }, [&](auto& x) { sampler.finish(x); }});
  }
  graph_part part(g, 0, 1);
  {
    split_sampler s({}, part, {2});
    expect_moved<split_sampler>("split_sampler", s,
                                {[&](auto& x) { x.sample(0, 0, some, {}); }, [](auto& x) { x.begin(0, {}, {}); },
                                 [](auto& x) { x.request(); }, [](auto& x) { x.complete({}); }, [](auto& x) { x.finish(); },
                                 [](auto& x) { x.device(); }, [](auto& x) { x.bytes(); }, [](auto& x) { x.fingerprint(); }});
  }
  expect_moved<graph_part>("graph_part", part,
                           {[](auto& x) { static_cast<void>(x.part()); }, [](auto& x) { x.all_vertices(); }, [](auto& x) { x.all_edges(); },
                            [](auto& x) { x.digest(); }, [](auto& x) { x.bytes(); }, [](auto& x) { x.to_device({}); },
                            [](auto& x) { split_sampler({}, x, {2}); }});
  expect_moved<block_sampler>("block_sampler", sampler,
                              {[&](auto& x) { x.sample(0, some); }, [&](auto& x) { x.sample_types(0, {}); }, [](auto& x) { x.work_on({}); },
                               [](auto& x) { x.device(); }, [](auto& x) { x.vertices(0); }, [](auto& x) { x.bytes(); },
                               [](auto& x) { x.about(); }, [](auto& x) { x.take_traffic(); }, [&](auto& x) { loader(x, {}, {1}); }});
  {
    embedding e(3, 4, {});
    expect_moved<embedding>(
        "embedding", e,
        {[](auto& x) { x.rows(); }, [](auto& x) { x.width(); }, [](auto& x) { x.record_bytes(); }, [](auto& x) { x.optimizer(); },
         [](auto& x) { x.device(); }, [](auto& x) { x.steps(); }, [](auto& x) { x.tiers(); }, [](auto& x) { x.about(); },
         [&](auto& x) { x.gather(std::span(some), out); }, [&](auto& x) { x.update(std::span(some), out); }, [](auto& x) { x.states(); },
         [&](auto& x) { x.read("weight", 0, 1, out); }, [&](auto& x) { x.write("weight", 0, 1, out); }, [](auto& x) { x.set_steps(1); },
         [](auto& x) { x.save("x"); }, [](auto& x) { x.load("x"); }});
  }
  {
    block_aggregation<float> a(execution_device{});
    expect_moved<block_aggregation<float>>(
        "block_aggregation", a,
        {[](auto& x) { x.take({}, aggregation::sum); }, [&](auto& x) { x.forward(out.data(), out.data(), 1); },
         [&](auto& x) { x.backward(out.data(), out.data(), 1); }, [](auto& x) { x.device(); }});
    list_sums l(execution_device{});
    expect_moved<list_sums>("list_sums", l,
                            {[&](auto& x) { x.sum({}, {}, out.data(), out.data(), nullptr, {}, nullptr, nullptr); },
                             [&](auto& x) { x.dot({}, {}, out.data(), out.data(), out.data(), {}); }, [](auto& x) { x.device(); }});
    shard_aggregation s(g, edge_direction::in, false, {}, 0, {});
    expect_moved<shard_aggregation>("shard_aggregation", s,
                                    {[](auto& x) { x.first(); }, [](auto& x) { x.count(); }, [](auto& x) { x.positions(); },
                                     [](auto& x) { x.needs(true); }, [](auto& x) { x.symmetric(); }, [](auto& x) { x.bytes(); },
                                     [&](auto& x) { x.begin(aggregation::sum, false, out.data(), out.data(), 1); },
                                     [&](auto& x) { x.finish(aggregation::sum, false, out.data(), out.data(), out.data(), 1); }});
  }
  {
    bfs_solver b(g);
    expect_moved<bfs_solver>("bfs_solver", b, {[](auto& x) { x.run(0); }, [](auto& x) { x.depths(); }, [](auto& x) { x.parents(); }});
    components_solver c(g);
    expect_moved<components_solver>("components_solver", c, {[](auto& x) { x.run(); }, [](auto& x) { x.labels(); }});
    pagerank_solver p(g);
    expect_moved<pagerank_solver>("pagerank_solver", p, {[](auto& x) { x.run(); }, [](auto& x) { x.ranks(); }});
    build_options weighted;
    weighted.random_weights = build_options::weight_options{};
    graph_handle const with_weights = data.graph(weighted);
    sssp_solver s(with_weights);
    expect_moved<sssp_solver>(
        "sssp_solver", s,
        {[](auto& x) { x.run(0); }, [](auto& x) { x.distances(); }, [](auto& x) { x.real_distances(); }, [](auto& x) { x.parents(); }});
  }
  expect_moved<gnn_model>(
      "gnn_model", model,
      {[](auto& x) { x.save("x"); }, [](auto& x) { x.options(); }, [](auto& x) { x.types(); }, [](auto& x) { x.device(); },
       [](auto& x) { x.tensors(); }, [](auto& x) { x.parameters(); }, [&](auto& x) { infer(x, g, features, found); },
       [&](auto& x) { plan_inference(x, g, features); }, [&](auto& x) { training(x, g, features, data.known(), training_options{}); }});
  expect_moved<tiered_tensor>(
      "tiered_tensor", features,
      {[](auto& x) { x.for_device({}); }, [](auto& x) { x.rows(); }, [](auto& x) { x.width(); }, [](auto& x) { x.row_bytes(); },
       [](auto& x) { x.kind(); }, [](auto& x) { x.device(); }, [](auto& x) { x.tiers(); }, [](auto& x) { x.about(); },
       [&](auto& x) { x.gather(std::span(some), out); }, [](auto& x) { x.gather_many({}, {}); }, [](auto& x) { x.explain(1); },
       [&](auto& x) { x.hits(std::span(some)); }, [](auto& x) { scaling_of(x); },
       [&](auto& x) { loader(*std::make_unique<block_sampler>(execution_device{}, g, std::vector<std::int64_t>{2}), {{&x}}, {1}); }});
  {
    unified_tensor u(data.table(), -1);
    expect_moved<unified_tensor>("unified_tensor", u,
                                 {[](auto& x) { x.rows(); }, [](auto& x) { x.device_data(); }, [](auto& x) { x.device(); }});
    shared_table s = shared_table::create("moved-" + std::to_string(::getpid()), 2, 3, element::f32);
    expect_moved<shared_table>(
        "shared_table", s,
        {[](auto& x) { x.data(); }, [](auto& x) { x.publish(); }, [](auto& x) { x.published(); }, [](auto& x) { x.rows(); },
         [](auto& x) { x.map_for(0); }, [](auto& x) { x.name(); }, [](auto& x) { x.bytes(); }, [](auto& x) { x.created_here(); }});
  }
  {
    hetero_graph h(data.graph());
    expect_moved<hetero_graph>(
        "hetero_graph", h,
        {[](auto& x) { x.name(); }, [](auto& x) { x.types(); }, [](auto& x) { x.edges(); }, [](auto& x) { x.adjacency(0); },
         [](auto& x) { x.type("node"); }, [](auto& x) { x.edge("node", "to", "node"); }});
  }
  expect_moved<graph_handle>(
      "graph_handle", g,
      {[](auto& x) { x.info(); }, [](auto& x) { x.name(); }, [](auto& x) { x.ids(); }, [](auto& x) { x.position(0); },
       [](auto& x) { adjacency_of(x); }, [](auto& x) { bfs(x, 0); }, [](auto& x) { components(x); },
       [](auto& x) { block_sampler({}, x, {2}); }, [](auto& x) { hetero_graph{std::move(x)}; }});
}

}  // namespace
}  // namespace garner
