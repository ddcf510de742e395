// The contract of every public function: it throws only garner::error, and a failed allocation at any point loses nothing. (Searches, and
// graph readers and writers: tests/traverse/faults_test.)
#include <garner/garner.hpp>
//
#include <gmock/gmock.h>
#include <unistd.h>

#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "failing_new.hpp"
#include "files/files.hpp"
#include "memory/budget.hpp"
#include "nn/communities.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
namespace fs = std::filesystem;

// The calls of an entry: the k-th allocation within them fails, once. A failed call is repeated, so that the entry gives the same result
// for every k.
std::int64_t left = -1;
int failures = 0;
template <class F>
void call(F const& f) {
  struct counted {
    counted() { news_left = left; }
    ~counted() { left = news_left.exchange(-1); }
  };
  errc code{};
  std::string what;
  try {
    counted const now;
    f();
    return;
  } catch (error const& e) {
    code = e.code(), what = e.what();
  } catch (std::exception const& e) {
    ADD_FAILURE() << "not an error of Garner's: " << e.what();
  }
  EXPECT_TRUE(code == errc::memory || code == errc::io) << what;
  ++failures;
  EXPECT_LT(left, 0) << what;  // no other error
  f();
}

// An argument by value: its copy is the caller's allocation.
template <class T>
T own(T const& of) {
  std::int64_t const now = news_left.exchange(-1);
  T copy = of;
  news_left = now;
  return copy;
}

std::vector<sampled_subgraph> one_empty() {
  std::int64_t const now = news_left.exchange(-1);
  std::vector<sampled_subgraph> made(1);
  news_left = now;
  return made;
}

class contract : public in_a_folder {
 protected:
  communities data{240};
  graph_handle g = data.graph();
  model_options shape = data.model(model_kind::sage);
  void SetUp() override {
    put(npy("<f4", data.rows, data.width), "rows.npy");
    put(npy("<i8", data.classes_of), "labels.npy");
  }
  std::vector<std::int64_t> seeds() const {
    std::vector<std::int64_t> all(100);
    std::iota(all.begin(), all.end(), 7);
    return all;
  }
  // Each allocation of `entry` fails in turn (for many, a selection): its result is the same as without failures.
  void expect_right(std::string const& name, std::function<double()> const& entry) {
#if GARNER_THREAD_SANITIZED
    GTEST_SKIP() << "ThreadSanitizer brings its own operator new";
#endif
    if (!counts_requests()) GTEST_SKIP() << "kernels allocate nothing, but their stand-ins on the CPU do";
    SCOPED_TRACE(name);
    left = -1;
    double const want = entry();
    std::uint64_t const held = host_budget().used();
    int failed = 0;
    for (std::int64_t k = 0;; k += 1 + k / 30) {
      left = k, failures = 0;
      EXPECT_EQ(entry(), want) << k;
      failed += failures;
      EXPECT_EQ(host_budget().used(), held) << k;
      bool const over = left >= 0;
      left = -1;
      if (over || HasFailure()) break;
    }
    EXPECT_GT(failed, 0);
  }
};
template <class T>
double sum_of(T const* at, std::uint64_t n) {
  return std::accumulate(at, at + n, 0.0);
}
// Rows of the vertices.
double figure_of(mini_batch const& b, communities const& data) {
  auto const& v = b.subgraph().of_type(0);
  auto const& rows = b.of_table(0);
  for (std::uint64_t i = 0; i < v.count * data.width; ++i)
    EXPECT_EQ(static_cast<float const*>(rows.data)[i],
              data.rows[static_cast<std::size_t>(v.ids[i / data.width]) * data.width + i % data.width])
        << "mini-batch " << b.index() << ", row " << i / data.width << " of " << v.count;
  return sum_of(v.ids, v.count) + sum_of(b.subgraph().of_relation(0).row, b.subgraph().of_relation(0).count) +
         sum_of(static_cast<float const*>(rows.data), rows.count * (rows.row_bytes / 4)) * static_cast<double>(b.index() + 1);
}

TEST_F(contract, graphs_of_one_type_and_of_several) {
  save_graph(g, at("g.gnr"));
  expect_right("open, look, bring, copy", [&] {
    fs::path const file = at("g.gnr");
    std::optional<graph_handle> one;
    double sum = 0;
    call([&] { one.emplace(open_graph(file)); });
    call([&] { sum += static_cast<double>(one->ids().size()); });
    call([&] { sum += static_cast<double>(adjacency_of(*one).offsets[5]); });
    call([&] { sum += static_cast<double>(digest_of(*one) % 1000); });
    call([&] { one.emplace(to_device(std::move(*one), {device_kind::simulated, 0})); });
    call([&] { sum += readable_by(*one, {}); });
    return sum;
  });
  expect_right("several types", [&] {
    std::optional<hetero_graph> h;
    double sum = 0;
    fs::path const file = at("g.gnr");
    call([&] { h.emplace(open_graph(file), std::string("a"), std::string("b")); });
    call([&] { sum += static_cast<double>(h->type("a")); });
    call([&] { sum += static_cast<double>(h->edge("a", "b", "a")); });
    return sum + static_cast<double>(h->adjacency(0).info().edges);
  });
  fs::create_directory(at("set"));
  std::vector<std::int64_t> ends;
  for (edge const& e : data.edges) ends.push_back(static_cast<std::int64_t>(e.source)), ends.push_back(static_cast<std::int64_t>(e.target));
  put(npy("<i8", ends, 2), "set/edge_index.npy");
  fs::copy(at("rows.npy"), at("set/node_feat.npy"));
  expect_right("convert a data set, open it", [&] {
    fs::path const folder = at("set"), manifest = at("set.json");
    fs::remove(manifest);
    fs::remove_all(at("set.garner"));
    std::optional<hetero_graph> h;
    call([&] { convert_hetero(folder, manifest); });
    call([&] { h.emplace(hetero_graph::open(manifest)); });
    return static_cast<double>(h->types().at(0).count + h->edges().at(0).stored_edges);
  });
}

TEST_F(contract, tables) {
  std::vector<std::int64_t> const ids{3, 3, 200, 7};
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated})
    expect_right("tiered tensor at " + name_of(kind), [&, kind] {
      std::optional<tiered_tensor> t, u;
      tiered_options o;
      o.device = {kind, 0};
      if (kind == device_kind::simulated) o.feature_cache = 1000;
      std::vector<float> out(ids.size() * data.width), more(out.size());
      row_array const table = data.table();
      double sum = 0;
      call([&] { t.emplace(own(table), o); });
      call([&] { t->gather(std::span(ids), out); });
      std::vector<id_span> const both{std::span(ids), std::span(ids)};
      std::vector<row_output> const outs{out, more};
      call([&] { t->gather_many(both, outs); });
      call([&] { sum += static_cast<double>(t->explain(100).rows); });
      call([&] { sum += static_cast<double>(t->hits(std::span(ids)).all()); });
      call([&] { sum += static_cast<double>(t->about().size()); });
      call([&] { u.emplace(t->for_device({kind, 0})); });
      call([&] { u->gather(std::span(ids), more); });
      return sum + sum_of(out.data(), out.size()) + 2 * sum_of(more.data(), more.size());
    });
  expect_right("of a file", [&] {
    fs::path const file = at("rows.npy");
    std::optional<row_array> rows;
    std::optional<tiered_tensor> t;
    std::vector<float> out(ids.size() * data.width), more(out.size());
    double sum = 0;
    call([&] { rows = map_rows(file); });
    sum += static_cast<float const*>(rows->data)[9];
    call([&] { rows = read_rows(file); });
    sum += static_cast<float const*>(rows->data)[9];
    call([&] { rows = open_rows(file); });
    tiered_options o;
    o.host_cache = 100 * data.width * 4;
    call([&] { t.emplace(own(*rows), o); });
    call([&] { t->gather(std::span(ids), out); });
    call([&] { t->gather(std::span(ids), more); });
    return sum + sum_of(out.data(), out.size()) + 2 * sum_of(more.data(), more.size());
  });
  expect_right("unified, shared", [&] {
    std::optional<unified_tensor> u;
    std::optional<shared_table> s, again;
    row_array const table = data.table();
    std::string const name = "contract-" + std::to_string(::getpid());
    double sum = 0;
    call([&] { u.emplace(own(table), -1); });
    call([&] { s.emplace(shared_table::create(name, 10, 3, element::f32)); });
    static_cast<float*>(s->data())[7] = 5;
    s->publish();
    call([&] { again.emplace(shared_table::attach(name)); });
    call([&] { sum += static_cast<float const*>(again->rows().data)[7]; });
    return sum + static_cast<double>(u->rows().rows);
  });
}

TEST_F(contract, embeddings) {
  std::vector<std::int64_t> const ids{3, 3, 20, 7};
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated})
    expect_right("embedding at " + name_of(kind), [&, kind] {
      fs::path const file = at("e.safetensors");
      embedding_options o;
      o.device = {kind, 0};
      std::optional<embedding> e;
      std::vector<float> gradients(ids.size() * 4, 0.25f), out(gradients.size());
      double sum = 0;
      call([&] { e.emplace(30, 4, o); });
      auto const step = [&] { e->update(std::span(ids), gradients); };
      if (kind == device_kind::cpu) call(step);
      else step();  // simulated lanes allocate in its middle, and a started step cannot be undone
      call([&] { e->save(file); });
      if (kind == device_kind::cpu) call(step);
      else step();
      call([&] { e->gather(std::span(ids), out); });
      sum += sum_of(out.data(), out.size());
      call([&] { e->load(file); });
      call([&] { e->gather(std::span(ids), out); });
      call([&] { sum += static_cast<double>(e->about().size() + e->states().size()); });
      call([&] { e->read("weight", 0, 4, out); });
      return sum + sum_of(out.data(), out.size());
    });
}

TEST_F(contract, samplers) {
  std::vector<std::int64_t> const some{1, 5, 200};
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated})
    expect_right("sampler at " + name_of(kind), [&, kind] {
      std::optional<block_sampler> s;
      block_options o;
      o.edge_ids = true;
      if (kind == device_kind::simulated) o.graph_cache = 500;
      std::vector<std::int64_t> const fanouts{3, 2};
      double sum = 0;
      call([&] { s.emplace(execution_device{kind, 0}, g, own(fanouts), o); });
      for (std::uint64_t number = 0; number < 3; ++number) {
        std::optional<sampled_subgraph> b;
        call([&] { b.emplace(s->sample(number, some)); });
        sum += sum_of(b->of_type(0).ids, b->of_type(0).count) + sum_of(b->of_relation(0).row, b->of_relation(0).count);
      }
      call([&] { sum += static_cast<double>(s->about().size()); });
      call([&] { s->take_traffic(); });  // including failed calls
      return sum;
    });
  expect_right("split", [&] {
    std::optional<graph_part> part;
    std::optional<split_sampler> s;
    std::vector<std::int64_t> const fanouts{3, 2};
    call([&] { part.emplace(g, 0, 1); });
    call([&] { s.emplace(execution_device{}, *part, own(fanouts)); });
    std::vector<std::span<std::int64_t const>> const seeds{some};
    std::vector<sampled_subgraph> made;
    call([&] {  // restarts after a failure
      s->begin(4, seeds, one_empty());
      for (bool more = true; more; more = s->request().more) {
        sampling_request const& asks = s->request();
        s->complete(s->sample(4, asks.hop, asks.vertices, asks.batches));
      }
      made = s->finish();
    });
    return sum_of(made.at(0).of_type(0).ids, made[0].of_type(0).count);
  });
  expect_right("scores, traces, negatives", [&] {
    double sum = 0;
    fs::path const file = at("t.gnt");
    score_options o;
    trace_options t;
    t.epochs = 2, t.keep_rows = true;
    call([&] { o.train = pick_training_set(g, 0.2); });
    t.train = o.train;
    call([&] { sum += scores(g, o).score[3]; });
    std::optional<access_trace> trace;
    call([&] { trace = record_trace(g, t); });
    call([&] { save_trace(*trace, file); });
    call([&] { sum += static_cast<double>(load_trace(file).accesses); });
    call([&] { sum += static_cast<double>(rows_by_count(trace->counts)[0]); });
    call([&] { sum += static_cast<double>(sample_negatives(1, some, data.vertices, data.vertices, {}).targets.at(0)); });
    return sum;
  });
}

TEST_F(contract, loaders) {
  for (device_kind const kind : {device_kind::cpu, device_kind::simulated})
    for (bool const in_file : {false, true})
      expect_right("loader at " + name_of(kind) + (in_file ? ", rows in a file" : ""), [&, kind, in_file] {
        execution_device const where{kind, 0};
        tiered_options how;
        how.device = where;
        if (in_file) how.host_cache = 200 * data.width * 4, how.file_cache = 160 * data.width * 4;
        if (kind == device_kind::simulated) how.feature_cache = 30 * data.width * 4;
        tiered_tensor features(in_file ? open_rows(at("rows.npy")) : data.table(), how);
        block_sampler sampler(where, g, {3, 2});
        std::optional<loader> l;
        loader_options o;
        o.batch_size = 16, o.window = 2, o.keep_times = 3;
        std::vector<loaded_table> const tables{{&features, 0, false, {}}};
        std::vector<std::int64_t> const some = seeds();
        double sum = 0;
        call([&] { l.emplace(sampler, own(tables), own(some), o); });
        std::optional<mini_batch> b;
        for (int k = 0;; ++k) {
          call([&] { b = l->next(); });
          if (!b) break;
          sum += figure_of(*b, data);
          if (k == 2) {
            std::string text;
            call([&] { text = l->state().text(); });
            call([&] { l->resume(load_state::parse(text)); });
          }
        }
        b.reset();
        call([&] { sum += static_cast<double>(l->report().window); });
        call([&] { sum += l->bytes() > 0; });
        own_batch const three{{0, {9, 9, 3}}};
        call([&] { l->open(5); });
        call([&] { l->submit(own(three)); });
        call([&] { l->end(); });
        call([&] { b = l->next(); });
        sum += figure_of(*b, data);
        b.reset();
        call([&] { l->begin(1); });
        call([&] { b = l->next(); });
        return sum + figure_of(*b, data);
      });
}

TEST_F(contract, models_and_trainings) {
  tiered_tensor features(data.table());
  expect_right("model", [&] {
    fs::path const file = at("m.safetensors"), labels = at("labels.npy");
    std::optional<gnn_model> m;
    double sum = 0;
    call([&] { m.emplace(execution_device{}, shape); });
    call([&] { m->save(file); });
    call([&] { m.emplace(gnn_model::load(file, {})); });
    call([&] {
      for (auto const& t : m->tensors()) sum += sum_of(t.values.data(), t.values.size());
    });
    call([&] { sum += static_cast<double>(scaling_of(features)); });
    call([&] { sum += static_cast<double>(read_labels(labels).rows); });
    std::vector<float> found(data.vertices * data.classes);
    call([&] { infer(*m, g, features, found); });
    call([&] { sum += static_cast<double>(plan_inference(*m, g, features).floor_bytes); });
    return sum + sum_of(found.data(), found.size());
  });
  for (bool const sampled : {true, false})
    expect_right(sampled ? "training by mini-batches" : "training on the whole graph", [&, sampled] {
      fs::path const file = at("c.safetensors");
      gnn_model m({}, shape);
      training_options o;
      if (sampled) o.fanouts = {3, 3};
      o.batch_size = 64;
      labeled_nodes const known = data.known();
      std::optional<training> t;
      double sum = 0;
      call([&] { t.emplace(m, g, features, known, o); });
      call([&] { t->next(); });
      call([&] { t->save_checkpoint(file); });
      call([&] { sum += t->next().loss; });
      call([&] { t->load_checkpoint(file); });
      call([&] { sum += t->next().loss; });
      call([&] { sum += t->evaluate().validation.loss; });
      call([&] { t->load_best(); });
      for (auto const& p : m.tensors()) sum += sum_of(p.values.data(), p.values.size());
      return sum;
    });
}

TEST_F(contract, aggregations_and_shards) {
  expect_right("of a block", [&] {
    std::vector<std::int64_t> const row{0, 1, 2, 2}, col{0, 0, 1, 1};
    std::vector<float> const in{1, 2, 3};
    std::vector<float> out(2), back(3);
    std::optional<block_aggregation<float>> a;
    call([&] { a.emplace(execution_device{}); });
    call([&] { a->take({row.data(), col.data(), 4, 2, 3}, aggregation::mean); });
    call([&] { a->forward(in.data(), out.data(), 1); });
    call([&] { a->backward(out.data(), back.data(), 1); });
    return sum_of(out.data(), 2) + 3 * sum_of(back.data(), 3);
  });
  expect_right("over lists", [&] {
    std::vector<std::int64_t> const offsets{0, 2, 4};
    std::vector<std::int32_t> const ends{0, 1, 2, 2};
    std::vector<float> const in{1, 2, 3};
    std::vector<float> out(2), of_weights(4);
    std::optional<list_sums> a;
    list_sums::lists const lists{offsets.data(), ends.data(), nullptr, 2, 4};
    list_sums::shape const shape{row_real::f32, 1, 1};
    call([&] { a.emplace(execution_device{}); });
    call([&] { a->sum(lists, shape, in.data(), out.data(), nullptr, list_sums::scale::mean, nullptr, nullptr); });
    call([&] { a->dot(lists, shape, in.data(), out.data(), of_weights.data(), list_sums::scale::mean); });
    return sum_of(out.data(), 2) + 3 * sum_of(of_weights.data(), 4);
  });
  expect_right("of a shard", [&] {
    shard_options o;
    std::optional<shard_aggregation> a;
    std::vector<float> out(data.vertices * data.width);
    double sum = 0;
    call([&] { a.emplace(g, edge_direction::in, false, o, 0, execution_device{}); });
    call([&] { a->begin(aggregation::sum, false, data.rows.data(), out.data(), data.width); });
    call([&] { a->finish(aggregation::sum, false, data.rows.data(), nullptr, out.data(), data.width); });
    call([&] { sum += static_cast<double>(a->positions().size()); });
    o.shards = 3;
    call([&] { sum += static_cast<double>(split_report(g, edge_direction::in, o).cut()); });
    return sum + sum_of(out.data(), out.size());
  });
}

TEST_F(contract, words) {
  expect_right("words", [&] {
    double sum = 0;
    std::string const size = "1.5 GiB";
    fs::path const root = "/", two = at("two");
    call([&] { sum += static_cast<double>(describe_build().version.size()); });
    call([&] { sum += static_cast<double>(build_id().size()); });
    call([&] { sum += static_cast<double>(parse_bytes(size)); });
    call([&] { sum += static_cast<double>(to_string(execution_device{device_kind::cuda, 123}).size()); });
    call([&] { sum += parse_fanouts("12,13,14")[2]; });
    call([&] { EXPECT_EQ(parse_device("simulated").kind, device_kind::simulated); });
    call([&] { EXPECT_EQ(parse_bfs_variant("levels"), bfs_variant::levels); });
    call([&] { sum += static_cast<double>(host_memory_now(root).limit() > 0) + static_cast<double>(host_memory_use().peak > 0); });
    call([&] { sum += static_cast<double>(device_memory_use(3).peak); });
    call([&] { sum += static_cast<double>(phase_totals().empty()) + static_cast<double>(counter_values().empty()); });
    call([&] { write_file(two, "one ", "two"); });
    EXPECT_EQ(fs::file_size(two), 7u);
    return sum;
  });
}

// An exception of a user's function is not Garner's, and propagates unchanged.
TEST_F(contract, what_a_users_function_throws_goes_through) {
  save_graph(g, at("n.gnr"));
  put(R"({"garner":1,"vertices":[{"name":"n","count":240}],"edges":[{"from":"n","relation":"to","to":"n","arcs":)" +
          std::to_string(g.info().edges) + R"(,"lists":"n.gnr"}]})",
      "m.json");
  struct odd {};
  EXPECT_THROW(hetero_graph::open(at("m.json"), [](fs::path const&) -> graph_handle { throw odd{}; }), odd);
  EXPECT_THROW(hetero_graph::open(at("m.json"), [](fs::path const&) -> graph_handle { throw std::logic_error("theirs"); }),
               std::logic_error);
  EXPECT_NO_THROW(hetero_graph::open(at("m.json"), [](fs::path const& file) { return open_graph(file); }));
}

}  // namespace
}  // namespace garner
